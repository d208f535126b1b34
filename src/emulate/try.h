/* SPDX-License-Identifier: BSD-3-Clause */
/* try.h: internal to try*.c: two ways of doing the same, compared. */
#ifndef RAMA_EMULATE_TRY_H
#define RAMA_EMULATE_TRY_H

#include "base/err.h"

#define RAMA_TRY_LEAST 5 /* rounds */
#define RAMA_TRY_MOST 1000

enum rama_verdict { RAMA_CANNOT_TELL, RAMA_BETTER, RAMA_WORSE };
extern const char *const rama_verdict_name[];

struct rama_comparison {
	double median[2];
	double ratio;	   /* of the medians: above 1, the second takes longer */
	double low, high;  /* of the ratio, with this confidence: */
	double confidence; /* at least 0.95 */
	enum rama_verdict verdict;
};

/* Two samples of n times each (which are sorted here), all above 0. Nothing is assumed of how they are spread: the interval is that of Mann and
 * Whitney's test, for the logarithm of the ratio. A difference of less than 2 % is not one. */
int rama_compare(struct rama_comparison *c, double *a, double *b, unsigned n, struct rama_err *e);

#endif
