/* SPDX-License-Identifier: BSD-3-Clause */
/* coding.h: numbers and texts as bytes, the same on every machine: little-endian words, varints
 * (seven bits a byte, least first), signed numbers folded so that small ones of both signs are
 * short. A reader that met nonsense is `bad` from then on and gives zeros, so that callers look
 * once, at the end. */
#ifndef RAMA_WIRE_CODING_H
#define RAMA_WIRE_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RAMA_WIRE_VARINT_MOST 10 /* bytes */

static inline uint64_t rama_wire_fold(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? ~0ull : 0);
}

static inline int64_t rama_wire_unfold(uint64_t u)
{
	return (int64_t)(u >> 1 ^ (0 - (u & 1)));
}

static inline void rama_wire_store_le(unsigned char *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = (unsigned char)(v >> 8 * i);
}

static inline uint64_t rama_wire_load_le(const unsigned char *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

/* p has room for RAMA_WIRE_VARINT_MOST; returns the end */
static inline unsigned char *rama_wire_put_varint(unsigned char *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (unsigned char)(v | 0x80);
	*p++ = (unsigned char)v;
	return p;
}

struct rama_wire_reader {
	const unsigned char *p, *end;
	bool bad;
};

/* n bytes, or NULL */
static inline const unsigned char *rama_wire_get_bytes(struct rama_wire_reader *r, size_t n)
{
	const unsigned char *p = r->p;

	if (r->bad || (size_t)(r->end - p) < n) {
		r->bad = true;
		return NULL;
	}
	r->p += n;
	return p;
}

static inline uint64_t rama_wire_get_le(struct rama_wire_reader *r, unsigned bytes)
{
	const unsigned char *p = rama_wire_get_bytes(r, bytes);

	return r->bad ? 0 : rama_wire_load_le(p, bytes);
}

/* only the shortest form of a number is taken */
static inline uint64_t rama_wire_get_varint(struct rama_wire_reader *r)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70 && !r->bad; shift += 7) {
		unsigned char c = r->p < r->end ? *r->p++ : 0x80;

		if ((shift == 63 && c > 1) || (shift > 0 && c == 0))
			break;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80)
			return v;
	}
	r->bad = true;
	return 0;
}

#endif
