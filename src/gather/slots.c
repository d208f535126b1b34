/* SPDX-License-Identifier: BSD-3-Clause */
/* slots.c: the slots of a segment become records. */
#include <string.h>

#include "gather/one.h"

#define SMALL_MAX \
	RAMA_TAB_POSIX_SIZE_READ_1K_10K /* last range that the trigger for small accesses counts */

static bool any_set(const union rama_core_word *w, unsigned from, unsigned to)
{
	for (unsigned i = from; i <= to; i++)
		if (w[i].u != 0)
			return true;
	return false;
}

static bool is_wanted(const struct rama_gather *g, unsigned kind, uint32_t slot, uint32_t name)
{
	if (slot == 0) /* files without room are mostly in groups */
		return g->s->state.folded[kind] > 0 && g->u.slot.seq != 0;
	if (name == 0)
		return false;
	return rama_core_kinds[kind]->is_idle == NULL || !rama_core_kinds[kind]->is_idle(&g->u);
}

/* what a file must be like to keep its trace */
static bool trigger_drops(const struct rama_seg_identity *id, const union rama_core_word *w)
{
	double all = (double)w[RAMA_TAB_POSIX_READS].i + (double)w[RAMA_TAB_POSIX_WRITES].i,
	       small = 0;

	for (unsigned i = RAMA_TAB_POSIX_SIZE_READ_0_100; i <= SMALL_MAX; i++)
		small += (double)w[i].i + (double)w[i + RAMA_TAB_POSIX_SIZE_WRITE_0_100 -
						    RAMA_TAB_POSIX_SIZE_READ_0_100]
						  .i;
	if (id->small_trigger >= 0 && !(small / all >= id->small_trigger))
		return true;
	return id->unaligned_trigger >= 0 &&
	       !((double)w[RAMA_TAB_POSIX_FILE_NOT_ALIGNED].i / all >= id->unaligned_trigger);
}

/* a counter of EXTRA that is kept beside those of POSIX; nothing in a segment is trusted */
static uint64_t more_word(const struct rama_gather *g, unsigned word)
{
	int64_t v = g->u.posix.more[word - RAMA_TAB_EXTRA_SEQ_READS].i;

	return v > 0 && v < INT64_MAX / 4 ? (uint64_t)v : 0;
}

static void note_slot(struct rama_gather *g, unsigned kind, uint32_t slot, bool torn)
{
	union rama_core_word more[RAMA_CORE_POSIX_MORE];
	uint32_t number = g->u.slot.name;
	struct rama_gather_name *n;

	if (!is_wanted(g, kind, slot, number))
		return;
	n = rama_gather_name_get(g, number);
	/* the process was killed while it counted a call: all calls before it are whole */
	if (torn)
		g->partial |= RAMA_LOG_PARTIAL_END;
	if (slot == 0)
		g->partial |= 1ull << rama_core_kind_module[kind];
	if (n == NULL || n->slot[kind] != 0) { /* nobody could say which file it is */
		g->partial |= 1ull << rama_core_kind_module[kind];
		return;
	}
	n->slot[kind] = slot + 1;
	if (kind == RAMA_SEG_KIND_POSIX) {
		g->maps += more_word(g, RAMA_TAB_EXTRA_MMAPS);
		g->mapped += more_word(g, RAMA_TAB_EXTRA_BYTES_MAPPED);
		rama_core_posix_more(&g->u.posix, more);
		n->extra = any_set(more, 0, RAMA_CORE_POSIX_MORE - 1);
		n->untraced = trigger_drops(&g->s->id, g->u.posix.w);
	} else if (kind == RAMA_SEG_KIND_EXTRA) {
		n->extra = n->extra || any_set(g->u.extra.w, RAMA_TAB_EXTRA_F_WRITE_SUM + 1,
					       RAMA_TAB_EXTRA__WORDS - 1);
	}
	if (g->s->id.flags & RAMA_SEG_NO_EXTRA)
		n->extra = false;
	if (kind != RAMA_SEG_KIND_EXTRA) {
		n->used = true;
		g->has |= 1ull << rama_core_kind_module[kind];
	}
	if (n->extra) {
		n->used = true;
		g->has |= 1ull << RAMA_TAB_MOD_EXTRA;
	}
}

/* Decided once: while other threads go on, names and records must still agree. */
int rama_gather_slots_find(struct rama_gather *g)
{
	for (unsigned a = 0; a < RAMA_SEG_KINDS; a++) {
		uint32_t n = rama_seg_slots(g->s, (enum rama_seg_kind)a);

		for (uint32_t i = 0; i < n; i++) {
			int rc = rama_seg_slot(g->s, (enum rama_seg_kind)a, i, &g->u, g->e);

			if (rc < 0)
				return rc;
			note_slot(g, a, i, rc == 0);
		}
		g->folded += g->s->state.folded[a];
	}
	return 0;
}

/* One half is kept beside the POSIX counters, the other in a slot of its own; a file may have
 * either. */
static int write_extra(struct rama_gather *g)
{
	union rama_core_word *w = g->more;
	int rc = 0;

	for (size_t i = 0; i < g->n_names && rc >= 0; i++) {
		const struct rama_gather_name *n = &g->names[i];

		if (!n->extra)
			continue;
		memset(w, 0, RAMA_TAB_EXTRA__WORDS * sizeof(*w));
		if (n->slot[RAMA_SEG_KIND_EXTRA] != 0) {
			rc = rama_seg_slot(g->s, RAMA_SEG_KIND_EXTRA,
					   n->slot[RAMA_SEG_KIND_EXTRA] - 1, &g->extra, g->e);
			if (rc >= 0)
				rama_core_extra_finish(&g->extra, g->s->tick, w);
		}
		if (n->slot[RAMA_SEG_KIND_POSIX] != 0 && rc >= 0) {
			rc = rama_seg_slot(g->s, RAMA_SEG_KIND_POSIX,
					   n->slot[RAMA_SEG_KIND_POSIX] - 1, &g->u.posix, g->e);
			if (rc >= 0) {
				rama_core_posix_finish(&g->u.posix, g->s->tick, g->words,
						       &w[RAMA_TAB_EXTRA_SEQ_READS]);
				w[RAMA_TAB_EXTRA_F_SYNC_TIME].f =
					rama_core_posix_sync_time(&g->u.posix, g->s->tick);
			}
		}
		w[RAMA_TAB_ID].u = n->id;
		if (rc >= 0)
			rc = rama_gather_record(g, RAMA_TAB_MOD_EXTRA, w);
	}
	return rc < 0 ? rc : 0;
}

int rama_gather_slots_write(struct rama_gather *g, enum rama_seg_kind kind)
{
	uint32_t slots = rama_seg_slots(g->s, kind);
	int rc = 0;

	if (kind == RAMA_SEG_KIND_EXTRA)
		return write_extra(g);
	if (kind == RAMA_SEG_KIND_SITES)
		return rama_gather_sites_write(g);
	for (uint32_t i = 0; i < slots && rc == 0; i++) {
		const struct rama_gather_name *n;

		rc = rama_seg_slot(g->s, kind, i, &g->u, g->e);
		if (rc < 0)
			return rc;
		n = rama_gather_name_get(g, g->u.slot.name);
		rc = 0;
		if (n == NULL || n->slot[kind] != i + 1)
			continue;
		rama_core_kinds[kind]->finish(&g->u, g->s->tick, g->words);
		g->words[RAMA_TAB_ID].u = n->id;
		rc = rama_gather_record(g, rama_core_kind_module[kind], g->words);
	}
	return rc;
}
