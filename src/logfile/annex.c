/* SPDX-License-Identifier: BSD-3-Clause */
/* annex.c: the annex as writers make it; inside applications too. */
#include "logfile/annex.h"

#include <libdeflate.h>
#include <string.h>

const struct rama_log_section *rama_log_annex_find(const struct rama_log_annex *a, uint32_t id)
{
	for (unsigned i = 0; i < a->n; i++)
		if (a->section[i].id == id)
			return &a->section[i];
	return NULL;
}

void rama_log_annex_begin(struct rama_log_annex *a, uint64_t at)
{
	a->n = 0;
	a->begin = at;
}

struct rama_log_section *rama_log_annex_add(struct rama_log_annex *a, uint32_t id, uint32_t version,
					    uint64_t off)
{
	if (a->n == RAMA_LOG_ANNEX_MOST)
		return NULL;
	a->section[a->n] = (struct rama_log_section){ .id = id, .version = version, .off = off };
	return &a->section[a->n++];
}

static unsigned char *put(unsigned char *to, const void *v, size_t n)
{
	memcpy(to, v, n);
	return to + n;
}

size_t rama_log_annex_encode(const struct rama_log_annex *a, uint64_t at,
			     unsigned char bytes[RAMA_LOG_ANNEX_BYTES])
{
	uint64_t size = (uint64_t)a->n * RAMA_LOG_ANNEX_ENTRY,
		 end = at + size + RAMA_LOG_ANNEX_FOOTER;
	uint32_t version = RAMA_LOG_ANNEX_VERSION, crc;
	unsigned char *p = bytes;

	if (a->n == 0)
		return 0;
	for (unsigned i = 0; i < a->n; i++) {
		const struct rama_log_section *s = &a->section[i];

		p = put(p, &s->id, 4);
		p = put(p, &s->version, 4);
		p = put(p, &s->flags, 4);
		p = put(p, &s->crc, 4);
		p = put(p, &s->off, 8);
		p = put(p, &s->len, 8);
	}
	p = put(p, &a->begin, 8);
	p = put(p, &at, 8);
	p = put(p, &size, 8);
	p = put(p, &end, 8);
	p = put(p, &version, 4);
	crc = rama_log_crc(0, bytes, (size_t)(p - bytes));
	p = put(p, &crc, 4);
	p = put(p, RAMA_LOG_ANNEX_MAGIC, 8);
	return (size_t)(p - bytes);
}

/* ---- checksums ------------------------------------------------------------------------------- */

uint32_t rama_log_crc(uint32_t before, const void *bytes, size_t n)
{
	return n > 0 ? libdeflate_crc32(before, bytes, n) : before;
}

/* Product of two polynomials over the field of two elements, modulo that of CRC-32; the highest
 * bit is the constant term. */
static uint32_t times(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
		if (a & bit)
			product ^= b;
		b = b & 1 ? b >> 1 ^ 0xedb88320u : b >> 1;
	}
	return product;
}

/* A byte more multiplies a checksum by x to the eighth, so n of them by the n-th power of that. */
uint32_t rama_log_crc_join(uint32_t first, uint32_t second, uint64_t second_len)
{
	uint32_t power = 1u << 31, square = 1u << (31 - 8);

	for (; second_len > 0; second_len >>= 1) {
		if (second_len & 1)
			power = times(power, square);
		square = times(square, square);
	}
	return times(power, first) ^ second;
}
