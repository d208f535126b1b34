/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/fleet.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "store/store.h"
#include "study/study.h"

#define WORKERS_MOST 64

/* what all workers share; all but what the caller gave under the lock, which is the store's, too */
struct fleet_run {
	pthread_mutex_t lock;
	const struct rama_study_fleet *f;
	struct rama_report_fleet *fleet;
	size_t next, done, bad;
	int error; /* RAMA_EMEMORY: stop */
};

/* ---- one log --------------------------------------------------------------------------------- */

/* the first thing that is wrong with a log */
struct trouble {
	char line[sizeof(((struct rama_err *)0)->text)];
};

static void keep_first(void *ctx, const char *line)
{
	struct trouble *t = ctx;

	if (t->line[0] == '\0')
		snprintf(t->line, sizeof(t->line), "%s", line);
}

static int keep(struct fleet_run *r, size_t i, const struct rama_job_view *v,
		const struct rama_diag *d, const struct trouble *t)
{
	int rc = 0;

	pthread_mutex_lock(&r->lock);
	if (v != NULL)
		rc = rama_report_fleet_add(r->fleet, i, r->f->path[i], v, d);
	if (rc == 0 && t->line[0] != '\0') {
		rc = rama_report_fleet_problem(r->fleet, i, r->f->path[i], t->line);
		r->bad++;
	}
	pthread_mutex_unlock(&r->lock);
	return rc;
}

static int view_log(struct fleet_run *r, size_t i, struct rama_log *log, struct trouble *t)
{
	struct rama_job_view v;
	struct rama_diag d;
	struct rama_err e = { 0 };
	int rc = rama_study_log(&v, &d, log, r->f->path[i], r->f->trace, r->f->profile, &e);

	if (rc == 0) {
		rc = keep(r, i, &v, &d, t);
		rama_diag_fini(&d);
		rama_job_view_fini(&v);
	} else if (rc != RAMA_EMEMORY) {
		keep_first(t, e.text);
		rc = keep(r, i, NULL, NULL, t);
	}
	return rc;
}

/* from its file, or (*bytes != NULL then) from the store */
static int open_log(struct fleet_run *r, size_t i, struct rama_file *file, unsigned char **bytes,
		    struct rama_err *e)
{
	size_t n = 0;
	int rc;

	*bytes = NULL;
	if (r->f->store != NULL) {
		pthread_mutex_lock(&r->lock);
		rc = rama_store_log_bytes(r->f->store, r->f->jobs[i], bytes, &n, e);
		pthread_mutex_unlock(&r->lock);
		*file = (struct rama_file){ .fd = -1 };
		if (rc == 0)
			rama_source_memory(&file->src, *bytes, n);
		if (rc != RAMA_EMISSING) /* else it was not kept */
			return rc;
		*e = (struct rama_err){ 0 };
	}
	return rama_file_open(file, r->f->path[i], e);
}

/* RAMA_EMEMORY, or 0: all else is the log's own trouble */
static int read_log(struct fleet_run *r, size_t i)
{
	struct trouble t = { "" };
	struct rama_log_options opt = { .problem = keep_first, .ctx = &t };
	struct rama_file file;
	struct rama_log log;
	struct rama_err e = { 0 };
	unsigned char *bytes;
	int rc = open_log(r, i, &file, &bytes, &e);

	if (rc != 0) {
		keep_first(&t, e.text);
		return keep(r, i, NULL, NULL, &t);
	}
	rc = rama_log_open(&log, &file.src, &opt, &e);
	if (rc == 0) {
		rc = view_log(r, i, &log, &t);
		rama_log_close(&log);
	} else if (rc != RAMA_EMEMORY) {
		keep_first(&t, e.text);
		rc = keep(r, i, NULL, NULL, &t);
	}
	rama_file_close(&file);
	free(bytes);
	return rc;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void *work(void *ctx)
{
	struct fleet_run *r = ctx;

	for (;;) {
		size_t i;
		int rc;

		pthread_mutex_lock(&r->lock);
		i = r->error == 0 ? r->next++ : r->f->n;
		pthread_mutex_unlock(&r->lock);
		if (i >= r->f->n)
			return NULL;
		rc = read_log(r, i);
		pthread_mutex_lock(&r->lock);
		r->done++;
		if (rc != 0)
			r->error = rc;
		if (r->f->progress != NULL)
			r->f->progress(r->f->ctx, r->done, r->bad);
		pthread_mutex_unlock(&r->lock);
	}
}

static unsigned workers(size_t logs)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set)
							     : (int)sysconf(_SC_NPROCESSORS_ONLN);

	n = n < 1 ? 1 : n > WORKERS_MOST ? WORKERS_MOST : n;
	return (size_t)n > logs ? (unsigned)logs : (unsigned)n;
}

/* This thread works too, so that all is read even where no other can be started. */
static int read_all(struct fleet_run *r)
{
	pthread_t thread[WORKERS_MOST];
	unsigned want = workers(r->f->n), n = 0;

	while (n + 1 < want && pthread_create(&thread[n], NULL, work, r) == 0)
		n++;
	work(r);
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	return r->error;
}

int rama_study_fleet_read(const struct rama_study_fleet *f, struct rama_report_fleet *to)
{
	struct fleet_run r = { .lock = PTHREAD_MUTEX_INITIALIZER, .f = f, .fleet = to };
	int rc = rama_report_fleet_init(to, f->n);

	if (rc == 0)
		rc = read_all(&r);
	pthread_mutex_destroy(&r.lock);
	return rc;
}
