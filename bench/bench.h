/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.h: what the benches share: clocks, chance that is the same in every run, made-up events
 * that look like real ones: durations and gaps are noise with a long tail. */
#ifndef RAMA_BENCH_BENCH_H
#define RAMA_BENCH_BENCH_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/err.h"
#include "wire/block.h"

/* in seconds */
static inline double bench_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* for qsort() of doubles */
static inline int bench_by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline void bench_must(bool well, const struct rama_err *e)
{
	if (well)
		return;
	fprintf(stderr, "bench: %s\n", e->text);
	exit(1);
}

static inline uint64_t bench_rnd(void)
{
	static uint64_t state = 1;
	uint64_t x = state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static inline double bench_unit(void)
{
	return ((double)(bench_rnd() >> 11) + 0.5) * 0x1p-53;
}

/* log-normal around `median`, and one in 2,000 takes a thousand times as long */
static inline int64_t bench_noise(double median, double spread)
{
	double z = sqrt(-2 * log(bench_unit())) * cos(6.283185307179586 * bench_unit());

	return (int64_t)(median * exp(spread * z) * (bench_rnd() % 2000 == 0 ? 1000 : 1));
}

/* what the events of bench_mixed() call, by their `what` */
#define BENCH_CALLS                                                           \
	{ "POSIX", "write", "pwrite64" }, { "POSIX", "read", "pread64" },     \
		{ "POSIX", "open", "openat" }, { "POSIX", "close", "close" }, \
		{ "POSIX", "seek", "lseek" },                                 \
	{                                                                     \
		"POSIX", "stat", "stat"                                       \
	}

/* an event of a file after the moment *now, which moves to its end */
static inline void bench_event(struct rama_wire_event *ev, int64_t *now, uint16_t what,
			       unsigned file, double median, double gap)
{
	*ev = (struct rama_wire_event){
		.dur = bench_noise(median, 0.35), .off = -1, .bytes = -1, .what = what
	};
	*now += bench_noise(gap, 0.25) + ev->dur;
	ev->end = *now;
	ev->record = 0x123456789abcdefu * (file + 1) ^ (uint64_t)file << 57;
}

/* 64 files, read and written here and there, opened, closed and asked for in between; returns
 * a number below 100 by which the kind was chosen */
static inline unsigned bench_mixed(struct rama_wire_event *ev, int64_t *now, int64_t off[64],
				   double gap)
{
	unsigned dice = bench_rnd() % 100, file = bench_rnd() % 64;
	uint16_t what = dice < 40 ? 0 : dice < 80 ? 1 : (uint16_t)(2 + dice % 4);

	bench_event(ev, now, what, file, what < 2 ? 1500 : 6000, gap);
	if (what >= 2)
		return dice;
	ev->off = bench_rnd() % 4 == 0 ? (int64_t)(bench_rnd() % 65536) * 4096 : off[file];
	ev->bytes = bench_rnd() % 8 == 0 ? (int64_t)(bench_rnd() % 4096) : 4096;
	off[file] = ev->off + ev->bytes;
	return dice;
}

#endif
