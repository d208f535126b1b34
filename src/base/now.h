/* SPDX-License-Identifier: BSD-3-Clause */
/* now.h: the clock for waiting and measuring, which only goes forward. */
#ifndef RAMA_BASE_NOW_H
#define RAMA_BASE_NOW_H

#include <stdint.h>
#include <time.h>

static inline int64_t rama_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t rama_now_ms(void)
{
	return rama_now_ns() / 1000000;
}

static inline double rama_now(void) /* seconds */
{
	return (double)rama_now_ns() * 1e-9;
}

#endif
