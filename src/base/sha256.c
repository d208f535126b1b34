/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/sha256.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 64

struct state {
	uint32_t h[8];
	unsigned char block[BLOCK];
	size_t used;
	uint64_t bytes;
};

/* fractions of the cube roots of the first primes */
static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2
};

static uint32_t turn(uint32_t v, unsigned n)
{
	return v >> n | v << (32 - n);
}

static void take_block(struct state *s)
{
	uint32_t w[64], v[8];

	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)s->block[4 * i] << 24 | (uint32_t)s->block[4 * i + 1] << 16 |
		       (uint32_t)s->block[4 * i + 2] << 8 | s->block[4 * i + 3];
	for (unsigned i = 16; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, s->h, sizeof(v));
	for (unsigned i = 0; i < 64; i++) {
		uint32_t a = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
			     ((v[4] & v[5]) ^ (~v[4] & v[6])) + k[i] + w[i];
		uint32_t b = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
			     ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += a;
		v[0] = a + b;
	}
	for (unsigned i = 0; i < 8; i++)
		s->h[i] += v[i];
}

static void begin(struct state *s)
{
	static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	*s = (struct state){ .used = 0 };
	memcpy(s->h, first, sizeof(first));
}

static void add(struct state *s, const void *p, size_t n)
{
	const unsigned char *from = p;

	s->bytes += n;
	while (n > 0) {
		size_t part = BLOCK - s->used < n ? BLOCK - s->used : n;

		memcpy(s->block + s->used, from, part);
		s->used += part;
		from += part;
		n -= part;
		if (s->used == BLOCK) {
			take_block(s);
			s->used = 0;
		}
	}
}

static void finish(struct state *s, unsigned char to[RAMA_SHA256])
{
	static const unsigned char padding[BLOCK] = { 0x80 };
	unsigned char bits[8];

	for (unsigned i = 0; i < 8; i++)
		bits[i] = (unsigned char)(s->bytes * 8 >> (56 - 8 * i));
	add(s, padding, s->used < 56 ? 56 - s->used : 120 - s->used);
	add(s, bits, sizeof(bits));
	for (unsigned i = 0; i < RAMA_SHA256; i++)
		to[i] = (unsigned char)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void rama_sha256(const void *p, size_t n, unsigned char to[RAMA_SHA256])
{
	struct state s;

	begin(&s);
	add(&s, p, n);
	finish(&s, to);
}

void rama_sha256_hmac(const void *key, size_t key_len, const void *p, size_t n,
		      unsigned char to[RAMA_SHA256])
{
	unsigned char pad[BLOCK] = { 0 }, inner[RAMA_SHA256];
	struct state s;

	if (key_len > BLOCK)
		rama_sha256(key, key_len, pad);
	else
		memcpy(pad, key, key_len);
	for (unsigned i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36;
	begin(&s);
	add(&s, pad, BLOCK);
	add(&s, p, n);
	finish(&s, inner);
	for (unsigned i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	begin(&s);
	add(&s, pad, BLOCK);
	add(&s, inner, sizeof(inner));
	finish(&s, to);
}

void rama_sha256_text(const unsigned char digest[RAMA_SHA256], char to[2 * RAMA_SHA256 + 1])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 0; i < RAMA_SHA256; i++) {
		to[2 * i] = digits[digest[i] >> 4];
		to[2 * i + 1] = digits[digest[i] & 15];
	}
	to[2 * RAMA_SHA256] = '\0';
}
