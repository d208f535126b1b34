/* SPDX-License-Identifier: BSD-3-Clause */
/* filter.h: which records and counters are asked for. An empty filter lets all through. */
#ifndef RAMA_REPORT_SHOW_FILTER_H
#define RAMA_REPORT_SHOW_FILTER_H

#include "core/record.h"

#define RAMA_REPORT_FILTER_MAX 64

struct rama_report_filter {
	uint64_t modules; /* bit per module; 0: all */
	struct {
		int64_t first, last;
	} rank[RAMA_REPORT_FILTER_MAX];
	unsigned n_ranks;
	const char *file[RAMA_REPORT_FILTER_MAX];
	unsigned n_files;
	const char *counter[RAMA_REPORT_FILTER_MAX];
	unsigned n_counters;
};

bool rama_report_filter_module(const struct rama_report_filter *f, unsigned module);
/* name may be NULL: such a record passes only where no file is asked for */
bool rama_report_filter_record(const struct rama_report_filter *f, const struct rama_core_record *r,
			       const char *name);
bool rama_report_filter_counter(const struct rama_report_filter *f, const char *name);

#endif
