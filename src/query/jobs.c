/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.c: what is asked of a list of jobs. list.c answers. */
#include "query/jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/grow.h"
#include "base/nearest.h"
#include "diagnose/diagnose.h"
#include "query/order.h"
#include "query/sql.h"

#define FEW 8000
#define NAMES 10000
#define FIGURE_NUMBER "(SELECT n.number FROM figure_names n WHERE n.name = ?)"

void rama_query_jobs_init(struct rama_query_jobs *q)
{
	*q = (struct rama_query_jobs){ .few = FEW, .names = NAMES };
	rama_query_metric_find("start", strlen("start"), &q->order);
}

void rama_query_jobs_fini(struct rama_query_jobs *q)
{
	free((void *)q->words);
	rama_arena_fini(&q->arena);
	*q = (struct rama_query_jobs){ 0 };
}

static const char *keep(struct rama_query_jobs *q, const char *text)
{
	return rama_arena_text(&q->arena, text, strlen(text));
}

/* ---- columns and order ----------------------------------------------------------------------- */

static int find_metric(const char *name, size_t len, struct rama_query_metric *m,
		       struct rama_err *e)
{
	return rama_query_metric_find(name, len, m) ? 0 : rama_query_metric_unknown(name, len, e);
}

int rama_query_jobs_column(struct rama_query_jobs *q, const char *name, size_t len,
			   struct rama_err *e)
{
	int rc;

	if (q->n_columns == RAMA_QUERY_COLUMNS)
		return rama_err_set(e, RAMA_EUSAGE, "more than %d columns", RAMA_QUERY_COLUMNS);
	rc = find_metric(name, len, &q->column[q->n_columns], e);
	q->n_columns += rc == 0;
	return rc;
}

int rama_query_jobs_sort(struct rama_query_jobs *q, const char *key, struct rama_err *e)
{
	bool turned = *key == '-';
	int rc = find_metric(key + turned, strlen(key + turned), &q->order, e);

	q->up = (rc == 0 && strcmp(q->order.unit, "text") == 0) != turned;
	return rc;
}

int rama_query_jobs_after(struct rama_query_jobs *q, const char *cursor, struct rama_err *e)
{
	struct rama_query_place place;

	q->after = NULL;
	if (strcmp(cursor, "first") == 0)
		return 0;
	q->after = keep(q, cursor);
	return q->after != NULL ? rama_query_place_parse(q, cursor, &place, e)
				: rama_err_no_memory(e);
}

/* ---- conditions ------------------------------------------------------------------------------ */

static int add(struct rama_query_jobs *q, const struct rama_query_condition *c, struct rama_err *e)
{
	struct rama_query_condition *to = &q->condition[q->n_conditions];

	if (q->n_conditions == RAMA_QUERY_CONDITIONS)
		return rama_err_set(e, RAMA_EUSAGE, "more than %d conditions",
				    RAMA_QUERY_CONDITIONS);
	*to = *c;
	to->sql = keep(q, c->sql);
	to->jobs = c->jobs != NULL ? keep(q, c->jobs) : NULL;
	if (to->sql == NULL || (c->jobs != NULL && to->jobs == NULL))
		return rama_err_no_memory(e);
	for (unsigned i = 0; i < 4; i++) {
		struct rama_store_cell *cell = i < 2 ? &to->arg[i] : &to->jobs_arg[i - 2];

		if (cell->type != RAMA_STORE_CELL_TEXT)
			continue;
		cell->text = rama_arena_text(&q->arena, cell->text, cell->len);
		if (cell->text == NULL)
			return rama_err_no_memory(e);
	}
	q->n_conditions++;
	return 0;
}

int rama_query_jobs_user(struct rama_query_jobs *q, const char *user, struct rama_err *e)
{
	struct rama_store_cell name = rama_query_cell_text(user);

	return add(q,
		   &(struct rama_query_condition){
			   .sql = "j.username = ?",
			   .arg = { name },
			   .walk = "j.username || '' = ?",
			   .helps = "user",
			   .newest = true,
			   .jobs = "SELECT number FROM jobs WHERE username = ?",
			   .jobs_arg = { name } },
		   e);
}

