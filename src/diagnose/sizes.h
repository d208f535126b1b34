/* SPDX-License-Identifier: BSD-3-Clause */
/* sizes.h: requests of one file and direction, class by class. Counters say how many requests
 * there were of each size and how long all took together, not how long those of one size took.
 * Numbers alone mislead: thousands of tiny requests beside a few huge ones are most of the calls
 * and hardly any of the time. So time is shared out by what requests need, not by their number. */
#ifndef RAMA_DIAGNOSE_SIZES_H
#define RAMA_DIAGNOSE_SIZES_H

#define RAMA_DIAG_SIZES 10
#define RAMA_DIAG_SIZES_SMALL 5 /* classes below 1 MiB */
#define RAMA_DIAG_SIZES_TINY 3	/* up to 10 KiB */

struct rama_diag_sizes {
	double count[RAMA_DIAG_SIZES], bytes[RAMA_DIAG_SIZES], time[RAMA_DIAG_SIZES];
};

/* some of the requests */
struct rama_diag_sizes_part {
	double count, bytes, time;
};

/* all requests of a file in one direction */
struct rama_diag_sizes_all {
	double calls, bytes, time;
	double slow_time, slow_bytes; /* the longest of them, 0: not known */
	double start, rate; /* what one needs before its first byte, and bytes per second */
};

/* from `count`, which is there already; requests without a class are of the mean size */
void rama_diag_sizes_share(struct rama_diag_sizes *s, const struct rama_diag_sizes_all *all);
/* the smallest `n` of them: what a count says of requests whose sizes are not known */
struct rama_diag_sizes_part rama_diag_sizes_first(const struct rama_diag_sizes *s, double n);
/* the smallest `n` of reads and writes together: [0] and [1] */
void rama_diag_sizes_first_of_both(const struct rama_diag_sizes s[2], double n,
				   struct rama_diag_sizes_part part[2]);
/* those below 1 MiB */
struct rama_diag_sizes_part rama_diag_sizes_small(const struct rama_diag_sizes *s);
/* how many have at most 10 KiB */
double rama_diag_sizes_tiny(const struct rama_diag_sizes *s);
/* what they took beyond what their bytes need */
double rama_diag_sizes_lost(const struct rama_diag_sizes_part *p, double rate);

#endif
