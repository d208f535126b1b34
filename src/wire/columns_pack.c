/* SPDX-License-Identifier: BSD-3-Clause */
/* columns_pack.c: events fall apart into columns. One pass over the events, then one over each
 * column; no branch depends on values that look random. */
#include "wire/columns.h"

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
