/* SPDX-License-Identifier: BSD-3-Clause */
/* diff.h: two runs compared: figures, layers, files, findings, and a sentence that says it.
 * Pure; both jobs must outlive it. B is compared with A: "more" means that B has more. */
#ifndef RAMA_REPORT_DIFF_DIFF_H
#define RAMA_REPORT_DIFF_DIFF_H

#include "base/err.h"
#include "base/out.h"
#include "diagnose/diagnose.h"
#include "job/view.h"
#include "report/paper.h"

struct rama_report_diff_side {
	const char *path; /* as given */
	const struct rama_job_view *view;
	const struct rama_diag *diagnosis;
};

enum rama_report_change { RAMA_REPORT_SAME, RAMA_REPORT_LESS, RAMA_REPORT_MORE };
extern const char *const rama_report_change_name[];    /* "same" "less" "more" */
extern const char *const rama_report_judgement_name[]; /* better + 1: "worse" "neutral" "better" */
enum rama_report_wish { RAMA_REPORT_WISH_NEITHER, RAMA_REPORT_WISH_LOWER, RAMA_REPORT_WISH_HIGHER };

/* rows of metrics.def */
enum rama_report_metric {
#define METRIC(symbol, ...) RAMA_REPORT_METRIC_##symbol,
#include "report/diff/metrics.def"
#undef METRIC
	RAMA_REPORT_METRICS
};

struct rama_report_metric_info {
	const char *name, *label, *unit;
	unsigned group; /* index in rama_report_metric_groups */
	enum rama_report_wish wish;
};
extern const struct rama_report_metric_info rama_report_metric_info[RAMA_REPORT_METRICS];
extern const char *const rama_report_metric_groups[];

struct rama_report_diff_metric {
	double value[2]; /* NAN: not known */
	enum rama_report_change change;
	int better; /* 1: B is better, -1: worse, 0: neither */
	bool told;  /* worth a line: something is there, and it is not the line before again */
};

enum rama_report_fate {
	RAMA_REPORT_FATE_NEW,
	RAMA_REPORT_FATE_WORSE,
	RAMA_REPORT_FATE_BETTER,
	RAMA_REPORT_FATE_GONE,
	RAMA_REPORT_FATE_SAME
};
extern const char *const rama_report_fate_name[]; /* "new" "worse" "better" "gone" "same" */

struct rama_report_diff_finding {
	const struct rama_diag_rule *rule;
	const struct rama_diag_finding *side[2]; /* NULL: not found there */
	enum rama_report_fate fate;
};

/* a file of both runs, or files that differ in numbers or folder only */
struct rama_report_diff_file {
	const char *name;
	uint32_t files[2];
	struct rama_job_io io[2];
};

struct rama_report_diff {
	struct rama_arena arena;
	struct rama_report_diff_side side[2];
	double tolerance; /* share: smaller differences are none */
	struct rama_report_diff_metric metrics[RAMA_REPORT_METRICS];
	struct rama_report_diff_finding
		*findings; /* new and gone ones first, by cost; OK ones are not there */
	size_t n_findings;
	size_t n_new, n_gone;		     /* of level WARN and HIGH */
	struct rama_report_diff_file *files; /* by how much their time changed */
	size_t n_files, both, only[2];
	const char *notes[6]; /* why the runs may not be comparable */
	unsigned n_notes;
	const char *verdict;
	bool slower, faster; /* in run time or I/O time, beyond the tolerance */
	bool differs;	     /* in any figure or finding */
};

int rama_report_diff_make(struct rama_report_diff *d, const struct rama_report_diff_side side[2],
			  double tolerance, struct rama_err *e);
void rama_report_diff_fini(struct rama_report_diff *d);

/* of one run; NAN: it cannot say */
double rama_report_metric_of(const struct rama_job_view *v, enum rama_report_metric m);
/* at this tolerance, and above what clocks tell apart */
enum rama_report_change rama_report_metric_change(enum rama_report_metric m, const double value[2],
						  double tolerance);
/* 1: B is better, -1: worse, 0: neither */
int rama_report_metric_judge(enum rama_report_metric m, enum rama_report_change change);
/* What the program asked for is what reached the disk, unless MPI-IO stands between: then one line
 * is enough. asked: of a figure of the disk that of the program, which stands before it; of all
 * others itself. told: is there something, and it is not the same again? */
enum rama_report_metric rama_report_metric_asked(enum rama_report_metric m);
bool rama_report_metric_told(const double value[2], const double asked[2]);
/* −88 %, 64×, same, none left; "" where one of both is not known. Returns `to`. */
#define RAMA_REPORT_CHANGE 64
char *rama_report_change_text(char to[RAMA_REPORT_CHANGE], enum rama_report_metric m,
			      const double v[2], enum rama_report_change change);

/* is the difference of two values one, at this tolerance? */
enum rama_report_change rama_report_change_of(double a, double b, double tolerance);

/* internal to diff */
int rama_report_diff_files(struct rama_report_diff *d);
const char *rama_report_diff_verdict(struct rama_report_diff *d);

#define RAMA_REPORT_DIFF_FILES 12 /* shown to people */
/* as tables, to be printed in any form */
int rama_report_diff_paper(const struct rama_report_diff *d, struct rama_report_paper *p,
			   bool verbose);
void rama_report_diff_json(const struct rama_report_diff *d, struct rama_out *o);

#endif
