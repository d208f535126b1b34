/* SPDX-License-Identifier: BSD-3-Clause */
/* facts_sums.c: sums of files become sums of several, and ratios of them. */
#include <math.h>

#include "diagnose/facts.h"

/* sums come first in the structure, then ratios: see facts.h */
enum {
#define SUM(name, ...) PLACE_##name,
#define RATIO(name, ...)
#define JOB(name, ...)
#include "diagnose/facts.def"
#undef SUM
#undef RATIO
#undef JOB
	N_SUMS
};

/* as many at a time as processors add with one instruction: this is done for every file by every
 * rule that it shows */
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

void rama_diag_sums_add(struct rama_diag_sums *to, const struct rama_diag_sums *x)
{
	double *sum = (double *)to;
	const double *more = (const double *)x;
	unsigned i = 0;

	for (; i + 4 <= N_SUMS; i += 4)
		*(four *)&sum[i] += *(const four *)&more[i];
	for (; i < N_SUMS; i++)
		sum[i] += more[i];
}

/* 0 where there is nothing to compare */
static double ratio(double v)
{
	return isfinite(v) ? v : 0;
}

void rama_diag_sums_ratios(struct rama_diag_sums *x)
{
#define SUM(name, unit, expression, doc)
#define RATIO(name, unit, expression, doc) x->name = ratio(expression);
#define JOB(name, unit, doc)
#include "diagnose/facts.def"
#undef SUM
#undef RATIO
#undef JOB
}
