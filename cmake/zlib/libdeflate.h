/* SPDX-License-Identifier: BSD-3-Clause */
/* libdeflate.h: what we call of libdeflate, made of zlib, for builds without it. Slower, the same
 * formats. On the include path only where libdeflate is left out: cmake/optional.cmake. */
#ifndef LIBDEFLATE_H
#define LIBDEFLATE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

struct libdeflate_compressor {
	int level;
};
struct libdeflate_decompressor {
	char nothing;
};
enum libdeflate_result { LIBDEFLATE_SUCCESS, LIBDEFLATE_BAD_DATA };

/* window bits as zlib wants them: what is around the compressed bytes */
enum { IORAMA_ZLIB_RAW = -15, IORAMA_ZLIB_ZLIB = 15, IORAMA_ZLIB_GZIP = 15 + 16 };

static inline struct libdeflate_compressor *libdeflate_alloc_compressor(int level)
{
	struct libdeflate_compressor *c = malloc(sizeof(*c));

	if (c != NULL)
		c->level = level < 9 ? level : 9;
	return c;
}

static inline void libdeflate_free_compressor(struct libdeflate_compressor *c)
{
	free(c);
}

/* bytes of the result; 0: it has no room, or there is no memory */
static inline size_t iorama_zlib_pack(const struct libdeflate_compressor *c, int bits,
				      const void *in, size_t n, void *out, size_t room)
{
	z_stream z = { 0 };
	size_t size;

	if (n > UINT_MAX || deflateInit2(&z, c->level, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY))
		return 0;
	z.next_in = (unsigned char *)(uintptr_t)in;
	z.avail_in = (unsigned)n;
	z.next_out = out;
	z.avail_out = room < UINT_MAX ? (unsigned)room : UINT_MAX;
	size = deflate(&z, Z_FINISH) == Z_STREAM_END ? z.total_out : 0;
	deflateEnd(&z);
	return size;
}

static inline size_t libdeflate_deflate_compress(struct libdeflate_compressor *c, const void *in,
						 size_t n, void *out, size_t room)
{
	return iorama_zlib_pack(c, IORAMA_ZLIB_RAW, in, n, out, room);
}

static inline size_t libdeflate_zlib_compress(struct libdeflate_compressor *c, const void *in,
					      size_t n, void *out, size_t room)
{
	return iorama_zlib_pack(c, IORAMA_ZLIB_ZLIB, in, n, out, room);
}

static inline size_t libdeflate_gzip_compress(struct libdeflate_compressor *c, const void *in,
					      size_t n, void *out, size_t room)
{
	return iorama_zlib_pack(c, IORAMA_ZLIB_GZIP, in, n, out, room);
}

/* as zlib's deflateBound() where no stream is there to ask, and the longest head and foot */
static inline size_t libdeflate_zlib_compress_bound(struct libdeflate_compressor *c, size_t n)
{
	(void)c;
	return n + ((n + 7) >> 3) + ((n + 63) >> 6) + 32;
}

static inline size_t libdeflate_gzip_compress_bound(struct libdeflate_compressor *c, size_t n)
{
	return libdeflate_zlib_compress_bound(c, n);
}

static inline struct libdeflate_decompressor *libdeflate_alloc_decompressor(void)
{
	return malloc(sizeof(struct libdeflate_decompressor));
}

static inline void libdeflate_free_decompressor(struct libdeflate_decompressor *d)
{
	free(d);
}

/* made == NULL: exactly `room` bytes come out, or it is an error */
static inline enum libdeflate_result libdeflate_deflate_decompress(
	struct libdeflate_decompressor *d, const void *in, size_t n, void *out, size_t room,
	size_t *made)
{
	z_stream z = { 0 };
	int rc;

	(void)d;
	if (n > UINT_MAX || room > UINT_MAX || inflateInit2(&z, IORAMA_ZLIB_RAW) != Z_OK)
		return LIBDEFLATE_BAD_DATA;
	z.next_in = (unsigned char *)(uintptr_t)in;
	z.avail_in = (unsigned)n;
	z.next_out = out;
	z.avail_out = (unsigned)room;
	rc = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	if (made != NULL)
		*made = z.total_out;
	return rc == Z_STREAM_END && (made != NULL || z.total_out == room) ? LIBDEFLATE_SUCCESS
									   : LIBDEFLATE_BAD_DATA;
}

static inline uint32_t libdeflate_crc32(uint32_t before, const void *bytes, size_t n)
{
	return bytes != NULL ? (uint32_t)crc32_z(before, bytes, n) : before;
}

#endif
