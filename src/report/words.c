/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

void rama_report_words_head(struct rama_report_words *w, const struct rama_report *r,
			    long utc_offset)
{
	const struct rama_job_view *v = r->view;
	char a[RAMA_HUMAN], b[RAMA_HUMAN];

	w->n = 0;
	add(w, "%s", v->name);
	if (v->jobid > 0)
		add(w, "job %lld", (long long)v->jobid);
	if (v->nodes > 0)
		add(w, "%s rank%s on %s node%s", rama_human_count(a, v->nprocs), many(v->nprocs),
		    rama_human_count(b, v->nodes), many(v->nodes));
	else
		add(w, "%s rank%s", rama_human_count(a, v->nprocs), many(v->nprocs));
	add_date(w, v, utc_offset);
	add(w, "%s", rama_human_duration(a, v->run_time));
}

void rama_report_words_numbers(struct rama_report_words *w, const struct rama_report *r)
{
	const struct rama_job_view *v = r->view;
	int64_t files = (int64_t)r->n_files;
	char a[RAMA_HUMAN], b[RAMA_HUMAN];

	w->n = 0;
	add(w, "read %s", rama_human_bytes(a, (double)v->disk.bytes_read));
	add(w, "written %s", rama_human_bytes(a, (double)v->disk.bytes_written));
	if (v->rate > 0)
		add(w, "%s", rama_human_rate(a, v->rate));
	add(w, "%s file%s", rama_human_count(a, files), many(files));
	if (v->nprocs == 2 && v->active_ranks == 2)
		add(w, "both ranks touch the file system");
	else if (v->nprocs > 1 && v->active_ranks == v->nprocs)
		add(w, "all %s ranks touch the file system", rama_human_count(b, v->nprocs));
	else if (v->nprocs > 1 && v->active_ranks >= 0)
		add(w, "%s of %s ranks touch the file system", rama_human_count(a, v->active_ranks),
		    rama_human_count(b, v->nprocs));
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
