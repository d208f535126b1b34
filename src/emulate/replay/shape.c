/* SPDX-License-Identifier: BSD-3-Clause */
/* shape.c: operations that add up to what counters say: as many, as many bytes, the most
 * frequent sizes, in order or not, over the same time. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/replay/replay.h"

/* ranges of the size histogram */
static const int64_t lowest[RAMA_EMU_SHAPE_BINS + 1] = { 0,	    101,	1025,	  10241,
							 102401,    1048577,	4194305,  10485761,
							 104857601, 1073741825, INT64_MAX };

/* The sizes of all requests of a record: the frequent ones as often as they were, the rest of
 * the bytes on the rest of the requests, each within its range of the histogram. */
struct sizes {
	const struct rama_emu_replay_shape *s;
	int64_t often[4];		   /* left of each */
	int64_t rest[RAMA_EMU_SHAPE_BINS]; /* left of the others */
	int64_t count, surplus; /* of the others: how many, bytes above the lowest they can have */
	unsigned turn;
};

static unsigned bin_of(int64_t size)
{
	unsigned b = 0;

	while (b + 1 < RAMA_EMU_SHAPE_BINS && size >= lowest[b + 1])
		b++;
	return b;
}

/* Reads and writes share the list of frequent sizes: no more of a size than this side has in
 * that range. */
static void take_frequent(struct sizes *z)
{
	for (int i = 0; i < 4; i++) {
		unsigned b = bin_of(z->s->size[i]);
		int64_t n = z->s->often[i] < z->rest[b] ? z->s->often[i] : z->rest[b], each, fit;

		each = z->s->size[i] - lowest[b];
		if (z->s->size[i] <= 0 || n <= 0)
			continue;
		/* and no more than there are bytes for */
		fit = each > 0 ? (z->surplus > 0 ? z->surplus : 0) / each : n;
		n = n < fit ? n : fit;
		z->often[i] = n;
		z->rest[b] -= n;
		z->count -= n;
		z->surplus -= n * each;
	}
}

/* What is left needs a request that may be larger. */
static void leave_one(struct sizes *z)
{
	for (int i = 3; i >= 0 && z->count == 0 && z->surplus > 0; i--) {
		unsigned b = bin_of(z->s->size[i]);

		if (z->often[i] == 0)
			continue;
		z->often[i]--;
		z->rest[b]++;
		z->count++;
		z->surplus += z->s->size[i] - lowest[b];
	}
}

static void sizes_init(struct sizes *z, const struct rama_emu_replay_shape *s)
{
	*z = (struct sizes){ .s = s, .count = s->count, .surplus = s->bytes };
	for (unsigned b = 0; b < RAMA_EMU_SHAPE_BINS; b++) {
		z->rest[b] = s->in_bin[b];
		z->surplus -= s->in_bin[b] * lowest[b];
	}
	if (z->surplus < 0) { /* cannot be: such a histogram says nothing */
		memset(z->rest, 0, sizeof(z->rest));
		z->rest[0] = s->count;
		z->surplus = s->bytes;
	}
	take_frequent(z);
	leave_one(z);
}

/* the next of the others: small ones first, as near to the mean as their range lets them; the
 * last one has all that is left */
static int64_t next_rest(struct sizes *z)
{
	unsigned b = 0;
	int64_t most, n;

	while (z->rest[b] == 0)
		b++;
	most = lowest[b + 1] - 1 - lowest[b];
	n = z->surplus / z->count;
	if (z->count > 1 && n > most)
		n = most;
	z->rest[b]--;
	z->count--;
	z->surplus -= n;
	return lowest[b] + n;
}

/* by turns, so that sizes are mixed as they were likely mixed */
static int64_t next_size(struct sizes *z)
{
	for (int i = 0; i < 5; i++) {
		unsigned k = z->turn++ % 5;

		if (k < 4 && z->often[k] > 0) {
			z->often[k]--;
			return z->s->size[k];
		}
		if (k == 4 && z->count > 0)
			return next_rest(z);
	}
	return 0;
}

int rama_emu_replay_shape(struct rama_emu_replay *r, const struct rama_emu_replay_shape *s,
			  struct rama_err *e)
{
	struct sizes z;
	int64_t each = s->bytes / s->ranks + 1, *at = calloc(s->ranks, sizeof(*at));
	double window = s->to > s->from ? s->to - s->from : s->busy / s->ranks;
	double step = window * s->ranks / (double)s->count;
	double busy = s->busy / (double)s->count;
	uint64_t random = r->m->opt.seed + s->file;
	int64_t top = s->highest < 0 ? s->bytes : s->highest + 1;
	int rc = 0;

	if (at == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	sizes_init(&z, s);
	for (int64_t i = 0; rc == 0 && i < s->count; i++) {
		uint32_t rank = (uint32_t)(i % s->ranks);
		int64_t turn = i / s->ranks;
		int64_t n = next_size(&z), base = (int64_t)rank * each;
		struct rama_emu_replay_op op = { .file = s->file,
						 .rank = s->first + (int32_t)rank,
						 .write = s->write,
						 .guessed = true,
						 .upper = s->together >= 0,
						 .together = turn < s->together / s->ranks,
						 .length = n };

		random = random * 6364136223846793005u + 1442695040888963407u;
		if ((double)(random >> 11) * 0x1p-53 < s->sequential || top <= n)
			op.offset = (base + at[rank]) % (top > n ? top - n + 1 : 1);
		else
			op.offset = (int64_t)((random >> 16) % (uint64_t)(top - n + 1));
		at[rank] += n;
		op.start = s->from + (double)turn * step;
		op.end = op.start + (busy < step ? busy : step);
		rc = rama_emu_replay_add(r, &op, e);
	}
	free(at);
	return rc;
}
