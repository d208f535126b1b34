/* SPDX-License-Identifier: BSD-3-Clause */
/* annex.c: what stands behind the regions of a log, whole and damaged. */
#include "logs.h"

#include <zlib.h>

#define SEGMENTS 6

/* POSIX and its trace, by `threads` threads in turn; processes; and a section that nobody knows */
static void make_log(struct memfile *f, uint8_t kind, unsigned threads)
{
	static const struct rama_log_section foreign = { .id = 777, .version = 3, .flags = 6 };
	struct rng r = { 5 };
	struct rama_log_writer w;
	struct sample s;

	writer_start(&w, f, kind);
	rama_log_writer_name(&w, 1, "/home/one", 9);
	rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 4);
	sample_make(&s, RAMA_TAB_MOD_POSIX, &r, 0);
	sample_write(&w, &s);
	rama_log_writer_module(&w, RAMA_TAB_MOD_DXT_POSIX, 2);
	for (unsigned i = 0; i < 3; i++) {
		sample_make(&s, RAMA_TAB_MOD_DXT_POSIX, &r, i);
		s.w[RAMA_TAB_DXT_WRITE_COUNT].u = s.r.count[0] = SEGMENTS;
		s.w[RAMA_TAB_DXT_READ_COUNT].u = s.r.count[1] = 0;
		for (unsigned k = 0; k < SEGMENTS; k++)
			s.seg[0][k][RAMA_TAB_SEG_THREAD].u = threads > 0 ? 7000 + k % threads : 0;
		sample_write(&w, &s);
	}
	rama_log_writer_module(&w, RAMA_TAB_MOD_EXTRA, 3);
	sample_make(&s, RAMA_TAB_MOD_EXTRA, &r, 0);
	sample_write(&w, &s);
	rama_log_writer_section(&w, &foreign);
	rama_log_writer_bytes(&w, "what later versions say", 23);
	writer_end(&w, 1ull << RAMA_TAB_MOD_EXTRA | 1ull << RAMA_TAB_MOD_POSIX);
}

static uint64_t number(const struct memfile *f, size_t at)
{
	uint64_t v;

	memcpy(&v, f->bytes + at, sizeof(v));
	return v;
}

/* directory and footer get the checksum that they now should have */
static void seal(struct memfile *f)
{
	size_t dir = (size_t)number(f, f->n - 40);
	uint32_t crc = (uint32_t)crc32(0, f->bytes + dir, (unsigned)(f->n - 12 - dir));

	memcpy(f->bytes + f->n - 12, &crc, sizeof(crc));
}

/* ... and so does a section */
static void seal_section(struct memfile *f, size_t entry)
{
	uint32_t crc = (uint32_t)crc32(0, f->bytes + number(f, entry + 16),
				       (unsigned)number(f, entry + 24));

	memcpy(f->bytes + entry + 12, &crc, sizeof(crc));
	seal(f);
}

/* no header names it, and flags of the header are of others */
static void ours_is_not_in_the_header(void **state)
{
	struct memfile f = { 0 };

	(void)state;
	make_log(&f, RAMA_LOG_ZLIB, 2);
	for (unsigned id = 18; id < RAMA_TAB_MODULES; id++) {
		assert_int_equal(number(&f, 48 + 16 * id), 0);
		assert_int_equal(number(&f, 56 + 16 * id), 0);
		assert_int_equal((uint32_t)number(&f, 1072 + 4 * (id & ~1u)), 0);
	}
	assert_int_equal(number(&f, 24), 1u << RAMA_TAB_MOD_POSIX);
	assert_int_equal(f.bytes[1072 + 4 * RAMA_TAB_MOD_DXT_POSIX], 1);
	assert_memory_equal(f.bytes + f.n - 8, "IORANNEX", 8);
	memfile_free(&f);
}

