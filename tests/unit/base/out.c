/* SPDX-License-Identifier: BSD-3-Clause */
/* out.c: numbers as printf writes them, and the buffer behind all output. */
#include "unit.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "base/err.h"
#include "base/out.h"

static void same_as_printf(double v, unsigned decimals)
{
	char ours[RAMA_F64_MAX + 1], want[RAMA_F64_MAX + 1];

	*rama_put_f64(ours, v, decimals) = '\0';
	snprintf(want, sizeof(want), "%.*f", (int)decimals, v);
	if (strcmp(ours, want) != 0)
		fail_msg("%a with %u decimals is '%s', printf says '%s'", v, decimals, ours, want);
}

static void doubles_at_the_edges_are_as_printf_writes_them(void **state)
{
	static const double edge[] = { 0.0,
				       0.5,
				       1.0,
				       0.1,
				       0.9999995,
				       0.99999949999,
				       0.00000049999999,
				       0.0000005,
				       0.0000015,
				       0.0000025,
				       999999.9999995,
				       9.99995,
				       4503599627370495.5,
				       4503599627370496.5,
				       9007199254740991.0,
				       9007199254740992.0,
				       9007199254740994.0,
				       18446744073709551616.0,
				       1e22,
				       1e23,
				       DBL_MAX,
				       DBL_MIN,
				       DBL_EPSILON,
				       0x1p-1074,
				       0x1p-127,
				       0x1p-126,
				       0x1p-74,
				       0x1p-20,
				       0x3p-21,
				       INFINITY,
				       NAN };

	(void)state;
	for (size_t i = 0; i < LENGTH(edge); i++) {
		for (unsigned decimals = 1; decimals <= 9; decimals++) {
			same_as_printf(edge[i], decimals);
			same_as_printf(-edge[i], decimals);
			same_as_printf(nextafter(edge[i], INFINITY), decimals);
			same_as_printf(nextafter(edge[i], -INFINITY), decimals);
		}
	}
}

/* exactly between two numbers of few decimals: k / 2^7 has 7 decimals, the last of them a 5 */
static void halves_round_to_even_as_in_printf(void **state)
{
	(void)state;
	for (unsigned decimals = 1; decimals <= 9; decimals++) {
		double step = ldexp(1, -(int)decimals - 1);

		for (unsigned k = 0; k < 4096; k++) {
			same_as_printf(k * step, decimals);
			same_as_printf(-(double)k * step, decimals);
			same_as_printf(12345678.0 + k * step, decimals);
		}
	}
}

static double any_double(struct rng *r)
{
	uint64_t bits = rng_u64(r);
	double v;

	switch (rng_below(r, 5)) {
	case 0: /* any bits at all */
		memcpy(&v, &bits, sizeof(v));
		return v;
	case 1: /* seconds of a job */
		return rng_unit(r) * 1e5;
	case 2: /* near a half of the last decimal */
		v = ((double)rng_below(r, 1000000000) + 0.5) * 1e-6;
		return nextafter(v, rng_below(r, 2) ? INFINITY : -INFINITY);
	case 3: /* small, down to the denormals */
		return ldexp(rng_unit(r), -(int)rng_below(r, 1074));
	default: /* large */
		return ldexp(rng_unit(r) - 0.5, (int)rng_below(r, 1024));
	}
}

static void random_doubles_are_as_printf_writes_them(void **state)
{
	struct rng r = { 1 };

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		double v = any_double(&r);

		same_as_printf(v, 6);
		same_as_printf(v, 4);
	}
}

static void integers_are_as_printf_writes_them(void **state)
{
	struct rng r = { 2 };
	char ours[32], want[32];
	uint64_t ten = 1;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t v = rng_u64(&r) >> rng_below(&r, 64);

		if (i < 60) /* around the powers of ten, and the ends */
			v = ten + i % 3 - 1, ten *= i % 3 == 2 && i < 57 ? 10 : 1;
		else if (i < 64)
			v = (uint64_t)INT64_MAX + i - 62;
		else if (i == 64)
			v = UINT64_MAX;
		*rama_put_u64(ours, v) = '\0';
		snprintf(want, sizeof(want), "%" PRIu64, v);
		assert_string_equal(ours, want);
		*rama_put_i64(ours, (int64_t)v) = '\0';
		snprintf(want, sizeof(want), "%" PRId64, (int64_t)v);
		assert_string_equal(ours, want);
	}
}

