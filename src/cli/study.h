/* SPDX-License-Identifier: BSD-3-Clause */
/* study.h: logs given on the command line, read, diagnosed and made into a report. */
#ifndef RAMA_CLI_STUDY_H
#define RAMA_CLI_STUDY_H

#include "report/report.h"

struct rama_study_options {
	const struct rama_profile *profile;
	bool no_trace;	  /* counters only */
	bool detail;	  /* keep single operations, for pages and JSON */
	bool quiet;	  /* no notes, no progress */
	const char *only; /* findings of these rules or topics, with commas; NULL: all */
};

struct rama_study {
	struct rama_view view;
	struct rama_diagnosis diagnosis;
	struct rama_report report;
	bool viewed, diagnosed, reported;
};

/* a log in memory, or (bytes NULL) one at its path, or a directory of segments */
struct rama_study_source {
	const char *path; /* its name in reports */
	const void *bytes;
	size_t len;
};

/* Reads the logs (or directories of segments) of one job. Returns the exit status, after what was wrong was printed:
 * 0, or 3 also if part of it could not be read; s->reported says whether there is a report. */
int rama_study_open(struct rama_study *s, const char *const *paths, size_t n,
		    const struct rama_study_options *opt);
int rama_study_open_sources(struct rama_study *s, const struct rama_study_source *sources, size_t n,
			    const struct rama_study_options *opt);
void rama_study_close(struct rama_study *s);

/* seconds that clocks here were ahead of UTC when the job started */
long rama_study_utc_offset(const struct rama_study *s);

/* Is the word (a rule or a topic) known? */
bool rama_study_knows(const char *word, size_t len);

#endif
