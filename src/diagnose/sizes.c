/* SPDX-License-Identifier: BSD-3-Clause */
/* sizes.c: see sizes.h. */
#include <math.h>
#include <stdbool.h>

#include "diagnose/sizes.h"

#define MIB 1048576.0

/* what a request of a class has on average, about: small ones lie low in their class */
static const double mean[RAMA_DIAG_SIZES] = { 50,	   400,		4096,	   40960,
					      409600,	   2.5 * MIB,	6.5 * MIB, 40.0 * MIB,
					      400.0 * MIB, 2048.0 * MIB };
static const double top[RAMA_DIAG_SIZES] = { 100,	   1024,      10240,	  102400,
					     MIB - 1,	   4.0 * MIB, 10.0 * MIB, 100.0 * MIB,
					     1024.0 * MIB, INFINITY };

static double sum_of(const double *v, unsigned from, unsigned to)
{
	double sum = 0;

	for (unsigned i = from; i < to; i++)
		sum += v[i];
	return sum;
}

/* Bytes of small classes are estimated, the others have the rest. One group alone has all. */
static void share_bytes(struct rama_diag_sizes *s, double bytes)
{
	double guess[RAMA_DIAG_SIZES], small, large;
	bool any_large = sum_of(s->count, RAMA_DIAG_SIZES_SMALL, RAMA_DIAG_SIZES) > 0;

	for (unsigned i = 0; i < RAMA_DIAG_SIZES; i++)
		guess[i] = s->count[i] * mean[i];
	small = sum_of(guess, 0, RAMA_DIAG_SIZES_SMALL);
	large = sum_of(guess, RAMA_DIAG_SIZES_SMALL, RAMA_DIAG_SIZES);
	for (unsigned i = 0; i < RAMA_DIAG_SIZES; i++) {
		double rest = fmax(0, bytes - small);

		if (i >= RAMA_DIAG_SIZES_SMALL)
			s->bytes[i] = large > 0 ? guess[i] / large * rest : 0;
		else if (!any_large || small > bytes)
			s->bytes[i] = small > 0 ? guess[i] / small * bytes : 0;
		else
			s->bytes[i] = guess[i];
	}
}

/* Are large requests slower than the rate that counts as good? The longest call tells, unless
 * it is an exception: then all of them at its rate would have taken longer than they did. */
static double large_rate(const struct rama_diag_sizes *s, const struct rama_diag_sizes_all *all)
{
	double bytes = sum_of(s->bytes, RAMA_DIAG_SIZES_SMALL, RAMA_DIAG_SIZES), slow;

	if (all->slow_bytes < MIB || all->slow_time <= 0)
		return all->rate;
	slow = all->slow_bytes / all->slow_time;
	return slow < all->rate && bytes / slow <= 1.25 * all->time ? slow : all->rate;
}

/* Time of the small ones, of all time, given what both would need. Where all took less, large
 * ones are believed first: tiny requests may end in a cache. Where all took more, those that
 * need most are the slow ones. */
static double small_time(double time, double small, double large)
{
	double share = small + large > 0 ? small / (small + large) : 0, heavy;

	if (time <= small + large)
		return large > 0 ? fmax(0, time - large) : time;
	heavy = share * share / (share * share + (1 - share) * (1 - share));
	return small + (time - small - large) * heavy;
}

void rama_diag_sizes_share(struct rama_diag_sizes *s, const struct rama_diag_sizes_all *all)
{
	double need[RAMA_DIAG_SIZES], small, large, rate, of_small;

	if (sum_of(s->count, 0, RAMA_DIAG_SIZES) <= 0 && all->calls > 0) {
		unsigned i = 0;

		while (i + 1 < RAMA_DIAG_SIZES && all->bytes / all->calls > top[i])
			i++;
		s->count[i] = all->calls;
	}
	share_bytes(s, all->bytes);
	rate = large_rate(s, all);
	for (unsigned i = 0; i < RAMA_DIAG_SIZES; i++)
		need[i] = s->count[i] * all->start +
			  s->bytes[i] / (i < RAMA_DIAG_SIZES_SMALL ? all->rate : rate);
	small = sum_of(need, 0, RAMA_DIAG_SIZES_SMALL);
	large = sum_of(need, RAMA_DIAG_SIZES_SMALL, RAMA_DIAG_SIZES);
	of_small = small_time(all->time, small, large);
	for (unsigned i = 0; i < RAMA_DIAG_SIZES; i++) {
		bool is_small = i < RAMA_DIAG_SIZES_SMALL;
		double group = is_small ? small : large;

		s->time[i] =
			group > 0 ? need[i] / group * (is_small ? of_small : all->time - of_small)
				  : 0;
	}
}

/* `n` requests of a class */
static void take(struct rama_diag_sizes_part *p, const struct rama_diag_sizes *s, unsigned i,
		 double n)
{
	if (n <= 0 || s->count[i] <= 0)
		return;
	p->count += n;
	p->bytes += s->bytes[i] * n / s->count[i];
	p->time += s->time[i] * n / s->count[i];
}

struct rama_diag_sizes_part rama_diag_sizes_first(const struct rama_diag_sizes *s, double n)
{
	struct rama_diag_sizes_part p = { 0, 0, 0 };

	for (unsigned i = 0; i < RAMA_DIAG_SIZES && n > 0; i++) {
		take(&p, s, i, fmin(n, s->count[i]));
		n -= s->count[i];
	}
	return p;
}

void rama_diag_sizes_first_of_both(const struct rama_diag_sizes s[2], double n,
				   struct rama_diag_sizes_part part[2])
{
	part[0] = part[1] = (struct rama_diag_sizes_part){ 0, 0, 0 };
	for (unsigned i = 0; i < RAMA_DIAG_SIZES && n > 0; i++) {
		double both = s[0].count[i] + s[1].count[i];

		for (unsigned k = 0; k < 2; k++)
			take(&part[k], &s[k], i,
			     both > n ? s[k].count[i] * n / both : s[k].count[i]);
		n -= both;
	}
}

struct rama_diag_sizes_part rama_diag_sizes_small(const struct rama_diag_sizes *s)
{
	struct rama_diag_sizes_part p = { 0, 0, 0 };

	for (unsigned i = 0; i < RAMA_DIAG_SIZES_SMALL; i++)
		take(&p, s, i, s->count[i]);
	return p;
}

double rama_diag_sizes_tiny(const struct rama_diag_sizes *s)
{
	return sum_of(s->count, 0, RAMA_DIAG_SIZES_TINY);
}

double rama_diag_sizes_lost(const struct rama_diag_sizes_part *p, double rate)
{
	return fmax(0, p->time - p->bytes / rate);
}