static void text_is_padded_on_the_left(void **state)
{
	char to[16];

	(void)state;
	*rama_put_pad(to, "12", 2, 5) = '\0';
	assert_string_equal(to, "   12");
	*rama_put_pad(to, "123456", 6, 5) = '\0';
	assert_string_equal(to, "123456");
}

/* takes `left` bytes, then fails */
struct bin {
	char *bytes;
	size_t n, left;
	unsigned calls;
};

static int take(void *ctx, const char *bytes, size_t n)
{
	struct bin *b = ctx;

	b->calls++;
	if (n > b->left)
		return RAMA_EIO;
	b->left -= n;
	b->bytes = realloc(b->bytes, b->n + n);
	memcpy(b->bytes + b->n, bytes, n);
	b->n += n;
	return 0;
}

static void write_everything(struct rama_out *o)
{
	rama_out_text(o, "text ");
	rama_out_char(o, 'c');
	rama_out_i64(o, INT64_MIN);
	rama_out_u64(o, UINT64_MAX);
	rama_out_f64(o, -DBL_MAX, 6);
	rama_out_fmt(o, " %s=%d", "x", 7);
	rama_out_bytes(o, "\0\1", 2);
}

static void a_buffer_without_flush_grows(void **state)
{
	struct rama_out o, one;

	(void)state;
	rama_out_init(&one, NULL, NULL);
	write_everything(&one);
	rama_out_init(&o, NULL, NULL);
	for (unsigned i = 0; i < 5000; i++)
		write_everything(&o);
	assert_int_equal(o.used, 5000 * one.used);
	for (unsigned i = 0; i < 5000; i++)
		assert_memory_equal(o.buf + i * one.used, one.buf, one.used);
	assert_int_equal(rama_out_flush(&o), 0);
	assert_int_equal(o.used, 5000 * one.used);
	rama_out_fini(&o);
	rama_out_fini(&one);
}

static void a_full_buffer_is_handed_on(void **state)
{
	struct bin b = { .left = SIZE_MAX };
	struct rama_out o, all;
	char *large = malloc(3 << 20);

	(void)state;
	memset(large, 'x', 3 << 20);
	rama_out_init(&o, take, &b);
	rama_out_init(&all, NULL, NULL);
	for (unsigned i = 0; i < 5000; i++) {
		write_everything(&o);
		write_everything(&all);
	}
	rama_out_bytes(&o, large, 3 << 20);
	rama_out_bytes(&all, large, 3 << 20);
	assert_true(o.size <= 1 << 20); /* memory stays small */
	assert_int_equal(rama_out_flush(&o), 0);
	assert_int_equal(b.n, all.used);
	assert_memory_equal(b.bytes, all.buf, b.n);
	rama_out_fini(&o);
	rama_out_fini(&all);
	free(b.bytes);
	free(large);
}

static void after_an_error_nothing_more_is_handed_on(void **state)
{
	struct bin b = { .left = 10 };
	struct rama_out o;
	unsigned calls;

	(void)state;
	rama_out_init(&o, take, &b);
	rama_out_text(&o, "fine");
	assert_int_equal(rama_out_flush(&o), 0);
	rama_out_text(&o, "too long for it");
	assert_int_equal(rama_out_flush(&o), RAMA_EIO);
	calls = b.calls;
	b.left = SIZE_MAX;
	assert_null(rama_out_room(&o, 1));
	write_everything(&o);
	assert_int_equal(rama_out_flush(&o), RAMA_EIO); /* the first error stays */
	assert_int_equal(b.calls, calls);
	assert_int_equal(b.n, 4);
	rama_out_fini(&o);
	free(b.bytes);
}

UNIT_GROUP(out, test(doubles_at_the_edges_are_as_printf_writes_them),
	   test(halves_round_to_even_as_in_printf), test(random_doubles_are_as_printf_writes_them),
	   test(integers_are_as_printf_writes_them), test(text_is_padded_on_the_left),
	   test(a_buffer_without_flush_grows), test(a_full_buffer_is_handed_on),
	   test(after_an_error_nothing_more_is_handed_on))
