/* SPDX-License-Identifier: BSD-3-Clause */
/* call.h: a request that is being answered, as handlers see it. Inside serve only. */
#ifndef RAMA_SERVE_CALL_H
#define RAMA_SERVE_CALL_H

#include "base/form/rows.h"
#include "base/out.h"
#include "serve/may.h"
#include "serve/request.h"

enum rama_serve_who {
	RAMA_SERVE_WHO_ANY,
	RAMA_SERVE_WHO_SUMS,
	RAMA_SERVE_WHO_USER,
	RAMA_SERVE_WHO_JOB,
	RAMA_SERVE_WHO_STAFF
};
enum rama_serve_cache { RAMA_SERVE_CACHE_NONE, RAMA_SERVE_CACHE_TAG, RAMA_SERVE_CACHE_ASSET };

struct rama_serve_call;
struct rama_serve_route {
	const char *name;
	enum rama_serve_method method;
	const char *pattern;
	enum rama_serve_who who;
	void (*handle)(struct rama_serve_call *c);
	enum rama_serve_cache cache;
	const char *keys;
};
enum rama_serve_route_id {
#define ROUTE(symbol, ...) RAMA_SERVE_ROUTE_##symbol,
#include "serve/routes.def"
#undef ROUTE
	RAMA_SERVE_ROUTES
};
extern const struct rama_serve_route rama_serve_routes[RAMA_SERVE_ROUTES];

struct rama_serve_call {
	struct rama_serve *serve;
	const struct rama_serve_request *request;
	struct rama_serve_viewer *viewer;
	const struct rama_serve_route *route;
	int64_t job;			  /* of the path; 0: none */
	const char *word;		  /* of the path; NULL: none */
	const char *body;		  /* of a POST, ends with NUL */
	const char *address;		  /* where it comes from */
	struct rama_store *store, *names; /* names: the same once more, for events */
	enum rama_rows_form form;	  /* JSON or CSV */

	/* the answer */
	int status;
	const char *type; /* NULL: as form says */
	struct rama_out out;
	char cookie[256];		  /* to be set; "": none */
	char file[64];			  /* under which it is to be kept; "": it is shown */
	const char *policy;		  /* of content; NULL: the usual one */
	struct rama_serve_stream *stream; /* goes on for as long as somebody listens */
};

/* Which route this is, and what it takes from the path. 0, or a status: 404, or 405 if there is
 * such a path. */
int rama_serve_route_find(const struct rama_serve_request *r, const struct rama_serve_route **to,
			  int64_t *job, const char **word);
/* "": every key of the query is known there; else the one that is not */
const char *rama_serve_route_stray(const struct rama_serve_route *route,
				   const struct rama_serve_request *r);
/* May it be asked for, and what is the answer? Fills status and out; fails never. */
void rama_serve_call_answer(struct rama_serve_call *c);

/* ---- for handlers ---------------------------------------------------------------------------- */

/* an error as JSON: {"error": …} in place of all that was written */
void rama_serve_call_fail(struct rama_serve_call *c, int status, const char *why);
/* what a room below says; bad input is 400, a statement that took too long 503 */
void rama_serve_call_err(struct rama_serve_call *c, const struct rama_err *e);
/* An integer of the query, in a range; false: it is none, and the call has failed. */
bool rama_serve_call_number(struct rama_serve_call *c, const char *key, int64_t least, int64_t most,
			    int64_t *v);
/* rows of these columns, in the form that is asked for */
struct rama_serve_rows {
	struct rama_serve_call *call;
	struct rama_rows rows;
};
int rama_serve_rows_begin(struct rama_serve_rows *r, struct rama_serve_call *c,
			  const struct rama_query_columns *columns);
int rama_serve_rows_add(void *rows, const struct rama_store_row *row, struct rama_err *e);
void rama_serve_rows_end(struct rama_serve_rows *r, int rc, const struct rama_err *e);

#define ROUTE(symbol, method, pattern, who, handler, ...) \
	void rama_serve_do_##handler(struct rama_serve_call *c);
#include "serve/routes.def"
#undef ROUTE

#endif
