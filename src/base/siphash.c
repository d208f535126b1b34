/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/siphash.h"

static uint64_t rotate(uint64_t x, unsigned b)
{
	return x << b | x >> (64 - b);
}

static void rounds(uint64_t v[4], unsigned n)
{
	while (n-- > 0) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

uint64_t rama_siphash(const struct rama_sipkey *key, const void *data, size_t n)
{
	const unsigned char *p = data;
	uint64_t v[4] = { key->k0 ^ 0x736f6d6570736575u, key->k1 ^ 0x646f72616e646f6du,
			  key->k0 ^ 0x6c7967656e657261u, key->k1 ^ 0x7465646279746573u };
	uint64_t last = (uint64_t)n << 56;

	for (size_t left = n; left >= 8; left -= 8, p += 8) {
		uint64_t m = 0;

		for (unsigned i = 0; i < 8; i++)
			m |= (uint64_t)p[i] << (8 * i);
		v[3] ^= m;
		rounds(v, 2);
		v[0] ^= m;
	}
	for (unsigned i = 0; i < n % 8; i++)
		last |= (uint64_t)p[i] << (8 * i);
	v[3] ^= last;
	rounds(v, 2);
	v[0] ^= last;
	v[2] ^= 0xff;
	rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct rama_sipkey rama_sipkey_from(const void *text, size_t n)
{
	const struct rama_sipkey one = { 0x696f72616d61206bu, 0x6579206f6e650001u },
				 two = { 0x696f72616d61206bu, 0x65792074776f0002u };

	return (struct rama_sipkey){ rama_siphash(&one, text, n), rama_siphash(&two, text, n) };
}
