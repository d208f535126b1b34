/* SPDX-License-Identifier: BSD-3-Clause */
/* shutdown_lost.c: ranks that are not there, die, come late or talk nonsense as the log is made. */
#include "ranks.h"

#include <unistd.h>

#include "core/recordid.h"
#include "gather/one.h"
#include "shutdown/rank.h"

#define LIMIT 30.0 /* of a clock that only goes while all wait */

static void in_time(const struct job *j)
{
	for (int64_t i = 0; i < j->size; i++)
		if (j->world.seat[i].took > LIMIT + 0.001)
			fail_msg("rank %lld took %g s", (long long)i, j->world.seat[i].took);
}

/* `dead` are never there; the log has all others, and they know */
static void without(int64_t size, const int64_t *dead, unsigned n, const char *text)
{
	struct rama_shutdown_options opt = { .limit = LIMIT, .writers = 3 };
	char line[128];
	bool with[RANKS_MOST];
	struct check *log, *merged;
	static struct job j;

	job_make(&j, size, 50 + (uint64_t)n);
	for (int64_t i = 0; i < size; i++)
		with[i] = true;
	for (unsigned i = 0; i < n; i++) {
		with[dead[i]] = false;
		j.world.seat[dead[i]].dead = true;
	}
	merged = job_merge(&j, with);
	job_run(&j, &opt);
	in_time(&j);
	for (int64_t i = 0; i < size; i++)
		if (with[i] && j.world.seat[i].rc != 0)
			fail_msg("rank %lld: %s", (long long)i, j.rank[i].err.text);
	assert_int_equal(j.rank[0].result.missing, n);
	log = check_file(j.path);
	logs_equal(log, merged);
	names_once(log);
	assert_true(log->log.partial & RAMA_LOG_PARTIAL_END);
	snprintf(line, sizeof(line), "\n" RAMA_LOG_META_MISSING "%s\n", text);
	assert_non_null(strstr(log->log.job.metadata, line));
	check_end(log);
	check_end(merged);
	job_free(&j);
}

static void one_leaf(void **st)
{
	(void)st;
	without(8, (int64_t[]){ 7 }, 1, "7");
}

/* it has half of the ranks below it */
static void an_inner_rank(void **st)
{
	(void)st;
	without(16, (int64_t[]){ 8 }, 1, "8");
}

static void several(void **st)
{
	(void)st;
	without(17, (int64_t[]){ 3, 8, 12, 13, 14, 16 }, 6, "3,8,12-14,16");
}

static void all_but_rank_0(void **st)
{
	(void)st;
	without(5, (int64_t[]){ 1, 2, 3, 4 }, 4, "1-4");
}

static void all_but_the_last(void **st)
{
	(void)st;
	without(8, (int64_t[]){ 1, 2, 3, 4, 5, 6 }, 6, "1-6");
}

static void rank_0(void **st)
{
	struct rama_shutdown_options opt = { .limit = LIMIT };
	static struct job j;

	(void)st;
	job_make(&j, 7, 1);
	j.world.seat[0].dead = true;
	job_run(&j, &opt);
	in_time(&j);
	for (int64_t i = 1; i < 7; i++)
		assert_int_equal(j.world.seat[i].rc, RAMA_EMISSING);
	assert_int_not_equal(access(j.path, F_OK), 0);
	job_free(&j);
}

/* it has no records, but others are below it: nobody waits for anything */
static void no_records(void **st)
{
	struct rama_shutdown_options opt = { .limit = LIMIT };
	bool with[8] = { true, true, true, true, false, true, true, true };
	struct check *log, *merged;
	static struct job j;

	(void)st;
	job_make(&j, 8, 4);
	j.rank[4].empty = true;
	merged = job_merge(&j, with);
	job_run(&j, &opt);
	assert_int_equal(j.world.seat[4].rc, RAMA_EMISSING);
	for (int64_t i = 0; i < 8; i++) {
		assert_int_equal(j.world.seat[i].rc, i == 4 ? RAMA_EMISSING : 0);
		assert_true(j.world.seat[i].took < 0.001);
	}
	log = check_file(j.path);
	logs_equal(log, merged);
	assert_non_null(strstr(log->log.job.metadata, RAMA_LOG_META_MISSING "4\n"));
	check_end(log);
	check_end(merged);
	job_free(&j);
}

