/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/recordid.h"

static uint64_t little_endian(const unsigned char *p, size_t n)
{
	uint64_t v = 0;

	while (n > 0)
		v = v << 8 | p[--n];
	return v;
}

/* twelve steps; `left` shifts by a positive number of bits, right by a negative one */
static void mix(uint64_t s[3])
{
	static const int shift[12] = { -43, 9, -8, -38, 23, -5, -35, 49, -11, -12, 18, -22 };

	for (unsigned i = 0; i < 12; i++) {
		uint64_t *x = &s[i % 3], y = s[(i + 1) % 3], z = s[(i + 2) % 3];

		*x -= y;
		*x -= z;
		*x ^= shift[i] < 0 ? z >> -shift[i] : z << shift[i];
	}
}

uint64_t rama_core_record_id_level(const void *name, size_t len, uint64_t level)
{
	const unsigned char *p = name;
	uint64_t s[3] = { level, level, 0x9e3779b97f4a7c13u };
	size_t left = len;

	for (; left >= 24; p += 24, left -= 24) {
		for (unsigned i = 0; i < 3; i++)
			s[i] += little_endian(p + 8 * i, 8);
		mix(s);
	}
	s[2] += len;
	s[0] += little_endian(p, left < 8 ? left : 8);
	if (left > 8)
		s[1] += little_endian(p + 8, left < 16 ? left - 8 : 8);
	if (left > 16)
		s[2] += little_endian(p + 16, left - 16) << 8; /* its low byte holds the length */
	mix(s);
	return s[2];
}

uint64_t rama_core_record_id(const void *name, size_t len)
{
	return rama_core_record_id_level(name, len, 0);
}
