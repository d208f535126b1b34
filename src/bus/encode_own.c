/* SPDX-License-Identifier: BSD-3-Clause */
/* encode_own.c: our own dialect: every field of every event, named as the columns of the store. */
#include "base/csv.h"
#include "base/json.h"
#include "bus/encode_parts.h"

static const char columns[] = "job,segment,host,rank,lane,tid,seq,lost,layer,op,fn,record,file,"
			      "start_ns,end_ns,dur_ns,off,len,call,"
			      "parent,failed,file_bytes\n";

void rama_bus_enc_own_header(const struct rama_bus_encoder *en, struct rama_out *out)
{
	(void)en;
	rama_out_text(out, columns);
}

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

/* a name with all that stands around it, and its value */
static void pair_raw(struct rama_out *out, const char *name, const char *s)
{
	rama_out_text(out, name);
	rama_out_text(out, s);
}

static void pair_text(struct rama_out *out, const char *name, const char *s)
{
	struct rama_json j;

	rama_out_text(out, name);
	rama_json_init(&j, out);
	rama_json_string(&j, s);
}

static void pair_u64(struct rama_out *out, const char *name, uint64_t v)
{
	rama_out_text(out, name);
	rama_out_u64(out, v);
}

static void pair_i64(struct rama_out *out, const char *name, int64_t v)
{
	rama_out_text(out, name);
	rama_out_i64(out, v);
}

static void pair_hex(struct rama_out *out, const char *name, const void *bytes, size_t n)
{
	rama_out_text(out, name);
	put_hex(out, bytes, n);
}

static int64_t start_of(const struct rama_wire_event *ev)
{
	return (int64_t)((uint64_t)ev->end - (uint64_t)ev->dur);
}

static void event_json(const struct rama_bus_enc_event *x, const char *path, struct rama_out *out)
{
	const struct rama_wire_event *ev = x->ev;

	pair_raw(out, "{\"type\":\"event\",\"job\":\"", x->p->job->key);
	pair_hex(out, "\",\"segment\":\"", x->b->segment.b, 16);
	pair_text(out, "\",\"host\":", x->p->msg.host);
	pair_i64(out, ",\"rank\":", x->p->msg.rank);
	pair_u64(out, ",\"lane\":", x->b->lane);
	pair_u64(out, ",\"tid\":", x->b->tid);
	pair_u64(out, ",\"seq\":", x->seq);
	pair_u64(out, ",\"lost\":", x->lost);
	pair_text(out, ",\"layer\":", x->what->layer);
	pair_text(out, ",\"op\":", x->what->op);
	pair_text(out, ",\"fn\":", x->what->fn);
	pair_u64(out, ",\"record\":\"", ev->record);
	pair_text(out, "\",\"file\":", path);
	if (path != NULL && !is_utf8(path, strlen(path))) {
		pair_hex(out, ",\"file_bytes\":\"", path, strlen(path));
		rama_out_char(out, '"');
	}
	pair_i64(out, ",\"start_ns\":", start_of(ev));
	pair_i64(out, ",\"end_ns\":", ev->end);
	pair_i64(out, ",\"dur_ns\":", ev->dur);
	pair_i64(out, ",\"off\":", ev->off);
	pair_i64(out, ",\"len\":", ev->bytes);
	pair_u64(out, ",\"call\":", ev->call);
	pair_u64(out, ",\"parent\":", ev->parent);
	rama_out_text(out, ev->failed ? ",\"failed\":true}\n" : ",\"failed\":false}\n");
}

static void cell(struct rama_out *out, const char *s)
{
	rama_csv_quoted(out, s, strlen(s));
	rama_out_char(out, ',');
}

static void cell_i64(struct rama_out *out, int64_t v)
{
	rama_out_i64(out, v);
	rama_out_char(out, ',');
}

static void cell_u64(struct rama_out *out, uint64_t v)
{
	rama_out_u64(out, v);
	rama_out_char(out, ',');
}

static void event_csv(const struct rama_bus_enc_event *x, const char *path, struct rama_out *out)
{
	const struct rama_wire_event *ev = x->ev;

	cell(out, x->p->job->key);
	put_hex(out, x->b->segment.b, 16);
	rama_out_char(out, ',');
	cell(out, x->p->msg.host);
	cell_i64(out, x->p->msg.rank);
	cell_u64(out, x->b->lane);
	cell_u64(out, x->b->tid);
	cell_u64(out, x->seq);
	cell_u64(out, x->lost);
	cell(out, x->what->layer);
	cell(out, x->what->op);
	cell(out, x->what->fn);
	cell_u64(out, ev->record);
	if (path != NULL)
		rama_csv_quoted(out, path, strlen(path));
	rama_out_char(out, ',');
	cell_i64(out, start_of(ev));
	cell_i64(out, ev->end);
	cell_i64(out, ev->dur);
	cell_i64(out, ev->off);
	cell_i64(out, ev->bytes);
	cell_u64(out, ev->call);
	cell_u64(out, ev->parent);
	cell_u64(out, ev->failed);
	if (path != NULL && !is_utf8(path, strlen(path)))
		put_hex(out, path, strlen(path));
	rama_out_char(out, '\n');
}

void rama_bus_enc_own_event(struct rama_bus_encoder *en, const struct rama_bus_enc_event *x,
			    struct rama_out *out)
{
	const char *path = x->ev->record != 0 ? rama_bus_enc_path(x->p, x->ev->record) : NULL;

	if (en->opt.csv)
		event_csv(x, path, out);
	else
		event_json(x, path, out);
	en->totals.lines++;
}

void rama_bus_enc_own_process(struct rama_bus_encoder *en, const struct rama_wire_msg_process *m,
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

void rama_bus_enc_own_loss(struct rama_bus_encoder *en, const struct rama_wire_msg_loss *m,
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
