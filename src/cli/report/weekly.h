/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RAMA_CLI_REPORT_WEEKLY_H
#define RAMA_CLI_REPORT_WEEKLY_H

#include "cli/opts.h"

/* `iorama report --fleet --store --since TIME`: the exit status */
int rama_cli_report_weekly(const struct rama_cli_opts *o);

#endif
