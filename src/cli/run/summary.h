/* SPDX-License-Identifier: BSD-3-Clause */
/* summary.h: the few lines that `iorama run` prints of a log, on standard error: the short form of
 * its report, and what only run knows. */
#ifndef RAMA_CLI_RUN_SUMMARY_H
#define RAMA_CLI_RUN_SUMMARY_H

#include <stdbool.h>

#include "cli/opts.h"
#include "launch/run/run.h"

void rama_cli_run_summary(const struct rama_launch_outcome *o, const struct rama_cli_opts *opts,
			  bool json);
/* what became of the live events; quiet: only if some are lost or wait */
void rama_cli_run_live_text(const struct rama_launch_live *v, bool quiet);

#endif
