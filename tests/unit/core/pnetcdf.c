/* SPDX-License-Identifier: BSD-3-Clause */
/* pnetcdf.c: what ncmpi_* calls do to the counters of a file and of a variable. */
#include "ops.h"

#include "core/pnetcdf.h"

#define TICK 0.5 /* seconds */

static struct rama_core_pnetcdf_file f;
static struct rama_core_pnetcdf_var v;
static union rama_core_word fw[RAMA_TAB_PNETCDF_FILE__WORDS], vw[RAMA_TAB_PNETCDF_VAR__WORDS];

static int fresh(void **state)
{
	(void)state;
	now = 1000;
	rama_core_pnetcdf_file_init(&f, 42);
	rama_core_pnetcdf_var_init(&v, 43, 42);
	return 0;
}

static struct rama_core_op with(struct rama_core_op op, unsigned how)
{
	op.how = (uint8_t)how;
	return op;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void apply(struct rama_core_op op)
{
	rama_core_pnetcdf_file_apply(&f, &op);
}

static int64_t count(unsigned word)
{
	rama_core_pnetcdf_file_finish(&f, TICK, fw);
	return fw[word].i;
}

static double ticks(unsigned word)
{
	rama_core_pnetcdf_file_finish(&f, TICK, fw);
	return fw[word].f / TICK;
}

static void each_call_adds_to_its_counter_alone(void **state)
{
	static const struct {
		unsigned kind, how, word;
	} truth[] = {
		{ RAMA_TAB_OP_CREATE, 0, RAMA_TAB_PNETCDF_FILE_CREATES },
		{ RAMA_TAB_OP_OPEN, 0, RAMA_TAB_PNETCDF_FILE_OPENS },
		{ RAMA_TAB_OP_REDEF, 0, RAMA_TAB_PNETCDF_FILE_REDEFS },
		{ RAMA_TAB_OP_SYNC, 0, RAMA_TAB_PNETCDF_FILE_SYNCS },
		{ RAMA_TAB_OP_WAIT, RAMA_CORE_NC_HOW_INDEP, RAMA_TAB_PNETCDF_FILE_INDEP_WAITS },
		{ RAMA_TAB_OP_WAIT, RAMA_CORE_NC_HOW_COLL, RAMA_TAB_PNETCDF_FILE_COLL_WAITS },
		{ RAMA_TAB_OP_ENDDEF, 0, 0 }, /* time alone */
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(truth); i++) {
		bool wait = truth[i].kind == RAMA_TAB_OP_WAIT;

		fresh(NULL);
		apply(with(call(truth[i].kind, 6), truth[i].how));
		apply(with(call(truth[i].kind, 6), truth[i].how));
		for (unsigned k = RAMA_TAB_PNETCDF_FILE_CREATES;
		     k <= RAMA_TAB_PNETCDF_FILE_WAIT_FAILURES; k++)
			assert_int_equal(count(k), k == truth[i].word ? 2 : 0);
		assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_META_TIME) == (wait ? 0 : 12));
		assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_WAIT_TIME) == (wait ? 12 : 0));
	}
	assert_int_equal(count(RAMA_TAB_ID), 42);
}

static void creating_and_opening_share_their_moments(void **state)
{
	(void)state;
	apply(call_at(RAMA_TAB_OP_CREATE, 100, 110));
	apply(call_at(RAMA_TAB_OP_OPEN, 200, 210));
	apply(call_at(RAMA_TAB_OP_CLOSE, 300, 310));
	apply(call_at(RAMA_TAB_OP_WAIT, 250, 260));
	apply(call_at(RAMA_TAB_OP_WAIT, 255, 270)); /* overlaps: 10 more */
	assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_OPEN_START_TIMESTAMP) == 100);
	assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_OPEN_END_TIMESTAMP) == 210);
	assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_CLOSE_START_TIMESTAMP) == 300);
	assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_CLOSE_END_TIMESTAMP) == 310);
	assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_WAIT_START_TIMESTAMP) == 250);
	assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_WAIT_END_TIMESTAMP) == 270);
	assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_META_TIME) == 30);
	assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_WAIT_TIME) == 20);
}

