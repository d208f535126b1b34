/* SPDX-License-Identifier: BSD-3-Clause */
/* shutdown.c: the ranks of a parallel job make one log. What must be in it is what a merge of
 * their single logs has. */
#include "ranks.h"

#include <unistd.h>

#include "core/recordid.h"
#include "shutdown/rank.h"

static void all_well(const struct job *j)
{
	for (int64_t i = 0; i < j->size; i++) {
		if (j->world.seat[i].rc != 0)
			fail_msg("rank %lld of %lld: %s", (long long)i, (long long)j->size,
				 j->rank[i].err.text);
		assert_int_equal(j->rank[i].result.missing, 0);
	}
}

/* 1 to 17 ranks, 1 to 5 writers: nothing but the order of records may differ */
static void equals_merge(void **st)
{
	(void)st;
	for (int64_t size = 1; size <= 17; size++) {
		struct rama_shutdown_options opt = { .limit = 20,
						     .writers = (unsigned)size % 5 + 1 };
		struct check *log, *merged;
		static struct job j;

		job_make(&j, size, 100 + (uint64_t)size);
		merged = job_merge(&j, NULL);
		job_run(&j, &opt);
		all_well(&j);
		log = check_file(j.path);
		logs_equal(log, merged);
		names_once(log);
		assert_int_equal(
			log_has(log, RAMA_TAB_MOD_POSIX, file_shared(0), size > 1 ? -1 : 0), 1);
		assert_int_equal(log_has(log, RAMA_TAB_MOD_LUSTRE, file_shared(1), -1), 1);
		assert_int_equal(j.rank[0].result.bytes, log->n);
		assert_int_equal(j.rank[0].result.writers, opt.writers < size ? opt.writers : size);
		assert_null(strstr(log->log.job.metadata, RAMA_LOG_META_MISSING));
		check_end(log);
		check_end(merged);
		job_free(&j);
	}
}

static void random_jobs(void **st)
{
	struct rng r = { 4711 };

	(void)st;
	for (unsigned i = 0; i < 25; i++) {
		struct rama_shutdown_options opt = { .limit = 20 };
		int64_t size = 1 + (int64_t)rng_below(&r, 24);
		struct check *log, *merged;
		static struct job j;

		opt.writers = 1 + (unsigned)rng_below(&r, 8);
		opt.level = 1 + (int)rng_below(&r, 9);
		job_make(&j, size, rng_u64(&r) % 100000);
		merged = job_merge(&j, NULL);
		job_run(&j, &opt);
		all_well(&j);
		log = check_file(j.path);
		logs_equal(log, merged);
		names_once(log);
		check_end(log);
		check_end(merged);
		job_free(&j);
	}
}

/* more than fits into one message of anything; and sends that last until they are taken */
static void large_and_slow(void **st)
{
	struct rama_shutdown_options opt = { .limit = 1e6, .writers = 2 };
	struct check *log, *merged;
	static struct job j;

	(void)st;
	job_make_large(&j, 5, 8, 4000, 0);
	j.world.eager = 64;
	merged = job_merge(&j, NULL);
	job_run(&j, &opt);
	all_well(&j);
	for (int64_t i = 0; i < 5;
	     i++) /* the clock stood still: nobody waited for what never came */
		assert_true(j.world.seat[i].took < 0.5);
	assert_true(j.rank[0].result.own_bytes > 5u << 19);
	assert_true(j.rank[1].result.own_bytes > 1u << 20);
	log = check_file(j.path);
	logs_equal(log, merged);
	check_end(log);
	check_end(merged);
	job_free(&j);
}

static void unreduced(void **st)
{
	struct rama_shutdown_options opt = { .limit = 20, .unreduced = true };
	struct check *log;
	static struct job j;

	(void)st;
	job_make(&j, 6, 1);
	job_run(&j, &opt);
	all_well(&j);
	log = check_file(j.path);
	for (int64_t i = 0; i < 6; i++)
		assert_int_equal(log_has(log, RAMA_TAB_MOD_POSIX, file_shared(0), i), 1);
	assert_int_equal(log_has(log, RAMA_TAB_MOD_POSIX, file_shared(0), -1), 0);
	names_once(log);
	check_end(log);
	job_free(&j);
}

/* Whoever comes when: the bytes of the log are the same. */
static void order_of_arrival(void **st)
{
	struct rama_shutdown_options opt = { .limit = 20, .writers = 3 };
	struct check *log[3];
	struct rng r = { 99 };

	(void)st;
	for (unsigned k = 0; k < 3; k++) {
		static struct job j;

		job_make(&j, 11, 5);
		for (int64_t i = 0; i < 11 && k > 0; i++)
			j.world.seat[i].late = 0.05 * rng_unit(&r);
		job_run(&j, &opt);
		all_well(&j);
		log[k] = check_file(j.path);
		job_free(&j);
	}
	for (unsigned k = 1; k < 3; k++) {
		assert_int_equal(log[k]->n, log[0]->n);
		assert_memory_equal(log[k]->bytes, log[0]->bytes, log[0]->n);
	}
	for (unsigned k = 0; k < 3; k++)
		check_end(log[k]);
}

