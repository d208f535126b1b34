/* SPDX-License-Identifier: BSD-3-Clause */
#include "logfile/calls.h"

#include <string.h>

#include "base/err.h"
#include "table/fn.h"
#include "table/table.h"

/* ---- numbers -------------------------------------------------------------------------------- */

#define CALL_BYTES 146 /* no call takes more: fourteen numbers of up to ten bytes */
#define VARINT_BYTES 10
#define LINKED 0x80 /* beside the kind of an operation: its calls have a link */
#define USER 0x40   /* ... which says whose thread it was */
_Static_assert(RAMA_TAB_OPS <= USER, "kinds leave both bits free");

static unsigned char *put(unsigned char *to, uint64_t v)
{
	for (; v > 127; v >>= 7)
		*to++ = (unsigned char)(v | 128);
	*to++ = (unsigned char)v;
	return to;
}

/* small whether it goes up or down */
static uint64_t fold(uint64_t difference)
{
	return difference << 1 ^ (0 - (difference >> 63));
}

static uint64_t unfold(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

static uint64_t get(struct rama_log_calls *c)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < VARINT_BYTES && c->at < c->stop; i++) {
		unsigned char b = *c->at++;

		v |= (uint64_t)(b & 127) << 7 * i;
		if (b < 128)
			return v;
	}
	c->bad = true;
	return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

void rama_log_calls_pen_clear(struct rama_log_calls_pen *p)
{
	p->n_ops = p->n_files = 0;
	p->n = p->id = p->start = 0;
	p->tid = p->unique = p->mark = p->user = 0;
	p->used = 0;
	memset(p->end, 0, sizeof(p->end));
	memset(p->file_at, 0, sizeof(p->file_at));
}

/* its number; RAMA_LOG_CALLS_OPS: there is no room for one more */
static unsigned op_of(struct rama_log_calls_pen *p, const struct rama_log_call *c)
{
	size_t len = c->op_len < RAMA_LOG_CALLS_OP ? c->op_len : RAMA_LOG_CALLS_OP;
	unsigned i = 0;

	while (i < p->n_ops && (p->op[i].layer != c->layer || p->op[i].kind != c->kind ||
				p->op[i].linked != c->linked || p->op[i].len != len ||
				memcmp(p->op[i].name, c->op, len) != 0))
		i++;
	if (i == p->n_ops && i < RAMA_LOG_CALLS_OPS) {
		p->op[i].layer = c->layer;
		p->op[i].kind = c->kind;
		p->op[i].linked = c->linked;
		p->op[i].name = c->op;
		p->op[i].len = len;
		p->n_ops++;
	}
	return i;
}

/* the same for files */
static unsigned file_of(struct rama_log_calls_pen *p, uint64_t id)
{
	const unsigned mask = 2 * RAMA_LOG_CALLS_FILES - 1;
	unsigned at = (unsigned)(id * 0x9e3779b97f4a7c15u >> 32) & mask;

	while (p->file_at[at] != 0 && p->file[p->file_at[at] - 1].u != id)
		at = (at + 1) & mask;
	if (p->file_at[at] != 0)
		return p->file_at[at] - 1u;
	if (p->n_files == RAMA_LOG_CALLS_FILES)
		return RAMA_LOG_CALLS_FILES;
	p->file[p->n_files++].u = id;
	p->file_at[at] = (uint16_t)p->n_files;
	return p->n_files - 1;
}

/* its place among the files, and 1; 0: none. false: there is no room for one more */
static bool place_of(struct rama_log_calls_pen *p, uint64_t id, unsigned *to)
{
	unsigned at = id == 0 ? 0 : file_of(p, id);

	*to = id == 0 ? 0 : at + 1;
	return at < RAMA_LOG_CALLS_FILES;
}

