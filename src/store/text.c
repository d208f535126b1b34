/* SPDX-License-Identifier: BSD-3-Clause */
/* text.c: names of files are bytes, text in a database is UTF-8. */
#include <string.h>

#include "store/parts.h"

/* length of the character at s, 0: it is none (overlong forms, surrogates and NUL are none) */
static unsigned length_of(const unsigned char *s, size_t n)
{
	unsigned c = s[0], len = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

	if (c == 0 || (c >= 0x80 && c < 0xc2) || c > 0xf4 || len > n)
		return 0;
	for (unsigned i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) ||
	    (c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

bool rama_store_utf8_clean(const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		unsigned len = length_of((const unsigned char *)s + i, n - i);

		if (len == 0)
			return false;
		i += len;
	}
	return true;
}

size_t rama_store_utf8_copy(char *to, const char *s, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < n;) {
		unsigned len = length_of((const unsigned char *)s + i, n - i);

		if (len == 0) {
			memcpy(to + at, "\xef\xbf\xbd", 3);
			at += 3;
			i++;
		} else {
			memcpy(to + at, s + i, len);
			at += len;
			i += len;
		}
	}
	return at;
}

struct rama_store_cell rama_store_cell_clean(struct rama_store *s, const char *text, size_t n)
{
	char *copy;

	if (rama_store_utf8_clean(text, n))
		return (struct rama_store_cell){ .type = RAMA_STORE_CELL_TEXT,
						 .text = text,
						 .len = n };
	copy = n < SIZE_MAX / 4 ? rama_arena_alloc(&s->text, 3 * n + 1) : NULL;
	if (copy == NULL) /* a name that cannot be kept; the record's number stays */
		return rama_store_cell_t("");
	n = rama_store_utf8_copy(copy, text, n);
	copy[n] = '\0';
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_TEXT, .text = copy, .len = n };
}
