/* SPDX-License-Identifier: BSD-3-Clause */
/* names.c: the name region in both of its encodings. */
#include "logs.h"

static void write_name(struct raw *raw, uint64_t id, const char *name)
{
	raw_u64(raw, &raw->names, id);
	if (strcmp(raw->version, "3.00") == 0) {
		raw_u32(raw, &raw->names, (uint32_t)strlen(name));
		memfile_append(&raw->names, name, strlen(name));
	} else {
		memfile_append(&raw->names, name, strlen(name) + 1);
	}
}

static void name_is(const struct reading *in, uint64_t id, const char *want)
{
	const struct rama_log_name *n = rama_log_name_get(&in->log, id);

	assert_non_null(n);
	assert_int_equal(n->id, id);
	assert_string_equal(n->text, want);
	assert_int_equal(n->len, strlen(want));
}

static void the_first_name_counts_unless_it_is_empty(void **state)
{
	static const char *const versions[] = { "3.00", "3.10", "3.20", "3.21", "3.41" };

	(void)state;
	for (size_t i = 0; i < 2 * LENGTH(versions); i++) {
		struct raw raw = { .version = versions[i / 2], .swap = i % 2 };
		struct memfile f = { 0 };
		struct reading in;

		write_name(&raw, 0x0102030405060708, "/a");
		write_name(&raw, 2, "");
		write_name(&raw, 0x0102030405060708, "/other");
		write_name(&raw, 2, "/b");
		write_name(&raw, 2, "");
		write_name(&raw, 3, "");
		write_name(&raw, 0, "/zero");
		write_name(&raw, UINT64_MAX, "/last");
		raw_build(&raw, &f);
		reading_open(&in, &f);
		assert_int_equal(in.log.n_names, 5);
		name_is(&in, 0x0102030405060708, "/a");
		name_is(&in, 2, "/b");
		name_is(&in, 3, "");
		name_is(&in, 0, "/zero");
		name_is(&in, UINT64_MAX, "/last");
		assert_null(rama_log_name_get(&in.log, 4));
		assert_int_equal(in.log.names[0].id, 0x0102030405060708); /* order of the file */
		assert_int_equal(in.log.names[1].id, 2);
		reading_close(&in);
		memfile_free(&f);
	}
}

static void written_names_come_back(void **state)
{
	struct memfile f = { 0 };
	struct rama_log_writer w;
	struct reading in;
	char name[5000];

	(void)state;
	writer_start(&w, &f, RAMA_LOG_ZLIB);
	for (uint64_t i = 0; i < 3000; i++) {
		memset(name, 'a' + (int)(i % 26), i);
		rama_log_writer_name(&w, i << 32, name, i);
	}
	writer_end(&w, 0);
	reading_open(&in, &f);
	assert_int_equal(in.log.n_names, 3000);
	for (uint64_t i = 0; i < 3000; i++) {
		memset(name, 'a' + (int)(i % 26), i);
		name[i] = '\0';
		name_is(&in, i << 32, name);
	}
	reading_close(&in);
	memfile_free(&f);
}

static void no_names_are_no_problem(void **state)
{
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	empty_log(&f);
	reading_open(&in, &f);
	assert_int_equal(in.log.n_names, 0);
	assert_null(rama_log_name_get(&in.log, 0));
	reading_close(&in);
	memfile_free(&f);
}

/* one problem is told, and `names` names are there all the same */
static void has_one_problem(struct raw *raw, size_t names)
{
	struct memfile f = { 0 };
	struct reading in;

	raw_build(raw, &f);
	assert_int_equal(reading_try(&in, f.bytes, f.n, false), 0);
	assert_int_equal(in.lines, 1);
	assert_int_equal(in.log.problems, 1);
	assert_non_null(strstr(in.last, "file names"));
	assert_int_equal(in.log.n_names, names);
	reading_close(&in);
	assert_true(reading_try(&in, f.bytes, f.n, true) < 0);
	assert_non_null(strstr(in.err.text, "file names"));
	memfile_free(&f);
}

static void a_name_that_ends_early_is_a_problem(void **state)
{
	static const char *const versions[] = { "3.00", "3.41" };

	(void)state;
	for (size_t cut = 1; cut <= 14; cut++) {
		for (size_t i = 0; i < LENGTH(versions); i++) {
			struct raw raw = { .version = versions[i] };

			write_name(&raw, 1, "/whole");
			write_name(&raw, 2, "/cut off");
			raw.names.n -= cut;
			has_one_problem(&raw, 1);
		}
	}
}

static void absurdly_long_names_are_a_problem(void **state)
{
	static char name[1 << 17];
	struct raw raw = { .version = "3.41" }, old = { .version = "3.00", .swap = true };

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	write_name(&raw, 1, "/fine");
	write_name(&raw, 2, name);
	has_one_problem(&raw, 1);
	write_name(&old, 1, "/fine");
	raw_u64(&old, &old.names, 2);
	raw_u32(&old, &old.names, UINT32_MAX);
	memfile_append(&old.names, name, sizeof(name));
	has_one_problem(&old, 1);
}

UNIT_GROUP(names, test(the_first_name_counts_unless_it_is_empty), test(written_names_come_back),
	   test(no_names_are_no_problem), test(a_name_that_ends_early_is_a_problem),
	   test(absurdly_long_names_are_a_problem))
