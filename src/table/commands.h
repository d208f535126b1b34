/* SPDX-License-Identifier: BSD-3-Clause */
/* commands.h: the commands, their options and examples, from commands.def. */
#ifndef RAMA_TABLE_COMMANDS_H
#define RAMA_TABLE_COMMANDS_H

enum rama_tab_command_id {
#define CMD(name, ...) RAMA_TAB_CMD_##name,
#define OPT(...)
#define EXAMPLE(...)
#include "table/commands.def"
#undef CMD
#undef OPT
	RAMA_TAB_COMMANDS
};

/* RAMA_TAB_OPT_show_base and so on, unique over all commands */
enum rama_tab_option_id {
#define CMD(...)
#define OPT(command, symbol, ...) RAMA_TAB_OPT_##command##_##symbol,
#include "table/commands.def"
#undef CMD
#undef OPT
#undef EXAMPLE
	RAMA_TAB_OPTIONS
};

struct rama_tab_command {
	const char *name, *args, *line, *text;
};

struct rama_tab_option {
	enum rama_tab_command_id command;
	char letter;
	const char *name, *arg, *text; /* arg "X?": may be left out */
};

struct rama_tab_example {
	enum rama_tab_command_id command;
	const char *line, *text;
};

extern const struct rama_tab_command rama_tab_commands[RAMA_TAB_COMMANDS];
extern const struct rama_tab_option rama_tab_options[RAMA_TAB_OPTIONS];
extern const struct rama_tab_example rama_tab_examples[];
extern const unsigned rama_tab_n_examples;

#endif
