/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/unusual.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_TIMES 10
#define GAP 2
#define SLOW 0.5

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* the median of bytes by time, of steps that have both; 0: of none */
static double usual_rate(const double *bytes, const double *time, size_t n)
{
	double *rate = malloc((n > 0 ? n : 1) * sizeof(*rate)), middle = 0;
	size_t known = 0;

	for (size_t i = 0; rate != NULL && i < n; i++)
		if (bytes[i] > 0 && time[i] > 0)
			rate[known++] = bytes[i] / time[i];
	if (known > 0) {
		qsort(rate, known, sizeof(*rate), by_value);
		middle = (rate[(known - 1) / 2] + rate[known / 2]) / 2;
	}
	free(rate);
	return middle;
}

/* a step with next to no I/O is neither slow nor fast */
static bool is_slow(double bytes, double time, double usual, double busiest)
{
	return time > 0.01 * busiest && bytes < SLOW * usual * time;
}

bool rama_query_slow_find(const double *bytes, const double *time, size_t n,
			  struct rama_query_slow *slow)
{
	double usual = usual_rate(bytes, time, n), most = 0, busiest = 0;

	*slow = (struct rama_query_slow){ .usual = usual };
	for (size_t i = 0; i < n; i++)
		busiest = fmax(busiest, time[i]);
	for (size_t i = 0; usual > 0 && i < n;) {
		double spent = 0, moved = 0;
		size_t end = i, gap = 0, k = i;

		if (!is_slow(bytes[i], time[i], usual, busiest)) {
			i++;
			continue;
		}
		for (; k < n && gap <= GAP; k++) {
			if (!is_slow(bytes[k], time[k], usual, busiest)) {
				gap++;
				continue;
			}
			gap = 0;
			end = k + 1;
			spent += time[k];
			moved += bytes[k];
		}
		if (spent > most) {
			most = spent;
			*slow = (struct rama_query_slow){ i, end, moved / spent, usual };
		}
		i = end;
	}
	return most > 0;
}

/* sums of what is known before each place, so that each mean costs two of them */
struct sums {
	double *sum;
	size_t *known;
};

static double mean(const struct sums *s, size_t from, size_t to)
{
	size_t known = s->known[to] - s->known[from];

	/* of a time of which less than half is known nothing is said */
	return 2 * known >= to - from && known > 0 ? (s->sum[to] - s->sum[from]) / (double)known
						   : NAN;
}

static bool compare(const struct sums *s, size_t n, size_t from, size_t to,
		    struct rama_query_unusual *u)
{
	size_t length = to - from, known = s->known[n] - (s->known[to] - s->known[from]);

	*u = (struct rama_query_unusual){ .inside = mean(s, from, to) };
	if (isnan(u->inside) || known == 0)
		return false;
	u->rest = (s->sum[n] - (s->sum[to] - s->sum[from])) / (double)known;
	u->more = u->inside > u->rest;
	for (size_t i = 0; i + length <= n; i++) {
		double other = i + length <= from || i >= to ? mean(s, i, i + length) : NAN;

		if (isnan(other))
			continue;
		u->others++;
		u->as_much += u->more ? other >= u->inside : other <= u->inside;
	}
	u->p = fmin(1, 2 * (double)(u->as_much + 1) / (double)(u->others + 1));
	return u->others >= LEAST_TIMES && u->inside != u->rest;
}

bool rama_query_unusual_is(const double *v, size_t n, size_t from, size_t to,
			   struct rama_query_unusual *u)
{
	struct sums s = { calloc(n + 1, sizeof(*s.sum)), calloc(n + 1, sizeof(*s.known)) };
	bool told = false;

	if (s.sum != NULL && s.known != NULL && from < to && to <= n) {
		for (size_t i = 0; i < n; i++) {
			s.sum[i + 1] = s.sum[i] + (isnan(v[i]) ? 0 : v[i]);
			s.known[i + 1] = s.known[i] + !isnan(v[i]);
		}
		told = compare(&s, n, from, to, u);
	}
	free(s.sum);
	free(s.known);
	return told;
}
