/* SPDX-License-Identifier: BSD-3-Clause */
/* columns_unpack.c: columns become events again. Every number in them is checked before it is
 * used as a place. */
#include "wire/columns.h"

static int damaged(struct rama_err *e, const char *what)
{
	return rama_err_set(e, RAMA_ECORRUPT, "block of events: %s", what);
}

static void get_text(struct rama_wire_reader *r, char *to, size_t room)
{
	size_t n = rama_wire_get_le(r, 1);
	const unsigned char *text = rama_wire_get_bytes(r, n);

	if (n >= room)
		r->bad = true;
	memset(to, 0, room);
	if (text != NULL && !r->bad)
		memcpy(to, text, n);
	/* a NUL inside would make two texts of one */
	if (strlen(to) != n)
		r->bad = true;
}

static int get_whats(struct rama_wire_reader *r, struct rama_wire_block *b, struct rama_err *e)
{
	uint64_t n = rama_wire_get_varint(r);

	if (r->bad || n == 0 || n > RAMA_WIRE_BLOCK_WHATS)
		return damaged(e, "its table of calls is not possible");
	b->n_whats = (uint32_t)n;
	for (uint32_t i = 0; i < b->n_whats; i++) {
		struct rama_wire_what *w = &b->what[i];

		get_text(r, w->layer, sizeof(w->layer));
		get_text(r, w->op, sizeof(w->op));
		get_text(r, w->fn, sizeof(w->fn));
		if (r->bad || !rama_wire_what_valid(w))
			return damaged(e, "its table of calls is damaged");
	}
	return 0;
}

static int get_codes(struct rama_wire_reader *r, struct rama_wire_columns *c,
		     const struct rama_wire_block *b, struct rama_err *e)
{
	const unsigned both[] = { RAMA_WIRE_CODE_OFF_NEXT | RAMA_WIRE_CODE_OFF_NONE,
				  RAMA_WIRE_CODE_BYTES_SAME | RAMA_WIRE_CODE_BYTES_NONE,
				  RAMA_WIRE_CODE_PARENT_NONE | RAMA_WIRE_CODE_PARENT_SAME };
	uint64_t n = rama_wire_get_varint(r);
	const unsigned char *p = NULL;

	if (n == 0 || n > b->n || (p = rama_wire_get_bytes(r, 2 * n)) == NULL)
		return damaged(e, "its table of kinds is not possible");
	c->n_codes = (uint32_t)n;
	for (uint32_t i = 0; i < c->n_codes; i++) {
		unsigned flags = p[2 * i + 1];

		c->code[i] = (uint16_t)rama_wire_load_le(p + 2 * i, 2);
		c->count[i] = 0;
		if (p[2 * i] >= b->n_whats)
			return damaged(e, "a kind names a call that is not there");
		for (unsigned k = 0; k < 3; k++)
			if ((flags & both[k]) == both[k])
				return damaged(e, "a kind contradicts itself");
	}
	return 0;
}

static int get_records(struct rama_wire_reader *r, struct rama_wire_columns *c,
		       const struct rama_wire_block *b, struct rama_err *e)
{
	uint64_t n = rama_wire_get_varint(r);
	const unsigned char *p = NULL;

	if (n == 0 || n > b->n || (p = rama_wire_get_bytes(r, 8 * n)) == NULL)
		return damaged(e, "its table of records is not possible");
	c->n_records = (uint32_t)n;
	for (uint32_t i = 0; i < c->n_records; i++) {
		c->record[i] = rama_wire_load_le(p + 8 * i, 8);
		c->next[i] = 0;
	}
	return 0;
}

static void add_plane(uint64_t *restrict v, const unsigned char *restrict p, uint32_t n,
		      unsigned shift)
{
	uint32_t i = 0;

	for (; i + 8 <= n; i += 8)
		for (unsigned k = 0; k < 8; k++)
			v[i + k] |= (uint64_t)p[i + k] << shift;
	for (; i < n; i++)
		v[i] |= (uint64_t)p[i] << shift;
}

