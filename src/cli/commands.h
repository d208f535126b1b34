/* SPDX-License-Identifier: BSD-3-Clause */
/* commands.h: one function per subcommand; each parses, calls, prints and returns the exit
 * status. */
#ifndef RAMA_CLI_COMMANDS_H
#define RAMA_CLI_COMMANDS_H

#include "table/commands.h"

#define CMD(name, ...) int rama_cli_cmd_##name(int argc, char **argv);
#define OPT(...)
#define EXAMPLE(...)
#include "table/commands.def"
#undef CMD
#undef OPT
#undef EXAMPLE

#endif
