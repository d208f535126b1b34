/* SPDX-License-Identifier: BSD-3-Clause */
/* text.c: what a message says: which jobs, where, how much, what to do, how to get no more of it;
 * findings in the words of the report. Texts of jobs come from anybody: on a pen nothing of them
 * controls a terminal or ends a line, and no header holds any of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "alert/inside.h"
#include "base/form/pen.h"
#include "base/human.h"
#include "base/json.h"
#include "base/siphash.h"
#include "base/when.h"

#define WIDTH 76
#define NAME_SHOWN 60 /* columns of a name of somebody else */
#define LONG 2000     /* bytes of a text of a finding */
#define FINDINGS 2    /* of a job */

bool rama_alert_user_sound(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n <= 64 && *name != '-' && *name != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		       n;
}

static double known(double v)
{
	return isnan(v) ? -1 : v;
}

static int most_first(const void *x, const void *y)
{
	const struct rama_alert_job *a = x, *b = y;
	double v = known(a->value), w = known(b->value);

	return v > w ? -1 : v < w ? 1 : a->job > b->job ? -1 : a->job < b->job;
}

void rama_alert_text_sort(struct rama_alert_message *m)
{
	if (m->n > 1)
		qsort(m->job, m->n, sizeof(m->job[0]), most_first);
}

static bool is_staff(const struct rama_alert_message *m)
{
	return m->to[0] == '@';
}

/* ---- headers --------------------------------------------------------------------------------- */

static void address(struct rama_out *o, const struct rama_alert_message *m)
{
	const char *at = m->site->to;

	if (is_staff(m)) {
		rama_out_text(o, m->site->staff);
		return;
	}
	for (; *at != '\0'; at++) {
		if (at[0] == '%' && at[1] == 'u') {
			rama_out_text(o, m->to);
			at++;
		} else {
			rama_out_char(o, *at);
		}
	}
}

/* the same whenever it is made: who gets it twice can tell */
static uint64_t id_of(const struct rama_alert_message *m)
{
	static const struct rama_sipkey fixed = { 0x6e6f74696365, 7 };
	char text[200];
	int n = snprintf(text, sizeof(text), "%s/%s/%lld", m->to, m->rule->name,
			 (long long)m->period);

	return rama_siphash(&fixed, text, (size_t)n);
}

