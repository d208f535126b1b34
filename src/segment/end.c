/* SPDX-License-Identifier: BSD-3-Clause */
/* end.c: when the history of a process ended that could not say so itself. */
#include <stdlib.h>

#include "segment/segment.h"

#define TICKS_MAX (1ull << 60) /* decades; later times are nonsense */

static void later(struct rama_seg *s, uint64_t tick)
{
	if (tick > s->end_tick && tick < TICKS_MAX)
		s->end_tick = tick;
}

/* the words of a record that are moments */
static void see_words(struct rama_seg *s, const struct rama_tab_module *mod,
		      const union rama_core_word *w)
{
	for (unsigned i = 0; i < *mod->record->n_fields; i++) {
		const struct rama_tab_field *f = &mod->record->fields[i];

		if (f->word != RAMA_TAB_NO_WORD && rama_tab_field_is_timestamp(f))
			later(s, w[f->word].u);
	}
}

static int see_events(struct rama_seg *s, struct rama_seg_chunk *chunk, struct rama_err *e)
{
	int rc = 0;

	for (uint64_t i = 0; i < rama_seg_chunks(s) && rc == 0; i++) {
		rc = rama_seg_chunk_get(s, i, chunk, e);
		for (uint32_t k = 0; rc == 0 && k < chunk->used; k++)
			if (chunk->event[k].layer != RAMA_SEG_EVENT_LINK &&
			    chunk->event[k].start < TICKS_MAX && chunk->event[k].length < TICKS_MAX)
				later(s, chunk->event[k].start + chunk->event[k].length);
	}
	return rc;
}

int rama_seg_find_end(struct rama_seg *s, struct rama_err *e)
{
	struct {
		union rama_core_word slot[RAMA_CORE_SLOT_MOST / 8];
		struct rama_seg_chunk chunk;
	} * m;
	int rc = 0;

	if (s->end_tick > 0)
		return 0;
	m = malloc(sizeof(*m));
	if (m == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	for (unsigned k = 0; k < RAMA_SEG_KINDS && rc >= 0; k++) {
		uint32_t n = rama_seg_slots(s, (enum rama_seg_kind)k);

		for (uint32_t i = 0; i < n && rc >= 0; i++) {
			rc = rama_seg_slot(s, (enum rama_seg_kind)k, i, m->slot, e);
			if (rc >= 0)
				see_words(s, rama_tab_module_get(rama_core_kind_module[k]),
					  &m->slot[rama_core_kinds[k]->words / 8]);
		}
	}
	if (rc >= 0)
		rc = see_events(s, &m->chunk, e);
	free(m);
	return rc < 0 ? rc : 0;
}
