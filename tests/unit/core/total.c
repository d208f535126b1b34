/* SPDX-License-Identifier: BSD-3-Clause */
/* total.c: the sums of `show --total`. */
#include "words.h"

#include "core/sum/total.h"

static const unsigned totalled[] = { RAMA_TAB_MOD_POSIX, RAMA_TAB_MOD_MPIIO, RAMA_TAB_MOD_STDIO,
				     RAMA_TAB_MOD_DFS, RAMA_TAB_MOD_DAOS };

struct sum {
	struct rama_core_total t;
	union rama_core_word w[WORDS_MAX];
};

static void begin(struct sum *s, unsigned module)
{
	rama_core_total_init(&s->t, rama_tab_module_get(module), s->w);
}

/* adds a record of the file with one word set */
static void add_int(struct sum *s, uint64_t id, unsigned word, int64_t v)
{
	struct made m;

	make(&m, s->t.plan.mod->id, id, 0);
	m.w[word].i = v;
	rama_core_total_add(&s->t, &m.r);
}

static void add_double(struct sum *s, unsigned word, double v)
{
	struct made m;

	make(&m, s->t.plan.mod->id, 1, 0);
	m.w[word].f = v;
	rama_core_total_add(&s->t, &m.r);
}

static void totals_exist_for_five_modules(void **state)
{
	unsigned n = 0;

	(void)state;
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++)
		n += rama_tab_module_get(id) && (rama_tab_module_get(id)->flags & RAMA_TAB_TOTALS);
	assert_int_equal(n, LENGTH(totalled));
	for (size_t i = 0; i < LENGTH(totalled); i++)
		assert_true(rama_tab_module_get(totalled[i])->flags & RAMA_TAB_TOTALS);
}

static void counts_are_added(void **state)
{
	struct sum s;

	(void)state;
	begin(&s, RAMA_TAB_MOD_POSIX);
	add_int(&s, 1, RAMA_TAB_POSIX_BYTES_READ, 5);
	add_int(&s, 2, RAMA_TAB_POSIX_BYTES_READ, 7);
	assert_int_equal(s.w[RAMA_TAB_POSIX_BYTES_READ].i, 12);
	begin(&s, RAMA_TAB_MOD_DAOS);
	add_int(&s, 1, RAMA_TAB_DAOS_NB_OPS, 5);
	add_int(&s, 2, RAMA_TAB_DAOS_NB_OPS, 7);
	assert_int_equal(s.w[RAMA_TAB_DAOS_NB_OPS].i, 12); /* the original tool forgets this one */
}

