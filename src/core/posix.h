/* SPDX-License-Identifier: BSD-3-Clause */
/* posix.h: what descriptor calls mean for the counters of a file. Pure: operations in, counters
 * out. Times in `w` are ticks (unsigned) while the file is being watched;
 * rama_core_posix_finish() makes records for the log of it. */
#ifndef RAMA_CORE_POSIX_H
#define RAMA_CORE_POSIX_H

#include "core/kind.h"
#include "core/site.h"
#include "core/values.h"

/* words of the EXTRA record that are kept here, from EXTRA_SEQ_READS on */
#define RAMA_CORE_POSIX_MORE (RAMA_TAB_EXTRA_F_WRITE_SUM + 1 - RAMA_TAB_EXTRA_SEQ_READS)

/* one direction: where its last access ended, and when */
struct rama_core_posix_way {
	/* an access that begins here follows on the last one; RAMA_CORE_POSIX_AFRESH: there was
	 * none yet, or the file was opened or closed since */
	int64_t next;
	int64_t end;	/* if so: where the last one ended all the same; -1: there was none */
	uint64_t until; /* ticks: latest end of its calls */
};
#define RAMA_CORE_POSIX_AFRESH INT64_MIN

/* State of one file. It is part of the segment: a change needs a new layout version there. What
 * follows from other words is not kept by each call, but found by rama_core_posix_finish(). */
struct rama_core_posix_file {
	uint32_t seq;  /* even: at rest; odd: being changed. Also the lock among threads */
	uint32_t name; /* its name, segment/layout.h; 0: the slot is not in use yet */
	uint8_t stuck; /* a thread died while changing it: no longer updated */
	/* 1: the last access was a read, 2: a write; ODD added: the alignment of the file is no
	 * power of two, so that each access is a case of its own */
	uint8_t last;
	uint8_t pad[2];
	uint32_t run;	    /* accesses of one size and stride that `access` and `stride` lack */
	int64_t run_size;   /* ... that size, */
	int64_t run_stride; /* and that stride: the values seen last */
	int64_t offset;	    /* tracked by the rules of the log format */
	uint64_t file_mask; /* bits of an offset that is not aligned; ODD: 0 */
	uint64_t meta_end;  /* ticks */
	uint64_t syncs;	    /* ticks in them: EXTRA_F_SYNC_TIME */
	struct rama_core_posix_way read, written;
	struct rama_core_turn turn[RAMA_CORE_TURNS];
	/* the record; F_ words hold ticks. The last byte of a way is in it only when another
	 * access did not follow on. */
	union rama_core_word w[RAMA_TAB_POSIX__WORDS];
	/* For the EXTRA record; F_ words hold ticks. SEQ_..., CONSEC_... and F_..._SUM: less those
	 * of the same name in `w`. */
	union rama_core_word more[RAMA_CORE_POSIX_MORE];
	struct rama_core_values access, stride;
};

void rama_core_posix_init(struct rama_core_posix_file *f, uint64_t id, int64_t mem_align,
			  int64_t file_align);
/* any kind of operation; those that mean nothing here change nothing */
void rama_core_posix_apply(struct rama_core_posix_file *f, const struct rama_core_op *op);
/* Ticks of `tick` seconds become seconds, the most frequent values get their slots. `f` may hold
 * anything. `more`: the words of the EXTRA record from SEQ_READS on. */
void rama_core_posix_finish(const struct rama_core_posix_file *f, double tick,
			    union rama_core_word w[RAMA_TAB_POSIX__WORDS],
			    union rama_core_word more[RAMA_CORE_POSIX_MORE]);

/* the words of the EXTRA record alone, in ticks */
void rama_core_posix_more(const struct rama_core_posix_file *f,
			  union rama_core_word more[RAMA_CORE_POSIX_MORE]);

/* ... and of these EXTRA_F_SYNC_TIME, which stands apart; in seconds */
double rama_core_posix_sync_time(const struct rama_core_posix_file *f, double tick);

#endif
