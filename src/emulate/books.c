/* SPDX-License-Identifier: BSD-3-Clause */
/* books.c: what was measured: tallies of ranks and tasks, spans of time. */
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "emulate/work.h"

void rama_emu_tally_add(struct rama_emu_tally *to, const struct rama_emu_tally *x)
{
	bool fresh = to->last == 0;

	to->reads += x->reads;
	to->writes += x->writes;
	to->opens += x->opens;
	to->syncs += x->syncs;
	to->metas += x->metas;
	to->waits += x->waits;
	to->bytes_read += x->bytes_read;
	to->bytes_written += x->bytes_written;
	to->read_busy += x->read_busy;
	to->write_busy += x->write_busy;
	to->read_time += x->read_time;
	to->write_time += x->write_time;
	to->open_time += x->open_time;
	to->sync_time += x->sync_time;
	to->wait_time += x->wait_time;
	to->compute_time += x->compute_time;
	if (x->last != 0) {
		to->first = fresh ? x->first : fmin(to->first, x->first);
		to->last = fmax(to->last, x->last);
	}
	to->max_read = fmax(to->max_read, x->max_read);
	to->max_write = fmax(to->max_write, x->max_write);
	if (x->flaws.first >= 0 && to->flaws.first < 0) {
		to->flaws.first = x->flaws.first;
		to->flaws.first_kind = x->flaws.first_kind;
		to->flaws.found_version = x->flaws.found_version;
		to->flaws.found_offset = x->flaws.found_offset;
	}
	for (int i = 0; i < RAMA_EMU_FLAWS; i++)
		to->flaws.bad[i] += x->flaws.bad[i];
}

void rama_emu_books_fini(struct rama_emu_books *b)
{
	free(b->task);
	free(b->spans);
	*b = (struct rama_emu_books){ 0 };
}

void rama_emu_books_span(struct rama_emu_books *b, const struct rama_emu_span *s)
{
	if (RAMA_GROW(b->spans, b->room_spans, b->n_spans + 1))
		b->spans[b->n_spans++] = *s;
}
