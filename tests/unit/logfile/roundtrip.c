/* SPDX-License-Identifier: BSD-3-Clause */
/* roundtrip.c: what was written is what is read. */
#include "logs.h"

#define RECORDS 23

/* writes random records of a module, reads them back */
static void round_trip(unsigned module, unsigned version, uint8_t compression)
{
	const struct rama_tab_module *m = rama_tab_module_get(module);
	struct sample *s = calloc(RECORDS, sizeof(*s));
	struct rng r = { module * 100 + version };
	struct memfile f = { 0 };
	struct rama_log_writer w;
	struct reading in;
	struct rama_log_cursor c;
	struct rama_core_record *got;

	writer_start(&w, &f, compression);
	assert_int_equal(rama_log_writer_module(&w, module, version), 0);
	for (unsigned i = 0; i < RECORDS; i++) {
		sample_make(&s[i], module, &r, i);
		sample_write(&w, &s[i]);
	}
	writer_end(&w, 0);
	reading_open(&in, &f);
	assert_int_equal(in.log.part[module].version, m->released);
	assert_int_equal(rama_log_cursor_open(&c, &in.log, module), 1);
	assert_int_equal(rama_log_cursor_has_threads(&c),
			 (m->flags & RAMA_TAB_TRACE) && version == m->newest);
	for (unsigned i = 0; i < RECORDS; i++) {
		assert_int_equal(rama_log_cursor_next(&c, &got), 1);
		sample_check(&c, got, &s[i], rama_log_cursor_has_threads(&c));
	}
	assert_int_equal(rama_log_cursor_next(&c, &got), 0);
	assert_int_equal(rama_log_cursor_next(&c, &got), 0);
	assert_int_equal(c.index, RECORDS);
	rama_log_cursor_close(&c);
	assert_int_equal(in.lines, 0);
	reading_close(&in);
	memfile_free(&f);
	free(s);
}

static void every_module_comes_back_as_it_was(void **state)
{
	(void)state;
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		const struct rama_tab_module *m = rama_tab_module_get(id);

		for (uint8_t kind = RAMA_LOG_ZLIB; m != NULL && kind <= RAMA_LOG_PLAIN_BYTES;
		     kind++) {
			round_trip(id, m->newest, kind);
			if (m->released != m->newest)
				round_trip(id, m->released, kind);
		}
	}
}

/* every module, several of them without records */
static void a_log_of_all_modules_comes_back(void **state)
{
	struct rng r = { 7 }, again;
	struct memfile f = { 0 };
	struct rama_log_writer w;
	struct reading in;
	struct sample s;

	(void)state;
	writer_start(&w, &f, RAMA_LOG_ZLIB);
	again = r;
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		if (rama_tab_module_get(id) == NULL)
			continue;
		rama_log_writer_module(&w, id, rama_tab_module_get(id)->newest);
		for (unsigned i = 0; i < id % 3; i++) {
			sample_make(&s, id, &r, i);
			sample_write(&w, &s);
		}
	}
	writer_end(&w, 0);
	reading_open(&in, &f);
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		struct rama_log_cursor c;
		struct rama_core_record *got;

		if (rama_tab_module_get(id) == NULL)
			continue;
		assert_int_equal(rama_log_cursor_open(&c, &in.log, id), id % 3 > 0 ? 1 : 0);
		assert_int_equal(in.log.part[id].version, rama_tab_module_get(id)->released);
		for (unsigned i = 0; i < id % 3; i++) {
			sample_make(&s, id, &again, i);
			assert_int_equal(rama_log_cursor_next(&c, &got), 1);
			sample_check(&c, got, &s, true);
		}
		rama_log_cursor_close(&c);
	}
	reading_close(&in);
	memfile_free(&f);
}

/* enough for several pieces: records end where they like */
static void large_regions_come_back(void **state)
{
	struct rng r = { 8 };
	struct memfile f = { 0 };
	struct rama_log_writer w;
	struct rama_log_cursor c;
	struct rama_core_record *got;
	struct reading in;
	struct sample s;

	(void)state;
	sample_make(&s, RAMA_TAB_MOD_POSIX, &r, 0);
	writer_start(&w, &f, RAMA_LOG_ZLIB);
	rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 4);
	for (unsigned i = 0; i < 20000; i++) { /* 14 MB */
		s.w[RAMA_TAB_ID].u = i;
		sample_write(&w, &s);
	}
	writer_end(&w, 0);
	reading_open(&in, &f);
	assert_int_equal(rama_log_cursor_open(&c, &in.log, RAMA_TAB_MOD_POSIX), 1);
	for (unsigned i = 0; i < 20000; i++) {
		s.w[RAMA_TAB_ID].u = i;
		assert_int_equal(rama_log_cursor_next(&c, &got), 1);
		assert_memory_equal(got->w, s.w, 704);
	}
	assert_int_equal(rama_log_cursor_next(&c, &got), 0);
	assert_true(c.region.streams > 1);
	rama_log_cursor_close(&c);
	reading_close(&in);
	memfile_free(&f);
}

