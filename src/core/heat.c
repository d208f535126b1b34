/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/heat.h"

#include <stdbool.h>
#include <string.h>

#include "core/record.h"

void rama_core_heat_init(struct rama_core_heat *h, uint64_t width)
{
	memset(h, 0, sizeof(*h));
	h->width = width;
}

void rama_core_heat_halve(struct rama_core_heat *h)
{
	enum { HALF = RAMA_CORE_HEAT_BINS / 2 };

	for (unsigned what = 0; what < 2; what++) {
		int64_t *b = h->bytes[what];

		for (unsigned i = 0; i < HALF; i++)
			b[i] = rama_core_add(b[2 * i], b[2 * i + 1]);
		memset(b + HALF, 0, HALF * sizeof(*b));
	}
	h->width *= 2;
	h->from = h->until = h->bin = 0;
}

/* n * part / whole, rounded, half up; part <= whole. In integers: the application may have
 * changed how floating point rounds, and may look at its flags. */
static int64_t share(int64_t n, uint64_t part, uint64_t whole)
{
	__extension__ typedef unsigned __int128 wide;
	wide x = (wide)(uint64_t)n * part, q = x / whole, r = x % whole;

	return (int64_t)(q + (r >= whole - r));
}

/* the last of the bins also takes the moment at which it ends */
static uint64_t bin_of(const struct rama_core_heat *h, uint64_t t)
{
	uint64_t bin = t / h->width;

	return bin < RAMA_CORE_HEAT_BINS ? bin : RAMA_CORE_HEAT_BINS - 1;
}

void rama_core_heat_spread(struct rama_core_heat *h, unsigned what, int64_t n, uint64_t t0,
			   uint64_t t1)
{
	int64_t *b = h->bytes[what];
	uint64_t first, last;

	if (h->width == 0 || n <= 0)
		return;
	while (t1 > 0 && (t1 - 1) / RAMA_CORE_HEAT_BINS >= h->width) /* t1 > 200 * width */
		rama_core_heat_halve(h);
	last = bin_of(h, t1);
	first = t0 < t1 ? bin_of(h, t0) : last;
	if (first == last)
		b[last] = rama_core_add(b[last], n);
	for (uint64_t i = first; i <= last && first < last; i++) {
		uint64_t from = i == first ? t0 : i * h->width;
		uint64_t until = i == last ? t1 : (i + 1) * h->width;

		b[i] = rama_core_add(b[i], share(n, until - from, t1 - t0));
	}
	h->bin = (uint32_t)last;
	h->from = last * h->width;
	h->until = h->from + h->width > h->from ? h->from + h->width : UINT64_MAX;
}

/* can a map of width `narrow` become one of width `wide` by doubling? */
static bool doubles_to(uint64_t narrow, uint64_t wide)
{
	uint64_t ratio = wide / narrow;

	return wide % narrow == 0 && (ratio & (ratio - 1)) == 0;
}

void rama_core_heat_merge(struct rama_core_heat *sum, const struct rama_core_heat *h)
{
	struct rama_core_heat x = *h;

	if (x.width == 0)
		return;
	if (sum->width == 0)
		rama_core_heat_init(sum, x.width);
	if (!(sum->width < x.width ? doubles_to(sum->width, x.width)
				   : doubles_to(x.width, sum->width)))
		return;
	while (sum->width < x.width)
		rama_core_heat_halve(sum);
	while (x.width < sum->width)
		rama_core_heat_halve(&x);
	for (unsigned what = 0; what < 2; what++)
		for (unsigned i = 0; i < RAMA_CORE_HEAT_BINS; i++)
			sum->bytes[what][i] = rama_core_add(sum->bytes[what][i], x.bytes[what][i]);
}