static void put_headers(struct rama_out *o, const struct rama_alert_message *m)
{
	static const char *const day[] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char *const month[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	const char *at = strchr(m->site->from, '@');
	time_t now = (time_t)(m->now / 1000000000);
	struct tm t = { 0 };

	gmtime_r(&now, &t);
	rama_out_fmt(o, "From: %s\nTo: ", m->site->from);
	address(o, m);
	rama_out_fmt(o, "\nSubject: iorama: %zu job%s: %s\n", m->n, m->n == 1 ? "" : "s",
		     m->rule->title);
	rama_out_fmt(o, "Date: %s, %02d %s %04d %02d:%02d:%02d +0000\n", day[t.tm_wday], t.tm_mday,
		     month[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
	rama_out_fmt(o, "Message-ID: <iorama.%016llx@%s>\n", (unsigned long long)id_of(m),
		     at != NULL ? at + 1 : "localhost");
	rama_out_fmt(o,
		     "Auto-Submitted: auto-generated\nX-Iorama-Alert: %s\nMIME-Version: 1.0\n"
		     "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n",
		     m->rule->name);
}

/* ---- the text -------------------------------------------------------------------------------- */

struct writing {
	const struct rama_alert_message *m;
	struct rama_pen p;
	unsigned findings;
	bool advised;
};

/* a text of several lines, with as many more as it needs */
static void paragraph(struct rama_pen *p, const char *text, unsigned left)
{
	char part[LONG];

	while (*text != '\0') {
		size_t n = strcspn(text, "\n");
		size_t fits = n < sizeof(part) - 1 ? n : sizeof(part) - 1;

		/* no character is cut in two */
		while (fits < n && fits > 0 && ((unsigned char)text[fits] & 0xc0) == 0x80)
			fits--;
		memcpy(part, text, fits);
		part[fits] = '\0';
		if (fits > 0) {
			rama_pen_to(p, left);
			rama_pen_wrap(p, part, left, WIDTH);
			rama_pen_line(p);
		}
		text += n + (text[n] == '\n');
	}
}

static const char *text_of(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_TEXT ? c->text : "";
}

static int put_finding(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct writing *w = ctx;
	const struct rama_store_cell *c = row->cell;

	(void)e;
	w->findings++;
	rama_pen_to(&w->p, 2);
	rama_pen_text(&w->p, text_of(&c[0]));
	rama_pen_text(&w->p, " ");
	rama_pen_text(&w->p, text_of(&c[1]));
	rama_pen_text(&w->p, ":");
	rama_pen_more(&w->p, text_of(&c[2]), 4, WIDTH);
	rama_pen_line(&w->p);
	paragraph(&w->p, text_of(&c[3]), 4);
	if (*text_of(&c[4]) != '\0') {
		w->advised = true;
		rama_pen_to(&w->p, 4);
		rama_pen_text(&w->p, "What to do:");
		rama_pen_line(&w->p);
		paragraph(&w->p, text_of(&c[4]), 4);
	}
	return 0;
}

static void put_place(struct rama_pen *p, const struct rama_alert_job *j, bool staff)
{
	char a[RAMA_HUMAN], b[RAMA_WHEN];

	rama_pen_fmt(p, "Job %lld: ", (long long)(j->jobid != 0 ? j->jobid : j->job));
	rama_pen_cut(p, j->name, NAME_SHOWN);
	if (*j->job_name != '\0') {
		rama_pen_text(p, " (");
		rama_pen_cut(p, j->job_name, NAME_SHOWN);
		rama_pen_text(p, ")");
	}
	if (staff) {
		rama_pen_text(p, " of ");
		rama_pen_cut(p, j->user, NAME_SHOWN);
	}
	rama_pen_line(p);
	rama_pen_to(p, 2);
	rama_when_iso(b, j->end);
	rama_pen_fmt(p, "ended %.10s %.5s UTC", b, b + 11);
	if (!isnan(j->run_time))
		rama_pen_fmt(p, " after %s", rama_human_duration(a, j->run_time));
	rama_pen_fmt(p, ", %lld rank%s", (long long)j->ranks, j->ranks == 1 ? "" : "s");
	if (j->nodes > 0)
		rama_pen_fmt(p, " on %lld node%s", (long long)j->nodes, j->nodes == 1 ? "" : "s");
	rama_pen_line(p);
}

static void put_figures(struct rama_pen *p, const struct rama_alert_message *m,
			const struct rama_alert_job *j)
{
	char a[RAMA_HUMAN];
	const char *between = "";

	rama_pen_to(p, 2);
	if (!isnan(j->io_share)) {
		rama_pen_fmt(p, "I/O takes %s of its run time", rama_human_share(a, j->io_share));
		between = "; ";
	}
	if (!isnan(j->node_cost)) {
		rama_pen_fmt(p, "%s%.1f node-hours lost", between, j->node_cost / 3600);
		between = "; ";
	}
	if (!isnan(j->value) && strcmp(m->rule->value, "node_cost") != 0)
		rama_pen_fmt(p, "%s%s: %s", between, m->rule->value,
			     rama_human_value(a, m->unit, j->value));
	rama_pen_line(p);
}

static int put_job(struct writing *w, const struct rama_alert_job *j, struct rama_store *s,
		   struct rama_err *e)
{
	const struct rama_alert_message *m = w->m;
	int rc;

	put_place(&w->p, j, is_staff(m));
	put_figures(&w->p, m, j);
	w->findings = 0;
	w->advised = false;
	rc = rama_query_notice_findings(s, j->job, m->rule->rule, FINDINGS, put_finding, w, e);
	if (!w->advised) {
		rama_pen_to(&w->p, 2);
		rama_pen_text(&w->p, "What to do:");
		rama_pen_more(&w->p, m->rule->advice, 4, WIDTH);
		rama_pen_line(&w->p);
	}
	if (*m->site->portal != '\0')
		rama_out_fmt(w->p.o, "  %s?page=job&job=%lld\n", m->site->portal,
			     (long long)j->job);
	else
		rama_out_fmt(w->p.o, "  iorama report --store %lld\n", (long long)j->job);
	rama_pen_line(&w->p);
	return rc;
}

static void put_end(struct rama_out *o, const struct rama_alert_message *m)
{
	const char *often = m->rule->day ? "a day" : "a week";

	rama_out_fmt(o, "-- \nYou get this at most once %s, with all jobs in it.\n", often);
	if (is_staff(m))
		rama_out_fmt(o, "It is the alert `%s` of iorama; the site's file turns it off.\n",
			     m->rule->name);
	else if (*m->site->portal != '\0')
		rama_out_fmt(o, "To get no more of it: %s?page=settings\n", m->site->portal);
	else
		rama_out_fmt(o, "To get no more of it: iorama alert --off %s\n", m->rule->name);
}

int rama_alert_text_mail(const struct rama_alert_message *m, struct rama_store *s,
			 struct rama_out *o, struct rama_err *e)
{
	struct writing w = { .m = m, .p = { .o = o, .width = WIDTH, .utf8 = true } };
	int rc = 0;

	put_headers(o, m);
	rama_pen_fmt(&w.p, is_staff(m) ? "%zu job%s: %s." : "%zu of your jobs%s: %s.", m->n,
		     is_staff(m) && m->n != 1 ? "s" : "", m->rule->title);
	rama_pen_line(&w.p);
	rama_pen_line(&w.p);
	for (size_t i = 0; rc == 0 && i < m->n && i < RAMA_ALERT_SHOWN; i++)
		rc = put_job(&w, &m->job[i], s, e);
	if (m->n > RAMA_ALERT_SHOWN)
		rama_out_fmt(o, "... and %zu more.\n\n", m->n - RAMA_ALERT_SHOWN);
	put_end(o, m);
	return rc == 0 && o->error != 0 ? rama_err_no_memory(e) : rc;
}

/* ---- the same for programs ------------------------------------------------------------------- */

static int finding_json(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	static const char *const names[] = { "rule", "level", "title", "evidence", "advice" };
	struct rama_json *j = ctx;

	(void)e;
	rama_json_open(j, '{');
	for (unsigned i = 0; i < 5; i++)
		rama_json_key_string(j, names[i], text_of(&row->cell[i]));
	rama_json_key_f64(j, "cost",
			  row->cell[5].type == RAMA_STORE_CELL_REAL ? row->cell[5].f : NAN);
	rama_json_close(j, '}');
	return 0;
}

static int job_json(struct rama_json *j, const struct rama_alert_message *m,
		    const struct rama_alert_job *job, struct rama_store *s, struct rama_err *e)
{
	char when[RAMA_WHEN];
	int rc;

	rama_json_open(j, '{');
	rama_json_key_i64(j, "job", job->job);
	rama_json_key_id(j, "jobid", (uint64_t)job->jobid);
	rama_json_key_string(j, "user", job->user);
	rama_json_key_string(j, "name", job->name);
	rama_json_key_string(j, "job_name", job->job_name);
	rama_json_key_string(j, "end", rama_when_iso(when, job->end));
	rama_json_key_f64(j, "run_time", job->run_time);
	rama_json_key_i64(j, "ranks", job->ranks);
	rama_json_key_i64(j, "nodes", job->nodes);
	rama_json_key_f64(j, "io_share", job->io_share);
	rama_json_key_f64(j, "node_cost", job->node_cost);
	rama_json_key_f64(j, "value", job->value);
	rama_json_key_open(j, "findings", '[');
	rc = rama_query_notice_findings(s, job->job, m->rule->rule, FINDINGS, finding_json, j, e);
	rama_json_close(j, ']');
	rama_json_close(j, '}');
	return rc;
}

int rama_alert_text_json(const struct rama_alert_message *m, struct rama_store *s,
			 struct rama_out *o, struct rama_err *e)
{
	struct rama_json j;
	int rc = 0;

	rama_json_init(&j, o);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "schema", "iorama.notice/1");
	rama_json_key_string(&j, "alert", m->rule->name);
	rama_json_key_string(&j, "title", m->rule->title);
	rama_json_key_string(&j, "advice", m->rule->advice);
	rama_json_key_string(&j, "figure", m->rule->value);
	rama_json_key_string(&j, "every", m->rule->day ? "day" : "week");
	rama_json_key_i64(&j, "period", m->period);
	rama_json_key_u64(&j, "n", m->n);
	rama_json_key_open(&j, "jobs", '[');
	for (size_t i = 0; rc == 0 && i < m->n && i < RAMA_ALERT_SHOWN; i++)
		rc = job_json(&j, m, &m->job[i], s, e);
	rama_json_close(&j, ']');
	rama_json_close(&j, '}');
	return rc == 0 && o->error != 0 ? rama_err_no_memory(e) : rc;
}
