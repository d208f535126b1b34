/* SPDX-License-Identifier: BSD-3-Clause */
/* block.c: the events of a block as columns of a row that plain SQL can unfold (view
 * `events`).
 *
 * Value i of column x, i from 0 to n - 1, is x_base + x_step * i + the number whose bytes, the
 * lowest first, are bytes i, n + i, 2 n + i, ... of x. So numbers cost as many bytes as they
 * need, none if they lie on a line, and what lies together is alike: the database compresses it
 * well. The file of event i is records[k], with k such a number, from 0. */
#include "base/grow.h"
#include "store/postgres/postgres.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the statements below. */
enum column { C_END, C_DUR, C_OFF, C_LEN, C_WHAT, C_CALL, C_PARENT, C_RECORD, COLUMNS };
/* values that lie near a straight line; those that often lie on one, but else are better left as
 * they are */
enum line { NO_LINE, NEAR_LINE, ON_LINE };
static const enum line line_of[COLUMNS] = {
	[C_END] = NEAR_LINE, [C_OFF] = ON_LINE, [C_CALL] = ON_LINE
};

#define ARRAY_HEAD 20
#define HEAD_ARGS 10
#define ARGS_ALL (HEAD_ARGS + 3 * COLUMNS + 1)
#define CELLS_ALL (3 + 3 * COLUMNS + 1)

#define NAMES(p, c) p c "_base, " p c "_step, " p c "_bytes, "
#define SOME_NAMES(p) NAMES(p, "end") NAMES(p, "dur") NAMES(p, "off") NAMES(p, "len")
#define OTHER_NAMES(p) NAMES(p, "what") NAMES(p, "call") NAMES(p, "parent") NAMES(p, "record")
#define ALL_NAMES(p) SOME_NAMES(p) OTHER_NAMES(p) p "records"

const char rama_store_pg_block_sql[] =
	"SELECT b.n, b.t0, b.t1, " ALL_NAMES("b.") " FROM blocks b WHERE b.number = $1";

static const char insert_sql[] =
	"INSERT INTO blocks (process, lane, first, n, job, rank, t0, t1, tid, lost, " ALL_NAMES(
		"") ") VALUES"
		    " ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, "
		    "$18, $19, $20, $21, $22, $23,"
		    " $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35)";

/* room to work in: values of a column; their bytes, as they are sent; which files there are */
struct work {
	int64_t v[RAMA_WIRE_BLOCK_EVENTS];
	uint64_t record[RAMA_WIRE_BLOCK_EVENTS];
	unsigned char bytes[COLUMNS * 8 * RAMA_WIRE_BLOCK_EVENTS];
	unsigned char records[ARRAY_HEAD + 12 * RAMA_WIRE_BLOCK_EVENTS];
	struct rama_map places; /* of records, + 1 */
};

static struct rama_store_cell number(int64_t v)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_INT, .i = v };
}

static struct rama_store_cell text(const char *s)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_TEXT,
					 .text = s,
					 .len = strlen(s) };
}

/* ---- calls: their numbers in the table `calls` ----------------------------------------------- */

static int take_call(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_pg *db = ctx;
	struct rama_store_pg_call *c;
	char *to[3];

	if (!RAMA_GROW(db->call, db->room_calls, db->n_calls + 1))
		return rama_err_no_memory(e);
	c = &db->call[db->n_calls];
	*c = (struct rama_store_pg_call){ .number = row->cell[0].i };
	to[0] = c->what.layer, to[1] = c->what.op, to[2] = c->what.fn;
	for (unsigned i = 0; i < 3; i++) {
		size_t room = i == 2 ? sizeof(c->what.fn) : sizeof(c->what.op);

		if (row->cell[i + 1].len >= room)
			return rama_err_set(e, RAMA_ECORRUPT,
					    "call %lld has a name that is too long",
					    (long long)c->number);
		memcpy(to[i], row->cell[i + 1].text, row->cell[i + 1].len);
	}
	db->n_calls++;
	return 0;
}

