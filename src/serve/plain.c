/* SPDX-License-Identifier: BSD-3-Clause */
/* plain.c: answers that need no store, or hardly: the page, who one is, whether all is
 * well. */
#ifndef RAMA_WITHOUT_JANSSON
#include <jansson.h>
#endif
#include <stdio.h>
#include <string.h>

#include "base/now.h"
#include "serve/inside.h"
#include "store/store.h"

/* ---- the page: web/dist, cmake/web.cmake ----------------------------------------------------- */

extern const char rama_serve_html[], rama_serve_html_end[], rama_serve_js[], rama_serve_js_end[],
	rama_serve_css[], rama_serve_css_end[];

static void give(struct rama_serve_call *c, const char *from, const char *end, const char *type)
{
	rama_out_bytes(&c->out, from, (size_t)(end - from));
	c->type = type;
}

void rama_serve_do_page(struct rama_serve_call *c)
{
	give(c, rama_serve_html, rama_serve_html_end, "text/html; charset=utf-8");
}

void rama_serve_do_script(struct rama_serve_call *c)
{
	give(c, rama_serve_js, rama_serve_js_end, "text/javascript; charset=utf-8");
}

void rama_serve_do_style(struct rama_serve_call *c)
{
	give(c, rama_serve_css, rama_serve_css_end, "text/css; charset=utf-8");
}

/* ---- who one is ------------------------------------------------------------------------------ */

void rama_serve_do_session(struct rama_serve_call *c)
{
	struct rama_json j;

	rama_json_init(&j, &c->out);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "user", c->viewer->name[0] != '\0' ? c->viewer->name : NULL);
	rama_json_key_string(&j, "role", rama_serve_role_info[c->viewer->role].name);
	rama_json_key_string(&j, "version", IORAMA_BUILD_VERSION);
	rama_json_close(&j, '}');
	rama_out_char(&c->out, '\n');
}

static void set_cookie(struct rama_serve_call *c, const char *id, const char *more)
{
	const struct rama_serve_options *o = &c->serve->o;

	snprintf(c->cookie, sizeof(c->cookie), "%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s",
		 rama_serve_cookie_name(o), id, o->tls_cert != NULL ? "; Secure" : "", more);
}

#ifdef RAMA_WITHOUT_JANSSON /* nor is there a server then: http.c */
void rama_serve_do_login(struct rama_serve_call *c)
{
	rama_serve_call_fail(c, 501, "built without jansson");
}
#else
void rama_serve_do_login(struct rama_serve_call *c)
{
	json_t *body = json_loads(c->body != NULL ? c->body : "", JSON_REJECT_DUPLICATES, NULL);
	const char *token = json_string_value(json_object_get(body, "token"));
	const char *type = c->request->header[RAMA_SERVE_TYPE];
	char id[RAMA_SERVE_SECRET];
	int status;

	if (!rama_serve_request_own(c->request)) {
		rama_serve_call_fail(c, 403, "a page of somebody else");
	} else if (type == NULL || strncmp(type, "application/json", 16) != 0 || token == NULL) {
		rama_serve_call_fail(c, 400, "{\"token\": …} is asked for, as application/json");
	} else if ((status = rama_serve_who_login(&c->serve->who, &c->serve->o, token, c->address,
						  id)) != 0) {
		rama_serve_call_fail(c, status,
				     status == 429 ? "too many wrong ones" : "not the token");
	} else {
		set_cookie(c, id, "");
		rama_out_text(&c->out, "{}\n");
	}
	json_decref(body);
}
#endif

static void leave(struct rama_serve_call *c, const char *id)
{
	rama_serve_who_logout(&c->serve->who, id);
	rama_serve_hub_leave(&c->serve->hub, id);
}

void rama_serve_do_logout(struct rama_serve_call *c)
{
	char id[RAMA_SERVE_SECRET];

	if (!rama_serve_request_own(c->request)) {
		rama_serve_call_fail(c, 403, "a page of somebody else");
		return;
	}
	if (rama_serve_request_cookie(c->request, rama_serve_cookie_name(&c->serve->o), id,
				      sizeof(id)))
		leave(c, id);
	set_cookie(c, "", "; Max-Age=0");
	rama_out_text(&c->out, "{}\n");
}

void rama_serve_do_stream(struct rama_serve_call *c)
{
	const char *topics = rama_serve_request_value(c->request, "topics");
	int status = 0;

	if (!c->request->head)
		c->stream = rama_serve_stream_open(c, topics != NULL ? topics : "jobs", &status);
	if (status != 0)
		rama_serve_call_fail(c, status,
				     status == 404   ? "there is nothing here"
				     : status == 429 ? "too many streams"
						     : "topics are jobs and job:N");
}

/* ---- is it well? ----------------------------------------------------------------------------- */

int rama_serve_totals(struct rama_serve_call *c, struct rama_query_totals *t)
{
	struct rama_serve *s = c->serve;
	struct rama_err e = { 0 };
	int64_t now = rama_now_ms();
	int rc = 0;

	pthread_mutex_lock(&s->totals_lock);
	if (s->totals_at == 0 || now - s->totals_at > 5000) {
		rc = rama_query_totals_get(c->store, &s->totals, &e);
		s->totals_at = rc == 0 ? now : 0;
	}
	*t = s->totals;
	pthread_mutex_unlock(&s->totals_lock);
	return rc;
}

int64_t rama_serve_hub_late(const struct rama_serve *s)
{
	int64_t ticked = atomic_load(&s->hub.ticked);

	return ticked == 0 ? 0 : rama_now_ms() - ticked;
}

void rama_serve_do_health(struct rama_serve_call *c)
{
	struct rama_query_totals t;
	bool store = rama_serve_totals(c, &t) == 0, live = rama_serve_hub_late(c->serve) < 30000;
	struct rama_json j;

	c->status = store && live ? 200 : 503;
	rama_json_init(&j, &c->out);
	rama_json_open(&j, '{');
	rama_json_key_bool(&j, "store", store);
	rama_json_key_bool(&j, "live", live);
	rama_json_close(&j, '}');
	rama_out_char(&c->out, '\n');
}