static void the_library_tells_at_close_what_it_moved(void **state)
{
	struct rama_core_op op = call(RAMA_TAB_OP_CLOSE, 5);

	(void)state;
	op.off = 1000;
	op.bytes = 30;
	apply(op);
	apply(op);
	assert_int_equal(count(RAMA_TAB_PNETCDF_FILE_BYTES_READ), 2000);
	assert_int_equal(count(RAMA_TAB_PNETCDF_FILE_BYTES_WRITTEN), 60);
	op.off = -1; /* it could not say */
	apply(op);
	op.off = 1000;
	apply(op);
	assert_int_equal(count(RAMA_TAB_PNETCDF_FILE_BYTES_READ), -1);
	assert_int_equal(count(RAMA_TAB_PNETCDF_FILE_BYTES_WRITTEN), 120);
}

static void failed_waits_take_time_too(void **state)
{
	(void)state;
	apply(with(failing(RAMA_TAB_OP_WAIT), RAMA_CORE_NC_HOW_COLL));
	apply(with(failing(RAMA_TAB_OP_WAIT), RAMA_CORE_NC_HOW_INDEP));
	assert_int_equal(count(RAMA_TAB_PNETCDF_FILE_WAIT_FAILURES), 2);
	assert_int_equal(count(RAMA_TAB_PNETCDF_FILE_COLL_WAITS), 0);
	assert_int_equal(count(RAMA_TAB_PNETCDF_FILE_INDEP_WAITS), 0);
	assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_WAIT_TIME) == 10);
	assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_WAIT_START_TIMESTAMP) == 1000);
}

static void other_failures_and_calls_change_no_file(void **state)
{
	struct rama_core_pnetcdf_file before = f;

	(void)state;
	for (unsigned kind = 0; kind < 256; kind++) {
		if (kind != RAMA_TAB_OP_CLOSE && kind != RAMA_TAB_OP_WAIT)
			apply(failing(kind));
		if (kind == RAMA_TAB_OP_READ || kind == RAMA_TAB_OP_STAT || kind >= RAMA_TAB_OPS)
			apply(call(kind, 5));
	}
	assert_memory_equal(&f, &before, sizeof(f));
}

/* ---- variables ------------------------------------------------------------------------------- */

static int64_t vcount(unsigned word)
{
	rama_core_pnetcdf_var_finish(&v, TICK, vw);
	return vw[word].i;
}

static double vticks(unsigned word)
{
	rama_core_pnetcdf_var_finish(&v, TICK, vw);
	return vw[word].f / TICK;
}

static void access_by(struct rama_core_op op, unsigned how, unsigned form)
{
	struct rama_core_pnetcdf_access a = { .form = (uint8_t)form };

	op.how = (uint8_t)how;
	rama_core_pnetcdf_var_apply(&v, &op, &a);
}

static void a_variable_is_opened_by_defining_or_finding_it(void **state)
{
	struct rama_core_pnetcdf_shape s = {
		.ndims = 3, .npoints = 1048576, .type_size = 1, .is_record = true
	};
	struct rama_core_op op = call(RAMA_TAB_OP_OPEN, 4);

	(void)state;
	assert_int_equal(vcount(RAMA_TAB_ID), 43);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_FILE_REC_ID), 42);
	rama_core_pnetcdf_var_open(&v, &op, &s);
	op.ok = false;
	rama_core_pnetcdf_var_open(&v, &op, &(struct rama_core_pnetcdf_shape){ .ndims = 9 });
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_OPENS), 1);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_NDIMS), 3);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_NPOINTS), 1048576);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_DATATYPE_SIZE), 1);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_IS_RECORD_VAR), 1);
	assert_true(vticks(RAMA_TAB_PNETCDF_VAR_F_META_TIME) == 4);
	assert_true(vticks(RAMA_TAB_PNETCDF_VAR_F_OPEN_START_TIMESTAMP) == (double)op.t0);
	/* met without being opened */
	op = call(RAMA_TAB_OP_NOTHING, 4);
	s.npoints = 7;
	rama_core_pnetcdf_var_open(&v, &op, &s);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_NPOINTS), 7);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_OPENS), 1);
	assert_true(vticks(RAMA_TAB_PNETCDF_VAR_F_META_TIME) == 4);
}

