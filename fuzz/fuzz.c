/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *what, const char *file, int line)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	abort();
}

/* ---- bytes ----------------------------------------------------------------------------------- */

void fuzz_bytes_put(struct fuzz_bytes *b, uint64_t off, const void *bytes, size_t n)
{
	size_t room = b->room == 0 ? 4096 : b->room;

	CHECK(off < SIZE_MAX / 4 && n < SIZE_MAX / 4);
	while (room < off + n)
		room *= 2;
	if (room != b->room) {
		b->p = realloc(b->p, room);
		CHECK(b->p != NULL);
		memset(b->p + b->room, 0, room - b->room);
		b->room = room;
	}
	if (n > 0)
		memcpy(b->p + off, bytes, n);
	b->n = off + n > b->n ? off + n : b->n;
}

void fuzz_bytes_fini(struct fuzz_bytes *b)
{
	free(b->p);
	*b = (struct fuzz_bytes){ 0 };
}

static int write_bytes(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	(void)e;
	fuzz_bytes_put(ctx, off, bytes, n);
	return 0;
}

struct rama_log_sink fuzz_bytes_sink(struct fuzz_bytes *b)
{
	return (struct rama_log_sink){ .write = write_bytes, .ctx = b };
}

struct fuzz_input fuzz_take(struct fuzz_input *in, size_t n)
{
	struct fuzz_input taken = { in->p, n < in->n ? n : in->n };

	in->p += taken.n;
	in->n -= taken.n;
	return taken;
}

uint8_t fuzz_take_byte(struct fuzz_input *in)
{
	struct fuzz_input one = fuzz_take(in, 1);

	return one.n > 0 ? one.p[0] : 0;
}

unsigned fuzz_take_u16(struct fuzz_input *in)
{
	unsigned low = fuzz_take_byte(in);

	return low | (unsigned)fuzz_take_byte(in) << 8;
}

uint64_t fuzz_digest(uint64_t so_far, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++)
		so_far = (so_far ^ p[i]) * 0x100000001b3u;
	return so_far;
}

/* ---- logs ------------------------------------------------------------------------------------ */

static void put64(const struct fuzz_log *l, struct fuzz_bytes *to, uint64_t off, uint64_t v)
{
	v = l->swap ? __builtin_bswap64(v) : v;
	fuzz_bytes_put(to, off, &v, sizeof(v));
}

static void put32(const struct fuzz_log *l, struct fuzz_bytes *to, uint64_t off, uint32_t v)
{
	v = l->swap ? __builtin_bswap32(v) : v;
	fuzz_bytes_put(to, off, &v, sizeof(v));
}

static void put_job(const struct fuzz_log *l, struct fuzz_bytes *to)
{
	bool old = l->minor < 41;
	uint64_t at = to->n;

	if (l->job.n > 0) {
		fuzz_bytes_put(to, at, l->job.p, l->job.n);
		return;
	}
	fuzz_bytes_put(to, at + (old ? RAMA_LOG_JOB_OLD : RAMA_LOG_JOB_NEW), "exe\next4\t/", 11);
	put64(l, to, at + 8, (uint64_t)l->start_sec);
	put64(l, to, at + (old ? 16 : 24), (uint64_t)l->start_sec);
	put64(l, to, at + (old ? 24 : 40), (uint64_t)l->nprocs);
}

void fuzz_log_build(const struct fuzz_log *l, struct fuzz_bytes *to)
{
	bool old = l->minor < 41;
	unsigned maps = old ? 24 : 32, n = old ? 16 : RAMA_TAB_MODULES,
		 versions = maps + 16 + 16 * n;
	char text[8] = { '3', '.', (char)('0' + l->minor / 10), (char)('0' + l->minor % 10) };

	to->n = 0;
	fuzz_bytes_put(to, (old ? RAMA_LOG_HEADER_OLD : RAMA_LOG_HEADER_NEW) - 1, "", 1);
	memset(to->p, 0, to->n);
	fuzz_bytes_put(to, 0, text, sizeof(text));
	put64(l, to, 8, RAMA_LOG_MAGIC);
	to->p[16] = RAMA_LOG_PLAIN_BYTES;
	if (old)
		put32(l, to, 20, (uint32_t)l->partial);
	else
		put64(l, to, 24, l->partial);
	put_job(l, to);
	put64(l, to, maps, to->n);
	put64(l, to, maps + 8, l->names.n);
	fuzz_bytes_put(to, to->n, l->names.p, l->names.n);
	for (unsigned i = 0; i < n; i++) {
		if (l->version[i] == 0 && l->part[i].n == 0)
			continue;
		put64(l, to, maps + 16 + 16 * i, to->n);
		put64(l, to, maps + 24 + 16 * i, l->part[i].n);
		put32(l, to, versions + 4 * i, l->version[i]);
		fuzz_bytes_put(to, to->n, l->part[i].p, l->part[i].n);
	}
}

void fuzz_log_parts(struct fuzz_input *in, struct fuzz_log *first, struct fuzz_log *second)
{
	while (in->n > 0) {
		uint8_t id = fuzz_take_byte(in), version = fuzz_take_byte(in);
		size_t len = fuzz_take_u16(in);
		struct fuzz_log *to = id < 128 ? first : second;

		to->version[id % RAMA_TAB_MODULES] = version;
		to->part[id % RAMA_TAB_MODULES] = fuzz_take(in, len);
	}
}

