/* SPDX-License-Identifier: BSD-3-Clause */
/* library.c: the C library: what was written is read, and wrong use is refused in words. */
#include "unit.h"

#include <unistd.h>

#include "iorama/log.h"

static char path[] = "/tmp/iorama-api-XXXXXX";

static const char shared[] = "/scratch/shared.h5", traced[] = "/scratch/traced";

static int make_path(void **state)
{
	int fd;

	(void)state;
	memcpy(path + sizeof(path) - 7, "XXXXXX", 6);
	fd = mkstemp(path);
	close(fd);
	return unlink(path);
}

static int remove_path(void **state)
{
	(void)state;
	(void)unlink(path);
	return 0;
}

#define in_folder(name) cmocka_unit_test_setup_teardown(name, make_path, remove_path)

static struct iorama_writer *start(void)
{
	const struct iorama_job job = { .uid = 7,
					.jobid = 42,
					.nprocs = 2,
					.start_sec = 100,
					.start_nsec = 5,
					.end_sec = 103,
					.end_nsec = 500000005,
					.exe = "./app -x",
					.metadata = "lib_ver=3.5.0\n" };
	const struct iorama_mount mounts[] = { { "/", "ext4" }, { "/scratch", "lustre" } };
	struct iorama_error e;
	struct iorama_writer *w = iorama_writer_open(path, &e);

	assert_non_null(w);
	assert_int_equal(iorama_writer_job(w, &job, mounts, 2, &e), 0);
	assert_int_equal(iorama_writer_name(w, iorama_record_id_of(shared), shared, &e), 0);
	assert_int_equal(iorama_writer_name(w, iorama_record_id_of(traced), traced, &e), 0);
	return w;
}

static void write_counters(struct iorama_writer *w)
{
	struct iorama_record *r = iorama_record_create("POSIX", iorama_record_id_of(shared), -1);

	assert_int_equal(iorama_record_set_i64(r, "POSIX_OPENS", 3), 0);
	assert_int_equal(iorama_record_set_f64(r, "POSIX_F_READ_TIME", 0.25), 0);
	assert_true(iorama_record_set_i64(r, "POSIX_F_READ_TIME", 1) < 0);
	assert_true(iorama_record_set_f64(r, "POSIX_OPENS", 1) < 0);
	assert_true(iorama_record_set_i64(r, "POSIX_NONSENSE", 1) < 0);
	assert_true(iorama_record_set_array(r, "write_bin", NULL, 0) < 0);
	assert_true(iorama_record_set_trace(r, "host", 1, 1) < 0);
	assert_int_equal(iorama_writer_module(w, "POSIX", 1, NULL), 0);
	assert_int_equal(iorama_writer_record(w, r, NULL), 0);
	iorama_record_destroy(r);
}

static void write_layout(struct iorama_writer *w)
{
	static const int64_t component[9] = { 1 << 20, 2, 0, 16, 0, -1, 0, 0, 0 };
	static const int64_t ost[2] = { 11, 4 };
	struct iorama_record *r = iorama_record_create("LUSTRE", iorama_record_id_of(shared), -1);

	assert_int_equal(iorama_record_set_array(r, "component", component, 1), 0);
	assert_int_equal(iorama_record_set_array(r, "ost_id", ost, 2), 0);
	assert_int_equal(iorama_writer_module(w, "LUSTRE", 0, NULL), 0);
	assert_int_equal(iorama_writer_record(w, r, NULL), 0);
	iorama_record_destroy(r);
}

static const struct iorama_segment segments[] = { { 0, 0, 100, 0.5, 0.75, 0 },
						  { 0, 100, 50, 1.5, 1.75, 0 },
						  { 1, 7, 8, 2.5, 2.75, 0 } };

static void write_trace(struct iorama_writer *w)
{
	struct iorama_record *r = iorama_record_create("DXT_POSIX", iorama_record_id_of(traced), 1);

	assert_int_equal(iorama_record_set_trace(r, "node7", 2, 1), 0);
	assert_int_equal(iorama_writer_module(w, "DXT_POSIX", 0, NULL), 0);
	assert_int_equal(iorama_writer_record(w, r, NULL), 0);
	assert_int_equal(iorama_writer_segments(w, segments, 3, NULL), 0);
	iorama_record_destroy(r);
}

static void write_log(void)
{
	struct iorama_writer *w = start();

	write_counters(w);
	write_layout(w);
	write_trace(w);
	assert_int_equal(access(path, F_OK), -1); /* not there before it is complete */
	assert_int_equal(iorama_writer_commit(w, NULL), 0);
}

static struct iorama_log *open_log(void)
{
	struct iorama_error e;
	struct iorama_log *log;

	write_log();
	log = iorama_log_open(path, IORAMA_STRICT, &e);
	assert_non_null(log);
	assert_int_equal(e.code, 0);
	return log;
}

