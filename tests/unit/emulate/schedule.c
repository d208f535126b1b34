/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "emulate/graph/graph.h"

static void read_graph(struct rama_emu_graph *g, const char *text)
{
	struct rama_err e = { 0 };

	rama_emu_graph_init(g);
	if (rama_emu_graph_read(g, NULL, text, strlen(text), &e) != 0 ||
	    rama_emu_graph_cut(g, &e) != 0)
		fail_msg("%s", e.text);
}

static void data_draw_tasks_to_their_node(void **state)
{
	static const uint32_t node[] = { 0, 0, 1, 1 };
	struct rama_emu_graph g;
	struct rama_emu_schedule *s;
	struct rama_emu_placement p;
	struct rama_err e = { 0 };
	uint32_t where[2];

	(void)state;
	read_graph(&g, "[data a]\nsize = 10\n[data b]\nsize = 1000\n[task w0]\nwrites = a\n[task "
		       "w1]\nwrites = b\n"
		       "[task r]\nreads = a, b\n");
	s = rama_emu_schedule_new(&g, 4, node, 1, &e);
	assert_true(rama_emu_schedule_next(s, &p));
	assert_int_equal(p.task, 0);
	where[0] = p.ranks[0];
	assert_true(rama_emu_schedule_next(s, &p));
	where[1] = p.ranks[0];
	assert_int_not_equal(where[0], where[1]);
	assert_false(rama_emu_schedule_next(s, &p)); /* r waits for both */
	rama_emu_schedule_done(s, 0, 0);
	assert_false(rama_emu_schedule_next(s, &p));
	rama_emu_schedule_done(s, 1, 0);
	assert_true(rama_emu_schedule_next(s, &p));
	assert_int_equal(p.task, 2);
	assert_int_equal(node[p.ranks[0]], node[where[1]]); /* where the larger input is */
	rama_emu_schedule_done(s, 2, 0);
	assert_true(rama_emu_schedule_finished(s));
	rama_emu_schedule_free(s);
	rama_emu_graph_fini(&g);
}

/* Random graphs on few ranks: each task runs once in each iteration, never before what it needs,
 * never on a busy rank. */
static void every_task_runs_once_in_order(void **state)
{
	struct rng rng = { 3 };

	(void)state;
	for (int round = 0; round < 100; round++) {
		enum { N = 60, RANKS = 3, ITERATIONS = 2 };
		uint32_t node[RANKS] = { 0, 0, 1 }, runs[N] = { 0 }, running[N], n_running = 0;
		bool busy[RANKS] = { false };
		uint32_t used[N][RANKS], n_used[N];
		struct rama_emu_graph g;
		struct rama_emu_schedule *s;
		struct rama_emu_placement p;
		struct rama_err e = { 0 };
		uint64_t done, run, wait;
		char id[8];

		rama_emu_graph_init(&g);
		for (uint32_t i = 0; i < N; i++) {
			snprintf(id, sizeof(id), "n%u", i);
			assert_true(rama_emu_graph_task(&g, id, strlen(id), &e) >= 0);
			/* also more than there are */
			g.tasks[i].ranks = 1 + (uint32_t)rng_below(&rng, 4);
			assert_true(rama_emu_graph_datum(&g, id, strlen(id), &e) >= 0);
			assert_int_equal(rama_emu_graph_edge(&g, i, i, true, true, &e), 0);
			for (uint32_t k = 0; i > 0 && k < rng_below(&rng, 4); k++)
				rama_emu_graph_edge(&g, i, (uint32_t)rng_below(&rng, i), false,
						    true, &e);
		}
		assert_int_equal(rama_emu_graph_finish(&g, &e), 0);
		s = rama_emu_schedule_new(&g, RANKS, node, ITERATIONS, &e);
		while (!rama_emu_schedule_finished(s)) {
			uint32_t last;

			while (rama_emu_schedule_next(s, &p)) {
				const struct rama_emu_task *t = &g.tasks[p.task];

				assert_int_equal(runs[p.task], p.iteration);
				for (uint32_t i = 0; i < t->n_edges; i++) {
					const struct rama_emu_edge *x = &g.edges[t->first_edge + i];

					if (!x->write) /* data i is written by task i */
						assert_true(runs[x->data] > p.iteration);
				}
				for (uint32_t i = 0; i < p.n_ranks; i++) {
					assert_false(busy[p.ranks[i]]);
					busy[p.ranks[i]] = true;
					used[p.task][i] = p.ranks[i];
				}
				n_used[p.task] = p.n_ranks;
				running[n_running++] = p.task;
			}
			assert_true(n_running > 0); /* never stuck */
			last = (uint32_t)rng_below(&rng, n_running);
			for (uint32_t i = 0; i < n_used[running[last]]; i++)
				busy[used[running[last]][i]] = false;
			rama_emu_schedule_done(s, running[last], runs[running[last]]);
			runs[running[last]]++;
			running[last] = running[--n_running];
			rama_emu_schedule_counts(s, &done, &run, &wait);
			assert_int_equal(done + run + wait, N * ITERATIONS);
		}
		for (uint32_t i = 0; i < N; i++)
			assert_int_equal(runs[i], ITERATIONS);
		rama_emu_schedule_free(s);
		rama_emu_graph_fini(&g);
	}
}

/* Where a unit has one writer at a time, its second one waits, and others do not. */
static void writers_take_turns(void **state)
{
	static const uint32_t node[] = { 0, 0, 0, 0 };
	struct rama_emu_graph g;
	struct rama_emu_schedule *s;
	struct rama_emu_placement p;
	struct rama_err e = { 0 };

	(void)state;
	read_graph(&g, "[data a]\nsize = 10\n[data b]\nsize = 10\n[task w0]\nwrites = a\n[task "
		       "w1]\nwrites = a\n[task w2]\nwrites = b\n");
	for (int alone = 0; alone < 2; alone++) {
		s = rama_emu_schedule_new(&g, 4, node, 2, &e);
		if (alone)
			rama_emu_schedule_alone(s);
		for (uint32_t iteration = 0; iteration < 2; iteration++) {
			uint32_t first;

			assert_true(rama_emu_schedule_next(s, &p));
			first = p.task;
			assert_true(rama_emu_schedule_next(s, &p));
			assert_int_equal(rama_emu_schedule_next(s, &p), !alone);
			rama_emu_schedule_done(s, first, iteration);
			assert_int_equal(rama_emu_schedule_next(s, &p), alone);
			for (uint32_t i = 0; i < 3; i++)
				if (i != first)
					rama_emu_schedule_done(s, i, iteration);
		}
		assert_true(rama_emu_schedule_finished(s));
		rama_emu_schedule_free(s);
	}
	rama_emu_graph_fini(&g);
}

UNIT_GROUP(schedule, test(data_draw_tasks_to_their_node), test(every_task_runs_once_in_order),
	   test(writers_take_turns))