void fuzz_log_format(struct fuzz_log *l, uint8_t choice)
{
	static const unsigned minor[] = { 41, 0, 10, 20, 21 };

	l->minor = minor[(choice >> 1) % 5];
	l->swap = choice & 1;
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t digest_record(uint64_t d, const struct rama_core_record *r)
{
	d = fuzz_digest(d, r->w, r->schema->words * sizeof(*r->w));
	for (unsigned k = 0; k < 2; k++) {
		d = fuzz_digest(d, &r->count[k], sizeof(r->count[k]));
		if (r->array[k] != NULL)
			d = fuzz_digest(d, r->array[k],
					r->count[k] * r->schema->array[k].words * sizeof(*r->w));
	}
	return d;
}

static int walk_module(struct rama_log *log, unsigned id, uint64_t *digest)
{
	union rama_core_word seg[64][RAMA_TAB_SEG_WORDS];
	struct rama_log_cursor c;
	struct rama_core_record *r;
	unsigned kind;
	int n, rc = rama_log_cursor_open(&c, log, id);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		const struct rama_log_name *name = rama_log_name_get(log, r->w[RAMA_TAB_ID].u);

		*digest = digest_record(*digest, r);
		if (name != NULL)
			(void)rama_log_mount_get(log, name->text);
		if (!(r->mod->flags & RAMA_TAB_TRACE) ||
		    r->w[RAMA_TAB_RANK].u % 4 == 3) /* cursor skips the segments */
			continue;
		while ((n = rama_log_cursor_segments(&c, seg, 1 + (int)(c.index % 64), &kind)) > 0)
			*digest = fuzz_digest(*digest, seg, (size_t)n * sizeof(seg[0])) + kind;
		rc = n < 0 ? n : rc;
	}
	rama_log_cursor_close(&c);
	return rc;
}

static uint64_t digest_names(const struct rama_log *log)
{
	uint64_t d = fuzz_digest(0, log->job.metadata, sizeof(log->job.metadata));

	d = fuzz_digest(d, log->job.exe, strlen(log->job.exe));
	for (size_t i = 0; i < log->n_mounts; i++) {
		CHECK(log->mounts[i].path_len > 0);
		CHECK(strlen(log->mounts[i].path) == log->mounts[i].path_len);
		d = fuzz_digest(d, log->mounts[i].type, strlen(log->mounts[i].type));
	}
	for (size_t i = 0; i < log->n_names; i++) {
		CHECK(strlen(log->names[i].text) == log->names[i].len);
		CHECK(rama_log_name_get(log, log->names[i].id) == &log->names[i]);
		d = fuzz_digest(d, log->names[i].text, log->names[i].len);
	}
	return d;
}

int fuzz_walk(struct rama_log *log, uint64_t *digest)
{
	int rc = 0;

	*digest = digest_names(log);
	for (unsigned id = 0; id < RAMA_TAB_MODULES && rc == 0; id++)
		rc = walk_module(log, id, digest);
	return rc;
}

static int read_one_way(const uint8_t *data, size_t size, bool strict, bool walk, uint64_t *digest,
			unsigned *problems)
{
	struct rama_log_options opt = { .strict = strict };
	struct rama_err e = { 0 };
	struct rama_source src;
	struct rama_log log;
	int rc;

	rama_source_memory(&src, data, size);
	rc = rama_log_open(&log, &src, &opt, &e);
	*problems = 0;
	if (rc != 0) {
		CHECK(rc < 0 && e.code == rc && e.text[0] != '\0');
		return rc;
	}
	*digest = digest_names(&log);
	if (walk)
		rc = fuzz_walk(&log, digest);
	CHECK(strict || rc == 0);
	CHECK(rc == 0 || (log.err.code == rc && log.err.text[0] != '\0'));
	*problems = log.problems;
	rama_log_close(&log);
	return rc;
}

void fuzz_both_ways(const uint8_t *data, size_t size, bool walk)
{
	uint64_t digest = 0, strict_digest = 0;
	unsigned problems, strict_problems;
	int rc = read_one_way(data, size, false, walk, &digest, &problems);
	int strict_rc = read_one_way(data, size, true, walk, &strict_digest, &strict_problems);

	CHECK((strict_rc == 0) == (rc == 0 && problems == 0));
	CHECK(strict_rc != 0 || digest == strict_digest);
}

void fuzz_open_own(struct rama_log *log, struct rama_source *src, const struct fuzz_bytes *b)
{
	struct rama_log_options opt = { .strict = true };
	struct rama_err e = { 0 };
	int rc;

	rama_source_memory(src, b->p, b->n);
	rc = rama_log_open(log, src, &opt, &e);
	if (rc != 0)
		fprintf(stderr, "own log: %s\n", e.text);
	CHECK(rc == 0);
}

void fuzz_rewrite(const struct rama_log *log, struct fuzz_bytes *written, struct rama_source *src,
		  struct rama_log *own)
{
	struct rama_log_sink sink = fuzz_bytes_sink(written);
	struct rama_log_writer w;

	CHECK(rama_log_writer_init(&w, &sink, RAMA_LOG_PLAIN_BYTES, 1) == 0);
	CHECK(rama_log_writer_job(&w, &log->job, log->mounts, log->n_mounts) == 0);
	for (size_t i = 0; i < log->n_names; i++)
		CHECK(rama_log_writer_name(&w, log->names[i].id, log->names[i].text,
					   log->names[i].len) == 0);
	CHECK(rama_log_writer_finish(&w, 0) == 0);
	rama_log_writer_fini(&w);
	fuzz_open_own(own, src, written);
}
