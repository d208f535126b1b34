/* SPDX-License-Identifier: BSD-3-Clause */
/* weekly.h: what the jobs of a store lost since then, where, and what changed against the time
 * before: a page, a mail, a screen. All figures are the store's; no log is read. */
#ifndef RAMA_STUDY_WEEKLY_H
#define RAMA_STUDY_WEEKLY_H

#include "query/lost.h"
#include "report/paper.h"

struct rama_study_weekly {
	struct rama_query_lost query;
	size_t top;	   /* rows of each table */
	const char *about; /* which jobs, as asked for; NULL: all */
};

/* Makes the paper, which is fini'ed by the caller in any case. Its tables: rules, programs,
 * users, folders, totals. */
int rama_study_weekly_paper(struct rama_store *s, const struct rama_study_weekly *w,
			    struct rama_report_paper *p, struct rama_err *e);

#endif
