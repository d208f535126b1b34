/* SPDX-License-Identifier: BSD-3-Clause */
/* reduce.c: the rules by which the records of several ranks become one. x is the incoming record, y
 * the one accumulated so far. */
#include "words.h"

#include <math.h>

#include "core/sum/reduce.h"

static struct rama_core_plan plan_of(unsigned module)
{
	struct rama_core_plan p;

	rama_core_plan_init(&p, rama_tab_module_get(module));
	return p;
}

/* one word of y after x was taken in */
static union rama_core_word combined(unsigned module, unsigned word, union rama_core_word x,
				     union rama_core_word y)
{
	struct rama_core_plan p = plan_of(module);
	struct made a, b;

	make(&a, module, 1, -1);
	make(&b, module, 1, -1);
	a.w[word] = x;
	b.w[word] = y;
	rama_core_reduce(&p, b.w, a.w);
	return b.w[word];
}

static int64_t ints(unsigned module, unsigned word, int64_t x, int64_t y)
{
	return combined(module, word, (union rama_core_word){ .i = x },
			(union rama_core_word){ .i = y })
		.i;
}

static double doubles(unsigned module, unsigned word, double x, double y)
{
	return combined(module, word, (union rama_core_word){ .f = x },
			(union rama_core_word){ .f = y })
		.f;
}

/* ---- rules by themselves -------------------------------------------------------------------- */

static void counts_and_times_are_added(void **state)
{
	(void)state;
	assert_int_equal(ints(RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_BYTES_READ, 3, 4), 7);
	assert_int_equal(ints(RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_SEQ_WRITES, 3, 4), 7);
	assert_int_equal(ints(RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_FILE_NOT_ALIGNED, 3, 4), 7);
	assert_int_equal(ints(RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_SIZE_WRITE_1G_PLUS, 3, 4), 7);
	assert_int_equal(ints(RAMA_TAB_MOD_H5D, RAMA_TAB_H5D_POINT_SELECTS, 3, 4), 7);
	assert_int_equal(ints(RAMA_TAB_MOD_PNETCDF_VAR, RAMA_TAB_PNETCDF_VAR_BPUT_VARN, 3, 4), 7);
	assert_true(doubles(RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_F_META_TIME, 0.5, 0.25) == 0.75);
	assert_true(doubles(RAMA_TAB_MOD_PNETCDF_FILE, RAMA_TAB_PNETCDF_FILE_F_WAIT_TIME, 0.5,
			    0.25) == 0.75);
}

static void counts_that_are_not_known_stay_minus_one(void **state)
{
	(void)state;
	for (unsigned w = RAMA_TAB_POSIX_OPENS; w <= RAMA_TAB_POSIX_RENAME_TARGETS; w++) {
		assert_int_equal(ints(RAMA_TAB_MOD_POSIX, w, -1, -1), -1);
		assert_int_equal(ints(RAMA_TAB_MOD_POSIX, w, -1, 5), 4);
		assert_int_equal(ints(RAMA_TAB_MOD_POSIX, w, 2, 5), 7);
	}
	for (unsigned w = RAMA_TAB_DFS_OPENS; w <= RAMA_TAB_DFS_STATS; w++)
		assert_int_equal(ints(RAMA_TAB_MOD_DFS, w, -1, -1), -1);
	/* the others are plain sums */
	assert_int_equal(ints(RAMA_TAB_MOD_STDIO, RAMA_TAB_STDIO_FDOPENS, -1, -1), -2);
	assert_int_equal(ints(RAMA_TAB_MOD_MPIIO, RAMA_TAB_MPIIO_COLL_OPENS, -1, -1), -2);
}

static void highest_offsets_win(void **state)
{
	(void)state;
	assert_int_equal(ints(RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_MAX_BYTE_READ, 10, 7), 10);
	assert_int_equal(ints(RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_MAX_BYTE_READ, 7, 10), 10);
	assert_int_equal(ints(RAMA_TAB_MOD_STDIO, RAMA_TAB_STDIO_MAX_BYTE_WRITTEN, 10, 7), 10);
}

