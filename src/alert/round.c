/* SPDX-License-Identifier: BSD-3-Clause */
/* round.c: one look at the store. The row of a notice is made first, then it is marked as being
 * sent, then it is sent, then that is written down: whoever is killed in between, and however many
 * servers do the same, nobody is told twice. What was only claimed is taken over when its owner is
 * gone; of what was being sent then nobody knows, and it is not sent again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "alert/inside.h"
#include "base/grow.h"
#include "store/notice.h"

#define NS INT64_C(1000000000)
#define DAY_NS (86400 * NS)
#define BACK_NS (14 * DAY_NS)	/* jobs that ended longer ago are nobody's news */
#define STALE_NS (15 * 60 * NS) /* after which an owner on another machine is gone */
#define AGAIN_NS (10 * 60 * NS) /* until what has failed is tried again */
#define TRIES 3

int64_t rama_alert_period(const struct rama_alert_rule *rule, int64_t now)
{
	int64_t day = now / DAY_NS;

	return rule->day ? day : (day + 3) / 7; /* 1970 began on a Thursday */
}

static void tell(const struct rama_alert_round *r, const char *line)
{
	if (r->told != NULL)
		r->told(r->ctx, line);
}

/* ---- who is at it ---------------------------------------------------------------------------- */

/* when a process began, as the kernel counts it; 0: there is none */
static unsigned long long began(long pid)
{
	char path[64], text[1024], *at;
	unsigned long long v = 0;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	at = strrchr(text, ')'); /* its name may hold anything */
	for (unsigned i = 0; at != NULL && i < 20; i++)
		at = strchr(at + 1, ' ');
	if (at != NULL)
		v = strtoull(at + 1, NULL, 10);
	return v;
}

#define OWNER 200
/* host/process/its beginning */
static void owner_of_us(char to[OWNER])
{
	char host[128] = "";

	gethostname(host, sizeof(host) - 1);
	snprintf(to, OWNER, "%s/%ld/%llu", host, (long)getpid(), began((long)getpid()));
}

static bool is_gone(const char *owner, const char *us, int64_t changed, int64_t now)
{
	const char *slash = strchr(owner, '/');
	long pid;

	if (now - changed > STALE_NS || slash == NULL)
		return true;
	if (strncmp(owner, us, (size_t)(slash - owner) + 1) != 0)
		return false;
	pid = strtol(slash + 1, NULL, 10);
	slash = strchr(slash + 1, '/');
	return slash == NULL || began(pid) == 0 || began(pid) != strtoull(slash + 1, NULL, 10);
}

/* ---- messages -------------------------------------------------------------------------------- */

struct round {
	struct rama_alert_round *r;
	char owner[OWNER];
	struct rama_alert_message m; /* at work */
};

static double real_of(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_REAL	? c->f
	       : c->type == RAMA_STORE_CELL_INT ? (double)c->i
						: NAN;
}

static const char *text_of(struct rama_alert_message *m, const struct rama_store_cell *c)
{
	const char *s =
		c->type == RAMA_STORE_CELL_TEXT ? rama_arena_text(&m->text, c->text, c->len) : "";

	return s != NULL ? s : "";
}

static int add_job(struct rama_alert_message *m, const struct rama_store_row *row,
		   struct rama_err *e)
{
	const struct rama_store_cell *c = row->cell;

