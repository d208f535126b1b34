/* SPDX-License-Identifier: BSD-3-Clause */
/* notices.c: of what users are told, what they want to be told, and the thread that tells them. */
#ifndef RAMA_WITHOUT_JANSSON
#include <jansson.h>
#endif
#include <string.h>
#include <time.h>

#include "query/open.h"
#include "serve/inside.h"
#include "store/notice.h"

#define EVERY_S 60

/* ---- rounds ---------------------------------------------------------------------------------- */

static void look(struct rama_serve *s)
{
	struct rama_alert_round r = { .site = s->o.alerts, .told = s->o.told, .ctx = s->o.ctx };
	struct rama_err e = { 0 };

	if (rama_store_open(&r.store, s->o.store, RAMA_STORE_WRITE, &e) == 0) {
		r.now = rama_store_now(r.store);
		if (rama_alert_round(&r, &e) != 0 && s->o.told != NULL)
			s->o.told(s->o.ctx, e.text);
		rama_store_close(r.store);
	} else if (s->o.told != NULL) {
		s->o.told(s->o.ctx, e.text);
	}
}

static void *work(void *ctx)
{
	struct rama_serve *s = ctx;

	pthread_mutex_lock(&s->notices.lock);
	while (!s->notices.stop) {
		struct timespec until;

		pthread_mutex_unlock(&s->notices.lock);
		look(s);
		pthread_mutex_lock(&s->notices.lock);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += EVERY_S;
		while (!s->notices.stop &&
		       pthread_cond_timedwait(&s->notices.come, &s->notices.lock, &until) == 0)
			;
	}
	pthread_mutex_unlock(&s->notices.lock);
	return NULL;
}

int rama_serve_notices_init(struct rama_serve *s, struct rama_err *e)
{
	int rc = rama_alert_site_init(&s->alerts, e);

	pthread_mutex_init(&s->notices.lock, NULL);
	rama_serve_cond_init(&s->notices.come);
	if (rc != 0 || s->o.alerts == NULL)
		return rc;
	if (pthread_create(&s->notices.thread, NULL, work, s) != 0)
		return rama_err_set(e, RAMA_EIO, "no thread can be started");
	s->notices.started = true;
	return 0;
}

void rama_serve_notices_fini(struct rama_serve *s)
{
	if (s->notices.started) {
		pthread_mutex_lock(&s->notices.lock);
		s->notices.stop = true;
		pthread_cond_signal(&s->notices.come);
		pthread_mutex_unlock(&s->notices.lock);
		pthread_join(s->notices.thread, NULL);
	}
	rama_alert_site_fini(&s->alerts);
}

static const struct rama_alert_site *site_of(const struct rama_serve_call *c)
{
	return c->serve->o.alerts != NULL ? c->serve->o.alerts : &c->serve->alerts;
}

/* ---- what one is told ------------------------------------------------------------------------ */

static const char *const names[] = { "alert", "title", "every", "where", "wanted", "told" };
static const char *const units[] = { "text", "text", "text", "text", "id", "when" };
static const struct rama_query_columns columns = { 6, names, units };

static struct rama_store_cell text_cell(const char *s)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_TEXT,
					 .text = s,
					 .len = strlen(s) };
}

static int add_rule(struct rama_serve_call *c, struct rama_serve_rows *r,
		    const struct rama_alert_rule *rule, struct rama_err *e)
{
	struct rama_store_cell cell[6] = { text_cell(rule->name), text_cell(rule->title),
					   text_cell(rule->day ? "day" : "week"),
					   text_cell(rule->where) };
	struct rama_store_row row = { .n = 6, .name = names, .cell = cell };
	int64_t when;
	int off = rama_query_notice_off(c->store, c->viewer->name, rule->name, e);
	int last =
		off < 0 ? off
			: rama_query_notice_last(c->store, c->viewer->name, rule->name, &when, e);

	if (last < 0)
		return last;
	cell[4] = (struct rama_store_cell){ .type = RAMA_STORE_CELL_INT, .i = !off };
	if (last > 0)
		cell[5] = (struct rama_store_cell){ .type = RAMA_STORE_CELL_INT, .i = when };
	return rama_serve_rows_add(r, &row, e);
}

void rama_serve_do_notices(struct rama_serve_call *c)
{
	const struct rama_alert_site *site = site_of(c);
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc = rama_serve_rows_begin(&r, c, &columns);

	for (unsigned i = 0; rc == 0 && i < site->n; i++)
		if (site->rule[i].on && !site->rule[i].staff)
			rc = add_rule(c, &r, &site->rule[i], &e);
	rama_serve_rows_end(&r, rc, &e);
}

/* ---- what one wants -------------------------------------------------------------------------- */

#ifdef RAMA_WITHOUT_JANSSON /* nor is there a server then: http.c */
void rama_serve_do_wants(struct rama_serve_call *c)
{
	rama_serve_call_fail(c, 501, "built without jansson");
}
#else
static bool is_known(const struct rama_alert_site *site, const char *alert)
{
	const struct rama_alert_rule *rule = rama_alert_rule_find(site, alert);

	return strcmp(alert, "*") == 0 || (rule != NULL && !rule->staff);
}

static void keep(struct rama_serve_call *c, const char *alert, bool wanted)
{
	struct rama_store *s = NULL;
	struct rama_err e = { 0 };
	int rc = rama_store_open(&s, c->serve->o.store, RAMA_STORE_WRITE, &e);

	if (rc == 0) {
		rama_store_limit(s, RAMA_SERVE_STATEMENT_MS);
		rama_store_wait(s, RAMA_SERVE_STATEMENT_MS);
		rc = rama_store_notice_off(s, c->viewer->name, alert, !wanted, &e);
	}
	rama_store_close(s);
	if (rc != 0)
		rama_serve_call_fail(c, 503, "the store cannot be written now");
	else
		rama_serve_do_notices(c);
}

void rama_serve_do_wants(struct rama_serve_call *c)
{
	json_t *body = json_loads(c->body != NULL ? c->body : "", JSON_REJECT_DUPLICATES, NULL);
	const char *alert = json_string_value(json_object_get(body, "alert"));
	const json_t *wanted = json_object_get(body, "wanted");
	const char *type = c->request->header[RAMA_SERVE_TYPE];

	if (!rama_serve_request_own(c->request))
		rama_serve_call_fail(c, 403, "a page of somebody else");
	else if (type == NULL || strncmp(type, "application/json", 16) != 0 || alert == NULL ||
		 !json_is_boolean(wanted) || json_object_size(body) != 2)
		rama_serve_call_fail(c, 400,
				     "{\"alert\": …, \"wanted\": true or false} is asked for, as "
				     "application/json");
	else if (!is_known(site_of(c), alert))
		rama_serve_call_fail(c, 404, "there is no such alert");
	else
		keep(c, alert, json_is_true(wanted));
	json_decref(body);
}
#endif
