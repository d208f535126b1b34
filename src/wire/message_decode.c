/* SPDX-License-Identifier: BSD-3-Clause */
/* message_decode.c: bytes become messages, or only their heads. Whatever sent them is not trusted:
 * every length is compared with what is left, every count with its limit before memory is asked
 * for. */
#include "wire/message_head.h"

#include <libdeflate.h>

#include "wire/coding.h"
#include "wire/key.h"

struct decoder {
	struct rama_wire_reader r;
	struct rama_arena *a;
	bool no_memory;
};

static uint64_t get_u64(struct decoder *d)
{
	return rama_wire_get_varint(&d->r);
}

static int64_t get_i64(struct decoder *d)
{
	return rama_wire_unfold(rama_wire_get_varint(&d->r));
}

static uint32_t get_u32(struct decoder *d)
{
	uint64_t v = rama_wire_get_varint(&d->r);

	if (v > UINT32_MAX)
		d->r.bad = true;
	return (uint32_t)v;
}

static double get_f64(struct decoder *d)
{
	uint64_t bits = rama_wire_get_le(&d->r, 8);
	double v;

	memcpy(&v, &bits, 8);
	return v;
}

static void get_segment(struct decoder *d, struct rama_wire_segment_key *k)
{
	const unsigned char *p = rama_wire_get_bytes(&d->r, sizeof(k->b));

	if (p != NULL)
		memcpy(k->b, p, sizeof(k->b));
}

/* the bytes of a text: no NUL in it, and no longer than it may be */
static const char *get_raw(struct decoder *d, size_t most, uint32_t *len)
{
	uint64_t n = rama_wire_get_varint(&d->r);
	const unsigned char *p;

	if (n > most)
		d->r.bad = true;
	p = rama_wire_get_bytes(&d->r, n);
	if (p == NULL || memchr(p, '\0', n) != NULL) {
		d->r.bad = true;
		return NULL;
	}
	*len = (uint32_t)n;
	return (const char *)p;
}

static const char *get_text_n(struct decoder *d, size_t most, uint32_t *len)
{
	const char *raw = get_raw(d, most, len), *text = "";

	if (raw == NULL) {
		*len = 0;
		return "";
	}
	if (*len > 0 && (text = rama_arena_text(d->a, raw, *len)) == NULL) {
		d->no_memory = d->r.bad = true;
		return "";
	}
	return text;
}

static const char *get_text(struct decoder *d)
{
	uint32_t len;

	return get_text_n(d, RAMA_WIRE_MSG_TEXT, &len);
}

static const char *get_short(struct decoder *d)
{
	uint32_t len;

	return get_text_n(d, RAMA_WIRE_MSG_WORD, &len);
}

/* into an array of `room` bytes */
static void get_word(struct decoder *d, char *to, size_t room)
{
	uint32_t len = 0;
	const char *raw = get_raw(d, room - 1, &len);

	memset(to, 0, room);
	if (raw != NULL)
		memcpy(to, raw, len);
}

static const char *get_job(struct decoder *d, bool may_be_empty)
{
	uint32_t len;
	const char *job = get_text_n(d, RAMA_WIRE_JOB - 1, &len);

	if (!(may_be_empty && len == 0) && !rama_wire_key_valid(job, (size_t)len + 1))
		d->r.bad = true;
	return job;
}

/* An array of n parts, each of which takes at least `least` bytes of the message; NULL: none, or
 * too many */
static void *get_array(struct decoder *d, uint32_t *n, uint32_t most, size_t least, size_t item)
{
	uint64_t count = rama_wire_get_varint(&d->r);
	void *array;

	*n = 0;
	if (d->r.bad || count > most || count > (size_t)(d->r.end - d->r.p) / least) {
		d->r.bad = true;
		return NULL;
	}
	if (count == 0)
		return NULL;
	if ((array = rama_arena_alloc(d->a, count * item)) == NULL) {
		d->no_memory = d->r.bad = true;
		return NULL;
	}
	*n = (uint32_t)count;
	return array;
}

static void get_process(struct decoder *d, struct rama_wire_msg_process *m)
{
	get_segment(d, &m->segment);
	m->version = get_u64(d);
	m->job = get_job(d, false);
	m->user = get_short(d);
	m->host = get_short(d);
	m->exe = get_text(d);
	m->command = get_text(d);
	m->tag = get_short(d);
	m->uid = get_i64(d);
	m->jobid = get_i64(d);
	m->pid = get_i64(d);
	m->rank = get_i64(d);
	m->nprocs = get_i64(d);
	m->start = get_i64(d);
	m->end = get_i64(d);
	m->seen_at = get_i64(d);
	m->state = get_u32(d);
	m->made = get_u64(d);
	m->dropped = get_u64(d);
	m->missed = get_u64(d);
	m->lanes = get_u32(d);
	if (m->state < RAMA_WIRE_STATE_RUNNING || m->state > RAMA_WIRE_STATE_KILLED ||
	    m->rank < -1 || m->nprocs < 0)
		d->r.bad = true;
}

