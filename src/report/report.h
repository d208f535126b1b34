/* SPDX-License-Identifier: BSD-3-Clause */
/* report.h: a job and its findings, for people and programs. A report is made once and rendered
 * in any form; all forms take their figures from the same tables (table.h), so that they agree.
 *
 *   struct rama_report r;
 *   rama_report_init(&r, &view, &diagnosis, &profile);
 *   rama_report_text(&out, &r, &look);
 *   rama_report_fini(&r);
 *
 * Other forms, and those of comparisons and fleets: report/form.h. All write to `out`, do no I/O of
 * their own and read no clock; whether all could be written is in out->error. */
#ifndef RAMA_REPORT_REPORT_H
#define RAMA_REPORT_REPORT_H

#include "base/arena.h"
#include "base/out.h"
#include "diagnose/diagnose.h"
#include "job/view.h"

#define RAMA_REPORT_SCHEMA 1 /* version of the JSON document: docs/format/report.md */

#define RAMA_REPORT_SLOW 10

struct rama_report_size { /* a row of the table of sizes */
	enum rama_job_layer layer;
	unsigned bin;
};

struct rama_report_operation {
	enum rama_job_layer layer;
	const char *name; /* opens, stats */
	int64_t count;
};

struct rama_report_pattern {
	enum rama_job_layer layer;
	struct {
		int64_t consecutive, sequential, random;
		/* 0 writes, 1 reads; sequential without consecutive, random without first
		 * accesses */
	} use[2];
	int64_t switches;
	int64_t file_unaligned, memory_unaligned; /* -1: the layer does not count them */
	struct {
		int64_t size, count;
	} common[4]; /* most frequent sizes; count 0: no more */
};

/* what a replay of the job with a change showed */
struct rama_report_trial {
	const char *rule;		  /* the finding that it is about, "": none */
	const char *change;		  /* transfer_size=1MiB */
	const char *verdict;		  /* better, worse, cannot tell */
	const char *text;		  /* all of it in one sentence */
	double cost, gain, before, after; /* seconds; NAN: not known */
};

struct rama_report {
	const struct rama_job_view *view;
	const struct rama_diag *diagnosis;
	const struct rama_diag_profile *profile;
	/* made by init */
	struct rama_arena arena;
	uint32_t *files; /* real files, most time first */
	size_t n_files;
	uint32_t *groups;   /* most time first */
	int64_t *group_row; /* of each group: its place in `groups` */
	int64_t *ranks;	    /* those worth a row, ascending: all, or the most telling ones */
	size_t n_ranks;
	size_t slow[RAMA_REPORT_SLOW]; /* places in `ranks` of the slowest */
	size_t n_slow;
	double *rank_times;	     /* I/O time of all ranks, descending */
	enum rama_job_layer *layers; /* used ones */
	size_t n_layers;
	struct rama_report_size *sizes;
	size_t n_sizes;
	struct rama_report_pattern *patterns;
	size_t n_patterns;
	struct rama_report_operation *operations;
	size_t n_operations;
	/* set by who knows them, after init */
	const struct rama_report_trial *trials;
	size_t n_trials;
};

/* keeps the addresses; 0 or RAMA_EMEMORY */
int rama_report_init(struct rama_report *r, const struct rama_job_view *v,
		     const struct rama_diag *d, const struct rama_diag_profile *p);
void rama_report_fini(struct rama_report *r);

/* the part of the run time that the slowest rank spends in I/O, 0..1 */
double rama_report_io_share(const struct rama_job_view *v);
/* the file that a culprit is, or NULL */
const struct rama_job_view_file *rama_report_culprit_file(const struct rama_job_view *v,
							  const struct rama_diag_culprit *c);

/* Is there one culprit only, and does the evidence name it in full? */
bool rama_report_culprit_told(const struct rama_job_view *v, const struct rama_diag_finding *f);
/* Has a finding above this one the same snippet? It is shown once. */
bool rama_report_snippet_told(const struct rama_report *r, const struct rama_diag_finding *f,
			      const struct rama_diag_snippet *s);

#define RAMA_REPORT_NARROWEST 40 /* columns */

/* how text looks */
struct rama_report_look {
	unsigned width;	  /* columns, 40 at least */
	bool colour;	  /* by escape sequences */
	bool utf8;	  /* else ASCII only */
	bool verbose;	  /* everything, with snippets */
	bool brief;	  /* a few lines */
	const char *lead; /* in front of the first line, or NULL */
	bool no_banner;	  /* somebody else tells what is incomplete */
	bool no_unseen;	  /* ... or what could not be observed, the last line of it */
	long utc_offset;  /* seconds that clocks here were ahead of UTC when the job started */
};
void rama_report_text(struct rama_out *o, const struct rama_report *r,
		      const struct rama_report_look *look);

void rama_report_json(struct rama_out *o, const struct rama_report *r);
/* A picture: a whole SVG document that needs nothing else, light or dark as its reader likes; its
 * style begins every name with "ir-", so that it may also stand inside a page. */
/* words of --figure: head, findings, timeline, sizes, all */
bool rama_report_figure_known(const char *list);
void rama_report_svg(struct rama_out *o, const struct rama_report *r);

#endif
