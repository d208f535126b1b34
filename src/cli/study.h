/* SPDX-License-Identifier: BSD-3-Clause */
/* study.h: study/ for the command line: what it tells is printed, errors become exit statuses. */
#ifndef RAMA_CLI_STUDY_H
#define RAMA_CLI_STUDY_H

#include "base/out.h"
#include "cli/opts.h"
#include "cli/terminal.h"
#include "study/paths.h"
#include "study/study.h"

struct rama_store;

/* Reads the sources of one job. The exit status, after what was wrong was printed: 0, or 3 also
 * if part of it could not be read; s->reported says whether there is a report. quiet: no notes,
 * no progress. */
int rama_cli_study_open(struct rama_study *s, const struct rama_study_source *sources, size_t n,
			struct rama_study_options opt, bool quiet);
/* 0, or the exit status after the reason was printed */
int rama_cli_paths_add(struct rama_study_paths *p, const char *command, const char *arg);

/* The store that an option --store[=WHERE] names, or the usual one, to be read; 0, or the exit
 * status after the reason was printed. */
int rama_cli_stored_open(struct rama_store **s, const struct rama_cli_opts *o,
			 enum rama_tab_option_id option);
void rama_cli_stored_close(struct rama_store *s);
/* a job without a log: what the store has of it instead, for people */
int rama_cli_stored_tell(struct rama_store *s, int64_t job, const struct rama_cli_terminal *t,
			 bool all, struct rama_out *out, struct rama_err *e);

#endif
