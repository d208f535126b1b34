/* SPDX-License-Identifier: BSD-3-Clause */
/* inside.h: the server at work: its threads and what they share. Inside serve only. */
#ifndef RAMA_SERVE_INSIDE_H
#define RAMA_SERVE_INSIDE_H

#include <stdatomic.h>

#include "alert/alert.h"
#include "look/lend.h"
#include "serve/call.h"
#include "serve/who.h"

#define RAMA_SERVE_WORKERS 16 /* at most */
#define RAMA_SERVE_STATEMENT_MS 2000
#define RAMA_SERVE_BINS 9

/* what is counted for /metrics */
struct rama_serve_counts {
	atomic_ullong code[RAMA_SERVE_ROUTES + 1][6]; /* by route (the last: none) and hundred */
	atomic_ullong bin[RAMA_SERVE_BINS];	      /* of how long answers took */
	atomic_ullong ns;
	atomic_int viewers;
};
extern const double rama_serve_bin[RAMA_SERVE_BINS - 1]; /* s, the last bin has no end */
void rama_serve_counts_add(struct rama_serve_counts *c, const struct rama_serve_route *route,
			   int status, int64_t ns);

/* times of pthread_cond_timedwait() are of CLOCK_MONOTONIC */
void rama_serve_cond_init(pthread_cond_t *cond);

/* ---- work that may take long is done by a few threads with a store each: pool.c ---- */

struct rama_serve_work {
	struct rama_serve_work *next;
	void (*run)(struct rama_serve_work *w, struct rama_store *store, struct rama_store *names);
};

struct rama_serve_pool {
	pthread_mutex_t lock;
	pthread_cond_t come;
	struct rama_serve_work *first, **last;
	pthread_t thread[RAMA_SERVE_WORKERS];
	unsigned n;
	bool stop;
	const char *where;
};
int rama_serve_pool_init(struct rama_serve_pool *p, const char *where, unsigned workers,
			 struct rama_err *e);
/* false: it has ended */
bool rama_serve_pool_put(struct rama_serve_pool *p, struct rama_serve_work *w);
/* does what is left, then ends */
void rama_serve_pool_fini(struct rama_serve_pool *p);
/* a store to be read, with the time limit of all that answers; NULL: not now */
struct rama_store *rama_serve_pool_open(const char *where, struct rama_err *e);

/* ---- what is pushed: hub.c ---- */

#define RAMA_SERVE_TOPICS 8  /* of a stream */
#define RAMA_SERVE_STREAMS 8 /* of a viewer */
#define RAMA_SERVE_STREAM_MS (3600 * 1000)

struct rama_serve_hub {
	pthread_mutex_t lock;
	pthread_cond_t come;
	pthread_t thread;
	bool started, stop, hurry;
	struct rama_serve_topic *topics;
	struct rama_serve_stream *streams;
	uint64_t seq;
	_Atomic int64_t ticked; /* ms */
};
int rama_serve_hub_init(struct rama_serve *s, struct rama_err *e);
void rama_serve_hub_fini(struct rama_serve *s);	 /* tells all streams to end */
void rama_serve_hub_clear(struct rama_serve *s); /* when they have */
/* "jobs,job:17", each seen by the viewer; NULL and a status: it is refused */
struct rama_serve_stream *rama_serve_stream_open(struct rama_serve_call *c, const char *topics,
						 int *status);
void rama_serve_stream_close(struct rama_serve_stream *t);
/* What is to be sent next: bytes, 0: nothing now (`sleep` is called before, with the lock held),
 * -1: it has ended. */
long rama_serve_stream_read(struct rama_serve_stream *t, char *to, size_t room);
/* Streams end whose time is over (now: ms), so that who listens for long is asked again who he is
 * and what he may see; and those of a session that is. Both wake them. */
void rama_serve_hub_tick(struct rama_serve_hub *h, int64_t now);
void rama_serve_hub_leave(struct rama_serve_hub *h, const char *session);
/* how a stream is laid to sleep, and woken */
void rama_serve_stream_ways(struct rama_serve_stream *t, void *ctx, void (*sleep)(void *ctx),
			    void (*wake)(void *ctx));

struct rama_serve {
	struct rama_serve_options o;
	struct rama_serve_who_is who;
	struct rama_serve_pool pool;
	struct rama_serve_hub hub;
	struct rama_serve_counts counts;
	pthread_mutex_t totals_lock;
	struct rama_query_totals totals;
	int64_t totals_at; /* ms */
	struct rama_serve_here *here;
	struct rama_serve_loans *loans;
	struct rama_serve_http *http;
	struct rama_alert_site alerts; /* as the program has them, where the site says nothing */
	struct {
		pthread_mutex_t lock;
		pthread_cond_t come;
		pthread_t thread;
		bool started, stop;
	} notices;
};

/* figures of all jobs, renewed every few seconds at most */
int rama_serve_totals(struct rama_serve_call *c, struct rama_query_totals *t);
/* ms since streams were renewed */
int64_t rama_serve_hub_late(const struct rama_serve *s);

/* ---- who is told of jobs: notices.c ---- */

/* Rounds of alerts, one a minute, by a thread of its own, if the site asks for them. */
int rama_serve_notices_init(struct rama_serve *s, struct rama_err *e);
void rama_serve_notices_fini(struct rama_serve *s);

/* What runs on this machine, looked at when somebody asks for it: now.c. dir: where segments
 * are, NULL: the usual places. */
struct rama_serve_here *rama_serve_here_open(const char *dir);
void rama_serve_here_close(struct rama_serve_here *h);

/* 0: fn has seen the job as it runs on this machine; RAMA_EMISSING: it does not */
int rama_serve_here_job(struct rama_serve_here *h, struct rama_store *store, int64_t job,
			int (*fn)(void *ctx, const struct rama_look_job *job, struct rama_err *e),
			void *ctx, struct rama_err *e);

/* Live events that are on for a while: events.c. What is left when it closes is off again. */
struct rama_serve_loans *rama_serve_loans_open(void);
void rama_serve_loans_close(struct rama_serve_loans *l);
void rama_serve_loans_tick(struct rama_serve_loans *l);		       /* each second */
double rama_serve_loans_left(struct rama_serve_loans *l, int64_t job); /* seconds; 0: none */

/* its certificate and key: tls.c */
struct rama_serve_tls {
	char *cert, *key; /* PEM; NULL: there is none */
};
int rama_serve_tls_read(struct rama_serve_tls *t, const struct rama_serve_options *o,
			struct rama_err *e);
void rama_serve_tls_fini(struct rama_serve_tls *t);

/* below it: socket.c */

struct sockaddr;
/* A socket at a path, that listens. One that was left by a server that is gone is replaced; a file
 * of another kind is not. *to: to be closed also after an error, once it is set */
int rama_serve_socket_bind(const char *path, int *to, struct rama_err *e);
/* a: its address; what has none is at a socket of the file system */
void rama_serve_socket_peer(int fd, const struct sockaddr *a, struct rama_serve_peer *p);

/* HTTP itself: http.c */
int rama_serve_http_open(struct rama_serve *s, struct rama_err *e);
unsigned rama_serve_http_port(const struct rama_serve *s);
void rama_serve_http_stop(struct rama_serve *s); /* takes no more */
void rama_serve_http_close(struct rama_serve *s);
/* now and then: ends connections that are too slow */
void rama_serve_http_tick(struct rama_serve *s);

#endif
