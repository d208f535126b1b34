/* SPDX-License-Identifier: BSD-3-Clause */
/* ring.c: live events come out as they went in, in pieces of any size, while they are written;
 * nonsense gives fewer. */
#include "segment/ring.h"

#include <pthread.h>
#include <sched.h>

#include "ringwriter.h"
#include "unit.h"

enum { ALL_LEVELS = RAMA_SEG_RING_FIRST * ((1 << RAMA_SEG_RING_LEVELS) - 1), LANES = 2 };

struct opened {
	struct seg seg;
	struct rama_seg_mapped m;
	struct rama_seg_lane *lane;
	struct rama_seg_event *to; /* room for all that fits */
};

static struct opened *begin(size_t room)
{
	struct opened *o = calloc(1, sizeof(*o));
	struct rama_err e = { 0 };

	assert_non_null(o);
	seg_make_sized(&o->seg, &(struct seg_sizes){ 2, LANES, 1, room, 0 });
	o->lane = seg_lane(&o->seg, 77);
	seg_lane(&o->seg, 78);
	o->lane->tid = 9;
	o->to = calloc(ALL_LEVELS, sizeof(*o->to));
	assert_non_null(o->to);
	assert_int_equal(ring_open(&o->m, &o->seg, &e), 0);
	return o;
}

static void end(struct opened *o)
{
	seg_free(&o->seg);
	free(o->to);
	free(o);
}

static void put(struct opened *o, uint64_t n)
{
	while (n-- > 0)
		assert_true(ring_put(&o->seg, 0));
}

static void are_numbers(const struct rama_seg_event *to, uint64_t from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct rama_seg_event want = ring_event(from + i);

		assert_memory_equal(&to[i], &want, sizeof(want));
	}
}

/* reads all from `from` on, in pieces of at most `most` */
static uint64_t read_all(struct opened *o, uint64_t from, uint32_t most, bool give_back)
{
	uint32_t n, tid;

	while ((n = rama_seg_ring_read(&o->m, 0, from, o->to, most, &tid)) > 0) {
		assert_true(n <= most);
		are_numbers(o->to, from, n);
		from += n;
		if (give_back)
			rama_seg_ring_give_back(&o->m, 0, from);
	}
	return from;
}

static void an_empty_lane(void **st)
{
	struct opened *o = begin(ALL_LEVELS);
	struct rama_seg_ring_state state;
	uint32_t tid;

	(void)st;
	assert_int_equal(rama_seg_ring_state(&o->m, 0, &state), 0);
	assert_int_equal(state.made, 0);
	assert_int_equal(state.tid, 9);
	assert_int_equal(rama_seg_ring_read(&o->m, 0, 0, o->to, 10, &tid), 0);
	assert_int_equal(rama_seg_ring_state(&o->m, LANES, &state), RAMA_EUSAGE);
	assert_int_equal(rama_seg_ring_state(&o->m, UINT32_MAX, &state), RAMA_EUSAGE);
	assert_int_equal(rama_seg_ring_read(&o->m, LANES, 0, o->to, 10, &tid), 0);
	rama_seg_ring_give_back(&o->m, RAMA_SEG_LANES, 1);
	end(o);
}

/* without a reader it grows as far as it can, keeps the first events and drops the others */
static void it_grows_and_then_drops(void **st)
{
	struct opened *o = begin(ALL_LEVELS);
	struct rama_seg_ring_state state;

	(void)st;
	put(o, ALL_LEVELS);
	assert_int_equal(o->lane->level, RAMA_SEG_RING_LEVELS);
	for (unsigned i = 0; i < 5; i++)
		assert_false(ring_put(&o->seg, 0));
	assert_int_equal(rama_seg_ring_state(&o->m, 0, &state), 0);
	assert_int_equal(state.made, ALL_LEVELS);
	assert_int_equal(state.dropped, 5);
	assert_int_equal(state.taken, 0);
	assert_int_equal(read_all(o, 0, ALL_LEVELS, false), ALL_LEVELS);
	assert_int_equal(read_all(o, 0, 1000, false), ALL_LEVELS);
	assert_int_equal(read_all(o, 1023, 1, false), ALL_LEVELS);
	read_all(o, 0, 5000, true);
	assert_int_equal(rama_seg_ring_state(&o->m, 0, &state), 0);
	assert_int_equal(state.taken, ALL_LEVELS);
	put(o, 100); /* there is room again */
	assert_int_equal(read_all(o, ALL_LEVELS, 64, true), ALL_LEVELS + 100);
	end(o);
}

