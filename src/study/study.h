/* SPDX-License-Identifier: BSD-3-Clause */
/* study.h: a log, segments or a stored job, read, diagnosed and made into a report: the one way
 * from what was recorded to what is said of it. */
#ifndef RAMA_STUDY_STUDY_H
#define RAMA_STUDY_STUDY_H

#include "base/nearest.h"
#include "report/report.h"
#include "study/told.h"

struct rama_study_options {
	const struct rama_diag_profile *profile;
	bool no_trace; /* counters only */
	/* folder with debugging information of programs that ran; NULL: none */
	const char *debuginfo;
	bool no_lines;	  /* no programs that a log names are opened to find lines of source */
	bool detail;	  /* keep single operations, for pages and JSON */
	double from, to;  /* of that time only; 0 0: of all */
	bool every;	  /* keep all operations of the trace, for exports */
	const char *only; /* findings of these rules or topics, with commas; NULL: all */
	struct rama_study_told told;
};

struct rama_study {
	struct rama_job_view view;
	struct rama_diag diagnosis;
	struct rama_report report;
	bool viewed, diagnosed, reported;
};

/* a log in memory, or (bytes NULL) one at its path ("-": standard input), or a directory of
 * segments */
struct rama_study_source {
	const char *path; /* its name in reports */
	const void *bytes;
	size_t len;
};

/* Reads the sources of one job. What could not be read is told, line by line; 0, or the worst of
 * it: part of a job may have been read all the same, s->reported says whether there is a report.
 * Close it in any case. */
int rama_study_open(struct rama_study *s, const struct rama_study_source *sources, size_t n,
		    const struct rama_study_options *opt);
void rama_study_close(struct rama_study *s);

/* A log that is open becomes a view and a diagnosis; 0: fini both, else neither. */
int rama_study_log(struct rama_job_view *v, struct rama_diag *d, struct rama_log *log,
		   const char *path, bool trace, const struct rama_diag_profile *profile,
		   struct rama_err *e);

/* seconds that clocks here were ahead of UTC when the job started */
long rama_study_utc_offset(const struct rama_study *s);

/* Is the word (a rule or a topic) known? */
bool rama_study_knows(const char *word, size_t len);
/* the rule or topic that may have been meant, in words for the end of a message */
void rama_study_hint(const char *word, size_t len, char to[RAMA_NEAREST_HINT]);

#endif
