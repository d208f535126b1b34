/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "base/file.h"

const struct rama_gather_process check_alone = {
	.parent_rank = -1, .nprocs = 1, .images = 1, .ended = 1
};

static int take(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	struct check *c = ctx;

	(void)e;
	assert_true(off + n <= CHECK_LOG);
	memcpy(c->bytes + off, bytes, n);
	c->n = off + n > c->n ? off + n : c->n;
	return 0;
}

static void on_problem(void *ctx, const char *line)
{
	struct check *c = ctx;

	(void)line;
	c->problems++;
}

static void open_log(struct check *c)
{
	struct rama_log_options opt = { .problem = on_problem, .ctx = c };
	struct rama_err e = { 0 };

	rama_source_memory(&c->src, c->bytes, c->n);
	if (rama_log_open(&c->log, &c->src, &opt, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(c->problems, 0);
}

struct check *check_one(const struct seg *s, const struct rama_gather_process *p)
{
	struct check *c = calloc(1, sizeof(*c));
	struct rama_seg *segment = malloc(sizeof(*segment));
	struct rama_log_sink sink = { .write = take, .ctx = c };
	struct rama_source src;
	struct rama_err e = { 0 };
	struct rama_log_writer w;

	c->bytes = calloc(1, CHECK_LOG);
	rama_source_memory(&src, s->bytes, s->size);
	assert_int_equal(rama_seg_open(segment, &src, &e), 0);
	assert_int_equal(rama_log_writer_init(&w, &sink, RAMA_LOG_PLAIN_BYTES, 0), 0);
	if (rama_gather_one(segment, p, &w, &c->partial, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(rama_log_writer_finish(&w, c->partial), 0);
	rama_log_writer_fini(&w);
	free(segment);
	open_log(c);
	return c;
}

struct check *check_file(const char *path)
{
	struct check *c = calloc(1, sizeof(*c));
	struct rama_err e = { 0 };
	struct rama_file f;

	assert_int_equal(rama_file_open(&f, path, &e), 0);
	c->n = (size_t)f.src.size;
	c->bytes = malloc(c->n);
	assert_int_equal(f.src.read(f.src.ctx, 0, c->bytes, c->n, &e), 0);
	rama_file_close(&f);
	open_log(c);
	c->partial = c->log.partial;
	return c;
}

void check_end(struct check *c)
{
	assert_int_equal(c->problems, 0);
	rama_log_close(&c->log);
	free(c->bytes);
	free(c);
}

unsigned check_count(struct check *c, unsigned module)
{
	struct rama_log_cursor cur;
	struct rama_core_record *r;
	unsigned n = 0;
	int rc = rama_log_cursor_open(&cur, &c->log, module);

	while (rc > 0 && (rc = rama_log_cursor_next(&cur, &r)) > 0)
		n++;
	rama_log_cursor_close(&cur);
	return n;
}

static void copy_record(struct check_record *to, struct rama_log_cursor *cur,
			const struct rama_core_record *r)
{
	unsigned kind, at[2] = { 0, 0 };
	int n;

	to->r = *r;
	assert_true(r->schema->words <= LENGTH(to->w));
	memcpy(to->w, r->w, r->schema->words * sizeof(*r->w));
	to->r.w = to->w;
	for (unsigned k = 0; k < 2 && r->array[k] != NULL; k++) {
		assert_true(r->count[k] <= LENGTH(to->array[k]));
		memcpy(to->array[k], r->array[k], r->count[k] * sizeof(*r->w));
		to->r.array[k] = to->array[k];
	}
	if (!(r->mod->flags & RAMA_TAB_TRACE))
		return;
	assert_true(r->count[0] <= 1000 && r->count[1] <= 1000);
	while ((kind = at[0] < r->count[0] ? 0 : 1, at[kind] < r->count[kind]) &&
	       (n = rama_log_cursor_segments(cur, &to->seg[kind][at[kind]], 1000, &kind)) > 0)
		at[kind] += (unsigned)n;
	assert_int_equal(at[0], r->count[0]);
	assert_int_equal(at[1], r->count[1]);
}

struct check_record *check_get(struct check *c, unsigned module, unsigned n)
{
	struct check_record *to = rama_arena_alloc(&c->log.arena, sizeof(*to));
	struct rama_log_cursor cur;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&cur, &c->log, module);

	assert_non_null(to);
	memset(to, 0, sizeof(*to));
	while (rc > 0 && (rc = rama_log_cursor_next(&cur, &r)) > 0 && n > 0)
		n--;
	if (rc <= 0)
		fail_msg("module %u has too few records", module);
	copy_record(to, &cur, r);
	rama_log_cursor_close(&cur);
	return to;
}

const char *check_name(struct check *c, uint64_t id)
{
	const struct rama_log_name *n = rama_log_name_get(&c->log, id);

	return n != NULL ? n->text : NULL;
}
