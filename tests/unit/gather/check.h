/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h: segments turned into logs in memory, and what is in them. Helpers fail the running
 * test. */
#ifndef RAMA_TESTS_CHECK_H
#define RAMA_TESTS_CHECK_H

#include "gather/gather.h"
#include "logfile/cursor.h"
#include "seg.h"
#include "unit.h"

#define CHECK_LOG (24u << 20)

/* a log that was made, open for reading */
struct check {
	unsigned char *bytes;
	size_t n;
	struct rama_source src;
	struct rama_log log;
	uint64_t partial;
	unsigned problems;
};

/* the plain case: rank 0 of 1, ended by itself */
extern const struct rama_gather_process check_alone;

/* the segment as a log of its own */
struct check *check_one(const struct seg *s, const struct rama_gather_process *p);
/* a log file that was written */
struct check *check_file(const char *path);
void check_end(struct check *c);

/* a copy of the n-th record of a module, which must be there; freed with the check */
struct check_record {
	struct rama_core_record r;
	union rama_core_word w[200], array[2][4096 / 8];
	union rama_core_word seg[2][1000][RAMA_TAB_SEG_WORDS];
};
struct check_record *check_get(struct check *c, unsigned module, unsigned n);
unsigned check_count(struct check *c, unsigned module);
const char *check_name(struct check *c, uint64_t id); /* NULL: it has none */

#endif
