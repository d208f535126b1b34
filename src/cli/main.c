/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: iorama COMMAND ... */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/opts.h"

static int (*const run[RAMA_TAB_COMMANDS])(int, char **) = {
#define CMD(name, ...) rama_cli_cmd_##name,
#define OPT(...)
#define EXAMPLE(...)
#include "table/commands.def"
#undef CMD
#undef OPT
#undef EXAMPLE
};

static void list_commands(FILE *f)
{
	fputs("Usage: iorama COMMAND [OPTION…] …\n"
	      "See what applications do with their files.\n\n"
	      "Commands:\n",
	      f);
	for (int i = 0; i < RAMA_TAB_COMMANDS; i++)
		fprintf(f, "  %-10s %s\n", rama_tab_commands[i].name, rama_tab_commands[i].line);
	fputs("\nExamples:\n", f);
	for (int i = 0; i < RAMA_TAB_COMMANDS; i++) {
		for (unsigned k = 0; k < rama_tab_n_examples; k++) {
			if ((int)rama_tab_examples[k].command == i) {
				fprintf(f, "  %-48s %s\n", rama_tab_examples[k].line,
					rama_tab_examples[k].text);
				break;
			}
		}
	}
	fputs("\n`iorama help COMMAND` tells more of a command. Exit status: 0 ok, 2 wrong usage, "
	      "3 bad input,\n"
	      "4 trouble with the machine.\n",
	      f);
}

static int find_command(const char *name)
{
	for (int i = 0; i < RAMA_TAB_COMMANDS; i++)
		if (strcmp(rama_tab_commands[i].name, name) == 0)
			return i;
	return -1;
}

static int unknown(const char *name)
{
	fprintf(stderr, "iorama: there is no command '%s'; `iorama --help` lists them\n", name);
	return 2;
}

int rama_cli_cmd_help(int argc, char **argv)
{
	char *ask[] = { argv[0], "--help", NULL };
	int i;

	if (argc < 2 || argv[1][0] == '-') {
		list_commands(stdout);
		return 0;
	}
	i = find_command(argv[1]);
	if (i < 0)
		return unknown(argv[1]);
	return i == RAMA_TAB_CMD_help ? rama_cli_cmd_help(1, argv) : run[i](2, ask);
}

/* text that could not be printed must not look like success */
static void check_stdout(void)
{
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "iorama: standard output: cannot be written: %s\n",
			strerror(errno));
		_exit(4);
	}
}

int main(int argc, char **argv)
{
	int i;

	atexit(check_stdout);
	/* `iorama show … | head` ends quietly by the write error; `run` hands its signals on */
	if (argc < 2 || strcmp(argv[1], rama_tab_commands[RAMA_TAB_CMD_run].name) != 0)
		signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		list_commands(stderr);
		return 2;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("iorama " IORAMA_BUILD_VERSION);
		return 0;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "-?") == 0) {
		list_commands(stdout);
		return 0;
	}
	i = find_command(argv[1]);
	return i >= 0 ? run[i](argc - 1, argv + 1) : unknown(argv[1]);
}