static const struct rama_store_pg_call *known_call(const struct rama_store_pg *db,
						   const struct rama_wire_what *w)
{
	for (unsigned i = 0; i < db->n_calls; i++)
		if (strcmp(db->call[i].what.fn, w->fn) == 0 &&
		    strcmp(db->call[i].what.op, w->op) == 0 &&
		    strcmp(db->call[i].what.layer, w->layer) == 0)
			return &db->call[i];
	return NULL;
}

/* The number of a call, which gets one if it has none; another writer may be faster. */
static int number_of_call(struct rama_store_pg *db, const struct rama_wire_what *w, int64_t *n,
			  struct rama_err *e)
{
	static const char find[] =
		"SELECT number, layer, op, fn FROM calls WHERE layer = $1 AND op = $2 AND fn = $3";
	static const char make[] =
		"INSERT INTO calls (layer, op, fn) VALUES ($1, $2, $3)"
		" ON CONFLICT (layer, op, fn) DO NOTHING RETURNING number, layer, op, fn";
	static const char *const tries[] = { find, make, find };
	struct rama_store_cell args[] = { text(w->layer), text(w->op), text(w->fn) };
	const struct rama_store_pg_call *c = known_call(db, w);
	int rc = 0;

	for (unsigned i = 0; rc == 0 && c == NULL && i < 3; i++) {
		rc = rama_store_pg_run(db, tries[i], RAMA_STORE_DB_KEPT, args, 3, take_call, db,
				       NULL, e);
		c = known_call(db, w);
	}
	if (rc == 0 && c == NULL)
		rc = rama_err_set(e, RAMA_EIO, "a call got no number");
	*n = rc == 0 ? c->number : 0;
	return rc;
}

static const struct rama_store_pg_call *call_of_number(const struct rama_store_pg *db, int64_t n)
{
	for (unsigned i = 0; i < db->n_calls; i++)
		if (db->call[i].number == n)
			return &db->call[i];
	return NULL;
}

/* ---- to the database ------------------------------------------------------------------------- */

/* The numbers of v, byte by byte: first the lowest bytes of all, then the next ones. `any` has
 * all bits that occur. */
static struct rama_store_cell planes(unsigned char **at, const int64_t *v, uint32_t n, uint64_t any)
{
	unsigned char *start = *at, *p = start;

	if (any == 0)
		return (struct rama_store_cell){ .type = RAMA_STORE_CELL_NULL };
	for (unsigned shift = 0; shift < 64 && any >> shift != 0; shift += 8)
		for (uint32_t i = 0; i < n; i++)
			*p++ = (unsigned char)((uint64_t)v[i] >> shift);
	*at = p;
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_BYTES,
					 .text = (const char *)start,
					 .len = (size_t)(p - start) };
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The usual distance of two values: the middle one of some, which on a line is that of most of
 * them. 0 if numbers are so large that sums could overflow. */
static int64_t usual_step(const int64_t *v, uint32_t n, enum line line)
{
	enum { SOME = 127 };
	const int64_t large = INT64_C(1) << 60;
	int64_t d[SOME], step;
	uint32_t k = 0, same = 0;

	for (uint32_t i = 0; i < n; i++)
		if (v[i] > large || v[i] < -large)
			return 0;
	for (uint32_t i = 0; n > 1 && i < SOME && i < n - 1; i++) {
		uint32_t at = n - 1 <= SOME ? i : (uint32_t)((uint64_t)i * (n - 1) / SOME);

		d[k++] = v[at + 1] - v[at];
	}
	if (k == 0)
		return 0;
	qsort(d, k, sizeof(d[0]), compare);
	step = d[k / 2];
	for (uint32_t i = 0; i < k; i++)
		same += d[i] == step;
	return llabs(step) < INT64_C(1) << 44 && (line == NEAR_LINE || same > k / 2) ? step : 0;
}

