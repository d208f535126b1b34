/* SPDX-License-Identifier: BSD-3-Clause */
/* region.h: the decoded bytes of one region of a log, as a stream. A region holds any number of
 * compressed streams back to back; they are read as one. Memory does not depend on their size. */
#ifndef RAMA_LOGFILE_REGION_H
#define RAMA_LOGFILE_REGION_H

#ifndef RAMA_WITHOUT_BZIP2
#include <bzlib.h>
#endif
#include <stdbool.h>
#include <zlib.h>

#include "base/source.h"

enum rama_log_compression { RAMA_LOG_ZLIB, RAMA_LOG_BZIP2, RAMA_LOG_PLAIN_BYTES };

struct rama_log_region {
	struct rama_source *src;
	uint64_t at, end; /* stored bytes still to fetch */
	uint64_t decoded; /* bytes handed out */
	unsigned streams; /* that were begun */
	uint8_t kind;	  /* enum rama_log_compression */
	bool open;	  /* a stream is being decoded */
	z_stream z;
#ifndef RAMA_WITHOUT_BZIP2
	bz_stream bz;
#endif
	unsigned char *in; /* stored bytes not yet decoded: in[in_at .. in_n) */
	size_t in_at, in_n;
	unsigned char *out; /* decoded bytes not yet handed out */
	size_t out_at, out_n;
	struct rama_err err; /* set once something could not be decoded */
};

int rama_log_region_open(struct rama_log_region *r, struct rama_source *src, uint64_t off,
			 uint64_t len, uint8_t kind);
void rama_log_region_close(struct rama_log_region *r);

/* Up to n bytes; fewer only at the end or at damage, which r->err tells apart (err.code != 0). */
size_t rama_log_region_read(struct rama_log_region *r, void *buf, size_t n);
/* The same without copying: a pointer to at least `least` bytes if there are that many (*n tells),
 * least <= RAMA_LOG_REGION_PEEK; rama_log_region_skip() takes them. */
#define RAMA_LOG_REGION_PEEK (32u << 10)
const unsigned char *rama_log_region_peek(struct rama_log_region *r, size_t least, size_t *n);
void rama_log_region_skip(struct rama_log_region *r, size_t n);

#endif