static void get_column(struct rama_wire_reader *r, uint64_t *v, uint32_t n)
{
	unsigned width, shift;

	if (n == 0)
		return;
	width = (unsigned)rama_wire_get_le(r, 1);
	shift = (unsigned)rama_wire_get_le(r, 1);
	if ((width & RAMA_WIRE_COLUMN_CONSTANT) != 0) {
		width &= (unsigned)~RAMA_WIRE_COLUMN_CONSTANT;
		uint64_t value = width <= 8 ? rama_wire_get_le(r, width) : 0;

		if (width > 8 || shift != 0)
			r->bad = true;
		for (uint32_t i = 0; i < n; i++)
			v[i] = value;
		return;
	}
	if (width == 0 || width > 8 || shift > 63 || shift + 8 * (width - 1) > 63)
		r->bad = true;
	for (unsigned k = 0; k < width && !r->bad; k++) {
		const unsigned char *p = rama_wire_get_bytes(r, n);

		if (k == 0)
			memset(v, 0, n * sizeof(*v));
		if (p != NULL)
			add_plane(v, p, n, shift + 8 * k);
	}
}

/* How many values the columns of surprises have follows from the kinds. */
static int count_surprises(struct rama_wire_columns *c, uint32_t n)
{
	uint32_t off = 0, bytes = 0, call = 0, parent = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t kind = c->col[RAMA_WIRE_COL_KIND][i];

		if (kind >= c->n_codes || c->col[RAMA_WIRE_COL_RECORD][i] >= c->n_records)
			return -1;
		c->count[kind]++;
	}
	for (uint32_t i = 0; i < c->n_codes; i++) {
		unsigned flags = c->code[i] >> 8;

		off += (flags & (RAMA_WIRE_CODE_OFF_NEXT | RAMA_WIRE_CODE_OFF_NONE)) == 0
			       ? c->count[i]
			       : 0;
		bytes += (flags & (RAMA_WIRE_CODE_BYTES_SAME | RAMA_WIRE_CODE_BYTES_NONE)) == 0
				 ? c->count[i]
				 : 0;
		call += (flags & RAMA_WIRE_CODE_CALL_NEXT) == 0 ? c->count[i] : 0;
		parent += (flags & (RAMA_WIRE_CODE_PARENT_NONE | RAMA_WIRE_CODE_PARENT_SAME)) == 0
				  ? c->count[i]
				  : 0;
	}
	c->n[RAMA_WIRE_COL_OFF] = off;
	c->n[RAMA_WIRE_COL_BYTES] = bytes;
	c->n[RAMA_WIRE_COL_CALL] = call;
	c->n[RAMA_WIRE_COL_PARENT] = parent;
	return 0;
}

static int get_columns(struct rama_wire_reader *r, struct rama_wire_columns *c, uint32_t n,
		       struct rama_err *e)
{
	c->n[RAMA_WIRE_COL_KIND] = c->n[RAMA_WIRE_COL_RECORD] = c->n[RAMA_WIRE_COL_GAP] =
		c->n[RAMA_WIRE_COL_DUR] = n;
	for (unsigned k = 0; k < RAMA_WIRE_COLUMNS; k++) {
		if (k == RAMA_WIRE_COL_GAP && (r->bad || count_surprises(c, n) < 0))
			return damaged(e, "an event names a kind or a record that is not there");
		get_column(r, c->col[k], c->n[k]);
	}
	if (r->bad || r->p != r->end)
		return damaged(e, "its columns are damaged");
	return 0;
}

struct at {
	uint32_t off, bytes, call, parent;
};

