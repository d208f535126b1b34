/* SPDX-License-Identifier: BSD-3-Clause */
/* words.h: the short texts that terminal and Markdown have in common. Names in them are as in
 * the log: whoever shows them makes them harmless. */
#ifndef RAMA_REPORT_WORDS_H
#define RAMA_REPORT_WORDS_H

#include "report/report.h"

#define RAMA_REPORT_WORDS_MOST 12

/* a few texts that are shown beside each other */
struct rama_report_words {
	unsigned n;
	char *at[RAMA_REPORT_WORDS_MOST];
};

#define RAMA_REPORT_WHO 320
/* "512 ranks"; of a job without MPI "6 processes (python3 ×5, bash)": those that moved data, by
 * program; helpers that moved nothing are left out, unless none did */
const char *rama_report_words_who(const struct rama_job_view *v, char to[RAMA_REPORT_WHO]);
/* program, job, ranks, date, run time */
void rama_report_words_head(struct rama_report_words *w, const struct rama_report *r,
			    long utc_offset);
/* read, written, rate, files, ranks */
void rama_report_words_numbers(struct rama_report_words *w, const struct rama_report *r);
/* how many checks were made and what came out */
void rama_report_words_checks(struct rama_report_words *w, const struct rama_report *r);
void rama_report_words_fini(struct rama_report_words *w);

#endif
