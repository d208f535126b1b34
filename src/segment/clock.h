/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h: ticks of observed processes become time of day. Pure: pairs of readings are given by
 * the caller, about once a second, better with each round of reading events. Between two pairs
 * it is a straight line, beyond the last one the line goes on; a real clock that is set makes a
 * step at the next pair, never a slope. Off by less than 10 µs after any time. */
#ifndef RAMA_SEGMENT_CLOCK_H
#define RAMA_SEGMENT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout.h"

/* the three clocks read as nearly at once as can be; `blur`: ns between the outer readings */
struct rama_seg_clock_pair {
	uint64_t tick, mono, real; /* real: ns since 1970 */
	uint64_t blur;
};

#define RAMA_SEG_CLOCK_PAIRS 64

/* one per source of ticks (TSC, monotonic) of a machine, shared by all segments of that source */
struct rama_seg_clock {
	/* corners of the line, oldest first; the last one is the newest reading */
	struct rama_seg_clock_pair pair[RAMA_SEG_CLOCK_PAIRS];
	unsigned n;
	double low,
		/* slopes from the last but one that meet all readings since, real ns per tick; low
		 * > high: none yet */
		high;
	unsigned steps;	   /* times the real clock was set */
	int64_t last_step; /* ns, of the last one */
};

/* Takes in a reading; one that came while the machine was busy elsewhere (a large blur) is left
 * out. Any number per second: only corners of the line are kept. */
void rama_seg_clock_add(struct rama_seg_clock *c, const struct rama_seg_clock_pair *p);
/* ns since 1970 of a tick (absolute, not since tick0); `own`: the clock of its segment, used for
 * ticks before the first pair */
int64_t rama_seg_clock_real(const struct rama_seg_clock *c, const struct rama_seg_ticks *own,
			    uint64_t tick);
/* ns of a number of ticks */
int64_t rama_seg_clock_ns(const struct rama_seg_clock *c, const struct rama_seg_ticks *own,
			  uint64_t ticks);
/* reads the clocks of this machine; the only place that does */
void rama_seg_clock_read(enum rama_seg_clock_source source, struct rama_seg_clock_pair *p);

#endif
