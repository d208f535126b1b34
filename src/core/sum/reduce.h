/* SPDX-License-Identifier: BSD-3-Clause */
/* reduce.h: the records of several ranks become one, by the rules that hold at the end of a
 * parallel job (the `reduce` column of the rows). */
#ifndef RAMA_CORE_SUM_REDUCE_H
#define RAMA_CORE_SUM_REDUCE_H

#include "core/sum/plan.h"
#include "core/record.h"

/* mean and spread of time and bytes over ranks, mergeable */
struct rama_core_spread {
	double n;
	double time_sum, time_sq; /* sum, and sum of squared distances from the mean */
	double bytes_sum, bytes_sq;
};

/* can records of this module be reduced at all? (traces, heat maps and layouts cannot) */
bool rama_core_reducible(const struct rama_tab_module *mod);

/* Makes a rank's record ready: rank -1, fastest and slowest are the rank itself. */
void rama_core_reduce_prepare(const struct rama_core_plan *p, union rama_core_word *w);
/* spread of one rank's record (before or after prepare), or of a record already reduced over n
 * ranks */
struct rama_core_spread rama_core_spread_of(const struct rama_core_plan *p,
					    const union rama_core_word *w, double n);
struct rama_core_spread rama_core_spread_merge(struct rama_core_spread a,
					       struct rama_core_spread b);
/* y takes x in; both are prepared or reduced. Variances are left to rama_core_reduce_finish(). */
void rama_core_reduce(const struct rama_core_plan *p, union rama_core_word *y,
		      const union rama_core_word *x);
void rama_core_reduce_finish(const struct rama_core_plan *p, union rama_core_word *w,
			     struct rama_core_spread s);
/* The way back for a record that covers one rank after all. */
void rama_core_reduce_undo(const struct rama_core_plan *p, union rama_core_word *w, int64_t rank);

#endif
