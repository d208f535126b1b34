/* SPDX-License-Identifier: BSD-3-Clause */
/* heat.c: bytes over time. Bins are 100 ticks wide to begin with, so the map reaches to tick
 * 20000. */
#include "unit.h"

#include <math.h>

#include "core/heat.h"

#define WIDTH 100
enum { WRITTEN, READ };

static int64_t sum(const struct rama_core_heat *h, unsigned what)
{
	int64_t n = 0;

	for (unsigned i = 0; i < RAMA_CORE_HEAT_BINS; i++)
		n += h->bytes[what][i];
	return n;
}

static void an_access_within_a_bin_stays_there(void **state)
{
	struct rama_core_heat h;

	(void)state;
	rama_core_heat_init(&h, WIDTH);
	rama_core_heat_add(&h, READ, 4096, 310, 340);
	rama_core_heat_add(&h, READ, 1, 350, 360); /* the bin is remembered */
	rama_core_heat_add(&h, WRITTEN, 7, 399, 399);
	rama_core_heat_add(&h, WRITTEN, 2, 400, 400); /* and left */
	rama_core_heat_add(&h, WRITTEN, 3, 0, 0);
	assert_int_equal(h.bytes[READ][3], 4097);
	assert_int_equal(h.bytes[WRITTEN][3], 7);
	assert_int_equal(h.bytes[WRITTEN][4], 2);
	assert_int_equal(h.bytes[WRITTEN][0], 3);
	assert_int_equal(sum(&h, READ), 4097);
	assert_int_equal(sum(&h, WRITTEN), 12);
}

static void an_access_over_several_bins_is_shared_out_by_time(void **state)
{
	struct rama_core_heat h;

	(void)state;
	rama_core_heat_init(&h, WIDTH);
	rama_core_heat_add(&h, READ, 1000, 150, 350); /* 50, 100 and 50 of 200 ticks */
	assert_int_equal(h.bytes[READ][1], 250);
	assert_int_equal(h.bytes[READ][2], 500);
	assert_int_equal(h.bytes[READ][3], 250);
	assert_int_equal(sum(&h, READ), 1000);
	rama_core_heat_add(&h, READ, 1, 380, 390); /* the last of its bins is the remembered one */
	assert_int_equal(h.bytes[READ][3], 251);
}

static void shares_are_rounded_bin_by_bin(void **state)
{
	struct rama_core_heat h;

	(void)state;
	rama_core_heat_init(&h, WIDTH);
	rama_core_heat_add(&h, WRITTEN, 1, 0, 300); /* a third each: gone */
	assert_int_equal(sum(&h, WRITTEN), 0);
	rama_core_heat_add(&h, WRITTEN, 3, 50, 150); /* one and a half each: one byte more */
	assert_int_equal(h.bytes[WRITTEN][0], 2);
	assert_int_equal(h.bytes[WRITTEN][1], 2);
}

static void large_numbers_are_shared_out_exactly(void **state)
{
	struct rama_core_heat h;

	(void)state;
	rama_core_heat_init(&h, (uint64_t)1 << 40);
	rama_core_heat_add(&h, READ, INT64_MAX - 1, 0, (uint64_t)2 << 40);
	assert_int_equal(h.bytes[READ][0], INT64_MAX / 2);
	assert_int_equal(h.bytes[READ][1], INT64_MAX / 2);
}

static void nothing_moved_changes_nothing(void **state)
{
	struct rama_core_heat h, before;

	(void)state;
	rama_core_heat_init(&h, WIDTH);
	before = h;
	rama_core_heat_add(&h, READ, 0, 50000, 60000);
	rama_core_heat_add(&h, READ, -1, 50000, 60000);
	assert_memory_equal(&h, &before, sizeof(h));
}

