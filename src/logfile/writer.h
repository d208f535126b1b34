/* SPDX-License-Identifier: BSD-3-Clause */
/* writer.h: writes a log in format 3.41. Job, names and modules come in that order, modules by
 * ascending id; memory does not grow with the log, but for the thread ids of a trace, which wait
 * for the annex: some bytes, compressed, where the thread changes. The upper half serves writers
 * that are many: each packs its own pieces, rama_log_place() says where they go, one of them
 * writes header and annex. */
#ifndef RAMA_LOGFILE_WRITER_H
#define RAMA_LOGFILE_WRITER_H

#include "core/record.h"
#include "logfile/log.h"
#include "logfile/region.h"

/* ---- pieces ------------------------------------------------------------------------------- */

struct rama_log_packer {
	uint8_t kind; /* enum rama_log_compression */
	int level;    /* zlib: 1..12 */
	struct libdeflate_compressor *deflate;
	unsigned char *packed; /* result of the last rama_log_pack */
	size_t room;
};

int rama_log_packer_init(struct rama_log_packer *p, uint8_t kind, int level, struct rama_err *e);
void rama_log_packer_fini(struct rama_log_packer *p);
/* One stream of n > 0 bytes; *packed is valid until the next call. */
int rama_log_pack(struct rama_log_packer *p, const void *bytes, size_t n,
		  const unsigned char **packed, size_t *packed_n, struct rama_err *e);

/* regions of a log in the order of the file */
enum {
	RAMA_LOG_REGION_JOB,
	RAMA_LOG_REGION_NAMES,
	RAMA_LOG_REGION_MODULE,
	RAMA_LOG_REGIONS = RAMA_LOG_REGION_MODULE + RAMA_TAB_MODULES
};

struct rama_log_header {
	uint8_t compression;
	uint64_t partial;
	struct rama_log_part part[RAMA_LOG_REGIONS]; /* version: of modules */
	bool inner; /* names our own modules too: a log that nobody else will see */
};

/* size[writer * RAMA_LOG_REGIONS + region] -> off[same], the place of each writer's piece:
 * regions in order, in a region writer after writer. Fills off and len of header->part. Returns
 * the size of the file, to which the annex's directory and footer are added; its first bytes
 * have their room. */
uint64_t rama_log_place(const uint64_t *size, size_t writers, uint64_t *off,
			struct rama_log_header *header);
void rama_log_header_encode(const struct rama_log_header *header,
			    unsigned char bytes[RAMA_LOG_HEADER_NEW]);
/* The annex of a log by many writers: regions from RAMA_TAB_OURS on are its sections. crc[id] is
 * the checksum of a whole one. */
void rama_log_annex_of(const struct rama_log_header *header, const uint32_t crc[RAMA_TAB_MODULES],
		       struct rama_log_annex *to);

/* Job struct and text as they stand in the region; what does not fit of the mounts is left out, and
 * a long command line is cut. Returns the bytes used. */
size_t rama_log_job_encode(const struct rama_log_job *job, const struct rama_log_mount *mounts,
			   size_t n_mounts, unsigned char bytes[RAMA_LOG_JOB_REGION]);

/* ---- one writer --------------------------------------------------------------------------- */

/* takes bytes at an offset; 0 or a negative error */
struct rama_log_sink {
	int (*write)(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e);
	void *ctx;
};

/* thread ids of one trace on their way to the annex */
struct rama_log_runs {
	unsigned section;      /* id; 0: none is kept now */
	unsigned char *packed; /* streams that are complete */
	size_t packed_n, packed_room;
	uint64_t *plain; /* what follows them */
	size_t plain_n, plain_room;
	uint64_t thread, run; /* segments of that thread, one after the other */
	bool any;	      /* one of them is known */
};

struct rama_log_writer {
	struct rama_log_sink sink;
	struct rama_log_packer packer;
	struct rama_log_header header;
	struct rama_log_annex annex;
	struct rama_log_section *section; /* of the annex, being filled; or NULL */
	struct rama_log_runs runs[2];	  /* of DXT_POSIX and DXT_MPIIO */
	struct rama_log_runs *tracing;	  /* of the module being written, or NULL */
	/* Set after rama_log_writer_init() for a log that only we read again: newest versions,
	 * all modules in the header, no annex. */
	bool inner;
	uint64_t at;	 /* next free byte of the file */
	unsigned region; /* being filled; RAMA_LOG_REGIONS before the first */
	unsigned char *pending;
	size_t pending_n;
	struct rama_err err; /* the first error; all later calls return it */
};

int rama_log_writer_init(struct rama_log_writer *w, const struct rama_log_sink *sink,
			 uint8_t compression, int level);
int rama_log_writer_job(struct rama_log_writer *w, const struct rama_log_job *job,
			const struct rama_log_mount *mounts, size_t n_mounts);
int rama_log_writer_name(struct rama_log_writer *w, uint64_t id, const char *text, size_t len);
/* Begins a module, whose records may be none. It is stored as its released version; with the
 * newest one what that lacks, the thread ids of segments, goes into the annex. Our own modules
 * do so altogether. */
int rama_log_writer_module(struct rama_log_writer *w, unsigned id, unsigned version);
int rama_log_writer_record(struct rama_log_writer *w, const struct rama_core_record *r);
/* after a trace record: exactly as many segments as it counts, writes before reads */
int rama_log_writer_segments(struct rama_log_writer *w,
			     union rama_core_word (*seg)[RAMA_TAB_SEG_WORDS], size_t n);
/* has it a section of that number already, or thread ids that become one? */
bool rama_log_writer_has(const struct rama_log_writer *w, uint32_t section);
/* A section of the annex that nobody here knows, after all modules: its bytes as they are
 * decoded. */
int rama_log_writer_section(struct rama_log_writer *w, const struct rama_log_section *like);
int rama_log_writer_bytes(struct rama_log_writer *w, const void *bytes, size_t n);
/* the rest, the annex and the header; the log is complete then */
int rama_log_writer_finish(struct rama_log_writer *w, uint64_t partial);
void rama_log_writer_fini(struct rama_log_writer *w);

#endif