/* Base, step and bytes of the values in w->v, which become what is left of them. */
static void put_column(struct work *w, uint32_t n, enum column c, unsigned char **at,
		       struct rama_store_cell *args)
{
	int64_t *v = w->v, step = line_of[c] ? usual_step(v, n, line_of[c]) : 0, low = INT64_MAX,
		high = INT64_MIN;
	uint64_t any = 0;

	for (uint32_t i = 0; i < n; i++) {
		v[i] -= step * i;
		low = v[i] < low ? v[i] : low;
		high = v[i] > high ? v[i] : high;
	}
	if ((uint64_t)high - (uint64_t)low > INT64_MAX)
		low = 0;
	for (uint32_t i = 0; i < n; i++) {
		v[i] -= low;
		any |= (uint64_t)v[i];
	}
	args[0] = number(low);
	args[1] = number(step);
	args[2] = planes(at, v, n, any);
}

/* Files of the block, each once, in the order in which they occur; w->v: which of them each
 * event is about. */
static int list_records(struct work *w, const struct rama_wire_block *b, uint32_t *n_records,
			struct rama_err *e)
{
	uint32_t n = 0;

	rama_map_fini(&w->places);
	w->places = (struct rama_map){ 0 };
	for (uint32_t i = 0; i < b->n; i++) {
		uint64_t id = b->event[i].record, *place;
		bool fresh;

		if (i > 0 && id == b->event[i - 1].record) {
			w->v[i] = w->v[i - 1];
			continue;
		}
		place = rama_map_put(&w->places, id, &fresh);
		if (place == NULL)
			return rama_err_no_memory(e);
		if (*place == 0) {
			w->record[n] = id;
			*place = ++n;
		}
		w->v[i] = (int64_t)*place - 1;
	}
	*n_records = n;
	return 0;
}

/* as an array of BIGINT is sent */
static struct rama_store_cell record_array(struct work *w, uint32_t n)
{
	const uint32_t head[] = { htobe32(1), 0, htobe32(RAMA_STORE_PG_INT8), htobe32(n),
				  htobe32(1) };
	const uint32_t len = htobe32(8);
	unsigned char *p = w->records;

	memcpy(p, head, sizeof(head));
	p += sizeof(head);
	for (uint32_t i = 0; i < n; i++, p += 12) {
		uint64_t id = htobe64(w->record[i]);

		memcpy(p, &len, 4);
		memcpy(p + 4, &id, 8);
	}
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_BYTES,
					 .text = (const char *)w->records,
					 .len = (size_t)(p - w->records) };
}

/* column c of event i; calls: numbers of the block's table of calls */
static int64_t value_of(const struct rama_wire_event *ev, enum column c, const int64_t *calls)
{
	switch (c) {
	case C_END:
		return ev->end;
	case C_DUR:
		return ev->dur;
	case C_OFF:
		return ev->off;
	case C_LEN:
		return ev->bytes;
	case C_WHAT: /* the call, and in the last bit whether it failed */
		return calls[ev->what] * 2 + (ev->failed ? 1 : 0);
	case C_CALL:
		return ev->call;
	default: /* how far back the parent is, + 1; 0: none */
		return ev->parent == 0 ? 0 : 1 + (int64_t)(uint32_t)(ev->call - ev->parent);
	}
}

static struct work *work_of(struct rama_store_pg *db)
{
	if (db->work == NULL)
		db->work = calloc(1, sizeof(struct work));
	return db->work;
}

void rama_store_pg_work_fini(struct rama_store_pg *db)
{
	struct work *w = db->work;

	if (w != NULL)
		rama_map_fini(&w->places);
	free(w);
	db->work = NULL;
}

