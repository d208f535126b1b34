/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_merge.c: the input becomes two logs, which are joined; nothing may be wrong with the
 * result. Flags: 1 renumber; 2 reduce; 4 compress; 8, 16 other byte order of the first, second
 * log; 32 strict; 64 both are of one process; 128 two whole logs follow, after the length of the
 * first (2 bytes). Else: processes of each log, start of each (2 bytes), then parts as in
 * fuzz_log_parts(). */
#include <string.h>

#include "fuzz.h"
#include "logfile/merge.h"

static void build(struct fuzz_input *in, uint8_t flags, struct fuzz_bytes built[2])
{
	struct fuzz_log l[2] = { { .minor = 41 }, { .minor = 41 } };

	if (flags & 128) {
		struct fuzz_input first = fuzz_take(in, fuzz_take_u16(in));

		fuzz_bytes_put(&built[0], 0, first.p, first.n);
		fuzz_bytes_put(&built[1], 0, in->p, in->n);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		l[i].nprocs = fuzz_take_byte(in);
	for (unsigned i = 0; i < 2; i++) {
		l[i].start_sec = 1600000000 + (int64_t)fuzz_take_u16(in);
		l[i].swap = flags >> (3 + i) & 1;
	}
	fuzz_log_parts(in, &l[0], &l[1]);
	for (unsigned i = 0; i < 2; i++)
		fuzz_log_build(&l[i], &built[i]);
}

static void check_result(const struct fuzz_bytes *written)
{
	struct rama_source src;
	struct rama_log own;
	uint64_t digest;
	int rc;

	fuzz_open_own(&own, &src, written);
	rc = fuzz_walk(&own, &digest);
	if (rc != 0)
		fuzz_fail(own.err.text, __FILE__, __LINE__);
	rama_log_close(&own);
}

static void merge(struct rama_log_merge *m, uint8_t flags)
{
	struct fuzz_bytes written = { 0 };
	struct rama_log_sink sink = fuzz_bytes_sink(&written);
	struct rama_err e = { 0 };
	struct rama_log_writer w;
	uint64_t partial;
	int rc = rama_log_merge_plan(m, &e);

	CHECK(rama_log_writer_init(&w, &sink, flags & 4 ? RAMA_LOG_ZLIB : RAMA_LOG_PLAIN_BYTES,
				   1) == 0);
	if (rc == 0)
		rc = rama_log_merge_write(m, &w, &partial, &e);
	if (rc == 0) {
		CHECK(rama_log_writer_finish(&w, partial) == 0);
		check_result(&written);
	} else {
		CHECK(e.code == rc && e.text[0] != '\0');
	}
	rama_log_writer_fini(&w);
	fuzz_bytes_fini(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const path[] = { "first", "second" };
	struct fuzz_input in = { data, size };
	uint8_t flags = fuzz_take_byte(&in);
	struct rama_log_options opt = { .strict = flags & 32 };
	struct rama_log_merge_input input[2];
	struct rama_log_merge m = {
		.in = input, .renumber = flags & 1, .reduce = flags & 2, .images = flags & 64
	};
	struct fuzz_bytes built[2] = { { 0 } };
	struct rama_source src[2];
	struct rama_log log[2];

	build(&in, flags, built);
	for (unsigned i = 0; i < 2; i++) {
		rama_source_memory(&src[i], built[i].p, built[i].n);
		if (rama_log_open(&log[m.n_in], &src[i], &opt, NULL) != 0)
			continue;
		input[m.n_in] =
			(struct rama_log_merge_input){ .log = &log[m.n_in], .path = path[m.n_in] };
		m.n_in++;
	}
	if (m.n_in > 0)
		merge(&m, flags);
	for (unsigned i = 0; i < m.n_in; i++)
		rama_log_close(&log[i]);
	fuzz_bytes_fini(&built[0]);
	fuzz_bytes_fini(&built[1]);
	return 0;
}
