/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/form/text.h"

#include <stdint.h>
#include <string.h>

unsigned rama_text_sound(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	static const unsigned char lead[] = { 0xe0, 0xf0, 0xf8 }, mark[] = { 0xc0, 0xe0, 0xf0 };
	uint32_t c;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	for (unsigned n = 2; n <= 4; n++) {
		if ((s[0] & lead[n - 2]) != mark[n - 2])
			continue;
		c = s[0] & ~(unsigned)lead[n - 2] & 0xff;
		for (unsigned i = 1; i < n; i++) {
			if ((s[i] & 0xc0) != 0x80)
				return 0;
			c = c << 6 | (s[i] & 0x3f);
		}
		if (c < 0xa0 || (n == 3 && c < 0x800) || (n == 4 && c < 0x10000) || c > 0x10ffff ||
		    (c | 1) == 0xffff || (c >= 0xd800 && c < 0xe000) ||
		    (c >= 0x202a && c <= 0x202e) ||
		    (c >= 0x2066 && c <= 0x2069)) /* those turn the direction of text */
			return 0;
		return n;
	}
	return 0;
}

unsigned rama_text_width(const char *s)
{
	unsigned n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

const char *rama_text_ascii(const char *s, unsigned n)
{
	static const char *const plain[][2] = {
		{ "–", "-" }, { "−", "-" }, { "→", "->" }, { "×", "x" },  { "µ", "u" },
		{ "·", "-" }, { "…", "~" }, { "≤", "<=" }, { "±", "+-" }, { RAMA_TEXT_MARK, "?" }
	};

	for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (strlen(plain[i][0]) == n && memcmp(plain[i][0], s, n) == 0)
			return plain[i][1];
	return "?";
}

void rama_text_tame(char *s)
{
	while (*s != '\0') {
		unsigned n = *s == '\n' || *s == '\t' ? 1 : rama_text_sound(s);

		if (n == 0)
			*s = '?';
		s += n > 0 ? n : 1;
	}
}
