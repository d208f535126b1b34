/* SPDX-License-Identifier: BSD-3-Clause */
/* encode.c: the door of the encoder: which messages become lines, and which events came before;
 * and our own dialect. */
#include "bus/encode/encode.h"

#include <stdlib.h>

#include "base/form/csv.h"
#include "base/json.h"
#include "bus/encode/state.h"

/* ---- our own dialect: every field of every event, named as the columns of the store ---------- */

static void put_hex(struct rama_out *out, const void *bytes, size_t n)
{
	static const char digit[] = "0123456789abcdef";
	const unsigned char *p = bytes;
	char pair[2];

	for (size_t i = 0; i < n; i++) {
		pair[0] = digit[p[i] >> 4];
		pair[1] = digit[p[i] & 15];
		rama_out_bytes(out, pair, 2);
	}
}

static bool is_utf8(const char *s, size_t n)
{
	for (size_t i = 0, len; i < n; i += len)
		if ((len = rama_utf8_length((const unsigned char *)s + i, n - i)) == 0)
			return false;
	return true;
}

/* a name with all that stands around it, and its value; inline: the length of the name is known */
static inline void pair_raw(struct rama_out *out, const char *name, const char *s)
{
	rama_out_bytes(out, name, strlen(name));
	rama_out_text(out, s);
}

static inline void pair_text(struct rama_out *out, const char *name, const char *s)
{
	struct rama_json j;

	rama_out_bytes(out, name, strlen(name));
	rama_json_init(&j, out);
	rama_json_string(&j, s);
}

static inline void pair_u64(struct rama_out *out, const char *name, uint64_t v)
{
	rama_out_bytes(out, name, strlen(name));
	rama_out_u64(out, v);
}

static inline void pair_i64(struct rama_out *out, const char *name, int64_t v)
{
	rama_out_bytes(out, name, strlen(name));
	rama_out_i64(out, v);
}

static inline void pair_hex(struct rama_out *out, const char *name, const void *bytes, size_t n)
{
	rama_out_bytes(out, name, strlen(name));
	put_hex(out, bytes, n);
}

#define JSON_KEY(name, v) pair_raw(out, ",\"" name "\":\"", v), rama_out_char(out, '"')
#define JSON_HEX(name, v) pair_hex(out, ",\"" name "\":\"", v, sizeof(v)), rama_out_char(out, '"')
#define JSON_WORD(name, v) pair_text(out, ",\"" name "\":", v)
#define JSON_I64(name, v) pair_i64(out, ",\"" name "\":", v)
#define JSON_U64(name, v) pair_u64(out, ",\"" name "\":", v)
#define JSON_RECORD(name, v) pair_u64(out, ",\"" name "\":\"", v), rama_out_char(out, '"')
#define JSON_FILE(name, v) json_file(out, ",\"" name "\":", v)
#define JSON_BOOL(name, v) pair_raw(out, ",\"" name "\":", (v) ? "true" : "false")

static void json_file(struct rama_out *out, const char *name, const char *path)
{
	pair_text(out, name, path);
	if (path != NULL && !is_utf8(path, strlen(path))) {
		pair_hex(out, ",\"file_bytes\":\"", path, strlen(path));
		rama_out_char(out, '"');
	}
}

static void event_json(const struct rama_bus_enc_event *x, const char *path, struct rama_out *out)
{
	rama_out_text(out, "{\"type\":\"event\"");
#define OWN(name, is, v) JSON_##is(#name, v);
#include "bus/own.def"
	rama_out_text(out, "}\n");
}

#define CSV_KEY(v) CSV_WORD(v)
#define CSV_HEX(v) put_hex(out, v, sizeof(v))
#define CSV_WORD(v) rama_csv_quoted(out, v, strlen(v))
#define CSV_I64(v) rama_out_i64(out, v)
#define CSV_U64(v) rama_out_u64(out, v)
#define CSV_RECORD(v) rama_out_u64(out, v)
#define CSV_FILE(v) ((v) != NULL ? CSV_WORD(v) : (void)0)
#define CSV_BOOL(v) rama_out_u64(out, v)

static const char columns[] =
#define OWN(name, is, v) #name ","
#include "bus/own.def"
	"file_bytes\n";

