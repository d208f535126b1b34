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
	double lost, bytes;
	double count; /* files that it stands for */
	bool folded;  /* without a name: comes last */
};

/* one rule while it is tried */
struct rama_diag_trial {
	struct rama_diag_sums sums; /* over the files that show it */
	struct rama_diag_cost cost;
	struct rama_diag_suspect first[RAMA_DIAG_CULPRITS]; /* those that lost most */
	size_t n, all;
	bool found;
	double seconds, bytes;
	int explained_by; /* index of a rule, -1 */
	int also;	  /* a rule whose seconds were added, -1 */
	double more;	  /* those seconds */
};

struct rama_diag_engine {
	struct rama_diag *d;
	const struct rama_job_view *view;
	struct rama_diag_facts facts;
	struct rama_diag_trial *trial; /* rama_diag_n_rules */
	bool calm;		       /* so little I/O that nothing can be gained */
};

/* evidence.c: culprits, texts, values, window of one finding. 0 or RAMA_EMEMORY */
int rama_diag_evidence(struct rama_diag_engine *g, struct rama_diag_finding *to,
		       const struct rama_diag_trial *t);
/* verdict.c: verdict, banner, shares of the run time */
int rama_diag_verdict(struct rama_diag_engine *g);

#endif
