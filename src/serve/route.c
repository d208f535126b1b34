/* SPDX-License-Identifier: BSD-3-Clause */
/* route.c: which row of routes.def a request is for, whether it may be asked, and its answer. */
#include <stdlib.h>
#include <string.h>

#include "serve/call.h"

const struct rama_serve_route rama_serve_routes[RAMA_SERVE_ROUTES] = {
#define ROUTE(symbol, method, pattern, who, handler, cache, keys, doc) \
	{ #symbol,                                                     \
	  RAMA_SERVE_##method,                                         \
	  pattern,                                                     \
	  RAMA_SERVE_WHO_##who,                                        \
	  rama_serve_do_##handler,                                     \
	  RAMA_SERVE_CACHE_##cache,                                    \
	  keys },
#include "serve/routes.def"
#undef ROUTE
};

static bool job_of(const char *text, int64_t *job)
{
	size_t n = strlen(text);

	if (n < 1 || n > 18 || strspn(text, "0123456789") != n || text[0] == '0')
		return false;
	*job = strtoll(text, NULL, 10);
	return true;
}

static bool matches(const char *pattern, const struct rama_serve_request *r, int64_t *job,
		    const char **word)
{
	unsigned i = 0;

	for (; *pattern != '\0' && i < r->n_segments; i++) {
		size_t n = strcspn(pattern, "/");

		if (n == 4 && strncmp(pattern, ":job", 4) == 0) {
			if (!job_of(r->segment[i], job))
				return false;
		} else if (n == 5 && strncmp(pattern, ":word", 5) == 0) {
			*word = r->segment[i];
		} else if (strlen(r->segment[i]) != n || strncmp(pattern, r->segment[i], n) != 0) {
			return false;
		}
		pattern += n + (pattern[n] == '/');
	}
	return *pattern == '\0' && i == r->n_segments;
}

int rama_serve_route_find(const struct rama_serve_request *r, const struct rama_serve_route **to,
			  int64_t *job, const char **word)
{
	int status = 404;

	for (unsigned i = 0; i < RAMA_SERVE_ROUTES; i++) {
		*job = 0;
		*word = NULL;
		if (!matches(rama_serve_routes[i].pattern, r, job, word))
			continue;
		status = 405;
		if (rama_serve_routes[i].method == r->method) {
			*to = &rama_serve_routes[i];
			return 0;
		}
	}
	return status;
}

const char *rama_serve_route_stray(const struct rama_serve_route *route,
				   const struct rama_serve_request *r)
{
	if (strcmp(route->keys, "*") == 0)
		return "";
	for (unsigned i = 0; i < r->n_pairs; i++) {
		const char *at = route->keys, *key = r->pair[i].key;
		bool known = false;

		while (!known && *at != '\0') {
			size_t n = strcspn(at, ",");

			known = strlen(key) == n && strncmp(at, key, n) == 0;
			at += n + (at[n] == ',');
		}
		if (!known)
			return key;
	}
	return "";
}

/* ---- may it be asked? ------------------------------------------------------------------------ */

/* 404 for what one does not see, as for what is not there */
static int check(struct rama_serve_call *c, struct rama_err *e)
{
	const struct rama_serve_role_info *role = &rama_serve_role_info[c->viewer->role];
	int rc;

	switch (c->route->who) {
	case RAMA_SERVE_WHO_ANY:
		return 0;
	case RAMA_SERVE_WHO_SUMS:
		return role->sums ? 0 : 401;
	case RAMA_SERVE_WHO_USER:
		return role->own ? 0 : 401;
	case RAMA_SERVE_WHO_STAFF:
		return role->all ? 0 : role->own ? 404 : 401;
	case RAMA_SERVE_WHO_JOB:
		if (!role->own)
			return 401;
		rc = rama_serve_may_job(c->viewer, c->store, c->job, e);
		return rc < 0 ? rc : rc > 0 ? 0 : 404;
	}
	return 404;
}

static void choose_form(struct rama_serve_call *c)
{
	const char *accept = c->request->header[RAMA_SERVE_ACCEPT];

	c->form = RAMA_ROWS_JSON;
	if (strcmp(c->request->suffix, "csv") == 0 ||
	    (c->request->suffix[0] == '\0' && accept != NULL &&
	     strncmp(accept, "text/csv", 8) == 0))
		c->form = RAMA_ROWS_CSV;
}

void rama_serve_call_answer(struct rama_serve_call *c)
{
	const char *stray = rama_serve_route_stray(c->route, c->request);
	struct rama_err e = { 0 };
	int status = check(c, &e);

	choose_form(c);
	c->status = 200;
	if (status < 0)
		rama_serve_call_err(c, &e);
	else if (status != 0)
		rama_serve_call_fail(c, status,
				     status == 401 ? "who are you? A token is needed"
						   : "there is nothing here");
	else if (*stray != '\0')
		rama_serve_call_fail(c, 400, "a key of the query that is not known here");
	else
		c->route->handle(c);
	if (c->out.error != 0)
		rama_serve_call_fail(c, 500, "out of memory");
}

/* ---- for handlers ---------------------------------------------------------------------------- */

void rama_serve_call_fail(struct rama_serve_call *c, int status, const char *why)
{
	struct rama_json j;

	rama_out_fini(&c->out);
	rama_out_init(&c->out, NULL, NULL);
	c->status = status;
	c->type = "application/json";
	c->file[0] = c->cookie[0] = '\0';
	c->policy = NULL;
	rama_json_init(&j, &c->out);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "error", why);
	rama_json_close(&j, '}');
	rama_out_char(&c->out, '\n');
}

void rama_serve_call_err(struct rama_serve_call *c, const struct rama_err *e)
{
	switch (e->code) {
	case RAMA_EUSAGE:
		rama_serve_call_fail(c, 400, e->text);
		break;
	case RAMA_EMISSING:
		rama_serve_call_fail(c, 404, e->text);
		break;
	case RAMA_ESTOPPED:
		rama_serve_call_fail(c, 503, e->text);
		break;
	case RAMA_EMEMORY:
		rama_serve_call_fail(c, 500, "out of memory");
		break;
	default: /* what the store says is for those who keep it */
		rama_serve_call_fail(c, 503, "the store cannot be read now");
	}
}

bool rama_serve_call_number(struct rama_serve_call *c, const char *key, int64_t least, int64_t most,
			    int64_t *v)
{
	const char *text = rama_serve_request_value(c->request, key);
	size_t n = text != NULL ? strlen(text) : 0;
	int64_t got;

	if (text == NULL)
		return true;
	got = n > 0 && n < 20 && strspn(text, "0123456789") == n ? strtoll(text, NULL, 10) : -1;
	if (got < least || got > most) {
		rama_serve_call_fail(c, 400, "a number of the query that cannot be");
		return false;
	}
	*v = got;
	return true;
}