static void unread_segments_are_skipped(void **state)
{
	struct rng r = { 9 };
	struct memfile f = { 0 };
	struct rama_log_writer w;
	struct reading in;
	struct sample s;

	(void)state;
	writer_start(&w, &f, RAMA_LOG_ZLIB);
	rama_log_writer_module(&w, RAMA_TAB_MOD_DXT_POSIX, 2);
	for (unsigned i = 0; i < 50; i++) {
		sample_make(&s, RAMA_TAB_MOD_DXT_POSIX, &r, i);
		sample_write(&w, &s);
	}
	writer_end(&w, 0);
	reading_open(&in, &f);
	assert_int_equal(reading_count(&in, RAMA_TAB_MOD_DXT_POSIX), 50);
	assert_int_equal(in.lines, 0);
	reading_close(&in);
	memfile_free(&f);
}

/* ---- what the writer refuses ---------------------------------------------------------------- */

static void refused(int rc, struct rama_log_writer *w)
{
	assert_int_equal(rc, RAMA_EUSAGE);
	assert_int_equal(rama_log_writer_finish(w, 0), RAMA_EUSAGE); /* and for good */
	rama_log_writer_fini(w);
}

static void the_order_of_a_log_is_fixed(void **state)
{
	struct memfile f = { 0 };
	struct rama_log_writer w;

	(void)state;
	writer_start(&w, &f, RAMA_LOG_ZLIB);
	rama_log_writer_module(&w, RAMA_TAB_MOD_STDIO, 2);
	refused(rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 4), &w);
	writer_start(&w, &f, RAMA_LOG_ZLIB);
	rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 4);
	refused(rama_log_writer_name(&w, 1, "late", 4), &w);
	memfile_free(&f);
}

/* its second part would hide the first */
static void a_module_begins_once(void **state)
{
	struct memfile f = { 0 };
	struct rama_log_writer w;
	struct rng r = { 10 };
	struct sample s;

	(void)state;
	writer_start(&w, &f, RAMA_LOG_ZLIB);
	rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 4);
	sample_make(&s, RAMA_TAB_MOD_POSIX, &r, 0);
	sample_write(&w, &s);
	refused(rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 4), &w);
	memfile_free(&f);
}

static void versions_nobody_reads_are_not_written(void **state)
{
	struct memfile f = { 0 };
	struct rama_log_writer w;

	(void)state;
	writer_start(&w, &f, RAMA_LOG_ZLIB);
	refused(rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 5), &w);
	writer_start(&w, &f, RAMA_LOG_ZLIB);
	refused(rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 3), &w);
	writer_start(&w, &f, RAMA_LOG_ZLIB);
	refused(rama_log_writer_module(&w, RAMA_TAB_MODULES_KNOWN, 1), &w);
	memfile_free(&f);
}

static void a_record_belongs_to_its_module(void **state)
{
	struct memfile f = { 0 };
	struct rama_log_writer w;
	struct rng r = { 11 };
	struct sample s;

	(void)state;
	sample_make(&s, RAMA_TAB_MOD_STDIO, &r, 0);
	writer_start(&w, &f, RAMA_LOG_ZLIB);
	rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 4);
	refused(rama_log_writer_record(&w, &s.r), &w);
	memfile_free(&f);
}

static int full(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	(void)ctx, (void)off, (void)bytes, (void)n;
	return rama_err_set(e, RAMA_EIO, "full");
}

static void the_first_error_of_the_file_is_kept(void **state)
{
	struct rama_log_sink sink = { .write = full };
	struct rama_log_writer w;

	(void)state;
	assert_int_equal(rama_log_writer_init(&w, &sink, RAMA_LOG_ZLIB, 6), 0);
	rama_log_writer_job(&w, &plain_job, NULL, 0);
	assert_int_equal(rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 4), RAMA_EIO);
	assert_int_equal(rama_log_writer_name(&w, 1, "x", 1), RAMA_EIO);
	assert_int_equal(rama_log_writer_finish(&w, 0), RAMA_EIO);
	assert_string_equal(w.err.text, "full");
	rama_log_writer_fini(&w);
}

UNIT_GROUP(roundtrip, test(every_module_comes_back_as_it_was),
	   test(a_log_of_all_modules_comes_back), test(large_regions_come_back),
	   test(unread_segments_are_skipped), test(the_order_of_a_log_is_fixed),
	   test(a_module_begins_once), test(versions_nobody_reads_are_not_written),
	   test(a_record_belongs_to_its_module), test(the_first_error_of_the_file_is_kept))
