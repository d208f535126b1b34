/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_module(struct rama_report_filter *f, const struct rama_cli_opts *o,
		       const char *name)
{
	const struct rama_tab_module *m = rama_tab_module_find(name);

	if (m == NULL && strcasecmp(name, "MPIIO") == 0)
		m = rama_tab_module_get(RAMA_TAB_MOD_MPIIO);
	if (m == NULL)
		rama_cli_opts_usage(
			o,
			"no module is called '%s'; POSIX, MPI-IO, STDIO, H5F, H5D, LUSTRE, … are",
			name);
	f->modules |= 1ull << m->id;
}

static void add_ranks(struct rama_report_filter *f, const struct rama_cli_opts *o, const char *text)
{
	char *end;

	errno = 0;
	f->rank[f->n_ranks].first = f->rank[f->n_ranks].last = strtoll(text, &end, 10);
	if (end != text && (*end == '-' || *end == ':')) {
		const char *last = end + 1;

		f->rank[f->n_ranks].last = *last == '\0' ? INT64_MAX : strtoll(last, &end, 10);
		end = *last == '\0' ? (char *)(uintptr_t)last : end;
	}
	if (end == text || *end != '\0' || errno != 0)
		rama_cli_opts_usage(
			o, "'%s' is no rank (3), range of ranks (0-7) or -1 for shared records",
			text);
	f->n_ranks++;
}

static void each_word(struct rama_report_filter *f, const struct rama_cli_opts *o,
		      enum rama_tab_option_id option,
		      void (*add)(struct rama_report_filter *, const struct rama_cli_opts *,
				  const char *))
{
	const char *list;

	for (size_t at = 0; (list = rama_cli_opts_next(o, option, &at)) != NULL;) {
		char *copy = strdup(list), *save = NULL;

		for (char *w = copy != NULL ? strtok_r(copy, ",", &save) : NULL; w != NULL;
		     w = strtok_r(NULL, ",", &save)) {
			if (f->n_ranks == RAMA_REPORT_FILTER_MAX)
				rama_cli_opts_usage(o, "more than %d ranges of ranks",
						    RAMA_REPORT_FILTER_MAX);
			add(f, o, w);
		}
		free(copy);
	}
}

static unsigned patterns(const char **to, const struct rama_cli_opts *o,
			 enum rama_tab_option_id option)
{
	unsigned n = 0;
	const char *v;

	for (size_t at = 0; (v = rama_cli_opts_next(o, option, &at)) != NULL;) {
		if (n == RAMA_REPORT_FILTER_MAX)
			rama_cli_opts_usage(o, "more than %d patterns", RAMA_REPORT_FILTER_MAX);
		to[n++] = v;
	}
	return n;
}

void rama_cli_filter_modules(struct rama_report_filter *f, const struct rama_cli_opts *o,
			     enum rama_tab_option_id option)
{
	each_word(f, o, option, add_module);
}

void rama_cli_filter_ranks(struct rama_report_filter *f, const struct rama_cli_opts *o,
			   enum rama_tab_option_id option)
{
	each_word(f, o, option, add_ranks);
}

void rama_cli_filter_files(struct rama_report_filter *f, const struct rama_cli_opts *o,
			   enum rama_tab_option_id option)
{
	f->n_files = patterns(f->file, o, option);
}

void rama_cli_filter_counters(struct rama_report_filter *f, const struct rama_cli_opts *o,
			      enum rama_tab_option_id option)
{
	f->n_counters = patterns(f->counter, o, option);
}
