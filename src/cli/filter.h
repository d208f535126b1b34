/* SPDX-License-Identifier: BSD-3-Clause */
/* filter.h: which records and counters a user asked for (report/show/filter.h). */
#ifndef RAMA_CLI_FILTER_H
#define RAMA_CLI_FILTER_H

#include "cli/opts.h"
#include "report/show/filter.h"

/* each adds to the filter; wrong values end the program with status 2 */
void rama_cli_filter_modules(struct rama_report_filter *f, const struct rama_cli_opts *o,
			     enum rama_tab_option_id option);
void rama_cli_filter_ranks(struct rama_report_filter *f, const struct rama_cli_opts *o,
			   enum rama_tab_option_id option);
void rama_cli_filter_files(struct rama_report_filter *f, const struct rama_cli_opts *o,
			   enum rama_tab_option_id option);
void rama_cli_filter_counters(struct rama_report_filter *f, const struct rama_cli_opts *o,
			      enum rama_tab_option_id option);

#endif