int rama_query_jobs_batch(struct rama_query_jobs *q, enum rama_query_batch what, const char *word,
			  struct rama_err *e)
{
	static const struct {
		const char *sql, *jobs;
	} by[] = {
		[RAMA_QUERY_ACCOUNT] = { "j.batch_account = ?",
					 "SELECT number FROM jobs WHERE batch_account = ?" },
		[RAMA_QUERY_PARTITION] = { "j.batch_partition = ?",
					   "SELECT number FROM jobs WHERE batch_partition = ?" },
		[RAMA_QUERY_JOB_NAME] = { "j.batch_name = ?",
					  "SELECT number FROM jobs WHERE batch_name = ?" },
	};
	struct rama_store_cell text = rama_query_cell_text(word);

	return add(q,
		   &(struct rama_query_condition){ .sql = by[what].sql,
						   .arg = { text },
						   .jobs = by[what].jobs,
						   .jobs_arg = { text } },
		   e);
}

int rama_query_jobs_only(struct rama_query_jobs *q, const int64_t *jobs, size_t n,
			 struct rama_err *e)
{
	size_t room = 64 + 24 * n, used;
	char *jobs_sql = rama_arena_alloc(&q->arena, room),
	     *sql = rama_arena_alloc(&q->arena, room);

	if (sql == NULL || jobs_sql == NULL)
		return rama_err_no_memory(e);
	used = (size_t)snprintf(sql, room, "j.number IN (");
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(sql + used, room - used, "%s%lld", i > 0 ? ", " : "",
					 (long long)jobs[i]);
	snprintf(sql + used, room - used, ")");
	snprintf(jobs_sql, room, "SELECT j.number FROM jobs j WHERE %s", sql);
	return add(q, &(struct rama_query_condition){ .sql = sql, .jobs = jobs_sql }, e);
}

int rama_query_jobs_users(struct rama_query_jobs *q, const char *const *users, size_t n,
			  struct rama_err *e)
{
	if (n == 1) /* for which there are indices */
		return rama_query_jobs_user(q, users[0], e);
	q->of_users = true;
	q->users = users;
	q->n_users = n;
	return 0;
}

int rama_query_jobs_since(struct rama_query_jobs *q, int64_t ns, struct rama_err *e)
{
	struct rama_store_cell when = rama_query_cell_int(ns);

	return add(q,
		   &(struct rama_query_condition){
			   .sql = "coalesce(j.end_ns, 9223372036854775807) >= ?",
			   .arg = { when },
			   .jobs = "SELECT number FROM jobs WHERE end_ns >= ? UNION ALL SELECT "
				   "number FROM jobs WHERE end_ns IS NULL",
			   .jobs_arg = { when } },
		   e);
}

int rama_query_jobs_until(struct rama_query_jobs *q, int64_t ns, struct rama_err *e)
{
	struct rama_store_cell when = rama_query_cell_int(ns);

	return add(q,
		   &(struct rama_query_condition){
			   .sql = "j.start_ns < ?",
			   .arg = { when },
			   .walk = "j.start_ns + 0 < ?",
			   .jobs = "SELECT number FROM jobs WHERE start_ns < ?",
			   .jobs_arg = { when } },
		   e);
}

int rama_query_jobs_ended(struct rama_query_jobs *q, int64_t from, int64_t to, struct rama_err *e)
{
	struct rama_store_cell a = rama_query_cell_int(from), b = rama_query_cell_int(to);

	return add(q,
		   &(struct rama_query_condition){
			   .sql = "(j.end_ns >= ? AND j.end_ns < ?)",
			   .arg = { a, b },
			   .jobs = "SELECT number FROM jobs WHERE end_ns >= ? AND end_ns < ?",
			   .jobs_arg = { a, b } },
		   e);
}

int rama_query_jobs_untold(struct rama_query_jobs *q, const char *alert, const char *to,
			   struct rama_err *e)
{
	return add(q,
		   &(struct rama_query_condition){
			   .sql = to == NULL
					  ? "NOT EXISTS (SELECT 1 FROM notice_jobs t WHERE t.job = "
					    "j.number AND t.alert = ? AND t.username = j.username)"
					  : "NOT EXISTS (SELECT 1 FROM notice_jobs t WHERE t.job = "
					    "j.number AND t.alert = ? AND t.username = ?)",
			   .arg = { rama_query_cell_text(alert),
				    to == NULL ? (struct rama_store_cell){ 0 }
					       : rama_query_cell_text(to) } },
		   e);
}