static void get_names(struct decoder *d, struct rama_wire_msg_names *m)
{
	m->job = get_job(d, false);
	m->name = get_array(d, &m->n, RAMA_WIRE_MSG_NAMES_MOST, 2, sizeof(*m->name));
	for (uint32_t i = 0; i < m->n && !d->r.bad; i++) {
		m->name[i].record = get_u64(d);
		m->name[i].path = get_text_n(d, RAMA_WIRE_MSG_TEXT, &m->name[i].len);
	}
}

static void get_figures(struct decoder *d, struct rama_wire_msg_gain *g)
{
	g->reads = get_i64(d);
	g->writes = get_i64(d);
	g->metas = get_i64(d);
	g->bytes_read = get_i64(d);
	g->bytes_written = get_i64(d);
	g->read_ns = get_i64(d);
	g->write_ns = get_i64(d);
	g->meta_ns = get_i64(d);
}

static struct rama_wire_msg_gain *get_gains(struct decoder *d, uint32_t *n)
{
	struct rama_wire_msg_gain *gain = get_array(d, n, RAMA_WIRE_MSG_GAINS, 9, sizeof(*gain));

	for (uint32_t i = 0; i < *n && !d->r.bad; i++) {
		get_word(d, gain[i].layer, sizeof(gain[i].layer));
		get_figures(d, &gain[i]);
	}
	return gain;
}

static void get_activity(struct decoder *d, struct rama_wire_msg_activity *m)
{
	get_segment(d, &m->segment);
	m->job = get_job(d, false);
	m->rank = get_i64(d);
	m->t = get_i64(d);
	m->width = get_i64(d);
	m->gain = get_gains(d, &m->n);
	if (m->rank < -1 || m->width < 0)
		d->r.bad = true;
}

static void get_counters(struct decoder *d, struct rama_wire_msg_counters *m)
{
	get_segment(d, &m->segment);
	m->version = get_u64(d);
	m->job = get_job(d, false);
	m->rank = get_i64(d);
	m->t = get_i64(d);
	m->since = get_i64(d);
	m->total = get_gains(d, &m->n);
	if (m->rank < -1)
		d->r.bad = true;
}

static void get_sample(struct decoder *d, struct rama_wire_msg_sample *m)
{
	m->host = get_short(d);
	m->t = get_i64(d);
	m->figure = get_array(d, &m->n, RAMA_WIRE_MSG_FIGURES, 9, sizeof(*m->figure));
	for (uint32_t i = 0; i < m->n && !d->r.bad; i++) {
		get_word(d, m->figure[i].metric, sizeof(m->figure[i].metric));
		m->figure[i].value = get_f64(d);
	}
}

/* all that is left */
static const unsigned char *get_rest(struct decoder *d, size_t *len)
{
	const unsigned char *p = d->r.p;

	*len = (size_t)(d->r.end - p);
	d->r.p = d->r.end;
	return p;
}

static void get_log(struct decoder *d, struct rama_wire_msg_log *m)
{
	m->job = get_job(d, true);
	m->name = get_text(d);
	m->bytes = get_rest(d, &m->len);
}

static void get_loss(struct decoder *d, struct rama_wire_msg_loss *m)
{
	m->agent = get_short(d);
	m->number = get_u64(d);
	m->job = get_job(d, true);
	m->why = get_short(d);
	m->events = get_u64(d);
	m->messages = get_u64(d);
}

static void get_focus_one(struct decoder *d, struct rama_wire_msg_focus_one *o)
{
	o->id = get_u64(d);
	o->ns = get_u64(d);
	o->pid = get_i64(d);
	o->rank = get_i64(d);
	if (o->pid < 0 || o->rank < -1)
		d->r.bad = true;
}

static void get_focus(struct decoder *d, struct rama_wire_msg_focus *m)
{
	m->agent = get_short(d);
	m->host = get_short(d);
	m->group = get_array(d, &m->n, RAMA_WIRE_MSG_GROUPS, 13, sizeof(*m->group));
	for (uint32_t i = 0; i < m->n && !d->r.bad; i++) {
		struct rama_wire_msg_focus_group *g = &m->group[i];
		uint64_t decides;

		*g = (struct rama_wire_msg_focus_group){ .host = "" };
		g->job = get_job(d, false);
		g->processes = get_u64(d);
		g->left_out = get_u64(d);
		get_focus_one(d, &g->slow);
		get_focus_one(d, &g->chosen);
		decides = get_u64(d);
		g->decides = decides == 1;
		if (decides > 1)
			d->r.bad = true;
		if (!g->decides)
			continue;
		get_focus_one(d, &g->at);
		g->host = get_short(d);
		g->all = get_u64(d);
		g->all_left = get_u64(d);
		g->switches = get_u64(d);
	}
}

