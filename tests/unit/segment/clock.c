/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.c: ticks become time of day. A made-up machine has a counter that runs too fast or too
 * slow, a clock that is disciplined, set, and read with jitter; its true time is known. */
#include "unit.h"

#include "segment/clock.h"

#define MS 1000000ull
#define SECOND 1000000000ull
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define NEAR 10000 /* ns */
#define START 1700000000000000000ull
#define TICK0 123456789012ull

/* a machine at a moment of true time (ns since its start) */
struct machine {
	double hz;	/* of the counter, in truth */
	double rate;	/* of the clocks at present: 1 + what they are slewed by */
	uint64_t since; /* true time since which that holds */
	double base;	/* what the clocks said then */
	int64_t set;	/* by how much the real clock was set, in all */
	struct rng rng;
	double hurry;	 /* how wrong a process measures hz in its first moments */
	uint64_t jitter; /* ns by which readings are wrong, at most */
};

static struct rama_seg_ticks own_of(const struct machine *m)
{
	return (struct rama_seg_ticks){ .source = RAMA_SEG_CLOCK_TSC,
					/* as measured in a hurry: 50 ppm off */
					.hz = m->hz * 1.00005,
					.tick0 = TICK0,
					.mono0 = 1,
					.real0 = START };
}

static uint64_t tick_at(const struct machine *m, uint64_t t)
{
	return TICK0 + (uint64_t)((double)t * m->hz / 1e9);
}

static uint64_t clock_at(const struct machine *m, uint64_t t)
{
	return (uint64_t)(m->base + (double)(t - m->since) * m->rate);
}

static int64_t real_at(const struct machine *m, uint64_t t)
{
	return (int64_t)(START + clock_at(m, t)) + m->set;
}

static void slew(struct machine *m, uint64_t t, double rate)
{
	m->base = (double)clock_at(m, t);
	m->since = t;
	m->rate = rate;
}

static struct rama_seg_clock_pair read_at(struct machine *m, uint64_t t)
{
	uint64_t wrong = m->jitter > 0 ? rng_below(&m->rng, m->jitter) : 0;

	return (struct rama_seg_clock_pair){ .tick = tick_at(m, t),
					     .mono = clock_at(m, t) + wrong + 1,
					     .real = (uint64_t)real_at(m, t) + wrong / 2,
					     .blur = 2 * wrong };
}

static void near_truth(const struct rama_seg_clock *c, const struct machine *m, uint64_t t)
{
	struct rama_seg_ticks own = own_of(m);
	int64_t said = rama_seg_clock_real(c, &own, tick_at(m, t)), wrong = said - real_at(m, t);

	if (wrong > NEAR || wrong < -NEAR)
		fail_msg("at %.6f s: %lld ns off", (double)t / 1e9, (long long)wrong);
}

/* a reading each `step`, and between two of them events are converted at once, as they come */
static void follow(struct rama_seg_clock *c, struct machine *m, uint64_t from, uint64_t to,
		   uint64_t step)
{
	for (uint64_t t = from; t < to; t += step) {
		struct rama_seg_clock_pair p = read_at(m, t);

		rama_seg_clock_add(c, &p);
		for (unsigned i = 1; i < 8 && c->n > 1; i++)
			near_truth(c, m, t + step * i / 8);
	}
}

static void a_counter_that_drifts_is_followed_for_ten_minutes_and_ten_days(void **state)
{
	static const double off[] = { 1, 1.00005, 0.99995 };

	(void)state;
	for (unsigned i = 0; i < LENGTH(off); i++) {
		struct machine m = { .hz = 2.6e9 * off[i], .rate = 1 };
		struct rama_seg_clock c = { 0 };

		follow(&c, &m, SECOND, 10 * MINUTE, SECOND);
		follow(&c, &m, 10 * MINUTE, 10 * DAY, 5 * MINUTE);
		follow(&c, &m, 10 * DAY, 10 * DAY + MINUTE, 100 * MS);
		assert_int_equal(c.steps, 0);
	}
}

static void slewing_is_followed(void **state)
{
	struct machine m = { .hz = 3e9, .rate = 1 };
	struct rama_seg_clock c = { 0 };
	uint64_t t = SECOND;

	(void)state;
	for (unsigned i = 0; i < 40; i++) { /* as fast as clocks are slewed, up and down */
		slew(&m, t, i % 3 == 0 ? 1 : i % 3 == 1 ? 1.0005 : 0.9995);
		follow(&c, &m, t, t + 3 * SECOND, 5 * MS);
		t += 3 * SECOND;
	}
	assert_int_equal(c.steps, 0);
}

/* Events that waited (no agent was there, the ring was long) are converted later by the corners
 * that were kept. */
static void the_past_stays_known(void **state)
{
	struct machine m = { .hz = 2.1e9, .rate = 1.00002 }, then;
	struct rama_seg_clock c = { 0 };

	(void)state;
	follow(&c, &m, SECOND, 2 * MINUTE, 5 * MS);
	then = m;
	slew(&m, 2 * MINUTE, 0.9996);
	follow(&c, &m, 2 * MINUTE, 4 * MINUTE, 5 * MS);
	for (uint64_t t = SECOND; t < 2 * MINUTE; t += 777 * MS)
		near_truth(&c, &then, t);
	for (uint64_t t = 2 * MINUTE; t < 4 * MINUTE; t += 777 * MS)
		near_truth(&c, &m, t);
}

