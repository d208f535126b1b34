/* SPDX-License-Identifier: BSD-3-Clause */
/* writer.h: writes a log in format 3.41. Job, names and modules come in that order, modules by
 * ascending id; memory does not grow with the log. The lower half serves writers that are many: each
 * packs its own pieces, rama_place() says where they go, one of them writes the header. */
#ifndef RAMA_LOGFILE_WRITER_H
#define RAMA_LOGFILE_WRITER_H

#include "core/record.h"
#include "logfile/log.h"
#include "logfile/region.h"

/* ---- pieces ------------------------------------------------------------------------------- */

struct rama_packer {
	uint8_t kind; /* enum rama_compression */
	int level;    /* zlib: 1..12 */
	struct libdeflate_compressor *deflate;
	unsigned char *packed; /* result of the last rama_pack */
	size_t room;
};

int rama_packer_init(struct rama_packer *p, uint8_t kind, int level, struct rama_err *e);
void rama_packer_fini(struct rama_packer *p);
/* One stream of n > 0 bytes; *packed is valid until the next call. */
int rama_pack(struct rama_packer *p, const void *bytes, size_t n, const unsigned char **packed,
	      size_t *packed_n, struct rama_err *e);

/* regions of a log in the order of the file */
enum {
	RAMA_REGION_JOB,
	RAMA_REGION_NAMES,
	RAMA_REGION_MODULE,
	RAMA_REGIONS = RAMA_REGION_MODULE + RAMA_MODULES
};

struct rama_header {
	uint8_t compression;
	uint64_t partial;
	struct rama_part part[RAMA_REGIONS]; /* version: of modules */
};

/* size[writer * RAMA_REGIONS + region] -> off[same], the place of each writer's piece: regions in
 * order, in a region writer after writer. Fills off and len of header->part; returns the file's size. */
uint64_t rama_place(const uint64_t *size, size_t writers, uint64_t *off,
		    struct rama_header *header);
void rama_header_encode(const struct rama_header *header, unsigned char bytes[RAMA_HEADER_NEW]);

/* Job struct and text as they stand in the region; what does not fit of the mounts is left out, and
 * a long command line is cut. Returns the bytes used. */
size_t rama_job_encode(const struct rama_job *job, const struct rama_mount *mounts, size_t n_mounts,
		       unsigned char bytes[RAMA_JOB_REGION]);

/* ---- one writer --------------------------------------------------------------------------- */

/* takes bytes at an offset; 0 or a negative error */
struct rama_sink {
	int (*write)(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e);
	void *ctx;
};

struct rama_writer {
	struct rama_sink sink;
	struct rama_packer packer;
	struct rama_header header;
	uint64_t at;	 /* next free byte of the file */
	unsigned region; /* being filled; RAMA_REGIONS before the first */
	unsigned char *pending;
	size_t pending_n;
	struct rama_err err; /* the first error; all later calls return it */
};

int rama_writer_init(struct rama_writer *w, const struct rama_sink *sink, uint8_t compression,
		     int level);
int rama_writer_job(struct rama_writer *w, const struct rama_job *job,
		    const struct rama_mount *mounts, size_t n_mounts);
int rama_writer_name(struct rama_writer *w, uint64_t id, const char *text, size_t len);
/* begins a module, whose records may be none; version: the module's newest or released */
int rama_writer_module(struct rama_writer *w, unsigned id, unsigned version);
int rama_writer_record(struct rama_writer *w, const struct rama_record *r);
/* after a trace record: exactly as many segments as it counts, writes before reads */
int rama_writer_segments(struct rama_writer *w, union rama_word (*seg)[RAMA_SEG_WORDS], size_t n);
/* the rest, and the header; the log is complete then */
int rama_writer_finish(struct rama_writer *w, uint64_t partial);
void rama_writer_fini(struct rama_writer *w);

#endif