static void it_comes_back(void **state)
{
	(void)state;
	for (uint8_t kind = RAMA_LOG_ZLIB; kind <= RAMA_LOG_PLAIN_BYTES; kind++) {
		for (unsigned threads = 0; threads < 4; threads++) {
			struct memfile f = { 0 };
			struct reading in;
			const struct rama_log_section *s;

			make_log(&f, kind, threads);
			reading_open(&in, &f);
			assert_int_equal(in.log.annex.n, threads > 0 ? 3 : 2);
			assert_int_equal(in.log.part[RAMA_TAB_MOD_EXTRA].version, 3);
			assert_true(in.log.partial >> RAMA_TAB_MOD_EXTRA & 1);
			assert_int_equal(rama_log_has_threads(&in.log, RAMA_TAB_MOD_DXT_POSIX),
					 threads > 0);
			assert_false(rama_log_has_threads(&in.log, RAMA_TAB_MOD_DXT_MPIIO));
			s = rama_log_annex_find(&in.log.annex, 777);
			assert_non_null(s);
			assert_int_equal(s->version, 3);
			assert_int_equal(s->flags, 6);
			assert_false(rama_log_section_known(&in.log, s));
			assert_int_equal(reading_walk(&in), 0);
			assert_int_equal(in.lines, 0);
			assert_int_equal(rama_log_annex_check(&in.log, NULL), 0);
			reading_close(&in);
			memfile_free(&f);
		}
	}
}

/* one note, and everything else is there */
static void left_out(struct memfile *f, const char *words)
{
	struct reading in;

	if (reading_try(&in, f->bytes, f->n, false) != 0)
		fail_msg("%s: %s", words, in.err.text);
	assert_int_equal(reading_walk(&in), 0);
	if (in.lines != 1 || strstr(in.last, words) == NULL)
		fail_msg("%u notes, '%s', not '%s'", in.lines, in.last, words);
	assert_int_equal(in.log.problems, 0);
	assert_int_not_equal(rama_log_annex_check(&in.log, &in.err), 0);
	assert_string_equal(in.err.text, in.last);
	assert_true(in.log.part[RAMA_TAB_MOD_POSIX].len > 0);
	assert_true(in.log.part[RAMA_TAB_MOD_DXT_POSIX].len > 0);
	reading_close(&in);
	/* not even a strict reader minds */
	assert_int_equal(reading_try(&in, f->bytes, f->n, true), 0);
	assert_int_equal(reading_walk(&in), 0);
	reading_close(&in);
}

static void set64(struct memfile *f, size_t back, uint64_t v)
{
	memcpy(f->bytes + f->n - back, &v, sizeof(v));
}

static void a_bad_footer_is_a_note(void **state)
{
	static const uint64_t odd[] = { 0, 1, 47, 1328, 1ull << 32, 1ull << 63, ~0ull, ~0ull - 31 };
	struct memfile f = { 0 };

	(void)state;
	make_log(&f, RAMA_LOG_ZLIB, 2);
	for (size_t i = 0; i < LENGTH(odd); i++) {
		for (size_t back = 48; back > 16; back -= 8) {
			uint64_t was = number(&f, f.n - back);

			set64(&f, back, odd[i]);
			left_out(&f, "annex");
			set64(&f, back, was);
		}
	}
	f.bytes[f.n - 16]++; /* version */
	left_out(&f, "its annex is of version 2");
	f.bytes[f.n - 16]--;
	f.bytes[f.n - 12]++; /* checksum */
	left_out(&f, "its directory is damaged");
	f.bytes[f.n - 12]--;
	f.bytes[f.n - 1]++;
	left_out(&f, "are no annex that can be read");
	f.bytes[f.n - 1]--;
	memfile_append(&f, "x", 1);
	left_out(&f, "are no annex that can be read");
	f.n--;
	memfile_append(&f, f.bytes + f.n - 48, 48); /* a footer that is of another file */
	left_out(&f, "the file is not as long as it says");
	memfile_free(&f);
}

/* entry `i` of the directory has another number at `at` */
static void with_entry(struct memfile *f, size_t i, size_t at, uint64_t v, const char *words)
{
	size_t place = (size_t)number(f, f->n - 40) + 32 * i + at, size = at < 16 ? 4 : 8;
	unsigned char was[8];

	memcpy(was, f->bytes + place, size);
	memcpy(f->bytes + place, &v, size);
	seal(f);
	left_out(f, words);
	memcpy(f->bytes + place, was, size);
	seal(f);
}

