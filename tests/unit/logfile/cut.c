/* SPDX-License-Identifier: BSD-3-Clause */
/* cut.c: logs that are not whole. */
#include "logs.h"

/* a small log of modules that differ in kind */
static void small_log(struct memfile *f, uint8_t compression)
{
	static const unsigned modules[] = { RAMA_TAB_MOD_LUSTRE, RAMA_TAB_MOD_STDIO,
					    RAMA_TAB_MOD_DXT_POSIX, RAMA_TAB_MOD_MDHIM,
					    RAMA_TAB_MOD_HEATMAP };
	struct rng r = { 16 };
	struct rama_log_writer w;
	struct sample s;

	writer_start(&w, f, compression);
	rama_log_writer_name(&w, 1, "/home/one", 9);
	rama_log_writer_name(&w, 2, "/home/two", 9);
	for (size_t k = 0; k < LENGTH(modules); k++) {
		rama_log_writer_module(&w, modules[k], rama_tab_module_get(modules[k])->newest);
		for (unsigned i = 0; i < 2; i++) {
			sample_make(&s, modules[k], &r, i);
			if (modules[k] == RAMA_TAB_MOD_DXT_POSIX)
				s.w[RAMA_TAB_DXT_WRITE_COUNT].u = s.r.count[0] = 3,
				s.w[RAMA_TAB_DXT_READ_COUNT].u = s.r.count[1] = 2;
			sample_write(&w, &s);
		}
	}
	writer_end(&w, 0);
}

/* where its regions end and its annex begins, with thread ids of the trace */
static size_t regions_end(const struct memfile *f)
{
	struct reading in;
	size_t end;

	reading_open(&in, f);
	assert_int_equal(in.log.annex.n, 1);
	assert_true(rama_log_has_threads(&in.log, RAMA_TAB_MOD_DXT_POSIX));
	end = (size_t)(in.log.part[RAMA_TAB_MOD_HEATMAP].off +
		       in.log.part[RAMA_TAB_MOD_HEATMAP].len);
	reading_close(&in);
	return end;
}

/* bzip2 is slow to start, and no different */
static size_t step_of(uint8_t kind)
{
	return kind == RAMA_LOG_BZIP2 ? 13 : 1;
}

static void a_log_cut_anywhere_is_read_as_far_as_it_goes(void **state)
{
	(void)state;
	for (uint8_t kind = RAMA_LOG_ZLIB; kind <= RAMA_LOG_PLAIN_BYTES; kind++) {
		struct memfile f = { 0 };
		struct reading in;

		size_t end;

		small_log(&f, kind);
		end = regions_end(&f);
		for (size_t n = 0; n < f.n; n += step_of(kind)) {
			/* a copy of its own, so that tools see reads beyond the end */
			unsigned char *b = malloc(n + (n == 0));
			int rc;

			memcpy(b, f.bytes, n);
			rc = reading_try(&in, b, n, false);
			assert_true((rc != 0) == (n < RAMA_LOG_HEADER_NEW));
			if (rc == 0) {
				assert_int_equal(reading_walk(&in), 0);
				if (n < end)
					assert_true(in.log.problems > 0 &&
						    in.lines >= in.log.problems);
				else /* the annex is no part of what others know: a note */
					assert_true(in.log.problems == 0 && in.lines == (n > end));
				reading_close(&in);
			} else {
				assert_true(in.err.text[0] != '\0');
			}
			free(b);
		}
		memfile_free(&f);
	}
}

static void a_strict_reader_refuses_a_cut_log(void **state)
{
	(void)state;
	for (uint8_t kind = RAMA_LOG_ZLIB; kind <= RAMA_LOG_PLAIN_BYTES; kind++) {
		struct memfile f = { 0 };
		struct reading in;
		size_t end;

		small_log(&f, kind);
		end = regions_end(&f);
		for (size_t n = 0; n < end; n += step_of(kind)) {
			int rc = reading_try(&in, f.bytes, n, true);

			if (rc == 0) {
				rc = reading_walk(&in);
				reading_close(&in);
			}
			assert_true(rc < 0);
			assert_int_equal(rama_err_status(rc), 3);
			assert_int_equal(in.lines, 0); /* the error says it */
		}
		assert_int_equal(reading_try(&in, f.bytes, f.n, true), 0);
		assert_int_equal(reading_walk(&in), 0);
		reading_close(&in);
		memfile_free(&f);
	}
}