	if (!RAMA_GROW(m->job, m->room, m->n + 1))
		return rama_err_no_memory(e);
	m->job[m->n++] =
		(struct rama_alert_job){ .job = c[RAMA_QUERY_TOLD_JOB].i,
					 .jobid = c[RAMA_QUERY_TOLD_JOBID].i,
					 .ranks = c[RAMA_QUERY_TOLD_RANKS].i,
					 .nodes = c[RAMA_QUERY_TOLD_NODES].i,
					 .end = c[RAMA_QUERY_TOLD_END].i,
					 .user = text_of(m, &c[RAMA_QUERY_TOLD_USER]),
					 .name = text_of(m, &c[RAMA_QUERY_TOLD_NAME]),
					 .job_name = text_of(m, &c[RAMA_QUERY_TOLD_JOB_NAME]),
					 .run_time = real_of(&c[RAMA_QUERY_TOLD_RUN_TIME]),
					 .io_share = real_of(&c[RAMA_QUERY_TOLD_IO_SHARE]),
					 .node_cost = real_of(&c[RAMA_QUERY_TOLD_NODE_COST]),
					 .value = real_of(&c[RAMA_QUERY_TOLD_VALUE]) };
	return 0;
}

static void clear(struct rama_alert_message *m)
{
	m->n = 0;
	rama_arena_fini(&m->text);
	m->text = (struct rama_arena){ 0 };
}

static const char *channel_of(const struct rama_alert_message *m)
{
	return strcmp(m->to, RAMA_ALERT_HOOK) == 0 ? "webhook" : "mail";
}

static int compose(const struct rama_alert_message *m, struct rama_store *s, struct rama_out *o,
		   struct rama_err *e)
{
	return strcmp(m->to, RAMA_ALERT_HOOK) == 0 ? rama_alert_text_json(m, s, o, e)
						   : rama_alert_text_mail(m, s, o, e);
}

static enum rama_alert_fate hand_over(const struct rama_alert_message *m, const struct rama_out *o,
				      struct rama_err *why)
{
	char delivery[100];

	if (strcmp(m->to, RAMA_ALERT_HOOK) != 0)
		return rama_alert_mail_send(m->site, o->buf, o->used, why);
	snprintf(delivery, sizeof(delivery), "%s-%lld", m->rule->name, (long long)m->period);
	return rama_alert_hook_send(m->site, delivery, o->buf, o->used, why);
}

/* One that is ours is sent, and what became of it is written down. */
static int send_ours(struct round *w, const struct rama_store_notice *n, struct rama_err *e)
{
	static const char *const state[] = { "sent", "failed", "unsure" };
	struct rama_alert_round *r = w->r;
	unsigned *const count[] = { &r->sent, &r->failed, &r->unsure };
	enum rama_alert_fate fate;
	struct rama_err why = { 0 };
	struct rama_out o;
	int rc;

	rama_out_init(&o, NULL, NULL);
	rama_alert_text_sort(&w->m);
	rc = compose(&w->m, r->store, &o, e);
	if (rc == 0)
		rc = rama_store_notice_move(r->store, n, w->owner, "claimed", w->owner, "sending",
					    r->now, e);
	if (rc > 0) { /* 0: it was taken from us */
		fate = hand_over(&w->m, &o, &why);
		if (fate != RAMA_ALERT_SENT)
			tell(r, why.text);
		++*count[fate];
		rc = rama_store_notice_move(r->store, n, w->owner, "sending", w->owner, state[fate],
					    r->now, e);
	}
	rama_out_fini(&o);
	return rc < 0 ? rc : 0;
}

static int show(struct round *w, struct rama_err *e)
{
	struct rama_out *o = w->r->dry;
	int rc;

	rama_alert_text_sort(&w->m);
	rama_out_fmt(o, "---- %s to %s\n", channel_of(&w->m), w->m.to);
	rc = compose(&w->m, w->r->store, o, e);
	rama_out_char(o, '\n');
	w->r->sent++;
	return rc;
}

