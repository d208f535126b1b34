/* SPDX-License-Identifier: BSD-3-Clause */
/* connector.c: the dialects of the connector. A message is about one operation on one
 * file: what is the same for all accesses of a run, with counters as they are after it, and a
 * list of the accesses. The keys and their orders are tables. */
#include <strings.h>

#include "base/form/csv.h"
#include "base/json.h"
#include "bus/encode/state.h"
#include "table/layers.h"

enum key {
	K_END,
	K_SCHEMA,
	K_UID,
	K_UID_TEXT,
	K_EXE,
	K_JOB_ID,
	K_RANK,
	K_PRODUCER,
	K_FILE,
	K_RECORD_ID,
	K_MODULE,
	K_TYPE,
	K_MAX_BYTE,
	K_SWITCHES,
	K_FLUSHES,
	K_CNT,
	K_OP,
	K_SEQ,
	K_LOST,
	K_DATA_SET, /* from here on: of an access */
	K_PT_SEL,
	K_IRREG_HSLAB,
	K_REG_HSLAB,
	K_NDIMS,
	K_NPOINTS,
	K_OFF,
	K_LEN,
	K_START,
	K_DUR,
	K_TOTAL,
	K_TIMESTAMP,
	K_FAILED,
	KEYS
};

static const char *const names[KEYS] = {
	[K_SCHEMA] = "schema",
	[K_UID] = "uid",
	[K_UID_TEXT] = "uid",
	[K_EXE] = "exe",
	[K_JOB_ID] = "job_id",
	[K_RANK] = "rank",
	[K_PRODUCER] = "ProducerName",
	[K_FILE] = "file",
	[K_RECORD_ID] = "record_id",
	[K_MODULE] = "module",
	[K_TYPE] = "type",
	[K_MAX_BYTE] = "max_byte",
	[K_SWITCHES] = "switches",
	[K_FLUSHES] = "flushes",
	[K_CNT] = "cnt",
	[K_OP] = "op",
	[K_SEQ] = "seq",
	[K_LOST] = "lost",
	[K_DATA_SET] = "data_set",
	[K_PT_SEL] = "pt_sel",
	[K_IRREG_HSLAB] = "irreg_hslab",
	[K_REG_HSLAB] = "reg_hslab",
	[K_NDIMS] = "ndims",
	[K_NPOINTS] = "npoints",
	[K_OFF] = "off",
	[K_LEN] = "len",
	[K_START] = "start",
	[K_DUR] = "dur",
	[K_TOTAL] = "total",
	[K_TIMESTAMP] = "timestamp",
	[K_FAILED] = "failed",
};

/* Keys of messages, and columns, in their order. */
static const enum key upstream_before[] = { K_SCHEMA,  K_UID,	   K_EXE,      K_JOB_ID,
					    K_RANK,    K_PRODUCER, K_FILE,     K_RECORD_ID,
					    K_MODULE,  K_TYPE,	   K_MAX_BYTE, K_SWITCHES,
					    K_FLUSHES, K_CNT,	   K_OP,       K_END };
static const enum key upstream_seg[] = { K_PT_SEL,  K_IRREG_HSLAB, K_REG_HSLAB, K_NDIMS,
					 K_NPOINTS, K_OFF,	   K_LEN,	K_START,
					 K_DUR,	    K_TOTAL,	   K_TIMESTAMP, K_END };
static const enum key upstream_after[] = { K_SEQ, K_LOST, K_END };
static const enum key upstream_csv[] = {
	K_PRODUCER,    K_CNT,	   K_EXE,	K_FILE,	   K_FLUSHES, K_JOB_ID,
	K_LOST,	       K_MAX_BYTE, K_MODULE,	K_OP,	   K_RANK,    K_RECORD_ID,
	K_SCHEMA,      K_SEQ,	   K_SWITCHES,	K_TYPE,	   K_UID,     K_DUR,
	K_IRREG_HSLAB, K_LEN,	   K_NDIMS,	K_NPOINTS, K_OFF,     K_PT_SEL,
	K_REG_HSLAB,   K_START,	   K_TIMESTAMP, K_TOTAL,   K_END
};
static const enum key paper_before[] = { K_UID_TEXT, K_EXE,	  K_JOB_ID, K_RANK, K_PRODUCER,
					 K_FILE,     K_RECORD_ID, K_MODULE, K_TYPE, K_MAX_BYTE,
					 K_SWITCHES, K_FLUSHES,	  K_CNT,    K_OP,   K_END };