static void properties_of_the_file_are_taken_from_the_incoming_record(void **state)
{
	static const struct {
		unsigned module, word;
	} kept[] = {
		{ RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_RENAMED_FROM },
		{ RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_MODE },
		{ RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_MEM_ALIGNMENT },
		{ RAMA_TAB_MOD_POSIX, RAMA_TAB_POSIX_FILE_ALIGNMENT },
		{ RAMA_TAB_MOD_MPIIO, RAMA_TAB_MPIIO_MODE },
		{ RAMA_TAB_MOD_H5D, RAMA_TAB_H5D_DATASPACE_NDIMS },
		{ RAMA_TAB_MOD_H5D, RAMA_TAB_H5D_DATASPACE_NPOINTS },
		{ RAMA_TAB_MOD_H5D, RAMA_TAB_H5D_DATATYPE_SIZE },
		{ RAMA_TAB_MOD_H5D, RAMA_TAB_H5D_CHUNK_SIZE_D5 },
		{ RAMA_TAB_MOD_H5D, RAMA_TAB_H5D_FILE_REC_ID },
		{ RAMA_TAB_MOD_PNETCDF_VAR, RAMA_TAB_PNETCDF_VAR_NDIMS },
		{ RAMA_TAB_MOD_PNETCDF_VAR, RAMA_TAB_PNETCDF_VAR_NPOINTS },
		{ RAMA_TAB_MOD_PNETCDF_VAR, RAMA_TAB_PNETCDF_VAR_FILE_REC_ID },
		{ RAMA_TAB_MOD_DFS, RAMA_TAB_DFS_CHUNK_SIZE },
		{ RAMA_TAB_MOD_DFS, RAMA_TAB_DFS_POOL_UUID },
		{ RAMA_TAB_MOD_DFS, RAMA_TAB_DFS_POOL_UUID + 1 },
		{ RAMA_TAB_MOD_DFS, RAMA_TAB_DFS_CONT_UUID + 1 },
		{ RAMA_TAB_MOD_DAOS, RAMA_TAB_DAOS_OBJ_OTYPE },
		{ RAMA_TAB_MOD_DAOS, RAMA_TAB_DAOS_ARRAY_CELL_SIZE },
		{ RAMA_TAB_MOD_DAOS, RAMA_TAB_DAOS_CONT_UUID },
		{ RAMA_TAB_MOD_MDHIM, RAMA_TAB_MDHIM_SERVERS },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(kept); i++)
		assert_int_equal(ints(kept[i].module, kept[i].word, 3, 4), 3);
}

static void what_one_rank_did_the_file_had(void **state)
{
	static const struct {
		unsigned module, word;
	} any[] = {
		{ RAMA_TAB_MOD_H5F, RAMA_TAB_H5F_USE_MPIIO },
		{ RAMA_TAB_MOD_H5D, RAMA_TAB_H5D_USE_MPIIO_COLLECTIVE },
		{ RAMA_TAB_MOD_H5D, RAMA_TAB_H5D_USE_DEPRECATED },
		{ RAMA_TAB_MOD_PNETCDF_VAR, RAMA_TAB_PNETCDF_VAR_IS_RECORD_VAR },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(any); i++) {
		assert_int_equal(ints(any[i].module, any[i].word, 0, 0), 0);
		assert_int_equal(ints(any[i].module, any[i].word, 1, 0), 1);
		assert_int_equal(ints(any[i].module, any[i].word, 0, 1), 1);
		assert_int_equal(ints(any[i].module, any[i].word, 1, 1), 1);
	}
}

