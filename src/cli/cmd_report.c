/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_report.c: iorama report */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "cli/profile.h"
#include "cli/report_fleet.h"
#include "cli/study.h"
#include "cli/terminal.h"
#include "report/form.h"
#include "study/jobs.h"
#include "study/stored.h"

#define STATUS_FOUND 1 /* of --fail-on */

/* the option of each form; RAMA_TAB_OPTIONS: text, where none is given */
static const enum rama_tab_option_id option_of[RAMA_REPORT_FORMS] = {
#define FORM(name, ...) RAMA_TAB_OPT_report_##name,
#define PAPER(...)
#include "table/forms.def"
#undef FORM
#undef PAPER
	RAMA_TAB_OPTIONS
};

struct command {
	struct rama_cli_opts o;
	struct rama_diag_profile profile;
	struct rama_study_options study;
	bool quiet;
	enum rama_report_form_id id;
	const struct rama_report_form *form;
	struct rama_report_ask ask;
	enum rama_diag_level fail; /* RAMA_DIAG_LEVELS: never */
	const char *output; /* file or directory, NULL: standard output or names of our own */
	bool to_dir;
	size_t done;		  /* reports */
	const char **names;	  /* of the logs that were reported, for files of their own */
	struct rama_store *store; /* the arguments are jobs of it; NULL: logs */
};

/* ---- options --------------------------------------------------------------------------------- */

static enum rama_report_form_id form_of(const struct rama_cli_opts *o)
{
	enum rama_report_form_id form = RAMA_REPORT_FORM_text;

	for (unsigned i = 0; i < RAMA_REPORT_FORM_text; i++) {
		if (!rama_cli_opts_has(o, option_of[i]))
			continue;
		if (form != RAMA_REPORT_FORM_text)
			rama_cli_opts_usage(o, "--%s and --%s exclude each other",
					    rama_tab_options[option_of[form]].name,
					    rama_tab_options[option_of[i]].name);
		form = (enum rama_report_form_id)i;
	}
	return form;
}

static const char *table_of(const struct rama_cli_opts *o)
{
	const char *name = rama_cli_opts_value(o, RAMA_TAB_OPT_report_csv);

	if (name != NULL && rama_report_table_find(name) == NULL)
		rama_cli_opts_usage(o, "there is no table '%s'; `iorama help report` lists them",
				    name);
	return name != NULL ? name : "findings";
}

static enum rama_diag_level fail_of(const struct rama_cli_opts *o)
{
	const char *level = rama_cli_opts_value(o, RAMA_TAB_OPT_report_failon);

	if (level == NULL)
		return RAMA_DIAG_LEVELS;
	if (strcasecmp(level, "high") != 0 && strcasecmp(level, "warn") != 0)
		rama_cli_opts_usage(o, "--fail-on is high or warn, not '%s'", level);
	return strcasecmp(level, "high") == 0 ? RAMA_DIAG_LEVEL_HIGH : RAMA_DIAG_LEVEL_WARN;
}

static const char *only_of(const struct rama_cli_opts *o)
{
	const char *only = rama_cli_opts_value(o, RAMA_TAB_OPT_report_only);

	for (size_t n, at = 0; only != NULL && only[at] != '\0'; at += n + (only[at + n] == ',')) {
		n = strcspn(only + at, ",");
		if (!rama_study_knows(only + at, n))
			rama_cli_opts_usage(
				o, "there is no rule or topic '%.*s'; `iorama explain` lists them",
				(int)n, only + at);
	}
	return only;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* where to: -o, or the FILE of --html and --svg */
static void find_output(struct command *c, size_t reports)
{
	const char *file = c->form->file ? rama_cli_opts_value(&c->o, option_of[c->id]) : NULL;

	c->output = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_report_output);
	if (c->output != NULL && file != NULL)
		rama_cli_opts_usage(&c->o, "-o and --%s=FILE exclude each other",
				    rama_tab_options[option_of[c->id]].name);
	if (c->output == NULL)
		c->output = file;
	if (c->output == NULL || strcmp(c->output, "-") == 0)
		return;
	c->to_dir = is_directory(c->output);
	if (reports > 1 && !c->to_dir) {
		if (mkdir(c->output, 0777) != 0)
			rama_cli_opts_usage(&c->o, "several reports need a directory; %s: %s",
					    c->output, strerror(errno));
		c->to_dir = true;
	}
}

