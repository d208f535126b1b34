/* SPDX-License-Identifier: BSD-3-Clause */
/* made.h: logs made row by row, in memory, and the view of them. Helpers fail the running test. */
#ifndef RAMA_TESTS_MADE_H
#define RAMA_TESTS_MADE_H

#include "job/view.h"
#include "unit.h"

#define MADE_START 1700000000
#define MADE_SEGMENTS 4096

struct made_row {
	unsigned module;
	union rama_core_word w[256];
	union rama_core_word *array[2];
	uint64_t count[2];
	union rama_core_word (*seg)[RAMA_TAB_SEG_WORDS]; /* writes, then reads */
	size_t n_segs;
};

/* a log that is being made, then open for reading */
struct made {
	struct rama_log_job job;
	char names[64][128];
	size_t n_names;
	struct made_row *row[4096];
	size_t n_rows;
	uint64_t partial;
	bool closed; /* all is written */
	unsigned char *bytes;
	size_t n, room;
	struct rama_source src;
	struct rama_log log;
	unsigned problems;
};

/* of so many processes, that ran so long, from `start` seconds after the first; mounts: / ext4,
 * /scratch lustre */
struct made *made_new(int64_t nprocs, double start, double run_time);
void made_free(struct made *m);

/* id of a name, which the log gets to know */
uint64_t made_name(struct made *m, const char *name);
/* a record, all counters 0, to be filled in */
union rama_core_word *made_row(struct made *m, unsigned module, uint64_t id, int64_t rank);
/* what follows the record made last */
void made_array(struct made *m, unsigned k, const int64_t *value, size_t words, size_t n);
/* ... and a traced access of it: all writes (0) before the first read (1) */
void made_access(struct made *m, unsigned kind, int64_t offset, int64_t length, double start,
		 double end);
/* POSIX record of so many calls, bytes and seconds each way */
union rama_core_word *made_posix(struct made *m, uint64_t id, int64_t rank, const int64_t calls[2],
				 const int64_t bytes[2], const double seconds[3]);

/* writes it and opens it */
struct rama_log *made_log(struct made *m);
/* the view of this log alone, with trace and detail; nothing may be wrong */
void made_view(struct made *m, struct rama_job_view *v);
/* ... of a log whose numbers need not fit each other */
void made_damaged(struct made *m, struct rama_job_view *v);

/* the file of that name, which must be there */
const struct rama_job_view_file *made_file(const struct rama_job_view *v, const char *name);
/* what must hold of any view */
void made_check(const struct rama_job_view *v);

#define assert_near(a, b) \
	assert_true(fabs((double)(a) - (double)(b)) <= 1e-9 + 1e-9 * fabs((double)(b)))

#endif
