/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/study.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/input.h"

/* ---- reading ------------------------------------------------------------------------------------ */

static void show_progress(void *ctx, double done)
{
	rama_progress_share(ctx, done);
}

static bool is_directory(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* one of the inputs of a job */
struct source {
	const char *path;
	const void *bytes; /* of a log in memory, or NULL */
	size_t len;
	bool segments, opened;
	struct rama_input in;
};

/* All are opened before the first is read: where the job begins and how long it lasts depends on all of them. */
static int open_sources(struct rama_study *s, struct source *from, size_t n, bool quiet)
{
	struct rama_err e = { 0 };
	int status = 0;

	for (size_t i = 0; i < n; i++) {
		int one = 0;

		from[i].segments = from[i].bytes == NULL && is_directory(from[i].path);
		if (from[i].bytes != NULL)
			one = rama_input_memory(&from[i].in, from[i].path, from[i].bytes,
						from[i].len, quiet);
		else if (!from[i].segments)
			one = rama_input_open(&from[i].in, from[i].path, false, quiet);
		status = one > status ? one : status;
		if (one != 0 || from[i].segments)
			continue;
		from[i].opened = true;
		if (n == 1)
			continue;
		if (rama_view_expect(&s->view, &from[i].in.log, &e) != 0) {
			rama_complain(from[i].path, "%s", e.text);
			return rama_err_status(e.code);
		}
		if (strcmp(from[i].path, "-") != 0 &&
		    from[i].bytes == NULL) /* there may be more logs than descriptors */
			rama_file_park(&from[i].in.file, from[i].path);
	}
	return status;
}

static int read_sources(struct rama_study *s, struct source *from, size_t n)
{
	size_t done = 0;
	int status = 0;

	for (size_t i = 0; i < n; i++) {
		struct rama_err e = { 0 };
		int rc, damage = 0;

		if (!from[i].opened && !from[i].segments)
			continue;
		s->view.opt.ctx = (void *)from[i].path;
		if (from[i].segments) {
			rc = rama_view_add_segments(&s->view, from[i].path, &e);
		} else {
			rc = rama_view_add_log(&s->view, &from[i].in.log, from[i].path, &e);
			damage = rama_input_status(&from[i].in);
		}
		if (rc != 0) {
			rama_complain(from[i].path, "%s", e.text);
			damage = rama_err_status(rc);
		}
		done += rc == 0;
		status = damage > status ? damage : status;
	}
	s->viewed = done > 0;
	return status;
}

/* ---- only some findings --------------------------------------------------------------------------- */

static bool matches(const struct rama_rule *rule, const char *word, size_t len)
{
	return (strlen(rule->id) == len && strncasecmp(rule->id, word, len) == 0) ||
	       (strlen(rule->topic) == len && strncasecmp(rule->topic, word, len) == 0);
}

bool rama_study_knows(const char *word, size_t len)
{
	for (unsigned i = 0; i < rama_n_rules; i++)
		if (matches(&rama_rules[i], word, len))
			return true;
	return false;
}

static bool wanted(const struct rama_rule *rule, const char *only)
{
	for (size_t n; *only != '\0'; only += n + (only[n] == ',')) {
		n = strcspn(only, ",");
		if (matches(rule, only, n))
			return true;
	}
	return false;
}

/* Findings move up; those that point to another one for its advice follow it, or give it themselves. */
static int keep_wanted(struct rama_diagnosis *d, const char *only)
{
	struct rama_finding *f = d->findings;
	size_t kept = 0, *place = calloc(d->n_findings + 1, sizeof(*place));
	size_t *count[RAMA_LEVELS] = { &d->n_ok, &d->n_info, &d->n_warn, &d->n_high };

	if (place == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < d->n_findings; i++)
		place[i] = wanted(f[i].rule, only) ? ++kept : 0;
	for (unsigned l = 0; l < RAMA_LEVELS; l++)
		*count[l] = 0;
	for (size_t i = 0; i < d->n_findings; i++) {
		const struct rama_finding *by = f[i].advised_by;
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

/* ---- all of it ---------------------------------------------------------------------------------- */

static int conclude(struct rama_study *s, const struct rama_study_options *opt, struct rama_err *e)
{
	int rc = rama_view_finish(&s->view, e);

	if (rc == 0)
		rc = rama_diagnose(&s->diagnosis, &s->view, opt->profile, e);
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

int rama_study_open(struct rama_study *s, const char *const *paths, size_t n,
		    const struct rama_study_options *opt)
{
	struct rama_study_source *from = calloc(n + 1, sizeof(*from));
	int status;

	*s = (struct rama_study){ 0 };
	if (from == NULL) {
		rama_complain(paths[0], "%s", rama_err_text(RAMA_EMEMORY));
		return rama_err_status(RAMA_EMEMORY);
	}
	for (size_t i = 0; i < n; i++)
		from[i].path = paths[i];
	status = rama_study_open_sources(s, from, n, opt);
	free(from);
	return status;
}

int rama_study_open_sources(struct rama_study *s, const struct rama_study_source *sources, size_t n,
			    const struct rama_study_options *opt)
{
	struct rama_view_options view = { .trace = !opt->no_trace,
					  .detail = opt->detail,
					  .progress = opt->quiet ? NULL : show_progress };
	struct source *from = calloc(n + 1, sizeof(*from));
	struct rama_err e = { 0 };
	int status, more;

	*s = (struct rama_study){ 0 };
	if (from == NULL) {
		rama_complain(sources[0].path, "%s", rama_err_text(RAMA_EMEMORY));
		return rama_err_status(RAMA_EMEMORY);
	}
	for (size_t i = 0; i < n; i++)
		from[i] = (struct source){ .path = sources[i].path,
					   .bytes = sources[i].bytes,
					   .len = sources[i].len };
	rama_view_init(&s->view, &view);
	status = open_sources(s, from, n, opt->quiet);
	if (status < 4) {
		more = read_sources(s, from, n);
		status = more > status ? more : status;
	}
	for (size_t i = 0; i < n; i++)
		if (from[i].opened)
			rama_input_close(&from[i].in);
	free(from);
	if (s->viewed && conclude(s, opt, &e) != 0) {
		rama_complain(sources[0].path, "%s", e.text);
		status = rama_err_status(e.code);
	}
	rama_progress_end();
	return status;
}

void rama_study_close(struct rama_study *s)
{
	if (s->reported)
		rama_report_fini(&s->report);
	if (s->diagnosed)
		rama_diagnosis_fini(&s->diagnosis);
	rama_view_fini(&s->view);
	*s = (struct rama_study){ 0 };
}

long rama_study_utc_offset(const struct rama_study *s)
{
	time_t t = (time_t)s->view.start_sec;
	struct tm tm;

	return localtime_r(&t, &tm) != NULL ? tm.tm_gmtoff : 0;
}
