/* SPDX-License-Identifier: BSD-3-Clause */
/* unusual.h: when was a job slow, and was a figure unusual then? Pure. */
#ifndef RAMA_QUERY_UNUSUAL_H
#define RAMA_QUERY_UNUSUAL_H

#include <stdbool.h>
#include <stddef.h>

/* Of steps in which so many bytes took so long, the time with most I/O in it that is slow
 * throughout: bytes by time less than half of the usual (the median of steps with I/O), gaps of
 * two steps are bridged. False: there is none. */
struct rama_query_slow {
	size_t from, to; /* steps, from <= i < to */
	double rate, usual;
};
bool rama_query_slow_find(const double *bytes, const double *time, size_t n,
			  struct rama_query_slow *slow);

/* How much a figure differs in [from, to) from the rest. It is compared with all other times of
 * the same length that do not overlap it, so that what changes slowly is not taken for unusual.
 * NAN: not known. */
struct rama_query_unusual {
	double inside, rest; /* means */
	bool more;	     /* inside */
	size_t others;	     /* times it was compared with */
	size_t as_much;	     /* of these: with as much, or as little */
	double p; /* share of times that differ as much in either direction, itself among them */
};
/* False: too little is known, or there are fewer than ten other times. */
bool rama_query_unusual_is(const double *v, size_t n, size_t from, size_t to,
			   struct rama_query_unusual *u);

#endif
