/* SPDX-License-Identifier: BSD-3-Clause */
/* summary.c: files by kind of use and the time of the slowest rank. */
#include "words.h"

#include <math.h>

#include "core/sum/summary.h"

/* a file as one record tells of it */
struct use {
	uint64_t id;
	int64_t rank, read, written, offset;
	double time; /* half of it metadata; of a shared record: that of its slowest rank */
};

static void add(struct rama_core_summary *s, const struct use *u)
{
	const struct rama_core_plan *p = &s->plan;
	struct made m;

	make(&m, p->mod->id, u->id, u->rank);
	m.w[p->bytes_read].i = u->read;
	m.w[p->bytes_written].i = u->written;
	if (p->max_read != RAMA_TAB_NO_WORD) {
		m.w[p->max_read].i = u->offset;
		m.w[p->max_written].i = u->offset / 2;
	}
	if (u->rank < 0) {
		m.w[p->at[RAMA_TAB_SLOW_TIME]].f = u->time;
		m.w[p->meta_time].f = 1000; /* summed over ranks: not to be used */
	} else {
		m.w[p->meta_time].f = u->time / 2;
		m.w[p->read_time].f = u->time / 4;
		m.w[p->write_time].f = u->time / 4;
	}
	assert_int_equal(rama_core_summary_add(s, &m.r), 0);
}

static void files_of(unsigned module, const struct use *u, size_t n,
		     struct rama_core_files kinds[RAMA_CORE_FILES_KINDS])
{
	struct rama_core_summary s;

	rama_core_summary_init(&s, rama_tab_module_get(module));
	for (size_t i = 0; i < n; i++)
		add(&s, &u[i]);
	rama_core_summary_files(&s, kinds);
	rama_core_summary_fini(&s);
}

static struct rama_core_perf perf_of(unsigned module, const struct use *u, size_t n)
{
	struct rama_core_summary s;
	struct rama_core_perf p;

	rama_core_summary_init(&s, rama_tab_module_get(module));
	for (size_t i = 0; i < n; i++)
		add(&s, &u[i]);
	rama_core_summary_perf(&s, &p);
	rama_core_summary_fini(&s);
	return p;
}

static void kind_is(const struct rama_core_files *k, int64_t files, int64_t bytes, int64_t offset)
{
	assert_int_equal(k->files, files);
	assert_int_equal(k->bytes, bytes);
	assert_int_equal(k->max_offset, offset);
}

static void files_are_counted_by_their_use(void **state)
{
	static const struct use uses[] = {
		{ 1, 0, 10, 0, 9, 0 },	  /* read by rank 0 */
		{ 2, 0, 0, 20, 99, 0 },	  /* written by ranks 0 and 1 */
		{ 2, 1, 0, 30, 199, 0 },  /* ... */
		{ 3, -1, 5, 6, 1000, 0 }, /* shared by all */
		{ 4, 3, 0, 0, 0, 0 },	  /* only opened */
	};
	struct rama_core_files k[RAMA_CORE_FILES_KINDS];

	(void)state;
	files_of(RAMA_TAB_MOD_POSIX, uses, LENGTH(uses), k);
	kind_is(&k[RAMA_CORE_FILES_TOTAL], 4, 71, 1000);
	kind_is(&k[RAMA_CORE_FILES_READ_ONLY], 1, 10, 9);
	kind_is(&k[RAMA_CORE_FILES_WRITE_ONLY], 1, 50, 199);
	kind_is(&k[RAMA_CORE_FILES_READ_WRITE], 1, 11, 1000);
	kind_is(&k[RAMA_CORE_FILES_UNIQUE], 2, 10, 9);
}

/* the line adds up files of all ranks and files of some, and so it does with their offsets */
static void the_offset_of_shared_files_is_a_sum(void **state)
{
	static const struct use uses[] = {
		{ 2, 0, 0, 20, 99, 0 },	 { 2, 1, 0, 30, 199, 0 }, { 3, -1, 5, 6, 1000, 0 },
		{ 5, -1, 1, 1, 700, 0 }, { 6, 0, 1, 0, 150, 0 },  { 6, 2, 1, 0, 20, 0 },
	};
	struct rama_core_files k[RAMA_CORE_FILES_KINDS];

	(void)state;
	files_of(RAMA_TAB_MOD_POSIX, uses, LENGTH(uses), k);
	kind_is(&k[RAMA_CORE_FILES_SHARED], 4, 50 + 11 + 2 + 2, 1000 + 199);
	files_of(RAMA_TAB_MOD_POSIX, uses, 2, k); /* only files of some ranks */
	kind_is(&k[RAMA_CORE_FILES_SHARED], 1, 50, 199);
}

