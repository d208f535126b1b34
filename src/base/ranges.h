/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges.h: a set of numbers (ranks of a job) as ranges, ascending, neighbours joined. Zeroed it
 * is empty; `r` is the caller's to free. */
#ifndef RAMA_BASE_RANGES_H
#define RAMA_BASE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rama_ranges {
	int64_t (*r)[2]; /* first, last */
	size_t n, room;
};

int rama_ranges_add(struct rama_ranges *s, int64_t first, int64_t last);
bool rama_ranges_has(const struct rama_ranges *s, int64_t number);
int64_t rama_ranges_count(const struct rama_ranges *s);
/* "3,7-9" into `to`; what does not fit is left out and "..." says so */
void rama_ranges_text(const struct rama_ranges *s, char *to, size_t room);

#endif
