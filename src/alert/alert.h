/* SPDX-License-Identifier: BSD-3-Clause */
/* alert.h: users and staff are told of jobs that deserve it: one message for each of them, each
 * alert and each week, by mail or webhook. Which jobs: table/alerts.def and a file of the site; who
 * was told: store/notice.h. docs/site.md is the guide. */
#ifndef RAMA_ALERT_ALERT_H
#define RAMA_ALERT_ALERT_H

#include <stdio.h>

#include "base/arena.h"
#include "base/out.h"
#include "query/notice.h"

#define RAMA_ALERT_RULES 64 /* at most */

struct rama_alert_rule {
	const char *name, *where, *value, *rule, *title, *advice;
	bool staff, day, on;
};

/* what the file of the site says; texts are its own */
struct rama_alert_site {
	struct rama_alert_rule rule[RAMA_ALERT_RULES];
	unsigned n;
	const char *sendmail;  /* path of a program that takes a mail as sendmail -t does */
	const char *from, *to; /* to: %u is the user */
	const char *staff;     /* whom alerts of STAFF go to; "": nobody */
	const char *portal;    /* address of iorama serve; "": none */
	const char *hook;      /* URL that gets what staff gets; "": none */
	const char *secret;    /* of its signature */
	bool inside;	       /* may it be an address of the site itself? */
	unsigned day_first, day_last, hour_first, hour_last; /* when mail is sent; Monday is 0 */
	struct rama_arena text;
};
int rama_alert_site_init(struct rama_alert_site *site, struct rama_err *e);
/* An INI file; RAMA_EFORMAT with name and line. */
int rama_alert_site_read(struct rama_alert_site *site, FILE *f, const char *name,
			 struct rama_err *e);
/* opens it: a path */
int rama_alert_site_load(struct rama_alert_site *site, const char *path, struct rama_err *e);
void rama_alert_site_fini(struct rama_alert_site *site);
const struct rama_alert_rule *rama_alert_rule_find(const struct rama_alert_site *site,
						   const char *name);

/* One look at the store, at which whoever is to be told is told. */
struct rama_alert_round {
	struct rama_store *store; /* to be written, unless dry */
	const struct rama_alert_site *site;
	int64_t now;	      /* ns since 1970 */
	struct rama_out *dry; /* not NULL: nothing is sent or claimed, this gets what would be */
	/* one line for a log, may be NULL */
	void (*told)(void *ctx, const char *line);
	void *ctx;
	unsigned sent, failed, unsure; /* set by it */
};
/* 0 also when messages could not be sent, which is counted; an error of the store ends it, and
 * the next round goes on where it was. */
int rama_alert_round(struct rama_alert_round *r, struct rama_err *e);

/* the week or day of a moment: weeks begin on Mondays, UTC */
int64_t rama_alert_period(const struct rama_alert_rule *rule, int64_t now);

#endif
