/* SPDX-License-Identifier: BSD-3-Clause */
/* serve.h: a store over HTTP: lists of jobs, single jobs, sums, events that are pushed; for one
 * user on loopback, or for a site behind a proxy. docs/site.md tells who may see what. */
#ifndef RAMA_SERVE_SERVE_H
#define RAMA_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct rama_serve;
struct rama_alert_site;

struct rama_serve_options {
	const char *store;
	const char *address;		/* to listen at; NULL: at the socket only */
	unsigned port;			/* 0: any that is free */
	const char *tls_cert, *tls_key; /* files, of the address; NULL: it is plain HTTP */
	const char *socket;		/* path of a Unix socket, NULL: none */
	const char *trust_header;	/* who a request is of, on the socket; NULL: none */
	const char *proxy; /* user who may say so there, beside root and our own; NULL: none */
	const char *dir;   /* where segments of this machine are; NULL: the usual places */
	const char *token; /* 64 hexadecimal digits; NULL: none */
	const char *user;  /* whose it is: sees all that is in the store */
	const char *const *hosts; /* further names that a request may ask for */
	size_t n_hosts;
	const char *const *staff; /* users, or @group: see all */
	size_t n_staff;
	const char *const *projects; /* groups whose members see each other's jobs */
	size_t n_projects;
	bool open; /* sums are for everybody */
	unsigned connections, workers;
	unsigned rate; /* requests a second and viewer; 0: any number */
	/* of which jobs users and staff are told, in rounds; NULL: there are none */
	const struct rama_alert_site *alerts;
	/* one line for whoever keeps a log of it; may be called by any thread */
	void (*told)(void *ctx, const char *line);
	void *ctx;
};

/* Starts threads that serve until it is closed. RAMA_EVERSION and the like: the store cannot be
 * read; RAMA_EIO: the address is taken, or it was built without one. */
int rama_serve_open(struct rama_serve **s, const struct rama_serve_options *o, struct rama_err *e);
unsigned rama_serve_port(const struct rama_serve *s);
void rama_serve_close(struct rama_serve *s);

#endif