static void first_starts_and_last_ends_win(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		unsigned w = RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP + k;

		assert_true(doubles(RAMA_TAB_MOD_POSIX, w, 2.0, 3.0) == 2.0);
		assert_true(doubles(RAMA_TAB_MOD_POSIX, w, 3.0, 2.0) == 2.0);
		/* 0: never happened */
		assert_true(doubles(RAMA_TAB_MOD_POSIX, w, 0.0, 2.0) == 2.0);
		assert_true(doubles(RAMA_TAB_MOD_POSIX, w, 2.0, 0.0) == 2.0);
		assert_true(doubles(RAMA_TAB_MOD_POSIX, w, -1.0, 2.0) == 2.0);
		w = RAMA_TAB_POSIX_F_OPEN_END_TIMESTAMP + k;
		assert_true(doubles(RAMA_TAB_MOD_POSIX, w, 2.0, 3.0) == 3.0);
		assert_true(doubles(RAMA_TAB_MOD_POSIX, w, 3.0, 2.0) == 3.0);
		assert_true(doubles(RAMA_TAB_MOD_POSIX, w, 0.0, 2.0) == 2.0);
	}
}

static void the_slowest_access_brings_its_size(void **state)
{
	struct rama_core_plan p = plan_of(RAMA_TAB_MOD_POSIX);
	struct made x, y;

	(void)state;
	make(&x, RAMA_TAB_MOD_POSIX, 1, -1);
	make(&y, RAMA_TAB_MOD_POSIX, 1, -1);
	x.w[RAMA_TAB_POSIX_F_MAX_READ_TIME].f = 2.0;
	x.w[RAMA_TAB_POSIX_MAX_READ_TIME_SIZE].i = 200;
	y.w[RAMA_TAB_POSIX_F_MAX_READ_TIME].f = 1.0;
	y.w[RAMA_TAB_POSIX_MAX_READ_TIME_SIZE].i = 100;
	x.w[RAMA_TAB_POSIX_F_MAX_WRITE_TIME].f = 3.0; /* equal: what is there stays */
	x.w[RAMA_TAB_POSIX_MAX_WRITE_TIME_SIZE].i = 300;
	y.w[RAMA_TAB_POSIX_F_MAX_WRITE_TIME].f = 3.0;
	y.w[RAMA_TAB_POSIX_MAX_WRITE_TIME_SIZE].i = 400;
	rama_core_reduce(&p, y.w, x.w);
	assert_true(y.w[RAMA_TAB_POSIX_F_MAX_READ_TIME].f == 2.0);
	assert_int_equal(y.w[RAMA_TAB_POSIX_MAX_READ_TIME_SIZE].i, 200);
	assert_int_equal(y.w[RAMA_TAB_POSIX_MAX_WRITE_TIME_SIZE].i, 400);
}

/* a record of a rank that moved `bytes` in `time` */
static void busy(struct made *m, int64_t rank, int64_t bytes, double time)
{
	make(m, RAMA_TAB_MOD_POSIX, 1, rank);
	m->w[RAMA_TAB_POSIX_BYTES_READ].i = bytes / 2;
	m->w[RAMA_TAB_POSIX_BYTES_WRITTEN].i = bytes - bytes / 2;
	m->w[RAMA_TAB_POSIX_F_READ_TIME].f = time / 2;
	m->w[RAMA_TAB_POSIX_F_WRITE_TIME].f = time / 4;
	m->w[RAMA_TAB_POSIX_F_META_TIME].f = time / 4;
}

static void a_rank_is_its_own_fastest_and_slowest_at_first(void **state)
{
	struct rama_core_plan p = plan_of(RAMA_TAB_MOD_POSIX);
	struct made m;

	(void)state;
	busy(&m, 5, 1000, 4.0);
	rama_core_reduce_prepare(&p, m.w);
	assert_int_equal(m.w[RAMA_TAB_RANK].i, -1);
	assert_int_equal(m.w[RAMA_TAB_POSIX_FASTEST_RANK].i, 5);
	assert_int_equal(m.w[RAMA_TAB_POSIX_SLOWEST_RANK].i, 5);
	assert_int_equal(m.w[RAMA_TAB_POSIX_FASTEST_RANK_BYTES].i, 1000);
	assert_int_equal(m.w[RAMA_TAB_POSIX_SLOWEST_RANK_BYTES].i, 1000);
	assert_true(m.w[RAMA_TAB_POSIX_F_FASTEST_RANK_TIME].f == 4.0);
	assert_true(m.w[RAMA_TAB_POSIX_F_SLOWEST_RANK_TIME].f == 4.0);
}