static void modules_without_offsets_say_minus_one(void **state)
{
	static const struct use uses[] = { { 2, 0, 1, 0, 0, 0 },
					   { 2, 1, 1, 0, 0, 0 },
					   { 3, -1, 1, 0, 0, 0 } };
	static const unsigned modules[] = { RAMA_TAB_MOD_MPIIO, RAMA_TAB_MOD_DFS,
					    RAMA_TAB_MOD_DAOS };
	struct rama_core_files k[RAMA_CORE_FILES_KINDS];

	(void)state;
	for (size_t i = 0; i < LENGTH(modules); i++) {
		files_of(modules[i], uses, LENGTH(uses), k);
		kind_is(&k[RAMA_CORE_FILES_TOTAL], 2, 3, -1);
		kind_is(&k[RAMA_CORE_FILES_WRITE_ONLY], 0, 0, 0);
		kind_is(&k[RAMA_CORE_FILES_SHARED], 2, 3, -2); /* a sum here too */
		files_of(modules[i], uses, 2, k);
		kind_is(&k[RAMA_CORE_FILES_SHARED], 1, 2, -1);
	}
}

/* a record of a rank after a shared one: -1 + 1 processes, which is neither unique nor of all */
static void a_file_can_be_shared_and_not(void **state)
{
	static const struct use uses[] = { { 3, -1, 5, 0, 10, 0 }, { 3, 0, 5, 0, 10, 0 } },
				back[] = { { 3, 0, 5, 0, 10, 0 }, { 3, -1, 5, 0, 10, 0 } };
	struct rama_core_files k[RAMA_CORE_FILES_KINDS];

	(void)state;
	files_of(RAMA_TAB_MOD_POSIX, uses, 2, k);
	kind_is(&k[RAMA_CORE_FILES_UNIQUE], 0, 0, 0);
	kind_is(&k[RAMA_CORE_FILES_SHARED], 1, 10, 10);
	files_of(RAMA_TAB_MOD_POSIX, back, 2, k);
	kind_is(&k[RAMA_CORE_FILES_SHARED], 1, 10, 10);
}

static void many_files_and_ranks_are_kept_apart(void **state)
{
	struct rama_core_files k[RAMA_CORE_FILES_KINDS];
	struct rama_core_summary s;
	struct rama_core_perf p;

	(void)state;
	rama_core_summary_init(&s, rama_tab_module_get(RAMA_TAB_MOD_STDIO));
	for (uint64_t i = 0; i < 100000; i++)
		add(&s, &(struct use){ i % 50000 << 40, (int64_t)(i % 300), 1, 0, 5, 1.0 });
	rama_core_summary_files(&s, k);
	kind_is(&k[RAMA_CORE_FILES_TOTAL], 50000, 100000, 5);
	kind_is(&k[RAMA_CORE_FILES_SHARED], 50000, 100000, 5);
	rama_core_summary_perf(&s, &p);
	assert_int_equal(p.slowest_rank, 0);
	assert_true(p.slowest_io == 334.0); /* ranks 0 to 99 have one record more */
	rama_core_summary_fini(&s);
}

static void the_slowest_rank_and_the_shared_files_make_the_time(void **state)
{
	static const struct use uses[] = {
		{ 1, 0, 1 << 20, 0, 0, 1.0 },  { 2, 5, 0, 1 << 20, 0, 2.0 },
		{ 3, 5, 0, 0, 0, 2.0 },	       { 4, 3, 0, 0, 0, 3.0 },
		{ 5, -1, 1 << 20, 0, 0, 6.0 }, { 6, -1, 0, 0, 0, 2.0 },
	};
	struct rama_core_perf p = perf_of(RAMA_TAB_MOD_POSIX, uses, LENGTH(uses));

	(void)state;
	assert_int_equal(p.total_bytes, 3 << 20);
	assert_int_equal(p.slowest_rank, 5);
	assert_true(p.slowest_io == 4.0 && p.slowest_meta == 2.0 && p.slowest_rw == 2.0);
	assert_true(p.shared_time == 8.0);
	assert_true(p.time == 12.0);
	assert_true(p.mib_per_s == 0.25);
}

static void of_equal_ranks_the_lowest_is_the_slowest(void **state)
{
	static const struct use uses[] = { { 1, 7, 0, 0, 0, 2.0 },
					   { 2, 3, 0, 0, 0, 2.0 },
					   { 3, 5, 0, 0, 0, 2.0 } };

	(void)state;
	assert_int_equal(perf_of(RAMA_TAB_MOD_POSIX, uses, LENGTH(uses)).slowest_rank, 3);
}

static void without_time_there_is_no_speed(void **state)
{
	static const struct use uses[] = { { 1, 7, 100, 0, 0, 0 } };
	struct rama_core_perf p = perf_of(RAMA_TAB_MOD_POSIX, uses, 1);

	(void)state;
	assert_int_equal(p.slowest_rank, 0);
	assert_int_equal(p.total_bytes, 100);
	assert_true(p.time == 0 && p.mib_per_s == 0 && p.slowest_io == 0);
	p = perf_of(RAMA_TAB_MOD_POSIX, uses, 0);
	assert_true(p.total_bytes == 0 && p.mib_per_s == 0);
}

UNIT_GROUP(summary, test(files_are_counted_by_their_use), test(the_offset_of_shared_files_is_a_sum),
	   test(modules_without_offsets_say_minus_one), test(a_file_can_be_shared_and_not),
	   test(many_files_and_ranks_are_kept_apart),
	   test(the_slowest_rank_and_the_shared_files_make_the_time),
	   test(of_equal_ranks_the_lowest_is_the_slowest), test(without_time_there_is_no_speed))
