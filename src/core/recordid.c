/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/recordid.h"

#include <endian.h>
#include <string.h>

static uint64_t little_endian(const unsigned char *p, size_t n)
{
	uint64_t v = 0;

	while (n > 0)
		v = v << 8 | p[--n];
	return v;
}

static uint64_t eight(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* Written out: each open of a file comes here, and a loop over the shifts took most of its time. */
#define STEP(x, y, z, shifted) ((x) = ((x) - (y) - (z)) ^ (shifted))

static void mix(uint64_t s[3])
{
	uint64_t a = s[0], b = s[1], c = s[2];

	STEP(a, b, c, c >> 43);
	STEP(b, c, a, a << 9);
	STEP(c, a, b, b >> 8);
	STEP(a, b, c, c >> 38);
	STEP(b, c, a, a << 23);
	STEP(c, a, b, b >> 5);
	STEP(a, b, c, c >> 35);
	STEP(b, c, a, a << 49);
	STEP(c, a, b, b >> 11);
	STEP(a, b, c, c >> 12);
	STEP(b, c, a, a << 18);
	STEP(c, a, b, b >> 22);
	s[0] = a;
	s[1] = b;
	s[2] = c;
}

uint64_t rama_core_record_id_level(const void *name, size_t len, uint64_t level)
{
	const unsigned char *p = name;
	uint64_t s[3] = { level, level, 0x9e3779b97f4a7c13u };
	size_t left = len;

	for (; left >= 24; p += 24, left -= 24) {
		for (unsigned i = 0; i < 3; i++)
			s[i] += eight(p + 8 * i);
		mix(s);
	}
	s[2] += len;
	s[0] += left < 8 ? little_endian(p, left) : eight(p);
	if (left > 8)
		s[1] += left < 16 ? little_endian(p + 8, left - 8) : eight(p + 8);
	if (left > 16)
		s[2] += little_endian(p + 16, left - 16) << 8; /* its low byte holds the length */
	mix(s);
	return s[2];
}

uint64_t rama_core_record_id(const void *name, size_t len)
{
	return rama_core_record_id_level(name, len, 0);
}
