/* SPDX-License-Identifier: BSD-3-Clause */
/* literal.c: what each language wants to be written differently inside quotes. Letters of all
 * alphabets stay as they are; what is no UTF-8, controls a terminal or turns the direction of
 * writing is written as a number. */
#include "diagnose/literal.h"

const char *const rama_diag_language_name[RAMA_DIAG_LANGUAGES] = { "C", "Fortran", "Python",
								   "shell" };

#define NO_CHARACTER 0xffffffffu /* the byte is not part of UTF-8 */

struct letter {
	const unsigned char *bytes;
	unsigned n;
	uint32_t code;
};

static struct letter next_letter(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned n = s[0] < 0x80   ? 1
		     : s[0] < 0xc2 ? 0
		     : s[0] < 0xe0 ? 2
		     : s[0] < 0xf0 ? 3
		     : s[0] < 0xf5 ? 4
				   : 0;
	uint32_t code = n == 1 ? s[0] : n > 0 ? s[0] & (0x7fu >> n) : 0;

	for (unsigned i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return (struct letter){ s, 1, NO_CHARACTER };
		code = code << 6 | (s[i] & 0x3f);
	}
	if (n == 0 || code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return (struct letter){ s, 1, NO_CHARACTER };
	return (struct letter){ s, n, code };
}

/* not to be printed as it is */
static bool hidden(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       c == NO_CHARACTER;
}

static void octal(struct rama_out *o, const struct letter *l)
{
	for (unsigned i = 0; i < l->n; i++)
		rama_out_fmt(o, "\\%03o", l->bytes[i]);
}

static void c_letter(struct rama_out *o, const struct letter *l)
{
	if (hidden(l->code)) {
		octal(o, l);
		return;
	}
	/* two question marks might begin a trigraph */
	if (l->code == '"' || l->code == '\\' || l->code == '?')
		rama_out_char(o, '\\');
	rama_out_bytes(o, (const char *)l->bytes, l->n);
}

static void python_letter(struct rama_out *o, const struct letter *l)
{
	if (l->code == NO_CHARACTER) { /* how Python itself names such bytes of a path */
		rama_out_fmt(o, "\\udc%02x", l->bytes[0]);
	} else if (hidden(l->code)) {
		rama_out_fmt(o, "\\u%04x", l->code);
	} else {
		if (l->code == '"' || l->code == '\\')
			rama_out_char(o, '\\');
		rama_out_bytes(o, (const char *)l->bytes, l->n);
	}
}

static void fortran_letter(struct rama_out *o, const struct letter *l)
{
	if (hidden(l->code)) {
		for (unsigned i = 0; i < l->n; i++)
			rama_out_fmt(o, "'//char(%u)//'", l->bytes[i]);
		return;
	}
	if (l->code == '\'')
		rama_out_char(o, '\'');
	rama_out_bytes(o, (const char *)l->bytes, l->n);
}

/* lines of Fortran end at column 132 */
static void fortran_text(struct rama_out *o, const char *s)
{
	unsigned on_line = 0;

	rama_out_char(o, '\'');
	while (*s != '\0') {
		struct letter l = next_letter((const unsigned char *)s);

		if (on_line >= 48) {
			rama_out_text(o, "'// &\n      '");
			on_line = 0;
		}
		fortran_letter(o, &l);
		on_line += hidden(l.code) ? 16 * l.n : l.n;
		s += l.n;
	}
	rama_out_char(o, '\'');
}

static bool all_shown(const char *s)
{
	while (*s != '\0') {
		struct letter l = next_letter((const unsigned char *)s);

		if (hidden(l.code))
			return false;
		s += l.n;
	}
	return true;
}

static void shell_text(struct rama_out *o, const char *s, bool name)
{
	bool plain = all_shown(s);

	rama_out_text(o, plain ? "'" : "$'");
	if (name && *s == '-') /* no option, whatever command it is given to */
		rama_out_text(o, "./");
	while (*s != '\0') {
		struct letter l = next_letter((const unsigned char *)s);

		if (hidden(l.code))
			octal(o, &l);
		else if (plain && l.code == '\'')
			rama_out_text(o, "'\\''");
		else if (!plain && (l.code == '\'' || l.code == '\\'))
			rama_out_fmt(o, "\\%c", (char)l.code);
		else
			rama_out_bytes(o, s, l.n);
		s += l.n;
	}
	rama_out_char(o, '\'');
}

/* means itself in every shell; a = that is not in an option could set a variable */
static bool plain_word(const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:,+@%-";
	size_t n = strspn(s, plain);

	while (s[0] == '-' && s[n] == '=')
		n += 1 + strspn(s + n + 1, plain);
	return n > 0 && s[n] == '\0';
}

void rama_diag_shell_word(struct rama_out *o, const char *s)
{
	if (plain_word(s))
		rama_out_text(o, s);
	else
		shell_text(o, s, false);
}

void rama_diag_literal(struct rama_out *o, enum rama_diag_language language, const char *s)
{
	if (language == RAMA_DIAG_LANGUAGE_SHELL) {
		shell_text(o, s, true);
		return;
	}
	if (language == RAMA_DIAG_LANGUAGE_FORTRAN) {
		fortran_text(o, s);
		return;
	}
	rama_out_char(o, '"');
	while (*s != '\0') {
		struct letter l = next_letter((const unsigned char *)s);

		if (language == RAMA_DIAG_LANGUAGE_C)
			c_letter(o, &l);
		else
			python_letter(o, &l);
		s += l.n;
	}
	rama_out_char(o, '"');
}
