/* SPDX-License-Identifier: BSD-3-Clause */
/* phase.c: when a program was in a phase that it has named. */
#include "ops.h"

#include "core/phase.h"

#define TICK 1e-9 /* seconds: a tick is a nanosecond */
#define WORDS (RAMA_TAB_PHASE__WORDS + 2 * (RAMA_CORE_PHASE_SPANS + 1))

static struct rama_core_phase p;
static union rama_core_word w[WORDS];
static const struct rama_core_kind *const kind = &rama_core_kind_phase;

static int fresh(void **state)
{
	(void)state;
	kind->init(&p, &(struct rama_core_new){ .id = 42 });
	return 0;
}

static void at_time(unsigned what, uint64_t t, int64_t written, int64_t was_read)
{
	struct rama_core_op op = call_at(what, t, t);

	op.bytes = written;
	op.off = was_read;
	kind->apply(&p, &op);
}

static void begin(uint64_t t)
{
	at_time(RAMA_TAB_OP_OPEN, t, 0, 0);
}

static void end(uint64_t t)
{
	at_time(RAMA_TAB_OP_CLOSE, t, 0, 0);
}

static int64_t count(unsigned word)
{
	kind->finish(&p, TICK, w);
	return w[word].i;
}

/* span i is from a to b, in ns since the first */
static void span_is(unsigned i, int64_t a, int64_t length)
{
	kind->finish(&p, TICK, w);
	assert_true(i < w[RAMA_TAB_PHASE_SPANS].u);
	assert_int_equal(w[RAMA_TAB_PHASE__WORDS + 2 * i].i, a);
	assert_int_equal(w[RAMA_TAB_PHASE__WORDS + 2 * i + 1].i, length);
}

static void each_time_is_kept(void **state)
{
	(void)state;
	begin(1000), end(1500);
	begin(3000), end(3100);
	assert_int_equal(count(RAMA_TAB_ID), 42);
	assert_int_equal(count(RAMA_TAB_PHASE_TIMES), 2);
	assert_int_equal(count(RAMA_TAB_PHASE_SPANS), 2);
	span_is(0, 0, 500);
	span_is(1, 2000, 100);
	assert_true(w[RAMA_TAB_PHASE_F_TIME].f > 599e-9 && w[RAMA_TAB_PHASE_F_TIME].f < 601e-9);
	assert_true(w[RAMA_TAB_PHASE_F_LONGEST].f > 499e-9 &&
		    w[RAMA_TAB_PHASE_F_LONGEST].f < 501e-9);
	assert_int_equal(count(RAMA_TAB_PHASE_OPEN), 0);
}

static void threads_in_one_phase_are_in_it_once(void **state)
{
	(void)state;
	begin(100), begin(200), end(300);
	assert_int_equal(count(RAMA_TAB_PHASE_OPEN), 1);
	end(400);
	assert_int_equal(count(RAMA_TAB_PHASE_TIMES), 1);
	span_is(0, 0, 300);
}

static void what_was_killed_in_it_is_open(void **state)
{
	(void)state;
	begin(100), end(200), begin(700);
	assert_int_equal(count(RAMA_TAB_PHASE_OPEN), 1);
	assert_int_equal(count(RAMA_TAB_PHASE_SPANS), 2);
	span_is(1, 600, -1);
}

static void an_end_without_begin_is_nothing(void **state)
{
	(void)state;
	end(100), end(200);
	assert_true(kind->is_idle(&p));
	begin(300), end(400), end(500);
	assert_int_equal(count(RAMA_TAB_PHASE_TIMES), 1);
	span_is(0, 0, 100);
}

static void bytes_are_what_was_moved_meanwhile(void **state)
{
	(void)state;
	at_time(RAMA_TAB_OP_OPEN, 100, 1000, 50);
	at_time(RAMA_TAB_OP_CLOSE, 200, 1700, 51);
	at_time(RAMA_TAB_OP_OPEN, 300, 5000, 60);
	at_time(RAMA_TAB_OP_CLOSE, 400, 5001, 59); /* a sum that was read while it moved */
	assert_int_equal(count(RAMA_TAB_PHASE_BYTES_WRITTEN), 701);
	assert_int_equal(count(RAMA_TAB_PHASE_BYTES_READ), 1);
}

static void neighbours_become_one_when_there_are_many(void **state)
{
	enum { MANY = RAMA_CORE_PHASE_SPANS + 10 };

	(void)state;
	for (uint64_t i = 0; i < MANY; i++) /* gaps become larger: the first ones are joined */
		begin(1000 * (i + 1) + i * i), end(1000 * (i + 1) + i * i + 500);
	assert_int_equal(count(RAMA_TAB_PHASE_TIMES), MANY);
	assert_int_equal(count(RAMA_TAB_PHASE_SPANS), RAMA_CORE_PHASE_SPANS);
	assert_int_equal(count(RAMA_TAB_PHASE_JOINED), 10);
	span_is(0, 0, 1000 * 10 + 10 * 10 + 500); /* eleven of them, and what was between */
	span_is(RAMA_CORE_PHASE_SPANS - 1, 1000 * (MANY - 1) + (MANY - 1) * (MANY - 1), 500);
	assert_true(w[RAMA_TAB_PHASE_F_TIME].f > 499e-9 * MANY &&
		    w[RAMA_TAB_PHASE_F_TIME].f < 501e-9 * MANY);
	for (unsigned i = 1; i < RAMA_CORE_PHASE_SPANS; i++) {
		const union rama_core_word *x = &w[RAMA_TAB_PHASE__WORDS + 2 * i];

		assert_true(x[0].i >= x[-2].i + x[-1].i); /* in order, and apart */
	}
}

static void damage_is_left_out(void **state)
{
	(void)state;
	begin(100), end(200), begin(300), end(400);
	p.span[1].end = 1; /* before its start */
	assert_int_equal(count(RAMA_TAB_PHASE_SPANS), 1);
	p.spans = UINT32_MAX;
	assert_true(count(RAMA_TAB_PHASE_SPANS) <= RAMA_CORE_PHASE_SPANS);
}

#define t(name) cmocka_unit_test_setup(name, fresh)

UNIT_GROUP(phase, t(each_time_is_kept), t(threads_in_one_phase_are_in_it_once),
	   t(what_was_killed_in_it_is_open), t(an_end_without_begin_is_nothing),
	   t(bytes_are_what_was_moved_meanwhile), t(neighbours_become_one_when_there_are_many),
	   t(damage_is_left_out))
