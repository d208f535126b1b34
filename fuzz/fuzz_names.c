/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_names.c: the first byte of the input chooses format and byte order, the rest is the
 * region of names. Names that are written and read back must be the same; hidden ones must fit
 * their buffer. */
#include <string.h>

#include "fuzz.h"
#include "logfile/anon.h"

static void round_trip(const struct rama_log *log)
{
	struct fuzz_bytes written = { 0 };
	struct rama_source src;
	struct rama_log own;

	fuzz_rewrite(log, &written, &src, &own);
	CHECK(own.n_names == log->n_names);
	for (size_t i = 0; i < log->n_names; i++) {
		CHECK(own.names[i].id == log->names[i].id);
		CHECK(own.names[i].len == log->names[i].len);
		CHECK(memcmp(own.names[i].text, log->names[i].text, own.names[i].len) == 0);
	}
	rama_log_close(&own);
	fuzz_bytes_fini(&written);
}

static void hide(const struct rama_log *log)
{
	struct rama_log_anon a = { .key = { 1, 2 }, .log = log };
	char to[RAMA_LOG_ANON_NAME];

	for (size_t i = 0; i < log->n_names; i++) {
		size_t n = rama_log_anon_name(&a, log->names[i].text, to);

		CHECK(n < sizeof(to));
		CHECK(strlen(to) == n);
		(void)rama_log_anon_id(&a, log->names[i].id);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct fuzz_log l = { .nprocs = 1, .start_sec = 1 };
	struct fuzz_bytes built = { 0 };
	struct rama_source src;
	struct rama_log log;

	fuzz_log_format(&l, fuzz_take_byte(&in));
	l.names = in;
	fuzz_log_build(&l, &built);
	fuzz_both_ways(built.p, built.n, false);
	rama_source_memory(&src, built.p, built.n);
	CHECK(rama_log_open(&log, &src, NULL, NULL) == 0);
	round_trip(&log);
	hide(&log);
	rama_log_close(&log);
	fuzz_bytes_fini(&built);
	return 0;
}