/* ---- the directory is not everywhere --------------------------------------------------------- */

static int cannot(void *ctx, const struct rama_shutdown_place *place, struct rama_err *e)
{
	(void)ctx;
	return rama_err_set(e, RAMA_EIO, "%s is not here", place->path);
}

static int run_local(const struct rama_shutdown_comm *comm, void *arg)
{
	struct rank *k = arg;
	struct rama_shutdown_options opt = { .limit = 20, .writers = 4 };

	opt.file = rama_shutdown_disk_file(&k->disk, k->job->path);
	if (comm->rank == 4) /* one of the writers of 8 ranks */
		opt.file.open = cannot;
	return rama_shutdown(comm, &k->own, &opt, &k->result, &k->err);
}

static void only_rank_0_sees_it(void **st)
{
	struct check *log, *merged;
	static struct job j;

	(void)st;
	job_make(&j, 8, 3);
	merged = job_merge(&j, NULL);
	world_run(&j.world, run_local, j.rank, sizeof(j.rank[0]));
	all_well(&j);
	for (int64_t i = 0; i < 8; i++)
		assert_int_equal(j.rank[i].result.writers, 1);
	log = check_file(j.path);
	logs_equal(log, merged);
	check_end(log);
	check_end(merged);
	job_free(&j);
}

/* a file of that name is here, but it is another one */
static void another_file(void **st)
{
	struct rama_shutdown_place place;
	struct rama_shutdown_disk one, two;
	char path[] = "/tmp/iorama-shutdown-XXXXXX";
	struct rama_shutdown_file a, b;
	struct rama_err e = { 0 };

	(void)st;
	close(mkstemp(path));
	unlink(path);
	a = rama_shutdown_disk_file(&one, path);
	b = rama_shutdown_disk_file(&two, path);
	assert_int_equal(a.create(a.ctx, &place, &e), 0);
	assert_int_equal(b.open(b.ctx, &place, &e), 0);
	assert_int_equal(b.finish(b.ctx, true, &e), 0);
	place.mark++;
	assert_int_equal(b.open(b.ctx, &place, &e), RAMA_EMISSING);
	assert_int_equal(a.finish(a.ctx, false, &e), 0);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_not_equal(access(place.path, F_OK), 0);
}

static void log_cannot_be_made(void **st)
{
	struct rama_shutdown_options opt = { .limit = 20 };
	static struct job j;
	FILE *f;

	(void)st;
	job_make(&j, 9, 2);
	f = fopen(j.path, "w"); /* in the way as a directory would be */
	fclose(f);
	memcpy(j.path + strlen(j.path), "/x", 3);
	job_run(&j, &opt);
	for (int64_t i = 0; i < 9; i++) {
		assert_int_not_equal(j.world.seat[i].rc, 0);
		assert_true(j.world.seat[i].took < 5); /* nobody waits for what cannot be */
	}
	j.path[strlen(j.path) - 2] = '\0';
	job_free(&j);
}

/* ---- segments -------------------------------------------------------------------------------- */

#define SEGMENTS 5

static int run_segment(const struct rama_shutdown_comm *comm, void *arg)
{
	struct rank *k = arg;
	struct rama_shutdown_options opt = { .limit = 20 };

	opt.file = rama_shutdown_disk_file(&k->disk, k->job->path);
	return rama_shutdown(comm, &k->own, &opt, &k->result, &k->err);
}

static void segment_of(struct seg *s, int64_t rank)
{
	struct rama_core_posix_file *f;

	seg_make(s, 4, 1, 1);
	s->id->pid = 100 + rank;
	s->id->clock.real0 += 1000 * (uint64_t)rank;
	f = seg_posix(s, seg_name(s, "/data/all"));
	f->w[RAMA_TAB_POSIX_OPENS].i = 1 + rank;
	f = seg_posix(s, seg_name(s, rank % 2 == 0 ? "/data/even" : "/data/odd"));
	f->w[RAMA_TAB_POSIX_OPENS].i = 1;
	seg_lane(s, 1)->heat[0].bytes[0][3] = 100;
}

