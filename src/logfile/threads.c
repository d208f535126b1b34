/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.c: thread ids of a trace, which stand in a section of the annex, join the segments
 * that a cursor hands out. For each record of the module there are its id, its rank and the
 * number of its segments, so that it shows if both do not belong together; then thread and
 * number of segments, again and again, until there is a thread for each of them. */
#include <string.h>

#include "logfile/cursor.h"

bool rama_log_has_threads(const struct rama_log *log, unsigned module)
{
	const struct rama_tab_module *mod = rama_tab_module_get(module);
	const struct rama_tab_section *s = rama_tab_section_threads(module);
	const struct rama_log_section *there = s != NULL && !(log->unfit >> module & 1)
						       ? rama_log_annex_find(&log->annex, s->id)
						       : NULL;

	return (mod != NULL && rama_tab_module_has_threads(mod, log->part[module].version)) ||
	       (there != NULL && there->len > 0 && there->version == s->newest);
}

/* once for each module, by a walk that may speak */
static void tell_unfit(struct rama_log *log, const struct rama_tab_module *mod)
{
	if (log->opt.note == NULL || log->unfit_told >> mod->id & 1)
		return;
	log->unfit_told |= 1ull << mod->id;
	rama_log_note(log, "%s: thread ids in the annex do not fit its records; left out",
		      mod->name);
}

static void give_up(struct rama_log_cursor *c)
{
	c->log->unfit |= 1ull << c->mod->id;
	tell_unfit(c->log, c->mod);
	rama_log_cursor_threads_close(c);
}

static bool take(struct rama_log_cursor *c, uint64_t *to, size_t n)
{
	if (rama_log_region_read(&c->threads.region, to, n * sizeof(*to)) < n * sizeof(*to))
		return false;
	for (size_t i = 0; c->log->swap && i < n; i++)
		to[i] = __builtin_bswap64(to[i]);
	return true;
}

int rama_log_cursor_threads_open(struct rama_log_cursor *c)
{
	const struct rama_tab_section *s = rama_tab_section_threads(c->mod->id);
	const struct rama_log_section *there;

	if (s == NULL || rama_tab_module_has_threads(c->mod, c->version))
		return 0;
	if (c->log->unfit >> c->mod->id & 1)
		tell_unfit(c->log, c->mod);
	if (!rama_log_has_threads(c->log, c->mod->id))
		return 0;
	there = rama_log_annex_find(&c->log->annex, s->id);
	c->threads.open = true;
	return rama_log_region_open(&c->threads.region, c->log->src, there->off, there->len,
				    c->log->compression);
}

void rama_log_cursor_threads_close(struct rama_log_cursor *c)
{
	if (c->threads.open)
		rama_log_region_close(&c->threads.region);
	c->threads.open = false;
}

void rama_log_cursor_threads_record(struct rama_log_cursor *c)
{
	uint64_t head[3], n = c->segments_left[0] + c->segments_left[1];

	if (!c->threads.open)
		return;
	c->threads.left = n;
	c->threads.run = 0;
	if (!take(c, head, 3) || head[0] != c->words[RAMA_TAB_ID].u ||
	    head[1] != c->words[RAMA_TAB_RANK].u || head[2] != n)
		give_up(c);
}

void rama_log_cursor_threads_fill(struct rama_log_cursor *c,
				  union rama_core_word (*seg)[RAMA_TAB_SEG_WORDS], uint64_t n)
{
	for (uint64_t i = 0; i < n && c->threads.open; i++) {
		if (c->threads.run == 0) {
			uint64_t run[2];

			if (!take(c, run, 2) || run[1] == 0 || run[1] > c->threads.left) {
				give_up(c);
				return;
			}
			c->threads.thread = run[0];
			c->threads.run = run[1];
			c->threads.left -= run[1];
		}
		seg[i][RAMA_TAB_SEG_THREAD].u = c->threads.thread;
		c->threads.run--;
	}
}
