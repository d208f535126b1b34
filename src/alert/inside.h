/* SPDX-License-Identifier: BSD-3-Clause */
/* inside.h: a message on its way. Inside alert only. */
#ifndef RAMA_ALERT_INSIDE_H
#define RAMA_ALERT_INSIDE_H

#include "alert/alert.h"

#define RAMA_ALERT_SHOWN 20 /* jobs of a message in full; the others are counted */
#define RAMA_ALERT_STAFF "@staff"
#define RAMA_ALERT_HOOK "@webhook"

/* a job of a message; texts belong to the message */
struct rama_alert_job {
	int64_t job, jobid, ranks, nodes, end;
	const char *user, *name, *job_name;
	double run_time, io_share, node_cost, value; /* NAN: not known */
};

struct rama_alert_message {
	const struct rama_alert_site *site;
	const struct rama_alert_rule *rule;
	const char *to; /* a user, or one of the names above */
	int64_t period, now;
	const char *unit; /* of the value */
	struct rama_alert_job *job;
	size_t n, room;
	struct rama_arena text;
};

/* Is it the name of a user whom a mail can be sent to? What agents say is not trusted. */
bool rama_alert_user_sound(const char *name);
/* The jobs with most of the figure come first. Headers and text of a mail; or a document. */
void rama_alert_text_sort(struct rama_alert_message *m);
int rama_alert_text_mail(const struct rama_alert_message *m, struct rama_store *s,
			 struct rama_out *o, struct rama_err *e);
int rama_alert_text_json(const struct rama_alert_message *m, struct rama_store *s,
			 struct rama_out *o, struct rama_err *e);

enum rama_alert_fate { RAMA_ALERT_SENT, RAMA_ALERT_FAILED, RAMA_ALERT_UNSURE };
/* why: a line, of what was not sent */
enum rama_alert_fate rama_alert_mail_send(const struct rama_alert_site *site, const char *text,
					  size_t n, struct rama_err *why);
enum rama_alert_fate rama_alert_hook_send(const struct rama_alert_site *site, const char *delivery,
					  const char *text, size_t n, struct rama_err *why);

#endif