static void a_clock_that_is_set_makes_a_step(int64_t by)
{
	struct machine m = { .hz = 2.6e9, .rate = 1.00001 }, before;
	struct rama_seg_clock c = { 0 };

	follow(&c, &m, SECOND, MINUTE, 50 * MS);
	before = m;
	m.set += by;
	follow(&c, &m, MINUTE, 2 * MINUTE, 50 * MS);
	assert_int_equal(c.steps, 1);
	assert_true(c.last_step > by - NEAR && c.last_step < by + NEAR);
	for (uint64_t t = 30 * SECOND; t < MINUTE - 51 * MS; t += 99 * MS)
		near_truth(&c, &before, t);
	for (uint64_t t = MINUTE; t < 2 * MINUTE; t += 99 * MS)
		near_truth(&c, &m, t);
}

static void steps_of_all_sizes(void **state)
{
	(void)state;
	a_clock_that_is_set_makes_a_step(-(int64_t)HOUR);
	a_clock_that_is_set_makes_a_step((int64_t)HOUR);
	a_clock_that_is_set_makes_a_step(-(int64_t)(100 * MS));
	a_clock_that_is_set_makes_a_step((int64_t)(365 * DAY));
}

static void jitter_does_little(void **state)
{
	static const uint64_t every[] = { 5 * MS, 50 * MS, SECOND };

	(void)state;
	for (unsigned i = 0; i < LENGTH(every); i++) {
		struct machine m = { .hz = 2.6e9, .rate = 1.00003, .jitter = 2000 };
		struct rama_seg_clock c = { 0 };

		follow(&c, &m, SECOND, 2 * MINUTE, every[i]);
		assert_int_equal(c.steps, 0);
	}
}

static void a_disturbed_reading_is_left_out(void **state)
{
	struct machine m = { .hz = 2.6e9, .rate = 1 };
	struct rama_seg_clock c = { 0 };
	struct rama_seg_clock_pair p;

	(void)state;
	follow(&c, &m, SECOND, 10 * SECOND, 100 * MS);
	p = read_at(&m, 10 * SECOND);
	p.real += 3 * MS; /* the process was away between its readings */
	p.blur = 6 * MS;
	rama_seg_clock_add(&c, &p);
	near_truth(&c, &m, 10 * SECOND + 50 * MS);
	assert_int_equal(c.steps, 0);
}

/* what happened before the agent came */
static void ticks_before_the_first_reading_use_the_clock_of_the_process(void **state)
{
	static const double hurry[] = { 1, 1.00005, 0.97, 1.2 };

	(void)state;
	for (unsigned i = 0; i < LENGTH(hurry); i++) {
		struct machine m = { .hz = 2.6e9, .rate = 1, .hurry = hurry[i] };
		struct rama_seg_clock c = { 0 };

		follow(&c, &m, 30 * MINUTE, 30 * MINUTE + 3 * SECOND, SECOND);
		for (uint64_t t = 0; t < 30 * MINUTE; t += 10 * SECOND)
			near_truth(&c, &m, t);
	}
}

static void lengths(void **state)
{
	struct machine m = { .hz = 2.6e9, .rate = 1, .hurry = 1 };
	struct rama_seg_ticks own = own_of(&m);
	struct rama_seg_clock c = { 0 };

	(void)state;
	assert_true(llabs(rama_seg_clock_ns(&c, &own, 2600) - 1000) <= 1);
	own.hz *= 1.05; /* measured while the machine was busy */
	follow(&c, &m, SECOND, 20 * SECOND, SECOND);
	assert_true(llabs(rama_seg_clock_ns(&c, &own, 2600000000) - (int64_t)SECOND) < 1000);
	own.source = RAMA_SEG_CLOCK_MONOTONIC;
	c.n = 0;
	assert_int_equal(rama_seg_clock_ns(&c, &own, 12345), 12345);
}

/* segments are not to be trusted */
static void nonsense_gives_numbers(void **state)
{
	static const uint64_t odd[] = { 0, 1, 1ull << 40, UINT64_MAX / 2, UINT64_MAX };
	static const double hz[] = { 0, -1, 1e300, 0.0 / 1.0, 2.6e9 };
	struct machine m = { .hz = 2.6e9, .rate = 1 };
	struct rama_seg_clock c = { 0 };
	int64_t sum = 0;

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 5 * 5 * 5 * 5; i++) {
			struct rama_seg_ticks own = { .source = i % 3,
						      .hz = hz[i % 5],
						      .tick0 = odd[i / 5 % 5],
						      .mono0 = odd[i / 25 % 5],
						      .real0 = odd[i / 125 % 5] };

			for (unsigned k = 0; k < 5; k++)
				sum += rama_seg_clock_real(&c, &own, odd[k]) % 7 +
				       rama_seg_clock_ns(&c, &own, odd[k]) % 7;
		}
		follow(&c, &m, SECOND, 20 * SECOND, SECOND);
	}
	assert_true(sum != INT64_MIN);
}

static void this_machine(void **state)
{
	static const enum rama_seg_clock_source source[] = { RAMA_SEG_CLOCK_TSC,
							     RAMA_SEG_CLOCK_MONOTONIC };

	(void)state;
	for (unsigned i = 0; i < LENGTH(source); i++) {
		struct rama_seg_clock_pair p, q;

		rama_seg_clock_read(source[i], &p);
		rama_seg_clock_read(source[i], &q);
		assert_true(q.mono >= p.mono && q.tick >= p.tick);
		assert_true(p.real > START);
	}
}

UNIT_GROUP(clock, test(a_counter_that_drifts_is_followed_for_ten_minutes_and_ten_days),
	   test(slewing_is_followed), test(the_past_stays_known), test(steps_of_all_sizes),
	   test(jitter_does_little), test(a_disturbed_reading_is_left_out),
	   test(ticks_before_the_first_reading_use_the_clock_of_the_process), test(lengths),
	   test(nonsense_gives_numbers), test(this_machine))