static void negative_sums_become_minus_one_where_they_do(void **state)
{
	static const struct {
		unsigned module, word;
		int64_t want;
	} golden[] = {
		{ RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_MMAPS, 2 },
		{ RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_SEQ_READS, 2 },
		{ RAMA_TAB_MOD_DFS, RAMA_TAB_DFS_OPENS, 2 },
		{ RAMA_TAB_MOD_DAOS, RAMA_TAB_DAOS_KV_GETS, 2 },
		{ RAMA_TAB_MOD_STDIO, RAMA_TAB_STDIO_FDOPENS, 1 },
		{ RAMA_TAB_MOD_MPIIO, RAMA_TAB_MPIIO_SYNCS, 1 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(golden); i++) {
		struct sum s;

		begin(&s, golden[i].module);
		add_int(&s, 1, golden[i].word, -1);
		add_int(&s, 2, golden[i].word, -1); /* -1 again, or -2 */
		add_int(&s, 3, golden[i].word, 3);
		assert_int_equal(s.w[golden[i].word].i, golden[i].want);
	}
}

static void some_values_are_those_of_the_last_record(void **state)
{
	static const struct {
		unsigned module, word;
	} last[] = {
		{ RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_MODE },
		{ RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_RENAMED_FROM },
		{ RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_MEM_ALIGNMENT },
		{ RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_FILE_ALIGNMENT },
		{ RAMA_TAB_MOD_MPIIO, RAMA_TAB_MPIIO_MODE },
		{ RAMA_TAB_MOD_DFS, RAMA_TAB_DFS_CHUNK_SIZE },
		{ RAMA_TAB_MOD_DAOS, RAMA_TAB_DAOS_OBJ_OTYPE },
		{ RAMA_TAB_MOD_DAOS, RAMA_TAB_DAOS_ARRAY_CELL_SIZE },
		{ RAMA_TAB_MOD_DAOS, RAMA_TAB_DAOS_ARRAY_CHUNK_SIZE },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(last); i++) {
		struct sum s;

		begin(&s, last[i].module);
		add_int(&s, 1, last[i].word, 9);
		add_int(&s, 2, last[i].word, 4);
		assert_int_equal(s.w[last[i].word].i, 4);
	}
}

static void offsets_and_times_follow_their_rules(void **state)
{
	struct sum s;

	(void)state;
	begin(&s, RAMA_TAB_MOD_POSIX);
	add_int(&s, 1, RAMA_TAB_POSIX_MAX_BYTE_READ, 5);
	add_int(&s, 2, RAMA_TAB_POSIX_MAX_BYTE_READ, 3);
	assert_int_equal(s.w[RAMA_TAB_POSIX_MAX_BYTE_READ].i, 5);
	add_double(&s, RAMA_TAB_POSIX_F_READ_TIME, 0.5);
	add_double(&s, RAMA_TAB_POSIX_F_READ_TIME, 0.25);
	assert_true(s.w[RAMA_TAB_POSIX_F_READ_TIME].f == 0.75);
	add_double(&s, RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP, -1.0);
	assert_true(s.w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f == 0);
	add_double(&s, RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP, 4.0);
	add_double(&s, RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP, 3.0);
	add_double(&s, RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP, 5.0);
	assert_true(s.w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f == 3.0);
	add_double(&s, RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP, 5.0);
	add_double(&s, RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP, 4.0);
	assert_true(s.w[RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP].f == 5.0);
	add_double(&s, RAMA_TAB_POSIX_F_VARIANCE_RANK_TIME, 5.0);
	assert_true(s.w[RAMA_TAB_POSIX_F_VARIANCE_RANK_TIME].f == 0);
}

static void the_slowest_access_brings_its_size(void **state)
{
	static const struct {
		double time;
		int64_t size;
	} access[] = { { 1.0, 10 }, { 3.0, 30 }, { 3.0, 31 }, { 2.0, 20 } };
	struct sum s;

	(void)state;
	begin(&s, RAMA_TAB_MOD_MPIIO);
	for (size_t i = 0; i < LENGTH(access); i++) {
		struct made m;

		make(&m, RAMA_TAB_MOD_MPIIO, i, 0);
		m.w[RAMA_TAB_MPIIO_F_MAX_WRITE_TIME].f = access[i].time;
		m.w[RAMA_TAB_MPIIO_MAX_WRITE_TIME_SIZE].i = access[i].size;
		rama_core_total_add(&s.t, &m.r);
	}
	assert_true(s.w[RAMA_TAB_MPIIO_F_MAX_WRITE_TIME].f == 3.0);
	assert_int_equal(s.w[RAMA_TAB_MPIIO_MAX_WRITE_TIME_SIZE].i, 30);
}

/* ---- fastest and slowest -------------------------------------------------------------------- */

static void add_rank(struct sum *s, uint64_t id, int64_t rank, double time)
{
	struct made m;

	make(&m, RAMA_TAB_MOD_STDIO, id, rank);
	m.w[RAMA_TAB_STDIO_BYTES_READ].i = 100 + rank;
	m.w[RAMA_TAB_STDIO_F_READ_TIME].f = time / 2;
	m.w[RAMA_TAB_STDIO_F_META_TIME].f = time / 2;
	rama_core_total_add(&s->t, &m.r);
}

static void extremes_are(const struct sum *s, int64_t fast, double fast_time, int64_t slow,
			 double slow_time)
{
	assert_int_equal(s->w[RAMA_TAB_STDIO_FASTEST_RANK].i, fast);
	assert_int_equal(s->w[RAMA_TAB_STDIO_FASTEST_RANK_BYTES].i, fast < 0 ? -1 : 100 + fast);
	assert_true(s->w[RAMA_TAB_STDIO_F_FASTEST_RANK_TIME].f == fast_time);
	assert_int_equal(s->w[RAMA_TAB_STDIO_SLOWEST_RANK].i, slow);
	assert_int_equal(s->w[RAMA_TAB_STDIO_SLOWEST_RANK_BYTES].i, slow < 0 ? -1 : 100 + slow);
	assert_true(s->w[RAMA_TAB_STDIO_F_SLOWEST_RANK_TIME].f == slow_time);
}

static void ranks_of_one_file_are_compared(void **state)
{
	struct sum s;

	(void)state;
	begin(&s, RAMA_TAB_MOD_STDIO);
	add_rank(&s, 7, 2, 4.0);
	extremes_are(&s, 2, 4.0, 2, 4.0);
	add_rank(&s, 7, 0, 1.0);
	add_rank(&s, 7, 1, 8.0);
	add_rank(&s, 7, 3, 8.0); /* not strictly slower */
	extremes_are(&s, 0, 1.0, 1, 8.0);
}

static void ranks_of_several_files_are_not(void **state)
{
	struct sum s;

	(void)state;
	begin(&s, RAMA_TAB_MOD_STDIO);
	add_rank(&s, 7, 2, 4.0);
	add_rank(&s, 8, 3, 1.0);
	extremes_are(&s, -1, 0, -1, 0);
	add_rank(&s, 7, 4, 9.0); /* for good */
	extremes_are(&s, -1, 0, -1, 0);
}

static void a_shared_record_brings_its_own_extremes(void **state)
{
	struct sum s;
	struct made m;

	(void)state;
	begin(&s, RAMA_TAB_MOD_STDIO);
	make(&m, RAMA_TAB_MOD_STDIO, 7, -1);
	m.w[RAMA_TAB_STDIO_BYTES_READ].i = 12345;
	m.w[RAMA_TAB_STDIO_F_READ_TIME].f = 500;
	m.w[RAMA_TAB_STDIO_FASTEST_RANK].i = 4;
	m.w[RAMA_TAB_STDIO_FASTEST_RANK_BYTES].i = 104;
	m.w[RAMA_TAB_STDIO_F_FASTEST_RANK_TIME].f = 2.0;
	m.w[RAMA_TAB_STDIO_SLOWEST_RANK].i = 6;
	m.w[RAMA_TAB_STDIO_SLOWEST_RANK_BYTES].i = 106;
	m.w[RAMA_TAB_STDIO_F_SLOWEST_RANK_TIME].f = 3.0;
	rama_core_total_add(&s.t, &m.r);
	extremes_are(&s, 4, 2.0, 6, 3.0);
}

/* ---- lists of the most frequent values ------------------------------------------------------- */

static void add_list(struct sum *s, const int64_t list[4][2])
{
	struct made m;

	make(&m, s->t.plan.mod->id, 1, 0);
	for (unsigned k = 0; k < 4; k++)
		set_top(m.w, &s->t.plan.access, k, list[k][0], list[k][1]);
	rama_core_total_add(&s->t, &m.r);
}

static void known_values_are_counted_where_they_stand(void **state)
{
	static const int64_t want[4][2] = { { 100, 7 }, { 200, 15 }, { 300, 5 } };
	struct sum s;

	(void)state;
	begin(&s, RAMA_TAB_MOD_POSIX);
	add_list(&s, (const int64_t[4][2]){ { 100, 7 }, { 200, 6 }, { 300, 5 } });
	add_list(&s, (const int64_t[4][2]){ { 200, 9 } });
	check_top(s.w, &s.t.plan.access, want); /* not sorted again */
}

static void new_values_are_put_before_the_first_they_beat(void **state)
{
	struct sum s;

	(void)state;
	begin(&s, RAMA_TAB_MOD_POSIX);
	add_list(&s, (const int64_t[4][2]){ { 100, 7 }, { 200, 6 }, { 300, 5 }, { 400, 4 } });
	add_list(&s, (const int64_t[4][2]){ { 500, 6 } }); /* equal count, larger value */
	check_top(s.w, &s.t.plan.access,
		  (const int64_t[4][2]){ { 100, 7 }, { 500, 6 }, { 200, 6 }, { 300, 5 } });
	add_list(&s, (const int64_t[4][2]){ { 50, 6 } }); /* equal count, smaller value */
	check_top(s.w, &s.t.plan.access,
		  (const int64_t[4][2]){ { 100, 7 }, { 500, 6 }, { 200, 6 }, { 50, 6 } });
	add_list(&s, (const int64_t[4][2]){ { 49, 6 }, { 999, 99 } }); /* beaten by all: stop */
	check_top(s.w, &s.t.plan.access,
		  (const int64_t[4][2]){ { 100, 7 }, { 500, 6 }, { 200, 6 }, { 50, 6 } });
	add_list(&s, (const int64_t[4][2]){ { 0, 0 }, { 999, 99 } }); /* ends at an empty slot... */
	assert_int_equal(s.w[s.t.plan.access.value[0]].i, 100);
}

static void counts_are_compared_as_32_bit_numbers(void **state)
{
	struct sum s;

	(void)state;
	begin(&s, RAMA_TAB_MOD_POSIX);
	add_list(&s, (const int64_t[4][2]){ { 100, 7 } });
	add_list(&s, (const int64_t[4][2]){ { 200, (1ll << 32) + 3 } }); /* counts as 3 */
	check_top(s.w, &s.t.plan.access,
		  (const int64_t[4][2]){ { 100, 7 }, { 200, (1ll << 32) + 3 } });
}

static void mpi_io_ignores_lists_that_begin_empty(void **state)
{
	struct sum s;

	(void)state;
	begin(&s, RAMA_TAB_MOD_MPIIO);
	add_list(&s, (const int64_t[4][2]){ { 0, 0 }, { 200, 6 } });
	check_top(s.w, &s.t.plan.access, (const int64_t[4][2]){ { 0 } });
}

UNIT_GROUP(total, test(totals_exist_for_five_modules), test(counts_are_added),
	   test(negative_sums_become_minus_one_where_they_do),
	   test(some_values_are_those_of_the_last_record),
	   test(offsets_and_times_follow_their_rules), test(the_slowest_access_brings_its_size),
	   test(ranks_of_one_file_are_compared), test(ranks_of_several_files_are_not),
	   test(a_shared_record_brings_its_own_extremes),
	   test(known_values_are_counted_where_they_stand),
	   test(new_values_are_put_before_the_first_they_beat),
	   test(counts_are_compared_as_32_bit_numbers), test(mpi_io_ignores_lists_that_begin_empty))
