/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.c: calls become trees, figures and critical paths: against what can be worked out by hand,
 * and for random trees against what must hold of all. */
#include <stdlib.h>
#include <string.h>

#include "path/path.h"
#include "unit.h"

static void add(struct rama_path *p, int64_t rank, uint8_t layer, uint32_t id, uint32_t parent,
		int64_t start, int64_t end)
{
	struct rama_path_call c = { .rank = rank,
				    .layer = layer,
				    .id = id,
				    .parent_id = parent,
				    .write = true,
				    .op = "pwrite64",
				    .file = "/f",
				    .off = start,
				    .bytes = 1000,
				    .start = start,
				    .end = end };

	assert_int_equal(rama_path_add(p, &c, 6), 0);
}

enum { POSIX = RAMA_PATH_LAYER_POSIX, MPIIO = RAMA_PATH_LAYER_MPIIO, H5D = RAMA_PATH_LAYER_H5D };

/* H5Dwrite 100..1000 with MPI 150..900 with POSIX 200..300, 300..450, 600..800; and rank 1 */
static struct rama_path sample(void)
{
	struct rama_path p = { 0 };

	add(&p, 0, POSIX, 3, 2, 200, 300); /* parts end before what they are part of */
	add(&p, 0, POSIX, 4, 2, 300, 450);
	add(&p, 0, POSIX, 5, 2, 600, 800);
	add(&p, 0, MPIIO, 2, 1, 150, 900);
	add(&p, 0, H5D, 1, 0, 100, 1000);
	add(&p, 1, MPIIO, 2, 0, 120, 1300);
	add(&p, 1, POSIX, 3, 2, 130, 140);
	add(&p, 1, POSIX, 9, 7, 1400, 1500); /* its parent is not in the log */
	assert_int_equal(rama_path_join(&p, 1200), 0);
	return p;
}

