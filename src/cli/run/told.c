/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/told.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/input.h"
#include "launch/run/vars.h"

static void print(void *ctx, const char *about, const char *line)
{
	(void)ctx;
	rama_cli_complain(about, "%s", line);
}

static void print_line(void *ctx, const char *line)
{
	(void)ctx;
	rama_cli_progress_end();
	fprintf(stderr, "iorama: %s\n", line);
}

/* on a terminal, if it lasts */
static void print_progress(void *ctx, size_t done, size_t of)
{
	static time_t start; /* of the first call; a job's segments are gathered once */
	time_t now = time(NULL);

	(void)ctx;
	if (start == 0)
		start = now;
	if (!isatty(STDERR_FILENO) || now - start < 2)
		return;
	if (done < of)
		fprintf(stderr, "\riorama: %zu of %zu segments\033[K", done, of);
	else
		fputs("\r\033[K", stderr);
}

struct rama_launch_told rama_cli_launch_told(bool quiet, void *ctx)
{
	return (struct rama_launch_told){ .problem = print,
					  .note = quiet ? NULL : print,
					  .line = print_line,
					  .progress = quiet ? NULL : print_progress,
					  .ctx = ctx };
}

struct rama_launch_log_place rama_cli_log_place(const struct rama_cli_opts *o,
						const struct rama_cli_log_options *opt)
{
	struct rama_launch_log_place p = { .file = rama_cli_opts_value(o, opt->output),
					   .dir = rama_cli_opts_value(o, opt->dir),
					   .force = rama_cli_opts_has(o, opt->force) };

	if (p.file != NULL && strcmp(p.file, "-") == 0)
		rama_cli_opts_usage(o, "the log needs a file; standard output is not for it");
	if (p.file != NULL && *p.file == '\0')
		rama_cli_opts_usage(o, "-o needs the name of a file");
	return p;
}

const char *rama_cli_memory_of(const struct rama_cli_opts *o, enum rama_tab_option_id option)
{
	const char *text = rama_cli_opts_value(o, option);

	if (text != NULL && !rama_launch_vars_is_size(text))
		rama_cli_opts_usage(o, "a size is like 64M or 1G, not '%s'", text);
	return text;
}

bool rama_cli_globs_of(const struct rama_cli_opts *o, enum rama_tab_option_id option,
		       struct rama_launch_globs *g)
{
	const char **list = calloc(o->n_given + 1, sizeof(*list)), *glob;

	*g = (struct rama_launch_globs){ .glob = list };
	for (size_t at = 0; list != NULL && (glob = rama_cli_opts_next(o, option, &at)) != NULL;)
		list[g->n++] = glob;
	return list != NULL;
}
