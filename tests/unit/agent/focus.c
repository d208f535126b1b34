/* SPDX-License-Identifier: BSD-3-Clause */
/* focus.c: sums go in, who is traced comes out. */
#include "unit.h"

#include "agent/focus/focus.h"

#define GROUP 77

struct world {
	struct rama_agent_focus f;
	struct rama_agent_focus_one p[16];
	size_t n;
};

static struct world make(size_t n)
{
	struct world w = { .n = n };

	rama_agent_focus_init(&w.f, &(struct rama_agent_focus_limits){ 100, 1.25, 3 });
	for (size_t i = 0; i < n; i++)
		w.p[i] = (struct rama_agent_focus_one){ .id = 1000 + i, .group = GROUP };
	return w;
}

/* a round in which everybody makes `calls` calls of 1000 ns, and one of them slower ones */
static void round_of(struct world *w, uint64_t calls, size_t slow, uint64_t ns)
{
	for (size_t i = 0; i < w->n; i++) {
		w->p[i].calls += calls;
		w->p[i].ns += calls * (i == slow ? ns : 1000);
	}
	assert_true(rama_agent_focus_round(&w->f, w->p, w->n, NULL));
}

/* who is traced, -1: nobody; never two */
static int traced(const struct world *w)
{
	int who = -1;

	for (size_t i = 0; i < w->n; i++)
		if (w->p[i].traced) {
			assert_int_equal(who, -1);
			who = (int)i;
		}
	return who;
}

static void the_slowest_is_traced_after_some_rounds(void **state)
{
	struct world w = make(8);

	(void)state;
	round_of(&w, 100, 5, 9000); /* what was before we came does not count */
	assert_int_equal(traced(&w), -1);
	round_of(&w, 100, 5, 9000);
	round_of(&w, 100, 5, 9000);
	assert_int_equal(traced(&w), -1);
	round_of(&w, 100, 5, 9000);
	assert_int_equal(traced(&w), 5);
	assert_int_equal(rama_agent_focus_group(&w.f, GROUP)->n, 8);
	assert_int_equal((int)rama_agent_focus_group(&w.f, GROUP)->mean, 9000);
	/* the calls of all until then, and those of the others since */
	assert_int_equal(rama_agent_focus_group(&w.f, GROUP)->left_out, 3 * 800);
	round_of(&w, 100, 5, 9000);
	assert_int_equal(rama_agent_focus_group(&w.f, GROUP)->left_out, 3 * 800 + 700);
	rama_agent_focus_fini(&w.f);
}

static void it_follows_when_another_is_slow(void **state)
{
	struct world w = make(8);
	unsigned rounds = 0;

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		round_of(&w, 200, 2, 9000);
	assert_int_equal(traced(&w), 2);
	while (traced(&w) == 2 && rounds < 20) {
		round_of(&w, 200, 6, 9000);
		rounds++;
	}
	assert_int_equal(traced(&w), 6);
	assert_int_equal(rounds, 3);
	assert_int_equal(rama_agent_focus_group(&w.f, GROUP)->switches, 1);
	rama_agent_focus_fini(&w.f);
}

static void chance_does_not_move_it(void **state)
{
	struct world w = make(4);

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		round_of(&w, 100, 1, 5000);
	assert_int_equal(traced(&w), 1);
	for (unsigned i = 0; i < 40; i++) { /* one is slower, but never for long */
		round_of(&w, 100, i % 2 ? 1 : 3, 5000);
		round_of(&w, 100, 1, 5000);
		assert_int_equal(traced(&w), 1);
	}
	for (unsigned i = 0; i < 10; i++) { /* or a little only */
		w.p[0].ns += 100 * 5000;
		round_of(&w, 100, 1, 5000);
		assert_int_equal(traced(&w), 1);
	}
	rama_agent_focus_fini(&w.f);
}

static void few_calls_are_no_mean(void **state)
{
	struct world w = make(3);

	(void)state;
	round_of(&w, 1, 1, 1000000);
	for (unsigned i = 0; i < 90; i++) {
		round_of(&w, 1, 1, 1000000);
		assert_int_equal(traced(&w), -1);
	}
	for (unsigned i = 0; i < 14; i++) /* a hundred are, however long they take */
		round_of(&w, 1, 1, 1000000);
	assert_int_equal(traced(&w), 1);
	rama_agent_focus_fini(&w.f);
}

static void who_ends_or_stops_is_left(void **state)
{
	struct world w = make(3);

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		round_of(&w, 100, 2, 9000);
	assert_int_equal(traced(&w), 2);
	w.n = 2; /* gone */
	round_of(&w, 100, 0, 3000);
	assert_int_equal(rama_agent_focus_group(&w.f, GROUP)->at, 0);
	for (unsigned i = 0; i < 6; i++)
		round_of(&w, 100, 0, 3000);
	assert_int_equal(traced(&w), 0);
	for (unsigned i = 0; i < 20; i++) { /* still there, and does nothing */
		w.p[1].calls += 100;
		w.p[1].ns += 100000;
		assert_true(rama_agent_focus_round(&w.f, w.p, w.n, NULL));
	}
	assert_int_equal(traced(&w), 1);
	rama_agent_focus_fini(&w.f);
}

static void each_group_has_one(void **state)
{
	struct world w = make(6);

	(void)state;
	for (size_t i = 3; i < 6; i++)
		w.p[i].group = 1;
	for (unsigned i = 0; i < 6; i++) {
		w.p[4].ns += 100 * 4000;
		round_of(&w, 100, 1, 9000);
	}
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(w.p[i].traced, i == 1 || i == 4);
	assert_int_equal(w.f.n_groups, 2);
	w.n = 0;
	assert_true(rama_agent_focus_round(&w.f, w.p, 0, NULL));
	assert_int_equal(w.f.n_groups + w.f.n_past, 0);
	rama_agent_focus_fini(&w.f);
}

UNIT_GROUP(focus, test(the_slowest_is_traced_after_some_rounds),
	   test(it_follows_when_another_is_slow), test(chance_does_not_move_it),
	   test(few_calls_are_no_mean), test(who_ends_or_stops_is_left), test(each_group_has_one))
