/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/site.h"

#include <string.h>

/* clang-format off */
const struct rama_core_turn_words rama_core_turn_words[2][RAMA_CORE_TURNS] = {
	{ { RAMA_TAB_POSIX_WRITES, RAMA_TAB_POSIX_BYTES_WRITTEN, RAMA_TAB_POSIX_F_WRITE_TIME },
	  { RAMA_TAB_POSIX_READS, RAMA_TAB_POSIX_BYTES_READ, RAMA_TAB_POSIX_F_READ_TIME } },
	{ { RAMA_TAB_STDIO_WRITES, RAMA_TAB_STDIO_BYTES_WRITTEN, RAMA_TAB_STDIO_F_WRITE_TIME },
	  { RAMA_TAB_STDIO_READS, RAMA_TAB_STDIO_BYTES_READ, RAMA_TAB_STDIO_F_READ_TIME } },
};
/* clang-format on */

/* nothing in a segment is trusted: it may wrap, but not overflow */
static int64_t grown(int64_t now, int64_t then)
{
	return (int64_t)((uint64_t)now - (uint64_t)then);
}

struct rama_core_moved rama_core_turn_so_far(const struct rama_core_turn *t,
					     const union rama_core_word *w,
					     const struct rama_core_turn_words *at)
{
	return (struct rama_core_moved){ .ops = grown(w[at->ops].i, t->ops),
					 .bytes = grown(w[at->bytes].i, t->bytes),
					 .ticks = w[at->ticks].u - t->ticks };
}

struct rama_core_moved rama_core_turn_end(struct rama_core_turn *t, const union rama_core_word *w,
					  const struct rama_core_turn_words *at)
{
	struct rama_core_moved m = rama_core_turn_so_far(t, w, at);

	t->ops = w[at->ops].i;
	t->bytes = w[at->bytes].i;
	t->ticks = w[at->ticks].u;
	return m;
}

void rama_core_site_add(struct rama_core_site_row *r, const struct rama_core_moved *m)
{
	r->moved.ops = rama_core_add(r->moved.ops, m->ops);
	r->moved.bytes = rama_core_add(r->moved.bytes, m->bytes);
	r->moved.ticks += m->ticks;
}

static int64_t take(int64_t *left, int64_t n)
{
	n = n < 0 ? 0 : n > *left ? *left : n;
	*left -= n;
	return n;
}

struct rama_core_moved rama_core_moved_take(struct rama_core_moved *left,
					    const struct rama_core_moved *m)
{
	struct rama_core_moved got = { .ops = take(&left->ops, m->ops),
				       .bytes = take(&left->bytes, m->bytes) };

	got.ticks = m->ticks < left->ticks ? m->ticks : left->ticks;
	left->ticks -= got.ticks;
	return got;
}

/* ---- the kind -------------------------------------------------------------------------------- */

static void init(void *slot, const struct rama_core_new *n)
{
	struct rama_core_site_row *r = slot;

	memset(r, 0, sizeof(*r));
	r->w[RAMA_TAB_ID].u = n->id;
}

/* rows become records by gather, many of them one */
static void finish(const void *slot, double tick, union rama_core_word *w)
{
	const struct rama_core_site_row *r = slot;

	(void)tick;
	memset(w, 0, sizeof(r->w));
	w[RAMA_TAB_ID] = r->w[RAMA_TAB_ID];
}

static bool is_idle(const void *slot)
{
	(void)slot;
	return true;
}

const struct rama_core_kind rama_core_kind_sites = {
	RAMA_CORE_KIND_OF(struct rama_core_site_row),
	.init = init,
	.finish = finish,
	.is_idle = is_idle,
};
