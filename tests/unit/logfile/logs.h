/* SPDX-License-Identifier: BSD-3-Clause */
/* logs.h: logs in memory, for the tests of src/logfile: files that are bytes, records with random
 * content, logs put together byte by byte (of formats that the writer does not write), and a reader
 * that remembers what it was told. Helpers fail the running test when something is not as it
 * should be. */
#ifndef RAMA_TESTS_LOGS_H
#define RAMA_TESTS_LOGS_H

#include "logfile/cursor.h"
#include "logfile/log.h"
#include "logfile/writer.h"
#include "unit.h"

/* ---- a file in memory ----------------------------------------------------------------------- */

struct memfile {
	unsigned char *bytes;
	size_t n, room;
};

struct rama_log_sink memfile_sink(struct memfile *f);
void memfile_append(struct memfile *f, const void *bytes, size_t n);
void memfile_free(struct memfile *f);

/* ---- records with random content ------------------------------------------------------------ */

#define SAMPLE_WORDS 700 /* of the largest record */
#define SAMPLE_ARRAY 256
#define SAMPLE_SEGMENTS 40

struct sample {
	struct rama_core_record r;
	union rama_core_word w[SAMPLE_WORDS], array[2][SAMPLE_ARRAY];
	union rama_core_word seg[2][SAMPLE_SEGMENTS][RAMA_TAB_SEG_WORDS];
};

/* record number `index` of its region: AutoPerf's first one is a header */
void sample_make(struct sample *s, unsigned module, struct rng *r, unsigned index);
void sample_write(struct rama_log_writer *w, struct sample *s);
/* the record just read is this sample; without threads their ids are 0 */
void sample_check(struct rama_log_cursor *c, const struct rama_core_record *r,
		  const struct sample *s, bool threads);

/* ---- writing -------------------------------------------------------------------------------- */

/* a job that has everything */
extern const struct rama_log_job plain_job;
extern const struct rama_log_mount plain_mounts[2]; /* nfs /home, lustre /scratch */

/* a writer that has written the job */
void writer_start(struct rama_log_writer *w, struct memfile *f, uint8_t compression);
void writer_end(struct rama_log_writer *w, uint64_t partial);
void empty_log(struct memfile *f); /* with nothing in it but the job */

/* ---- logs byte by byte ---------------------------------------------------------------------- */

struct raw {
	const char *version; /* "3.10" */
	bool swap;	     /* in the other byte order */
	uint8_t compression;
	uint64_t partial;
	struct memfile names;
	struct {
		unsigned version;
		struct memfile data; /* decoded */
	} slot[RAMA_TAB_MODULES];    /* by the number in that format */
};

void raw_u64(const struct raw *raw, struct memfile *to, uint64_t v);
void raw_f64(const struct raw *raw, struct memfile *to, double v);
void raw_u32(const struct raw *raw, struct memfile *to, uint32_t v);
/* all of it; frees the parts */
void raw_build(struct raw *raw, struct memfile *to);

/* ---- reading -------------------------------------------------------------------------------- */

struct reading {
	struct rama_source src;
	struct rama_log log;
	struct rama_err err;
	unsigned lines; /* told */
	char last[512];
};

int reading_try(struct reading *in, const void *bytes, size_t n, bool strict);
/* must succeed without a word */
void reading_open(struct reading *in, const struct memfile *f);
void reading_close(struct reading *in);

/* reads all records and segments of all modules; 0 or the first error of a strict log */
int reading_walk(struct reading *in);

/* the record of this file and rank, which must be there; a copy that the caller frees */
struct found {
	union rama_core_word *w, *array[2];
	uint64_t count[2];
	union rama_core_word seg[2][SAMPLE_SEGMENTS][RAMA_TAB_SEG_WORDS];
};
struct found *reading_find(struct reading *in, unsigned module, uint64_t id, int64_t rank);
void found_free(struct found *f);
unsigned reading_count(struct reading *in, unsigned module); /* its records */

#endif
