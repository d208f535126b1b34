/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/form/pen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CHAR_MOST 8 /* bytes of one character, or of what stands for it in ASCII */

/* one character as it is shown */
struct glyph {
	char text[CHAR_MOST];
	unsigned bytes;	  /* of text */
	unsigned columns; /* 0, 1 or 2; in ASCII more */
	size_t taken;	  /* of the source */
};

/* what our own texts use, for terminals without it */
static const struct {
	uint32_t code;
	const char *ascii;
} in_ascii[] = {
	{ 0xb7, "-" },	  { 0xd7, "x" },    { 0xb5, "u" },    { 0x2013, "-" },	{ 0x2014, "-" },
	{ 0x2018, "'" },  { 0x2019, "'" },  { 0x201c, "\"" }, { 0x201d, "\"" }, { 0x2026, "..." },
	{ 0x2192, "->" }, { 0x2264, "<=" }, { 0x2265, ">=" }, { 0x2588, "#" },	{ 0x2591, "." },
	{ 0xa0, " " },	  { 0x2248, "~" },
};

/* code point at s and its length; length 0: not UTF-8 */
static uint32_t decode(const char *s, size_t *len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *b = (const unsigned char *)s;
	unsigned n = b[0] < 0x80		   ? 1
		     : b[0] >= 0xc2 && b[0] < 0xe0 ? 2
		     : (b[0] & 0xf0) == 0xe0	   ? 3
		     : b[0] >= 0xf0 && b[0] < 0xf5 ? 4
						   : 0;
	uint32_t v = n > 1 ? b[0] & (0x7fu >> n) : b[0];

	*len = 0;
	for (unsigned i = 1; i < n; i++) {
		if ((b[i] & 0xc0) != 0x80) /* also at the end of the text */
			return 0;
		v = v << 6 | (b[i] & 0x3f);
	}
	if (n == 0 || v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return 0;
	*len = n;
	return v;
}

/* first and last of ranges */
static bool in_range(uint32_t v, const uint32_t (*range)[2], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v >= range[i][0] && v <= range[i][1])
			return true;
	return false;
}
#define IN(v, table) in_range(v, table, sizeof(table) / sizeof((table)[0]))

/* control characters, invisible ones, those that turn the direction of text */
static bool is_harmful(uint32_t v)
{
	static const uint32_t range[][2] = {
		{ 0, 0x1f },	    { 0x7f, 0x9f },	{ 0xad, 0xad },	      { 0x61c, 0x61c },
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },   { 0xe000, 0xf8ff },
		{ 0xfeff, 0xfeff }, { 0xfff0, 0xffff }, { 0xe0000, 0x10ffff }
	};

	return IN(v, range);
}

static unsigned columns_of(uint32_t v)
{
	static const uint32_t none[][2] = {
		{ 0x300, 0x36f }, { 0x1ab0, 0x1aff }, { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f }
	};
	static const uint32_t wide[][2] = { { 0x1100, 0x115f },	 { 0x2e80, 0xa4cf },
					    { 0xac00, 0xd7a3 },	 { 0xf900, 0xfaff },
					    { 0xfe30, 0xfe6f },	 { 0xff00, 0xff60 },
					    { 0xffe0, 0xffe6 },	 { 0x1f300, 0x1faff },
					    { 0x20000, 0x3fffd } };

	return IN(v, none) ? 0 : IN(v, wide) ? 2 : 1;
}

static struct glyph glyph_at(const char *s, bool utf8)
{
	struct glyph g = { .text = "?", .bytes = 1, .columns = 1, .taken = 1 };
	size_t len;
	uint32_t v = decode(s, &len);

	if (len == 0)
		return g;
	g.taken = len;
	if (is_harmful(v))
		return g;
	if (v < 0x80 || utf8) {
		memcpy(g.text, s, len);
		g.bytes = (unsigned)len;
		g.columns = columns_of(v);
		return g;
	}
	for (size_t i = 0; i < sizeof(in_ascii) / sizeof(in_ascii[0]); i++) {
		if (in_ascii[i].code != v)
			continue;
		g.bytes = g.columns = (unsigned)strlen(in_ascii[i].ascii);
		memcpy(g.text, in_ascii[i].ascii, g.bytes);
	}
	return g;
}

size_t rama_pen_char(struct rama_out *o, const char *s)
{
	struct glyph g = glyph_at(s, true);

	rama_out_bytes(o, g.text, g.bytes);
	return g.taken;
}

static void put(struct rama_pen *p, const struct glyph *g)
{
	rama_out_bytes(p->o, g->text, g->bytes);
	p->column += g->columns;
}

unsigned rama_pen_columns(const struct rama_pen *p, const char *s)
{
	unsigned n = 0;

	while (*s != '\0') {
		struct glyph g = glyph_at(s, p->utf8);

		n += g.columns;
		s += g.taken;
	}
	return n;
}

void rama_pen_text(struct rama_pen *p, const char *s)
{
	while (*s != '\0') {
		struct glyph g = glyph_at(s, p->utf8);

		put(p, &g);
		s += g.taken;
	}
}

void rama_pen_fmt(struct rama_pen *p, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rama_pen_text(p, text);
}

