/* SPDX-License-Identifier: BSD-3-Clause */
/* heat.h: bytes moved over time, in 200 bins whose width doubles when time runs beyond them. One
 * map per thread and layer, so that threads never share a cache line; readers add them up. */
#ifndef RAMA_CORE_HEAT_H
#define RAMA_CORE_HEAT_H

#include <stdbool.h>
#include <stdint.h>

#define RAMA_CORE_HEAT_BINS 200

struct rama_core_heat {
	uint64_t width;	      /* ticks of one bin; 0: never used */
	uint64_t from, until; /* of the bin used last */
	uint32_t bin;	      /* that bin */
	uint32_t pad;
	int64_t bytes[2][RAMA_CORE_HEAT_BINS]; /* 0: written, 1: read */
};

void rama_core_heat_init(struct rama_core_heat *h, uint64_t width);
void rama_core_heat_spread(struct rama_core_heat *h, unsigned what, int64_t n, uint64_t t0,
			   uint64_t t1);

/* all of it in the bin used last? */
static inline bool rama_core_heat_is_in(const struct rama_core_heat *h, uint64_t t0, uint64_t t1)
{
	return __builtin_expect(t0 >= h->from, 1) && __builtin_expect(t1 < h->until, 1);
}

/* n bytes moved between t0 and t1 */
static inline void rama_core_heat_add(struct rama_core_heat *h, unsigned what, int64_t n,
				      uint64_t t0, uint64_t t1)
{
	if (rama_core_heat_is_in(h, t0, t1))
		h->bytes[what][h->bin] += n;
	else if (n > 0)
		rama_core_heat_spread(h, what, n, t0, t1);
}

/* pairs of bins become one bin of twice the width */
void rama_core_heat_halve(struct rama_core_heat *h);
/* `sum` takes `h` in; both were begun with the same width. Content of `h` may be anything. */
void rama_core_heat_merge(struct rama_core_heat *sum, const struct rama_core_heat *h);

#endif