static void bins_double_when_time_runs_beyond_them(void **state)
{
	struct rama_core_heat h;

	(void)state;
	rama_core_heat_init(&h, WIDTH);
	rama_core_heat_add(&h, READ, 1, 0, 0);
	rama_core_heat_add(&h, READ, 2, 150, 150);
	rama_core_heat_add(&h, READ, 4, 250, 250);
	rama_core_heat_add(&h, READ, 8, 19999, 19999);
	rama_core_heat_add(&h, READ, 16, 19990, 20000); /* ends with the map: no need to double */
	assert_int_equal(h.width, 100);
	assert_int_equal(h.bytes[READ][199], 24);
	rama_core_heat_add(&h, READ, 32, 20001, 20001);
	assert_int_equal(h.width, 200);
	assert_int_equal(h.bytes[READ][0], 3);
	assert_int_equal(h.bytes[READ][1], 4);
	assert_int_equal(h.bytes[READ][99], 24);
	assert_int_equal(h.bytes[READ][100], 32);
	/* several times at once: 1.28 million */
	rama_core_heat_add(&h, WRITTEN, 64, 1000000, 1000000);
	assert_int_equal(h.width, 6400);
	assert_int_equal(h.bytes[READ][0], 7);
	assert_int_equal(h.bytes[READ][3], 56);
	assert_int_equal(h.bytes[WRITTEN][156], 64);
	assert_int_equal(sum(&h, READ), 63);
}

static void the_end_of_time_has_a_bin(void **state)
{
	struct rama_core_heat h;

	(void)state;
	rama_core_heat_init(&h, 1);
	rama_core_heat_add(&h, READ, 5, UINT64_MAX, UINT64_MAX);
	rama_core_heat_add(&h, READ, 6, UINT64_MAX - 1, UINT64_MAX);
	rama_core_heat_add(&h, WRITTEN, 1000, 0, UINT64_MAX);
	assert_int_equal(sum(&h, READ), 11);
	assert_in_range(sum(&h, WRITTEN), 900, 1100);
	rama_core_heat_init(&h, 0);
	rama_core_heat_add(&h, READ, 5, 10, 20); /* a map that was not begun */
	assert_int_equal(sum(&h, READ), 0);
}

/* ---- the rule as the log format tells it, in seconds ----------------------------------------- */

struct model {
	double width;
	int64_t bytes[RAMA_CORE_HEAT_BINS];
};

static void model_add(struct model *m, double size, double start, double end)
{
	while (end > m->width * RAMA_CORE_HEAT_BINS) {
		for (int i = 0; i < RAMA_CORE_HEAT_BINS; i++)
			m->bytes[i] = i < RAMA_CORE_HEAT_BINS / 2
					      ? m->bytes[2 * i] + m->bytes[2 * i + 1]
					      : 0;
		m->width *= 2;
	}
	for (int i = (int)(start / m->width); i < (int)(end / m->width + 1); i++) {
		double from = i * m->width, until = from + m->width, seconds = m->width;

		if (start > from)
			seconds -= start - from;
		if (end < until)
			seconds -= until - end;
		if (seconds < 0 || i >= RAMA_CORE_HEAT_BINS)
			break;
		m->bytes[i] +=
			(int64_t)(end > start ? round(size * seconds / (end - start)) : size);
	}
}

static void random_accesses_fall_as_the_rule_says(void **state)
{
	struct rng r = { 2024 };

	(void)state;
	for (int round = 0; round < 40; round++) {
		struct model m[2] = { { .width = WIDTH }, { .width = WIDTH } };
		struct rama_core_heat h;
		uint64_t t = 1;

		rama_core_heat_init(&h, WIDTH);
		for (int i = 0; i < 400; i++) {
			uint64_t took = rng_below(&r, 1u << rng_below(&r, 12));
			uint64_t size = rng_below(&r, 1u << rng_below(&r, 24));
			unsigned what = (unsigned)rng_below(&r, 2);

			t += rng_below(&r, 200);
			rama_core_heat_add(&h, what, (int64_t)size, t, t + took);
			if (size) {
				double end = (double)(t + took);

				model_add(&m[what], (double)size, (double)t, end);
				while (m[!what].width < m[what].width) /* both share the width */
					model_add(&m[!what], 0, (double)t, end);
			}
		}
		assert_true((double)h.width == m[0].width && h.width > WIDTH);
		assert_memory_equal(h.bytes[0], m[0].bytes, sizeof(m[0].bytes));
		assert_memory_equal(h.bytes[1], m[1].bytes, sizeof(m[1].bytes));
	}
}

/* ---- merging --------------------------------------------------------------------------------- */

/* a map of moments up to `until`; `all` gets them as well */
static struct rama_core_heat moments(struct rng *r, uint64_t until, struct rama_core_heat *all)
{
	struct rama_core_heat h;

