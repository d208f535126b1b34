/* SPDX-License-Identifier: BSD-3-Clause */
/* told.h: what run, exec and recover share: options that launch/ takes, and what it says,
 * printed. */
#ifndef RAMA_CLI_RUN_TOLD_H
#define RAMA_CLI_RUN_TOLD_H

#include "cli/opts.h"
#include "launch/run/run.h"

struct rama_launch_told rama_cli_launch_told(bool quiet, void *ctx);

/* the options of a command that makes logs */
struct rama_cli_log_options {
	enum rama_tab_option_id output, dir, force;
};
/* wrong usage ends the program, here and below */
struct rama_launch_log_place rama_cli_log_place(const struct rama_cli_opts *o,
						const struct rama_cli_log_options *opt);
/* a size, or NULL */
const char *rama_cli_memory_of(const struct rama_cli_opts *o, enum rama_tab_option_id option);
/* its values, to be freed; false: no memory */
bool rama_cli_globs_of(const struct rama_cli_opts *o, enum rama_tab_option_id option,
		       struct rama_launch_globs *g);

#endif