/* of blocking, non-blocking and buffered calls alike: by name, the truth is in the names */
static void each_call_has_two_counters(void **state)
{
	static const struct {
		unsigned kind, how;
		const char *call, *way;
	} calls[] = {
		{ RAMA_TAB_OP_WRITE, RAMA_CORE_NC_HOW_INDEP, "PUT", "INDEP_WRITES" },
		{ RAMA_TAB_OP_WRITE, RAMA_CORE_NC_HOW_COLL, "PUT", "COLL_WRITES" },
		{ RAMA_TAB_OP_READ, RAMA_CORE_NC_HOW_INDEP, "GET", "INDEP_READS" },
		{ RAMA_TAB_OP_READ, RAMA_CORE_NC_HOW_COLL, "GET", "COLL_READS" },
		{ RAMA_TAB_OP_WRITE, RAMA_CORE_NC_HOW_NB, "IPUT", "NB_WRITES" },
		{ RAMA_TAB_OP_READ, RAMA_CORE_NC_HOW_NB, "IGET", "NB_READS" },
		{ RAMA_TAB_OP_WRITE, RAMA_CORE_NC_HOW_BUFFERED, "BPUT", "NB_WRITES" },
	};
	static const char *const forms[] = {
		"VAR", "VAR1", "VARA", "VARS", "VARM", "VARN", "VARD"
	};
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_PNETCDF_VAR);

	(void)state;
	for (size_t i = 0; i < LENGTH(calls); i++) {
		for (unsigned form = 0; form < LENGTH(forms); form++) {
			char name[32];
			const struct rama_tab_field *field;

			fresh(NULL);
			access_by(next(calls[i].kind, 10), calls[i].how, form);
			snprintf(name, sizeof(name), "%s_%s", calls[i].call, forms[form]);
			field = rama_tab_field_find(mod, name);
			if (field) /* IPUT_VARD and its like do not exist */
				assert_int_equal(vcount(field->word), 1);
			else
				assert_true(form == RAMA_CORE_NC_VARD &&
					    calls[i].how >= RAMA_CORE_NC_HOW_NB);
			assert_int_equal(vcount(rama_tab_field_find(mod, calls[i].way)->word), 1);
			for (unsigned k = RAMA_TAB_PNETCDF_VAR_PUT_VAR;
			     k <= RAMA_TAB_PNETCDF_VAR_BPUT_VARN; k++)
				assert_int_equal(vcount(k), field && k == field->word);
		}
	}
}

static void counts_and_strides_have_their_slots(void **state)
{
	static const int64_t counts[] = { 1, 2, 3, 4, 5, 6, 7 },
			     strides[] = { 11, 12, 13, 14, 15, 16, 17 };
	struct rama_core_pnetcdf_access a = { .form = RAMA_CORE_NC_VARA };

	(void)state;
	assert_int_equal(rama_core_pnetcdf_select(&a, 3, counts, NULL), 6);
	assert_memory_equal(a.length, ((const int64_t[5]){ 1, 2, 3 }), sizeof(a.length));
	assert_memory_equal(a.stride, ((const int64_t[5]){ 0 }), sizeof(a.stride));
	a.form = RAMA_CORE_NC_VARS;
	assert_int_equal(rama_core_pnetcdf_select(&a, 2, counts, strides), 2);
	assert_memory_equal(a.length, ((const int64_t[5]){ 1, 2 }), sizeof(a.length));
	assert_memory_equal(a.stride, ((const int64_t[5]){ 11, 12 }), sizeof(a.stride));
	a.form = RAMA_CORE_NC_VARM;
	assert_int_equal(rama_core_pnetcdf_select(&a, 3, counts, NULL), 6);
	assert_memory_equal(a.stride, ((const int64_t[5]){ 1, 1, 1 }), sizeof(a.stride));
	/* the last five */
	assert_int_equal(rama_core_pnetcdf_select(&a, 7, counts, strides), 5040);
	assert_memory_equal(a.length, ((const int64_t[5]){ 3, 4, 5, 6, 7 }), sizeof(a.length));
	assert_memory_equal(a.stride, ((const int64_t[5]){ 13, 14, 15, 16, 17 }), sizeof(a.stride));
	assert_int_equal(rama_core_pnetcdf_select(&a, 0, NULL, NULL), 1); /* a scalar */
	assert_memory_equal(a.length, ((const int64_t[5]){ 0 }), sizeof(a.length));
}

static void impossible_counts_are_no_harm(void **state)
{
	struct rama_core_pnetcdf_access a = { .form = RAMA_CORE_NC_VARA };

	(void)state;
	assert_int_equal(rama_core_pnetcdf_select(&a, 2, (const int64_t[]){ INT64_MAX, 3 }, NULL),
			 INT64_MAX);
	assert_int_equal(
		rama_core_pnetcdf_select(&a, 3, (const int64_t[]){ INT64_MAX, 3, 0 }, NULL), 0);
	assert_int_equal(rama_core_pnetcdf_select(&a, 2, (const int64_t[]){ -1, -1 }, NULL), 0);
}