static void read_options(struct command *c)
{
	const struct rama_cli_opts *o = &c->o;
	struct rama_cli_terminal t;

	if (o->n_args == 0)
		rama_cli_opts_usage(o, rama_cli_opts_has(o, RAMA_TAB_OPT_report_store)
					       ? "no job given"
					       : "no log given");
	c->id = form_of(o);
	c->form = rama_report_forms[c->id];
	c->ask.table = table_of(o);
	c->fail = fail_of(o);
	find_output(c, rama_cli_opts_has(o, RAMA_TAB_OPT_report_job) ? 1 : o->n_args);
	t = rama_cli_terminal_of(o, RAMA_TAB_OPT_report_width, RAMA_TAB_OPT_report_color,
				 c->output != NULL && strcmp(c->output, "-") != 0);
	c->ask.look = (struct rama_report_look){
		.width = t.width,
		.colour = t.colour,
		.utf8 = t.utf8,
		.verbose = rama_cli_opts_has(o, RAMA_TAB_OPT_report_verbose),
		.brief = rama_cli_opts_has(o, RAMA_TAB_OPT_report_brief)
	};
	c->study = (struct rama_study_options){
		.profile = &c->profile,
		.no_trace = rama_cli_opts_has(o, RAMA_TAB_OPT_report_notrace),
		.detail = c->form->detail || strcmp(c->ask.table, "ops") == 0,
		.only = only_of(o),
	};
	c->quiet = rama_cli_opts_has(o, RAMA_TAB_OPT_report_quiet);
	if (c->ask.look.verbose && c->ask.look.brief)
		rama_cli_opts_usage(o, "--verbose and --short exclude each other");
}

/* ---- output ---------------------------------------------------------------------------------- */

/* job.darshan -> job */
static void base_name(char *to, size_t size, const char *path)
{
	static const char end[] = ".darshan";
	size_t n = strlen(path), start;

	while (n > 1 && path[n - 1] == '/')
		n--;
	for (start = n; start > 0 && path[start - 1] != '/';)
		start--;
	if (n - start > strlen(end) && memcmp(path + n - strlen(end), end, strlen(end)) == 0)
		n -= strlen(end);
	if (strcmp(path, "-") == 0 || n == start)
		snprintf(to, size, "report");
	else
		snprintf(to, size, "%.*s", (int)(n - start), path + start);
}

/* The file for the report of a log, "" for standard output. In a directory the second of two
 * logs with one name gets a number. */
static void name_file(const struct command *c, const char *log, char path[PATH_MAX])
{
	char base[NAME_MAX - 16];
	const char *dir = c->to_dir ? c->output : ".", *in = c->to_dir ? "/" : "";

	path[0] = '\0';
	if (c->output != NULL && strcmp(c->output, "-") == 0)
		return;
	if (c->output != NULL && !c->to_dir) {
		snprintf(path, PATH_MAX, "%s", c->output);
		return;
	}
	if (c->output == NULL && !c->form->file)
		return;
	base_name(base, sizeof(base), log);
	snprintf(path, PATH_MAX, "%s%s%s%s", c->to_dir ? dir : "", in, base, c->form->suffix);
	for (size_t i = 0, n = 1; i < c->done; i++) {
		char other[NAME_MAX - 16];

		base_name(other, sizeof(other), c->names[i]);
		if (strcmp(other, base) == 0)
			snprintf(path, PATH_MAX, "%s%s%s-%zu%s", c->to_dir ? dir : "", in, base,
				 ++n, c->form->suffix);
	}
}

