/* SPDX-License-Identifier: BSD-3-Clause */
/* replay_hands.c: which operations of a rank went on at the same time. Logs seldom name threads;
 * but two operations of one process that overlap were two threads, or requests in flight. Each
 * goes to the first hand that was free when it began. */
#include <math.h>
#include <stdlib.h>

#include "emulate/replay/replay.h"

#define HANDS_MOST 64 /* of a rank; more than these wait for each other */

/* Hands of engines that MPI drives would need it to know threads. */
static uint32_t most_hands(const struct rama_emu_replay *r)
{
	return r->m->opt.engine->needs_mpi ? 1 : HANDS_MOST;
}

/* the hand of this rank that is free at `start`, or the one that is free first */
static uint16_t take_hand(double *free_at, uint32_t most, double start)
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < most; i++) {
		if (free_at[i] <= start)
			return (uint16_t)i;
		if (free_at[i] < free_at[best])
			best = i;
	}
	return (uint16_t)best;
}

int rama_emu_replay_number(struct rama_emu_replay *r, struct rama_err *e)
{
	uint32_t *count = calloc((size_t)r->m->team->size * r->hands, sizeof(*count));

	if (count == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (size_t i = 0; i < r->n; i++)
		r->ops[i].number = count[rama_emu_replay_hand(r, &r->ops[i])]++;
	free(count);
	return 0;
}

int rama_emu_replay_find_hands(struct rama_emu_replay *r, struct rama_err *e)
{
	uint32_t most = most_hands(r);
	double *free_at = calloc((size_t)r->nprocs * most, sizeof(*free_at));

	if (free_at == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	r->hands = 1;
	for (size_t i = 0; i < r->n; i++) {
		struct rama_emu_replay_op *op = &r->ops[i];
		double *mine = &free_at[(size_t)op->rank * most];

		op->hand = op->guessed ? 0 : take_hand(mine, most, op->start);
		mine[op->hand] = fmax(mine[op->hand], op->end);
		if (op->hand >= r->hands)
			r->hands = op->hand + 1u;
	}
	free(free_at);
	return 0;
}

uint32_t rama_emu_replay_hand(const struct rama_emu_replay *r, const struct rama_emu_replay_op *op)
{
	return rama_emu_replay_rank(r, op->rank) * r->hands + op->hand;
}
