/* SPDX-License-Identifier: BSD-3-Clause */
/* commands.h: the commands, their options and examples, from commands.def. */
#ifndef RAMA_TABLE_COMMANDS_H
#define RAMA_TABLE_COMMANDS_H

enum rama_command_id {
#define CMD(name, ...) RAMA_CMD_##name,
#define OPT(...)
#define EXAMPLE(...)
#include "table/commands.def"
#undef CMD
#undef OPT
	RAMA_COMMANDS
};

/* RAMA_OPT_show_base and so on, unique over all commands */
enum rama_option_id {
#define CMD(...)
#define OPT(command, symbol, ...) RAMA_OPT_##command##_##symbol,
#include "table/commands.def"
#undef CMD
#undef OPT
#undef EXAMPLE
	RAMA_OPTIONS
};

struct rama_command {
	const char *name, *args, *line, *text;
};

struct rama_option {
	enum rama_command_id command;
	char letter;
	const char *name, *arg, *text; /* arg "X?": may be left out */
};

struct rama_example {
	enum rama_command_id command;
	const char *line, *text;
};

extern const struct rama_command rama_commands[RAMA_COMMANDS];
extern const struct rama_option rama_options[RAMA_OPTIONS];
extern const struct rama_example rama_examples[];
extern const unsigned rama_n_examples;

#endif
