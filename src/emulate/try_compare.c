/* SPDX-License-Identifier: BSD-3-Clause */
/* try_compare.c: is one sample of times longer than the other? Pure. */
#include <math.h>
#include <stdlib.h>

#include "emulate/try.h"

#define ALPHA 0.05
#define LEAST_EFFECT 0.02
#define EXACT_MOST 30 /* rounds; with more the normal distribution is as good */

const char *const rama_emu_verdict_name[] = { "cannot tell", "better", "worse" };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const double *x, unsigned n)
{
	return n % 2 == 1 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Of all n*n differences, in order, so many may be left out at each end: the largest k with P(U
 * < k) <= alpha / 2, U being Mann and Whitney's for two samples of n. *tail is that probability. */
static unsigned cut_exact(unsigned n, double *tail)
{
	/* ways[u]: to choose n of 2n places so that U = u: by the recursion over samples of i
	 * and k, one after the other */
	unsigned most = n * n, k = 0;
	double *ways = calloc(most + 1, sizeof(*ways)), all = 1, sum = 0;

	*tail = 0;
	if (ways == NULL)
		return 0;
	/* coefficients of the Gaussian binomial [2n over n]: product of (1 - q^(n+i)) / (1 -
	 * q^i) */
	ways[0] = 1;
	for (unsigned i = 1; i <= n; i++) {
		for (unsigned u = most; u >= n + i; u--)
			ways[u] -= ways[u - n - i];
		for (unsigned u = i; u <= most; u++)
			ways[u] += ways[u - i];
		all *= (double)(n + i) / i;
	}
	while (k < most && (sum + ways[k]) / all <= ALPHA / 2)
		sum += ways[k++];
	*tail = sum / all;
	free(ways);
	return k;
}

static unsigned cut_normal(unsigned n, double *tail)
{
	double mean = 0.5 * n * n, sd = sqrt((double)n * n * (2.0 * n + 1) / 12);
	double k = floor(mean - 1.959964 * sd);

	*tail = ALPHA / 2;
	return k > 0 ? (unsigned)k : 0;
}

int rama_emu_compare(struct rama_emu_comparison *c, double *a, double *b, unsigned n,
		     struct rama_err *e)
{
	size_t all = (size_t)n * n, at = 0;
	double *log_ratio = calloc(all + 1, sizeof(*log_ratio)), tail, middle;
	unsigned cut;

	*c = (struct rama_emu_comparison){ 0 };
	if (log_ratio == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	qsort(a, n, sizeof(*a), by_value);
	qsort(b, n, sizeof(*b), by_value);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++)
			log_ratio[at++] = log(b[k] / a[i]);
	qsort(log_ratio, all, sizeof(*log_ratio), by_value);
	cut = n <= EXACT_MOST ? cut_exact(n, &tail) : cut_normal(n, &tail);
	cut = cut > 0 ? cut : 1;
	c->median[0] = median(a, n);
	c->median[1] = median(b, n);
	c->ratio = c->median[1] / c->median[0];
	c->low = exp(log_ratio[cut - 1]);
	c->high = exp(log_ratio[all - cut]);
	c->confidence = 1 - 2 * tail;
	middle = all % 2 == 1 ? log_ratio[all / 2]
			      : (log_ratio[all / 2 - 1] + log_ratio[all / 2]) / 2;
	if (c->low > 1 && middle > log1p(LEAST_EFFECT))
		c->verdict = RAMA_EMU_WORSE;
	else if (c->high < 1 && middle < -log1p(LEAST_EFFECT))
		c->verdict = RAMA_EMU_BETTER;
	free(log_ratio);
	return 0;
}