static const enum key paper_seg[] = { K_DATA_SET, K_PT_SEL,    K_IRREG_HSLAB, K_REG_HSLAB,
				      K_NDIMS,	  K_NPOINTS,   K_OFF,	      K_LEN,
				      K_DUR,	  K_TIMESTAMP, K_END };
static const enum key paper_after[] = { K_END };
static const enum key paper_csv[] = {
	K_MODULE,    K_UID_TEXT, K_PRODUCER,  K_SWITCHES, K_FILE,   K_RANK,	 K_FLUSHES,
	K_RECORD_ID, K_EXE,	 K_MAX_BYTE,  K_TYPE,	  K_JOB_ID, K_OP,	 K_CNT,
	K_OFF,	     K_PT_SEL,	 K_DUR,	      K_LEN,	  K_NDIMS,  K_REG_HSLAB, K_IRREG_HSLAB,
	K_DATA_SET,  K_NPOINTS,	 K_TIMESTAMP, K_END
};

/* what a run of accesses has in common */
struct run {
	const struct rama_bus_enc_process *p;
	const char *module, *op, *path;
	uint64_t record, seq, lost, count;
	int64_t max_byte, switches, flushes;
	bool met; /* an open: static facts are told */
};

/* ---- words ----------------------------------------------------------------------------------- */

struct pen {
	struct rama_out *out;
	bool csv;
};

static void put_text(const struct pen *w, const char *s)
{
	struct rama_json j;

	if (w->csv) {
		rama_csv_quoted(w->out, s, strlen(s));
		return;
	}
	rama_json_init(&j, w->out);
	rama_json_string(&j, s);
}

/* seconds with six decimals, without the detour over a double */
static void put_seconds(struct rama_out *out, int64_t ns)
{
	uint64_t us = ((ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns) + 500) / 1000;
	char text[8];

	if (ns < 0 && us > 0)
		rama_out_char(out, '-');
	rama_out_u64(out, us / 1000000);
	us %= 1000000;
	text[0] = '.';
	for (unsigned k = 6; k > 0; k--, us /= 10)
		text[k] = (char)('0' + us % 10);
	rama_out_bytes(out, text, 7);
}

static void put_uid(const struct pen *w, int64_t uid)
{
	char text[24];

	*rama_put_i64(text, uid) = '\0';
	put_text(w, text);
}

static int64_t minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static void put_of_seg(const struct pen *w, enum key k, const struct run *r,
		       const struct rama_bus_enc_seg *s)
{
	int64_t start = minus(minus(s->ev.end, s->ev.dur), r->p->msg.start);

	switch (k) {
	case K_DATA_SET:
		put_text(w, "N/A");
		break;
	case K_OFF:
		rama_out_i64(w->out, s->ev.off);
		break;
	case K_LEN:
		rama_out_i64(w->out, s->ev.bytes);
		break;
	case K_START:
		put_seconds(w->out, start);
		break;
	case K_DUR:
		put_seconds(w->out, s->ev.dur);
		break;
	case K_TOTAL:
		put_seconds(w->out, (int64_t)s->total);
		break;
	case K_TIMESTAMP:
		put_seconds(w->out, s->ev.end);
		break;
	case K_FAILED:
		rama_out_i64(w->out, s->ev.failed);
		break;
	default: /* of HDF5 selections: not known */
		rama_out_text(w->out, "-1");
	}
}