static void fastest_and_slowest_keep_rank_bytes_and_time_together(void **state)
{
	static const struct {
		int64_t rank, bytes;
		double time;
	} ranks[] = {
		{ 3, 30, 2.0 }, { 1, 10, 0.0 }, { 0, 5, 8.0 }, { 2, 20, 8.0 }, { 4, 40, 0.0 }
	};
	struct rama_core_plan p = plan_of(RAMA_TAB_MOD_POSIX);
	struct made x, y;

	(void)state;
	busy(&y, ranks[0].rank, ranks[0].bytes, ranks[0].time);
	rama_core_reduce_prepare(&p, y.w);
	for (size_t i = 1; i < LENGTH(ranks); i++) {
		busy(&x, ranks[i].rank, ranks[i].bytes, ranks[i].time);
		rama_core_reduce_prepare(&p, x.w);
		rama_core_reduce(&p, y.w, x.w);
	}
	/* times of 0 are times too; equal ones do not replace */
	assert_int_equal(y.w[RAMA_TAB_POSIX_FASTEST_RANK].i, 1);
	assert_int_equal(y.w[RAMA_TAB_POSIX_FASTEST_RANK_BYTES].i, 10);
	assert_true(y.w[RAMA_TAB_POSIX_F_FASTEST_RANK_TIME].f == 0.0);
	assert_int_equal(y.w[RAMA_TAB_POSIX_SLOWEST_RANK].i, 0);
	assert_int_equal(y.w[RAMA_TAB_POSIX_SLOWEST_RANK_BYTES].i, 5);
	assert_true(y.w[RAMA_TAB_POSIX_F_SLOWEST_RANK_TIME].f == 8.0);
}

static void a_record_of_one_rank_finds_its_way_back(void **state)
{
	struct rama_core_plan p = plan_of(RAMA_TAB_MOD_POSIX);
	struct made before, m;

	(void)state;
	busy(&before, 0, 1000, 4.0);
	m = before;
	rama_core_reduce_prepare(&p, m.w);
	rama_core_reduce_finish(&p, m.w, rama_core_spread_of(&p, m.w, 1));
	rama_core_reduce_undo(&p, m.w, 0);
	assert_memory_equal(m.w, before.w, sizeof(m.w)); /* all of FASTEST.., VARIANCE.. is 0 */
}

static void mdhim_has_rules_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(ints(RAMA_TAB_MOD_MDHIM, RAMA_TAB_MDHIM_PUTS, 3, 4), 7);
	assert_int_equal(ints(RAMA_TAB_MOD_MDHIM, RAMA_TAB_MDHIM_GETS, 3, 4), 7);
	assert_int_equal(ints(RAMA_TAB_MOD_MDHIM, RAMA_TAB_MDHIM_PUT_MAX_SIZE, 3, 4), 4);
	assert_int_equal(ints(RAMA_TAB_MOD_MDHIM, RAMA_TAB_MDHIM_GET_MAX_SIZE, 3, 4), 4);
	assert_true(doubles(RAMA_TAB_MOD_MDHIM, RAMA_TAB_MDHIM_F_PUT_TIMESTAMP, 3, 4) == 3);
	assert_true(doubles(RAMA_TAB_MOD_MDHIM, RAMA_TAB_MDHIM_F_GET_TIMESTAMP, 0, 4) == 4);
	assert_true(doubles(RAMA_TAB_MOD_MDHIM, RAMA_TAB_MDHIM_F_PUT_MAX_DURATION, 3, 4) == 4);
	assert_true(doubles(RAMA_TAB_MOD_MDHIM, RAMA_TAB_MDHIM_F_GET_MAX_DURATION, 5, 4) == 5);
}