static void the_job_is_read_back(void **state)
{
	struct iorama_log *log = open_log();
	const struct iorama_job *job = iorama_log_job(log);
	uint64_t id;

	(void)state;
	assert_string_equal(iorama_log_format(log), "3.41");
	assert_int_equal(job->jobid, 42);
	assert_int_equal(job->nprocs, 2);
	assert_true(job->run_time == 3.5);
	assert_string_equal(job->exe, "./app -x");
	assert_string_equal(job->metadata, "lib_ver=3.5.0\n");
	assert_int_equal(iorama_log_mounts(log), 2);
	assert_string_equal(iorama_log_mount_at(log, 0).path, "/scratch"); /* longest first */
	assert_null(iorama_log_mount_at(log, 2).path);
	assert_string_equal(iorama_log_mount_of(log, "/home/x").type, "ext4");
	assert_null(iorama_log_mount_of(log, "x").path);
	assert_int_equal(iorama_log_names(log), 2);
	assert_string_equal(iorama_log_name_at(log, 1, &id), traced);
	assert_int_equal(id, iorama_record_id_of(traced));
	assert_null(iorama_log_name_at(log, 2, NULL));
	assert_string_equal(iorama_log_name(log, iorama_record_id_of(shared)), shared);
	assert_null(iorama_log_name(log, 1));
	assert_null(iorama_log_problem(log, 0));
	iorama_log_close(log);
}

static void modules_are_listed(void **state)
{
	struct iorama_log *log = open_log();
	struct iorama_module m;

	(void)state;
	assert_int_equal(iorama_log_next_module(log, -1, &m), 1);
	assert_string_equal(m.name, "POSIX");
	assert_int_equal(m.version, 4);
	assert_true(m.incomplete && !m.is_trace && m.stored_bytes > 0);
	assert_int_equal(iorama_log_next_module(log, (int)m.id, &m), 1);
	assert_string_equal(m.name, "LUSTRE");
	assert_int_equal(iorama_log_next_module(log, (int)m.id, &m), 1);
	assert_string_equal(m.name, "DXT_POSIX");
	assert_int_equal(m.version, 1); /* what the released tools read */
	assert_true(m.is_trace);
	assert_int_equal(iorama_log_next_module(log, (int)m.id, &m), 0);
	iorama_log_close(log);
}

static void counters_are_found_by_name_and_in_order(void **state)
{
	struct iorama_log *log = open_log();
	struct iorama_records *rs = iorama_records_open(log, "POSIX", NULL);
	const struct iorama_record *r;
	struct iorama_counter c;
	size_t n = 0;

	(void)state;
	assert_int_equal(iorama_records_next(rs, &r, NULL), 1);
	assert_int_equal(iorama_record_id(r), iorama_record_id_of(shared));
	assert_int_equal(iorama_record_rank(r), -1);
	assert_null(iorama_record_host(r));
	assert_int_equal(iorama_record_get(r, "POSIX_OPENS", &c), 1);
	assert_true(c.type == IORAMA_I64 && c.value.i64 == 3);
	assert_int_equal(iorama_record_get(r, "POSIX_F_READ_TIME", &c), 1);
	assert_true(c.type == IORAMA_F64 && c.value.f64 == 0.25);
	assert_int_equal(iorama_record_get(r, "POSIX_NONSENSE", &c), 0);
	assert_int_equal(iorama_record_at(r, 12, &c), 1);
	assert_string_equal(c.name, "POSIX_RENAMED_FROM");
	assert_int_equal(c.type, IORAMA_U64);
	while (iorama_record_at(r, n, &c))
		n++;
	assert_int_equal(n, 69 + 17);
	assert_true(iorama_records_segments(rs, NULL, 1, NULL) < 0);
	assert_int_equal(iorama_records_next(rs, &r, NULL), 0);
	iorama_records_close(rs);
	iorama_log_close(log);
}

static bool same_segment(const struct iorama_segment *a, const struct iorama_segment *b)
{
	return a->is_read == b->is_read && a->offset == b->offset && a->length == b->length &&
	       a->start == b->start && a->end == b->end && a->thread == b->thread;
}

