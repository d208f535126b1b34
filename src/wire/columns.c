/* SPDX-License-Identifier: BSD-3-Clause */
/* columns.c: events fall apart into columns, and columns become events again. Packing is one pass
 * over the events, then one over each column; no branch depends on values that look random.
 * Unpacking checks every number before it is used as a place. */
#include "wire/columns.h"

/* ---- packing --------------------------------------------------------------------------------- */

/* what an event is compared with */
struct before {
	uint64_t end, record, salt;
	uint32_t call, parent, at; /* at: place of `record` among the records */
};

/* place of a record's id; new ones get the next one */
static uint32_t find_record(struct rama_wire_columns *c, uint64_t id, uint64_t salt)
{
	uint32_t slot = (uint32_t)((id ^ id >> 32) * salt >> 49);

	_Static_assert(RAMA_WIRE_RECORD_SLOTS == 1 << 15, "as many as the hash has");
	while (c->slot[slot] != 0) {
		uint32_t at = c->slot[slot] - 1u;

		if (c->record[at] == id)
			return at;
		slot = (slot + 1) % RAMA_WIRE_RECORD_SLOTS;
	}
	c->record[c->n_records] = id;
	c->next[c->n_records] = 0;
	c->slot[slot] = (uint16_t)++c->n_records;
	return c->n_records - 1;
}

static uint32_t find_code(struct rama_wire_columns *c, uint32_t code)
{
	uint32_t at = c->code_at[code];

	if (at == 0) {
		c->code[c->n_codes] = (uint16_t)code;
		c->code_at[code] = (uint16_t)(at = ++c->n_codes);
	}
	return at - 1;
}

/* Each writes the value that its column would get, and goes on to the next place only if the
 * column needs it. */
static inline uint32_t split_place(struct rama_wire_columns *c, const struct rama_wire_event *ev,
				   uint32_t at)
{
	uint64_t off = (uint64_t)ev->off, bytes = (uint64_t)ev->bytes;
	bool none = ev->off == -1, next = !none && off == c->next[at];
	bool no_bytes = ev->bytes == -1, same = !no_bytes && bytes == c->same[ev->what];

	c->col[RAMA_WIRE_COL_OFF][c->n[RAMA_WIRE_COL_OFF]] =
		rama_wire_fold((int64_t)(off - c->next[at]));
	c->n[RAMA_WIRE_COL_OFF] += !none && !next;
	c->col[RAMA_WIRE_COL_BYTES][c->n[RAMA_WIRE_COL_BYTES]] = bytes;
	c->n[RAMA_WIRE_COL_BYTES] += !no_bytes && !same;
	if (!none)
		c->next[at] = off + (ev->bytes > 0 ? bytes : 0);
	if (!no_bytes)
		c->same[ev->what] = bytes;
	return next * RAMA_WIRE_CODE_OFF_NEXT | none * RAMA_WIRE_CODE_OFF_NONE |
	       same * RAMA_WIRE_CODE_BYTES_SAME | no_bytes * RAMA_WIRE_CODE_BYTES_NONE;
}

static inline uint32_t split_call(struct rama_wire_columns *c, const struct rama_wire_event *ev,
				  const struct before *was)
{
	bool next = ev->call == was->call + 1, none = ev->parent == 0;
	bool same = !none && ev->parent == was->parent;

	c->col[RAMA_WIRE_COL_CALL][c->n[RAMA_WIRE_COL_CALL]] =
		rama_wire_fold((int32_t)(ev->call - was->call));
	c->n[RAMA_WIRE_COL_CALL] += !next;
	c->col[RAMA_WIRE_COL_PARENT][c->n[RAMA_WIRE_COL_PARENT]] =
		rama_wire_fold((int32_t)(ev->call - ev->parent));
	c->n[RAMA_WIRE_COL_PARENT] += !none && !same;
	return next * RAMA_WIRE_CODE_CALL_NEXT | none * RAMA_WIRE_CODE_PARENT_NONE |
	       same * RAMA_WIRE_CODE_PARENT_SAME;
}

