/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_report.c: iorama report */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "cli/paper.h"
#include "cli/profile.h"
#include "cli/report/fleet.h"
#include "cli/study.h"
#include "cli/terminal.h"
#include "report/form.h"
#include "study/jobs.h"
#include "study/stored.h"
#include "study/trials.h"

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

	char hint[RAMA_NEAREST_HINT];

	if (name != NULL && rama_report_table_find(name) == NULL)
		rama_cli_opts_usage(o, "there is no table '%s'%s `iorama help report` lists them",
				    name, rama_report_table_hint(name, hint));
	return name != NULL ? name : "findings";
}

/* --figure=timeline,sizes -o FILE.pdf */
static void find_figure(struct command *c)
{
	c->ask.figures = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_report_figure);
	if (c->ask.figures != NULL && !rama_report_figure_known(c->ask.figures))
		rama_cli_opts_usage(&c->o,
				    "figures are head, findings, timeline, sizes and all, not '%s'",
				    c->ask.figures);
	if (c->id == RAMA_REPORT_FORM_figure)
		rama_cli_figure_file(&c->o, RAMA_TAB_OPT_report_output, &c->ask.file);
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
	char hint[RAMA_NEAREST_HINT];

	for (size_t n, at = 0; only != NULL && only[at] != '\0'; at += n + (only[at + n] == ',')) {
		n = strcspn(only + at, ",");
		if (rama_study_knows(only + at, n))
			continue;
		rama_study_hint(only + at, n, hint);
		rama_cli_opts_usage(
			o, "there is no rule or topic '%.*s'%s `iorama explain` lists them", (int)n,
			only + at, hint[0] != '\0' ? hint : ";");
	}
	return only;
}

/* --window 12.5:13 */
static void find_window(const struct rama_cli_opts *o, struct rama_study_options *to)
{
	const char *text = rama_cli_opts_value(o, RAMA_TAB_OPT_report_window);
	char *end = NULL;

	if (text == NULL)
		return;
	to->from = strtod(text, &end);
	if (end != text && *end == ':') {
		text = end + 1;
		to->to = strtod(text, &end);
	}
	if (end == text || *end != '\0' || !(to->from >= 0) || !(to->to > to->from) ||
	    !isfinite(to->to))
		rama_cli_opts_usage(o, "the window is FROM:TO, in seconds of the run, not '%s'",
				    rama_cli_opts_value(o, RAMA_TAB_OPT_report_window));
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), len = strlen(end);

	return n > len && strcmp(text + n - len, end) == 0;
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
	if (reports > 1 && !c->to_dir && ends_with(c->output, c->form->suffix))
		rama_cli_opts_usage(&c->o,
				    "several reports need a directory, and '%s' is the name of one "
				    "file",
				    c->output);
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

	if (rama_cli_opts_has(o, RAMA_TAB_OPT_report_since) ||
	    rama_cli_opts_has(o, RAMA_TAB_OPT_report_user) ||
	    rama_cli_opts_has(o, RAMA_TAB_OPT_report_where))
		rama_cli_opts_usage(o, "--since, --user and --where go with --fleet --store");
	if (o->n_args == 0)
		rama_cli_opts_usage(o, rama_cli_opts_has(o, RAMA_TAB_OPT_report_store)
					       ? "no job given"
					       : "no log given");
	c->id = form_of(o);
	c->form = rama_report_forms[c->id];
	c->ask.table = table_of(o);
	find_figure(c);
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
		.debuginfo = rama_cli_opts_value(o, RAMA_TAB_OPT_report_debuginfo),
		.detail = c->form->detail || strcmp(c->ask.table, "ops") == 0,
		.only = only_of(o),
	};
	find_window(o, &c->study);
	c->quiet = rama_cli_opts_has(o, RAMA_TAB_OPT_report_quiet);
	if (c->ask.look.verbose && c->ask.look.brief)
		rama_cli_opts_usage(o, "--verbose and --short exclude each other");
}

/* ---- output ---------------------------------------------------------------------------------- */

/* The file for the report of a log, "" for standard output. In a directory the second of two
 * logs with one name gets a number. */
static void name_file(const struct command *c, const char *log, char path[PATH_MAX])
{
	path[0] = '\0';
	if (c->output != NULL && strcmp(c->output, "-") == 0)
		return;
	if (c->output != NULL && !c->to_dir) {
		snprintf(path, PATH_MAX, "%s", c->output);
		return;
	}
	if (c->output == NULL && !c->form->file)
		return;
	rama_report_file_name(path, c->to_dir ? c->output : NULL, c->names, c->done, log,
			      c->form->suffix);
}