// NOLINTNEXTLINE(readability-function-size): as db.h has it
int rama_store_pg_put_block(void *handle, int64_t job, int64_t process, int64_t rank,
			    struct rama_wire_block *b, const unsigned char *bytes, size_t n,
			    struct rama_wire_block_packer *p, struct rama_err *e)
{
	struct rama_store_pg *db = handle;
	struct rama_store_cell args[ARGS_ALL] = { number(process),
						  number(b->lane),
						  number((int64_t)b->first),
						  number(b->n),
						  number(job),
						  number(rank),
						  number(b->t0),
						  number(b->t1),
						  number(b->tid),
						  number((int64_t)b->lost) };
	struct work *w = work_of(db);
	int64_t calls[RAMA_WIRE_BLOCK_WHATS];
	uint32_t n_records = 0;
	unsigned char *at;
	int rc = 0;

	(void)bytes, (void)n, (void)p;
	if (w == NULL)
		return rama_err_no_memory(e);
	for (uint32_t i = 0; rc == 0 && i < b->n_whats; i++)
		rc = number_of_call(db, &b->what[i], &calls[i], e);
	if (rc != 0)
		return rc;
	at = w->bytes;
	for (unsigned c = 0; c < COLUMNS; c++) {
		for (uint32_t i = 0; c != C_RECORD && i < b->n; i++)
			w->v[i] = value_of(&b->event[i], (enum column)c, calls);
		if (c == C_RECORD)
			rc = list_records(w, b, &n_records, e);
		if (rc != 0)
			return rc;
		put_column(w, b->n, (enum column)c, &at, args + HEAD_ARGS + (size_t)3 * c);
	}
	args[ARGS_ALL - 1] = record_array(w, n_records);
	return rama_store_pg_run(db, insert_sql, RAMA_STORE_DB_KEPT, args, ARGS_ALL, NULL, NULL,
				 NULL, e);
}

/* ---- from the database ----------------------------------------------------------------------- */

/* Values of a column into v; numbers of a damaged row may wrap, they do not harm. */
static bool get_column(const struct rama_store_cell *cell, int64_t *v, uint32_t n)
{
	const unsigned char *p = (const unsigned char *)cell[2].text;
	uint64_t base = (uint64_t)cell[0].i, step = (uint64_t)cell[1].i;
	size_t wide = cell[2].type == RAMA_STORE_CELL_BYTES ? cell[2].len / n : 0;

	if (cell[0].type != RAMA_STORE_CELL_INT || cell[1].type != RAMA_STORE_CELL_INT ||
	    wide > 8 ||
	    (cell[2].type != RAMA_STORE_CELL_NULL && (wide == 0 || cell[2].len != wide * n)))
		return false;
	for (uint32_t i = 0; i < n; i++)
		v[i] = (int64_t)(base + step * i);
	for (unsigned k = 0; k < wide; k++, p += n)
		for (uint32_t i = 0; i < n; i++)
			v[i] = (int64_t)((uint64_t)v[i] + ((uint64_t)p[i] << 8 * k));
	return true;
}

/* v: which file each event is about */
static bool get_records(const struct rama_store_cell *c, const int64_t *v,
			struct rama_wire_block *b)
{
	const unsigned char *p = (const unsigned char *)c->text;
	size_t n = c->type == RAMA_STORE_CELL_BYTES && c->len > ARRAY_HEAD
			   ? (c->len - ARRAY_HEAD) / 12
			   : 0;
	uint32_t head[5], len;
	uint64_t id;

	if (n == 0 || n > RAMA_WIRE_BLOCK_EVENTS || c->len != ARRAY_HEAD + n * 12)
		return false;
	memcpy(head, p, sizeof(head));
	p += ARRAY_HEAD;
	if (be32toh(head[0]) != 1 || head[1] != 0 || be32toh(head[3]) != n)
		return false;
	for (uint32_t i = 0; i < b->n; i++) {
		if (v[i] < 0 || (uint64_t)v[i] >= n)
			return false;
		memcpy(&len, p + (size_t)v[i] * 12, 4);
		memcpy(&id, p + (size_t)v[i] * 12 + 4, 8);
		if (be32toh(len) != 8)
			return false;
		b->event[i].record = be64toh(id);
	}
	return true;
}

