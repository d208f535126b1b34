/* SPDX-License-Identifier: BSD-3-Clause */
/* served.c: logs of FUSE daemons and file servers that worked for a job while it ran. Of each a log
 * is made that has nothing but the requests of the job's threads, and what was done for them, to be
 * joined with those of its processes. The rest is somebody else's, and becomes a sum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "gather/images.h"
#include "gather/one.h"
#include "logfile/calls.h"
#include "logfile/cursor.h"
#include "logfile/served.h"

#define SECOND 1000000000

enum { OURS = 1, FOREIGN };

struct served {
	struct rama_gather_work *k;
	struct rama_file file;
	struct rama_log log; /* of the daemon or server */
	bool open;
	int64_t ahead;	      /* ns from the start of the job to its own */
	int64_t uid;	      /* of the job */
	struct rama_map kept; /* requests of a server by lane and id, for what is part of them */
	struct rama_map used; /* ids of names */
	uint64_t calls;	      /* that are kept */
	struct rama_log_loads others; /* what was not for the job */
	struct rama_log_writer *w;
	struct rama_log_calls_pen pen;
};

static int64_t start_of(const struct rama_log_job *j)
{
	return j->start_sec * SECOND + j->start_nsec;
}

/* ---- threads of the job ---------------------------------------------------------------------- */

static uint64_t key_of(uint64_t a, uint64_t b)
{
	return a ^ b * 0x9e3779b97f4a7c15u;
}

static int see_threads(struct rama_map *threads, struct rama_log *log)
{
	struct rama_core_record *r;
	struct rama_log_cursor c;
	int rc = rama_log_cursor_open(&c, log, RAMA_TAB_MOD_CALLS);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		uint64_t *at = rama_map_put(
			threads, key_of(r->w[RAMA_TAB_CALLS_HOST].u, r->w[RAMA_TAB_CALLS_TID].u),
			NULL);

		if (at == NULL)
			rc = RAMA_EMEMORY;
		else
			*at = OURS;
	}
	rama_log_cursor_close(&c);
	return rc < 0 ? rc : 0;
}

static bool lives(uint64_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%llu", (unsigned long long)tid);
	return access(path, F_OK) == 0;
}

/* Helper threads of the C library (aio) make no call that is observed, so nothing names them. They
 * have ended with the job; whoever lives is somebody else. So is a thread of another user, also if
 * it has the number of one of ours that has ended; only a job of root may act as somebody else. */
static bool is_ours(struct served *s, uint64_t host, const struct rama_log_call *c)
{
	bool other = c->user != 0 && c->user != (uint64_t)s->uid + 1;
	uint64_t *at = NULL;

	if (c->tid == 0 || (other && s->uid != 0))
		return false;
	at = rama_map_put(&s->k->threads, key_of(host, c->tid), NULL);
	if (at != NULL && *at == 0)
		*at = other || lives(c->tid) ? FOREIGN : OURS;
	return at != NULL && *at == OURS;
}