void rama_pen_code(struct rama_pen *p, const char *s, size_t n)
{
	for (const char *end = s + n; s < end;) {
		struct glyph g = glyph_at(s, p->utf8);

		if (*s == '\t')
			g = (struct glyph){ .text = "    ", .bytes = 4, .columns = 4, .taken = 1 };
		put(p, &g);
		s += g.taken;
	}
}

void rama_pen_cut(struct rama_pen *p, const char *s, unsigned most)
{
	const char *dots = "…";
	unsigned all = rama_pen_columns(p, s), gap = rama_pen_columns(p, dots);
	unsigned head, skip, at = 0;
	bool cut = false;

	if (all <= most || most <= gap) {
		rama_pen_text(p, s);
		return;
	}
	head = (most - gap) / 2;
	skip = all - (most - gap - head); /* columns from here on are shown again */
	while (*s != '\0') {
		struct glyph g = glyph_at(s, p->utf8);

		if (at + g.columns <= head || at >= skip) {
			put(p, &g);
		} else if (!cut) {
			rama_pen_text(p, dots);
			cut = true;
		}
		at += g.columns;
		s += g.taken;
	}
}

void rama_pen_to(struct rama_pen *p, unsigned column)
{
	while (p->column < column) {
		rama_out_char(p->o, ' ');
		p->column++;
	}
}

void rama_pen_right(struct rama_pen *p, const char *s, unsigned end)
{
	unsigned n = rama_pen_columns(p, s);

	rama_pen_to(p, end > n ? end - n : 0);
	rama_pen_text(p, s);
}

void rama_pen_line(struct rama_pen *p)
{
	rama_out_char(p->o, '\n');
	p->column = 0;
}

void rama_pen_style(struct rama_pen *p, const char *code)
{
	if (p->colour)
		rama_out_fmt(p->o, "\033[%sm", code);
}

void rama_pen_plain(struct rama_pen *p)
{
	if (p->colour)
		rama_out_text(p->o, "\033[0m");
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Is the word after the space a unit of the number before it? */
static bool is_unit(const char *word)
{
	static const char *const units[] = { "s",     "ms",    "µs",	"min",	 "h",
					     "d",     "%",     "B",	"KiB",	 "MiB",
					     "GiB",   "TiB",   "PiB",	"EiB",	 "bytes",
					     "KiB/s", "MiB/s", "GiB/s", "TiB/s", "B/s" };
	size_t n = strcspn(word, " ");

	while (n > 0 && strchr(",.;:)", word[n - 1]) != NULL)
		n--;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i]) == n && memcmp(units[i], word, n) == 0)
			return true;
	return false;
}

/* bytes of the next word, a number and its unit counting as one */
static size_t word_length(const char *s)
{
	size_t n = strcspn(s, " ");

	while (n > 0 && s[n] == ' ' && s[n - 1] >= '0' && s[n - 1] <= '9' && is_unit(s + n + 1))
		n += 1 + strcspn(s + n + 1, " ");
	return n;
}

static unsigned width_of(const struct rama_pen *p, const char *s, size_t n)
{
	unsigned w = 0;

	for (size_t i = 0; i < n;) {
		struct glyph g = glyph_at(s + i, p->utf8);

		w += g.columns;
		i += g.taken;
	}
	return w;
}

/* lines between two columns */
struct block {
	unsigned left, right;
	const char *beside; /* still to be put at the end of the line, or NULL */
};

static void end_beside(struct rama_pen *p, struct block *b)
{
	if (b->beside != NULL)
		rama_pen_right(p, b->beside, p->width);
	b->beside = NULL;
}

static void new_line(struct rama_pen *p, struct block *b)
{
	end_beside(p, b);
	rama_pen_line(p);
	rama_pen_to(p, b->left);
}

static void put_word(struct rama_pen *p, const char *s, size_t n, struct block *b)
{
	for (size_t i = 0; i < n;) {
		struct glyph g = glyph_at(s + i, p->utf8);

		if (p->column + g.columns > b->right && p->column > b->left)
			new_line(p, b);
		put(p, &g);
		i += g.taken;
	}
}

/* first: the text begins its line, else it goes on after another */
static void wrap(struct rama_pen *p, const char *s, struct block *b, bool first)
{
	if (b->right <= b->left)
		b->right = b->left + 1;
	for (size_t n; *(s += strspn(s, " ")) != '\0'; s += n) {
		n = word_length(s);
		if (!first && p->column + 1 + width_of(p, s, n) > b->right) {
			new_line(p, b);
			first = true;
		}
		if (!first)
			rama_pen_text(p, " ");
		put_word(p, s, n, b);
		first = false;
	}
	end_beside(p, b);
}

void rama_pen_wrap(struct rama_pen *p, const char *s, unsigned left, unsigned right)
{
	struct block b = { .left = left, .right = right };

	wrap(p, s, &b, true);
}

void rama_pen_more(struct rama_pen *p, const char *s, unsigned left, unsigned right)
{
	struct block b = { .left = left, .right = right };

	wrap(p, s, &b, false);
}

void rama_pen_wrap_beside(struct rama_pen *p, const char *s, unsigned left, unsigned right,
			  const char *beside)
{
	struct block b = { .left = left, .right = right, .beside = beside };

	wrap(p, s, &b, true);
}
