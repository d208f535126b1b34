/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/change.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* sides of at most so many figures are judged by counting all ways to choose them, as the normal
 * distribution tells too little of them */
#define FEW 10

struct work {
	double sorted[RAMA_QUERY_RUNS];
	unsigned rank2[RAMA_QUERY_RUNS]; /* twice the rank: those of equal figures are means */
	double ways[FEW + 1][2 * FEW * RAMA_QUERY_RUNS + 1]; /* of so many figures with this sum */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(struct work *w, const double *v, size_t n)
{
	memcpy(w->sorted, v, n * sizeof(*v));
	qsort(w->sorted, n, sizeof(*v), by_value);
	return (w->sorted[(n - 1) / 2] + w->sorted[n / 2]) / 2;
}

/* ranks of n figures; returns the sum of t^3 - t over groups of t equal ones */
static double ranks_of(struct work *w, const double *v, size_t n)
{
	double ties = 0;

	memcpy(w->sorted, v, n * sizeof(*v));
	qsort(w->sorted, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n; i++) {
		size_t from = 0, to;

		for (size_t step = n; step > 0; step /= 2) /* the first that is not less */
			while (from + step <= n && w->sorted[from + step - 1] < v[i])
				from += step;
		for (to = from; to < n && w->sorted[to] == v[i]; to++)
			;
		w->rank2[i] = (unsigned)(from + 1 + to);
		ties += (double)(to - from) * (double)(to - from) - 1; /* each of t tells it once */
	}
	return ties;
}

/* by how many standard deviations the ranks before `at` differ from what chance gives */
static double score(size_t n, size_t at, double sum2, double ties)
{
	double a = (double)at, b = (double)(n - at), all = (double)n;
	double mean = a * (all + 1) / 2, off = fabs(sum2 / 2 - mean) - 0.5;
	double variance = a * b / 12 * (all + 1 - ties / (all * (all - 1)));

	return variance > 0 && off > 0 ? off / sqrt(variance) : 0;
}

static void count_ways(struct work *w, size_t n, size_t k)
{
	size_t most = 2 * k * n;

	for (size_t j = 0; j <= k; j++)
		memset(w->ways[j], 0, (most + 1) * sizeof(w->ways[j][0]));
	w->ways[0][0] = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t j = k; j > 0; j--)
			for (size_t s = most; s >= w->rank2[i]; s--)
				w->ways[j][s] += w->ways[j - 1][s - w->rank2[i]];
}

/* how probable ranks are that differ as much as those before `at` do */
static double chance(struct work *w, size_t n, size_t at, double z)
{
	bool first = at <= n - at;
	size_t k = first ? at : n - at;
	double mean2 = (double)k * (double)(n + 1), sum2 = 0, all = 0, far = 0;

	if (k > FEW)
		return erfc(z / sqrt(2));
	for (size_t i = 0; i < n; i++)
		if ((i < at) == first)
			sum2 += w->rank2[i];
	count_ways(w, n, k);
	for (size_t s = 0; s <= 2 * k * n; s++) {
		all += w->ways[k][s];
		if (fabs((double)s - mean2) >= fabs(sum2 - mean2))
			far += w->ways[k][s];
	}
	return far / all;
}

/* the place of v that stands out most, if it is a change; 0: there is none */
static size_t find(struct work *w, const double *v, size_t n, double alpha, double *p)
{
	double ties, sum2 = 0, most = 0;
	size_t at = 0;

	if (n < 2 * RAMA_QUERY_CHANGE_LEAST)
		return 0;
	ties = ranks_of(w, v, n);
	for (size_t i = 1; i < n; i++) {
		double z;

		sum2 += w->rank2[i - 1];
		z = score(n, i, sum2, ties);
		if (i >= RAMA_QUERY_CHANGE_LEAST && n - i >= RAMA_QUERY_CHANGE_LEAST && z > most) {
			most = z;
			at = i;
		}
	}
	if (at == 0)
		return 0;
	*p = chance(w, n, at, most) * (double)(n - 2 * RAMA_QUERY_CHANGE_LEAST + 1);
	return *p <= alpha ? at : 0;
}

static double spread(struct work *w, const double *v, size_t n)
{
	double middle = median(w, v, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += fabs(v[i] - middle);
	return sum;
}

/* There is a change: where do both sides keep to their medians best? Ranks tell that there is one
 * better than where, if one side is short. */
static size_t place(struct work *w, const double *v, size_t n)
{
	double least = INFINITY;
	size_t at = RAMA_QUERY_CHANGE_LEAST;

	for (size_t i = at; i + RAMA_QUERY_CHANGE_LEAST <= n; i++) {
		double both = spread(w, v, i) + spread(w, v + i, n - i);

		if (both < least) {
			least = both;
			at = i;
		}
	}
	return at;
}

/* marks changes of v[from, to) in `p`, which is NAN elsewhere */
static void split(struct work *w, const double *v, size_t from, size_t to, double alpha, double *p)
{
	double chance_of = 1;
	size_t at = find(w, v + from, to - from, alpha, &chance_of);

	if (at == 0)
		return;
	at = place(w, v + from, to - from);
	p[from + at] = chance_of;
	split(w, v, from, from + at, alpha, p);
	split(w, v, from + at, to, alpha, p);
}

static size_t next_mark(const double *p, size_t n, size_t at)
{
	for (at++; at < n && isnan(p[at]); at++)
		;
	return at;
}

/* a difference that is not worth a word joins its two sides */
static void drop_small(struct work *w, const double *v, size_t n, double least, double *p)
{
	size_t before = 0, at = next_mark(p, n, 0);

	while (at < n) {
		size_t end = next_mark(p, n, at);
		double was = median(w, v + before, at - before), is = median(w, v + at, end - at);

		if (fabs(is - was) < least * fabs(was))
			p[at] = NAN;
		else
			before = at;
		at = end;
	}
}

int rama_query_changes(const double *v, size_t n, double alpha, double least,
		       struct rama_query_change *to, size_t room)
{
	struct work *w = malloc(sizeof(*w));
	double p[RAMA_QUERY_RUNS];
	size_t found = 0, before = 0, at;

	if (w == NULL)
		return RAMA_EMEMORY;
	n = n < RAMA_QUERY_RUNS ? n : RAMA_QUERY_RUNS;
	for (size_t i = 0; i < n; i++)
		p[i] = NAN;
	split(w, v, 0, n, alpha, p);
	drop_small(w, v, n, least, p);
	for (at = next_mark(p, n, 0); at < n && found < room; at = next_mark(p, n, at)) {
		size_t end = next_mark(p, n, at);

		to[found++] =
			(struct rama_query_change){ .at = at,
						    .p = p[at],
						    .before = median(w, v + before, at - before),
						    .after = median(w, v + at, end - at) };
		before = at;
	}
	free(w);
	return (int)found;
}