static void calls_find_what_they_are_part_of(void **state)
{
	/* by start: H5D, MPI of 1, POSIX of 1, MPI of 0, three writes, the orphan */
	static const size_t parent[] = { RAMA_PATH_NONE, RAMA_PATH_NONE, 1, 0, 3, 3, 3,
					 RAMA_PATH_NONE };
	struct rama_path p = sample();

	(void)state;
	assert_int_equal(p.n, 8);
	for (size_t i = 0; i < p.n; i++) {
		assert_int_equal(p.call[i].parent, parent[i]);
		assert_int_equal(p.call[i].link, parent[i] == RAMA_PATH_NONE
							 ? RAMA_PATH_LINK_NONE
							 : RAMA_PATH_LINK_PARENT);
		assert_string_equal(p.call[i].op, "pwrite");
	}
	assert_int_equal(p.n_roots, 3);
	assert_int_equal(p.end, 1500);
	assert_int_equal(p.call[3].n_subs, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(rama_path_sub(&p, 3, i), 4 + i);
	assert_int_equal(p.call[4].depth, 2);
	rama_path_fini(&p);
}

static void gaps_add_up(void **state)
{
	struct rama_path p = sample();
	struct rama_path_gaps g;

	(void)state;
	rama_path_gaps(&p, 3, &g);
	assert_int_equal(g.before, 50);
	assert_int_equal(g.inside, 450);
	assert_int_equal(g.between, 150);
	assert_int_equal(g.after, 100);
	rama_path_gaps(&p, 4, &g); /* no parts: all of it is before the first */
	assert_int_equal(g.before, 100);
	assert_int_equal(g.inside + g.between + g.after, 0);
	rama_path_fini(&p);
}

static void layers_go_by_the_slowest_and_the_sum(void **state)
{
	struct rama_path p = sample();
	struct rama_path_sum s[RAMA_PATH_LAYERS];

	(void)state;
	rama_path_layers(&p, 0, s);
	assert_int_equal(s[H5D].count, 1);
	assert_int_equal(s[H5D].longest, 900);
	assert_int_equal(s[MPIIO].count, 1);
	assert_int_equal(s[POSIX].count, 3);
	assert_int_equal(s[POSIX].longest, 200);
	assert_int_equal(s[POSIX].sum, 450);
	assert_int_equal(s[POSIX].bytes, 3000);
	/* 1000 bytes in 100, 150 and 200 ns */
	assert_true(s[POSIX].rate > 2.1666e10 && s[POSIX].rate < 2.1667e10);
	rama_path_layers(&p, RAMA_PATH_NONE, s);
	assert_int_equal(s[POSIX].count, 5);
	assert_int_equal(s[MPIIO].longest, 1180);
	rama_path_fini(&p);
}

static void check_pieces(const struct rama_path *p, size_t call, const struct rama_path_piece *want,
			 size_t n)
{
	struct rama_path_pieces k;

	assert_int_equal(rama_path_critical(p, call, &k), 0);
	assert_int_equal(k.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(k.piece[i].call, want[i].call);
		assert_int_equal(k.piece[i].from, want[i].from);
		assert_int_equal(k.piece[i].to, want[i].to);
	}
	rama_path_pieces_fini(&k);
}

static void the_critical_path_is_what_was_waited_for(void **state)
{
	static const struct rama_path_piece call[] = {
		{ 0, 100, 150 }, { 3, 150, 200 }, { 4, 200, 300 }, { 5, 300, 450 },
		{ 3, 450, 600 }, { 6, 600, 800 }, { 3, 800, 900 }, { 0, 900, 1000 },
	};
	static const struct rama_path_piece job[] = {
		{ RAMA_PATH_NONE, 0, 100 }, /* rank 0 was at work before rank 1 began */
		{ 0, 100, 120 },
		{ 1, 120, 130 },
		{ 2, 130, 140 },
		{ 1, 140, 1300 },
		{ RAMA_PATH_NONE, 1300, 1400 },
		{ 7, 1400, 1500 },
	};
	struct rama_path p = sample();

	(void)state;
	check_pieces(&p, 0, call, sizeof(call) / sizeof(*call));
	check_pieces(&p, RAMA_PATH_NONE, job, sizeof(job) / sizeof(*job));
	rama_path_fini(&p);
}

static void what_ends_later_is_not_waited_for(void **state)
{
	static const struct rama_path_piece call[] = { { 0, 0, 10 },
						       { 1, 10, 20 },
						       { 0, 20, 100 } };
	struct rama_path p = { 0 };
	struct rama_path_gaps g;

	(void)state;
	add(&p, 0, MPIIO, 1, 0, 0, 100);
	add(&p, 0, POSIX, 2, 1, 10, 20);
	add(&p, 0, POSIX, 3, 1, 30, 101);
	assert_int_equal(rama_path_join(&p, 0), 0);
	assert_int_equal(p.call[2].link, RAMA_PATH_LINK_LATER);
	assert_string_equal(rama_path_link_name(p.call[2].link), "later");
	check_pieces(&p, 0, call, 3);
	rama_path_gaps(&p, 0, &g);
	assert_int_equal(g.after, 80);
	rama_path_fini(&p);
}

static void odd_parents_are_none(void **state)
{
	struct rama_path p = { 0 };

	(void)state;
	add(&p, 0, POSIX, 1, 2, 0, 100); /* each other's */
	add(&p, 0, POSIX, 2, 1, 0, 100);
	add(&p, 0, POSIX, 5, 5, 0, 100); /* its own */
	add(&p, 0, POSIX, 7, 6, 0, 100); /* begins before the other */
	add(&p, 0, POSIX, 6, 0, 50, 100);
	for (uint32_t id = 10; id < 60; id++) /* deeper than can be */
		add(&p, 1, POSIX, id, id - 1, id, 1000 - id);
	assert_int_equal(rama_path_join(&p, 0), 0);
	for (size_t i = 0; i < p.n; i++) {
		bool second = p.call[i].rank == 0 && p.call[i].id == 2;

		if (p.call[i].rank == 0)
			assert_int_equal(p.call[i].parent != RAMA_PATH_NONE, second);
		assert_true(p.call[i].depth < RAMA_PATH_DEPTH);
	}
	assert_int_equal(p.n_roots, 4 + 4); /* chains of sixteen */
	rama_path_fini(&p);
}

static void add_collective(struct rama_path *p, int64_t rank, const char *host, int64_t start,
			   int64_t end)
{
	struct rama_path_call c = { .rank = rank,
				    .layer = MPIIO,
				    .id = (uint32_t)start,
				    .write = true,
				    .op = "MPI_File_write_all",
				    .host = host,
				    .file = "/f",
				    .file_id = 7,
				    .start = start,
				    .end = end };

	assert_int_equal(rama_path_add(p, &c, strlen(c.op)), 0);
}

/* What rank 0 writes for both is what rank 1 waits for, too, as far as they are of one host, made
 * as many calls, and were in them at the same time. */
static void ranks_wait_for_each_other(void **state)
{
	static const struct rama_path_piece both[] = { { 1, 110, 150 },
						       { 2, 150, 400 },
						       { 1, 400, 450 } };
	static const struct rama_path_piece alone[] = { { 1, 110, 450 } };

	(void)state;
	for (unsigned how = 0; how < 4; how++) {
		struct rama_path p = { 0 };
		struct rama_path_call c = { .layer = POSIX,
					    .id = 101,
					    .parent_id = 100,
					    .op = "w",
					    .host = "h",
					    .file = "/f",
					    .start = 150,
					    .end = 400 };

		add_collective(&p, 0, "h", 100, 460);
		assert_int_equal(rama_path_add(&p, &c, 1), 0);
		add_collective(&p, 1, how == 1 ? "other" : "h", 110, 450);
		if (how == 2)
			add_collective(&p, 1, "h", 500, 510);
		if (how == 3) { /* the second of each is apart, the first is not */
			add_collective(&p, 0, "h", 600, 610);
			add_collective(&p, 1, "h", 700000, 800000);
		}
		assert_int_equal(rama_path_join(&p, 0), 0);
		check_pieces(&p, 1, how % 3 == 0 ? both : alone, how % 3 == 0 ? 3 : 1);
		if (how == 3)
			assert_int_equal(p.together[3], UINT32_MAX);
		rama_path_fini(&p);
	}
}

/* ---- what holds of every tree --------------------------------------------------------------- */

static void check_whole(const struct rama_path *p, size_t call)
{
	int64_t from = call == RAMA_PATH_NONE ? 0 : p->call[call].start,
		end = call == RAMA_PATH_NONE ? p->end : p->call[call].end, sum = 0;
	struct rama_path_pieces k;
	struct rama_path_gaps g;

	assert_int_equal(rama_path_critical(p, call, &k), 0);
	for (size_t i = 0; i < k.n; i++) {
		const struct rama_path_piece *x = &k.piece[i];

		assert_true(x->to > x->from);
		assert_int_equal(x->from, i == 0 ? from : k.piece[i - 1].to);
		sum += x->to - x->from;
		if (x->call != RAMA_PATH_NONE) /* it was at work then */
			assert_true(p->call[x->call].start <= x->from &&
				    p->call[x->call].end >= x->to);
	}
	assert_int_equal(sum, end - from);
	rama_path_pieces_fini(&k);
	if (call == RAMA_PATH_NONE)
		return;
	rama_path_gaps(p, call, &g);
	assert_true(g.before >= 0 && g.inside >= 0 && g.between >= 0 && g.after >= 0);
	assert_int_equal(g.before + g.inside + g.between + g.after, end - from);
}

static void pieces_of_random_trees_add_up(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 300; round++) {
		struct rama_path p = { 0 };
		unsigned seed = round + 1, n = 1 + (unsigned)rand_r(&seed) % 60;

		for (uint32_t id = 1; id <= n; id++) {
			int64_t start = rand_r(&seed) % 1000,
				end = start + rand_r(&seed) % (round % 2 != 0 ? 50 : 1000);

			add(&p, rand_r(&seed) % 2, (uint8_t)(rand_r(&seed) % RAMA_PATH_LAYERS), id,
			    (uint32_t)rand_r(&seed) % n, start, end);
		}
		assert_int_equal(rama_path_join(&p, rand_r(&seed) % 2500), 0);
		check_whole(&p, RAMA_PATH_NONE);
		for (size_t i = 0; i < p.n; i++)
			check_whole(&p, i);
		rama_path_fini(&p);
	}
}

UNIT_GROUP(tree, test(calls_find_what_they_are_part_of), test(gaps_add_up),
	   test(layers_go_by_the_slowest_and_the_sum),
	   test(the_critical_path_is_what_was_waited_for), test(what_ends_later_is_not_waited_for),
	   test(odd_parents_are_none), test(ranks_wait_for_each_other),
	   test(pieces_of_random_trees_add_up))
