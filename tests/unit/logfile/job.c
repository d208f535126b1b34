/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c: the header and the job region, byte by byte. */
#include "logs.h"

static uint64_t u64_at(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t u32_at(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void the_header_is_laid_out_as_3_41(void **state)
{
	struct memfile f = { 0 };
	struct rama_log_writer w;
	struct rng r = { 12 };
	struct sample s;
	uint64_t names, posix, stdio;

	(void)state;
	writer_start(&w, &f, RAMA_LOG_BZIP2);
	rama_log_writer_name(&w, 77, "/home/x", 7);
	rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 4);
	sample_make(&s, RAMA_TAB_MOD_POSIX, &r, 0);
	sample_write(&w, &s);
	rama_log_writer_module(&w, RAMA_TAB_MOD_STDIO, 2); /* used, without data */
	writer_end(&w, 1ull << RAMA_TAB_MOD_STDIO | 1ull << 40);
	assert_memory_equal(f.bytes, "3.41\0\0\0\0", 8);
	assert_int_equal(u64_at(f.bytes + 8), 6567223);
	assert_memory_equal(f.bytes + 16, "\1\0\0\0\0\0\0\0", 8);
	assert_true(u64_at(f.bytes + 24) == (1ull << RAMA_TAB_MOD_STDIO | 1ull << 40));
	names = u64_at(f.bytes + 32);
	posix = u64_at(f.bytes + 48 + 16 * RAMA_TAB_MOD_POSIX);
	stdio = u64_at(f.bytes + 48 + 16 * RAMA_TAB_MOD_STDIO);
	assert_true(names > 1328); /* the job is between */
	assert_int_equal(posix, names + u64_at(f.bytes + 40));
	assert_int_equal(stdio, posix + u64_at(f.bytes + 56 + 16 * RAMA_TAB_MOD_POSIX));
	assert_int_equal(stdio, f.n);
	assert_int_equal(u64_at(f.bytes + 56 + 16 * RAMA_TAB_MOD_STDIO), 0);
	for (unsigned id = 0; id < 64; id++) {
		bool used = id == RAMA_TAB_MOD_POSIX || id == RAMA_TAB_MOD_STDIO;

		assert_int_equal(u64_at(f.bytes + 48 + 16 * id) != 0, used);
		assert_int_equal(u32_at(f.bytes + 1072 + 4 * id),
				 used ? rama_tab_module_get(id)->newest : 0);
	}
	memfile_free(&f);
}

static void the_job_is_laid_out_as_3_41(void **state)
{
	static const int64_t numbers[] = { 1000,      1700000000, 250000000, 1700000100,
					   750000000, 8,	  4242 };
	static const char text[] = "/opt/bin/app --steps 10\nnfs\t/home\nlustre\t/scratch";
	unsigned char b[RAMA_LOG_JOB_REGION];

	(void)state;
	assert_int_equal(rama_log_job_encode(&plain_job, plain_mounts, 2, b), 1080 + sizeof(text));
	assert_memory_equal(b, numbers, sizeof(numbers));
	assert_string_equal((char *)b + 56, plain_job.metadata);
	assert_memory_equal(b + 1080, text, sizeof(text)); /* one NUL ends it */
}

/* the log that one writer makes of the job, read */
static void job_round_trip(struct reading *in, struct memfile *f, const struct rama_log_job *job,
			   const struct rama_log_mount *mounts, size_t n)
{
	struct rama_log_sink sink = memfile_sink(f);
	struct rama_log_writer w;

	assert_int_equal(rama_log_writer_init(&w, &sink, RAMA_LOG_ZLIB, 6), 0);
	assert_int_equal(rama_log_writer_job(&w, job, mounts, n), 0);
	writer_end(&w, 0);
	reading_open(in, f);
}

static void the_job_comes_back(void **state)
{
	struct memfile f = { 0 };
	struct reading in;
	const struct rama_log_job *j = &in.log.job;

	(void)state;
	job_round_trip(&in, &f, &plain_job, plain_mounts, 2);
	assert_string_equal(in.log.version, "3.41");
	assert_int_equal(j->uid, 1000);
	assert_int_equal(j->start_sec, 1700000000);
	assert_int_equal(j->start_nsec, 250000000);
	assert_int_equal(j->end_sec, 1700000100);
	assert_int_equal(j->end_nsec, 750000000);
	assert_int_equal(j->nprocs, 8);
	assert_int_equal(j->jobid, 4242);
	assert_true(j->run_time == 100.5);
	assert_string_equal(j->metadata, plain_job.metadata);
	assert_string_equal(j->exe, plain_job.exe);
	assert_true(j->has_mount_lines);
	assert_int_equal(in.log.n_mounts, 2);
	assert_string_equal(in.log.mounts[0].path, "/scratch"); /* longest first */
	assert_string_equal(in.log.mounts[0].type, "lustre");
	assert_string_equal(in.log.mounts[1].path, "/home");
	reading_close(&in);
	memfile_free(&f);
}

static void old_jobs_count_whole_seconds(void **state)
{
	static const char *const versions[] = { "3.00", "3.10", "3.20", "3.21" };

	(void)state;
	for (size_t i = 0; i < 2 * LENGTH(versions); i++) {
		struct raw raw = { .version = versions[i / 2], .swap = i % 2 };
		struct memfile f = { 0 };
		struct reading in;

		raw_build(&raw, &f);
		reading_open(&in, &f);
		assert_string_equal(in.log.version, versions[i / 2]);
		assert_int_equal(in.log.swap, i % 2);
		assert_int_equal(in.log.job.uid, 1000);
		assert_int_equal(in.log.job.start_sec, 1700000000);
		assert_int_equal(in.log.job.end_sec, 1700000100);
		assert_int_equal(in.log.job.end_nsec, 0);
		assert_int_equal(in.log.job.nprocs, 4);
		assert_int_equal(in.log.job.jobid, 4242);
		assert_true(in.log.job.run_time == 101);
		assert_string_equal(in.log.job.exe, "/opt/bin/app");
		assert_int_equal(in.log.n_mounts, 2);
		reading_close(&in);
		memfile_free(&f);
	}
}

static void long_command_lines_are_cut(void **state)
{
	char exe[3100];
	unsigned char b[RAMA_LOG_JOB_REGION];
	struct rama_log_job job = plain_job;

	(void)state;
	job.exe = exe;
	memset(exe, 'x', sizeof(exe));
	exe[3015] = '\0'; /* all the room there is */
	assert_int_equal(rama_log_job_encode(&job, plain_mounts, 2, b), RAMA_LOG_JOB_REGION);
	assert_string_equal((char *)b + 1080, exe);
	exe[3015] = 'x';
	for (size_t n = 3016; n < sizeof(exe); n += 83) {
		exe[n] = '\0';
		assert_int_equal(rama_log_job_encode(&job, plain_mounts, 2, b),
				 RAMA_LOG_JOB_REGION);
		assert_int_equal(strlen((char *)b + 1080), 3015);
		assert_memory_equal(b + 1080, exe, 3015 - 11);
		assert_string_equal((char *)b + 1080 + 3015 - 11, "<TRUNCATED>");
		exe[n] = 'x';
	}
}

static void mounts_that_do_not_fit_are_left_out(void **state)
{
	struct rama_log_mount mounts[200];
	char paths[200][40], exe[2500];
	struct rama_log_job job = plain_job;
	struct memfile f = { 0 };
	struct reading in;
	size_t text;

	(void)state;
	memset(exe, 'x', sizeof(exe));
	exe[sizeof(exe) - 1] = '\0';
	job.exe = exe;
	for (size_t i = 0; i < LENGTH(mounts); i++) {
		int n = snprintf(paths[i], sizeof(paths[i]), "/mount/number/%03zu", i);

		mounts[i] = (struct rama_log_mount){ paths[i], "ext4", (size_t)n, (unsigned)i };
	}
	job_round_trip(&in, &f, &job, mounts, LENGTH(mounts));
	text = strlen(exe) + in.log.n_mounts * strlen("\next4\t/mount/number/000");
	assert_true(text <= 3015 && text + strlen("\next4\t/mount/number/000") > 3015);
	assert_string_equal(in.log.job.exe, exe);
	for (size_t i = 0; i < in.log.n_mounts; i++)
		assert_string_equal(in.log.mounts[i].path, paths[i]);
	reading_close(&in);
	memfile_free(&f);
}

static void all_the_room_can_be_used(void **state)
{
	struct rama_log_job job = plain_job;
	char exe[3016 - 1 - 5 - 1 - 5];
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	memset(exe, 'x', sizeof(exe));
	exe[sizeof(exe) - 1] = '\0';
	memset(job.metadata, 'm', sizeof(job.metadata) - 1);
	job.exe = exe;
	job_round_trip(&in, &f, &job, (struct rama_log_mount[]){ { "/home", "lustr", 5, 0 } }, 1);
	assert_int_equal(in.log.n_mounts, 1);
	assert_string_equal(in.log.job.exe, exe);
	assert_string_equal(in.log.job.metadata, job.metadata);
	reading_close(&in);
	memfile_free(&f);
}

static void without_mounts_there_are_no_lines(void **state)
{
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	job_round_trip(&in, &f, &plain_job, NULL, 0);
	assert_false(in.log.job.has_mount_lines);
	assert_string_equal(in.log.job.exe, plain_job.exe);
	assert_int_equal(in.log.n_mounts, 0);
	assert_null(rama_log_mount_get(&in.log, "/home/x"));
	reading_close(&in);
	memfile_free(&f);
}

/* the longest mount point that the name begins with, of equal ones the first in the file */
static void names_are_on_mounts(void **state)
{
	static const struct rama_log_mount mounts[] = { { "/home", "nfs", 5, 0 },
							{ "/", "ext4", 1, 0 },
							{ "/home/ann", "xfs", 9, 0 },
							{ "/data", "gpfs", 5, 0 },
							{ "/data", "second", 6, 0 } };
	static const struct {
		const char *name, *type;
	} golden[] = { { "/home/bob/x", "nfs" }, { "/home/ann/x", "xfs" },
		       { "/homework", "nfs" },	 { "/home", "nfs" },
		       { "/other", "ext4" },	 { "/data/x", "gpfs" },
		       { "relative", NULL },	 { "", NULL } };
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	job_round_trip(&in, &f, &plain_job, mounts, 4);
	for (size_t i = 0; i < LENGTH(golden); i++) {
		const struct rama_log_mount *m = rama_log_mount_get(&in.log, golden[i].name);

		assert_true((m == NULL) == (golden[i].type == NULL));
		if (m != NULL)
			assert_string_equal(m->type, golden[i].type);
	}
	reading_close(&in);
	memfile_free(&f);
}

static void a_mount_is_two_words(void **state)
{
	static const struct rama_log_mount mounts[] = { { "/mnt/two words", "ext4", 14, 0 },
							{ "", "none", 0, 0 } };
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	job_round_trip(&in, &f, &plain_job, mounts, 2);
	assert_int_equal(in.log.n_mounts, 1);
	assert_string_equal(in.log.mounts[0].path, "/mnt/two"); /* cut at the blank */
	reading_close(&in);
	memfile_free(&f);
}

static void the_job_ends_where_the_next_region_begins(void **state)
{
	struct raw raw = { .version = "3.41" };
	struct memfile f = { 0 };
	struct reading in;

	(void)state;
	raw_build(&raw, &f);
	memset(f.bytes + 32, 0, 8); /* no names, no modules: it ends with the file */
	reading_open(&in, &f);
	assert_int_equal(in.log.job.jobid, 4242);
	assert_int_equal(in.log.job_part.stored_len, f.n - 1328);
	reading_close(&in);
	memfile_free(&f);

	raw.slot[RAMA_TAB_MOD_STDIO].version = 2; /* no names: it ends at the first module */
	raw_u64(&raw, &raw.slot[RAMA_TAB_MOD_STDIO].data, 1);
	raw_build(&raw, &f);
	memset(f.bytes + 32, 0, 8);
	assert_int_equal(reading_try(&in, f.bytes, f.n, false), 0);
	assert_int_equal(in.log.job_part.stored_len, in.log.part[RAMA_TAB_MOD_STDIO].off - 1328);
	assert_int_equal(in.log.job.jobid, 4242);
	reading_close(&in);
	memfile_free(&f);
}

UNIT_GROUP(job, test(the_header_is_laid_out_as_3_41), test(the_job_is_laid_out_as_3_41),
	   test(the_job_comes_back), test(old_jobs_count_whole_seconds),
	   test(long_command_lines_are_cut), test(mounts_that_do_not_fit_are_left_out),
	   test(all_the_room_can_be_used), test(without_mounts_there_are_no_lines),
	   test(names_are_on_mounts), test(a_mount_is_two_words),
	   test(the_job_ends_where_the_next_region_begins))