/* within the time in which children may come, late is not lost */
static void late(void **st)
{
	struct rama_shutdown_options opt = { .limit = LIMIT };
	struct check *log, *merged;
	static struct job j;

	(void)st;
	job_make(&j, 9, 4);
	j.world.seat[4].late = 5;
	j.world.seat[7].late = 7;
	merged = job_merge(&j, NULL);
	job_run(&j, &opt);
	for (int64_t i = 0; i < 9; i++)
		assert_int_equal(j.world.seat[i].rc, 0);
	log = check_file(j.path);
	logs_equal(log, merged);
	check_end(log);
	check_end(merged);
	job_free(&j);
}

/* after that it is, and it learns so at once */
static void too_late(void **st)
{
	struct rama_shutdown_options opt = { .limit = LIMIT };
	struct check *log;
	static struct job j;

	(void)st;
	job_make(&j, 8, 4);
	j.world.seat[4].late = 0.75 * LIMIT;
	job_run(&j, &opt);
	for (int64_t i = 0; i < 8; i++)
		assert_int_equal(j.world.seat[i].rc, i == 4 ? RAMA_EMISSING : 0);
	assert_true(j.world.seat[4].took < 0.5 * LIMIT);
	log = check_file(j.path);
	assert_non_null(strstr(log->log.job.metadata, RAMA_LOG_META_MISSING "4\n"));
	check_end(log);
	job_free(&j);
}

/* does the log name this rank as missing? */
static bool is_named(const struct check *log, int64_t rank)
{
	const char *p = strstr(log->log.job.metadata, RAMA_LOG_META_MISSING);

	for (p = p != NULL ? p + strlen(RAMA_LOG_META_MISSING) : "\n"; *p != '\n'; p += *p == ',') {
		char *end;
		long long first = strtoll(p, &end, 10), last = first;

		if (*end == '-')
			last = strtoll(end + 1, &end, 10);
		assert_true(end > p);
		p = end;
		if (rank >= first && rank <= last)
			return true;
	}
	return false;
}

/* A log that was made is whole: it can be read without a word, holds the records of everybody
 * who was told that it does, and names exactly those that it does not have. */
static void check_whole(struct job *j)
{
	uint64_t process = rama_core_record_id(RAMA_GATHER_PROCESS, strlen(RAMA_GATHER_PROCESS));
	int64_t named = 0;
	struct check *log;

	if (j->world.seat[0].rc != 0) {
		assert_int_not_equal(access(j->path, F_OK), 0);
		for (int64_t i = 0; i < j->size; i++)
			assert_int_not_equal(j->world.seat[i].rc, 0);
		return;
	}
	log = check_file(j->path);
	for (int64_t i = 0; i < j->size; i++) {
		bool there = log_has(log, RAMA_TAB_MOD_PROCESS, process, i) == 1;

		assert_int_equal(log_has(log, RAMA_TAB_MOD_DXT_POSIX, file_of(i), i), there);
		assert_int_equal(there, !is_named(log, i));
		assert_true(there || j->world.seat[i].rc != 0);
		named += !there;
	}
	assert_int_equal(named, j->rank[0].result.missing);
	assert_int_equal(log->log.partial & RAMA_LOG_PARTIAL_END, j->rank[0].result.missing > 0);
	check_end(log);
}

/* a rank dies in each phase; 4 is an inner one and a writer, 7 neither */
static void dies_on_the_way(void **st)
{
	static const int at[] = { RAMA_SHUTDOWN_TAG_HERE,   RAMA_SHUTDOWN_TAG_IDS,
				  RAMA_SHUTDOWN_TAG_SHARED, RAMA_SHUTDOWN_TAG_RECORDS,
				  RAMA_SHUTDOWN_TAG_SIZES,  RAMA_SHUTDOWN_TAG_PLACES,
				  RAMA_SHUTDOWN_TAG_PIECES, RAMA_SHUTDOWN_TAG_NEXT,
				  RAMA_SHUTDOWN_TAG_WRITTEN };

	(void)st;
	for (unsigned i = 0; i < LENGTH(at); i++) {
		for (int64_t who = 4; who <= 7; who += 3) {
			struct rama_shutdown_options opt = { .limit = LIMIT, .writers = 2 };
			static struct job j;

			job_make(&j, 8, 60 + i);
			j.world.seat[who].dies_at = at[i];
			job_run(&j, &opt);
			in_time(&j);
			check_whole(&j);
			if (j.world.seat[who].dead) {
				assert_int_not_equal(j.world.seat[who].rc, 0);
				if (who == 7) /* costs nobody else */
					assert_int_equal(j.world.seat[0].rc, 0);
			}
			job_free(&j);
		}
	}
}