static int write_file(const struct rama_out *out, const char *path)
{
	struct rama_newfile file = { .fd = -1 };
	struct rama_err e = { 0 };

	if (rama_newfile_open(&file, path, &e) == 0 &&
	    rama_newfile_write(&file, 0, out->buf, out->used, &e) == 0)
		rama_newfile_commit(&file, &e);
	rama_newfile_abort(&file);
	if (e.code != 0)
		rama_cli_complain(path, "%s", e.text);
	return e.code != 0 ? 4 : 0;
}

static int write_report(const struct command *c, const struct rama_out *out, const char *log)
{
	char path[PATH_MAX];
	int rc;

	name_file(c, log, path);
	if (path[0] != '\0') {
		rc = write_file(out, path);
		if (rc == 0 && c->output == NULL && !c->quiet)
			fprintf(stderr, "iorama: wrote %s\n", path);
		return rc;
	}
	rc = rama_fd_write(STDOUT_FILENO, out->buf, out->used);
	if (rc != 0 && rc != RAMA_ESTOPPED) /* `| head` has seen enough */
		rama_cli_complain("standard output", "cannot be written: %s", strerror(errno));
	return rc != 0 && rc != RAMA_ESTOPPED ? 4 : 0;
}

/* ---- reports --------------------------------------------------------------------------------- */

static int report_one(struct command *c, const struct rama_study_source *from, size_t n)
{
	const char *name = from[0].path;
	struct rama_study s;
	struct rama_out out;
	int status = rama_cli_study_open(&s, from, n, c->study, c->quiet), more = 0;

	rama_out_init(&out, NULL, NULL);
	if (s.reported) {
		c->ask.look.utc_offset = rama_study_utc_offset(&s);
		c->ask.apart = c->done > 0 && !c->to_dir;
		c->form->report(&out, &s.report, &c->ask);
		if (out.error != 0) {
			rama_cli_complain(name, "%s", rama_err_text(out.error));
			more = rama_err_status(out.error);
		} else {
			more = write_report(c, &out, name);
		}
		for (size_t i = 0; more == 0 && i < s.diagnosis.n_findings; i++)
			if (s.diagnosis.findings[i].level >= c->fail)
				more = STATUS_FOUND;
	}
	c->names[c->done++] = name;
	rama_out_fini(&out);
	rama_study_close(&s);
	return more > status ? more : status;
}

/* ---- jobs of a store ------------------------------------------------------------------------- */

/* A job without a log: what the store has of it instead, for people. */
static int tell_stored(struct command *c, int64_t job, const char *line)
{
	struct rama_grid_style style = { .width = c->ask.look.width,
					 .colour = c->ask.look.colour,
					 .utf8 = c->ask.look.utf8 };
	struct rama_err e = { 0 };
	struct rama_out out;
	int rc, status;

	rama_cli_complain("report", "%s", line);
	if (c->id != RAMA_REPORT_FORM_text)
		return rama_err_status(RAMA_EMISSING);
	rama_out_init(&out, NULL, NULL);
	rc = rama_study_job_tell(c->store, job, RAMA_ROWS_TEXT, &style, c->ask.look.verbose, &out,
				 &e);
	status = rc != 0 ? rama_err_status(rc) : write_report(c, &out, line);
	if (rc != 0)
		rama_cli_complain("report", "%s", e.text);
	rama_out_fini(&out);
	return status;
}

/* the sources of all arguments; 0, or the exit status after the reason was printed */
static int find_stored(struct command *c, struct rama_study_stored *stored,
		       struct rama_study_source *from, size_t *n)
{
	int status = 0;