static void get_call(struct decoder *d, struct rama_wire_msg_call *c)
{
	c->fn = get_short(d);
	c->class = get_u32(d);
	c->tid = get_u64(d);
	c->since = get_i64(d);
	c->file = get_text(d);
	if (c->class == 0 || c->class >= RAMA_WIRE_CLASSES)
		d->r.bad = true;
}

static void get_at(struct decoder *d, struct rama_wire_msg_at *a)
{
	*a = (struct rama_wire_msg_at){ .rank = -1 };
	get_segment(d, &a->segment);
	a->rank = get_i64(d);
	a->pid = get_i64(d);
	a->threads = get_u64(d);
	a->files = get_u64(d);
	a->wait = get_u32(d);
	a->share = get_u64(d);
	a->longest = get_i64(d);
	get_figures(d, &a->gain);
	a->calls = get_u64(d);
	a->call = get_array(d, &a->n, RAMA_WIRE_MSG_CALLS, 5, sizeof(*a->call));
	for (uint32_t i = 0; i < a->n && !d->r.bad; i++)
		get_call(d, &a->call[i]);
	if (a->rank < -1 || a->wait >= RAMA_WIRE_CLASSES || a->share > 1000000)
		d->r.bad = true;
}

static void get_moved(struct decoder *d, struct rama_wire_msg_moved *f)
{
	*f = (struct rama_wire_msg_moved){ .name = "" };
	f->record = get_u64(d);
	f->processes = get_u64(d);
	f->name = get_text(d);
	f->longest = get_i64(d);
	get_figures(d, &f->gain);
	get_figures(d, &f->total);
}

static void get_moment(struct decoder *d, struct rama_wire_msg_moment *m)
{
	m->host = get_short(d);
	m->job = get_job(d, false);
	m->t = get_i64(d);
	m->width = get_i64(d);
	m->processes = get_u64(d);
	m->at = get_array(d, &m->n, RAMA_WIRE_MSG_ATS, 33, sizeof(*m->at));
	for (uint32_t i = 0; i < m->n && !d->r.bad; i++)
		get_at(d, &m->at[i]);
	m->file = get_array(d, &m->n_files, RAMA_WIRE_MSG_MOVED, 20, sizeof(*m->file));
	for (uint32_t i = 0; i < m->n_files && !d->r.bad; i++)
		get_moved(d, &m->file[i]);
	if (m->width < 0)
		d->r.bad = true;
}

static void get_kind(struct decoder *d, struct rama_wire_message *m)
{
	switch (m->kind) {
	case RAMA_WIRE_MSG_PROCESS:
		get_process(d, &m->process);
		break;
	case RAMA_WIRE_MSG_NAMES:
		get_names(d, &m->names);
		break;
	case RAMA_WIRE_MSG_BLOCK:
		m->block.bytes = get_rest(d, &m->block.len);
		break;
	case RAMA_WIRE_MSG_ACTIVITY:
		get_activity(d, &m->activity);
		break;
	case RAMA_WIRE_MSG_SAMPLE:
		get_sample(d, &m->sample);
		break;
	case RAMA_WIRE_MSG_LOG:
		get_log(d, &m->log);
		break;
	case RAMA_WIRE_MSG_COUNTERS:
		get_counters(d, &m->counters);
		break;
	case RAMA_WIRE_MSG_FOCUS:
		get_focus(d, &m->focus);
		break;
	case RAMA_WIRE_MSG_MOMENT:
		get_moment(d, &m->moment);
		break;
	default:
		get_loss(d, &m->loss);
	}
}

static int check_head(const unsigned char *bytes, size_t n, struct rama_err *e)
{
	if (n > RAMA_WIRE_MESSAGE_MOST)
		return rama_err_set(e, RAMA_ELIMIT, "message: %zu bytes are too many", n);
	if (n < RAMA_WIRE_MSG_HEAD)
		return rama_err_set(e, RAMA_ETRUNC, "message: its head ends early");
	if (rama_wire_load_le(bytes, 4) != RAMA_WIRE_MESSAGE_MAGIC)
		return rama_err_set(e, RAMA_ECORRUPT, "not a message");
	if (bytes[RAMA_WIRE_MSG_AT_VERSION] == 0 ||
	    bytes[RAMA_WIRE_MSG_AT_VERSION] > RAMA_WIRE_MESSAGE_VERSION)
		return rama_err_set(e, RAMA_EVERSION, "message: version %u is not known",
				    bytes[RAMA_WIRE_MSG_AT_VERSION]);
	if (bytes[RAMA_WIRE_MSG_AT_KIND] == 0 ||
	    bytes[RAMA_WIRE_MSG_AT_KIND] >= RAMA_WIRE_MSG_KINDS ||
	    bytes[RAMA_WIRE_MSG_AT_VERSION] !=
		    rama_wire_message_version(bytes[RAMA_WIRE_MSG_AT_KIND]) ||
	    rama_wire_load_le(bytes + RAMA_WIRE_MSG_AT_ZERO, 2) != 0)
		return rama_err_set(e, RAMA_ECORRUPT, "message: its kind is not known");
	if (rama_wire_load_le(bytes + RAMA_WIRE_MSG_AT_SUM, 4) !=
	    libdeflate_crc32(0, bytes + RAMA_WIRE_MSG_AT_VERSION, n - RAMA_WIRE_MSG_AT_VERSION))
		return rama_err_set(e, RAMA_ECORRUPT, "message: its checksum differs");
	return 0;
}