static void a_bad_directory_is_a_note(void **state)
{
	struct memfile f = { 0 };
	uint64_t dir;

	(void)state;
	make_log(&f, RAMA_LOG_ZLIB, 2);
	dir = number(&f, f.n - 40);
	for (size_t i = 0; i < 3; i++) {
		with_entry(&f, i, 16, 0, "outside");
		with_entry(&f, i, 16, 1400, "outside"); /* in a region */
		with_entry(&f, i, 16, dir + 1, "outside");
		with_entry(&f, i, 16, ~0ull, "outside");
		with_entry(&f, i, 24, dir, "outside");
		with_entry(&f, i, 24, ~0ull, "outside");
		with_entry(&f, i, 12, 1, "annex is damaged in");
		with_entry(&f, i, 0, 47, "number that it cannot have");
		with_entry(&f, i, 0, 10, "number that it cannot have");
	}
	with_entry(&f, 0, 24, number(&f, dir + 24) + 1, "outside"); /* overlaps the next */
	with_entry(&f, 1, 0, RAMA_TAB_MOD_EXTRA, "number that it cannot have");
	with_entry(&f, 0, 4, 4, "EXTRA: version 4 of the annex is not known");
	with_entry(&f, 0, 4, 0, "EXTRA: version 0 of the annex is not known");
	memfile_free(&f);
}

/* a section of which any byte is wrong is left out alone */
static void a_damaged_section_is_left_out(void **state)
{
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	make_log(&f, RAMA_LOG_PLAIN_BYTES, 2);
	for (size_t i = 0; i < 3; i++) {
		size_t entry = (size_t)number(&f, f.n - 40) + 32 * i;
		size_t off = (size_t)number(&f, entry + 16), len = (size_t)number(&f, entry + 24);

		for (size_t at = off; at < off + len; at += i == 0 ? 13 : 1) {
			f.bytes[at] ^= 4;
			left_out(&f, "its annex is damaged in");
			assert_int_equal(reading_try(&in, f.bytes, f.n, false), 0);
			assert_int_equal(in.log.annex.n, 2);
			reading_close(&in);
			f.bytes[at] ^= 4;
		}
	}
	memfile_free(&f);
}

/* an older log of ours names modules in its header: those count */
static void a_module_is_not_taken_twice(void **state)
{
	struct memfile f = { 0 };
	struct reading in;
	size_t entry;

	(void)state;
	make_log(&f, RAMA_LOG_ZLIB, 2);
	entry = (size_t)number(&f, f.n - 40);
	memcpy(f.bytes + 48 + 16 * RAMA_TAB_MOD_EXTRA, f.bytes + 48 + 16 * RAMA_TAB_MOD_POSIX, 16);
	f.bytes[1072 + 4 * RAMA_TAB_MOD_EXTRA] = 1;
	assert_int_equal(reading_try(&in, f.bytes, f.n, false), 0);
	assert_int_equal(in.lines, 1);
	assert_true(in.log.part[RAMA_TAB_MOD_EXTRA].off != number(&f, entry + 16));
	reading_close(&in);
	memfile_free(&f);
}

/* what others append to a log that has no annex is nothing that is missing in it */
static void foreign_bytes_are_no_loss(void **state)
{
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	empty_log(&f);
	memfile_append(&f, "appended by others", 18);
	assert_int_equal(reading_try(&in, f.bytes, f.n, false), 0);
	assert_int_equal(in.lines, 1);
	assert_int_equal(rama_log_annex_check(&in.log, NULL), 0);
	reading_close(&in);
	memfile_free(&f);
}

/* ---- thread ids ------------------------------------------------------------------------------ */

/* word `at` of the thread ids is another one, in a log that is whole otherwise; segments that
 * then have a thread */
static unsigned with_word(unsigned at, uint64_t v)
{
	union rama_core_word seg[4][RAMA_TAB_SEG_WORDS];
	unsigned known = 0, kind;
	struct memfile f = { 0 };
	struct rama_log_cursor c;
	struct rama_core_record *r;
	struct reading in;
	size_t entry;
	int n;

	make_log(&f, RAMA_LOG_PLAIN_BYTES, 2);
	entry = (size_t)number(&f, f.n - 40) + 64;
	assert_int_equal((uint32_t)number(&f, entry), RAMA_REPORT_TABLE_SECTION_THREADS_POSIX);
	memcpy(f.bytes + number(&f, entry + 16) + 8 * at, &v, 8);
	seal_section(&f, entry);
	reading_open(&in, &f);
	assert_int_equal(rama_log_cursor_open(&c, &in.log, RAMA_TAB_MOD_DXT_POSIX), 1);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(rama_log_cursor_next(&c, &r), 1);
		while ((n = rama_log_cursor_segments(&c, seg, 4, &kind)) > 0)
			for (int k = 0; k < n; k++)
				known += seg[k][RAMA_TAB_SEG_THREAD].u / 1000 == 7;
	}
	assert_int_equal(rama_log_cursor_next(&c, &r), 0);
	assert_int_equal(rama_log_cursor_has_threads(&c), in.lines == 0);
	rama_log_cursor_close(&c);
	assert_int_equal(reading_walk(&in), 0);
	assert_int_equal(rama_log_has_threads(&in.log, RAMA_TAB_MOD_DXT_POSIX), in.lines == 0);
	assert_int_equal(rama_log_annex_check(&in.log, NULL) == 0, in.lines == 0);
	assert_true(in.lines <= 1);
	assert_int_equal(in.log.problems, 0);
	reading_close(&in);
	memfile_free(&f);
	return known;
}

