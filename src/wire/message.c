/* SPDX-License-Identifier: BSD-3-Clause */
/* message.c: messages as bytes. A head (magic, version, kind, checksum), then the fields in the
 * order of their structs: numbers as varints, signed ones folded, texts with their length before
 * them. docs/format/wire.md tells it all. */
#include "wire/message.h"

#include <stdlib.h>

#include <libdeflate.h>

#include "base/grow.h"
#include "wire/coding.h"
#include "wire/key.h"
#include "wire/message_head.h"

/* ---- writing --------------------------------------------------------------------------------- */

/* bytes that grow; after an error nothing more is written */
struct writer {
	struct rama_wire_bytes *to;
	const char *what; /* what is being written, for errors */
	struct rama_err *e;
	int rc;
};

static unsigned char *room(struct writer *w, size_t n)
{
	struct rama_wire_bytes *to = w->to;

	if (w->rc < 0)
		return NULL;
	if (to->room - to->n < n && !RAMA_GROW(to->b, to->room, to->n + n)) {
		w->rc = rama_err_set(w->e, RAMA_EMEMORY, "no memory for a message");
		return NULL;
	}
	return to->b + to->n;
}

static void put_u64(struct writer *w, uint64_t v)
{
	unsigned char *p = room(w, RAMA_WIRE_VARINT_MOST);

	if (p != NULL)
		w->to->n += (size_t)(rama_wire_put_varint(p, v) - p);
}

static void put_i64(struct writer *w, int64_t v)
{
	put_u64(w, rama_wire_fold(v));
}

static void put_bytes(struct writer *w, const void *bytes, size_t n)
{
	unsigned char *p = room(w, n);

	if (p == NULL || n == 0)
		return;
	memcpy(p, bytes, n);
	w->to->n += n;
}

static void put_f64(struct writer *w, double v)
{
	unsigned char *p = room(w, 8);
	uint64_t bits;

	memcpy(&bits, &v, 8);
	if (p == NULL)
		return;
	rama_wire_store_le(p, bits, 8);
	w->to->n += 8;
}

static void refuse(struct writer *w, const char *why)
{
	if (w->rc >= 0)
		w->rc = rama_err_set(w->e, RAMA_EUSAGE, "message '%s': %s", w->what, why);
}

static void put_text_n(struct writer *w, const char *text, size_t n, size_t most)
{
	if (text == NULL || n > most || memchr(text, '\0', n) != NULL) {
		refuse(w, text == NULL ? "a text is missing"
				       : "a text is too long or has a NUL in it");
		return;
	}
	put_u64(w, n);
	put_bytes(w, text, n);
}

static void put_text(struct writer *w, const char *text, size_t most)
{
	put_text_n(w, text, text != NULL ? strnlen(text, most + 1) : 0, most);
}

static void put_job(struct writer *w, const char *job, bool may_be_empty)
{
	if (job == NULL ||
	    (!(may_be_empty && job[0] == '\0') && !rama_wire_key_valid(job, RAMA_WIRE_JOB)))
		refuse(w, "a job has no proper key");
	put_text(w, job, RAMA_WIRE_JOB - 1);
}

static uint32_t put_count(struct writer *w, uint32_t n, uint32_t most)
{
	if (n > most)
		refuse(w, "it has too many parts");
	put_u64(w, n);
	return w->rc < 0 ? 0 : n;
}

static void put_process(struct writer *w, const struct rama_wire_msg_process *m)
{
	if (m->state < RAMA_WIRE_STATE_RUNNING || m->state > RAMA_WIRE_STATE_KILLED ||
	    m->rank < -1 || m->nprocs < 0)
		refuse(w, "its state, rank or number of processes is not possible");
	put_bytes(w, m->segment.b, sizeof(m->segment.b));
	put_u64(w, m->version);
	put_job(w, m->job, false);
	put_text(w, m->user, RAMA_WIRE_MSG_WORD);
	put_text(w, m->host, RAMA_WIRE_MSG_WORD);
	put_text(w, m->exe, RAMA_WIRE_MSG_TEXT);
	put_text(w, m->command, RAMA_WIRE_MSG_TEXT);
	put_text(w, m->tag, RAMA_WIRE_MSG_WORD);
	put_i64(w, m->uid);
	put_i64(w, m->jobid);
	put_i64(w, m->pid);
	put_i64(w, m->rank);
	put_i64(w, m->nprocs);
	put_i64(w, m->start);
	put_i64(w, m->end);
	put_i64(w, m->seen_at);
	put_u64(w, m->state);
	put_u64(w, m->made);
	put_u64(w, m->dropped);
	put_u64(w, m->missed);
	put_u64(w, m->lanes);
}