static unsigned char *put_link(struct rama_log_calls_pen *p, unsigned char *to,
			       const struct rama_log_call *c, unsigned object, unsigned peer)
{
	to = put(to, fold(c->tid - p->tid));
	to = put(to, fold(c->unique - p->unique));
	to = put(to, object);
	to = put(to, fold(c->mark - p->mark));
	to = put(to, peer);
	to = put(to, fold(c->user - p->user));
	p->tid = c->tid;
	p->unique = c->unique;
	p->mark = c->mark;
	p->user = c->user;
	return to;
}

bool rama_log_calls_pen_add(struct rama_log_calls_pen *p, const struct rama_log_call *c)
{
	uint64_t start = c->start < RAMA_LOG_CALLS_TIME ? c->start : RAMA_LOG_CALLS_TIME;
	unsigned char *to = p->bytes + p->used;
	unsigned op, file, object = 0, peer = 0;

	if (p->n == RAMA_LOG_CALLS_MOST || sizeof(p->bytes) - p->used < CALL_BYTES)
		return false;
	op = op_of(p, c);
	file = op < RAMA_LOG_CALLS_OPS ? file_of(p, c->file) : RAMA_LOG_CALLS_FILES;
	if (file == RAMA_LOG_CALLS_FILES ||
	    (c->linked && (!place_of(p, c->object, &object) || !place_of(p, c->peer, &peer))))
		return false;
	to = put(to, op);
	to = put(to, file);
	to = put(to, fold(c->id - p->id));
	to = put(to, c->parent == 0 ? 0 : fold((uint64_t)c->id - c->parent));
	to = put(to, fold((uint64_t)c->off - p->end[op]));
	to = put(to, fold((uint64_t)c->bytes));
	to = put(to, fold(start - p->start));
	to = put(to, c->length < RAMA_LOG_CALLS_TIME ? c->length : RAMA_LOG_CALLS_TIME);
	if (c->linked)
		to = put_link(p, to, c, object, peer);
	p->used = (size_t)(to - p->bytes);
	p->id = c->id;
	p->start = start;
	p->end[op] = (uint64_t)c->off + (uint64_t)c->bytes;
	p->n++;
	return true;
}

void rama_log_calls_pen_give(struct rama_log_calls_pen *p, struct rama_core_record *r)
{
	unsigned char *begin = (unsigned char *)p->words, *to = put(begin, p->n_ops);
	size_t n;

	for (unsigned i = 0; i < p->n_ops; i++) {
		*to++ = p->op[i].layer;
		*to++ = p->op[i].kind | (p->op[i].linked ? LINKED | USER : 0);
		*to++ = (unsigned char)p->op[i].len;
		memcpy(to, p->op[i].name, p->op[i].len);
		to += p->op[i].len;
	}
	memcpy(to, p->bytes, p->used);
	n = (size_t)(to - begin) + p->used;
	memset(begin + n, 0, (8 - n % 8) % 8);
	r->w[RAMA_TAB_CALLS_COUNT].u = p->n;
	r->w[RAMA_TAB_CALLS_FILES].u = r->count[0] = p->n_files;
	r->w[RAMA_TAB_CALLS_WORDS].u = r->count[1] = (n + 7) / 8;
	r->array[0] = p->file;
	r->array[1] = p->words;
}
_Static_assert(sizeof(((struct rama_log_calls_pen *)0)->words) >=
		       sizeof(((struct rama_log_calls_pen *)0)->bytes) + 8 +
			       RAMA_LOG_CALLS_OPS * (3 + RAMA_LOG_CALLS_OP),
	       "operations and calls fit");

/* ---- reading -------------------------------------------------------------------------------- */