static void arrays_and_segments_are_read_back(void **state)
{
	struct iorama_log *log = open_log();
	struct iorama_records *rs = iorama_records_open(log, "LUSTRE", NULL);
	const struct iorama_record *r;
	struct iorama_segment s[8];
	size_t count, words;

	(void)state;
	assert_int_equal(iorama_records_next(rs, &r, NULL), 1);
	assert_int_equal(iorama_record_array(r, "ost_id", &count, &words)[1], 4);
	assert_true(count == 2 && words == 1);
	assert_int_equal(iorama_record_array(r, "component", &count, &words)[0], 1 << 20);
	assert_true(count == 1 && words == 9);
	assert_null(iorama_record_array(r, "nonsense", &count, &words));
	iorama_records_close(rs);

	rs = iorama_records_open(log, "dxt_posix", NULL);
	assert_int_equal(iorama_records_next(rs, &r, NULL), 1);
	assert_string_equal(iorama_record_host(r), "node7");
	assert_int_equal(iorama_records_segments(rs, s, 0, NULL), 0); /* none asked for */
	assert_int_equal(iorama_records_segments(rs, s, -1, NULL), 0);
	assert_int_equal(iorama_records_segments(rs, s, 8, NULL), 2); /* writes first */
	assert_int_equal(iorama_records_segments(rs, s + 2, 6, NULL), 1);
	for (unsigned i = 0; i < LENGTH(segments); i++)
		assert_true(same_segment(&s[i], &segments[i]));
	assert_int_equal(iorama_records_segments(rs, s, 8, NULL), 0);
	assert_int_equal(iorama_records_next(rs, &r, NULL), 0);
	iorama_records_close(rs);
	iorama_log_close(log);
}

static void what_is_not_there_is_told_from_what_is_wrong(void **state)
{
	struct iorama_log *log = open_log();
	struct iorama_error e;

	(void)state;
	assert_null(iorama_records_open(log, "STDIO", &e)); /* the log has none */
	assert_int_equal(e.code, 0);
	assert_null(iorama_records_open(log, "NONSENSE", &e));
	assert_true(e.code < 0 && e.text[0] != '\0');
	iorama_records_close(NULL);
	iorama_log_close(log);
	iorama_log_close(NULL);
	assert_null(iorama_log_open("/nonexistent", 0, &e));
	assert_non_null(strstr(e.text, "/nonexistent: "));
	assert_null(iorama_record_create("NONSENSE", 1, 1));
	iorama_record_destroy(NULL);
}

static void a_cut_log_tells_its_problems(void **state)
{
	struct iorama_error e;
	struct iorama_log *log;

	(void)state;
	write_log();
	assert_int_equal(truncate(path, 1500), 0);
	assert_null(iorama_log_open(path, IORAMA_STRICT, &e));
	assert_true(e.code < 0);
	log = iorama_log_open(path, 0, &e);
	assert_non_null(log);
	assert_non_null(iorama_log_problem(log, 0));
	assert_null(iorama_log_problem(log, 100));
	iorama_log_close(log);
}

static void the_order_of_writing_is_watched(void **state)
{
	struct iorama_record *r = iorama_record_create("DXT_POSIX", 1, 0);
	struct iorama_writer *w = start();
	struct iorama_error e;

	(void)state;
	iorama_record_set_trace(
		r, "a host name that is far longer than the sixty-three letters there are room for",
		2, 0);
	assert_true(iorama_writer_module(w, "NONSENSE", 0, &e) < 0);
	assert_true(iorama_writer_segments(w, segments, 1, &e) < 0); /* of what? */
	assert_int_equal(iorama_writer_module(w, "DXT_POSIX", 0, &e), 0);
	assert_int_equal(iorama_writer_record(w, r, &e), 0);
	assert_true(iorama_writer_segments(w, segments, 3, &e) < 0); /* one too many */
	assert_int_equal(iorama_writer_segments(w, segments, 1, &e), 0);
	assert_true(iorama_writer_record(w, r, &e) < 0); /* one too few */
	assert_true(iorama_writer_module(w, "DXT_MPIIO", 0, &e) < 0);
	assert_true(iorama_writer_commit(w, &e) < 0);
	assert_int_equal(iorama_writer_segments(w, segments, 1, &e), 0);
	assert_true(iorama_writer_module(w, "POSIX", 0, &e) < 0); /* numbers ascend */
	assert_non_null(strstr(e.text, path));
	assert_true(iorama_writer_commit(w, &e) < 0); /* and that is for good */
	iorama_writer_abort(w);
	assert_int_equal(access(path, F_OK), -1);
	iorama_record_destroy(r);
}

static void metadata_has_its_limit(void **state)
{
	char text[1100];
	struct iorama_job job = { .metadata = text };
	struct iorama_writer *w = iorama_writer_open(path, NULL);

	(void)state;
	memset(text, 'x', sizeof(text));
	text[1024] = '\0';
	assert_true(iorama_writer_job(w, &job, NULL, 0, NULL) < 0);
	text[1023] = '\0';
	assert_int_equal(iorama_writer_job(w, &job, NULL, 0, NULL), 0);
	iorama_writer_abort(w);
	iorama_writer_abort(NULL);
	assert_null(iorama_writer_open("/nonexistent/log", NULL));
}

UNIT_GROUP(library, in_folder(the_job_is_read_back), in_folder(modules_are_listed),
	   in_folder(counters_are_found_by_name_and_in_order),
	   in_folder(arrays_and_segments_are_read_back),
	   in_folder(what_is_not_there_is_told_from_what_is_wrong),
	   in_folder(a_cut_log_tells_its_problems), in_folder(the_order_of_writing_is_watched),
	   in_folder(metadata_has_its_limit))