static void a_log_with_any_byte_wrong_does_no_harm(void **state)
{
	(void)state;
	for (uint8_t kind = RAMA_LOG_ZLIB; kind <= RAMA_LOG_PLAIN_BYTES; kind++) {
		struct memfile f = { 0 };
		struct reading in;

		small_log(&f, kind);
		for (size_t at = 0; at < f.n; at += step_of(kind)) {
			f.bytes[at] ^= 0xff;
			if (reading_try(&in, f.bytes, f.n, false) == 0) {
				assert_int_equal(reading_walk(&in), 0);
				reading_close(&in);
			}
			f.bytes[at] ^= 0xff;
		}
		memfile_free(&f);
	}
}

static void what_is_no_log_is_refused(void **state)
{
	static unsigned char b[2000];
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	assert_int_equal(reading_try(&in, b, 0, false), RAMA_ETRUNC);
	assert_int_equal(reading_try(&in, b, sizeof(b), false), RAMA_EFORMAT);
	memset(b, 'x', sizeof(b));
	assert_int_equal(reading_try(&in, b, sizeof(b), false), RAMA_EFORMAT);
	small_log(&f, RAMA_LOG_ZLIB);
	memcpy(f.bytes, "3.42", 4);
	assert_int_equal(reading_try(&in, f.bytes, f.n, false), RAMA_EVERSION);
	assert_non_null(strstr(in.err.text, "3.42"));
	memcpy(f.bytes, "2.06", 4);
	assert_int_equal(reading_try(&in, f.bytes, f.n, false), RAMA_EVERSION);
	memcpy(f.bytes, "3.\1\x1b[mx", 7); /* nothing that a terminal would obey */
	assert_int_equal(reading_try(&in, f.bytes, f.n, false), RAMA_EVERSION);
	assert_null(strchr(in.err.text, '\x1b'));
	memcpy(f.bytes, "3.41\0\0\0\0", 8);
	f.bytes[16] = 3;
	assert_int_equal(reading_try(&in, f.bytes, f.n, false), RAMA_ECORRUPT);
	memfile_free(&f);
}

/* ---- traces --------------------------------------------------------------------------------- */

#define SEGMENT 40

/* Two traces of 3 writes and 2 reads each, not compressed, the last of them cut; with thread ids
 * in the segments, as older logs of ours have them. */
static void cut_trace(struct memfile *f, size_t cut)
{
	struct rng r = { 17 };
	struct rama_log_writer w;
	struct sample s;

	writer_start(&w, f, RAMA_LOG_PLAIN_BYTES);
	w.inner = true;
	rama_log_writer_module(&w, RAMA_TAB_MOD_DXT_POSIX, 2);
	for (unsigned i = 0; i < 2; i++) {
		sample_make(&s, RAMA_TAB_MOD_DXT_POSIX, &r, i);
		s.w[RAMA_TAB_DXT_WRITE_COUNT].u = s.r.count[0] = 3;
		s.w[RAMA_TAB_DXT_READ_COUNT].u = s.r.count[1] = 2;
		sample_write(&w, &s);
	}
	writer_end(&w, 0);
	f->n -= cut;
}

