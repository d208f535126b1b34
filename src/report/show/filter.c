/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/show/filter.h"

#include <fnmatch.h>

bool rama_report_filter_module(const struct rama_report_filter *f, unsigned module)
{
	return f->modules == 0 || (f->modules >> module & 1);
}

static bool matches(const char *const *patterns_, unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (fnmatch(patterns_[i], name, 0) == 0)
			return true;
	return n == 0;
}

bool rama_report_filter_record(const struct rama_report_filter *f, const struct rama_core_record *r,
			       const char *name)
{
	bool ok = f->n_ranks == 0;

	for (unsigned i = 0; i < f->n_ranks && !ok; i++)
		ok = f->rank[i].first <= r->w[RAMA_TAB_RANK].i &&
		     r->w[RAMA_TAB_RANK].i <= f->rank[i].last;
	return ok && (f->n_files == 0 || (name != NULL && matches(f->file, f->n_files, name)));
}

bool rama_report_filter_counter(const struct rama_report_filter *f, const char *name)
{
	return matches(f->counter, f->n_counters, name);
}