static void put_names(struct writer *w, const struct rama_wire_msg_names *m)
{
	put_job(w, m->job, false);
	for (uint32_t i = 0, n = put_count(w, m->n, RAMA_WIRE_MSG_NAMES_MOST); i < n; i++) {
		put_u64(w, m->name[i].record);
		put_text_n(w, m->name[i].path, m->name[i].len, RAMA_WIRE_MSG_TEXT);
	}
}

static void put_figures(struct writer *w, const struct rama_wire_msg_gain *g)
{
	put_i64(w, g->reads);
	put_i64(w, g->writes);
	put_i64(w, g->metas);
	put_i64(w, g->bytes_read);
	put_i64(w, g->bytes_written);
	put_i64(w, g->read_ns);
	put_i64(w, g->write_ns);
	put_i64(w, g->meta_ns);
}

static void put_gains(struct writer *w, const struct rama_wire_msg_gain *gain, uint32_t count)
{
	for (uint32_t i = 0, n = put_count(w, count, RAMA_WIRE_MSG_GAINS); i < n; i++) {
		put_text(w, gain[i].layer, sizeof(gain[i].layer) - 1);
		put_figures(w, &gain[i]);
	}
}

static void put_activity(struct writer *w, const struct rama_wire_msg_activity *m)
{
	if (m->rank < -1 || m->width < 0)
		refuse(w, "its rank or width is not possible");
	put_bytes(w, m->segment.b, sizeof(m->segment.b));
	put_job(w, m->job, false);
	put_i64(w, m->rank);
	put_i64(w, m->t);
	put_i64(w, m->width);
	put_gains(w, m->gain, m->n);
}

static void put_counters(struct writer *w, const struct rama_wire_msg_counters *m)
{
	if (m->rank < -1)
		refuse(w, "its rank is not possible");
	put_bytes(w, m->segment.b, sizeof(m->segment.b));
	put_u64(w, m->version);
	put_job(w, m->job, false);
	put_i64(w, m->rank);
	put_i64(w, m->t);
	put_i64(w, m->since);
	put_gains(w, m->total, m->n);
}

static void put_sample(struct writer *w, const struct rama_wire_msg_sample *m)
{
	put_text(w, m->host, RAMA_WIRE_MSG_WORD);
	put_i64(w, m->t);
	for (uint32_t i = 0, n = put_count(w, m->n, RAMA_WIRE_MSG_FIGURES); i < n; i++) {
		put_text(w, m->figure[i].metric, sizeof(m->figure[i].metric) - 1);
		put_f64(w, m->figure[i].value);
	}
}

static void put_log(struct writer *w, const struct rama_wire_msg_log *m)
{
	put_job(w, m->job, true);
	put_text(w, m->name, RAMA_WIRE_MSG_TEXT);
	if (m->len > RAMA_WIRE_MESSAGE_MOST)
		refuse(w, "the log is too large");
	else
		put_bytes(w, m->bytes, m->len);
}

static void put_loss(struct writer *w, const struct rama_wire_msg_loss *m)
{
	put_text(w, m->agent, RAMA_WIRE_MSG_WORD);
	put_u64(w, m->number);
	put_job(w, m->job, true);
	put_text(w, m->why, RAMA_WIRE_MSG_WORD);
	put_u64(w, m->events);
	put_u64(w, m->messages);
}

static void put_focus_one(struct writer *w, const struct rama_wire_msg_focus_one *o)
{
	if (o->pid < 0 || o->rank < -1)
		refuse(w, "its process is not possible");
	put_u64(w, o->id);
	put_u64(w, o->ns);
	put_i64(w, o->pid);
	put_i64(w, o->rank);
}

