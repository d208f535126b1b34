/* SPDX-License-Identifier: BSD-3-Clause */
#include "logfile/region.h"

#include <stdlib.h>
#include <string.h>

#ifdef RAMA_WITHOUT_DECODERS
/* Inside of applications only logs are read that were written a moment before, without
 * compression: no decoders. */
#undef inflateInit
#define inflateInit(z) ((void)(z), Z_MEM_ERROR)
#define inflate(z, flush) ((void)(z), Z_STREAM_ERROR)
#define inflateEnd(z) ((void)(z))
#define zError(rc) ((void)(rc), "compressed")
#endif

#define IN_SIZE (64u << 10)
#define OUT_SIZE (128u << 10)

static void end_bzip2(struct rama_log_region *r)
{
#ifdef RAMA_WITHOUT_BZIP2
	(void)r;
#else
	BZ2_bzDecompressEnd(&r->bz);
#endif
}

int rama_log_region_open(struct rama_log_region *r, struct rama_source *src, uint64_t off,
			 uint64_t len, uint8_t kind)
{
	*r = (struct rama_log_region){ .src = src, .at = off, .end = off + len, .kind = kind };
	r->in = malloc(IN_SIZE);
	r->out = malloc(OUT_SIZE);
	return r->in != NULL && r->out != NULL ? 0 : rama_err_no_memory(&r->err);
}

void rama_log_region_close(struct rama_log_region *r)
{
	if (r->open && r->kind == RAMA_LOG_ZLIB)
		inflateEnd(&r->z);
	else if (r->open && r->kind == RAMA_LOG_BZIP2)
		end_bzip2(r);
	r->open = false;
	free(r->in);
	free(r->out);
	r->in = r->out = NULL;
	r->in_at = r->in_n = r->out_at = r->out_n = 0;
}

/* fetches stored bytes if none are left; false at the end of the region */
static bool fetch(struct rama_log_region *r)
{
	size_t n;

	if (r->in_at < r->in_n)
		return true;
	n = r->end - r->at < IN_SIZE ? (size_t)(r->end - r->at) : IN_SIZE;
	if (n == 0 || r->src->read(r->src->ctx, r->at, r->in, n, &r->err) != 0)
		return false;
	r->at += n;
	r->in_at = 0;
	r->in_n = n;
	return true;
}

static void damaged(struct rama_log_region *r, const char *what)
{
	uint64_t place = r->at - (r->in_n - r->in_at);

	rama_err_set(&r->err, RAMA_ECORRUPT,
		     "stream %u is damaged at byte %llu of the file (%s), after %llu decoded bytes",
		     r->streams, (unsigned long long)place, what,
		     (unsigned long long)(r->decoded + (r->out_n - r->out_at)));
}

/* a log that is compressed with it is refused when it is opened, where there is no bzip2 */
static bool begin_bzip2(struct rama_log_region *r)
{
#ifdef RAMA_WITHOUT_BZIP2
	(void)r;
	return false;
#else
	r->bz = (bz_stream){ 0 };
	return BZ2_bzDecompressInit(&r->bz, 0, 0) == BZ_OK;
#endif
}

static bool begin_stream(struct rama_log_region *r)
{
	bool ok;

	if (r->kind == RAMA_LOG_ZLIB) {
		r->z = (z_stream){ 0 };
		ok = inflateInit(&r->z) == Z_OK;
	} else {
		ok = begin_bzip2(r);
	}
	if (!ok) {
		rama_err_no_memory(&r->err);
		return false;
	}
	r->streams++;
	r->open = true;
	return true;
}

/* One step of a decoder: consumes from in, produces to out[out_n ..). Returns bytes produced. */
static size_t step_zlib(struct rama_log_region *r)
{
	size_t room = OUT_SIZE - r->out_n, made;
	int rc;

	r->z.next_in = r->in + r->in_at;
	r->z.avail_in = (uInt)(r->in_n - r->in_at);
	r->z.next_out = r->out + r->out_n;
	r->z.avail_out = (uInt)room;
	rc = inflate(&r->z, Z_NO_FLUSH);
	r->in_at = r->in_n - r->z.avail_in;
	made = room - r->z.avail_out;
	r->out_n += made;
	if (rc == Z_STREAM_END) {
		inflateEnd(&r->z);
		r->open = false;
	} else if (rc != Z_OK && rc != Z_BUF_ERROR) {
		damaged(r, r->z.msg != NULL ? r->z.msg : zError(rc));
	}
	return made;
}

static size_t step_bzip2(struct rama_log_region *r)
{
#ifdef RAMA_WITHOUT_BZIP2
	(void)r;
	return 0;
#else
	size_t room = OUT_SIZE - r->out_n, made;
	int rc;

	r->bz.next_in = (char *)r->in + r->in_at;
	r->bz.avail_in = (unsigned)(r->in_n - r->in_at);
	r->bz.next_out = (char *)r->out + r->out_n;
	r->bz.avail_out = (unsigned)room;
	rc = BZ2_bzDecompress(&r->bz);
	r->in_at = r->in_n - r->bz.avail_in;
	made = room - r->bz.avail_out;
	r->out_n += made;
	if (rc == BZ_STREAM_END) {
		BZ2_bzDecompressEnd(&r->bz);
		r->open = false;
	} else if (rc != BZ_OK) {
		damaged(r, rc == BZ_MEM_ERROR ? "out of memory" : "not bzip2 data");
	}
	return made;
#endif
}

static size_t step_plain(struct rama_log_region *r)
{
	size_t n = r->in_n - r->in_at, room = OUT_SIZE - r->out_n;

	n = n < room ? n : room;
	memcpy(r->out + r->out_n, r->in + r->in_at, n);
	r->in_at += n;
	r->out_n += n;
	return n;
}

/* decodes until out holds at least `least` bytes, the region ends or is damaged */
static void fill(struct rama_log_region *r, size_t least)
{
	if (r->out_at > 0 && OUT_SIZE - r->out_at < least) {
		memmove(r->out, r->out + r->out_at, r->out_n - r->out_at);
		r->out_n -= r->out_at;
		r->out_at = 0;
	} else if (r->out_at == r->out_n) {
		r->out_at = r->out_n = 0;
	}
	while (r->out_n - r->out_at < least && r->err.code == 0) {
		bool more = fetch(r);

		/* a decoder may still hold output when its input is used up */
		if (!more && !r->open)
			return;
		if (r->kind == RAMA_LOG_PLAIN_BYTES) {
			step_plain(r);
			continue;
		}
		if (!r->open && !begin_stream(r))
			return;
		if ((r->kind == RAMA_LOG_ZLIB ? step_zlib(r) : step_bzip2(r)) == 0 && !more &&
		    r->open && r->err.code == 0) {
			damaged(r, "the stream ends early");
			return;
		}
	}
}

const unsigned char *rama_log_region_peek(struct rama_log_region *r, size_t least, size_t *n)
{
	if (r->out_n - r->out_at < least)
		fill(r, least);
	*n = r->out_n - r->out_at;
	return r->out + r->out_at;
}

void rama_log_region_skip(struct rama_log_region *r, size_t n)
{
	r->out_at += n;
	r->decoded += n;
}

size_t rama_log_region_read(struct rama_log_region *r, void *buf, size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t have;
		const unsigned char *p = rama_log_region_peek(r, 1, &have);

		if (have == 0)
			break;
		have = have < n - done ? have : n - done;
		memcpy((char *)buf + done, p, have);
		rama_log_region_skip(r, have);
		done += have;
	}
	return done;
}