int rama_query_jobs_told(struct rama_query_jobs *q, const char *alert, const char *to,
			 int64_t period, struct rama_err *e)
{
	struct rama_store_cell a = rama_query_cell_text(alert), b = rama_query_cell_text(to);
	char sql[300], jobs[200];

	snprintf(jobs, sizeof(jobs),
		 "SELECT job FROM notice_jobs WHERE alert = ? AND username = ? AND period = %lld",
		 (long long)period);
	snprintf(sql, sizeof(sql), "j.number IN (%s)", jobs);
	return add(q,
		   &(struct rama_query_condition){
			   .sql = sql, .arg = { a, b }, .jobs = jobs, .jobs_arg = { a, b } },
		   e);
}

int rama_query_jobs_running(struct rama_query_jobs *q, struct rama_err *e)
{
	return add(q,
		   &(struct rama_query_condition){
			   .sql = "j.state = 'running'",
			   .jobs = "SELECT number FROM jobs WHERE state = 'running'" },
		   e);
}

static int no_rule(const char *word, struct rama_err *e)
{
	struct rama_nearest near = { .word = word };
	char hint[RAMA_NEAREST_HINT];

	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		rama_nearest_offer(&near, rama_diag_rules[i].id);
	return rama_err_set(e, RAMA_EUSAGE,
			    "there is no rule '%s'%s `iorama explain rules` lists them, high and "
			    "warn are levels",
			    word, near.name != NULL ? rama_nearest_hint(&near, hint) : ";");
}

int rama_query_jobs_finding(struct rama_query_jobs *q, const char *word, struct rama_err *e)
{
	bool high = strcasecmp(word, "high") == 0, warn = strcasecmp(word, "warn") == 0;
	const struct rama_diag_rule *rule = rama_diag_rule_find(word);
	struct rama_query_condition c = { 0 };

	/* LIMIT keeps them what they are: a look at the findings of one job */
	if (high) {
		c.sql = "(SELECT 1 FROM findings f WHERE f.job = j.number AND f.level = 'HIGH' "
			"LIMIT 1) = 1";
		c.jobs = "SELECT job FROM findings WHERE level = 'HIGH'";
	} else if (warn) {
		c.sql = "(SELECT 1 FROM findings f WHERE f.job = j.number AND f.level IN ('HIGH', "
			"'WARN') LIMIT 1) = 1";
		c.jobs = "SELECT number FROM jobs WHERE cost IS NOT NULL"; /* who has one */
	} else if (rule != NULL) {
		c.sql = "(SELECT 1 FROM findings f WHERE f.job = j.number AND f.rule = ? LIMIT 1) "
			"= 1";
		c.jobs = "SELECT job FROM findings WHERE rule = ?";
		c.arg[0] = c.jobs_arg[0] = rama_query_cell_text(rule->id);
	} else {
		return no_rule(word, e);
	}
	return add(q, &c, e);
}

/* ---- figures that are compared --------------------------------------------------------------- */

/* Integers of the store are compared as such, not as the reals that the condition makes of them:
 * what it meets lies within a little more. */
static struct rama_store_cell bound(const struct rama_query_metric *m, double v, bool down)
{
	double by = 1 + fabs(v) * 0x1p-50;

	if (strcmp(m->unit, "s") == 0 || strstr(m->rank, "DOUBLE PRECISION") != NULL)
		return rama_query_cell_real(v);
	v = down ? floor(v - by) : ceil(v + by);
	return rama_query_cell_int(v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : (int64_t)v);
}

/* the jobs of a comparison with a column that has an index */
static void by_rank(const struct rama_query_comparison *c, struct rama_query_condition *to,
		    char *sql, size_t room)
{
	bool least = c->op[0] == '>' || c->op[0] == '=', most = c->op[0] == '<' || c->op[0] == '=';

	if (strcmp(c->op, "<>") == 0 || strcmp(c->m.rank, c->m.sql) != 0)
		return;
	snprintf(sql, room, "SELECT j.number FROM jobs j WHERE %s%s%s%s%s", least ? c->m.rank : "",
		 least ? " >= ?" : "", least && most ? " AND " : "", most ? c->m.rank : "",
		 most ? " <= ?" : "");
	if (least)
		to->jobs_arg[0] = bound(&c->m, c->value, true);
	if (most)
		to->jobs_arg[least ? 1 : 0] = bound(&c->m, c->value, false);
	to->jobs = sql;
}