static void event_csv(const struct rama_bus_enc_event *x, const char *path, struct rama_out *out)
{
#define OWN(name, is, v) CSV_##is(v), rama_out_char(out, ',');
#include "bus/own.def"
	if (path != NULL && !is_utf8(path, strlen(path)))
		put_hex(out, path, strlen(path));
	rama_out_char(out, '\n');
}

static void own_event(struct rama_bus_encoder *en, const struct rama_bus_enc_event *x,
		      struct rama_out *out)
{
	const char *path = x->ev->record != 0 ? rama_bus_enc_path(x->p, x->ev->record) : NULL;

	if (en->opt.csv)
		event_csv(x, path, out);
	else
		event_json(x, path, out);
	en->totals.lines++;
}

static void own_process(struct rama_bus_encoder *en, const struct rama_wire_msg_process *m,
			struct rama_out *out)
{
	static const char *const states[] = { "", "running", "ended", "replaced", "killed" };

	pair_raw(out, "{\"type\":\"process\",\"job\":\"", m->job);
	pair_hex(out, "\",\"segment\":\"", m->segment.b, 16);
	pair_u64(out, "\",\"version\":", m->version);
	pair_text(out, ",\"state\":", m->state <= RAMA_WIRE_STATE_KILLED ? states[m->state] : "");
	pair_text(out, ",\"user\":", m->user);
	pair_text(out, ",\"host\":", m->host);
	pair_text(out, ",\"exe\":", m->exe);
	pair_text(out, ",\"command\":", m->command);
	pair_text(out, ",\"tag\":", m->tag);
	pair_i64(out, ",\"uid\":", m->uid);
	pair_i64(out, ",\"jobid\":", m->jobid);
	pair_i64(out, ",\"pid\":", m->pid);
	pair_i64(out, ",\"rank\":", m->rank);
	pair_i64(out, ",\"nprocs\":", m->nprocs);
	pair_i64(out, ",\"start_ns\":", m->start);
	pair_i64(out, ",\"end_ns\":", m->end);
	pair_i64(out, ",\"seen_ns\":", m->seen_at);
	pair_u64(out, ",\"made\":", m->made);
	pair_u64(out, ",\"dropped\":", m->dropped);
	pair_u64(out, ",\"missed\":", m->missed);
	pair_u64(out, ",\"lanes\":", m->lanes);
	rama_out_text(out, "}\n");
	en->totals.lines++;
}

static void own_loss(struct rama_bus_encoder *en, const struct rama_wire_msg_loss *m,
		     struct rama_out *out)
{
	pair_text(out, "{\"type\":\"loss\",\"agent\":", m->agent);
	pair_u64(out, ",\"number\":", m->number);
	pair_text(out, ",\"job\":", m->job);
	pair_text(out, ",\"why\":", m->why);
	pair_u64(out, ",\"events\":", m->events);
	pair_u64(out, ",\"messages\":", m->messages);
	rama_out_text(out, "}\n");
	en->totals.lines++;
}

/* ---- the door -------------------------------------------------------------------------------- */

bool rama_bus_dialect_find(const char *name, enum rama_bus_dialect *d)
{
	static const char *const names[] = { "json", "upstream", "paper" };

	for (unsigned k = 0; k < 3; k++)
		if (strcmp(names[k], name) == 0) {
			*d = k;
			return true;
		}
	return false;
}

int rama_bus_encoder_create(struct rama_bus_encoder **en, const struct rama_bus_encoder_options *o,
			    struct rama_err *e)
{
	struct rama_bus_encoder *n = calloc(1, sizeof(*n));

