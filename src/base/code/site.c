/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/code/site.h"

#include <string.h>

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

bool rama_site_next(const char *text, size_t len, size_t *at, struct rama_site_frame *f)
{
	const char *end = text + len, *from = text + *at, *next, *address;

	if (*at >= len || (*at == 0 ? *from != '@' : *from != ';'))
		return false;
	if (*at == 0)
		*f = (struct rama_site_frame){ .file = NULL };
	from++;
	next = memchr(from, ';', (size_t)(end - from));
	next = next != NULL ? next : end;
	if (!read_address(from, next, &address, &f->at) ||
	    (address > from && !read_file(from, address, f)) || f->file == NULL)
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