static void split(struct rama_wire_columns *c, const struct rama_wire_block *b)
{
	/* nobody who chooses ids knows where this memory lies */
	struct before was = { .end = (uint64_t)b->t0,
			      .salt = (uint64_t)(uintptr_t)c * 0x9e3779b97f4a7c15u | 1 };

	memset(c->n, 0, sizeof(c->n));
	memset(c->slot, 0, sizeof(c->slot));
	memset(c->same, 0, sizeof(c->same));
	c->n_records = c->n_codes = 0;
	was.at = find_record(c, was.record = b->event[0].record, was.salt);
	for (uint32_t i = 0; i < b->n; i++) {
		const struct rama_wire_event *ev = &b->event[i];
		uint32_t code = ev->what | (ev->failed ? RAMA_WIRE_CODE_FAILED << 8 : 0);

		if (ev->record != was.record)
			was.at = find_record(c, was.record = ev->record, was.salt);
		c->col[RAMA_WIRE_COL_RECORD][i] = was.at;
		c->col[RAMA_WIRE_COL_GAP][i] =
			rama_wire_fold((int64_t)((uint64_t)ev->end - (uint64_t)ev->dur - was.end));
		c->col[RAMA_WIRE_COL_DUR][i] = (uint64_t)ev->dur;
		code |= (split_place(c, ev, was.at) | split_call(c, ev, &was)) << 8;
		c->col[RAMA_WIRE_COL_KIND][i] = find_code(c, code);
		was.end = (uint64_t)ev->end;
		was.call = ev->call;
		was.parent = ev->parent;
	}
	for (uint32_t i = 0; i < c->n_codes; i++)
		c->code_at[c->code[i]] = 0;
	c->n[RAMA_WIRE_COL_KIND] = c->n[RAMA_WIRE_COL_RECORD] = c->n[RAMA_WIRE_COL_GAP] =
		c->n[RAMA_WIRE_COL_DUR] = b->n;
}

static unsigned width_of(uint64_t v)
{
	return v == 0 ? 0 : 8 - (unsigned)__builtin_clzll(v) / 8;
}

static void put_plane(unsigned char *restrict to, const uint64_t *restrict v, uint32_t n,
		      unsigned shift)
{
	uint32_t i = 0;

	for (; i + 8 <= n; i += 8)
		for (unsigned k = 0; k < 8; k++)
			to[i + k] = (unsigned char)(v[i + k] >> shift);
	for (; i < n; i++)
		to[i] = (unsigned char)(v[i] >> shift);
}

/* Width and shift, then the bytes of all values: the lowest of each, then the next ones. Zeros
 * below the lowest bit that is ever set are left out. */
static unsigned char *put_column(unsigned char *p, const uint64_t *v, uint32_t n)
{
	uint64_t any = 0, all = ~0ull;
	unsigned width, shift;

	if (n == 0)
		return p;
	for (uint32_t i = 0; i < n; i++) {
		any |= v[i];
		all &= v[i];
	}
	if (any == all) {
		width = width_of(any);
		*p++ = (unsigned char)(RAMA_WIRE_COLUMN_CONSTANT | width);
		*p++ = 0;
		rama_wire_store_le(p, any, width);
		return p + width;
	}
	shift = (unsigned)__builtin_ctzll(any);
	width = width_of(any >> shift);
	*p++ = (unsigned char)width;
	*p++ = (unsigned char)shift;
	for (unsigned k = 0; k < width; k++, p += n)
		put_plane(p, v, n, shift + 8 * k);
	return p;
}

static unsigned char *put_text(unsigned char *p, const char *text)
{
	size_t n = strlen(text);

	*p++ = (unsigned char)n;
	memcpy(p, text, n);
	return p + n;
}

static unsigned char *put_whats(unsigned char *p, const struct rama_wire_block *b)
{
	p = rama_wire_put_varint(p, b->n_whats);
	for (uint32_t i = 0; i < b->n_whats; i++) {
		p = put_text(p, b->what[i].layer);
		p = put_text(p, b->what[i].op);
		p = put_text(p, b->what[i].fn);
	}
	return p;
}

static void find_times(struct rama_wire_block *b)
{
	b->t0 = INT64_MAX;
	b->t1 = INT64_MIN;
	for (uint32_t i = 0; i < b->n; i++) {
		int64_t end = b->event[i].end;

		b->t0 = end < b->t0 ? end : b->t0;
		b->t1 = end > b->t1 ? end : b->t1;
	}
}

size_t rama_wire_columns_pack(struct rama_wire_columns *c, struct rama_wire_block *b)
{
	unsigned char *p = c->body;

	find_times(b);
	split(c, b);
	p = put_whats(p, b);
	p = rama_wire_put_varint(p, c->n_codes);
	for (uint32_t i = 0; i < c->n_codes; i++, p += 2)
		rama_wire_store_le(p, c->code[i], 2);
	p = rama_wire_put_varint(p, c->n_records);
	for (uint32_t i = 0; i < c->n_records; i++, p += 8)
		rama_wire_store_le(p, c->record[i], 8);
	for (unsigned k = 0; k < RAMA_WIRE_COLUMNS; k++)
		p = put_column(p, c->col[k], c->n[k]);
	return (size_t)(p - c->body);
}

/* ---- unpacking ------------------------------------------------------------------------------- */

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