/* ... with a figure. Only those that are not 0 have a row: if one has to be there, the row of
 * the job need not be read. */
static void by_figure(const struct rama_query_comparison *c, struct rama_query_condition *to,
		      char *sql, char *jobs, size_t room)
{
	bool above = c->op[0] == '>' && (c->value > 0 || (c->value == 0 && c->op[1] == '\0'));
	bool below = c->op[0] == '<' && c->op[1] != '>' &&
		     (c->value < 0 || (c->value == 0 && c->op[1] == '\0'));

	if (!above && !below && !(c->op[0] == '=' && c->value != 0))
		return;
	snprintf(sql, room,
		 "(SELECT v.value FROM figure_values v WHERE v.job = j.number AND v.figure"
		 " = " FIGURE_NUMBER ") %s ?",
		 c->op);
	to->arg[0] = rama_query_cell_text(c->m.key);
	to->arg[1] = rama_query_cell_real(c->value);
	if (!rama_store_figure_ranked(c->m.key))
		return;
	snprintf(jobs, room,
		 "SELECT v.job FROM figure_values v WHERE v.ranked = 1 AND v.figure"
		 " = " FIGURE_NUMBER " AND v.value %s ?",
		 c->op);
	memcpy(to->jobs_arg, to->arg, sizeof(to->jobs_arg));
	to->jobs = jobs;
}

static int add_comparison(struct rama_query_jobs *q, const struct rama_query_comparison *c,
			  struct rama_err *e)
{
	struct rama_query_condition to = { 0 };
	char sql[600], jobs[600];

	to.sql = sql;
	if (c->text != NULL) {
		snprintf(sql, sizeof(sql), "coalesce(%s, '') %s ?", c->m.sql, c->op);
		to.arg[0] = rama_query_cell_text(c->text);
		if (c->m.rank != NULL && strcmp(c->op, "=") == 0) {
			snprintf(jobs, sizeof(jobs), "SELECT j.number FROM jobs j WHERE %s = ?",
				 c->m.rank);
			to.jobs = jobs;
			to.jobs_arg[0] = to.arg[0];
		}
		return add(q, &to, e);
	}
	snprintf(sql, sizeof(sql), "CAST(%s AS DOUBLE PRECISION) %s ?", c->m.sql, c->op);
	to.arg[0] = rama_query_cell_real(c->value);
	if (c->m.kind == RAMA_QUERY_METRIC_FIGURE)
		by_figure(c, &to, sql, jobs, sizeof(jobs));
	else if (c->m.rank != NULL)
		by_rank(c, &to, jobs, sizeof(jobs));
	return add(q, &to, e);
}

int rama_query_jobs_bytes(struct rama_query_jobs *q, double least, struct rama_err *e)
{
	struct rama_query_comparison c = { .op = ">=", .value = least };

	rama_query_metric_find("bytes", strlen("bytes"), &c.m);
	return add_comparison(q, &c, e);
}

int rama_query_jobs_where(struct rama_query_jobs *q, const char *text, struct rama_err *e)
{
	struct rama_query_comparison c;
	int rc = rama_query_comparison_parse(&c, text, e);

	return rc != 0 ? rc : add_comparison(q, &c, e);
}

/* ---- names and words ------------------------------------------------------------------------- */

int rama_query_jobs_name(struct rama_query_jobs *q, const char *glob, struct rama_err *e)
{
	q->name = keep(q, glob);
	return q->name != NULL ? 0 : rama_err_no_memory(e);
}

int rama_query_jobs_word(struct rama_query_jobs *q, const char *word, struct rama_err *e)
{
	char *small = rama_arena_text(&q->arena, word, strlen(word));

	if (small == NULL || !RAMA_GROW(q->words, q->words_room, q->n_words + 1))
		return rama_err_no_memory(e);
	for (char *c = small; *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	q->words[q->n_words++] = small;
	return 0;
}
