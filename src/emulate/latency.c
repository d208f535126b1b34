/* SPDX-License-Identifier: BSD-3-Clause */
/* latency.c: how long requests took, in bins of which eight double the time: percentiles of any
 * number of requests in little memory. */
#include <math.h>

#include "emulate/work.h"

#define LEAST 1e-7 /* seconds: what is shorter is in the first bin */
#define PER_OCTAVE 8

void rama_emu_latency_add(struct rama_emu_latency *l, double seconds)
{
	double at = seconds > LEAST ? log2(seconds / LEAST) * PER_OCTAVE : 0;

	l->n[at < RAMA_EMU_LATENCY_BINS - 1 ? (unsigned)at : RAMA_EMU_LATENCY_BINS - 1]++;
}

void rama_emu_latency_join(struct rama_emu_latency *to, const struct rama_emu_latency *x)
{
	for (unsigned i = 0; i < RAMA_EMU_LATENCY_BINS; i++)
		to->n[i] += x->n[i];
}

double rama_emu_latency_at(const struct rama_emu_latency *l, double share)
{
	uint64_t all = 0, seen = 0;
	unsigned i = 0;

	for (unsigned k = 0; k < RAMA_EMU_LATENCY_BINS; k++)
		all += l->n[k];
	if (all == 0)
		return 0;
	while (i < RAMA_EMU_LATENCY_BINS - 1 && (double)(seen + l->n[i]) < share * (double)all)
		seen += l->n[i++];
	/* the middle of the bin */
	return LEAST * exp2((i + 0.5) / PER_OCTAVE);
}
