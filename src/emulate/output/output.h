/* SPDX-License-Identifier: BSD-3-Clause */
/* output.h: internal to output*.c */
#ifndef RAMA_EMULATE_OUTPUT_OUTPUT_H
#define RAMA_EMULATE_OUTPUT_OUTPUT_H

#include "emulate/emulate.h"

/* seconds in reads, writes, opens and syncs */
double rama_emu_tally_io(const struct rama_emu_tally *t);

/* one direction of a run, as the Wemul paper reports it */
struct rama_emu_side {
	uint64_t bytes, requests;
	double busy; /* seconds in requests, all ranks together */
	/* of the rank that spent most, requests that overlap counted once, writing with its syncs:
	 * the paper's bandwidth is bytes / this */
	double absolute;
	double longest;	      /* request */
	double p50, p95, p99; /* how long requests took */
};
struct rama_emu_side rama_emu_result_side(const struct rama_emu_result *r, bool write);

/* repeat.c */
struct rama_json;
void rama_emu_result_repeat(const struct rama_emu_result *r, struct rama_emu_repeat *s);
void rama_emu_repeats_text(const struct rama_emu_repeats *all, struct rama_out *out);
void rama_emu_repeats_json(const struct rama_emu_repeats *all, struct rama_json *j);

/* dag.c: what a workflow waited for, from the times of its tasks; nothing of it where
 * those were not kept */
struct rama_emu_task_wait {
	double input,
		/* seconds until all input was there, and until ranks were free; of all
		 * iterations */
		rank;
};
/* by task, to be freed; NULL */
struct rama_emu_task_wait *rama_emu_result_waits(const struct rama_emu_emulation *m);
uint32_t rama_emu_result_iterations(const struct rama_emu_emulation *m);
/* The longest chain of tasks, each waiting for the one before, in one iteration, as measured; to
 * be freed. NULL: there is none */
uint32_t *rama_emu_result_critical(const struct rama_emu_emulation *m, uint32_t iteration,
				   int64_t *n, double *seconds);

#endif
