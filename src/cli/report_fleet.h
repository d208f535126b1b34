/* SPDX-License-Identifier: BSD-3-Clause */
/* report_fleet.h: iorama report --fleet: many logs, read by all cores, summed up. */
#ifndef RAMA_CLI_REPORT_FLEET_H
#define RAMA_CLI_REPORT_FLEET_H

#include "cli/opts.h"

/* Options and arguments are those of `report`. Returns the exit status. */
int rama_cli_report_fleet(const struct rama_cli_opts *o);

#endif