int rama_wire_message_decode(struct rama_wire_message *m, const unsigned char *bytes, size_t n,
			     struct rama_arena *a, struct rama_err *e)
{
	struct decoder d = { .r = { bytes + RAMA_WIRE_MSG_HEAD, bytes + n, false }, .a = a };
	int rc = check_head(bytes, n, e);

	memset(m, 0, sizeof(*m));
	if (rc < 0)
		return rc;
	m->kind = bytes[RAMA_WIRE_MSG_AT_KIND];
	get_kind(&d, m);
	if (d.no_memory)
		return rama_err_set(e, RAMA_EMEMORY, "message: no memory");
	if (d.r.bad || d.r.p != d.r.end)
		return rama_err_set(e, RAMA_ECORRUPT, "message '%s': damaged",
				    rama_wire_message_name(m->kind));
	return 0;
}

/* ---- heads ----------------------------------------------------------------------------------- */

static void skip_texts(struct decoder *d, unsigned n)
{
	uint32_t len;

	while (n-- > 0)
		get_raw(d, RAMA_WIRE_MSG_TEXT, &len);
}

static void peek_job(struct decoder *d, char job[RAMA_WIRE_JOB], bool may_be_empty)
{
	get_word(d, job, RAMA_WIRE_JOB);
	if (!(may_be_empty && job[0] == '\0') && !rama_wire_key_valid(job, RAMA_WIRE_JOB))
		d->r.bad = true;
}

/* the fields up to the last that is asked for, in the order of get_... above */
static void peek_kind(struct decoder *d, struct rama_wire_message_head *h)
{
	switch (h->kind) {
	case RAMA_WIRE_MSG_PROCESS:
		get_segment(d, &h->segment);
		get_u64(d);
		peek_job(d, h->job, false);
		skip_texts(d, 4);
		get_word(d, h->word, sizeof(h->word));
		break;
	case RAMA_WIRE_MSG_NAMES:
		peek_job(d, h->job, false);
		break;
	case RAMA_WIRE_MSG_BLOCK:
		/* one that is damaged is of no job, and told of when it is unpacked */
		rama_wire_block_peek(d->r.p, (size_t)(d->r.end - d->r.p), h->job, &h->events,
				     &h->segment, NULL);
		break;
	case RAMA_WIRE_MSG_ACTIVITY:
		get_segment(d, &h->segment);
		peek_job(d, h->job, false);
		break;
	case RAMA_WIRE_MSG_SAMPLE:
		get_word(d, h->word, sizeof(h->word));
		break;
	case RAMA_WIRE_MSG_LOG:
		peek_job(d, h->job, true);
		break;
	case RAMA_WIRE_MSG_COUNTERS:
		get_segment(d, &h->segment);
		get_u64(d);
		peek_job(d, h->job, false);
		break;
	case RAMA_WIRE_MSG_FOCUS: /* of no job in particular */
		break;
	case RAMA_WIRE_MSG_MOMENT:
		skip_texts(d, 1);
		peek_job(d, h->job, false);
		break;
	default:
		skip_texts(d, 1);
		get_u64(d);
		peek_job(d, h->job, true);
	}
}

int rama_wire_message_peek(struct rama_wire_message_head *h, const unsigned char *bytes, size_t n,
			   struct rama_err *e)
{
	struct decoder d = { .r = { bytes + RAMA_WIRE_MSG_HEAD, bytes + n, false } };
	int rc = check_head(bytes, n, e);

	memset(h, 0, sizeof(*h));
	if (rc < 0)
		return rc;
	h->kind = bytes[RAMA_WIRE_MSG_AT_KIND];
	peek_kind(&d, h);
	if (!d.r.bad)
		return 0;
	*h = (struct rama_wire_message_head){ .kind = h->kind };
	return rama_err_set(e, RAMA_ECORRUPT, "message '%s': damaged",
			    rama_wire_message_name(h->kind));
}
