/* SPDX-License-Identifier: BSD-3-Clause */
/* fleet.h: iorama report --fleet: many logs, read by all cores, summed up. */
#ifndef RAMA_CLI_REPORT_FLEET_H
#define RAMA_CLI_REPORT_FLEET_H

#include "cli/opts.h"

/* Options and arguments are those of `report`. Returns the exit status. */
int rama_cli_report_fleet(const struct rama_cli_opts *o);
/* what --top says, or that many otherwise; ends the program if it is no number */
size_t rama_cli_report_top(const struct rama_cli_opts *o, size_t otherwise);

#endif
