/* SPDX-License-Identifier: BSD-3-Clause */
/* facts_meta.c: what calls about a file cost that move nothing, of which only sums are known. */
#include <math.h>

#include "diagnose/facts.h"
#include "table/index.h"

/* Calls that only EXTRA counts share its time by what they take as a rule: what changes something
 * four times as long as what asks, the next name of a directory, of which many come at once, a
 * tenth, a sync, which waits for a disk, fifty times. */
#define CHANGES_ONCE 6 /* of size, rights, owner, times: what a copy of a file needs */

static void extra_parts(struct rama_diag_file_parts *t)
{
	static const struct {
		unsigned word;
		double weight;
	} changes[] = {
		{ RAMA_TAB_EXTRA_MSYNCS, 50 },	 { RAMA_TAB_EXTRA_RANGE_SYNCS, 50 },
		{ RAMA_TAB_EXTRA_TRUNCATES, 4 }, { RAMA_TAB_EXTRA_ALLOCATES, 4 },
		{ RAMA_TAB_EXTRA_MKDIRS, 4 },	 { RAMA_TAB_EXTRA_UNLINKS, 4 },
		{ RAMA_TAB_EXTRA_LINKS, 4 },	 { RAMA_TAB_EXTRA_RENAMES, 4 },
		{ RAMA_TAB_EXTRA_CHMODS, 4 },	 { RAMA_TAB_EXTRA_UTIMES, 4 },
		{ RAMA_TAB_EXTRA_XATTRS, 4 },	 { RAMA_TAB_EXTRA_READDIRS, 0.1 },
	};
	const union rama_core_word *own = t->file->rec[RAMA_JOB_LAYER_EXTRA];
	double calls;

	if (own == NULL)
		return;
	calls = (double)rama_job_io_of(RAMA_JOB_LAYER_EXTRA, own).metas;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		calls += (changes[i].weight - 1) * rama_diag_count_of(own, changes[i].word);
	t->ask_each = calls > 0 ? rama_diag_time_of(own, RAMA_TAB_EXTRA_F_META_TIME) / calls : 0;
	t->change_each = 4 * t->ask_each;
	t->sync_each = 50 * t->ask_each;
	t->list_each = 0.1 * t->ask_each;
	t->changes = rama_diag_count_of(own, RAMA_TAB_EXTRA_TRUNCATES) +
		     rama_diag_count_of(own, RAMA_TAB_EXTRA_ALLOCATES) +
		     rama_diag_count_of(own, RAMA_TAB_EXTRA_CHMODS) +
		     rama_diag_count_of(own, RAMA_TAB_EXTRA_UTIMES) +
		     rama_diag_count_of(own, RAMA_TAB_EXTRA_XATTRS);
	if (t->changes <= CHANGES_ONCE * t->users * fmax(1, t->count))
		t->changes = 0;
	t->changes += rama_diag_count_of(own, RAMA_TAB_EXTRA_LINKS) +
		      fmax(0, rama_diag_count_of(own, RAMA_TAB_EXTRA_MKDIRS) -
				      rama_diag_count_of(own, RAMA_TAB_EXTRA_UNLINKS));
}

/* Those of POSIX share theirs in the same way: a stat takes half as long as an open with its
 * close, a seek, which asks nobody, a tenth. */
void rama_diag_facts_meta(struct rama_diag_file_parts *t)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_POSIX],
				   *own = t->file->rec[RAMA_JOB_LAYER_EXTRA];
	double time = rama_diag_time_of(w, RAMA_TAB_POSIX_F_META_TIME), known, each;
	double opens = rama_diag_count_of(w, RAMA_TAB_POSIX_OPENS),
	       renames = rama_diag_count_of(w, RAMA_TAB_POSIX_RENAME_SOURCES),
	       stats = rama_diag_count_of(w, RAMA_TAB_POSIX_STATS) / 2,
	       seeks = rama_diag_count_of(w, RAMA_TAB_POSIX_SEEKS) / 10;

	extra_parts(t);
	known = t->change_each * rama_diag_count_of(own, RAMA_TAB_EXTRA_RENAMES);
	if (known > 0 && renames > 0) { /* both records have them */
		time = fmax(0, time - known);
		renames = 0;
	}
	each = opens + renames + stats + seeks > 0 ? time / (opens + renames + stats + seeks) : 0;
	t->open_time =
		opens * each +
		rama_diag_time_of(t->file->rec[RAMA_JOB_LAYER_STDIO], RAMA_TAB_STDIO_F_META_TIME) +
		rama_diag_time_of(t->file->rec[RAMA_JOB_LAYER_DFS], RAMA_TAB_DFS_F_META_TIME);
	t->seek_time = seeks * each;
	t->stat_time =
		stats * each + t->ask_each * (rama_diag_count_of(own, RAMA_TAB_EXTRA_STATS) +
					      rama_diag_count_of(own, RAMA_TAB_EXTRA_ACCESSES));
	t->rename_time = fmax(renames * each, known);
}
