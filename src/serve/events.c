/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c: "events on for 60 s": live events of a job of one's own, on the machine of the server.
 * They end by themselves, and with the server; if that is killed, by the agent that reads them. */
#ifndef RAMA_WITHOUT_JANSSON
#include <jansson.h>
#endif
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "query/job.h"
#include "serve/inside.h"

#define LOANS 64	 /* jobs at a time */
#define SECONDS_MOST 600 /* of one */

struct loan {
	int64_t job, until; /* ms */
	struct rama_look_lent lent;
};

struct rama_serve_loans {
	pthread_mutex_t lock;
	struct loan loan[LOANS];
	size_t n;
};

struct rama_serve_loans *rama_serve_loans_open(void)
{
	struct rama_serve_loans *l = calloc(1, sizeof(*l));

	if (l != NULL)
		pthread_mutex_init(&l->lock, NULL);
	return l;
}

static void end_those(struct rama_serve_loans *l, int64_t before)
{
	for (size_t i = l->n; i-- > 0;) {
		if (l->loan[i].until > before)
			continue;
		rama_look_give_back(&l->loan[i].lent);
		l->loan[i] = l->loan[--l->n];
	}
}

void rama_serve_loans_tick(struct rama_serve_loans *l)
{
	pthread_mutex_lock(&l->lock);
	end_those(l, rama_now_ms());
	pthread_mutex_unlock(&l->lock);
}

void rama_serve_loans_close(struct rama_serve_loans *l)
{
	if (l == NULL)
		return;
	end_those(l, INT64_MAX);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

double rama_serve_loans_left(struct rama_serve_loans *l, int64_t job)
{
	int64_t now = rama_now_ms();
	double left = 0;

	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->n; i++)
		if (l->loan[i].job == job && l->loan[i].until > now)
			left = (double)(l->loan[i].until - now) / 1000;
	pthread_mutex_unlock(&l->lock);
	return left;
}

/* ---- what is asked --------------------------------------------------------------------------- */

struct wish {
	struct rama_serve_loans *loans;
	int64_t job, until;
	bool silent; /* no agent reads events here */
	size_t n;    /* processes whose events are on by it */
};

/* what the room `now` found of it on this machine, under its lock */
static int switch_on(void *ctx, const struct rama_look_job *job, struct rama_err *e)
{
	struct wish *w = ctx;
	struct rama_serve_loans *l = w->loans;
	struct loan *to = NULL;
	int rc;

	w->silent = job->live.reader == 0;
	if (w->silent)
		return 0;
	for (size_t i = 0; i < l->n && to == NULL; i++)
		if (l->loan[i].job == w->job)
			to = &l->loan[i];
	if (to == NULL && l->n == LOANS)
		return rama_err_set(e, RAMA_ELIMIT, "events of too many jobs are on");
	if (to == NULL) {
		to = &l->loan[l->n++];
		*to = (struct loan){ .job = w->job };
	}
	rc = rama_look_lend(&to->lent, job, w->until, e);
	to->until = w->until;
	w->n = to->lent.n;
	return rc;
}

static void off(struct rama_serve_loans *l, int64_t job)
{
	pthread_mutex_lock(&l->lock);
	for (size_t i = 0; i < l->n; i++)
		if (l->loan[i].job == job)
			l->loan[i].until = 0;
	end_those(l, 0);
	pthread_mutex_unlock(&l->lock);
}

#ifdef RAMA_WITHOUT_JANSSON /* nor is there a server then: http.c */
static bool wanted(struct rama_serve_call *c, int64_t *seconds)
{
	*seconds = 0;
	rama_serve_call_fail(c, 501, "built without jansson");
	return false;
}
#else
/* a number of seconds, 0: off; false: the call has failed */
static bool wanted(struct rama_serve_call *c, int64_t *seconds)
{
	json_t *body = json_loads(c->body != NULL ? c->body : "", JSON_REJECT_DUPLICATES, NULL);
	const json_t *said = json_object_get(body, "seconds");
	const char *type = c->request->header[RAMA_SERVE_TYPE];
	bool ok = type != NULL && strncmp(type, "application/json", 16) == 0 &&
		  json_is_integer(said) && json_integer_value(said) >= 0 &&
		  json_integer_value(said) <= SECONDS_MOST;

	*seconds = ok ? json_integer_value(said) : 0;
	json_decref(body);
	if (!ok)
		rama_serve_call_fail(c, 400, "{\"seconds\": 60} is asked for, as application/json");
	return ok;
}
#endif

static bool is_own(struct rama_serve_call *c)
{
	char owner[1024] = "";
	struct rama_err e = { 0 };

	if (!rama_serve_request_own(c->request)) {
		rama_serve_call_fail(c, 403, "a page of somebody else");
		return false;
	}
	if (rama_query_job_owner(c->store, c->job, owner, sizeof(owner), &e) <= 0 ||
	    strcmp(owner, c->viewer->name) != 0) {
		rama_serve_call_fail(c, 403, "only who runs a job may switch its events");
		return false;
	}
	return true;
}

void rama_serve_do_live(struct rama_serve_call *c)
{
	struct rama_serve_loans *l = c->serve->loans;
	struct wish w = { .loans = l, .job = c->job };
	struct rama_err e = { 0 };
	int64_t seconds;
	int rc = 0;

	if (!is_own(c) || !wanted(c, &seconds))
		return;
	if (seconds == 0) {
		off(l, c->job);
	} else {
		w.until = rama_now_ms() + seconds * 1000;
		pthread_mutex_lock(&l->lock);
		rc = rama_serve_here_job(c->serve->here, c->store, c->job, switch_on, &w, &e);
		pthread_mutex_unlock(&l->lock);
	}
	if (rc == RAMA_EMISSING)
		rama_serve_call_fail(c, 409, "it does not run on the machine of this server");
	else if (rc != 0)
		rama_serve_call_err(c, &e);
	else if (w.silent)
		rama_serve_call_fail(c, 409, "no agent reads its events: iorama agent");
	else
		rama_out_fmt(&c->out, "{\"events\":%.3f,\"processes\":%zu}\n",
			     rama_serve_loans_left(l, c->job), w.n);
}