/* of each record 3 words, then 2 for each segment, as threads take turns */
static void threads_that_do_not_fit_are_left_out(void **state)
{
	enum { RECORD = 3 + 2 * SEGMENTS };

	(void)state;
	assert_int_equal(with_word(3, 7000), 3 * SEGMENTS); /* as it was */
	assert_int_equal(with_word(0, 99), 0);		    /* id */
	assert_int_equal(with_word(1, 99), 0);		    /* rank */
	assert_int_equal(with_word(2, SEGMENTS + 1), 0);
	assert_int_equal(with_word(RECORD, 99), SEGMENTS);
	assert_int_equal(with_word(2 * RECORD + 2, ~0ull), 2 * SEGMENTS);
	assert_int_equal(with_word(4, 0), 0); /* a run of none */
	assert_int_equal(with_word(4, SEGMENTS + 1), 0);
	assert_int_equal(with_word(4, ~0ull), 0);
	assert_int_equal(with_word(6, 0), 1);
	assert_int_equal(with_word(RECORD - 1, 2), SEGMENTS - 1); /* one more than there are */
}

/* the first note counts, even if the walk that found it was silent */
static void it_is_said_once(void **state)
{
	struct rama_log_short_trace s;
	struct memfile f = { 0 };
	struct reading in;
	struct rama_log_cursor c;
	size_t entry;

	(void)state;
	make_log(&f, RAMA_LOG_PLAIN_BYTES, 1);
	entry = (size_t)number(&f, f.n - 40) + 64;
	f.bytes[number(&f, entry + 16)]++;
	seal_section(&f, entry);
	reading_open(&in, &f);
	assert_int_equal(rama_log_short_trace_find(&s, &in.log, RAMA_TAB_MOD_DXT_POSIX), 0);
	assert_int_equal(in.lines, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(rama_log_cursor_open(&c, &in.log, RAMA_TAB_MOD_DXT_POSIX), 1);
		rama_log_cursor_close(&c);
		assert_int_equal(in.lines, 1);
	}
	reading_close(&in);
	memfile_free(&f);
}

/* ---- checksums ------------------------------------------------------------------------------- */

static void checksums_of_parts_make_that_of_the_whole(void **state)
{
	static unsigned char b[70000];
	static const size_t cuts[] = { 0, 1, 2, 3, 255, 4096, 65535, 69999, 70000 };
	struct rng r = { 3 };

	(void)state;
	for (size_t i = 0; i < sizeof(b); i++)
		b[i] = (unsigned char)rng_below(&r, 256);
	for (size_t i = 0; i < LENGTH(cuts); i++) {
		size_t n = cuts[i];
		uint32_t first = rama_log_crc(0, b, n),
			 second = rama_log_crc(0, b + n, sizeof(b) - n),
			 whole = (uint32_t)crc32(0, b, sizeof(b));

		assert_int_equal(rama_log_crc(first, b + n, sizeof(b) - n), whole);
		assert_int_equal(rama_log_crc_join(first, second, sizeof(b) - n), whole);
		/* as zlib says it, for lengths that no memory holds */
		assert_int_equal(rama_log_crc_join(first, second, 1ull << 40 | n),
				 (uint32_t)crc32_combine(first, second, (z_off_t)(1ull << 40 | n)));
	}
}

UNIT_GROUP(annex, test(ours_is_not_in_the_header), test(it_comes_back),
	   test(a_bad_footer_is_a_note), test(a_bad_directory_is_a_note),
	   test(a_damaged_section_is_left_out), test(a_module_is_not_taken_twice),
	   test(foreign_bytes_are_no_loss), test(threads_that_do_not_fit_are_left_out),
	   test(it_is_said_once), test(checksums_of_parts_make_that_of_the_whole))