static void some_modules_are_never_reduced(void **state)
{
	(void)state;
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		bool never = id == RAMA_TAB_MOD_DXT_POSIX || id == RAMA_TAB_MOD_DXT_MPIIO ||
			     id == RAMA_TAB_MOD_DXT_STDIO || id == RAMA_TAB_MOD_HEATMAP ||
			     id == RAMA_TAB_MOD_APMPI || id == RAMA_TAB_MOD_APXC ||
			     id == RAMA_TAB_MOD_LUSTRE || id == RAMA_TAB_MOD_PROCESS ||
			     id == RAMA_TAB_MOD_CALLS || id == RAMA_TAB_MOD_PHASE ||
			     id == RAMA_TAB_MOD_SITES;

		if (rama_tab_module_get(id))
			assert_int_equal(rama_core_reducible(rama_tab_module_get(id)), !never);
	}
}

/* ---- lists of the most frequent values ------------------------------------------------------- */

static void equal_values_add_their_counts_and_the_best_four_stay(void **state)
{
	static const int64_t want[4][2] = { { 100, 11 }, { 900, 9 }, { 512, 5 }, { 64, 5 } };
	struct rama_core_plan p = plan_of(RAMA_TAB_MOD_POSIX);
	struct made x, y;

	(void)state;
	make(&x, RAMA_TAB_MOD_POSIX, 1, -1);
	make(&y, RAMA_TAB_MOD_POSIX, 1, -1);
	set_top(y.w, &p.access, 0, 100, 7);
	set_top(y.w, &p.access, 1, 64, 5);
	set_top(y.w, &p.access, 2, 7, 2);
	set_top(x.w, &p.access, 0, 900, 9);
	set_top(x.w, &p.access, 1, 512, 5);
	set_top(x.w, &p.access, 2, 100, 4);
	set_top(x.w, &p.access, 3, 7, 1);
	set_top(x.w, &p.stride, 0, 8, 3);
	rama_core_reduce(&p, y.w, x.w);
	check_top(y.w, &p.access, want); /* by count, then by value; 7 has only 3 */
	check_top(y.w, &p.stride, (const int64_t[4][2]){ { 8, 3 } });
}

static void accesses_to_arrays_are_equal_only_in_all_dimensions(void **state)
{
	struct rama_core_plan p = plan_of(RAMA_TAB_MOD_H5D);
	struct made x, y;

	(void)state;
	assert_int_equal(p.access.width, 11);
	make(&x, RAMA_TAB_MOD_H5D, 1, -1);
	make(&y, RAMA_TAB_MOD_H5D, 1, -1);
	set_top(y.w, &p.access, 0, 800, 3);
	y.w[RAMA_TAB_H5D_ACCESS1_LENGTH_D5].i = 10;
	set_top(x.w, &p.access, 0, 800, 2);
	x.w[RAMA_TAB_H5D_ACCESS1_LENGTH_D5].i = 20; /* same size, other shape */
	set_top(x.w, &p.access, 1, 800, 4);
	x.w[RAMA_TAB_H5D_ACCESS2_LENGTH_D5].i = 10; /* same shape */
	rama_core_reduce(&p, y.w, x.w);
	check_top(y.w, &p.access, (const int64_t[4][2]){ { 800, 7 }, { 800, 2 } });
	assert_int_equal(y.w[RAMA_TAB_H5D_ACCESS1_LENGTH_D5].i, 10);
	assert_int_equal(y.w[RAMA_TAB_H5D_ACCESS2_LENGTH_D5].i, 20);
	assert_int_equal(y.w[RAMA_TAB_H5D_ACCESS3_LENGTH_D5].i, 0);
}

/* ---- properties ----------------------------------------------------------------------------- */

static bool associative(uint8_t reduce, uint8_t type)
{
	switch (reduce) {
	case RAMA_TAB_SUM:
		return type != RAMA_TAB_F64; /* doubles round */
	case RAMA_TAB_MAX:
	case RAMA_TAB_MIN_NZ:
	case RAMA_TAB_ANY:
	case RAMA_TAB_LEAD_READ:
	case RAMA_TAB_LEAD_WRITE:
	case RAMA_TAB_FAST_TIME:
	case RAMA_TAB_SLOW_TIME:
	case RAMA_TAB_ACCESS_VALUE:
	case RAMA_TAB_ACCESS_MORE:
	case RAMA_TAB_ACCESS_COUNT:
	case RAMA_TAB_STRIDE_VALUE:
	case RAMA_TAB_STRIDE_COUNT:
		return true;
	default:
		return false;
	}
}

