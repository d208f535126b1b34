/* SPDX-License-Identifier: BSD-3-Clause */
/* who.h: who a request is of: by a token, by the cookie that was given for one, by the process at
 * the other end of a Unix socket, or by what a proxy there says. Inside serve only. */
#ifndef RAMA_SERVE_WHO_H
#define RAMA_SERVE_WHO_H

#include <pthread.h>
#include <sys/types.h>

#include "serve/request.h"
#include "serve/serve.h"

#define RAMA_SERVE_SESSIONS 1024
#define RAMA_SERVE_SECRET 65 /* 32 bytes as hexadecimal digits, with NUL */
#define RAMA_SERVE_BUCKETS 1024

struct rama_serve_session {
	char id[RAMA_SERVE_SECRET]; /* "": free */
	int64_t until;		    /* ms */
};

struct rama_serve_bucket {
	uint64_t who;
	double left;
	int64_t since; /* ms */
};

struct rama_serve_who_is {
	pthread_mutex_t lock;
	struct rama_serve_session session[RAMA_SERVE_SESSIONS];
	struct rama_serve_bucket rate[RAMA_SERVE_BUCKETS], failed[RAMA_SERVE_BUCKETS];
	uid_t own, proxy; /* (uid_t)-1: none */
};

/* where a request comes from */
struct rama_serve_peer {
	bool local; /* a Unix socket; uid is known then */
	uid_t uid;
	char address[64];
};

int rama_serve_who_init(struct rama_serve_who_is *w, const struct rama_serve_options *o,
			struct rama_err *e);
void rama_serve_who_fini(struct rama_serve_who_is *w);

/* Who it is: 0 and name ("": nobody; room of RAMA_SERVE_NAME), or the status with which it is
 * refused. master: it has the token, or is who started us. */
int rama_serve_who_find(struct rama_serve_who_is *w, const struct rama_serve_options *o,
			const struct rama_serve_request *r, const struct rama_serve_peer *peer,
			char *name, size_t room, bool *master);
/* The token in exchange for a session; its id goes into a cookie. 0, 401, or 429 after too many
 * wrong ones from this address. A right one is always taken. */
int rama_serve_who_login(struct rama_serve_who_is *w, const struct rama_serve_options *o,
			 const char *token, const char *address, char id[RAMA_SERVE_SECRET]);
/* The session of its cookie, and until when it is good, ms; 0: it has none (id is "" then). */
int64_t rama_serve_who_session(struct rama_serve_who_is *w, const struct rama_serve_options *o,
			       const struct rama_serve_request *r, char id[RAMA_SERVE_SECRET]);
void rama_serve_who_logout(struct rama_serve_who_is *w, const char *id);
/* May this one ask now? rate: requests a second; twice as many at once. */
bool rama_serve_who_rate(struct rama_serve_who_is *w, const char *who, unsigned rate);

/* With TLS browsers see to it that nobody else has set it. */
static inline const char *rama_serve_cookie_name(const struct rama_serve_options *o)
{
	return o->tls_cert != NULL ? "__Host-iorama_session" : "iorama_session";
}

#endif
