/* SPDX-License-Identifier: BSD-3-Clause */
/* replay_change.c: the operations of a log done in another way, where the parameters say so:
 * larger or smaller requests, aligned ones, a file of its own for each rank. Bytes stay as many
 * as they were; so does the time between operations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/replay/replay.h"

static int by_rank(const void *a, const void *b)
{
	const struct rama_emu_replay_op *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->hand != y->hand)
		return x->hand < y->hand ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* ---- size of requests ----------------------------------------------------------------------- */

/* Can b be done with a, in one request? */
static bool follows(const struct rama_emu_replay_op *a, const struct rama_emu_replay_op *b,
		    int64_t most)
{
	return a->rank == b->rank && a->hand == b->hand && a->file == b->file &&
	       a->write == b->write && a->offset + a->length == b->offset &&
	       b->length <= most - a->length;
}

/* A write is done when the first was, a read when the last was: what is to be read may have been
 * written in between. What they took is added. */
static void join(struct rama_emu_replay_op *a, const struct rama_emu_replay_op *b)
{
	double took = a->end - a->start + (b->end - b->start);

	if (!a->write)
		a->start = b->start;
	a->end = a->start + took;
	a->length += b->length;
}

static void join_all(struct rama_emu_replay *r, int64_t most)
{
	size_t n = 0;

	qsort(r->ops, r->n, sizeof(*r->ops), by_rank);
	for (size_t i = 0; i < r->n; i++) {
		if (n > 0 && follows(&r->ops[n - 1], &r->ops[i], most))
			join(&r->ops[n - 1], &r->ops[i]);
		else
			r->ops[n++] = r->ops[i];
	}
	r->n = n;
}

static int split_all(struct rama_emu_replay *r, int64_t most, struct rama_err *e)
{
	size_t n = r->n;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct rama_emu_replay_op op = r->ops[i], part;
		double each = (op.end - op.start) / (double)op.length;
		int64_t done = most;

		if (op.length <= most)
			continue;
		r->ops[i].length = most;
		r->ops[i].end = op.start + each * (double)most;
		for (; rc == 0 && done < op.length; done += part.length) {
			part = op;
			part.offset += done;
			part.length = op.length - done < most ? op.length - done : most;
			part.start = op.start + each * (double)done;
			part.end = part.start + each * (double)part.length;
			rc = rama_emu_replay_add(r, &part, e);
		}
	}
	return rc;
}

/* All offsets multiplied; a request keeps at least a byte. */
static void scale_all(struct rama_emu_replay *r, double ratio)
{
	for (uint32_t i = 0; i < r->n_files; i++)
		r->files[i].size = 0;
	for (size_t i = 0; i < r->n; i++) {
		struct rama_emu_replay_op *op = &r->ops[i];
		double from = (double)op->offset * ratio,
		       to = (double)(op->offset + op->length) * ratio;

		if (to > 9e18)
			continue;
		op->offset = (int64_t)from;
		op->length = (int64_t)to > op->offset ? (int64_t)to - op->offset : 1;
		if (op->offset + op->length > r->files[op->file].size)
			r->files[op->file].size = op->offset + op->length;
	}
}

/* ---- where they go -------------------------------------------------------------------------- */

static void align_all(struct rama_emu_replay *r, int64_t to)
{
	for (size_t i = 0; i < r->n; i++)
		r->ops[i].offset -= r->ops[i].offset % to;
}

/* The file of a rank has the offsets of the shared one; so has what the rank reads in it. */
static int part_files(struct rama_emu_replay *r, struct rama_err *e)
{
	int32_t *owner = calloc((size_t)r->n_files + 1, sizeof(*owner)); /* rank + 1; -1: several */
	uint32_t n_files = r->n_files;
	int rc = 0;

	if (owner == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (size_t i = 0; i < r->n; i++) {
		int32_t *o = &owner[r->ops[i].file];

		*o = *o == 0 || *o == r->ops[i].rank + 1 ? r->ops[i].rank + 1 : -1;
	}
	for (size_t i = 0; rc == 0 && i < r->n; i++) {
		struct rama_emu_replay_op *op = &r->ops[i];
		uint64_t id =
			r->files[op->file].id ^ ((uint64_t)op->rank + 1) * 0x9e3779b97f4a7c15u;
		char name[4200];
		int64_t file, size;

		if (op->file >= n_files || owner[op->file] != -1)
			continue;
		snprintf(name, sizeof(name), "%.4096s.%d", r->files[op->file].name, op->rank);
		size = r->files[op->file].size;
		file = rama_emu_replay_file(r, id, name, e);
		if (file < 0)
			rc = (int)file;
		else
			r->files[op->file = (uint32_t)file].size = size;
	}
	free(owner);
	return rc;
}

int rama_emu_replay_change(struct rama_emu_replay *r, struct rama_err *e)
{
	const struct rama_emu_config *c = r->m->cfg;
	int64_t transfer = rama_emu_config_size(c, RAMA_EMU_P_transfer_size);
	int64_t alignment = rama_emu_config_size(c, RAMA_EMU_P_alignment);
	double ratio = rama_emu_config_number(c, RAMA_EMU_P_bytes);
	int rc = 0;

	if (ratio != 1)
		scale_all(r, ratio);
	if (transfer > 0) {
		join_all(r, transfer);
		rc = split_all(r, transfer, e);
	}
	if (rc == 0 && alignment > 1)
		align_all(r, alignment);
	if (rc == 0 && (rama_emu_config_flag(c, RAMA_EMU_P_write_own) ||
			rama_emu_config_flag(c, RAMA_EMU_P_read_own)))
		rc = part_files(r, e);
	if (rc == 0)
		rama_emu_replay_sort(r);
	return rc;
}
