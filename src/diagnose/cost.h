/* SPDX-License-Identifier: BSD-3-Clause */
/* cost.h: seconds that files lose, brought upon the ranks that lose them; what counts is how
 * much earlier the slowest rank would be done. A rule's files add to one such account. */
#ifndef RAMA_DIAGNOSE_COST_H
#define RAMA_DIAGNOSE_COST_H

#include "diagnose/rules.h"

struct rama_diag_cost {
	double everyone; /* of every rank */
	double partly_mean,
		/* of files that some ranks share: mean over all ranks, and of one file's ranks */
		partly_most;
	double *rank; /* beyond that, of single ranks; NULL: none */
};

/* `lost` seconds of one rank. 0 or RAMA_EMEMORY */
int rama_diag_cost_add_rank(struct rama_diag_cost *c, const struct rama_diag_facts *f, int64_t rank,
			    double lost);
/* `lost` seconds of a file, added over its ranks. 0 or RAMA_EMEMORY */
int rama_diag_cost_add(struct rama_diag_cost *c, const struct rama_diag_facts *f,
		       const struct rama_job_view_file *file, const struct rama_diag_sums *x,
		       enum rama_diag_rule_place place, double lost);
/* seconds by which the slowest rank gets faster without them; at most the I/O time */
double rama_diag_cost_path(const struct rama_diag_cost *c, const struct rama_diag_facts *f);
/* the same of seconds that come on top of the I/O time: a part `c` of `all` there are */
double rama_diag_cost_beyond(const struct rama_diag_cost *c, const struct rama_diag_cost *all,
			     const struct rama_diag_facts *f);
/* seconds of it in one rank, as far as it has so many */
double rama_diag_cost_at(const struct rama_diag_cost *c, const struct rama_diag_facts *f, size_t r);
void rama_diag_cost_fini(struct rama_diag_cost *c);

#endif