	*en = NULL;
	if (n == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory to encode events");
	n->opt = *o;
	if (n->opt.segs == 0)
		n->opt.segs = RAMA_BUS_ENC_SEGS;
	n->block = malloc(sizeof(*n->block));
	n->seg = calloc(n->opt.segs, sizeof(*n->seg));
	if (n->block == NULL || n->seg == NULL) {
		rama_bus_encoder_destroy(n);
		return rama_err_set(e, RAMA_EMEMORY, "no memory to encode events");
	}
	*en = n;
	return 0;
}

void rama_bus_encoder_destroy(struct rama_bus_encoder *en)
{
	if (en == NULL)
		return;
	rama_bus_enc_forget_all(en);
	rama_wire_block_packer_fini(&en->packer);
	free(en->block);
	free(en->seg);
	free(en);
}

void rama_bus_encoder_header(const struct rama_bus_encoder *en, struct rama_out *out)
{
	if (!en->opt.csv)
		return;
	if (en->opt.dialect == RAMA_BUS_DIALECT_JSON)
		rama_out_text(out, columns);
	else
		rama_bus_enc_connector_header(en, out);
}

static void put_own_events(struct rama_bus_encoder *en, struct rama_bus_enc_process *p,
			   uint32_t from, struct rama_out *out)
{
	const struct rama_wire_block *b = en->block;
	uint64_t lost = rama_bus_enc_lost(p);

	for (uint32_t i = from; i < b->n; i++) {
		struct rama_bus_enc_event x = {
			.p = p, .b = b, .ev = &b->event[i], .seq = b->first + i, .lost = lost
		};

		x.what = &b->what[x.ev->what];
		own_event(en, &x, out);
	}
	en->totals.written += b->n - from;
}

static int put_block(struct rama_bus_encoder *en, const struct rama_wire_message *m,
		     struct rama_out *out, struct rama_err *e)
{
	struct rama_wire_block *b = en->block;
	struct rama_bus_enc_process *p;
	struct rama_bus_enc_lane *lane;
	uint32_t from = 0;
	int rc = rama_wire_block_unpack(&en->packer, b, m->block.bytes, m->block.len, e);

	if (rc < 0)
		return rc;
	if ((p = rama_bus_enc_process_of(en, b)) == NULL ||
	    (lane = rama_bus_enc_lane(p, b->lane)) == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory to encode events");
	if (lane->next > b->first)
		from = lane->next - b->first < b->n ? (uint32_t)(lane->next - b->first) : b->n;
	en->totals.repeated += from;
	if (from == b->n)
		return 0;
	lane->next = b->first + b->n;
	lane->lost = b->lost > lane->lost ? b->lost : lane->lost;
	if (p->msg.rank < 0)
		p->msg.rank = b->rank;
	p->seen += b->n - from;
	if (en->opt.dialect == RAMA_BUS_DIALECT_JSON)
		put_own_events(en, p, from, out);
	else
		rc = rama_bus_enc_connector_block(en, p, from, out, e);
	rama_bus_enc_end_if_done(en, p);
	return rc;
}

static int put(struct rama_bus_encoder *en, const struct rama_wire_message *m, struct rama_out *out,
	       struct rama_err *e)
{
	bool lines = en->opt.dialect == RAMA_BUS_DIALECT_JSON && !en->opt.csv;
	int rc;

	switch (m->kind) {
	case RAMA_WIRE_MSG_PROCESS:
		if ((rc = rama_bus_enc_take_process(en, &m->process, e)) >= 0 && lines)
			own_process(en, &m->process, out);
		if (m->process.state != RAMA_WIRE_STATE_RUNNING)
			rama_bus_enc_sweep(en);
		return rc;
	case RAMA_WIRE_MSG_NAMES:
		if (en->n_jobs > 2 * RAMA_BUS_ENC_IDLE)
			rama_bus_enc_sweep(en);
		return rama_bus_enc_take_names(en, &m->names, e);
	case RAMA_WIRE_MSG_BLOCK:
		return put_block(en, m, out, e);
	case RAMA_WIRE_MSG_LOSS:
		if (lines)
			own_loss(en, &m->loss, out);
		return 0;
	default: /* counters, samples and logs are not events */
		return 0;
	}
}

int rama_bus_encoder_put(struct rama_bus_encoder *en, const struct rama_wire_message *m,
			 struct rama_out *out, struct rama_err *e)
{
	int rc;

	en->clock++;
	rc = put(en, m, out, e);
	if (rc >= 0 && out->error < 0)
		rc = rama_err_set(e, out->error, "encoded events cannot be written");
	return rc < 0 ? rc : 0;
}

void rama_bus_encoder_totals(const struct rama_bus_encoder *en, struct rama_bus_encoder_totals *t)
{
	*t = en->totals;
}
