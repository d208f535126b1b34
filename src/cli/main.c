/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: iorama COMMAND ... */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/secret.h"
#include "cli/commands.h"
#include "cli/opts.h"
#include "cli/terminal.h"
#include "version.h" /* made by cmake/version.cmake */

static int (*const run[RAMA_TAB_COMMANDS])(int, char **) = {
#define CMD(name, ...) rama_cli_cmd_##name,
#define OPT(...)
#define EXAMPLE(...)
#include "table/commands.def"
#undef CMD
#undef OPT
#undef EXAMPLE
};

/* What people come for, and the commands that give it; a command that stands nowhere here comes
 * last. */
static const struct group {
	const char *title;
	int command[8]; /* ends with -1 */
} groups[] = {
	{ "Observe a program",
	  { RAMA_TAB_CMD_run, RAMA_TAB_CMD_exec, RAMA_TAB_CMD_attach, RAMA_TAB_CMD_detach,
	    RAMA_TAB_CMD_recover, -1 } },
	{ "Learn what it did, and what to change",
	  { RAMA_TAB_CMD_report, RAMA_TAB_CMD_diff, RAMA_TAB_CMD_path, RAMA_TAB_CMD_explain, -1 } },
	{ "Jobs that run now",
	  { RAMA_TAB_CMD_watch, RAMA_TAB_CMD_live, RAMA_TAB_CMD_agent, RAMA_TAB_CMD_collect,
	    RAMA_TAB_CMD_serve, -1 } },
	{ "Many jobs",
	  { RAMA_TAB_CMD_index, RAMA_TAB_CMD_jobs, RAMA_TAB_CMD_query, RAMA_TAB_CMD_alert,
	    RAMA_TAB_CMD_store, -1 } },
	{ "Try a change without the program", { RAMA_TAB_CMD_emulate, -1 } },
	{ "Logs",
	  { RAMA_TAB_CMD_show, RAMA_TAB_CMD_convert, RAMA_TAB_CMD_export, RAMA_TAB_CMD_merge,
	    -1 } },
	{ "This machine", { RAMA_TAB_CMD_doctor, RAMA_TAB_CMD_config, RAMA_TAB_CMD_help, -1 } },
};

static void list_command(FILE *f, int i)
{
	fprintf(f, "  %-9s %s\n", rama_tab_commands[i].name, rama_tab_commands[i].line);
}

static void list_groups(FILE *f)
{
	bool listed[RAMA_TAB_COMMANDS] = { false };
	const char *title = "\nMore:\n";

	for (unsigned g = 0; g < sizeof(groups) / sizeof(*groups); g++) {
		fprintf(f, "\n%s:\n", groups[g].title);
		for (const int *c = groups[g].command; *c >= 0; c++) {
			list_command(f, *c);
			listed[*c] = true;
		}
	}
	for (int i = 0; i < RAMA_TAB_COMMANDS; i++) {
		if (listed[i])
			continue;
		fputs(title, f);
		title = "";
		list_command(f, i);
	}
}

static void put_commands(FILE *f, const char *unused)
{
	(void)unused;
	fputs("Usage: iorama COMMAND [OPTION…] …\n"
	      "See what applications do with their files.\n",
	      f);
	list_groups(f);
	fputs("\nExamples:\n"
	      "  iorama run -- ./app input.nml         observe a program and all it starts\n"
	      "  iorama report last                    what was slow, and what to change\n"
	      "  iorama report --html=r.html LOG       the same as a page\n"
	      "  iorama diff before.darshan LOG        did the change help?\n"
	      "  iorama watch                          running jobs, on the whole screen\n"
	      "\n`iorama help COMMAND` tells more of a command, with examples. Exit status: 0 ok,\n"
	      "2 wrong usage, 3 bad input, 4 trouble with the machine.\n",
	      f);
}

static void list_commands(FILE *f)
{
	rama_cli_terminal_print(f, put_commands, NULL);
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
	struct rama_nearest near = { .word = name };

	for (int i = 0; i < RAMA_TAB_COMMANDS; i++)
		rama_nearest_offer(&near, rama_tab_commands[i].name);
	if (near.name != NULL)
		fprintf(stderr, "iorama: there is no command '%s'; did you mean %s?\n", name,
			near.name);
	else
		fprintf(stderr, "iorama: there is no command '%s'; `iorama --help` lists them\n",
			name);
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

/* Text that could not be printed must not look like success; that nobody reads on (`| head`) is no
 * trouble. */
static void check_stdout(void)
{
	if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE) {
		fprintf(stderr, "iorama: standard output: cannot be written: %s\n",
			strerror(errno));
		_exit(4);
	}
}

int main(int argc, char **argv)
{
	int i;

	atexit(check_stdout);
	rama_secret_hide_words(argc, argv); /* ps shows them to everybody */
	/* `iorama show … | head` ends quietly by the write error; `run` hands its signals on */
	if (argc < 2 || strcmp(argv[1], rama_tab_commands[RAMA_TAB_CMD_run].name) != 0)
		signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		list_commands(stderr);
		return 2;
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("iorama " IORAMA_BUILD_VERSION);
		if (IORAMA_BUILD_COMMIT[0] != '\0')
			puts("commit " IORAMA_BUILD_COMMIT);
		puts("built with " IORAMA_BUILD_HOW);
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