/* the message at work, if nobody else has it and it is wanted */
static int put_message(struct round *w, struct rama_err *e)
{
	struct rama_alert_message *m = &w->m;
	struct rama_store_notice n = { m->to, m->rule->name, channel_of(m), m->period };
	int64_t *jobs;
	int rc;

	if (m->n == 0)
		return 0;
	rc = rama_query_notice_none(w->r->store, n.user, n.alert, n.period, e);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (w->r->dry != NULL)
		return show(w, e);
	jobs = calloc(m->n, sizeof(*jobs));
	if (jobs == NULL)
		return rama_err_no_memory(e);
	for (size_t i = 0; i < m->n; i++)
		jobs[i] = m->job[i].job;
	rc = rama_store_notice_claim(w->r->store, &n, w->owner, jobs, m->n, w->r->now, e);
	free(jobs);
	return rc > 0 ? send_ours(w, &n, e) : rc;
}

/* ---- what was left behind -------------------------------------------------------------------- */

struct left {
	struct rama_arena text;
	struct one {
		const char *user, *alert, *channel, *state, *owner;
		int64_t period, changed, tries;
	} * one;
	size_t n, room;
};

static int take_left(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct left *l = ctx;
	const struct rama_store_cell *c = row->cell;
	const char *text[5];
	static const unsigned at[5] = { 0, 1, 3, 4, 5 };

	for (unsigned i = 0; i < 5; i++) {
		text[i] = rama_arena_text(&l->text, c[at[i]].text, c[at[i]].len);
		if (text[i] == NULL)
			return rama_err_no_memory(e);
	}
	if (!RAMA_GROW(l->one, l->room, l->n + 1))
		return rama_err_no_memory(e);
	l->one[l->n++] =
		(struct one){ text[0], text[1], text[2], text[3], text[4], c[2].i, c[6].i, c[7].i };
	return 0;
}

static int take_job(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	return add_job(ctx, row, e);
}

/* units of figures, so that they are told as people read them */
static const char *unit_of(const struct rama_alert_rule *rule)
{
	struct rama_query_metric m;

	return rama_query_metric_find(rule->value, strlen(rule->value), &m) ? m.unit : "count";
}

static int resume(struct round *w, const struct one *x, struct rama_err *e)
{
	const struct rama_alert_rule *rule = rama_alert_rule_find(w->r->site, x->alert);
	struct rama_store_notice n = { x->user, x->alert, x->channel, x->period };
	struct rama_query_alert q;
	bool failed = strcmp(x->state, "failed") == 0;
	int rc;

	if (failed ? x->tries >= TRIES || w->r->now - x->changed < AGAIN_NS
		   : !is_gone(x->owner, w->owner, x->changed, w->r->now))
		return 0;
	if (strcmp(x->state, "sending") == 0) {
		rc = rama_store_notice_move(w->r->store, &n, x->owner, "sending", x->owner,
					    "unsure", w->r->now, e);
		w->r->unsure += rc > 0;
		return rc < 0 ? rc : 0;
	}
	if (rule == NULL || !rule->on)
		return 0; /* an alert of another file, or one that was switched off since */
	rc = rama_query_notice_off(w->r->store, n.user, n.alert, e);
	if (rc != 0) /* he does not want it any more */
		return rc < 0 ? rc : 0;
	rc = rama_store_notice_move(w->r->store, &n, x->owner, x->state, w->owner, "claimed",
				    w->r->now, e);
	if (rc <= 0)
		return rc;
	clear(&w->m);
	w->m.rule = rule;
	w->m.unit = unit_of(rule);
	w->m.to = x->user;
	w->m.period = x->period;
	q = (struct rama_query_alert){ rule->name, rule->where, rule->value, x->user };
	rc = rama_query_notice_jobs(w->r->store, &q, x->period, take_job, &w->m, e);
	return rc == 0 ? send_ours(w, &n, e) : rc;
}

#define LEFT_MOST 10000
static int resume_all(struct round *w, struct rama_err *e)
{
	struct left l = { 0 };
	int rc = rama_query_notices_list(w->r->store, NULL, true, LEFT_MOST, take_left, &l, e);

	for (size_t i = 0; rc == 0 && i < l.n; i++)
		rc = resume(w, &l.one[i], e);
	rama_arena_fini(&l.text);
	free(l.one);
	return rc;
}

