/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/commands.h"

#include <stddef.h>

const struct rama_tab_command rama_tab_commands[RAMA_TAB_COMMANDS] = {
#define CMD(name, args, line, text) { #name, args, line, text },
#define OPT(...)
#define EXAMPLE(...)
#include "table/commands.def"
#undef CMD
#undef OPT
#undef EXAMPLE
};

const struct rama_tab_option rama_tab_options[RAMA_TAB_OPTIONS] = {
#define CMD(...)
#define EXAMPLE(...)
#define OPT(command, symbol, letter, name, arg, text) \
	{ RAMA_TAB_CMD_##command, letter, name, arg, text },
#include "table/commands.def"
#undef OPT
#undef EXAMPLE
};

const struct rama_tab_example rama_tab_examples[] = {
#define OPT(...)
#define EXAMPLE(command, line, text) { RAMA_TAB_CMD_##command, line, text },
#include "table/commands.def"
#undef CMD
#undef OPT
#undef EXAMPLE
};
const unsigned rama_tab_n_examples = sizeof(rama_tab_examples) / sizeof(rama_tab_examples[0]);
