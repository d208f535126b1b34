/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/study.h"

#include "cli/input.h"

static void print_line(void *ctx, const char *path, const char *line)
{
	(void)ctx;
	rama_cli_complain(path, "%s", line);
}

static void show_progress(void *ctx, const char *path, double share)
{
	(void)ctx;
	rama_cli_progress_share(path, share);
}

void rama_cli_study_told(struct rama_study_options *opt, bool quiet)
{
	opt->told = (struct rama_study_told){ .problem = print_line,
					      .note = quiet ? NULL : print_line,
					      .progress = quiet ? NULL : show_progress };
}

int rama_cli_study_open(struct rama_study *s, const struct rama_study_source *sources, size_t n,
			struct rama_study_options opt, bool quiet)
{
	int rc;

	rama_cli_study_told(&opt, quiet);
	rc = rama_study_open(s, sources, n, &opt);
	rama_cli_progress_end();
	return rc < 0 ? rama_err_status(rc) : 0;
}

int rama_cli_paths_add(struct rama_study_paths *p, const char *command, const char *arg)
{
	struct rama_err e = { 0 };
	int rc;

	p->told.problem = print_line;
	rc = rama_study_paths_add(p, arg, &e);
	if (rc == RAMA_EMEMORY) /* others were told */
		rama_cli_complain(command, "%s", e.text);
	return rc < 0 ? rama_err_status(rc) : 0;
}
