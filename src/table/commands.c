/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/commands.h"

#include <stddef.h>

const struct rama_command rama_commands[RAMA_COMMANDS] = {
#define CMD(name, args, line, text) { #name, args, line, text },
#define OPT(...)
#define EXAMPLE(...)
#include "table/commands.def"
#undef CMD
#undef OPT
#undef EXAMPLE
};

const struct rama_option rama_options[RAMA_OPTIONS] = {
#define CMD(...)
#define EXAMPLE(...)
#define OPT(command, symbol, letter, name, arg, text) \
	{ RAMA_CMD_##command, letter, name, arg, text },
#include "table/commands.def"
#undef OPT
#undef EXAMPLE
};

const struct rama_example rama_examples[] = {
#define OPT(...)
#define EXAMPLE(command, line, text) { RAMA_CMD_##command, line, text },
#include "table/commands.def"
#undef CMD
#undef OPT
#undef EXAMPLE
};
const unsigned rama_n_examples = sizeof(rama_examples) / sizeof(rama_examples[0]);