static void take_op(struct rama_log_calls *c, unsigned i)
{
	if (c->stop - c->at < 3 || (c->old && c->at[1] > 1) || c->at[2] > RAMA_LOG_CALLS_OP ||
	    c->stop - c->at - 3 < c->at[2]) {
		c->bad = true;
		return;
	}
	c->op[i].layer = c->at[0];
	if (c->old) {
		c->op[i].kind = c->at[1] != 0 ? RAMA_TAB_OP_WRITE : RAMA_TAB_OP_READ;
	} else {
		c->op[i].kind = c->at[1] & (USER - 1);
		c->op[i].linked = (c->at[1] & LINKED) != 0;
		c->op[i].with_user = (c->at[1] & USER) != 0;
	}
	if (c->op[i].kind >= RAMA_TAB_OPS)
		c->op[i].kind = RAMA_TAB_OP_NOTHING;
	c->op[i].len = c->at[2];
	c->op[i].name = (const char *)c->at + 3;
	c->at += 3 + c->at[2];
}

int rama_log_calls_open(struct rama_log_calls *c, const struct rama_core_record *r)
{
	uint64_t n;

	*c = (struct rama_log_calls){ .file = r->array[0],
				      .n_files = r->count[0],
				      .left = r->w[RAMA_TAB_CALLS_COUNT].u,
				      .old = r->w[RAMA_TAB_CALLS_ROLE].i < 0 };
	if (r->count[1] == 0)
		return c->left == 0 ? 0 : RAMA_ECORRUPT;
	c->at = (const unsigned char *)r->array[1];
	c->stop = c->at + 8 * r->count[1];
	n = get(c);
	if (n > RAMA_LOG_CALLS_OPS)
		return RAMA_ECORRUPT;
	for (c->n_ops = 0; c->n_ops < n && !c->bad; c->n_ops++)
		take_op(c, c->n_ops);
	return c->bad || c->left > RAMA_LOG_CALLS_MOST ? RAMA_ECORRUPT : 0;
}

/* numbers of one call as they stand there; what they count from moves on */
static void take_numbers(struct rama_log_calls *c, unsigned op, struct rama_log_call *to)
{
	uint64_t up;

	c->id += unfold(get(c));
	up = unfold(get(c));
	to->id = (uint32_t)c->id;
	to->parent = up == 0 ? 0 : (uint32_t)(c->id - up);
	c->bad = c->bad || c->id > UINT32_MAX || c->id - up > UINT32_MAX ||
		 (up != 0 && to->parent == 0);
	to->off = (int64_t)(c->end[op] + unfold(get(c)));
	to->bytes = (int64_t)unfold(get(c));
	c->end[op] = (uint64_t)to->off + (uint64_t)to->bytes;
	c->start += unfold(get(c));
	to->start = c->start;
	to->length = get(c);
	c->bad = c->bad || to->start > RAMA_LOG_CALLS_TIME || to->length > RAMA_LOG_CALLS_TIME;
}

/* 0: none */
static uint64_t take_id(struct rama_log_calls *c)
{
	uint64_t at = get(c);

	c->bad = c->bad || at > c->n_files;
	return c->bad || at == 0 ? 0 : c->file[at - 1].u;
}

static void take_link(struct rama_log_calls *c, bool with_user, struct rama_log_call *to)
{
	to->linked = true;
	to->tid = c->tid += unfold(get(c));
	to->unique = c->unique += unfold(get(c));
	to->object = take_id(c);
	to->mark = c->mark += unfold(get(c));
	to->peer = take_id(c);
	if (with_user)
		to->user = c->user += unfold(get(c));
}

int rama_log_calls_next(struct rama_log_calls *c, struct rama_log_call *to)
{
	uint64_t op, file;

	if (c->left == 0)
		return 0;
	op = get(c);
	file = get(c);
	if (c->bad || op >= c->n_ops || file >= c->n_files)
		return RAMA_ECORRUPT;
	*to = (struct rama_log_call){ .layer = c->op[op].layer,
				      .write = c->op[op].kind == RAMA_TAB_OP_WRITE,
				      .kind = c->op[op].kind,
				      .op = c->op[op].name,
				      .op_len = c->op[op].len,
				      .file = c->file[file].u };
	take_numbers(c, (unsigned)op, to);
	if (c->op[op].linked && !c->bad)
		take_link(c, c->op[op].with_user, to);
	c->left--;
	return c->bad ? RAMA_ECORRUPT : 1;
}