static void from_segments(void **st)
{
	const int64_t sum = SEGMENTS * (SEGMENTS + 1) / 2;
	struct check_record *r;
	struct check *log;
	static struct job j;
	struct rama_seg *segment = malloc(sizeof(*segment));

	(void)st;
	job_make(&j, SEGMENTS, 0);
	for (int64_t i = 0; i < SEGMENTS; i++) {
		struct rama_gather_process p = {
			.rank = i, .parent_rank = -1, .nprocs = SEGMENTS, .images = 1, .ended = 1
		};
		struct rama_source src;
		struct seg s;

		segment_of(&s, i);
		rama_shutdown_own_fini(&j.rank[i].own);
		rama_source_memory(&src, s.bytes, s.size);
		assert_int_equal(rama_seg_open(segment, &src, &j.rank[i].err), 0);
		assert_int_equal(rama_shutdown_own_from_segment(&j.rank[i].own, segment, &p,
								&j.rank[i].err),
				 0);
		seg_free(&s);
	}
	free(segment);
	world_run(&j.world, run_segment, j.rank, sizeof(j.rank[0]));
	all_well(&j);
	log = check_file(j.path);
	assert_int_equal(check_count(log, RAMA_TAB_MOD_POSIX), 1 + SEGMENTS);
	assert_int_equal(check_count(log, RAMA_TAB_MOD_PROCESS), SEGMENTS);
	assert_int_equal(check_count(log, RAMA_TAB_MOD_HEATMAP), SEGMENTS);
	r = check_get(log, RAMA_TAB_MOD_POSIX, 0); /* rank 0 begins with what is shared */
	assert_int_equal(r->w[RAMA_TAB_RANK].i, -1);
	assert_string_equal(check_name(log, r->w[RAMA_TAB_ID].u), "/data/all");
	assert_int_equal(r->w[RAMA_TAB_POSIX_OPENS].i, sum);
	assert_int_equal(log->log.job.nprocs, SEGMENTS);
	names_once(log);
	check_end(log);
	job_free(&j);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void ranges(void **st)
{
	struct rama_ranges s = { 0 };
	bool in[64] = { false };
	struct rng r = { 17 };
	char text[200];

	(void)st;
	for (unsigned i = 0; i < 25; i++) {
		int64_t first = (int64_t)rng_below(&r, 60),
			last = first + (int64_t)rng_below(&r, 3);

		assert_int_equal(rama_ranges_add(&s, first, last), 0);
		for (int64_t k = first; k <= last; k++)
			in[k] = true;
		for (int64_t k = 0; k < 64; k++)
			assert_int_equal(rama_ranges_has(&s, k), in[k]);
		for (size_t k = 1; k < s.n; k++)
			assert_true(s.r[k - 1][1] + 1 < s.r[k][0]);
	}
	s.n = 0;
	rama_ranges_add(&s, 7, 9);
	rama_ranges_add(&s, 3, 3);
	rama_ranges_text(&s, text, sizeof(text));
	assert_string_equal(text, "3,7-9");
	assert_int_equal(rama_ranges_count(&s), 4);
	for (int64_t i = 0; i < 100; i++)
		rama_ranges_add(&s, 1000 + 2 * i, 1000 + 2 * i);
	rama_ranges_text(&s, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
	assert_string_equal(text + strlen(text) - 3, "...");
	free(s.r);
}

static unsigned char hole[3000];

static int write_hole(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	(void)ctx, (void)e;
	assert_true(off + n <= sizeof(hole));
	memcpy(hole + off, bytes, n);
	return 0;
}

/* Streams that hold nothing, of any size; what follows them is read. */
static void holes(void **st)
{
	struct rama_err e = { 0 };
	struct rama_shutdown_shut s = { .e = &e, .opt.file.write = write_hole };
	const unsigned char *packed;
	struct rama_log_packer p;
	size_t packed_n;

	(void)st;
	rama_log_packer_init(&p, RAMA_LOG_ZLIB, 6, &e);
	assert_int_equal(rama_log_pack(&p, "here", 4, &packed, &packed_n, &e), 0);
	for (uint64_t n = 20; n < 2000; n += n < 100 ? 1 : 37) {
		struct rama_source src;
		struct rama_log_region r;
		uint32_t crc = rama_log_crc(0, "before", 6);
		char text[8];

		memset(hole, 0xaa, sizeof(hole));
		assert_int_equal(rama_shutdown_shut_fill(&s, 0, n, &crc), 0);
		assert_int_equal(crc, rama_log_crc(rama_log_crc(0, "before", 6), hole, n));
		assert_int_equal(hole[n], 0xaa);
		memcpy(hole + n, packed, packed_n);
		rama_source_memory(&src, hole, sizeof(hole));
		assert_int_equal(rama_log_region_open(&r, &src, 0, n + packed_n, RAMA_LOG_ZLIB), 0);
		assert_int_equal(rama_log_region_read(&r, text, sizeof(text)), 4);
		assert_memory_equal(text, "here", 4);
		assert_int_equal(r.err.code, 0);
		rama_log_region_close(&r);
	}
	for (uint64_t n = 1; n < 11; n++) {
		uint32_t crc = 0;

		assert_int_equal(rama_shutdown_shut_fill(&s, 0, n, &crc), RAMA_EIO);
	}
	rama_log_packer_fini(&p);
}

static void foreign_logs_are_refused(void **st)
{
	struct rama_shutdown_own o = { 0 };
	struct rama_log_sink sink = rama_shutdown_own_sink(&o);
	struct rama_err e = { 0 };

	(void)st;
	assert_int_not_equal(rama_shutdown_own_ready(&o, &e), 0);
	sink.write(sink.ctx, 0, hole, sizeof(hole), &e);
	assert_int_not_equal(rama_shutdown_own_ready(&o, &e), 0);
	rama_shutdown_own_fini(&o);
}

UNIT_GROUP(shutdown, test(equals_merge), test(random_jobs), test(large_and_slow), test(unreduced),
	   test(order_of_arrival), test(only_rank_0_sees_it), test(another_file),
	   test(log_cannot_be_made), test(from_segments), test(ranges), test(holes),
	   test(foreign_logs_are_refused))