static inline void join_place(struct rama_wire_columns *c, struct rama_wire_event *ev,
			      unsigned flags, struct at *at, uint64_t *next)
{
	uint64_t *same = &c->same[ev->what];

	if ((flags & RAMA_WIRE_CODE_OFF_NONE) != 0)
		ev->off = -1;
	else if ((flags & RAMA_WIRE_CODE_OFF_NEXT) != 0)
		ev->off = (int64_t)*next;
	else
		ev->off = (int64_t)(*next + (uint64_t)rama_wire_unfold(
						    c->col[RAMA_WIRE_COL_OFF][at->off++]));
	if ((flags & RAMA_WIRE_CODE_BYTES_NONE) != 0)
		ev->bytes = -1;
	else if ((flags & RAMA_WIRE_CODE_BYTES_SAME) != 0)
		ev->bytes = (int64_t)*same;
	else
		ev->bytes = (int64_t)c->col[RAMA_WIRE_COL_BYTES][at->bytes++];
	if ((flags & RAMA_WIRE_CODE_OFF_NONE) == 0)
		*next = (uint64_t)ev->off + (ev->bytes > 0 ? (uint64_t)ev->bytes : 0);
	if ((flags & RAMA_WIRE_CODE_BYTES_NONE) == 0)
		*same = (uint64_t)ev->bytes;
}

static void join(struct rama_wire_columns *c, struct rama_wire_block *b)
{
	uint64_t end = (uint64_t)b->t0;
	uint32_t call = 0, parent = 0;
	struct at at = { 0, 0, 0, 0 };

	memset(c->same, 0, sizeof(c->same));
	for (uint32_t i = 0; i < b->n; i++) {
		struct rama_wire_event *ev = &b->event[i];
		uint32_t code = c->code[c->col[RAMA_WIRE_COL_KIND][i]],
			 record = (uint32_t)c->col[RAMA_WIRE_COL_RECORD][i];
		unsigned flags = code >> 8;

		ev->what = code & 0xff;
		ev->failed = (flags & RAMA_WIRE_CODE_FAILED) != 0;
		ev->record = c->record[record];
		ev->dur = (int64_t)c->col[RAMA_WIRE_COL_DUR][i];
		end += (uint64_t)rama_wire_unfold(c->col[RAMA_WIRE_COL_GAP][i]) + (uint64_t)ev->dur;
		ev->end = (int64_t)end;
		join_place(c, ev, flags, &at, &c->next[record]);
		call += (flags & RAMA_WIRE_CODE_CALL_NEXT) != 0
				? 1
				: (uint32_t)rama_wire_unfold(c->col[RAMA_WIRE_COL_CALL][at.call++]);
		ev->call = call;
		if ((flags & RAMA_WIRE_CODE_PARENT_NONE) != 0)
			parent = 0;
		else if ((flags & RAMA_WIRE_CODE_PARENT_SAME) == 0)
			parent = call - (uint32_t)rama_wire_unfold(
						c->col[RAMA_WIRE_COL_PARENT][at.parent++]);
		ev->parent = parent;
	}
}

/* A head that lies about its times would be found under the wrong ones. */
static int check_times(const struct rama_wire_block *b, struct rama_err *e)
{
	int64_t t0 = INT64_MAX, t1 = INT64_MIN;

	for (uint32_t i = 0; i < b->n; i++) {
		int64_t end = b->event[i].end;

		t0 = end < t0 ? end : t0;
		t1 = end > t1 ? end : t1;
	}
	return t0 == b->t0 && t1 == b->t1 ? 0 : damaged(e, "its times are not those of its events");
}

int rama_wire_columns_unpack(struct rama_wire_columns *c, struct rama_wire_block *b, size_t n,
			     struct rama_err *e)
{
	struct rama_wire_reader r = { c->body, c->body + n, false };
	int rc;

	if ((rc = get_whats(&r, b, e)) < 0 || (rc = get_codes(&r, c, b, e)) < 0 ||
	    (rc = get_records(&r, c, b, e)) < 0 || (rc = get_columns(&r, c, b->n, e)) < 0)
		return rc;
	join(c, b);
	return check_times(b, e);
}
