/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_annex.c: a log whose annex is put together so that checksums do not stand in the way.
 * Flags: 1 other byte order; 2 the footer's numbers are as they should be; 4 so are places and
 * lengths of sections; 8 whole checksums; 16 DXT_POSIX has thread ids itself; then length (2
 * bytes) and records of DXT_POSIX; then sections: number, version, flags, length (2 bytes),
 * bytes; then, where it says so, the numbers in place of the right ones. What is read is written
 * again and read back. */
#include <string.h>

#include "fuzz.h"

enum { SWAP = 1, FOOTER = 2, PLACES = 4, SUMS = 8, WIDE = 16 };

struct maker {
	struct fuzz_input in;
	struct fuzz_bytes *to;
	uint8_t flags;
};

static void put(struct maker *m, uint64_t v, unsigned size)
{
	uint32_t half = (uint32_t)v;

	if (m->flags & SWAP) {
		v = __builtin_bswap64(v);
		half = __builtin_bswap32(half);
	}
	fuzz_bytes_put(m->to, m->to->n, size == 8 ? (void *)&v : (void *)&half, size);
}

/* a number from the input, or the right one; a bit of it changed now and then is worth more than
 * noise */
static uint64_t number(struct maker *m, uint64_t right, uint8_t keep)
{
	uint8_t what = m->flags & keep ? 0 : fuzz_take_byte(&m->in);

	return what == 0 ? right : what < 128 ? right + what - 64 : right ^ 1ull << (what & 63);
}

static void append_annex(struct maker *m)
{
	struct rama_log_annex a = { .n = 0 };
	uint64_t begin = m->to->n, dir, size;
	uint32_t crc;

	fuzz_bytes_put(m->to, begin, RAMA_LOG_ANNEX_MAGIC, RAMA_LOG_ANNEX_HEAD);
	while (m->in.n > 5 && a.n < RAMA_LOG_ANNEX_MOST) {
		struct rama_log_section *s = &a.section[a.n++];
		struct fuzz_input bytes;

		s->id = fuzz_take_byte(&m->in);
		s->version = fuzz_take_byte(&m->in);
		s->flags = fuzz_take_byte(&m->in);
		bytes = fuzz_take(&m->in, fuzz_take_u16(&m->in));
		s->off = m->to->n;
		s->len = bytes.n;
		s->crc = rama_log_crc(0, bytes.p, bytes.n);
		if (!(m->flags & SUMS))
			s->crc ^= fuzz_take_byte(&m->in) == 1;
		fuzz_bytes_put(m->to, m->to->n, bytes.p, bytes.n);
		s->off = number(m, s->off, PLACES);
		s->len = number(m, s->len, PLACES);
	}
	dir = m->to->n;
	for (unsigned i = 0; i < a.n; i++) {
		put(m, a.section[i].id, 4);
		put(m, a.section[i].version, 4);
		put(m, a.section[i].flags, 4);
		put(m, a.section[i].crc, 4);
		put(m, a.section[i].off, 8);
		put(m, a.section[i].len, 8);
	}
	size = m->to->n - dir;
	put(m, number(m, begin, FOOTER), 8);
	put(m, number(m, dir, FOOTER), 8);
	put(m, number(m, size, FOOTER), 8);
	put(m, number(m, m->to->n + 24, FOOTER), 8);
	put(m, number(m, 1, FOOTER), 4);
	crc = rama_log_crc(0, m->to->p + dir, m->to->n - dir);
	put(m, crc, 4);
	fuzz_bytes_put(m->to, m->to->n, RAMA_LOG_ANNEX_MAGIC, 8);
}

/* ---- and written again ----------------------------------------------------------------------- */