/* any ranks, at any moment */
static void random_deaths(void **st)
{
	struct rng r = { 31 };
	unsigned logs = 0;

	(void)st;
	for (unsigned i = 0; i < 60; i++) {
		struct rama_shutdown_options opt = { .limit = LIMIT };
		int64_t size = 2 + (int64_t)rng_below(&r, 20);
		static struct job j;

		opt.writers = 1 + (unsigned)rng_below(&r, 4);
		job_make(&j, size, 300 + i);
		for (uint64_t k = rng_below(&r, 4); k-- > 0;)
			j.world.seat[rng_below(&r, (uint64_t)size)].left =
				(int64_t)rng_below(&r, 12);
		for (int64_t k = 0; k < size; k++)
			j.world.seat[k].late = rng_unit(&r);
		job_run(&j, &opt);
		in_time(&j);
		check_whole(&j);
		logs += j.world.seat[0].rc == 0;
		job_free(&j);
	}
	assert_true(logs > 30);
}

/* the bytes of one that died after it said how many they are */
static void hole_in_the_file(void **st)
{
	struct rama_shutdown_options opt = { .limit = LIMIT, .writers = 2 };
	static const int64_t who[] = { 2, 3, 7 }; /* in the middle and at the end of rows */
	struct check *log;

	(void)st;
	for (unsigned k = 0; k < LENGTH(who); k++) {
		static struct job j;

		job_make(&j, 8, 90);
		j.world.seat[who[k]].dies_at = RAMA_SHUTDOWN_TAG_PIECES;
		job_run(&j, &opt);
		for (int64_t i = 0; i < 8; i++)
			if ((j.world.seat[i].rc == 0) != (i != who[k]))
				fail_msg("without %lld, rank %lld: %s", (long long)who[k],
					 (long long)i, j.rank[i].err.text);
		log = check_file(j.path);
		assert_int_equal(check_count(log, RAMA_TAB_MOD_PROCESS), 7);
		check_whole(&j);
		check_end(log);
		job_free(&j);
	}
}

/* one that has sent a part of its pieces: it is as if it had sent none */
static void half_a_rank(void **st)
{
	struct rama_shutdown_options opt = { .limit = LIMIT, .writers = 1 };
	struct check *log;
	static struct job j;

	(void)st;
	job_make_large(&j, 4, 11, 4000, 0);
	j.world.seat[2].dies_at = RAMA_SHUTDOWN_TAG_PIECES;
	j.world.seat[2].spare = 1;
	job_run(&j, &opt);
	assert_true(j.rank[2].result.own_bytes > 1u << 20); /* two messages */
	assert_true(j.world.seat[2].dead);
	for (int64_t i = 0; i < 4; i++)
		assert_int_equal(j.world.seat[i].rc == 0, i != 2);
	log = check_file(j.path);
	assert_int_equal(check_count(log, RAMA_TAB_MOD_MPIIO), 4000 + 3 * 4000);
	assert_int_equal(check_count(log, RAMA_TAB_MOD_PROCESS), 3);
	check_whole(&j);
	check_end(log);
	job_free(&j);
}

/* ... also if it is a section of the annex of which a part came: its checksum forgets that part */
static void half_a_section(void **st)
{
	struct rama_shutdown_options opt = { .limit = LIMIT, .writers = 1 };
	struct check *log;
	static struct job j;

	(void)st;
	job_make_large(&j, 4, 12, 0, 8000);
	j.world.seat[2].dies_at = RAMA_SHUTDOWN_TAG_PIECES;
	j.world.seat[2].spare = 1;
	job_run(&j, &opt);
	assert_true(j.rank[2].result.own_bytes > 1u << 20);
	assert_true(j.world.seat[2].dead);
	log = check_file(j.path);
	assert_int_equal(check_count(log, RAMA_TAB_MOD_EXTRA), 3 * 8000);
	check_whole(&j);
	check_end(log);
	job_free(&j);
}

/* Damaged messages: whatever comes of it, it ends in time and breaks nothing. */
static void nonsense(void **st)
{
	struct rng r = { 8 };

	(void)st;
	for (unsigned i = 0; i < 12; i++) {
		struct rama_shutdown_options opt = { .limit = LIMIT, .writers = 2 };
		static struct job j;

		job_make(&j, 8, 200 + i);
		j.world.seat[rng_below(&r, 8)].garbles = 1 + (unsigned)rng_below(&r, 3);
		job_run(&j, &opt);
		in_time(&j);
		job_free(&j);
	}
}

UNIT_GROUP(shutdown_lost, test(one_leaf), test(an_inner_rank), test(several), test(all_but_rank_0),
	   test(all_but_the_last), test(rank_0), test(no_records), test(late), test(too_late),
	   test(dies_on_the_way), test(random_deaths), test(hole_in_the_file), test(half_a_rank),
	   test(half_a_section), test(nonsense))
