/* SPDX-License-Identifier: BSD-3-Clause */
/* spread.h: two groups of runs compared: what a run of each is like on average, how far runs of one
 * group are apart, and so whether the groups differ. Pure; B is compared with A. */
#ifndef RAMA_REPORT_SPREAD_H
#define RAMA_REPORT_SPREAD_H

#include "report/diff/diff.h"

struct rama_report_run {
	const char *path; /* of its log; of the group's memory */
	double value[RAMA_REPORT_METRICS];
	int64_t nprocs;
	bool complete;
};

struct rama_report_group {
	struct rama_arena arena;
	const char *path; /* as given; kept as it is */
	const char *name; /* of the program; of the first run */
	struct rama_report_run *run;
	size_t n, room;
};

/* One more run. RAMA_EMEMORY. */
int rama_report_group_add(struct rama_report_group *g, const struct rama_job_view *v,
			  const char *path);
void rama_report_group_fini(struct rama_report_group *g);

/* A value that a run cannot say counts in no mean; there may be fewer values than runs. */
struct rama_report_spread_metric {
	size_t n[2];
	double mean[2];
	double deviation[2]; /* of single runs (n - 1); NAN: there is but one */
	double low, high;    /* 95 % of what B has more than A; NAN: nobody knows */
	enum rama_report_change change;
	int better;  /* 1: B is better, -1: worse, 0: neither */
	bool unsure; /* beyond the tolerance, but runs of one group are as far apart */
	bool told;
};

struct rama_report_spread {
	struct rama_arena arena;
	const struct rama_report_group *group[2];
	double tolerance;
	struct rama_report_spread_metric metrics[RAMA_REPORT_METRICS];
	const char *notes[6];
	unsigned n_notes;
	const char *verdict;
	bool slower, faster, differs;
};

/* 12.3 s ± 0.4 s: mean and standard deviation of a time over the runs */
#define RAMA_REPORT_TIMES 96
char *rama_report_group_time(char to[RAMA_REPORT_TIMES], const struct rama_report_group *g,
			     enum rama_report_metric m);

/* Each group has a run at least, and one of them two. */
int rama_report_spread_make(struct rama_report_spread *s, const struct rama_report_group *a,
			    const struct rama_report_group *b, double tolerance,
			    struct rama_err *e);
void rama_report_spread_fini(struct rama_report_spread *s);

/* Student's t: 95 % of what has so many degrees of freedom lies within it, to both sides */
double rama_report_spread_t(double freedom);

/* as struct rama_report_form has them */
struct rama_report_ask;
int rama_report_spread_paper(const struct rama_report_spread *s, struct rama_report_paper *p);
void rama_report_spread_json(const struct rama_report_spread *s, struct rama_out *o,
			     const struct rama_report_ask *a);

#endif
