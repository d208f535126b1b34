/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "base/file.h"
#include "study/lines.h"

void rama_study_problem(const struct rama_study_told *t, const char *path, const char *line)
{
	if (t->problem != NULL)
		t->problem(t->ctx, path, line);
}

/* the error that ends a program with the higher status */
static int worse(int a, int b)
{
	int x = a < 0 ? rama_err_status(a) : 0, y = b < 0 ? rama_err_status(b) : 0;

	return y > x ? b : a;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* one of the inputs of a job */
struct source {
	const struct rama_study_source *from;
	const struct rama_study_told *told;
	const char *name; /* what messages call it */
	struct rama_file file;
	struct rama_log log;
	bool segments, opened;
};

static void show_progress(void *ctx, double done)
{
	const struct source *x = ctx;

	x->told->progress(x->told->ctx, x->from->path, done);
}

static void tell_problem(void *ctx, const char *line)
{
	const struct source *x = ctx;

	rama_study_problem(x->told, x->name, line);
}

static void tell_note(void *ctx, const char *line)
{
	const struct source *x = ctx;

	x->told->note(x->told->ctx, x->name, line);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int open_log(struct source *x, struct rama_err *e)
{
	struct rama_log_options opt = { .problem = tell_problem,
					.note = x->told->note != NULL ? tell_note : NULL,
					.ctx = x };
	int rc = 0;

	x->file = (struct rama_file){ .fd = -1 };
	if (x->from->bytes != NULL)
		rama_source_memory(&x->file.src, x->from->bytes, x->from->len);
	else
		rc = rama_file_open(&x->file, x->from->path, e);
	if (rc != 0)
		return rc;
	rc = rama_log_open(&x->log, &x->file.src, &opt, e);
	x->opened = rc == 0;
	if (rc != 0 && x->from->bytes == NULL)
		rama_file_close(&x->file);
	return rc;
}

/* All are opened before the first is read: where the job begins and how long it lasts depends on
 * all of them. */
static int open_sources(struct rama_study *s, struct source *x, size_t n)
{
	int worst = 0;

	for (size_t i = 0; i < n; i++) {
		const struct rama_study_source *from = x[i].from;
		struct rama_err e = { 0 };
		int rc;

		x[i].segments = from->bytes == NULL && is_directory(from->path);
		rc = x[i].segments ? 0 : open_log(&x[i], &e);
		if (rc != 0)
			rama_study_problem(x[i].told, x[i].name, e.text);
		worst = worse(worst, rc);
		if (!x[i].opened || n == 1)
			continue;
		rc = rama_job_view_expect(&s->view, &x[i].log, &e);
		if (rc != 0) {
			rama_study_problem(x[i].told, from->path, e.text);
			return rc;
		}
		/* there may be more logs than descriptors */
		if (strcmp(from->path, "-") != 0 && from->bytes == NULL)
			rama_file_park(&x[i].file, from->path);
	}
	return worst;
}

static int read_sources(struct rama_study *s, struct source *x, size_t n)
{
	size_t done = 0;
	int worst = 0;

	for (size_t i = 0; i < n; i++) {
		const char *path = x[i].from->path;
		struct rama_err e = { 0 };
		int rc;

		if (!x[i].opened && !x[i].segments)
			continue;
		s->view.opt.ctx = &x[i];
		rc = x[i].segments ? rama_job_view_add_segments(&s->view, path, &e)
				   : rama_job_view_add_log(&s->view, &x[i].log, path, &e);
		if (rc != 0)
			rama_study_problem(x[i].told, path, e.text);
		done += rc == 0;
		worst = worse(worst, rc);
		if (x[i].opened && x[i].log.problems > 0)
			worst = worse(worst, RAMA_ECORRUPT);
	}
	s->viewed = done > 0;
	return worst;
}

static void close_source(struct source *x)
{
	if (!x->opened)
		return;
	rama_log_close(&x->log);
	rama_file_close(&x->file);
}

/* ---- only some findings ---------------------------------------------------------------------- */

static bool matches(const struct rama_diag_rule *rule, const char *word, size_t len)
{
	return (strlen(rule->id) == len && strncasecmp(rule->id, word, len) == 0) ||
	       (strlen(rule->topic) == len && strncasecmp(rule->topic, word, len) == 0);
}

bool rama_study_knows(const char *word, size_t len)
{
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		if (matches(&rama_diag_rules[i], word, len))
			return true;
	return false;
}

void rama_study_hint(const char *word, size_t len, char to[RAMA_NEAREST_HINT])
{
	char text[64];
	struct rama_nearest near = { .word = text };

	snprintf(text, sizeof(text), "%.*s", (int)len, word);
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		rama_nearest_offer(&near, rama_diag_rules[i].id);
		rama_nearest_offer(&near, rama_diag_rules[i].topic);
	}
	rama_nearest_hint(&near, to);
}

static bool wanted(const struct rama_diag_rule *rule, const char *only)
{
	for (size_t n; *only != '\0'; only += n + (only[n] == ',')) {
		n = strcspn(only, ",");
		if (matches(rule, only, n))
			return true;
	}
	return false;
}

/* Findings move up; those that point to another one for its advice follow it, or give it
 * themselves. */
static int keep_wanted(struct rama_diag *d, const char *only)
{
	struct rama_diag_finding *f = d->findings;
	size_t kept = 0, *place = calloc(d->n_findings + 1, sizeof(*place));
	size_t *count[RAMA_DIAG_LEVELS] = { &d->n_ok, &d->n_info, &d->n_warn, &d->n_high };

	if (place == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < d->n_findings; i++)
		place[i] = wanted(f[i].rule, only) ? ++kept : 0;
	for (unsigned l = 0; l < RAMA_DIAG_LEVELS; l++)
		*count[l] = 0;
	for (size_t i = 0; i < d->n_findings; i++) {
		const struct rama_diag_finding *by = f[i].advised_by;
		size_t to = by != NULL ? place[by - f] : 0;

		if (place[i] == 0)
			continue;
		++*count[f[i].level];
		f[place[i] - 1] = f[i];
		f[place[i] - 1].advised_by = to > 0 ? &f[to - 1] : NULL;
	}
	d->n_findings = kept;
	free(place);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int conclude(struct rama_study *s, const struct rama_study_options *opt, struct rama_err *e)
{
	struct rama_study_lines *lines = s->view.n_sites > 0 && !opt->no_lines
						 ? rama_study_lines_create(opt->debuginfo)
						 : NULL;
	int rc;

	s->view.opt.line = lines != NULL ? rama_study_lines_find : NULL;
	s->view.opt.line_ctx = lines;
	rc = rama_job_view_finish(&s->view, e);
	rama_study_lines_destroy(lines);
	s->view.opt.line = NULL;
	if (rc == 0)
		rc = rama_diag_make(&s->diagnosis, &s->view, opt->profile, e);
	s->diagnosed = rc == 0;
	if (rc == 0 && opt->only != NULL)
		rc = keep_wanted(&s->diagnosis, opt->only);
	if (rc == 0)
		rc = rama_report_init(&s->report, &s->view, &s->diagnosis, opt->profile);
	s->reported = rc == 0;
	if (rc != 0 && e->code == 0)
		rama_err_set(e, rc, "%s", rama_err_text(rc));
	return rc;
}

int rama_study_open(struct rama_study *s, const struct rama_study_source *sources, size_t n,
		    const struct rama_study_options *opt)
{
	struct rama_job_view_options view = { .trace = !opt->no_trace,
					      .detail = opt->detail,
					      .from = opt->from,
					      .to = opt->to,
					      .every = opt->every,
					      .progress = opt->told.progress != NULL ? show_progress
										     : NULL };
	struct source *x = calloc(n + 1, sizeof(*x));
	struct rama_err e = { 0 };
	int worst;

	*s = (struct rama_study){ 0 };
	if (x == NULL) {
		rama_study_problem(&opt->told, sources[0].path, rama_err_text(RAMA_EMEMORY));
		return RAMA_EMEMORY;
	}
	for (size_t i = 0; i < n; i++)
		x[i] = (struct source){ .from = &sources[i],
					.told = &opt->told,
					.name = strcmp(sources[i].path, "-") != 0 ||
								sources[i].bytes != NULL
							? sources[i].path
							: "standard input" };
	rama_job_view_init(&s->view, &view);
	worst = open_sources(s, x, n);
	if (worst == 0 || rama_err_status(worst) < 4)
		worst = worse(worst, read_sources(s, x, n));
	for (size_t i = 0; i < n; i++)
		close_source(&x[i]);
	free(x);
	s->view.opt.progress = NULL;
	if (s->viewed && conclude(s, opt, &e) != 0) {
		rama_study_problem(&opt->told, sources[0].path, e.text);
		worst = e.code;
	}
	return worst;
}

void rama_study_close(struct rama_study *s)
{
	if (s->reported)
		rama_report_fini(&s->report);
	if (s->diagnosed)
		rama_diag_fini(&s->diagnosis);
	rama_job_view_fini(&s->view);
	*s = (struct rama_study){ 0 };
}

long rama_study_utc_offset(const struct rama_study *s)
{
	time_t t = (time_t)s->view.start_sec;
	struct tm tm;

	return localtime_r(&t, &tm) != NULL ? tm.tm_gmtoff : 0;
}

int rama_study_log(struct rama_job_view *v, struct rama_diag *d, struct rama_log *log,
		   const char *path, bool trace, const struct rama_diag_profile *profile,
		   struct rama_err *e)
{
	struct rama_job_view_options opt = { .trace = trace };
	int rc;

	rama_job_view_init(v, &opt);
	rc = rama_job_view_add_log(v, log, path, e);
	if (rc == 0)
		rc = rama_job_view_finish(v, e);
	if (rc == 0)
		rc = rama_diag_make(d, v, profile, e);
	if (rc != 0)
		rama_job_view_fini(v);
	return rc;
}
