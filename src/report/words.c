/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/human.h"

static void add(struct rama_report_words *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void add(struct rama_report_words *w, const char *fmt, ...)
{
	va_list ap;

	if (w->n == RAMA_REPORT_WORDS_MOST)
		return;
	va_start(ap, fmt);
	if (vasprintf(&w->at[w->n], fmt, ap) >= 0)
		w->n++;
	va_end(ap);
}

void rama_report_words_fini(struct rama_report_words *w)
{
	for (unsigned i = 0; i < w->n; i++)
		free(w->at[i]);
	w->n = 0;
}

static const char *many(int64_t n)
{
	return n == 1 ? "" : "s";
}

#define PROGRAMS_TOLD 3
#define LOGS_TOLD 6

static void add_to(char *to, size_t room, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void add_to(char *to, size_t room, const char *fmt, ...)
{
	size_t used = strlen(to);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to + used, room - used, fmt, ap);
	va_end(ap);
}

/* how many processes of a program count: those that moved data, or all where none did */
static int64_t counted(const struct rama_job_view *v, const struct rama_job_view_program *p)
{
	return v->active_ranks > 0 ? p->active : p->processes;
}

static void add_programs(const struct rama_job_view *v, char *to)
{
	size_t told = 0, left = 0;
	char n[RAMA_HUMAN];

	for (size_t i = 0; i < v->n_programs; i++) {
		int64_t count = counted(v, &v->programs[i]);

		if (count <= 0)
			continue;
		if (told == PROGRAMS_TOLD) {
			left++;
			continue;
		}
		add_to(to, RAMA_REPORT_WHO, "%s%.60s", told++ > 0 ? ", " : " (",
		       v->programs[i].name);
		if (count > 1)
			add_to(to, RAMA_REPORT_WHO, " ×%s", rama_human_count(n, count));
	}
	if (left > 0)
		add_to(to, RAMA_REPORT_WHO, ", %zu more program%s", left, many((int64_t)left));
	add_to(to, RAMA_REPORT_WHO, "%s", told > 0 ? ")" : "");
}

const char *rama_report_words_who(const struct rama_job_view *v, char to[RAMA_REPORT_WHO])
{
	int64_t n = v->processes && v->active_ranks > 0 ? v->active_ranks : v->nprocs;
	char text[RAMA_HUMAN];

	rama_human_count(text, n);
	if (!v->processes) {
		snprintf(to, RAMA_REPORT_WHO, "%s rank%s", text, many(n));
		return to;
	}
	snprintf(to, RAMA_REPORT_WHO, "%s process%s", text, n == 1 ? "" : "es");
	if (v->nprocs > 1)
		add_programs(v, to);
	return to;
}

static void add_date(struct rama_report_words *w, const struct rama_job_view *v, long utc_offset)
{
	time_t start = (time_t)v->start_sec + utc_offset;
	char text[64];
	struct tm tm;

	if (v->start_sec <= 0 || gmtime_r(&start, &tm) == NULL)
		return;
	strftime(text, sizeof(text), "%b %Y %H:%M", &tm);
	add(w, "%d %s", tm.tm_mday, text);
}

/* a word of the batch system; "": it does not say, or not the same of all logs */
static const char *batch(const struct rama_job_view *v, enum rama_log_batch what, char *to,
			 size_t room)
{
	size_t n = 0;
	const char *word = rama_log_meta_get(v->batch, rama_log_batch_keys[what], &n);

	snprintf(to, room, "%.*s", (int)n, word != NULL ? word : "");
	return to;
}

/* "job 4242.0, cfd, array 40_7, restart 1" */
static void add_job(struct rama_report_words *w, const struct rama_job_view *v)
{
	char step[64], text[64], all[256];
	size_t n;

	if (v->jobid <= 0)
		return;
	batch(v, RAMA_LOG_BATCH_STEP, step, sizeof(step));
	n = (size_t)snprintf(all, sizeof(all), "job %lld%s%s", (long long)v->jobid,
			     step[0] != '\0' ? "." : "", step);
	if (*batch(v, RAMA_LOG_BATCH_NAME, text, sizeof(text)) != '\0' &&
	    strcmp(text, v->name) != 0)
		n += (size_t)snprintf(all + n, sizeof(all) - n, ", %s", text);
	if (*batch(v, RAMA_LOG_BATCH_ARRAY, text, sizeof(text)) != '\0')
		n += (size_t)snprintf(all + n, sizeof(all) - n, ", array %s", text);
	if (*batch(v, RAMA_LOG_BATCH_RESTART, text, sizeof(text)) != '\0' && strcmp(text, "0") != 0)
		snprintf(all + n, sizeof(all) - n, ", restart %s", text);
	add(w, "%s", all);
}

/* "3 programs (write ×2, sort, ls)", of a job with several logs */
static void add_logs(struct rama_report_words *w, const struct rama_job_view *v)
{
	char text[RAMA_REPORT_WHO] = "", n[RAMA_HUMAN];
	size_t kinds = 0;

	for (size_t i = 0; i < v->n_logs && v->log_programs != NULL; i++) {
		int64_t same = 0;
		bool first = true;

		for (size_t k = 0; k < v->n_logs; k++) {
			bool is = strcmp(v->log_programs[k], v->log_programs[i]) == 0;

			same += is;
			first = first && (k >= i || !is);
		}
		if (!first)
			continue;
		if (kinds++ < LOGS_TOLD)
			add_to(text, sizeof(text), "%s%.60s", kinds > 1 ? ", " : "",
			       v->log_programs[i]);
		if (kinds <= LOGS_TOLD && same > 1)
			add_to(text, sizeof(text), " ×%s", rama_human_count(n, same));
	}
	if (kinds > 1)
		add(w, "%s programs (%s%s)", rama_human_count(n, (int64_t)kinds), text,
		    kinds > LOGS_TOLD ? ", …" : "");
}

void rama_report_words_head(struct rama_report_words *w, const struct rama_report *r,
			    long utc_offset)
{
	const struct rama_job_view *v = r->view;
	char a[RAMA_HUMAN], who[RAMA_REPORT_WHO];

	w->n = 0;
	add(w, "%s", v->name);
	add_job(w, v);
	add_logs(w, v);
	if (v->nodes > 0)
		add(w, "%s on %s node%s", rama_report_words_who(v, who),
		    rama_human_count(a, v->nodes), many(v->nodes));
	else
		add(w, "%s", rama_report_words_who(v, who));
	add_date(w, v, utc_offset);
	add(w, "%s", rama_human_duration(a, v->run_time));
}

/* who of them uses the file system; of processes the head tells, but for those that do not */
static void add_users(struct rama_report_words *w, const struct rama_job_view *v)
{
	int64_t idle = v->nprocs - v->active_ranks;
	char a[RAMA_HUMAN], b[RAMA_HUMAN];

	if (v->nprocs < 2 || v->active_ranks < 0)
		return;
	if (v->processes && v->active_ranks == 0)
		add(w, "no process moved data");
	else if (v->processes && idle > 0)
		add(w, "%s more process%s moved no data", rama_human_count(a, idle),
		    idle == 1 ? "" : "es");
	else if (v->processes)
		return;
	else if (v->nprocs == 2 && idle == 0)
		add(w, "both ranks touch the file system");
	else if (idle == 0)
		add(w, "all %s ranks touch the file system", rama_human_count(b, v->nprocs));
	else
		add(w, "%s of %s ranks touch the file system", rama_human_count(a, v->active_ranks),
		    rama_human_count(b, v->nprocs));
}

/* how full the queues of io_uring are: with one request at a time they are of no use */
static void add_uring(struct rama_report_words *w, const struct rama_job_view *v)
{
	const struct rama_job_view_uring *u = &v->uring;
	char a[RAMA_HUMAN];

	if (u->submits <= 0)
		return;
	add(w, "io_uring: %.2g under way (at most %s), %.2g with each call",
	    (double)u->depth_sum / (double)u->submits, rama_human_count(a, u->depth_max),
	    (double)u->ops / (double)u->submits);
}

void rama_report_words_numbers(struct rama_report_words *w, const struct rama_report *r)
{
	const struct rama_job_view *v = r->view;
	int64_t files = (int64_t)v->n_real;
	char a[RAMA_HUMAN];

	w->n = 0;
	add(w, "read %s", rama_human_bytes(a, (double)v->disk.bytes_read));
	add(w, "written %s", rama_human_bytes(a, (double)v->disk.bytes_written));
	if (v->rate > 0)
		add(w, "%s", rama_human_rate(a, v->rate));
	add(w, "%s%s file%s", v->files_estimated ? "about " : "", rama_human_count(a, files),
	    many(files));
	add_users(w, v);
	add_uring(w, v);
	if (v->segments > 0)
		add(w, "%s traced operation%s", rama_human_count(a, (int64_t)v->segments),
		    many((int64_t)v->segments));
}

void rama_report_words_checks(struct rama_report_words *w, const struct rama_report *r)
{
	const struct rama_diag *d = r->diagnosis;

	w->n = 0;
	add(w, "checked %u rules: %zu found, %zu passed, %zu do%s not apply", rama_diag_n_rules,
	    d->n_found, d->n_passed, d->n_na, d->n_na == 1 ? "es" : "");
}