	rama_core_heat_init(&h, WIDTH);
	for (int i = 0; i < 300; i++) {
		uint64_t t = 1 + rng_below(r, until);
		int64_t n = (int64_t)rng_below(r, 100000);
		unsigned what = (unsigned)rng_below(r, 2);

		rama_core_heat_add(&h, what, n, t, t);
		rama_core_heat_add(all, what, n, t, t);
	}
	return h;
}

static void assert_same(const struct rama_core_heat *a, const struct rama_core_heat *b)
{
	assert_int_equal(a->width, b->width);
	assert_memory_equal(a->bytes, b->bytes, sizeof(a->bytes));
}

static void maps_merge_in_any_order_into_one_of_everything(void **state)
{
	static const unsigned order[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 2, 0 } };
	struct rng r = { 5 };

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct rama_core_heat all, h[3], pair, sum3;

		rama_core_heat_init(&all, WIDTH);
		for (int i = 0; i < 3; i++)
			h[i] = moments(&r, 1u << (12 + rng_below(&r, 10)), &all);
		for (size_t k = 0; k < LENGTH(order); k++) {
			rama_core_heat_init(&sum3, k == 0 ? 0 : WIDTH); /* begun or not */
			for (int i = 0; i < 3; i++)
				rama_core_heat_merge(&sum3, &h[order[k][i]]);
			assert_same(&sum3, &all);
		}
		pair = h[1]; /* 0 + (1 + 2) */
		rama_core_heat_merge(&pair, &h[2]);
		sum3 = h[0];
		rama_core_heat_merge(&sum3, &pair);
		assert_same(&sum3, &all);
	}
}

static void what_is_added_to_wider_bins_finds_its_own(void **state)
{
	struct rama_core_heat a, b;

	(void)state;
	rama_core_heat_init(&a, WIDTH);
	rama_core_heat_init(&b, WIDTH);
	rama_core_heat_add(&a, READ, 1, 150, 160);
	rama_core_heat_add(&b, READ, 2, 30000, 30000);
	rama_core_heat_merge(&a, &b);
	rama_core_heat_add(&a, READ, 4, 150, 160);
	assert_int_equal(a.bytes[READ][0], 5);
	assert_int_equal(a.bytes[READ][150], 2);
	rama_core_heat_halve(&a);
	rama_core_heat_add(&a, READ, 8, 310, 320);
	assert_int_equal(a.bytes[READ][0], 13);
	rama_core_heat_add(&a, READ, 16, 410, 420);
	assert_int_equal(a.bytes[READ][1], 16);
}

static void maps_of_foreign_widths_are_ignored(void **state)
{
	static const uint64_t widths[] = {
		0, 3, 7, 99, 101, 150, 300, 500, 700, 3 * WIDTH << 20, UINT64_MAX, UINT64_MAX / 2,
	};
	struct rama_core_heat a, before, h;

	(void)state;
	rama_core_heat_init(&a, WIDTH);
	rama_core_heat_add(&a, READ, 1, 150, 160);
	before = a;
	memset(&h, 0x77, sizeof(h));
	for (size_t i = 0; i < LENGTH(widths); i++) {
		h.width = widths[i];
		rama_core_heat_merge(&a, &h);
		assert_same(&a, &before);
	}
}

static void any_content_can_be_merged(void **state)
{
	struct rng r = { 99 };

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct rama_core_heat a, h;

		rama_core_heat_init(&a, WIDTH);
		for (size_t i = 0; i < sizeof(h); i++)
			((unsigned char *)&h)[i] = (unsigned char)rng_u64(&r);
		if (round % 2)
			h.width = (uint64_t)WIDTH << rng_below(&r, 58);
		rama_core_heat_merge(&a, &h);
		rama_core_heat_merge(&h, &a);
		assert_true(a.width >= WIDTH);
	}
}

UNIT_GROUP(heat, test(an_access_within_a_bin_stays_there),
	   test(an_access_over_several_bins_is_shared_out_by_time),
	   test(shares_are_rounded_bin_by_bin), test(large_numbers_are_shared_out_exactly),
	   test(nothing_moved_changes_nothing), test(bins_double_when_time_runs_beyond_them),
	   test(the_end_of_time_has_a_bin), test(random_accesses_fall_as_the_rule_says),
	   test(maps_merge_in_any_order_into_one_of_everything),
	   test(what_is_added_to_wider_bins_finds_its_own),
	   test(maps_of_foreign_widths_are_ignored), test(any_content_can_be_merged))
