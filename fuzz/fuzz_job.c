/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_job.c: the first byte of the input chooses format and byte order, the rest is the job
 * region: numbers, metadata, command line and mounts. What is written and read back must be the
 * same, as far as it fits. */
#include <string.h>

#include "fuzz.h"
#include "logfile/anon.h"

static void same_job(const struct rama_log *a, const struct rama_log *b)
{
	const struct rama_log_job *x = &a->job, *y = &b->job;

	CHECK(x->uid == y->uid && x->jobid == y->jobid && x->nprocs == y->nprocs);
	CHECK(x->start_sec == y->start_sec && x->start_nsec == y->start_nsec);
	CHECK(x->end_sec == y->end_sec && x->end_nsec == y->end_nsec);
	CHECK(strcmp(x->metadata, y->metadata) == 0);
	CHECK(a->minor < 41 || memcmp(&x->run_time, &y->run_time, sizeof(x->run_time)) == 0);
}

static void same_text(const struct rama_log *a, const struct rama_log *b)
{
	const size_t room = RAMA_LOG_JOB_REGION - RAMA_LOG_JOB_NEW - 1;
	size_t n = strlen(a->job.exe);

	for (size_t i = 0; i < a->n_mounts; i++)
		n += strlen(a->mounts[i].type) + a->mounts[i].path_len + 2;
	CHECK(b->n_mounts <= a->n_mounts);
	if (n > room)
		return;
	CHECK(strcmp(a->job.exe, b->job.exe) == 0);
	CHECK(a->n_mounts == b->n_mounts);
	for (size_t i = 0; i < a->n_mounts; i++) {
		CHECK(strcmp(a->mounts[i].type, b->mounts[i].type) == 0);
		CHECK(strcmp(a->mounts[i].path, b->mounts[i].path) == 0);
	}
}

static void round_trip(const struct rama_log *log)
{
	struct fuzz_bytes written = { 0 };
	struct rama_source src;
	struct rama_log own;

	fuzz_rewrite(log, &written, &src, &own);
	same_job(log, &own);
	same_text(log, &own);
	rama_log_close(&own);
	fuzz_bytes_fini(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct fuzz_log l = { 0 };
	struct fuzz_bytes built = { 0 };
	struct rama_source src;
	struct rama_log_job hidden;
	struct rama_log log;
	char exe[64];

	fuzz_log_format(&l, fuzz_take_byte(&in));
	l.job = in;
	fuzz_log_build(&l, &built);
	fuzz_both_ways(built.p, built.n, false);
	rama_source_memory(&src, built.p, built.n);
	CHECK(rama_log_open(&log, &src, NULL, NULL) == 0);
	round_trip(&log);
	hidden = log.job;
	rama_log_anon_job(&(struct rama_log_anon){ .key = { 1, 2 }, .log = &log }, &hidden, exe);
	CHECK(hidden.uid >= 0 && strlen(hidden.exe) < sizeof(exe));
	rama_log_close(&log);
	fuzz_bytes_fini(&built);
	return 0;
}
