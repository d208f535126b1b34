/* SPDX-License-Identifier: BSD-3-Clause */
/* diagnose.h: job -> facts -> findings with cost. Findings are data; how they look is up to
 * report/. */
#ifndef RAMA_DIAGNOSE_DIAGNOSE_H
#define RAMA_DIAGNOSE_DIAGNOSE_H

#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "job/view.h"

enum rama_diag_level {
	RAMA_DIAG_LEVEL_OK,
	RAMA_DIAG_LEVEL_INFO,
	RAMA_DIAG_LEVEL_WARN,
	RAMA_DIAG_LEVEL_HIGH,
	RAMA_DIAG_LEVELS
};
extern const char *const rama_diag_level_name[RAMA_DIAG_LEVELS]; /* "OK" "INFO" "WARN" "HIGH" */

enum rama_diag_confidence {
	RAMA_DIAG_CONFIDENCE_LOW,
	RAMA_DIAG_CONFIDENCE_MEDIUM,
	RAMA_DIAG_CONFIDENCE_HIGH
};
extern const char *const rama_diag_confidence_name[3]; /* "low" "medium" "high" */

/* a limit that a site may change: a row of table/limits.def */
struct rama_diag_limit {
	const char *name, *unit, *doc; /* unit: share, bytes, s, count */
	double value, least, most;     /* default, and what may be set */
	const char *drishti;	       /* what Drishti calls it, or NULL */
};
extern const struct rama_diag_limit rama_diag_limits[];
extern const unsigned rama_diag_n_limits;

/* limits of a site or a user, from INI files: [limits] name = value. Later ones win. */
struct rama_diag_profile {
	double *value; /* rama_diag_n_limits */
	char **source; /* where each was set: "default" or the file */
};
int rama_diag_profile_init(struct rama_diag_profile *p);
/* "small_requests = 0.2"; unknown names, units and values out of range are errors that name the
 * line */
int rama_diag_profile_read(struct rama_diag_profile *p, FILE *f, const char *name,
			   struct rama_err *e);
void rama_diag_profile_fini(struct rama_diag_profile *p);

/* a figure that rules and texts name: a row of diagnose/facts.def, or a figure of the finding
 * itself */
struct rama_diag_fact {
	const char *name, *unit, *doc;
	size_t where; /* offset in struct rama_diag_sums or struct rama_diag_facts */
	bool of_files;
};
extern const struct rama_diag_fact rama_diag_fact_info[];
extern const unsigned rama_diag_n_facts;

/* one rule: a row of diagnose/rules.def */
struct rama_diag_rule {
	const char *id;	       /* W01 */
	const char *topic;     /* group: time, writes, reads, metadata, mpiio, hdf5, ... */
	const char *drishti;   /* codes of Drishti that it answers, "P06 P16", or "" */
	const char *title;     /* of the rule itself: "Small writes" */
	const char *condition; /* as text, for explain */
	const char
		*doc; /* what it means, why it costs, how the cost is estimated: a few sentences */
	const char *advice; /* id of a row of advice.def */
	/* ids of rules that explain it, "L01 L02+", or ""; +: what it costs in other files is added
	 * there */
	const char *causes;
	enum rama_diag_level most; /* it is never worse than this; OK: it praises */
};
extern const struct rama_diag_rule rama_diag_rules[];
extern const unsigned rama_diag_n_rules;
/* letter case ignored; also Drishti's codes; NULL */
const struct rama_diag_rule *rama_diag_rule_find(const char *id);

struct rama_diag_value {  /* a figure a finding rests on */
	const char *name; /* small_writes */
	const char *doc;  /* writes of less than 1 MiB */
	const char *unit; /* bytes, s, share, count, ratio */
	double value;
};

struct rama_diag_culprit { /* a file, rank or storage target that shows it */
	const char *kind;  /* "file", "rank", "ost", "dataset" */
	int64_t index;	   /* of the file in the view, the rank, the target */
	const char *name;  /* as shown */
	const char *text;  /* "12,000 writes of 4 KiB, 31 s" */
	double value;	   /* by which they are ordered, descending */
};

struct rama_diag_snippet {
	const char *language; /* C, Fortran, Python, shell */
	const char *title;    /* "MPI-IO: write collectively" */
	const char *text;     /* with the job's own names and sizes in it */
};

struct rama_diag_finding {
	const struct rama_diag_rule *rule;
	enum rama_diag_level level;
	enum rama_diag_confidence confidence;
	double cost;	   /* seconds of run time that could be saved, about; 0: none to speak of */
	double cost_share; /* of run time */
	double bytes;	   /* moved in vain, or concerned; 0 */
	const char
		*title; /* with its numbers: "305,246 of 305,300 writes are smaller than 1 MiB" */
	const char *evidence; /* one line: file, ranks, time */
	const char *how;      /* how the cost was estimated, one sentence with its numbers */
	const struct rama_diag_value *values;
	size_t n_values;
	const struct rama_diag_culprit *culprits; /* at most 10 */
	size_t n_culprits, all_culprits;	  /* all_culprits: how many there are in fact */
	const struct rama_diag_rule
		*follows;   /* the rule whose finding explains this one (cost 0 then), or NULL */
	double from, to;    /* time window, NAN NAN: none */
	const char *advice; /* one or two sentences */
	/* the same advice is already given there, or NULL */
	const struct rama_diag_finding *advised_by;
	const struct rama_diag_snippet *snippets;
	size_t n_snippets;
};

enum rama_diag_check { RAMA_DIAG_CHECK_NA, RAMA_DIAG_CHECK_PASSED, RAMA_DIAG_CHECK_FOUND };

struct rama_diag {
	struct rama_arena arena;
	char *verdict;		    /* one or two sentences a scientist understands */
	enum rama_diag_level level; /* of the worst finding */
	/* HIGH and WARN by cost, then INFO, then OK */
	struct rama_diag_finding *findings;
	size_t n_findings;
	size_t n_high, n_warn, n_info, n_ok;
	enum rama_diag_check *checks; /* rama_diag_n_rules */
	size_t n_found, n_passed, n_na;
	/* shares of run time of the slowest rank, sum 1: for the bar under the verdict */
	double read_share, write_share, meta_share, other_share;
	/* of the slowest rank: opens that wait for another process, not for a file system */
	double waiting;
	const char **banner; /* lines on what is incomplete; none: the data are whole */
	size_t n_banner;
	/* rama_diag_n_facts: of the whole job, in the order of rama_diag_fact_info */
	double *facts;
};

int rama_diag_make(struct rama_diag *d, const struct rama_job_view *v,
		   const struct rama_diag_profile *p, struct rama_err *e);
void rama_diag_fini(struct rama_diag *d);

#endif
