/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/print.h"

#include <string.h>

#include "path/server.h"
#include "table/fn.h"

/* requests are of the rank and the file that they were made for */
bool rama_path_wanted(const struct rama_path *p, size_t call, const struct rama_path_ask *ask)
{
	const struct rama_path_call *c = &p->call[call],
				    *made_for = &p->call[rama_path_made_for(p, call)];

	return (ask->rank < 0 || made_for->rank == ask->rank) &&
	       (ask->call == RAMA_PATH_NONE || ask->call == call) &&
	       (ask->file == NULL || strstr(c->file, ask->file) != NULL ||
		strstr(made_for->file, ask->file) != NULL) &&
	       c->end >= ask->from && c->start <= ask->to;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static struct rama_cell integer(int64_t i)
{
	return (struct rama_cell){ .kind = RAMA_CELL_INT, .i = i };
}

static struct rama_cell text(const char *s)
{
	return (struct rama_cell){ .kind = RAMA_CELL_TEXT, .text = s, .len = strlen(s) };
}

static const struct rama_cell nothing = { .kind = RAMA_CELL_NONE };

#define COLUMNS_MOST 40

/* columns for machines are all of them, those for people are named by their places */
struct columns {
	unsigned n, n_few;
	const char *const *name, *const *unit;
	const unsigned char *few;
};

struct table {
	const struct columns *columns;
	struct rama_rows rows;
	bool few;
	const char *name[COLUMNS_MOST], *unit[COLUMNS_MOST];
	struct rama_cell cell[COLUMNS_MOST];
};

static int begin(struct table *t, const struct columns *k, const struct rama_path_ask *ask,
		 struct rama_out *out)
{
	unsigned n = ask->form == RAMA_ROWS_TEXT ? k->n_few : k->n;

	t->columns = k;
	t->few = ask->form == RAMA_ROWS_TEXT;
	t->rows = (struct rama_rows){ .out = out, .form = ask->form };
	for (unsigned i = 0; i < n; i++) {
		t->name[i] = k->name[t->few ? k->few[i] : i];
		t->unit[i] = k->unit[t->few ? k->few[i] : i];
	}
	return rama_rows_begin(&t->rows, n, t->name, t->unit);
}

static int add(struct table *t, const struct rama_cell *cell)
{
	for (unsigned i = 0; t->few && i < t->columns->n_few; i++)
		t->cell[i] = cell[t->columns->few[i]];
	return rama_rows_add(&t->rows, t->few ? t->cell : cell);
}

static int end(struct table *t, int rc)
{
	rama_rows_end(&t->rows);
	return rc;
}

/* ---- calls ---------------------------------------------------------------------------------- */

static const char *const role_name[] = { "application", "fuse", "server" };

static const char *kind_name(const struct rama_path_call *c)
{
	switch (c->kind) {
	case RAMA_TAB_OP_NOTHING:
	case RAMA_TAB_OP_READ:
	case RAMA_TAB_OP_WRITE:
		return c->write ? "write" : "read";
	case RAMA_TAB_OP_OPEN:
	case RAMA_TAB_OP_CREATE:
		return "open";
	case RAMA_TAB_OP_SYNC:
	case RAMA_TAB_OP_DATASYNC:
		return "sync";
	case RAMA_TAB_OP_FLUSH:
		return "flush";
	default:
		return "other";
	}
}

enum { CALL_ALL = 34 };

static void fill_call(const struct rama_path *p, size_t i, struct rama_cell to[CALL_ALL])
{
	const struct rama_path_call *c = &p->call[i];
	struct rama_path_below b;
	struct rama_path_gaps g;

	rama_path_gaps(p, i, &g);
	rama_path_below(p, i, &b);
	const struct rama_cell cell[CALL_ALL] = {
		integer((int64_t)i + 1),
		c->parent == RAMA_PATH_NONE ? nothing : integer((int64_t)c->parent + 1),
		integer(p->call[rama_path_made_for(p, i)].rank),
		text(rama_path_layer_name(c->layer)),
		text(c->op),
		integer(c->end - c->start),
		integer((int64_t)c->n_subs),
		integer(c->bytes),
		text(c->file),
		text(kind_name(c)),
		integer(c->off),
		integer(c->start),
		integer(c->end),
		text(rama_path_link_name(c->link)),
		integer(g.before),
		integer(g.inside),
		integer(g.between),
		integer(g.after),
		integer(c->pid),
		{ .kind = RAMA_CELL_ID, .id = c->thread },
		integer((int64_t)c->lane),
		{ .kind = RAMA_CELL_ID, .id = c->file_id },
		text(role_name[c->role]),
		text(c->host),
		text(rama_path_server_of(p, i)),
		integer((int64_t)b.requests),
		integer((int64_t)b.rpcs),
		integer((int64_t)b.disks),
		integer((int64_t)b.later),
		integer((int64_t)b.ahead),
		integer(c->also),
		{ .kind = RAMA_CELL_FLAG, .flag = c->cached },
		{ .kind = RAMA_CELL_FLAG, .flag = c->placed },
		{ .kind = RAMA_CELL_ID, .id = c->object },
	};

	memcpy(to, cell, sizeof(cell));
}

int rama_path_print_calls(const struct rama_path *p, const struct rama_path_ask *ask,
			  struct rama_out *out)
{
	static const char *const name[] = {
		"call",	   "parent", "rank",	 "layer",  "operation", "time",	  "subcalls",
		"bytes",   "file",   "kind",	 "offset", "start",	"end",	  "link",
		"before",  "inside", "between",	 "after",  "pid",	"thread", "lane",
		"file_id", "role",   "host",	 "server", "requests",	"rpcs",	  "disk_accesses",
		"later",   "ahead",  "also_for", "cached", "placed",	"object"
	};
	static const char *const unit[] = { "id",    "id",    "id",    "text",	"text",	 "span",
					    "count", "bytes", "text",  "text",	"id",	 "span",
					    "span",  "text",  "span",  "span",	"span",	 "span",
					    "id",    "id",    "id",    "id",	"text",	 "text",
					    "text",  "count", "count", "count", "count", "count",
					    "count", "text",  "text",  "id" };
	static const unsigned char few[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 },
				   below[] = { 0, 1, 2, 3, 4, 5, 25, 26, 27, 7, 13, 24, 8 };
	const struct columns columns = { CALL_ALL, p->below ? sizeof(below) : sizeof(few), name,
					 unit, p->below ? below : few };
	struct rama_cell cell[CALL_ALL];
	struct table t;
	int rc = begin(&t, &columns, ask, out);

	for (size_t i = 0; i < p->n && rc == 0; i++) {
		if (!rama_path_wanted(p, i, ask))
			continue;
		fill_call(p, i, cell);
		rc = add(&t, cell);
	}
	return end(&t, rc);
}

/* ---- the critical path ---------------------------------------------------------------------- */

enum { PIECE_ALL = 14 };

/* what a server did is told of the file of the application; its disk has names of its own */
static void fill_piece(const struct rama_path *p, const struct rama_path_piece *k, double whole,
		       struct rama_cell to[PIECE_ALL])
{
	const struct rama_path_call *c = k->call != RAMA_PATH_NONE ? &p->call[k->call] : NULL,
				    *made_for = c != NULL ? &p->call[rama_path_made_for(p, k->call)]
							  : NULL;
	double share = whole > 0 ? (double)(k->to - k->from) / whole : 0;
	const struct rama_path_call *named =
		c != NULL && c->layer == RAMA_PATH_LAYER_DISK ? c : made_for;
	const struct rama_cell cell[PIECE_ALL] = {
		integer(k->from),
		integer(k->to - k->from),
		{ .kind = RAMA_CELL_FIGURE, .f = share },
		c != NULL ? integer(made_for->rank) : nothing,
		text(c != NULL ? rama_path_layer_name(c->layer) : "-"),
		text(c != NULL ? c->op : "no call"),
		c != NULL ? integer((int64_t)k->call + 1) : nothing,
		c != NULL ? text(named->file) : nothing,
		c != NULL ? integer(c->off) : nothing,
		c != NULL ? integer(c->bytes) : nothing,
		integer(k->to),
		c != NULL ? (struct rama_cell){ .kind = RAMA_CELL_ID, .id = named->file_id }
			  : nothing,
		c != NULL ? text(rama_path_server_of(p, k->call)) : nothing,
		c != NULL ? text(c->host) : nothing,
	};

	memcpy(to, cell, sizeof(cell));
}

int rama_path_print_critical(const struct rama_path *p, const struct rama_path_ask *ask,
			     struct rama_out *out)
{
	static const char *const name[] = { "from",	 "time",    "share",  "rank",	"layer",
					    "operation", "call",    "file",   "offset", "bytes",
					    "to",	 "file_id", "server", "host" };
	static const char *const unit[] = {
		"span", "span", "share", "id",	 "text", "text", "id",
		"text", "id",	"bytes", "span", "id",	 "text", "text"
	};
	static const unsigned char few[] = { 0, 1, 2, 3, 4, 5, 6, 7 },
				   below[] = { 0, 1, 2, 3, 4, 5, 12, 6, 7 };
	const struct columns columns = { PIECE_ALL, p->below ? sizeof(below) : sizeof(few), name,
					 unit, p->below ? below : few };
	struct rama_cell cell[PIECE_ALL];
	struct rama_path_pieces k;
	struct table t;
	int rc = rama_path_critical(p, ask->call, &k);
	double whole = 0;

	for (size_t i = 0; i < k.n; i++)
		whole += (double)(k.piece[i].to - k.piece[i].from);
	if (rc == 0) {
		rc = begin(&t, &columns, ask, out);
		for (size_t i = 0; i < k.n && rc == 0; i++) {
			fill_piece(p, &k.piece[i], whole, cell);
			rc = add(&t, cell);
		}
		end(&t, rc);
	}
	rama_path_pieces_fini(&k);
	return rc;
}

/* ---- servers -------------------------------------------------------------------------------- */

enum { SERVER_ALL = 20 };

static void fill_server(const struct rama_path_server *s, struct rama_cell to[SERVER_ALL])
{
	const struct rama_cell each =
		s->requests > 0 ? integer(s->time / (int64_t)s->requests) : nothing;
	bool seen = s->seen > 0;
	const struct rama_cell cell[SERVER_ALL] = {
		text(s->name),
		integer((int64_t)s->requests),
		integer(s->bytes),
		integer(s->busy),
		integer(s->time),
		each,
		integer(s->longest),
		integer((int64_t)s->last),
		integer((int64_t)s->shared),
		integer(s->behind),
		seen ? integer(s->known - s->inside) : nothing,
		seen ? integer(s->inside - s->disk) : nothing,
		seen ? integer(s->disk) : nothing,
		seen ? integer((int64_t)s->disks) : nothing,
		integer((int64_t)s->seen),
		text(s->host),
		integer((int64_t)s->load),
		integer(s->load_bytes),
		integer(s->load_time),
		s->busy > 0 ? (struct rama_cell){ .kind = RAMA_CELL_FIGURE,
						  .f = (double)s->bytes / ((double)s->busy * 1e-9) }
			    : nothing,
	};

	memcpy(to, cell, sizeof(cell));
}

int rama_path_print_servers(const struct rama_path *p, const struct rama_path_ask *ask,
			    struct rama_out *out)
{
	static const char *const name[] = { "server", "requests",      "bytes",	      "busy",
					    "time",   "mean",	       "longest",     "last",
					    "of",     "behind",	       "way",	      "queue",
					    "disk",   "disk_accesses", "seen",	      "host",
					    "others", "others_bytes",  "others_time", "rate" };
	static const char *const unit[] = { "text", "count", "bytes", "span",  "span",
					    "span", "span",  "count", "count", "span",
					    "span", "span",  "span",  "count", "count",
					    "text", "count", "bytes", "span",  "bytes/s" };
	static const unsigned char few[] = { 0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 16 };
	static const struct columns columns = { SERVER_ALL, sizeof(few), name, unit, few };
	struct rama_cell cell[SERVER_ALL];
	struct rama_path_servers s;
	struct table t;
	int rc = rama_path_servers(p, ask->call, &s);

	if (rc == 0) {
		rc = begin(&t, &columns, ask, out);
		for (size_t i = 0; i < s.n && rc == 0; i++) {
			fill_server(&s.server[i], cell);
			rc = add(&t, cell);
		}
		end(&t, rc);
	}
	rama_path_servers_fini(&s);
	return rc;
}
