/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_module.c: module, version of its records, flags, then the decoded records. They are read,
 * added up, and written: what is read back must be what was written, to the bit. Flags: 1 other
 * byte order; 2 write the released version; 4, 8 compression of what is written. */
#include <stdlib.h>
#include <string.h>

#include "core/sum/reduce.h"
#include "core/sum/summary.h"
#include "core/sum/total.h"
#include "fuzz.h"
#include "logfile/anon.h"

#define MOST_WORDS 1024 /* of a record */

/* ---- adding up ------------------------------------------------------------------------------- */

static void add_up(struct rama_log *log, const struct rama_tab_module *mod)
{
	union rama_core_word sum[MOST_WORDS];
	struct rama_core_files files[RAMA_CORE_FILES_KINDS];
	struct rama_log_anon anon = { .key = { 1, 2 }, .log = log };
	struct rama_core_perf perf;
	struct rama_core_summary s;
	struct rama_core_total t;
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc;

	CHECK(mod->record->words <= MOST_WORDS);
	rama_core_total_init(&t, mod, sum);
	rama_core_summary_init(&s, mod);
	rc = rama_log_cursor_open(&c, log, mod->id);
	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		if (mod->flags & RAMA_TAB_TOTALS) {
			rama_core_total_add(&t, r);
			CHECK(rama_core_summary_add(&s, r) == 0);
		}
		rama_log_anon_record(&anon, r);
	}
	rama_log_cursor_close(&c);
	if (mod->flags & RAMA_TAB_TOTALS) {
		rama_core_summary_files(&s, files);
		rama_core_summary_perf(&s, &perf);
		CHECK(files[RAMA_CORE_FILES_TOTAL].files ==
		      files[RAMA_CORE_FILES_UNIQUE].files + files[RAMA_CORE_FILES_SHARED].files);
	}
	rama_core_summary_fini(&s);
}

/* ---- write and read back --------------------------------------------------------------------- */

static void copy_records(struct rama_log *log, const struct rama_tab_module *mod,
			 struct rama_log_writer *w)
{
	union rama_core_word seg[100][RAMA_TAB_SEG_WORDS];
	struct rama_log_short_trace cut = { 0 };
	struct rama_log_cursor c;
	struct rama_core_record *r;
	unsigned kind;
	int rc, n;

	if (mod->flags & RAMA_TAB_TRACE)
		CHECK(rama_log_short_trace_find(&cut, log, mod->id) == 0);
	rc = rama_log_cursor_open(&c, log, mod->id);
	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		rama_log_short_trace_apply(&cut, &c, r);
		CHECK(rama_log_writer_record(w, r) == 0);
		while ((n = rama_log_cursor_segments(&c, seg, 100, &kind)) > 0)
			CHECK(rama_log_writer_segments(w, seg, (size_t)n) == 0);
	}
	rama_log_cursor_close(&c);
}

static void copy(struct rama_log *log, const struct rama_tab_module *mod, uint8_t flags,
		 struct fuzz_bytes *to)
{
	static const uint8_t kinds[] = { RAMA_LOG_PLAIN_BYTES, RAMA_LOG_PLAIN_BYTES, RAMA_LOG_ZLIB,
					 RAMA_LOG_BZIP2 };
	struct rama_log_sink sink = fuzz_bytes_sink(to);
	struct rama_log_writer w;

	CHECK(rama_log_writer_init(&w, &sink, kinds[flags >> 2 & 3], 1) == 0);
	CHECK(rama_log_writer_job(&w, &log->job, log->mounts, log->n_mounts) == 0);
	CHECK(rama_log_writer_module(&w, mod->id, flags & 2 ? mod->released : mod->newest) == 0);
	copy_records(log, mod, &w);
	CHECK(rama_log_writer_finish(&w, log->partial) == 0);
	rama_log_writer_fini(&w);
}

