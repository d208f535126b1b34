/* SPDX-License-Identifier: BSD-3-Clause */
/* posix.h: what descriptor calls mean for the counters of a file. Pure: operations in, counters
 * out. Times in `w` are ticks (unsigned) while the file is being watched;
 * rama_core_posix_finish() makes records for the log of it. */
#ifndef RAMA_CORE_POSIX_H
#define RAMA_CORE_POSIX_H

#include "core/kind.h"
#include "core/values.h"

/* words of the EXTRA record that are kept here, from EXTRA_SEQ_READS on */
#define RAMA_CORE_POSIX_MORE (RAMA_TAB_EXTRA_F_WRITE_SUM + 1 - RAMA_TAB_EXTRA_SEQ_READS)

/* State of one file. It is part of the segment: a change needs a new layout version there. */
struct rama_core_posix_file {
	uint32_t seq;  /* even: at rest; odd: being changed. Also the lock among threads */
	uint32_t name; /* its name, segment/layout.h; 0: the slot is not in use yet */
	uint8_t stuck; /* a thread died while changing it: no longer updated */
	uint8_t last;  /* 1: the last access was a read, 2: a write */
	uint8_t pad[6];
	int64_t offset;			 /* tracked by the rules of the log format */
	int64_t last_read, last_written; /* last byte, same rules */
	int64_t end_read, end_written;	 /* where the last access ended, our own rules; -1: none */
	uint64_t meta_end, read_end, write_end;	       /* ticks */
	union rama_core_word w[RAMA_TAB_POSIX__WORDS]; /* the record; F_ words hold ticks */
	/* for the EXTRA record; F_ words hold ticks */
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

#endif