static void put_focus(struct writer *w, const struct rama_wire_msg_focus *m)
{
	put_text(w, m->agent, RAMA_WIRE_MSG_WORD);
	put_text(w, m->host, RAMA_WIRE_MSG_WORD);
	for (uint32_t i = 0, n = put_count(w, m->n, RAMA_WIRE_MSG_GROUPS); i < n; i++) {
		const struct rama_wire_msg_focus_group *g = &m->group[i];

		put_job(w, g->job, false);
		put_u64(w, g->processes);
		put_u64(w, g->left_out);
		put_focus_one(w, &g->slow);
		put_focus_one(w, &g->chosen);
		put_u64(w, g->decides);
		if (!g->decides)
			continue;
		put_focus_one(w, &g->at);
		put_text(w, g->host, RAMA_WIRE_MSG_WORD);
		put_u64(w, g->all);
		put_u64(w, g->all_left);
		put_u64(w, g->switches);
	}
}

static void put_at(struct writer *w, const struct rama_wire_msg_at *a)
{
	if (a->rank < -1 || a->wait >= RAMA_WIRE_CLASSES || a->share > 1000000)
		refuse(w, "its rank, wait or share is not possible");
	put_bytes(w, a->segment.b, sizeof(a->segment.b));
	put_i64(w, a->rank);
	put_i64(w, a->pid);
	put_u64(w, a->threads);
	put_u64(w, a->files);
	put_u64(w, a->wait);
	put_u64(w, a->share);
	put_i64(w, a->longest);
	put_figures(w, &a->gain);
	put_u64(w, a->calls);
	for (uint32_t i = 0, n = put_count(w, a->n, RAMA_WIRE_MSG_CALLS); i < n; i++) {
		const struct rama_wire_msg_call *c = &a->call[i];

		if (c->class == 0 || c->class >= RAMA_WIRE_CLASSES)
			refuse(w, "a call of no class");
		put_text(w, c->fn, RAMA_WIRE_MSG_WORD);
		put_u64(w, c->class);
		put_u64(w, c->tid);
		put_i64(w, c->since);
		put_text(w, c->file, RAMA_WIRE_MSG_TEXT);
	}
}

static void put_moment(struct writer *w, const struct rama_wire_msg_moment *m)
{
	if (m->width < 0)
		refuse(w, "its width is not possible");
	put_text(w, m->host, RAMA_WIRE_MSG_WORD);
	put_job(w, m->job, false);
	put_i64(w, m->t);
	put_i64(w, m->width);
	put_u64(w, m->processes);
	for (uint32_t i = 0, n = put_count(w, m->n, RAMA_WIRE_MSG_ATS); i < n; i++)
		put_at(w, &m->at[i]);
	for (uint32_t i = 0, n = put_count(w, m->n_files, RAMA_WIRE_MSG_MOVED); i < n; i++) {
		put_u64(w, m->file[i].record);
		put_u64(w, m->file[i].processes);
		put_text(w, m->file[i].name, RAMA_WIRE_MSG_TEXT);
		put_i64(w, m->file[i].longest);
		put_figures(w, &m->file[i].gain);
		put_figures(w, &m->file[i].total);
	}
}

static void put_kind(struct writer *w, const struct rama_wire_message *m)
{
	switch (m->kind) {
	case RAMA_WIRE_MSG_PROCESS:
		put_process(w, &m->process);
		break;
	case RAMA_WIRE_MSG_NAMES:
		put_names(w, &m->names);
		break;
	case RAMA_WIRE_MSG_BLOCK:
		if (m->block.len > RAMA_WIRE_MESSAGE_MOST)
			refuse(w, "the block is too large");
		else
			put_bytes(w, m->block.bytes, m->block.len);
		break;
	case RAMA_WIRE_MSG_ACTIVITY:
		put_activity(w, &m->activity);
		break;
	case RAMA_WIRE_MSG_SAMPLE:
		put_sample(w, &m->sample);
		break;
	case RAMA_WIRE_MSG_LOG:
		put_log(w, &m->log);
		break;
	case RAMA_WIRE_MSG_LOSS:
		put_loss(w, &m->loss);
		break;
	case RAMA_WIRE_MSG_COUNTERS:
		put_counters(w, &m->counters);
		break;
	case RAMA_WIRE_MSG_FOCUS:
		put_focus(w, &m->focus);
		break;
	case RAMA_WIRE_MSG_MOMENT:
		put_moment(w, &m->moment);
		break;
	default:
		refuse(w, "there is no such kind");
	}
}

