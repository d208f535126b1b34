/* SPDX-License-Identifier: BSD-3-Clause */
/* far.h: blocks that lie elsewhere than in the tables, for the files of the store. */
#ifndef RAMA_STORE_BLOCKS_FAR_H
#define RAMA_STORE_BLOCKS_FAR_H

#include "store/handle.h"

int rama_store_far_open(struct rama_store *s, struct rama_err *e);
void rama_store_far_close(struct rama_store *s);

/* A block of this process, all of it new. k: its bytes, or none, and its sums. It is put with the
 * others of the batch: see rama_store_far_flush. */
int rama_store_far_put(struct rama_store *s, const struct rama_store_process *p,
		       struct rama_wire_block *b, struct rama_store_kept *k, struct rama_err *e);
/* All blocks of the batch are there for good when this returns: before the transaction is. */
int rama_store_far_flush(struct rama_store *s, struct rama_err *e);
void rama_store_far_forget(struct rama_store *s);

/* p is of another job or rank than these now. */
int rama_store_far_moved(struct rama_store *s, const struct rama_store_process *p, int64_t old_job,
			 int64_t old_rank, struct rama_err *e);

/* The events of a job are removed: part of the transaction that removes all else of it. */
int rama_store_far_removed(struct rama_store *s, int64_t job, struct rama_err *e);
/* ... and then there, what can be; the rest the next time. */
int rama_store_far_sweep(struct rama_store *s, struct rama_err *e);

#endif
