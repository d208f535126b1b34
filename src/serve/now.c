/* SPDX-License-Identifier: BSD-3-Clause */
/* now.c: what a job is at this moment: the calls that its ranks are in, and the files that move.
 * Processes of this machine are looked at when somebody asks; of others their agents told. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"
#include "look/dirs.h"
#include "look/look.h"
#include "query/job.h"
#include "query/now.h"
#include "serve/inside.h"

#define FRESH_MS 900   /* a look that is younger is taken for now */
#define AGAIN_MS 10000 /* how often directories are looked for that a job may be in */
#define WAITS 200
#define FILES 20
#define FILES_ALL 1000 /* of all nodes, of which the first are told */

struct rama_serve_here {
	pthread_mutex_t lock;
	const char *dir;
	struct rama_look *look;
	int64_t made, taken; /* ms */
};

struct rama_serve_here *rama_serve_here_open(const char *dir)
{
	struct rama_serve_here *h = calloc(1, sizeof(*h));

	if (h != NULL) {
		pthread_mutex_init(&h->lock, NULL);
		h->dir = dir;
	}
	return h;
}

void rama_serve_here_close(struct rama_serve_here *h)
{
	if (h == NULL)
		return;
	if (h->look != NULL)
		rama_look_destroy(h->look);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* ---- looking --------------------------------------------------------------------------------- */

static void make(struct rama_serve_here *h, int64_t now)
{
	struct rama_look_dirs dirs;
	struct rama_look_options o = { .linger = 1 };
	struct rama_err e = { 0 };

	if (h->look != NULL)
		rama_look_destroy(h->look);
	h->look = NULL;
	rama_look_dirs_find(&dirs, h->dir);
	o.dir = (const char *const *)dirs.path;
	o.n_dirs = dirs.n;
	o.uid = geteuid() == 0 ? UINT32_MAX : (uint32_t)geteuid();
	if (rama_look_create(&h->look, &o, &e) != 0)
		h->look = NULL;
	rama_look_dirs_fini(&dirs);
	h->made = now;
	h->taken = 0;
}

static void take(struct rama_serve_here *h, int64_t now)
{
	struct rama_err e = { 0 };

	if (h->look != NULL && now - h->taken >= FRESH_MS && rama_look_take(h->look, &e) == 0)
		h->taken = now;
}

struct wanted {
	struct rama_serve_here *here;
	struct rama_look_job *found;
	int64_t running;
};

static int find(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct wanted *w = ctx;
	const struct rama_look *l = w->here->look;

	(void)e;
	w->running = row->cell[1].i;
	for (size_t i = 0; l != NULL && i < l->n; i++)
		if (row->cell[0].type == RAMA_STORE_CELL_TEXT &&
		    strcmp(l->job[i]->key, row->cell[0].text) == 0)
			w->found = l->job[i];
	return w->found != NULL;
}

/* under the lock */
static int look_for(struct rama_serve_here *h, struct rama_store *store, int64_t job,
		    struct wanted *w, struct rama_err *e)
{
	int64_t now = rama_now_ms();
	int rc;

	if (h->look == NULL)
		make(h, now);
	take(h, now);
	*w = (struct wanted){ .here = h };
	rc = rama_query_job_keys_list(store, job, find, w, e);
	if (rc == 0 && w->found == NULL && now - h->made > AGAIN_MS) {
		make(h, now);
		take(h, now);
		rc = rama_query_job_keys_list(store, job, find, w, e);
	}
	return rc;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* a file that moves, on all nodes together */
struct moving {
	uint64_t id;
	char *name;
	double read, written, bytes; /* the first two in a second */
	uint64_t processes;
};

struct telling {
	struct rama_json *j;
	const char *here; /* this node, if it is looked at itself; else NULL */
	unsigned waits;
	int64_t told; /* processes on other nodes, of which agents told */
	struct moving file[FILES_ALL];
	size_t n_files;
};

static void put_wait(struct telling *t, const char *host, int64_t rank, int64_t pid,
		     const char *call, double since, const char *file)
{
	struct rama_json *j = t->j;

	if (t->waits++ >= WAITS)
		return;
	rama_json_open(j, '{');
	rama_json_key_i64(j, "rank", rank);
	rama_json_key_string(j, "host", host);
	rama_json_key_i64(j, "pid", pid);
	rama_json_key_string(j, "call", call);
	rama_json_key_f64(j, "since", since);
	rama_json_key_string(j, "file", file);
	rama_json_close(j, '}');
}

static void add_file(struct telling *t, const struct moving *f)
{
	struct moving *to = NULL;

	for (size_t i = 0; i < t->n_files && to == NULL; i++)
		if (t->file[i].id == f->id)
			to = &t->file[i];
	if (to == NULL) {
		if (t->n_files == FILES_ALL)
			return;
		to = &t->file[t->n_files];
		*to = (struct moving){ .id = f->id, .name = strdup(f->name) };
		if (to->name == NULL)
			return;
		t->n_files++;
	}
	to->read += f->read;
	to->written += f->written;
	to->bytes += f->bytes;
	to->processes += f->processes;
}

static void see_here(struct telling *t, const struct rama_look_job *job, double interval)
{
	double per = interval > 0 ? 1 / interval : 1;
	struct rama_look_files files = { 0 };
	struct rama_err e = { 0 };

	for (size_t i = 0; i < job->n; i++) {
		const struct rama_look_process *p = job->process[i];

		if (p->state == RAMA_LOOK_RUNNING && p->here && p->n_told > 0)
			put_wait(t, p->host, p->rank, p->pid, p->call[0].fn, p->call[0].since,
				 p->call[0].name);
	}
	if (rama_look_files(&files, job, NULL, RAMA_LOOK_BY_RATE, FILES, &e) != 0)
		return;
	for (size_t i = 0; i < files.n; i++) {
		const struct rama_look_file *f = &files.file[i];
		struct moving to = { .id = f->id,
				     .name = f->name,
				     .read = (double)f->gain.bytes_read * per,
				     .written = (double)f->gain.bytes_written * per,
				     .bytes = (double)f->total.bytes_read +
					      (double)f->total.bytes_written,
				     .processes = f->processes };

		if (rama_look_ops(&f->gain) > 0)
			add_file(t, &to);
	}
	rama_look_files_fini(&files);
}

/* what the agent of another node told */
static int see_moment(void *ctx, const struct rama_wire_msg_moment *m, struct rama_err *e)
{
	struct telling *t = ctx;
	double per = m->width > 0 ? 1e9 / (double)m->width : 1;

	(void)e;
	if (t->here != NULL && strcmp(t->here, m->host) == 0)
		return 0;
	t->told += (int64_t)(m->processes < 1u << 30 ? m->processes : 1u << 30);
	for (uint32_t i = 0; i < m->n; i++)
		if (m->at[i].n > 0)
			put_wait(t, m->host, m->at[i].rank, m->at[i].pid, m->at[i].call[0].fn,
				 (double)m->at[i].call[0].since * 1e-9, m->at[i].call[0].file);
	for (uint32_t i = 0; i < m->n_files; i++) {
		const struct rama_wire_msg_moved *f = &m->file[i];

		add_file(t, &(struct moving){ .id = f->record,
					      .name = (char *)(uintptr_t)f->name,
					      .read = (double)f->gain.bytes_read * per,
					      .written = (double)f->gain.bytes_written * per,
					      .bytes = (double)f->total.bytes_read +
						       (double)f->total.bytes_written,
					      .processes = f->processes });
	}
	return 0;
}

static int by_rate(const void *a, const void *b)
{
	const struct moving *x = a, *y = b;
	double rx = x->read + x->written, ry = y->read + y->written;

	return rx != ry ? (rx > ry ? -1 : 1) : strcmp(x->name, y->name);
}

static void put_files(struct telling *t)
{
	struct rama_json *j = t->j;

	if (t->n_files > 1)
		qsort(t->file, t->n_files, sizeof(*t->file), by_rate);
	rama_json_key_open(j, "files", '[');
	for (size_t i = 0; i < t->n_files; i++) {
		const struct moving *f = &t->file[i];

		if (i < FILES) {
			rama_json_open(j, '{');
			rama_json_key_string(j, "file", f->name);
			rama_json_key_f64(j, "read_rate", f->read);
			rama_json_key_f64(j, "write_rate", f->written);
			rama_json_key_f64(j, "bytes", f->bytes);
			rama_json_key_i64(j, "processes", (int64_t)f->processes);
			rama_json_close(j, '}');
		}
		free(f->name);
	}
	rama_json_close(j, ']');
}

static int64_t running_here(const struct rama_look_job *job)
{
	int64_t n = 0;

	for (size_t i = 0; job != NULL && i < job->n; i++)
		n += job->process[i]->state == RAMA_LOOK_RUNNING && job->process[i]->here;
	return n;
}

int rama_serve_here_job(struct rama_serve_here *h, struct rama_store *store, int64_t job,
			int (*fn)(void *ctx, const struct rama_look_job *job, struct rama_err *e),
			void *ctx, struct rama_err *e)
{
	struct wanted w;
	int rc;

	pthread_mutex_lock(&h->lock);
	rc = look_for(h, store, job, &w, e);
	if (rc == 0)
		rc = running_here(w.found) > 0 ? fn(ctx, w.found, e)
					       : rama_err_set(e, RAMA_EMISSING, "not here");
	pthread_mutex_unlock(&h->lock);
	return rc;
}

/* under the lock, but for the store */
static int tell(struct rama_serve_call *c, struct telling *t, struct rama_err *e)
{
	struct rama_serve_here *h = c->serve->here;
	int64_t since = rama_store_now(c->store) - RAMA_QUERY_NOW_FRESH, here;
	char host[256] = "";
	struct wanted w;
	int rc;

	gethostname(host, sizeof(host) - 1);
	rama_json_open(t->j, '{');
	pthread_mutex_lock(&h->lock);
	rc = look_for(h, c->store, c->job, &w, e);
	here = rc == 0 ? running_here(w.found) : 0;
	rama_json_key_i64(t->j, "here", here);
	rama_json_key_i64(t->j, "of", w.running);
	rama_json_key_open(t->j, "waits", '[');
	if (here > 0) {
		see_here(t, w.found, h->look->interval);
		t->here = host;
	}
	pthread_mutex_unlock(&h->lock);
	if (rc == 0)
		rc = rama_store_moments(c->store, c->job, since, see_moment, t, e);
	rama_json_close(t->j, ']');
	rama_json_key_i64(t->j, "told", t->told);
	rama_json_key_f64(t->j, "events", rama_serve_loans_left(c->serve->loans, c->job));
	put_files(t);
	rama_json_close(t->j, '}');
	return rc;
}

void rama_serve_do_now(struct rama_serve_call *c)
{
	struct telling *t = calloc(1, sizeof(*t));
	struct rama_err e = { 0 };
	struct rama_json j;

	rama_json_init(&j, &c->out);
	if (t != NULL)
		t->j = &j;
	if (c->form == RAMA_ROWS_CSV)
		rama_serve_call_fail(c, 406, "this moment is JSON");
	else if (t == NULL)
		rama_serve_call_fail(c, 500, "out of memory");
	else if (tell(c, t, &e) < 0)
		rama_serve_call_err(c, &e);
	else
		rama_out_char(&c->out, '\n');
	free(t);
}
