/* SPDX-License-Identifier: BSD-3-Clause */
/* filter.h: which records and counters a user asked for. An empty filter lets all through. */
#ifndef RAMA_CLI_FILTER_H
#define RAMA_CLI_FILTER_H

#include "cli/opts.h"
#include "core/record.h"
#include "logfile/log.h"

#define RAMA_CLI_FILTER_MAX 64

struct rama_cli_filter {
	uint64_t modules; /* bit per module; 0: all */
	struct {
		int64_t first, last;
	} rank[RAMA_CLI_FILTER_MAX];
	unsigned n_ranks;
	const char *file[RAMA_CLI_FILTER_MAX];
	unsigned n_files;
	const char *counter[RAMA_CLI_FILTER_MAX];
	unsigned n_counters;
};

/* each adds to the filter; wrong values end the program with status 2 */
void rama_cli_filter_modules(struct rama_cli_filter *f, const struct rama_cli_opts *o,
			     enum rama_tab_option_id option);
void rama_cli_filter_ranks(struct rama_cli_filter *f, const struct rama_cli_opts *o,
			   enum rama_tab_option_id option);
void rama_cli_filter_files(struct rama_cli_filter *f, const struct rama_cli_opts *o,
			   enum rama_tab_option_id option);
void rama_cli_filter_counters(struct rama_cli_filter *f, const struct rama_cli_opts *o,
			      enum rama_tab_option_id option);

bool rama_cli_filter_module(const struct rama_cli_filter *f, unsigned module);
/* name may be NULL: such a record passes only where no file is asked for */
bool rama_cli_filter_record(const struct rama_cli_filter *f, const struct rama_core_record *r,
			    const char *name);
bool rama_cli_filter_counter(const struct rama_cli_filter *f, const char *name);

#endif
