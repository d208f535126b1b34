/* SPDX-License-Identifier: BSD-3-Clause */
/* slots.c: the slots of a segment become records. */
#include <string.h>

#include "gather/parts.h"

#define SMALL_MAX \
	RAMA_POSIX_SIZE_READ_1K_10K /* last range that the trigger for small accesses counts */

static const uint8_t module_of[3] = { RAMA_MOD_POSIX, RAMA_MOD_STDIO, RAMA_MOD_EXTRA };

static bool any_above_0(const union rama_word *w, unsigned from, unsigned to)
{
	for (unsigned i = from; i <= to; i++)
		if (w[i].i > 0)
			return true;
	return false;
}

static bool any_set(const union rama_word *w, unsigned from, unsigned to)
{
	for (unsigned i = from; i <= to; i++)
		if (w[i].u != 0)
			return true;
	return false;
}

static bool catchall_used(const struct rama_gather *g, unsigned area)
{
	if (g->s->state.folded[area] > 0)
		return true;
	return area == 0   ? any_above_0(g->u.posix.w, RAMA_POSIX_OPENS, RAMA_POSIX_RENAME_TARGETS)
	       : area == 1 ? any_above_0(g->u.stdio.w, RAMA_STDIO_OPENS, RAMA_STDIO_FLUSHES)
			   : any_set(g->u.extra.w, RAMA_BASE_WORDS, RAMA_EXTRA__WORDS - 1);
}

static bool is_wanted(const struct rama_gather *g, unsigned area, uint32_t slot, uint32_t name)
{
	if (slot == 0)
		return catchall_used(g, area);
	if (name == 0)
		return false;
	/* standard streams are there from the start, whoever uses them or not */
	return area != 1 || !g->u.stdio.standard || g->u.stdio.w[RAMA_STDIO_READS].i > 0 ||
	       g->u.stdio.w[RAMA_STDIO_WRITES].i > 0;
}

/* what a file must be like to keep its trace */
static bool trigger_drops(const struct rama_seg_identity *id, const union rama_word *w)
{
	double all = (double)w[RAMA_POSIX_READS].i + (double)w[RAMA_POSIX_WRITES].i, small = 0;

	for (unsigned i = RAMA_POSIX_SIZE_READ_0_100; i <= SMALL_MAX; i++)
		small += (double)w[i].i +
			 (double)w[i + RAMA_POSIX_SIZE_WRITE_0_100 - RAMA_POSIX_SIZE_READ_0_100].i;
	if (id->small_trigger >= 0 && !(small / all >= id->small_trigger))
		return true;
	return id->unaligned_trigger >= 0 &&
	       !((double)w[RAMA_POSIX_FILE_NOT_ALIGNED].i / all >= id->unaligned_trigger);
}

static uint32_t name_of_slot(const struct rama_gather *g, unsigned area)
{
	return area == 0 ? g->u.posix.name : area == 1 ? g->u.stdio.name : g->u.extra.name;
}

static void note_slot(struct rama_gather *g, unsigned area, uint32_t slot, bool torn)
{
	uint32_t number = name_of_slot(g, area);
	struct rama_gather_name *n;

	if (!is_wanted(g, area, slot, number))
		return;
	n = rama_gather_name_get(g, number);
	if (torn) /* the process was killed while it counted a call: all calls before it are whole */
		g->partial |= RAMA_PARTIAL_END;
	if (slot == 0)
		g->partial |= 1ull << module_of[area];
	if (n == NULL || n->slot[area] != 0) { /* nobody could say which file it is */
		g->partial |= 1ull << module_of[area];
		return;
	}
	n->slot[area] = slot + 1;
	if (area == 0) {
		n->extra = any_set(g->u.posix.more, 0, RAMA_POSIX_MORE - 1);
		n->untraced = trigger_drops(&g->s->id, g->u.posix.w);
	} else if (area == 2) {
		n->extra = n->extra ||
			   any_set(g->u.extra.w, RAMA_EXTRA_F_WRITE_SUM + 1, RAMA_EXTRA__WORDS - 1);
	}
	if (area < 2) {
		n->used = true;
		g->has |= 1ull << module_of[area];
	}
	if (n->extra) {
		n->used = true;
		g->has |= 1ull << RAMA_MOD_EXTRA;
	}
}

/* Decided once: while other threads go on, names and records must still agree. */
int rama_gather_slots_find(struct rama_gather *g)
{
	for (unsigned a = 0; a < 3; a++) {
		enum rama_area area = (enum rama_area)(RAMA_AREA_POSIX + a);
		uint32_t n = rama_segment_slots(g->s, area);

		for (uint32_t i = 0; i < n; i++) {
			int rc = rama_segment_slot(g->s, area, i, &g->u, g->e);

			if (rc < 0)
				return rc;
			note_slot(g, a, i, rc == 0);
		}
		g->folded += g->s->state.folded[a];
	}
	return 0;
}

int rama_gather_slots_write(struct rama_gather *g, enum rama_area area)
{
	unsigned a = area - RAMA_AREA_POSIX;
	uint32_t slots = rama_segment_slots(g->s, area);
	int rc = 0;

	for (uint32_t i = 0; i < slots && rc == 0; i++) {
		const struct rama_gather_name *n;
		union rama_word more[RAMA_POSIX_MORE];

		rc = rama_segment_slot(g->s, area, i, &g->u, g->e);
		if (rc < 0)
			return rc;
		n = rama_gather_name_get(g, name_of_slot(g, a));
		rc = 0;
		if (n == NULL || n->slot[a] != i + 1)
			continue;
		if (a == 0)
			rama_posix_finish(&g->u.posix, g->s->tick, g->words, more);
		else
			rama_stdio_finish(&g->u.stdio, g->s->tick, g->words);
		g->words[RAMA_ID].u = n->id;
		rc = rama_gather_record(g, module_of[a], g->words);
	}
	return rc;
}

/* One half is kept beside the POSIX counters, the other in a slot of its own; a file may have either. */
int rama_gather_extra_write(struct rama_gather *g)
{
	union rama_word *w = g->words + RAMA_POSIX__WORDS;
	int rc = 0;

	for (size_t i = 0; i < g->n_names && rc >= 0; i++) {
		const struct rama_gather_name *n = &g->names[i];

		if (!n->extra)
			continue;
		memset(w, 0, RAMA_EXTRA__WORDS * sizeof(*w));
		if (n->slot[2] != 0) {
			rc = rama_segment_slot(g->s, RAMA_AREA_EXTRA, n->slot[2] - 1, &g->extra,
					       g->e);
			if (rc >= 0)
				rama_extra_finish(&g->extra, g->s->tick, w);
		}
		if (n->slot[0] != 0 && rc >= 0) {
			rc = rama_segment_slot(g->s, RAMA_AREA_POSIX, n->slot[0] - 1, &g->u.posix,
					       g->e);
			if (rc >= 0)
				rama_posix_finish(&g->u.posix, g->s->tick, g->words,
						  &w[RAMA_EXTRA_SEQ_READS]);
		}
		w[RAMA_ID].u = n->id;
		if (rc >= 0)
			rc = rama_gather_record(g, RAMA_MOD_EXTRA, w);
	}
	return rc < 0 ? rc : 0;
}