static int write_report(const struct command *c, struct rama_out *out, const char *log)
{
	char path[PATH_MAX];
	int status;

	name_file(c, log, path);
	status = rama_cli_paper_write(out, path[0] != '\0' ? path : NULL);
	if (status == 0 && path[0] != '\0' && c->output == NULL && !c->quiet)
		fprintf(stderr, "iorama: wrote %s\n", path);
	return status;
}

/* ---- reports --------------------------------------------------------------------------------- */

/* trials: what the store knows of them; NULL: it is no job of a store */
static int report_one(struct command *c, const struct rama_study_source *from, size_t n,
		      const struct rama_study_trials *trials)
{
	const char *name = from[0].path;
	struct rama_study s;
	struct rama_out out;
	int status = rama_cli_study_open(&s, from, n, c->study, c->quiet), more = 0;

	rama_out_init(&out, NULL, NULL);
	if (s.reported) {
		s.report.trials = trials != NULL ? trials->it : NULL;
		s.report.n_trials = trials != NULL ? trials->n : 0;
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

/* what an argument names; 0, or the exit status after the reason was printed */
static int find_stored(struct command *c, const char *word, struct rama_study_stored_set *to)
{
	struct rama_err e = { 0 };
	int rc = rama_study_stored_set_find(c->store, word, rama_cli_opts_setting(RAMA_TAB_SET_DIR),
					    to, &e);

	if (rc == 0)
		return 0;
	if (rc == RAMA_EMISSING && to->job >= 0)
		return tell_stored(c, to->job, e.text);
	rama_cli_complain("report", "%s", e.text);
	return rama_err_status(rc);
}

static int worse(int a, int b)
{
	return a > b ? a : b;
}

static int find_trials(struct command *c, const struct rama_study_stored_set *set,
		       struct rama_study_trials *to)
{
	struct rama_err e = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < set->n; i++)
		rc = rama_study_trials_get(c->store, set->it[i].job, to, &e);
	if (rc != 0)
		rama_cli_complain("report", "%s", e.text);
	return rc != 0 ? rama_err_status(rc) : 0;
}

/* each argument is a job, of one log or of all steps of a batch job */
static int report_stored(struct command *c)
{
	size_t args = c->o.n_args, n = 0;
	struct rama_study_stored_set *sets = calloc(args, sizeof(*sets));
	bool together = rama_cli_opts_has(&c->o, RAMA_TAB_OPT_report_job);
	struct rama_study_trials trials = { 0 };
	struct rama_study_source *all = NULL;
	size_t room = 0;
	int status = sets == NULL ? rama_err_status(RAMA_EMEMORY) : 0;

	for (size_t i = 0; i < args && sets != NULL; i++) {
		status = worse(find_stored(c, c->o.args[i], &sets[i]), status);
		status = worse(find_trials(c, &sets[i], &trials), status);
		if (sets[i].n > 0 && !together) {
			status = worse(report_one(c, sets[i].from, sets[i].n, &trials), status);
			rama_study_trials_fini(&trials);
		}
		for (size_t k = 0; k < sets[i].n && RAMA_GROW(all, room, n + 1); k++)
			all[n++] = sets[i].from[k];
	}
	if (n > 0 && together)
		status = worse(report_one(c, all, n, &trials), status);
	rama_study_trials_fini(&trials);
	for (size_t i = 0; i < args && sets != NULL; i++)
		rama_study_stored_set_fini(&sets[i]);
	free(sets);
	free(all);
	return status;
}

static int report_logs(struct command *c)
{
	size_t n = c->o.n_args;
	struct rama_study_source *from = calloc(n + 1, sizeof(*from));
	int status = from == NULL ? rama_err_status(RAMA_EMEMORY) : 0;

	for (size_t i = 0; i < n && from != NULL; i++)
		from[i].path = rama_cli_input_named(c->o.args[i]);
	if (from != NULL && n > 0 && rama_cli_opts_has(&c->o, RAMA_TAB_OPT_report_job))
		status = report_one(c, from, n, NULL);
	else
		for (size_t i = 0; i < n && from != NULL; i++)
			status = worse(report_one(c, &from[i], 1, NULL), status);
	free(from);
	return status;
}

static int report_all(struct command *c)
{
	int status;

	c->names = calloc(c->o.n_args + 1, sizeof(*c->names));
	if (c->names == NULL) {
		rama_cli_complain("report", "%s", rama_err_text(RAMA_EMEMORY));
		return rama_err_status(RAMA_EMEMORY);
	}
	status = c->store != NULL ? report_stored(c) : report_logs(c);
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
