/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_exec.c: iorama exec */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/run/told.h"
#include "launch/find.h"
#include "launch/run/vars.h"

struct change {
	const char *name;
	char *value; /* NULL: no memory */
	bool wanted;
};

/* a file or directory of the option, as it is from anywhere; NULL: no memory */
static char *from_here(struct rama_cli_opts *o, enum rama_tab_option_id option,
		       struct rama_arena *a)
{
	const char *path = rama_cli_opts_value(o, option);
	char here[PATH_MAX], *text;

	if (path == NULL || path[0] == '/' || getcwd(here, sizeof(here)) == NULL)
		return rama_arena_text(a, path != NULL ? path : "",
				       path != NULL ? strlen(path) : 0);
	text = rama_arena_alloc(a, strlen(here) + strlen(path) + 2);
	if (text != NULL)
		stpcpy(stpcpy(stpcpy(text, here), "/"), path);
	return text;
}

static char *globs(struct rama_cli_opts *o, const char *variable, enum rama_tab_option_id option,
		   struct rama_arena *a)
{
	struct rama_launch_globs g;
	struct rama_err e = { 0 };
	char *text = NULL;

	if (rama_cli_globs_of(o, option, &g))
		text = rama_launch_vars_globs(variable, g.glob, g.n, a, &e);
	free((void *)g.glob);
	if (e.code == RAMA_EUSAGE)
		rama_cli_opts_usage(o, "%s", e.text);
	return text;
}

static int set_variables(struct rama_cli_opts *o, const char *library, struct rama_arena *a)
{
	const char *memory = rama_cli_memory_of(o, RAMA_TAB_OPT_exec_memory);
	const char *files = rama_cli_memory_of(o, RAMA_TAB_OPT_exec_files);
	struct rama_program kind = { 0 };
	char program[PATH_MAX];

	if (rama_launch_find_program(o->args[0], program))
		rama_program_look(&kind, AT_FDCWD, program);
	if (rama_program_stops(kind.why))
		rama_cli_complain(o->args[0], "%s: it runs, but is not observed",
				  rama_unseen_one(kind.why));
	struct change all[] = {
		{ "LD_PRELOAD", rama_launch_vars_preload(library, &kind, a), true },
		{ "IORAMA_RUNTIME", rama_arena_text(a, kind.first, strlen(kind.first)),
		  kind.first[0] != '\0' && kind.why == RAMA_UNSEEN_NOT },
		{ "IORAMA_LOG", from_here(o, RAMA_TAB_OPT_exec_output, a),
		  rama_cli_opts_has(o, RAMA_TAB_OPT_exec_output) },
		{ "IORAMA_LOG_DIR", from_here(o, RAMA_TAB_OPT_exec_dir, a),
		  rama_cli_opts_has(o, RAMA_TAB_OPT_exec_dir) },
		{ "IORAMA_TRACE", rama_arena_text(a, "1", 1),
		  rama_cli_opts_has(o, RAMA_TAB_OPT_exec_trace) || memory != NULL },
		{ "IORAMA_TRACE_MEMORY",
		  rama_arena_text(a, memory != NULL ? memory : "",
				  memory != NULL ? strlen(memory) : 0),
		  memory != NULL },
		{ "IORAMA_MEMORY", rama_arena_text(a, files, files != NULL ? strlen(files) : 0),
		  files != NULL },
		{ "IORAMA_EXCLUDE", globs(o, "IORAMA_EXCLUDE", RAMA_TAB_OPT_exec_exclude, a),
		  rama_cli_opts_has(o, RAMA_TAB_OPT_exec_exclude) },
		{ "IORAMA_INCLUDE", globs(o, "IORAMA_INCLUDE", RAMA_TAB_OPT_exec_include, a),
		  rama_cli_opts_has(o, RAMA_TAB_OPT_exec_include) },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].wanted &&
		    (all[i].value == NULL || setenv(all[i].name, all[i].value, 1) != 0)) {
			rama_cli_complain("exec", "out of memory");
			return 4;
		}
	return 0;
}

int rama_cli_cmd_exec(int argc, char **argv)
{
	struct rama_cli_opts o;
	struct rama_arena arena = { 0 };
	struct rama_err e = { 0 };
	char library[PATH_MAX];

	rama_cli_opts_parse(&o, RAMA_TAB_CMD_exec, argc, argv);
	if (o.n_args == 0)
		rama_cli_opts_usage(&o, "which command? none is given");
	rama_cli_memory_of(&o, RAMA_TAB_OPT_exec_memory);
	if (rama_launch_find_library(rama_cli_opts_value(&o, RAMA_TAB_OPT_exec_library), library,
				     &e) != 0) {
		rama_cli_complain("exec", "%s", e.text);
		return 4;
	}
	if (set_variables(&o, library, &arena) != 0)
		return 4;
	execvp(o.args[0], (char *const *)o.args);
	rama_cli_complain(o.args[0],
			  errno == ENOENT ? "there is no such command" : "cannot be started: %s",
			  strerror(errno));
	return errno == ENOENT ? 127 : 126;
}