static void little_memory(void **st)
{
	struct opened *o = begin(RAMA_SEG_RING_FIRST * 3 + 7);

	(void)st;
	put(o, RAMA_SEG_RING_FIRST * 3);
	assert_int_equal(o->lane->level, 2);
	assert_false(ring_put(&o->seg, 0));
	assert_false(ring_put(&o->seg, 1)); /* nothing is left for others */
	assert_int_equal(read_all(o, 0, 100, true), RAMA_SEG_RING_FIRST * 3);
	end(o);
}

/* a reader that keeps up more or less: any distances, around the ring many times */
static void pieces_of_any_size(void **st)
{
	struct opened *o = begin(ALL_LEVELS);
	struct rng rng = { 1 };
	uint64_t taken = 0, made = 0;

	(void)st;
	while (made < 200000) {
		uint64_t n = rng_below(&rng, 700), most = 1 + rng_below(&rng, 900);
		uint32_t got, tid;

		put(o, n);
		made += n;
		got = rama_seg_ring_read(&o->m, 0, taken, o->to, (uint32_t)most, &tid);
		assert_true(got == (most < made - taken ? most : made - taken));
		are_numbers(o->to, taken, got);
		taken += got;
		rama_seg_ring_give_back(&o->m, 0, taken);
		rama_seg_ring_give_back(&o->m, 0, taken / 2); /* only ever upwards */
	}
	assert_int_equal(read_all(o, taken, 4096, true), made);
	assert_true(o->lane->level < RAMA_SEG_RING_LEVELS);
	end(o);
}

static void a_change_of_threads_ends_a_piece(void **st)
{
	struct opened *o = begin(ALL_LEVELS);
	uint32_t tid;

	(void)st;
	put(o, 10); /* nobody said whose it is */
	assert_int_equal(rama_seg_ring_read(&o->m, 0, 0, o->to, 100, &tid), 10);
	assert_int_equal(tid, 9);
	o->lane->made = 0;
	for (uint32_t i = 0; i < RAMA_SEG_OWNERS; i++) {
		ring_owner(&o->seg, 0, 100 + i);
		put(o, 5);
	}
	for (uint32_t i = 0; i < RAMA_SEG_OWNERS; i++) {
		assert_int_equal(rama_seg_ring_read(&o->m, 0, 5 * i, o->to, 100, &tid), 5);
		assert_int_equal(tid, 100 + i);
		assert_int_equal(rama_seg_ring_read(&o->m, 0, 5 * i + 3, o->to, 100, &tid), 2);
		assert_int_equal(tid, 100 + i);
	}
	ring_owner(&o->seg, 0, 555); /* the first one is forgotten */
	put(o, 3);
	assert_int_equal(rama_seg_ring_read(&o->m, 0, 0, o->to, 100, &tid), 5);
	assert_int_equal(tid, 0);
	assert_int_equal(rama_seg_ring_read(&o->m, 0, 5 * RAMA_SEG_OWNERS, o->to, 100, &tid), 3);
	assert_int_equal(tid, 555);
	end(o);
}

/* ---- nonsense -------------------------------------------------------------------------------- */

/* whatever it says: nothing outside is touched, and no more is given than was asked for */
static void survives(struct opened *o)
{
	static const uint64_t from[] = {
		0, 1, 1023, 1024, 5000, UINT32_MAX, 1ull << 63, UINT64_MAX
	};
	struct rama_seg_ring_state state;
	uint32_t tid;

	for (uint32_t lane = 0; lane < LANES; lane++) {
		if (rama_seg_ring_state(&o->m, lane, &state) == 0)
			assert_true(state.taken <= state.made);
		for (size_t i = 0; i < LENGTH(from); i++)
			assert_true(rama_seg_ring_read(&o->m, lane, from[i], o->to, 4096, &tid) <=
				    4096);
	}
}

