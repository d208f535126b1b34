/* SPDX-License-Identifier: BSD-3-Clause */
/* show.h: what `iorama show` is asked to print, and the files that print it. */
#ifndef RAMA_CLI_SHOW_SHOW_H
#define RAMA_CLI_SHOW_SHOW_H

#include "base/out.h"
#include "cli/input.h"
#include "cli/items.h"

struct rama_cli_show {
	struct rama_cli_filter filter;
	struct rama_out *out;
	bool base, total, file, perf, incomplete; /* text: sections */
	bool dxt, threads;
};

/* Each prints one log. 0 or an exit status; 3 also when a module is incomplete and
 * --show-incomplete was not given. */
int rama_cli_show_text(struct rama_cli_show *s, struct rama_cli_input *in);
int rama_cli_show_dxt(struct rama_cli_show *s, struct rama_cli_input *in);
int rama_cli_show_json(struct rama_cli_show *s, struct rama_cli_input *in);
int rama_cli_show_csv(struct rama_cli_show *s, struct rama_cli_input *in);

/* the lines at the top of both text forms */
void rama_cli_show_preamble(struct rama_cli_show *s, const struct rama_log *log);
/* told on standard output (going on) or standard error (stopping): false = stop */
bool rama_cli_show_may_lack(struct rama_cli_show *s, const struct rama_log *log,
			    const struct rama_tab_module *mod);

/* Calls `fn` for each record of the module that passes the filter; 0 or a negative error of a
 * strict log, which is printed. */
int rama_cli_show_records(struct rama_cli_show *s, struct rama_cli_input *in, unsigned module,
			  int (*fn)(void *ctx, struct rama_log_cursor *c,
				    const struct rama_core_record *r),
			  void *ctx);

#endif
