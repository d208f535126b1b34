/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/code/site.h"

#include <string.h>

#define LINE_MOST 999999999

void rama_site_begin(struct rama_site_pen *p, char *to, size_t room)
{
	*p = (struct rama_site_pen){ .to = to, .room = room };
	if (room > 0)
		to[0] = '\0';
}

static size_t put_hex(char *to, uint64_t v)
{
	char digits[16];
	size_t n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v & 15];
		v >>= 4;
	} while (v > 0);
	for (size_t i = 0; i < n; i++)
		to[i] = digits[n - 1 - i];
	return n;
}

bool rama_site_add(struct rama_site_pen *p, const char *file, const unsigned char *build,
		   size_t n_build, uint64_t at)
{
	size_t n_file = file != NULL ? strlen(file) : 0;
	char *to = p->to + p->len;

	if (n_build > RAMA_SITE_BUILD ||
	    p->len + 1 + n_file + 2 + 2 * n_build + 3 + 16 + 1 > p->room)
		return false;
	*to++ = p->len == 0 ? '@' : ';';
	if (file != NULL) {
		p->file = (size_t)(to - p->to);
		p->file_len = n_file;
		memcpy(to, file, n_file);
		to += n_file;
		*to++ = '[';
		for (size_t i = 0; i < n_build; i++) {
			*to++ = "0123456789abcdef"[build[i] >> 4];
			*to++ = "0123456789abcdef"[build[i] & 15];
		}
		*to++ = ']';
	}
	memcpy(to, "+0x", 3);
	to += 3 + put_hex(to + 3, at);
	*to = '\0';
	p->len = (size_t)(to - p->to);
	return true;
}

static size_t put_number(char *to, unsigned v)
{
	char digits[10];
	size_t n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	for (size_t i = 0; i < n; i++)
		to[i] = digits[n - 1 - i];
	return n;
}

static char *put(char *to, const char *text, size_t n)
{
	memcpy(to, text, n);
	return to + n;
}

bool rama_site_add_line(struct rama_site_pen *p, const char *file, const char *function,
			unsigned line)
{
	size_t n_file = strlen(file), n_function = strlen(function);
	bool again =
		p->len > 0 && n_file == p->file_len && memcmp(p->to + p->file, file, n_file) == 0;
	char *to = p->to + p->len;

	if (n_file == 0 || line == 0 || line > LINE_MOST || strchr(file, ';') != NULL ||
	    strpbrk(function, "();") != NULL ||
	    p->len + 1 + n_file + 1 + n_function + 2 + 10 + 1 > p->room)
		return false;
	*to++ = p->len == 0 ? '@' : ';';
	if (!again) {
		p->file = (size_t)(to - p->to);
		p->file_len = n_file;
		to = put(to, file, n_file);
	}
	*to++ = '(';
	to = put(to, function, n_function);
	to = put(to, "):", 2);
	to += put_number(to, line);
	*to = '\0';
	p->len = (size_t)(to - p->to);
	return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "+0x" and up to 16 digits, which end at `end`; *from: where they begin */
static bool read_address(const char *from, const char *end, const char **begin, uint64_t *to)
{
	const char *p = end;
	uint64_t v = 0;

	while (p > from && digit(p[-1]) >= 0)
		p--;
	if (p == end || end - p > 16 || p - from < 3 || memcmp(p - 3, "+0x", 3) != 0)
		return false;
	*begin = p - 3;
	for (; p < end; p++)
		v = v << 4 | (uint64_t)digit(*p);
	*to = v;
	return true;
}

/* "file[build]", up to `end` */
static bool read_file(const char *from, const char *end, struct rama_site_frame *f)
{
	const char *p = end - 1;
	size_t n;

	if (end - from < 3 || *p != ']')
		return false;
	while (p > from && *p != '[')
		p--;
	n = (size_t)(end - 1 - (p + 1));
	if (p == from || n % 2 != 0 || n / 2 > RAMA_SITE_BUILD)
		return false;
	for (size_t i = 0; i < n / 2; i++) {
		int high = digit(p[1 + 2 * i]), low = digit(p[2 + 2 * i]);

		if (high < 0 || low < 0)
			return false;
		f->build[i] = (unsigned char)(high << 4 | low);
	}
	f->n_build = n / 2;
	f->file = from;
	f->file_len = (size_t)(p - from);
	return true;
}

/* "(function):18", behind which it ends; *begin: where that stands */
static bool read_line(const char *from, const char *end, const char **begin,
		      struct rama_site_frame *f)
{
	const char *p = end, *q;
	unsigned v = 0;

	while (p > from && p[-1] >= '0' && p[-1] <= '9')
		p--;
	if (p == end || end - p > 9 || *p == '0' || p - from < 3 || memcmp(p - 2, "):", 2) != 0)
		return false;
	for (q = p - 2; q > from && q[-1] != '('; q--)
		;
	if (q == from)
		return false;
	for (const char *d = p; d < end; d++)
		v = 10 * v + (unsigned)(*d - '0');
	f->function = q;
	f->function_len = (size_t)(p - 2 - q);
	f->line = v;
	f->at = 0;
	*begin = q - 1;
	return true;
}

/* one frame of the text; what it names stays as it was if it makes no sense */
static bool read_frame(const char *from, const char *end, struct rama_site_frame *f)
{
	const char *rest;

	if (read_line(from, end, &rest, f)) {
		if (rest > from) {
			f->file = from;
			f->file_len = (size_t)(rest - from);
			f->n_build = 0;
		}
		return f->file != NULL;
	}
	f->function = NULL;
	f->line = 0;
	return read_address(from, end, &rest, &f->at) &&
	       (rest == from || read_file(from, rest, f)) && f->file != NULL;
}

bool rama_site_next(const char *text, size_t len, size_t *at, struct rama_site_frame *f)
{
	const char *end = text + len, *from = text + *at, *next;

	if (*at >= len || (*at == 0 ? *from != '@' : *from != ';'))
		return false;
	if (*at == 0)
		*f = (struct rama_site_frame){ .file = NULL };
	from++;
	next = memchr(from, ';', (size_t)(end - from));
	next = next != NULL ? next : end;
	if (!read_frame(from, next, f))
		return false;
	*at = (size_t)(next - text);
	return true;
}

bool rama_site_is(const char *text, size_t len)
{
	struct rama_site_frame f;
	size_t at = 0;

	return rama_site_next(text, len, &at, &f);
}