static void nonsense_in_every_field(void **st)
{
	static const uint64_t odd[] = { 0,
					1,
					3,
					1023,
					1ull << 20,
					1ull << 32,
					(1ull << 32) - 1,
					(1ull << 63) - 1,
					UINT64_MAX - 47,
					UINT64_MAX };
	struct opened *o = begin(ALL_LEVELS);
	struct rama_seg_lane good;
	size_t words = offsetof(struct rama_seg_lane, heat) / 8;

	(void)st;
	ring_owner(&o->seg, 0, 5);
	put(o, 5000);
	good = *o->lane;
	for (size_t w = 0; w < words; w++) {
		for (size_t i = 0; i < LENGTH(odd); i++) {
			*o->lane = good;
			memcpy((char *)o->lane + w * 8, &odd[i], 8);
			survives(o);
			*o->lane = good;
			memcpy((char *)o->lane + w * 8 + 4, &odd[i], 4);
			survives(o);
		}
	}
	*o->lane = good;
	o->seg.control->taken[0] = UINT64_MAX;
	survives(o);
	end(o);
}

static void random_lanes(void **st)
{
	struct opened *o = begin(ALL_LEVELS);
	struct rng rng = { 2 };

	(void)st;
	for (unsigned i = 0; i < 3000; i++) {
		uint64_t *w = (uint64_t *)(void *)o->lane;

		for (size_t k = 0; k < offsetof(struct rama_seg_lane, heat) / 8; k++)
			w[k] = rng_u64(&rng) >> rng_below(&rng, 64);
		o->lane->level = (uint32_t)rng_below(&rng, 10);
		for (unsigned k = 0; k < RAMA_SEG_RING_LEVELS && i % 2; k++)
			o->lane->ring[k].at = rng_below(&rng, ALL_LEVELS * 48) & ~7ull;
		survives(o);
	}
	end(o);
}

static void wrong_lanes_are_told(void **st)
{
	struct opened *o = begin(ALL_LEVELS);
	struct rama_seg_ring_state state;
	uint32_t tid;

	(void)st;
	put(o, 2000);
	o->lane->level = RAMA_SEG_RING_LEVELS + 1;
	assert_int_equal(rama_seg_ring_state(&o->m, 0, &state), RAMA_ECORRUPT);
	o->lane->level = 0;
	assert_int_equal(rama_seg_ring_state(&o->m, 0, &state), RAMA_ECORRUPT);
	o->lane->level = 2;
	assert_int_equal(rama_seg_ring_state(&o->m, 0, &state), 0);
	o->lane->ring[1].at = (ALL_LEVELS - 2047) * sizeof(struct rama_seg_event);
	assert_int_equal(rama_seg_ring_state(&o->m, 0, &state), RAMA_ECORRUPT);
	assert_int_equal(rama_seg_ring_read(&o->m, 0, 0, o->to, 10, &tid), 0);
	o->lane->ring[1].at = 7;
	assert_int_equal(rama_seg_ring_state(&o->m, 0, &state), RAMA_ECORRUPT);
	end(o);
}

/* ---- at the same time ------------------------------------------------------------------------ */

enum { MANY = 400000 };

static void *write_many(void *arg)
{
	struct opened *o = arg;

	for (unsigned i = 0; i < MANY; i++) {
		if (i % 50000 == 0)
			ring_owner(&o->seg, 0, 1000 + i / 50000);
		if (!ring_put(&o->seg, 0))
			sched_yield();
	}
	return NULL;
}

static void a_reader_beside_the_writer(void **st)
{
	struct opened *o = begin(RAMA_SEG_RING_FIRST * 7); /* so little that some are dropped */
	struct rama_seg_ring_state state = { 0 };
	uint64_t taken = 0;
	uint32_t last = 0, tid;
	pthread_t thread;

	(void)st;
	assert_int_equal(pthread_create(&thread, NULL, write_many, o), 0);
	while (state.made + state.dropped < MANY || taken < state.made) {
		uint32_t n = rama_seg_ring_read(&o->m, 0, taken, o->to, 3000, &tid);

		assert_int_equal(rama_seg_ring_state(&o->m, 0, &state), 0);
		if (n == 0)
			sched_yield();
		else
			assert_true(tid >= last && tid >= 1000 && tid < 1000 + MANY / 50000);
		last = n > 0 ? tid : last;
		are_numbers(o->to, taken, n);
		taken += n;
		rama_seg_ring_give_back(&o->m, 0, taken);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(state.made + state.dropped, MANY);
	assert_int_equal(taken, state.made);
	end(o);
}

UNIT_GROUP(ring, test(an_empty_lane), test(it_grows_and_then_drops), test(little_memory),
	   test(pieces_of_any_size), test(a_change_of_threads_ends_a_piece),
	   test(nonsense_in_every_field), test(random_lanes), test(wrong_lanes_are_told),
	   test(a_reader_beside_the_writer))
