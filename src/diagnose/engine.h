/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.h: what the files of the engine share: engine.c tries the rules, evidence.c says who
 * shows them, verdict.c sums up. */
#ifndef RAMA_DIAGNOSE_ENGINE_H
#define RAMA_DIAGNOSE_ENGINE_H

#include "diagnose/cost.h"
#include "diagnose/text.h"

#define RAMA_DIAG_CULPRITS 10

struct rama_diag_suspect { /* a file that shows a rule */
	uint32_t file;
	double here; /* seconds of it that the slowest rank loses */
	double lost, bytes;
	double count; /* files that it stands for */
	bool folded;  /* without a name: comes last */
};

#define RAMA_DIAG_CAUSES 24

struct rama_diag_cause { /* of a rule, by its row */
	int rule;
	bool adds;   /* the same remedy helps other files too */
	bool partly; /* it explains the rule in some of its files */
	double lost; /* seconds that the rule finds in files that show this one too */
};

/* one rule while it is tried */
struct rama_diag_trial {
	struct rama_diag_sums sums; /* over the files that show it */
	struct rama_diag_cost cost;
	struct rama_diag_suspect first[RAMA_DIAG_CULPRITS]; /* those that lost most */
	size_t n, all;
	bool found;
	double seconds, bytes;
	struct rama_diag_cause cause[RAMA_DIAG_CAUSES];
	unsigned n_causes;
	double lost;	  /* seconds of all files that show it, added over ranks */
	int explained_by; /* index of a rule, -1 */
	bool partly;	  /* it is, in some files */
	int partly_by;	  /* by this rule, or what explains that */
	int also;	  /* a rule whose seconds were added, -1 */
	double more;	  /* those seconds */
};

struct rama_diag_engine {
	struct rama_diag *d;
	const struct rama_job_view *view;
	struct rama_diag_facts facts;
	struct rama_diag_trial *trial; /* rama_diag_n_rules */
	double *lost;		       /* rama_diag_n_rules: of the file that is tried */
	struct rama_diag_cost beyond;  /* seconds that no I/O call shows: beyond.c */
	bool calm;		       /* so little I/O that nothing can be gained */
};

/* causes.c: the lists of causes; what a file loses by each rule; then which rules explain which */
void rama_diag_causes_read(struct rama_diag_engine *g);
void rama_diag_causes_file(struct rama_diag_engine *g, const double *lost);
void rama_diag_causes_find(struct rama_diag_engine *g);
/* then why ranks are behind */
void rama_diag_causes_rest(struct rama_diag_engine *g);
void rama_diag_causes_ranks(struct rama_diag_engine *g);
/* evidence.c: culprits, texts, values, window of one finding. 0 or RAMA_EMEMORY */
int rama_diag_evidence(struct rama_diag_engine *g, struct rama_diag_finding *to,
		       const struct rama_diag_trial *t);
/* verdict.c: verdict, banner, shares of the run time */
int rama_diag_verdict(struct rama_diag_engine *g);
/* model.c: seconds that all findings of this level and above save together: costs that speak
 * of the same seconds are not added */
double rama_diag_together(const struct rama_diag_engine *g, enum rama_diag_level least);
/* the same of seconds that come on top of the I/O time: RAMA_DIAG_PLACE_BEYOND */
double rama_diag_together_beyond(const struct rama_diag_engine *g, enum rama_diag_level least);
/* The rule by which a rank loses most of the seconds that it is behind, -1: none. moving:
 * the seconds are of reads and writes, which no time in metadata explains. */
int rama_diag_why_behind(const struct rama_diag_engine *g, double rank, double seconds,
			 bool moving);
/* beyond.c: seconds of one file that are inside of a library; then, when all files are there, those
 * of page faults and what all of it comes to. 0 or RAMA_EMEMORY */
int rama_diag_beyond_file(struct rama_diag_engine *g, const struct rama_job_view_file *file,
			  const struct rama_diag_sums *x);
int rama_diag_beyond_find(struct rama_diag_engine *g);
/* unexplained.c: */
/* is there time that no finding explains, in a job that is not at full speed? */
bool rama_diag_unexplained(const struct rama_diag_engine *g, double waits);
/* a sentence on time that no finding explains, where it matters; `waits`: told already */
struct rama_out;
void rama_diag_unexplained_put(const struct rama_diag_engine *g, struct rama_out *o, double waits);

#endif
