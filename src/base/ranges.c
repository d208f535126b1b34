/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges.c: see ranges.h. */
#include "base/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/grow.h"

/* the first range that does not end before */
static size_t place_of(const struct rama_ranges *s, int64_t rank)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->r[mid][1] < rank)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int rama_ranges_add(struct rama_ranges *s, int64_t first, int64_t last)
{
	size_t at = place_of(s, first - 1), end;

	for (end = at; end < s->n && s->r[end][0] <= last + 1; end++) {
		first = s->r[end][0] < first ? s->r[end][0] : first;
		last = s->r[end][1] > last ? s->r[end][1] : last;
	}
	if (end == at && !RAMA_GROW(s->r, s->room, s->n + 1))
		return RAMA_EMEMORY;
	if (s->n > end)
		memmove(&s->r[at + 1], &s->r[end], (s->n - end) * sizeof(*s->r));
	s->n = s->n + at + 1 - end;
	s->r[at][0] = first;
	s->r[at][1] = last;
	return 0;
}

bool rama_ranges_has(const struct rama_ranges *s, int64_t rank)
{
	size_t at = place_of(s, rank);

	return at < s->n && s->r[at][0] <= rank;
}

int64_t rama_ranges_count(const struct rama_ranges *s)
{
	int64_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->r[i][1] - s->r[i][0] + 1;
	return n;
}

static size_t put_number(char *to, int64_t v)
{
	char digits[24];
	size_t n = sizeof(digits);

	do {
		digits[--n] = (char)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	memcpy(to, digits + n, sizeof(digits) - n);
	return sizeof(digits) - n;
}

void rama_ranges_text(const struct rama_ranges *s, char *to, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (n + 56 > room) { /* two numbers, comma, dash, the dots */
			memcpy(to + n, "...", 3);
			n += 3;
			break;
		}
		if (i > 0)
			to[n++] = ',';
		n += put_number(to + n, s->r[i][0]);
		if (s->r[i][1] > s->r[i][0]) {
			to[n++] = '-';
			n += put_number(to + n, s->r[i][1]);
		}
	}
	to[n] = '\0';
}