/* Calls of the events (their numbers are in v) become a table of the block's own. */
static int get_calls(struct rama_store_pg *db, const int64_t *v, struct rama_wire_block *b,
		     struct rama_err *e)
{
	static const char all[] = "SELECT number, layer, op, fn FROM calls ORDER BY number";
	int64_t calls[RAMA_WIRE_BLOCK_WHATS];
	uint32_t last = 0;

	b->n_whats = 0;
	for (uint32_t i = 0; i < b->n; i++) {
		int64_t n = v[i] >> 1;
		const struct rama_store_pg_call *c;

		b->event[i].failed = (v[i] & 1) != 0;
		for (uint32_t k = 0; k < b->n_whats && (b->n_whats == 0 || calls[last] != n); k++)
			last = calls[k] == n ? k : last;
		if (b->n_whats == 0 || calls[last] != n) {
			c = call_of_number(db, n);
			if (c == NULL) {
				int rc;

				db->n_calls = 0;
				rc = rama_store_pg_run(db, all, RAMA_STORE_DB_KEPT, NULL, 0,
						       take_call, db, NULL, e);
				if (rc != 0)
					return rc;
				c = call_of_number(db, n);
			}
			if (c == NULL || b->n_whats == RAMA_WIRE_BLOCK_WHATS)
				return rama_err_set(e, RAMA_ECORRUPT,
						    "call %lld of a block is not known",
						    (long long)n);
			last = b->n_whats++;
			calls[last] = n;
			b->what[last] = c->what;
		}
		b->event[i].what = (uint16_t)last;
	}
	return 0;
}

static void set_value(struct rama_wire_event *ev, enum column c, int64_t v)
{
	switch (c) {
	case C_END:
		ev->end = v;
		break;
	case C_DUR:
		ev->dur = v;
		break;
	case C_OFF:
		ev->off = v;
		break;
	case C_LEN:
		ev->bytes = v;
		break;
	case C_CALL:
		ev->call = (uint32_t)v;
		break;
	case C_PARENT:
		ev->parent = v == 0 ? 0 : ev->call + 1 - (uint32_t)v;
		break;
	default:
		break;
	}
}

int rama_store_pg_get_block(void *handle, const struct rama_store_cell *cells, unsigned n,
			    struct rama_wire_block *b, struct rama_wire_block_packer *p,
			    struct rama_err *e)
{
	struct rama_store_pg *db = handle;
	const struct rama_store_cell *at = cells + 3;
	struct work *w = work_of(db);
	int rc = 0;

	(void)p;
	if (w == NULL)
		return rama_err_no_memory(e);
	if (n < CELLS_ALL || cells[0].i < 1 || cells[0].i > RAMA_WIRE_BLOCK_EVENTS)
		return rama_err_set(e, RAMA_ECORRUPT, "a block without events");
	b->n = (uint32_t)cells[0].i;
	b->t0 = cells[1].i;
	b->t1 = cells[2].i;
	for (unsigned c = 0; rc == 0 && c < COLUMNS; c++, at += 3) {
		if (!get_column(at, w->v, b->n))
			return rama_err_set(e, RAMA_ECORRUPT, "column %u of a block is damaged",
					    c + 1);
		for (uint32_t i = 0; i < b->n; i++)
			set_value(&b->event[i], (enum column)c, w->v[i]);
		if (c == C_WHAT)
			rc = get_calls(db, w->v, b, e);
		if (c == C_RECORD && !get_records(at + 3, w->v, b))
			rc = rama_err_set(e, RAMA_ECORRUPT, "the files of a block are damaged");
	}
	for (uint32_t i = 0; rc == 0 && i < b->n; i++)
		if (b->event[i].end < b->t0 || b->event[i].end > b->t1)
			rc = rama_err_set(e, RAMA_ECORRUPT,
					  "an event outside the time of its block");
	return rc;
}