/* lists of at most two of three values: three records never have more than four distinct ones */
static void random_top(struct rng *r, union rama_core_word *w, const struct rama_core_top *top)
{
	unsigned n = top->width > 0 ? (unsigned)rng_below(r, 3) : 0;
	int64_t first = (int64_t)rng_below(r, 3);

	for (unsigned k = 0; k < n; k++)
		set_top(w, top, k, 1000 + (first + k) % 3, 1 + (int64_t)rng_below(r, 50));
}

static void random_record(struct rng *r, const struct rama_core_plan *p, struct made *m)
{
	make(m, p->mod->id, 1, -1);
	for (unsigned i = 0; i < *p->mod->record->n_fields; i++) {
		const struct rama_tab_field *f = &p->mod->record->fields[i];

		if (!associative(f->reduce, f->type) || f->word == RAMA_TAB_NO_WORD)
			continue;
		if (f->reduce == RAMA_TAB_ANY)
			m->w[f->word].i = (int64_t)rng_below(r, 2);
		else if (f->type == RAMA_TAB_F64)
			m->w[f->word].f = rng_below(r, 4) == 0 ? 0 : rng_unit(r) * 100;
		else if (f->reduce == RAMA_TAB_SUM || f->reduce == RAMA_TAB_MAX)
			m->w[f->word].i = (int64_t)rng_below(r, 1 << 30);
	}
	random_top(r, m->w, &p->access);
	random_top(r, m->w, &p->stride);
}

static void compare(const struct rama_core_plan *p, const struct made *a, const struct made *b)
{
	for (unsigned i = 0; i < *p->mod->record->n_fields; i++) {
		const struct rama_tab_field *f = &p->mod->record->fields[i];

		if (f->word != RAMA_TAB_NO_WORD && associative(f->reduce, f->type) &&
		    a->w[f->word].u != b->w[f->word].u)
			fail_msg("%s depends on the order of reduction", f->name);
	}
}

static void the_order_of_reduction_does_not_matter(void **state)
{
	static const unsigned modules[] = { RAMA_TAB_MOD_POSIX,	      RAMA_TAB_MOD_MPIIO,
					    RAMA_TAB_MOD_STDIO,	      RAMA_TAB_MOD_H5F,
					    RAMA_TAB_MOD_H5D,	      RAMA_TAB_MOD_PNETCDF_FILE,
					    RAMA_TAB_MOD_DFS,	      RAMA_TAB_MOD_DAOS,
					    RAMA_TAB_MOD_PNETCDF_VAR, RAMA_TAB_MOD_MDHIM };
	struct rng r = { 5 };

	(void)state;
	for (unsigned i = 0; i < 2000; i++) {
		struct rama_core_plan p = plan_of(modules[i % LENGTH(modules)]);
		struct made a, b, c, left, right, other;

		random_record(&r, &p, &a);
		random_record(&r, &p, &b);
		random_record(&r, &p, &c);
		left = a; /* (a b) c */
		rama_core_reduce(&p, left.w, b.w);
		rama_core_reduce(&p, left.w, c.w);
		right = b; /* a (b c), and the other way round */
		rama_core_reduce(&p, right.w, c.w);
		other = right;
		rama_core_reduce(&p, right.w, a.w);
		compare(&p, &left, &right);
		rama_core_reduce(&p, a.w, other.w);
		compare(&p, &left, &a);
	}
}

static double variance(const double *v, unsigned n)
{
	double mean = 0, sum = 0;

	for (unsigned i = 0; i < n; i++)
		mean += v[i] / n;
	for (unsigned i = 0; i < n; i++)
		sum += (v[i] - mean) * (v[i] - mean) / n;
	return sum;
}

static void close_to(double a, double b)
{
	if (fabs(a - b) > 1e-9 * (fabs(a) + fabs(b)) + 1e-12)
		fail_msg("%.17g is not close to %.17g", a, b);
}

