/* SPDX-License-Identifier: BSD-3-Clause */
/* change.h: where a row of figures changes its level: runs of a program that became slower. Pure.
 *
 * At each place the ranks of what lies before and after it are compared (Mann and Whitney); the
 * place that stands out most is a change if chance alone gives such a difference at any place with
 * a probability of at most alpha, and then both sides are looked at in the same way. So a row
 * without a change is given one in at most alpha of all cases, whatever its figures' distribution
 * is, as long as they do not depend on one another. */
#ifndef RAMA_QUERY_CHANGE_H
#define RAMA_QUERY_CHANGE_H

#include <stddef.h>

#define RAMA_QUERY_RUNS 500	  /* figures at most */
#define RAMA_QUERY_CHANGE_LEAST 3 /* figures on each side of a change at least */

struct rama_query_change {
	size_t at;	      /* the first figure of the new level */
	double p;	      /* how probable it is by chance alone, at any place of the row */
	double before, after; /* medians of what lies between this change and its neighbours */
};

/* Changes in order, at most `room` of them; least: a new median that differs by a smaller share
 * of the old one is none. Returns how many there are, or a negative number: no memory. */
int rama_query_changes(const double *v, size_t n, double alpha, double least,
		       struct rama_query_change *to, size_t room);

#endif