static void copy_trace(struct rama_log *log, struct rama_log_writer *w)
{
	union rama_core_word seg[7][RAMA_TAB_SEG_WORDS];
	struct rama_log_short_trace cut;
	struct rama_log_cursor c;
	struct rama_core_record *r;
	unsigned kind;
	int rc, n;

	CHECK(rama_log_short_trace_find(&cut, log, RAMA_TAB_MOD_DXT_POSIX) == 0);
	CHECK(rama_log_writer_module(w, RAMA_TAB_MOD_DXT_POSIX, 2) == 0);
	rc = rama_log_cursor_open(&c, log, RAMA_TAB_MOD_DXT_POSIX);
	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		rama_log_short_trace_apply(&cut, &c, r);
		CHECK(rama_log_writer_record(w, r) == 0);
		while ((n = rama_log_cursor_segments(&c, seg, 7, &kind)) > 0)
			CHECK(rama_log_writer_segments(w, seg, (size_t)n) == 0);
	}
	rama_log_cursor_close(&c);
}

/* thread ids of all segments */
static uint64_t digest_of(struct rama_log *log)
{
	union rama_core_word seg[16][RAMA_TAB_SEG_WORDS];
	struct rama_log_cursor c;
	struct rama_core_record *r;
	uint64_t d = 0;
	unsigned kind;
	int rc = rama_log_cursor_open(&c, log, RAMA_TAB_MOD_DXT_POSIX), n;

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0)
		while ((n = rama_log_cursor_segments(&c, seg, 16, &kind)) > 0)
			for (int i = 0; i < n; i++)
				d = fuzz_digest(d, seg[i], sizeof(seg[i]));
	rama_log_cursor_close(&c);
	return d;
}

static void rewrite(const struct fuzz_bytes *built)
{
	struct fuzz_bytes written = { 0 };
	struct rama_log_sink sink = fuzz_bytes_sink(&written);
	struct rama_source src, own_src;
	struct rama_log log, own;
	struct rama_log_writer w;
	uint64_t digest;

	rama_source_memory(&src, built->p, built->n);
	if (rama_log_open(&log, &src, NULL, NULL) != 0)
		return;
	digest_of(&log); /* once, so that it is known whether thread ids fit */
	digest = digest_of(&log);
	CHECK(rama_log_writer_init(&w, &sink, RAMA_LOG_PLAIN_BYTES, 1) == 0);
	CHECK(rama_log_writer_job(&w, &log.job, log.mounts, log.n_mounts) == 0);
	copy_trace(&log, &w);
	for (unsigned i = 0; i < log.annex.n; i++) {
		const struct rama_log_section *s = &log.annex.section[i];

		if (rama_log_section_known(&log, s) || rama_log_writer_has(&w, s->id))
			continue;
		CHECK(rama_log_writer_section(&w, s) == 0);
		CHECK(rama_log_writer_bytes(&w, built->p + s->off, (size_t)s->len) == 0);
	}
	CHECK(rama_log_writer_finish(&w, 0) == 0);
	rama_log_writer_fini(&w);
	fuzz_open_own(&own, &own_src, &written);
	CHECK(digest_of(&own) == digest);
	CHECK(own.unfit == 0);
	for (unsigned i = 0; i < log.annex.n; i++)
		CHECK(rama_log_section_known(&log, &log.annex.section[i]) ||
		      rama_log_annex_find(&own.annex, log.annex.section[i].id) != NULL);
	rama_log_close(&own);
	rama_log_close(&log);
	fuzz_bytes_fini(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_log l = { .minor = 41, .nprocs = 2, .start_sec = 1600000000 };
	struct fuzz_bytes built = { 0 };
	struct maker m = { .in = { data, size }, .to = &built };

	m.flags = fuzz_take_byte(&m.in);
	l.swap = m.flags & SWAP;
	l.part[RAMA_TAB_MOD_DXT_POSIX] = fuzz_take(&m.in, fuzz_take_u16(&m.in));
	l.version[RAMA_TAB_MOD_DXT_POSIX] = m.flags & WIDE ? 2 : 1;
	fuzz_log_build(&l, &built);
	append_annex(&m);
	fuzz_both_ways(built.p, built.n, true);
	rewrite(&built);
	fuzz_bytes_fini(&built);
	return 0;
}
