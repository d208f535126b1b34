/* SPDX-License-Identifier: BSD-3-Clause */
/* study.h: study/ for the command line: what it tells is printed, errors become exit statuses. */
#ifndef RAMA_CLI_STUDY_H
#define RAMA_CLI_STUDY_H

#include "study/paths.h"
#include "study/study.h"

/* what is told is printed; quiet: no notes, no progress */
void rama_cli_study_told(struct rama_study_options *opt, bool quiet);
/* Reads the sources of one job. The exit status, after what was wrong was printed: 0, or 3 also
 * if part of it could not be read; s->reported says whether there is a report. quiet: no notes,
 * no progress. */
int rama_cli_study_open(struct rama_study *s, const struct rama_study_source *sources, size_t n,
			struct rama_study_options opt, bool quiet);
/* 0, or the exit status after the reason was printed */
int rama_cli_paths_add(struct rama_study_paths *p, const char *command, const char *arg);

#endif