/* ---- new jobs -------------------------------------------------------------------------------- */

static int same_user(const void *x, const void *y)
{
	const struct rama_alert_job *a = x, *b = y;
	int n = strcmp(a->user, b->user);

	return n != 0 ? n : a->job < b->job ? -1 : a->job > b->job;
}

/* each user a message */
static int put_users(struct round *w, struct rama_alert_message *all, struct rama_err *e)
{
	int rc = 0;

	if (all->n > 1)
		qsort(all->job, all->n, sizeof(all->job[0]), same_user);
	for (size_t from = 0, to; rc == 0 && from < all->n; from = to) {
		for (to = from; to < all->n && strcmp(all->job[to].user, all->job[from].user) == 0;)
			to++;
		if (!rama_alert_user_sound(all->job[from].user))
			continue;
		w->m.to = all->job[from].user;
		w->m.job = all->job + from;
		w->m.n = to - from;
		rc = put_message(w, e);
	}
	w->m.job = NULL;
	w->m.n = w->m.room = 0;
	return rc;
}

/* jobs of a rule, told to one address or, NULL, to their users */
static int put_rule(struct round *w, const struct rama_alert_rule *rule, const char *to,
		    struct rama_err *e)
{
	struct rama_query_alert q = { rule->name, rule->where, rule->value, to };
	struct rama_alert_message all = w->m;
	int rc;

	all.job = NULL;
	all.n = all.room = 0;
	all.text = (struct rama_arena){ 0 };
	rc = rama_query_alert_jobs(w->r->store, &q, w->r->now - BACK_NS, w->r->now, take_job, &all,
				   e);
	w->m.rule = rule;
	w->m.period = rama_alert_period(rule, w->r->now);
	if (rc == 0 && to == NULL) {
		rc = put_users(w, &all, e);
	} else if (rc == 0) {
		w->m.to = to;
		w->m.job = all.job;
		w->m.n = all.n;
		rc = put_message(w, e);
		w->m.job = NULL;
		w->m.n = 0;
	}
	rama_arena_fini(&all.text);
	free(all.job);
	return rc;
}

static bool is_time(const struct rama_alert_site *site, int64_t now)
{
	time_t at = (time_t)(now / NS);
	struct tm t = { 0 };
	unsigned day;

	localtime_r(&at, &t);
	day = (unsigned)(t.tm_wday + 6) % 7;
	return day >= site->day_first && day <= site->day_last &&
	       (unsigned)t.tm_hour >= site->hour_first && (unsigned)t.tm_hour < site->hour_last;
}

int rama_alert_round(struct rama_alert_round *r, struct rama_err *e)
{
	struct round *w = calloc(1, sizeof(*w));
	int rc = w != NULL ? 0 : rama_err_no_memory(e);

	r->sent = r->failed = r->unsure = 0;
	if (rc != 0 || !is_time(r->site, r->now)) {
		free(w);
		return rc;
	}
	w->r = r;
	owner_of_us(w->owner);
	w->m = (struct rama_alert_message){ .site = r->site, .now = r->now };
	if (r->dry == NULL)
		rc = resume_all(w, e);
	clear(&w->m);
	free(w->m.job);
	w->m.job = NULL;
	w->m.room = 0;
	for (unsigned i = 0; rc == 0 && i < r->site->n; i++) {
		const struct rama_alert_rule *rule = &r->site->rule[i];

		w->m.unit = unit_of(rule);
		if (rule->on && !rule->staff)
			rc = put_rule(w, rule, NULL, e);
		if (rc == 0 && rule->on && rule->staff && *r->site->staff != '\0')
			rc = put_rule(w, rule, RAMA_ALERT_STAFF, e);
		if (rc == 0 && rule->on && rule->staff && *r->site->hook != '\0')
			rc = put_rule(w, rule, RAMA_ALERT_HOOK, e);
	}
	free(w);
	return rc;
}