/* is the other side of a server's request on the host whose threads we know? */
static bool is_near(const struct served *s, const struct rama_log_call *c, uint64_t host)
{
	const struct rama_log_name *peer = rama_log_name_get(&s->log, c->peer),
				   *here = rama_log_name_get(&s->log, host);

	return c->layer != RAMA_SEG_LAYER_SERVER || peer == NULL || here == NULL ||
	       (strncmp(peer->text, here->text, here->len) == 0 && peer->text[here->len] == ':');
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool is_request(struct served *s, const struct rama_core_record *r,
		       const struct rama_log_call *c)
{
	uint64_t host = r->w[RAMA_TAB_CALLS_HOST].u;

	return c->linked && is_near(s, c, host) && is_ours(s, host, c);
}

static uint64_t lane_key(const struct rama_core_record *r, uint32_t id)
{
	return key_of(r->w[RAMA_TAB_CALLS_LANE].u << 32 | id, r->w[RAMA_TAB_CALLS_PROGRAM].u);
}

static bool is_wanted(struct served *s, const struct rama_core_record *r,
		      const struct rama_log_call *c)
{
	if (c->linked)
		return is_request(s, r, c);
	return c->parent != 0 && rama_map_get(&s->kept, lane_key(r, c->parent)) != NULL;
}

typedef int visitor(struct served *s, const struct rama_core_record *r, struct rama_log_call *c);

/* Damage ends a record, as everywhere. done: after each record; may be NULL */
static int each_call(struct served *s, visitor *visit,
		     int (*done)(struct served *s, const struct rama_core_record *r))
{
	struct rama_core_record *r;
	struct rama_log_calls calls;
	struct rama_log_call c;
	struct rama_log_cursor cur;
	int rc = rama_log_cursor_open(&cur, &s->log, RAMA_TAB_MOD_CALLS);

	while (rc > 0 && (rc = rama_log_cursor_next(&cur, &r)) > 0) {
		int bad = 0;

		if (rama_log_calls_open(&calls, r) == 0)
			while (bad == 0 && rama_log_calls_next(&calls, &c) > 0)
				bad = visit(s, r, &c);
		if (bad == 0 && done != NULL)
			bad = done(s, r);
		rc = bad != 0 ? bad : rc;
	}
	rama_log_cursor_close(&cur);
	return rc < 0 ? rc : 0;
}

static int note_request(struct served *s, const struct rama_core_record *r, struct rama_log_call *c)
{
	if (!is_request(s, r, c))
		return 0;
	return rama_map_put(&s->kept, lane_key(r, c->id), NULL) != NULL ? 0 : RAMA_EMEMORY;
}

static int note_names(struct served *s, const struct rama_core_record *r, struct rama_log_call *c)
{
	const uint64_t id[] = { c->file, c->peer, r->w[RAMA_TAB_ID].u,
				r->w[RAMA_TAB_CALLS_HOST].u };

	for (size_t i = 0; i < sizeof(id) / sizeof(id[0]) && is_wanted(s, r, c); i++)
		if (id[i] != 0 && rama_map_put(&s->used, id[i], NULL) == NULL)
			return RAMA_EMEMORY;
	return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int flush(struct served *s, const struct rama_core_record *of)
{
	union rama_core_word w[RAMA_TAB_CALLS__WORDS];
	struct rama_core_record r = { .mod = of->mod, .schema = of->schema, .w = w };
	int rc;

	if (s->pen.n == 0)
		return 0;
	memcpy(w, of->w, sizeof(w));
	w[RAMA_TAB_RANK].i = -1; /* no process of the job */
	w[RAMA_TAB_CALLS_F_ORIGIN_TIMESTAMP].f = 1e-9;
	rama_log_calls_pen_give(&s->pen, &r);
	rc = rama_log_writer_record(s->w, &r);
	rama_log_calls_pen_clear(&s->pen);
	return rc;
}

static int write_call(struct served *s, const struct rama_core_record *r, struct rama_log_call *c)
{
	double origin = r->w[RAMA_TAB_CALLS_F_ORIGIN_TIMESTAMP].f * 1e9;
	int64_t start = s->ahead + (int64_t)c->start +
			(origin >= 1 && origin < 1e18 ? (int64_t)(origin + 0.5) - 1 : 0);
	int rc = 0;

	if (!is_wanted(s, r, c) || start < 0) {
		if (c->linked)
			rama_log_loads_add(&s->others, c);
		return 0;
	}
	c->start = (uint64_t)start;
	s->calls++;
	if (!rama_log_calls_pen_add(&s->pen, c)) {
		rc = flush(s, r);
		if (rc == 0)
			rama_log_calls_pen_add(&s->pen, c);
	}
	return rc;
}

static int write_names(struct served *s, struct rama_log_writer *w)
{
	int rc = 0;

	for (size_t i = 0; i < s->log.n_names && rc == 0; i++) {
		const struct rama_log_name *n = &s->log.names[i];

		if (rama_map_get(&s->used, n->id) != NULL)
			rc = rama_log_writer_name(w, n->id, n->text, n->len);
	}
	return rc;
}

static int write_log(struct served *s, struct rama_gather_image *im, const struct rama_log_job *job)
{
	struct rama_log_sink sink = { .write = rama_gather_temp_write, .ctx = im };
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_CALLS);
	struct rama_log_writer w;
	struct rama_log_job mine = *job;
	int rc = rama_log_writer_init(&w, &sink, RAMA_LOG_PLAIN_BYTES, 0);

	w.inner = true;
	s->w = &w;
	mine.metadata[0] = '\0';
	mine.exe = "";
	mine.nprocs = 1;
	rama_log_calls_pen_clear(&s->pen);
	if (rc == 0)
		rc = rama_log_writer_job(&w, &mine, NULL, 0);
	if (rc == 0)
		rc = write_names(s, &w);
	if (rc == 0)
		rc = rama_log_writer_module(&w, mod->id, mod->newest);
	if (rc == 0)
		rc = each_call(s, write_call, flush);
	if (rc == 0)
		rc = rama_log_writer_finish(&w, s->log.partial & 1ull << RAMA_TAB_MOD_CALLS);
	if (w.err.code != 0)
		*s->k->e = w.err;
	rama_log_writer_fini(&w);
	return rc;
}

/* ---- one of them ----------------------------------------------------------------------------- */

static int take_one(struct served *s, const char *path, struct rama_gather_image *im,
		    const struct rama_log_job *job)
{
	int rc = rama_file_open(&s->file, path, s->k->e);

	if (rc != 0)
		return rc;
	rc = rama_log_open(&s->log, &s->file.src, NULL, s->k->e);
	s->open = rc == 0;
	if (rc == 0) {
		s->ahead = start_of(&s->log.job) - start_of(job);
		s->uid = job->uid;
		rc = each_call(s, note_request, NULL);
	}
	if (rc == 0)
		rc = each_call(s, note_names, NULL);
	if (rc == 0) {
		im->work = s->k;
		im->path = path;
		im->off = s->k->temp_end;
		rc = write_log(s, im, job);
	}
	if (rc == 0) {
		rama_log_loads_tell(&s->others, &s->log, s->k->others, sizeof(s->k->others));
		im->src = (struct rama_source){ .size = im->len,
						.read = rama_gather_temp_read,
						.ctx = im };
		rc = rama_log_open(&im->log, &im->src, NULL, s->k->e);
		im->opened = rc == 0;
		s->k->temp_end += im->len;
	}
	return rc;
}

/* the earliest start, and the end, of what there is of the job */
static bool job_of(struct rama_gather_work *k, struct rama_log_job *to)
{
	bool any = false;

	for (size_t i = 0; i < k->n + k->made.n; i++) {
		const struct rama_log *log =
			i < k->n ? &k->image[i].log : &k->made.log[i - k->n].log;

		if (i < k->n && !k->image[i].opened)
			continue;
		if (!any || start_of(&log->job) < start_of(to))
			*to = log->job;
		any = true;
	}
	return any;
}

int rama_gather_served_make(struct rama_gather_work *k)
{
	struct rama_log_job job;
	struct served *s = malloc(sizeof(*s));
	int rc = 0;

	k->served = calloc(k->opt->n_served + 1, sizeof(*k->served));
	if (s == NULL || k->served == NULL || !job_of(k, &job)) {
		free(s);
		return k->served == NULL ? RAMA_EMEMORY : 0;
	}
	for (size_t i = 0; i < k->n && rc == 0; i++)
		if (k->image[i].opened)
			rc = see_threads(&k->threads, &k->image[i].log);
	for (size_t i = 0; i < k->made.n && rc == 0; i++)
		rc = see_threads(&k->threads, &k->made.log[i].log);
	for (size_t i = 0; i < k->opt->n_served && rc == 0; i++) {
		*s = (struct served){ .k = k };
		rc = take_one(s, k->opt->served[i].log, &k->served[i], &job);
		k->opt->served[i].calls = s->calls;
		k->n_served += rc == 0;
		if (s->open)
			rama_log_close(&s->log);
		rama_file_close(&s->file);
		rama_map_fini(&s->kept);
		rama_map_fini(&s->used);
	}
	free(s);
	return rc;
}

void rama_gather_served_fini(struct rama_gather_work *k)
{
	for (size_t i = 0; i < k->n_served; i++)
		rama_log_close(&k->served[i].log);
	free(k->served);
	rama_map_fini(&k->threads);
}