/* as a log of the stock tools has it: 1 x 1 x 262144 bytes, four times written and read */
static void an_access_is_ranked_with_its_shape(void **state)
{
	struct rama_core_pnetcdf_access a = { .form = RAMA_CORE_NC_VARA };

	(void)state;
	rama_core_pnetcdf_select(&a, 3, (const int64_t[]){ 1, 1, 262144 }, NULL);
	for (int i = 0; i < 8; i++) {
		struct rama_core_op op = next(i < 4 ? RAMA_TAB_OP_WRITE : RAMA_TAB_OP_READ, 262144);

		rama_core_pnetcdf_var_apply(&v, &op, &a);
	}
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_ACCESS1_ACCESS), 262144);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_ACCESS1_LENGTH_D1), 1);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_ACCESS1_LENGTH_D2), 1);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_ACCESS1_LENGTH_D3), 262144);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_ACCESS1_LENGTH_D4), 0);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_ACCESS1_STRIDE_D1), 0);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_ACCESS1_COUNT), 8);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_ACCESS2_COUNT), 0);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_RW_SWITCHES), 1);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_BYTES_READ), 1048576);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_BYTES_WRITTEN), 1048576);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_SIZE_READ_AGG_100K_1M), 4);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_SIZE_WRITE_AGG_100K_1M), 4);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_MAX_READ_TIME_SIZE), 262144);
	assert_true(vticks(RAMA_TAB_PNETCDF_VAR_F_READ_TIME) == 20);
	assert_true(vticks(RAMA_TAB_PNETCDF_VAR_F_CLOSE_END_TIMESTAMP) == 0);
}

static void failures_and_other_calls_change_no_variable(void **state)
{
	struct rama_core_pnetcdf_var before = v;

	(void)state;
	for (unsigned kind = 0; kind < 256; kind++) {
		access_by(failing(kind), 0, 0);
		if (kind != RAMA_TAB_OP_READ && kind != RAMA_TAB_OP_WRITE)
			access_by(call(kind, 5), 0, 0);
	}
	assert_memory_equal(&v, &before, sizeof(v));
}

static void unheard_of_ways_stay_in_the_record(void **state)
{
	(void)state;
	for (unsigned x = 0; x < 256; x++)
		access_by(next(RAMA_TAB_OP_WRITE, 1), x, 255 - x);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_INDEP_WRITES) +
				 vcount(RAMA_TAB_PNETCDF_VAR_COLL_WRITES) +
				 vcount(RAMA_TAB_PNETCDF_VAR_NB_WRITES),
			 256);
	assert_int_equal(vcount(RAMA_TAB_PNETCDF_VAR_BYTES_READ), 0);
}

static void any_content_can_be_finished(void **state)
{
	struct rng r = { 5 };

	(void)state;
	for (int round = 0; round < 100; round++) {
		for (size_t i = 0; i < sizeof(v); i++)
			((unsigned char *)&v)[i] = round ? (unsigned char)rng_u64(&r) : 0xff;
		memcpy(&f, &v, sizeof(f));
		assert_true(vticks(RAMA_TAB_PNETCDF_VAR_F_OPEN_START_TIMESTAMP) >= 0);
		assert_true(vticks(RAMA_TAB_PNETCDF_VAR_F_VARIANCE_RANK_BYTES) == 0);
		assert_true(ticks(RAMA_TAB_PNETCDF_FILE_F_WAIT_END_TIMESTAMP) >= 0);
	}
}

#define fresh_test(name) cmocka_unit_test_setup(name, fresh)
UNIT_GROUP(pnetcdf, fresh_test(each_call_adds_to_its_counter_alone),
	   fresh_test(creating_and_opening_share_their_moments),
	   fresh_test(the_library_tells_at_close_what_it_moved),
	   fresh_test(failed_waits_take_time_too),
	   fresh_test(other_failures_and_calls_change_no_file),
	   fresh_test(a_variable_is_opened_by_defining_or_finding_it),
	   fresh_test(each_call_has_two_counters), fresh_test(counts_and_strides_have_their_slots),
	   fresh_test(impossible_counts_are_no_harm),
	   fresh_test(an_access_is_ranked_with_its_shape),
	   fresh_test(failures_and_other_calls_change_no_variable),
	   fresh_test(unheard_of_ways_stay_in_the_record), fresh_test(any_content_can_be_finished))