static void find_short(size_t cut, uint64_t record, uint64_t writes, uint64_t reads)
{
	struct rama_log_short_trace s;
	struct memfile f = { 0 };
	struct rama_log_cursor c;
	struct rama_core_record *r;
	struct reading in;
	unsigned problems, lines;

	cut_trace(&f, cut);
	assert_int_equal(reading_try(&in, f.bytes, f.n, false), 0);
	problems = in.log.problems, lines = in.lines;
	assert_int_equal(rama_log_short_trace_find(&s, &in.log, RAMA_TAB_MOD_DXT_POSIX), 0);
	assert_int_equal(in.log.problems, problems); /* tells nothing */
	assert_int_equal(in.lines, lines);
	assert_int_equal(s.record, record);
	assert_int_equal(rama_log_cursor_open(&c, &in.log, RAMA_TAB_MOD_DXT_POSIX), 1);
	while (rama_log_cursor_next(&c, &r) > 0) {
		bool here = c.index == record;

		rama_log_short_trace_apply(&s, &c, r);
		assert_int_equal(r->w[RAMA_TAB_DXT_WRITE_COUNT].u, here ? writes : 3);
		assert_int_equal(r->w[RAMA_TAB_DXT_READ_COUNT].u, here ? reads : 2);
	}
	rama_log_cursor_close(&c);
	reading_close(&in);
	memfile_free(&f);
}

static void a_short_trace_is_found_before_it_is_copied(void **state)
{
	(void)state;
	find_short(0, 0, 0, 0);
	find_short(1, 2, 3, 1);
	find_short(SEGMENT, 2, 3, 1);
	find_short(SEGMENT + 1, 2, 3, 0);
	find_short(2 * SEGMENT, 2, 3, 0);
	find_short(2 * SEGMENT + 1, 2, 2, 0);
	find_short(5 * SEGMENT, 2, 0, 0);
	find_short(5 * SEGMENT + 1, 0, 0, 0); /* the second record itself is cut */
	find_short(5 * SEGMENT + 104 + SEGMENT, 1, 3, 1);
}

/* The region ends where a segment does: nothing is cut, but segments are missing. */
static void missing_segments_are_a_problem(void **state)
{
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	cut_trace(&f, 0);
	f.bytes[f.n - 5 * SEGMENT - 8] = 3; /* instead of 2 */
	reading_open(&in, &f);
	assert_int_equal(reading_walk(&in), 0);
	assert_int_equal(in.log.problems, 1);
	assert_non_null(strstr(in.last, "DXT_POSIX: record 2: ends early"));
	reading_close(&in);
	memfile_free(&f);
}

static void the_record_that_is_cut_is_named(void **state)
{
	static const size_t cuts[] = { 1, SEGMENT + 1, 5 * SEGMENT - 1, 5 * SEGMENT + 1 };

	(void)state;
	for (size_t i = 0; i < LENGTH(cuts); i++) {
		struct memfile f = { 0 };
		struct reading in;

		cut_trace(&f, cuts[i]);
		assert_int_equal(reading_try(&in, f.bytes, f.n, false), 0);
		assert_int_equal(reading_walk(&in), 0);
		if (strstr(in.last, "DXT_POSIX: record 2: ends early") == NULL)
			fail_msg("cut by %zu: %s", cuts[i], in.last);
		reading_close(&in);
		memfile_free(&f);
	}
}

static void a_short_trace_of_a_strict_log_is_an_error(void **state)
{
	struct rama_log_short_trace s;
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	cut_trace(&f, 0);
	/* claims a segment that is not there, in a log that is whole otherwise */
	f.bytes[f.n - 5 * SEGMENT - 8] = 3;
	assert_int_equal(reading_try(&in, f.bytes, f.n, true), 0);
	assert_int_equal(rama_log_short_trace_find(&s, &in.log, RAMA_TAB_MOD_DXT_POSIX),
			 RAMA_ETRUNC);
	reading_close(&in);
	memfile_free(&f);
}

UNIT_GROUP(cut, test(missing_segments_are_a_problem), test(the_record_that_is_cut_is_named),
	   test(a_log_cut_anywhere_is_read_as_far_as_it_goes),
	   test(a_strict_reader_refuses_a_cut_log), test(a_log_with_any_byte_wrong_does_no_harm),
	   test(what_is_no_log_is_refused), test(a_short_trace_is_found_before_it_is_copied),
	   test(a_short_trace_of_a_strict_log_is_an_error))