static void same_segments(struct rama_log_cursor *a, struct rama_log_cursor *b, bool threads)
{
	union rama_core_word x[1][RAMA_TAB_SEG_WORDS], y[1][RAMA_TAB_SEG_WORDS];
	unsigned x_kind = 0, y_kind = 0;
	int more;

	do {
		more = rama_log_cursor_segments(a, x, 1, &x_kind);
		CHECK(rama_log_cursor_segments(b, y, 1, &y_kind) == more);
		CHECK(more == 0 || x_kind == y_kind);
		CHECK(more == 0 || memcmp(x, y, RAMA_TAB_SEG_THREAD * sizeof(x[0][0])) == 0);
		CHECK(more == 0 || !threads ||
		      x[0][RAMA_TAB_SEG_THREAD].u == y[0][RAMA_TAB_SEG_THREAD].u);
	} while (more > 0);
}

static void same_record(const struct rama_core_record *a, const struct rama_core_record *b)
{
	const struct rama_tab_schema *s = a->schema;

	CHECK(a->schema == b->schema);
	CHECK(memcmp(a->w, b->w, s->words * sizeof(*a->w)) == 0);
	for (unsigned k = 0; k < s->n_arrays; k++) {
		CHECK(a->count[k] == b->count[k] || (a->mod->flags & RAMA_TAB_TRACE));
		CHECK(a->array[k] == NULL || a->count[k] == 0 ||
		      memcmp(a->array[k], b->array[k],
			     a->count[k] * s->array[k].words * sizeof(*a->w)) == 0);
	}
}

static void compare(struct rama_log *log, struct rama_log *own, const struct rama_tab_module *mod,
		    bool threads)
{
	struct rama_log_short_trace cut = { 0 };
	struct rama_log_cursor a, b;
	struct rama_core_record *x, *y;
	int more;

	if (mod->flags & RAMA_TAB_TRACE)
		CHECK(rama_log_short_trace_find(&cut, log, mod->id) == 0);
	more = rama_log_cursor_open(&a, log, mod->id);
	CHECK(rama_log_cursor_open(&b, own, mod->id) >= 0);
	while (more > 0 && (more = rama_log_cursor_next(&a, &x)) > 0) {
		rama_log_short_trace_apply(&cut, &a, x);
		CHECK(rama_log_cursor_next(&b, &y) == 1);
		same_record(x, y);
		if (mod->flags & RAMA_TAB_TRACE)
			same_segments(&a, &b, threads);
	}
	CHECK(rama_log_cursor_next(&b, &y) == 0);
	rama_log_cursor_close(&a);
	rama_log_cursor_close(&b);
}

static void round_trip(struct rama_log *log, const struct rama_tab_module *mod, uint8_t flags)
{
	struct fuzz_bytes written = { 0 };
	struct rama_source src;
	struct rama_log own;

	copy(log, mod, flags, &written);
	fuzz_open_own(&own, &src, &written);
	compare(log, &own, mod, !(flags & 2));
	CHECK(own.problems == 0);
	rama_log_close(&own);
	fuzz_bytes_fini(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct fuzz_log l = { .minor = 41, .nprocs = 4, .start_sec = 1600000000 };
	unsigned id = fuzz_take_byte(&in) % 24;
	const struct rama_tab_module *mod = rama_tab_module_get(id);
	struct fuzz_bytes built = { 0 };
	struct rama_source src;
	struct rama_log log;
	uint8_t flags;

	l.version[id] = fuzz_take_byte(&in);
	flags = fuzz_take_byte(&in);
	l.swap = flags & 1;
	l.part[id] = in;
	fuzz_log_build(&l, &built);
	fuzz_both_ways(built.p, built.n, true);
	if (mod != NULL) {
		rama_source_memory(&src, built.p, built.n);
		CHECK(rama_log_open(&log, &src, NULL, NULL) == 0);
		round_trip(&log, mod, flags);
		add_up(&log, mod);
		rama_log_close(&log);
	}
	fuzz_bytes_fini(&built);
	return 0;
}