	for (size_t i = 0; i < c->o.n_args; i++) {
		struct rama_err e = { 0 };
		int one = 0, rc = rama_study_stored_find(c->store, c->o.args[i],
							 rama_cli_opts_setting(RAMA_TAB_SET_DIR),
							 &stored[*n], &e);

		if (rc == 0) {
			from[*n] = rama_study_stored_source(&stored[*n]);
			++*n;
			continue;
		}
		if (rc == RAMA_EMISSING && stored[*n].job >= 0) {
			one = tell_stored(c, stored[*n].job, e.text);
		} else {
			rama_cli_complain("report", "%s", e.text);
			one = rama_err_status(rc);
		}
		status = one > status ? one : status;
	}
	return status;
}

static int report_sources(struct command *c, const struct rama_study_source *from, size_t n,
			  int status)
{
	int one;

	if (n > 0 && rama_cli_opts_has(&c->o, RAMA_TAB_OPT_report_job)) {
		one = report_one(c, from, n);
		return one > status ? one : status;
	}
	for (size_t i = 0; i < n; i++) {
		one = report_one(c, &from[i], 1);
		status = one > status ? one : status;
	}
	return status;
}

static int report_all(struct command *c)
{
	size_t n = 0, args = c->o.n_args;
	struct rama_study_source *from = calloc(args + 1, sizeof(*from));
	struct rama_study_stored *stored = calloc(c->store != NULL ? args + 1 : 1, sizeof(*stored));
	int status = 0;

	c->names = calloc(args + 1, sizeof(*c->names));
	if (from == NULL || stored == NULL || c->names == NULL) {
		rama_cli_complain("report", "%s", rama_err_text(RAMA_EMEMORY));
		status = rama_err_status(RAMA_EMEMORY);
	} else if (c->store != NULL) {
		status = find_stored(c, stored, from, &n);
	} else {
		for (; n < args; n++)
			from[n].path = c->o.args[n];
	}
	if (from != NULL && c->names != NULL)
		status = report_sources(c, from, n, status);
	for (size_t i = 0; c->store != NULL && i < n; i++)
		rama_study_stored_fini(&stored[i]);
	free(stored);
	free(from);
	free(c->names);
	return status;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static int list_limits(struct command *c)
{
	for (unsigned i = 0; i < rama_diag_n_limits; i++) {
		const struct rama_diag_limit *l = &rama_diag_limits[i];

		printf("%-22s %12g %-6s %s%s%s%s\n", l->name, c->profile.value[i], l->unit, l->doc,
		       strcmp(c->profile.source[i], "default") != 0 ? " (" : "",
		       strcmp(c->profile.source[i], "default") != 0 ? c->profile.source[i] : "",
		       strcmp(c->profile.source[i], "default") != 0 ? ")" : "");
	}
	return 0;
}

int rama_cli_cmd_report(int argc, char **argv)
{
	struct command c = { 0 };
	int status;

	rama_cli_opts_parse(&c.o, RAMA_TAB_CMD_report, argc, argv);
	if (rama_cli_opts_has(&c.o, RAMA_TAB_OPT_report_fleet)) {
		status = rama_cli_report_fleet(&c.o);
		rama_cli_opts_fini(&c.o);
		return status;
	}
	if (!rama_cli_opts_has(&c.o, RAMA_TAB_OPT_report_limits))
		read_options(&c);
	status = rama_cli_profile_load(&c.profile, &c.o, RAMA_TAB_OPT_report_profile);
	if (status == 0 && rama_cli_opts_has(&c.o, RAMA_TAB_OPT_report_store)) {
		status = rama_cli_store_here(&c.store, &c.o, RAMA_TAB_OPT_report_store,
					     RAMA_STORE_READ);
		if (status != 0)
			rama_diag_profile_fini(&c.profile);
	}
	if (status == 0) {
		rama_cli_progress_start(!c.quiet);
		status = rama_cli_opts_has(&c.o, RAMA_TAB_OPT_report_limits) ? list_limits(&c)
									     : report_all(&c);
		rama_cli_progress_end();
		rama_diag_profile_fini(&c.profile);
	}
	rama_store_close(c.store);
	rama_cli_opts_fini(&c.o);
	return status;
}