static void put_of_run(const struct pen *w, enum key k, const struct run *r)
{
	const struct rama_wire_msg_process *m = &r->p->msg;

	switch (k) {
	case K_SCHEMA:
		put_text(w, r->met ? "darshan_data" : "N/A");
		break;
	case K_UID_TEXT:
		put_uid(w, m->uid);
		break;
	case K_EXE:
		put_text(w, r->met && m->exe[0] != '\0' ? m->exe : "N/A");
		break;
	case K_PRODUCER:
		put_text(w, m->host);
		break;
	case K_FILE:
		put_text(w, r->met && r->path != NULL ? r->path : "N/A");
		break;
	case K_MODULE:
		put_text(w, r->module);
		break;
	case K_TYPE:
		put_text(w, r->met ? "MET" : "MOD");
		break;
	case K_OP:
		put_text(w, r->op);
		break;
	case K_RECORD_ID:
		rama_out_u64(w->out, r->record);
		break;
	default: {
		const int64_t value[KEYS] = { [K_UID] = m->uid,
					      [K_JOB_ID] = m->jobid,
					      [K_RANK] = m->rank > 0 ? m->rank : 0,
					      [K_MAX_BYTE] = r->max_byte,
					      [K_SWITCHES] = r->switches,
					      [K_FLUSHES] = r->flushes,
					      [K_CNT] = (int64_t)r->count,
					      [K_SEQ] = (int64_t)r->seq,
					      [K_LOST] = (int64_t)r->lost };

		rama_out_i64(w->out, value[k]);
	}
	}
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void put_keys(const struct pen *w, const enum key *order, const struct run *r,
		     const struct rama_bus_enc_seg *s)
{
	for (unsigned i = 0; order[i] != K_END; i++) {
		if (i > 0)
			rama_out_char(w->out, ',');
		rama_out_char(w->out, '"');
		rama_out_text(w->out, names[order[i]]);
		rama_out_text(w->out, "\":");
		if (order[i] >= K_DATA_SET)
			put_of_seg(w, order[i], r, s);
		else
			put_of_run(w, order[i], r);
	}
}

static void put_json(struct rama_bus_encoder *en, const struct run *r, struct rama_out *out)
{
	bool paper = en->opt.dialect == RAMA_BUS_DIALECT_PAPER;
	const enum key *after = paper ? paper_after : upstream_after;
	struct pen w = { .out = out };

	rama_out_char(out, '{');
	put_keys(&w, paper ? paper_before : upstream_before, r, NULL);
	rama_out_text(out, ",\"seg\":[");
	for (unsigned i = 0; i < en->n_segs; i++) {
		rama_out_text(out, i > 0 ? ",{" : "{");
		put_keys(&w, paper ? paper_seg : upstream_seg, r, &en->seg[i]);
		if (en->seg[i].ev.failed)
			rama_out_text(out, ",\"failed\":1");
		rama_out_char(out, '}');
	}
	rama_out_char(out, ']');
	if (after[0] != K_END)
		rama_out_char(out, ',');
	put_keys(&w, after, r, NULL);
	rama_out_text(out, "}\n");
	en->totals.lines++;
}

/* One row of each access. Counters of the run are those after its last one, but the number of
 * the access is its own. */
static void put_csv(struct rama_bus_encoder *en, const struct run *r, struct rama_out *out)
{
	const enum key *order =
		en->opt.dialect == RAMA_BUS_DIALECT_PAPER ? paper_csv : upstream_csv;
	struct pen w = { .out = out, .csv = true };
	struct run one = *r;

	for (unsigned i = 0; i < en->n_segs; i++) {
		one.seq = r->seq + i;
		one.count = r->count - (en->n_segs - 1 - i);
		for (unsigned k = 0; order[k] != K_END; k++) {
			if (k > 0)
				rama_out_char(out, ',');
			if (order[k] >= K_DATA_SET)
				put_of_seg(&w, order[k], &one, &en->seg[i]);
			else
				put_of_run(&w, order[k], &one);
		}
		if (en->opt.all) {
			rama_out_char(out, ',');
			put_of_seg(&w, K_FAILED, &one, &en->seg[i]);
		}
		rama_out_char(out, '\n');
		en->totals.lines++;
	}
}

void rama_bus_enc_connector_header(const struct rama_bus_encoder *en, struct rama_out *out)
{
	const enum key *order =
		en->opt.dialect == RAMA_BUS_DIALECT_PAPER ? paper_csv : upstream_csv;

	for (unsigned i = 0; order[i] != K_END; i++) {
		rama_out_char(out, i == 0 ? '#' : ',');
		if (order[i] >= K_DATA_SET)
			rama_out_text(out, "seg:");
		rama_out_text(out, names[order[i]]);
	}
	rama_out_text(out, en->opt.all ? ",seg:failed\n" : "\n");
}

/* ---- events ---------------------------------------------------------------------------------- */

/* how the connector calls an operation; NULL: it does not tell it */
static const char *op_name(const struct rama_bus_encoder *en, const struct rama_bus_enc_event *x)
{
	bool known = x->layer < RAMA_BUS_ENC_PNETCDF && !x->ev->failed;

	if (known && (x->op == RAMA_TAB_OP_OPEN || x->op == RAMA_TAB_OP_CLOSE ||
		      x->op == RAMA_TAB_OP_READ || x->op == RAMA_TAB_OP_WRITE))
		return x->what->op;
	if (known && x->op == RAMA_TAB_OP_FLUSH && x->layer == RAMA_BUS_ENC_STDIO)
		return "write";
	return en->opt.all ? x->what->op : NULL;
}

static enum rama_bus_enc_class class_of(enum rama_tab_opkind op)
{
	return op == RAMA_TAB_OP_READ				    ? RAMA_BUS_ENC_CLASS_READ
	       : op == RAMA_TAB_OP_WRITE || op == RAMA_TAB_OP_FLUSH ? RAMA_BUS_ENC_CLASS_WRITE
								    : RAMA_BUS_ENC_CLASS_META;
}

static void count_access(struct rama_bus_enc_record *r, const struct rama_wire_event *ev,
			 enum rama_bus_enc_class class)
{
	int64_t *most = class == RAMA_BUS_ENC_CLASS_READ ? &r->max_read : &r->max_written, last;

	if (ev->off >= 0 && ev->bytes > 0 &&
	    !__builtin_add_overflow(ev->off, ev->bytes - 1, &last) && last > *most)
		*most = last;
	if (r->last != RAMA_BUS_ENC_CLASS_META && r->last != class)
		r->switches++;
	r->last = (uint8_t) class;
}

/* one event more on a record */
static void count_event(struct rama_bus_enc_record *r, const struct rama_bus_enc_event *x)
{
	enum rama_bus_enc_class class = class_of(x->op);
	enum rama_tab_opkind op = x->op == RAMA_TAB_OP_FLUSH && x->layer == RAMA_BUS_ENC_STDIO
					  ? RAMA_TAB_OP_WRITE
					  : x->op;

	r->count[op]++;
	r->ns[class] += x->ev->dur > 0 ? (uint64_t)x->ev->dur : 0;
	if (x->op == RAMA_TAB_OP_FLUSH)
		r->flushes++;
	else if (class != RAMA_BUS_ENC_CLASS_META && !x->ev->failed)
		count_access(r, x->ev, class);
}

static void fill_run(struct run *run, const struct rama_bus_enc_record *r,
		     const struct rama_bus_enc_event *x)
{
	bool io = class_of(x->op) != RAMA_BUS_ENC_CLASS_META,
	     places = x->layer == RAMA_BUS_ENC_POSIX || x->layer == RAMA_BUS_ENC_STDIO;
	enum rama_tab_opkind op = x->op == RAMA_TAB_OP_FLUSH && x->layer == RAMA_BUS_ENC_STDIO
					  ? RAMA_TAB_OP_WRITE
					  : x->op;

	run->count = r->count[op];
	run->max_byte = !io || !places				     ? -1
			: class_of(x->op) == RAMA_BUS_ENC_CLASS_READ ? r->max_read
								     : r->max_written;
	run->switches = io && (x->layer == RAMA_BUS_ENC_POSIX || x->layer == RAMA_BUS_ENC_MPIIO)
				? (int64_t)r->switches
				: -1;
	run->flushes =
		(x->layer == RAMA_BUS_ENC_STDIO && class_of(x->op) == RAMA_BUS_ENC_CLASS_WRITE) ||
				(x->layer == RAMA_BUS_ENC_H5F && x->op == RAMA_TAB_OP_OPEN)
			? (int64_t)r->flushes
			: -1;
}

static void add_seg(struct rama_bus_encoder *en, const struct rama_bus_enc_record *r,
		    const struct rama_bus_enc_event *x)
{
	struct rama_bus_enc_seg *s = &en->seg[en->n_segs++];

	*s = (struct rama_bus_enc_seg){ .ev = *x->ev, .total = r->ns[class_of(x->op)] };
	if (class_of(x->op) == RAMA_BUS_ENC_CLASS_META && !en->opt.all)
		s->ev.off = s->ev.bytes = -1;
	if (x->op == RAMA_TAB_OP_FLUSH && x->layer == RAMA_BUS_ENC_STDIO)
		s->ev.bytes = 0;
	if (x->layer == RAMA_BUS_ENC_H5D)
		s->ev.off = -1;
}

static void put_run(struct rama_bus_encoder *en, const struct run *r, struct rama_out *out)
{
	if (en->n_segs == 0)
		return;
	if (en->opt.csv)
		put_csv(en, r, out);
	else
		put_json(en, r, out);
	en->totals.written += en->n_segs;
	en->n_segs = 0;
}

/* Does an event go on with the run? Then its number follows the last one's, too. */
static bool goes_on(const struct rama_bus_encoder *en, const struct run *r,
		    const struct rama_bus_enc_event *x, const char *op)
{
	return en->n_segs > 0 && en->n_segs < en->opt.segs && r->record == x->ev->record &&
	       r->seq + en->n_segs == x->seq && strcmp(r->op, op) == 0 &&
	       strcmp(r->module, x->what->layer) == 0;
}

static void begin_run(struct run *r, const struct rama_bus_enc_event *x, const char *op)
{
	*r = (struct run){ .p = x->p,
			   .module = x->what->layer,
			   .op = op,
			   .record = x->ev->record,
			   .seq = x->seq,
			   .lost = x->lost,
			   .met = x->op == RAMA_TAB_OP_OPEN };
	r->path = rama_bus_enc_path(x->p, x->ev->record);
}

/* Counts an event, and writes the run before it if it begins another. */
static int put_event(struct rama_bus_encoder *en, struct run *run,
		     const struct rama_bus_enc_event *x, struct rama_out *out)
{
	const char *op = op_name(en, x);
	struct rama_bus_enc_record *r;

	if (op == NULL && x->op != RAMA_TAB_OP_FLUSH) {
		en->totals.left_out++;
		return 0;
	}
	if ((r = rama_bus_enc_record(x->p, x->layer, x->ev->record)) == NULL)
		return -1;
	if (op == NULL) { /* not told, but counted */
		r->flushes += !x->ev->failed;
		en->totals.left_out++;
		return 0;
	}
	if (!goes_on(en, run, x, op)) {
		put_run(en, run, out);
		begin_run(run, x, op);
	}
	count_event(r, x);
	add_seg(en, r, x);
	fill_run(run, r, x);
	if (x->op == RAMA_TAB_OP_CLOSE && en->opt.dialect == RAMA_BUS_DIALECT_PAPER) {
		put_run(en, run, out); /* the paper counts from the beginning after each close */
		memset(r->count, 0, sizeof(r->count));
	}
	return 0;
}

static enum rama_bus_enc_layer layer_of(const char *name)
{
	static const uint8_t row[RAMA_BUS_ENC_OTHER] = {
#define LAYER(name) RAMA_TAB_LAYER_ROW_##name,
		RAMA_BUS_ENC_LAYER_LIST(LAYER)
#undef LAYER
	};
	/* those of daemons and servers have no words in other people's dialects */
	_Static_assert((int)RAMA_BUS_ENC_OTHER == (int)RAMA_TAB_LAYER_ROW_FUSE,
		       "every layer of an application is known");

	for (unsigned k = 0; k < RAMA_BUS_ENC_OTHER; k++)
		if (strcmp(rama_tab_event_layer[row[k]].name, name) == 0)
			return k;
	return RAMA_BUS_ENC_OTHER;
}

static enum rama_tab_opkind op_of(const char *name)
{
	static const char *const words[RAMA_TAB_OPS] = {
#define OP(kind, counter) #kind,
#include "table/ops.def"
#undef OP
	};

	for (unsigned k = 0; k < RAMA_TAB_OPS; k++)
		if (strcasecmp(words[k], name) == 0)
			return k;
	return RAMA_TAB_OP_NOTHING;
}

int rama_bus_enc_connector_block(struct rama_bus_encoder *en, struct rama_bus_enc_process *p,
				 uint32_t from, struct rama_out *out, struct rama_err *e)
{
	enum rama_bus_enc_layer layer[RAMA_WIRE_BLOCK_WHATS];
	enum rama_tab_opkind op[RAMA_WIRE_BLOCK_WHATS];
	struct rama_wire_block *b = en->block;
	struct run run = { .p = p, .module = "", .op = "" };
	uint64_t lost = rama_bus_enc_lost(p);

	for (uint32_t k = 0; k < b->n_whats; k++) {
		layer[k] = layer_of(b->what[k].layer);
		op[k] = op_of(b->what[k].op);
		if (layer[k] == RAMA_BUS_ENC_MPIIO)
			memcpy(b->what[k].layer, "MPIIO", 6);
	}
	for (uint32_t i = from; i < b->n; i++) {
		struct rama_bus_enc_event x = {
			.p = p, .b = b, .ev = &b->event[i], .seq = b->first + i, .lost = lost
		};

		x.what = &b->what[x.ev->what];
		x.layer = layer[x.ev->what];
		x.op = op[x.ev->what];
		if (put_event(en, &run, &x, out) < 0) {
			en->n_segs = 0;
			return rama_err_set(e, RAMA_EMEMORY, "no memory to encode events");
		}
	}
	put_run(en, &run, out);
	return 0;
}
