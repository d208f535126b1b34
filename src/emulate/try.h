/* SPDX-License-Identifier: BSD-3-Clause */
/* try.h: internal to try*.c: two ways of doing the same, compared. */
#ifndef RAMA_EMULATE_TRY_H
#define RAMA_EMULATE_TRY_H

#include <stdint.h>

#include "base/err.h"

#define RAMA_EMU_TRY_LEAST 5 /* rounds */
#define RAMA_EMU_TRY_MOST 1000

enum rama_emu_verdict { RAMA_EMU_CANNOT_TELL, RAMA_EMU_BETTER, RAMA_EMU_WORSE };

struct rama_emu_comparison {
	double median[2];
	double ratio;	   /* of the medians: above 1, the second takes longer */
	double low, high;  /* of the ratio, with this confidence: */
	double confidence; /* at least 0.95 */
	enum rama_emu_verdict verdict;
};

/* all that a trial shows */
struct rama_emu_tried {
	struct rama_emu_comparison c;
	int64_t ranks, rounds;
};
extern const char *const rama_emu_verdict_name[];

/* Two samples of n times each (which are sorted here), all above 0. Nothing is assumed of how
 * they are spread: the interval is that of Mann and Whitney's test, for the logarithm of the
 * ratio. A difference of less than 2 % is not one. */
int rama_emu_compare(struct rama_emu_comparison *c, double *a, double *b, unsigned n,
		     struct rama_err *e);

#endif