int rama_wire_message_encode(const struct rama_wire_message *m, struct rama_wire_bytes *to,
			     struct rama_err *e)
{
	struct writer w = { .to = to, .what = rama_wire_message_name(m->kind), .e = e };
	size_t begin = to->n;
	unsigned char *head;

	if (room(&w, RAMA_WIRE_MSG_HEAD) == NULL)
		return w.rc;
	to->n += RAMA_WIRE_MSG_HEAD;
	put_kind(&w, m);
	if (w.rc >= 0 && to->n - begin > RAMA_WIRE_MESSAGE_MOST)
		w.rc = rama_err_set(e, RAMA_ELIMIT, "message '%s': it would have %zu bytes", w.what,
				    to->n - begin);
	if (w.rc < 0) {
		to->n = begin;
		return w.rc;
	}
	head = to->b + begin;
	rama_wire_store_le(head, RAMA_WIRE_MESSAGE_MAGIC, 4);
	head[RAMA_WIRE_MSG_AT_VERSION] = rama_wire_message_version(m->kind);
	head[RAMA_WIRE_MSG_AT_KIND] = (unsigned char)m->kind;
	rama_wire_store_le(head + RAMA_WIRE_MSG_AT_ZERO, 0, 2);
	rama_wire_store_le(head + RAMA_WIRE_MSG_AT_SUM,
			   libdeflate_crc32(0, head + RAMA_WIRE_MSG_AT_VERSION,
					    to->n - begin - RAMA_WIRE_MSG_AT_VERSION),
			   4);
	return 0;
}

void rama_wire_bytes_fini(struct rama_wire_bytes *b)
{
	free(b->b);
	*b = (struct rama_wire_bytes){ 0 };
}

/* ---- what messages are about ----------------------------------------------------------------- */

const char *rama_wire_message_name(enum rama_wire_message_kind kind)
{
	static const char *const names[RAMA_WIRE_MSG_KINDS] = {
		[RAMA_WIRE_MSG_PROCESS] = "process", [RAMA_WIRE_MSG_NAMES] = "names",
		[RAMA_WIRE_MSG_BLOCK] = "block",     [RAMA_WIRE_MSG_ACTIVITY] = "activity",
		[RAMA_WIRE_MSG_SAMPLE] = "sample",   [RAMA_WIRE_MSG_LOG] = "log",
		[RAMA_WIRE_MSG_LOSS] = "loss",	     [RAMA_WIRE_MSG_COUNTERS] = "counters",
		[RAMA_WIRE_MSG_FOCUS] = "focus",     [RAMA_WIRE_MSG_MOMENT] = "moment",
	};

	return kind > 0 && kind < RAMA_WIRE_MSG_KINDS ? names[kind] : "?";
}

static const char *job_of(const struct rama_wire_message *m)
{
	switch (m->kind) {
	case RAMA_WIRE_MSG_PROCESS:
		return m->process.job;
	case RAMA_WIRE_MSG_NAMES:
		return m->names.job;
	case RAMA_WIRE_MSG_ACTIVITY:
		return m->activity.job;
	case RAMA_WIRE_MSG_LOG:
		return m->log.job;
	case RAMA_WIRE_MSG_LOSS:
		return m->loss.job;
	case RAMA_WIRE_MSG_COUNTERS:
		return m->counters.job;
	case RAMA_WIRE_MSG_MOMENT:
		return m->moment.job;
	default:
		return "";
	}
}

int rama_wire_message_job(const struct rama_wire_message *m, char job[RAMA_WIRE_JOB])
{
	const char *text = job_of(m);

	job[0] = '\0';
	if (m->kind == RAMA_WIRE_MSG_BLOCK)
		return rama_wire_block_peek(m->block.bytes, m->block.len, job, NULL, NULL, NULL);
	if (strnlen(text, RAMA_WIRE_JOB) == RAMA_WIRE_JOB)
		return RAMA_ELIMIT;
	memcpy(job, text, strlen(text) + 1);
	return 0;
}

uint64_t rama_wire_message_events(const struct rama_wire_message *m)
{
	uint32_t n = 0;

	if (m->kind == RAMA_WIRE_MSG_BLOCK)
		rama_wire_block_peek(m->block.bytes, m->block.len, NULL, &n, NULL, NULL);
	return n;
}