/* ranks in groups of random sizes, each reduced by itself, then together */
static void one_variance(struct rng *r, const struct rama_core_plan *p, unsigned n)
{
	double time[64], bytes[64];
	struct rama_core_spread all = { 0 }, group = { 0 };
	struct made m;

	for (unsigned i = 0; i < n; i++) {
		bytes[i] = (double)rng_below(r, 1 << 20);
		time[i] = rng_unit(r) * 100;
		busy(&m, i, (int64_t)bytes[i], time[i]);
		group = rama_core_spread_merge(group, rama_core_spread_of(p, m.w, 1));
		if (rng_below(r, 4) == 0) {
			all = rama_core_spread_merge(all, group);
			group = (struct rama_core_spread){ 0 };
		}
	}
	all = rama_core_spread_merge(group, all);
	rama_core_reduce_finish(p, m.w, all);
	close_to(m.w[RAMA_TAB_POSIX_F_VARIANCE_RANK_TIME].f, variance(time, n));
	close_to(m.w[RAMA_TAB_POSIX_F_VARIANCE_RANK_BYTES].f, variance(bytes, n));
}

static void merged_variances_are_those_of_all_ranks(void **state)
{
	struct rama_core_plan p = plan_of(RAMA_TAB_MOD_POSIX);
	struct rng r = { 6 };

	(void)state;
	for (unsigned i = 0; i < 500; i++)
		one_variance(&r, &p, 1 + (unsigned)rng_below(&r, 64));
}

/* a record that was reduced before brings its own variance */
static void variances_of_reduced_records_can_be_merged(void **state)
{
	static const double time[] = { 1, 5, 9, 2 }, bytes[] = { 10, 70, 30, 50 };
	struct rama_core_plan p = plan_of(RAMA_TAB_MOD_POSIX);
	struct rama_core_spread s = { 0 };
	struct made m, x;

	(void)state;
	busy(&m, 0, 10, 1);
	for (unsigned i = 0; i < 3; i++) {
		busy(&x, i, (int64_t)bytes[i], time[i]);
		s = rama_core_spread_merge(s, rama_core_spread_of(&p, x.w, 1));
		rama_core_reduce_prepare(&p, x.w);
		if (i == 0)
			m = x;
		else
			rama_core_reduce(&p, m.w, x.w);
	}
	rama_core_reduce_finish(&p, m.w, s);
	close_to(m.w[RAMA_TAB_POSIX_F_VARIANCE_RANK_TIME].f, variance(time, 3));
	busy(&x, 3, (int64_t)bytes[3], time[3]);
	s = rama_core_spread_merge(rama_core_spread_of(&p, m.w, 3),
				   rama_core_spread_of(&p, x.w, 1));
	rama_core_reduce_finish(&p, m.w, s);
	close_to(m.w[RAMA_TAB_POSIX_F_VARIANCE_RANK_TIME].f, variance(time, 4));
	close_to(m.w[RAMA_TAB_POSIX_F_VARIANCE_RANK_BYTES].f, variance(bytes, 4));
}

UNIT_GROUP(reduce, test(counts_and_times_are_added), test(counts_that_are_not_known_stay_minus_one),
	   test(highest_offsets_win),
	   test(properties_of_the_file_are_taken_from_the_incoming_record),
	   test(what_one_rank_did_the_file_had), test(first_starts_and_last_ends_win),
	   test(the_slowest_access_brings_its_size),
	   test(a_rank_is_its_own_fastest_and_slowest_at_first),
	   test(fastest_and_slowest_keep_rank_bytes_and_time_together),
	   test(a_record_of_one_rank_finds_its_way_back), test(mdhim_has_rules_of_its_own),
	   test(some_modules_are_never_reduced),
	   test(equal_values_add_their_counts_and_the_best_four_stay),
	   test(accesses_to_arrays_are_equal_only_in_all_dimensions),
	   test(the_order_of_reduction_does_not_matter),
	   test(merged_variances_are_those_of_all_ranks),
	   test(variances_of_reduced_records_can_be_merged))
