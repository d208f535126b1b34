/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_diff.c: iorama diff */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/paper.h"
#include "cli/profile.h"
#include "cli/open_store.h"
#include "cli/study.h"
#include "cli/terminal.h"
#include "report/form.h"
#include "study/runs.h"
#include "study/stored.h"

#define TOLERANCE 0.05

/* 5, 5% or "5 %" are percent, as people say it */
static double tolerance_of(const struct rama_cli_opts *o)
{
	const char *text = rama_cli_opts_value(o, RAMA_TAB_OPT_diff_tolerance);
	char *end;
	double v;

	if (text == NULL)
		return TOLERANCE;
	v = strtod(text, &end);
	end += strspn(end, " ");
	if (end == text || (*end != '\0' && strcmp(end, "%") != 0) || !(v >= 0 && v <= 100))
		rama_cli_opts_usage(
			o, "the tolerance is a number of percent from 0 to 100, not '%s'", text);
	return v / 100;
}

enum gate { GATE_NONE, GATE_SLOWER, GATE_ANY };

static enum gate gate_of(const struct rama_cli_opts *o)
{
	const char *text = rama_cli_opts_value(o, RAMA_TAB_OPT_diff_failon);

	if (text == NULL)
		return GATE_NONE;
	if (strcmp(text, "slower") != 0 && strcmp(text, "any") != 0)
		rama_cli_opts_usage(o, "--fail-on is slower or any, not '%s'", text);
	return strcmp(text, "any") == 0 ? GATE_ANY : GATE_SLOWER;
}

/* the one form that was asked for */
static enum rama_report_form_id form_of(const struct rama_cli_opts *o)
{
	static const struct {
		enum rama_report_form_id form;
		enum rama_tab_option_id option;
	} forms[] = {
#define FORM(...)
#define PAPER(name, ...) { RAMA_REPORT_FORM_##name, RAMA_TAB_OPT_diff_##name },
#include "table/forms.def"
#undef FORM
#undef PAPER
	};
	const char *before = NULL;
	enum rama_report_form_id form = RAMA_REPORT_FORM_text;

	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (!rama_cli_opts_has(o, forms[i].option))
			continue;
		if (before != NULL)
			rama_cli_opts_usage(o, "--%s and --%s exclude each other", before,
					    rama_tab_options[forms[i].option].name);
		before = rama_tab_options[forms[i].option].name;
		form = forms[i].form;
	}
	return form;
}

/* groups: of runs, which have tables of their own */
static const char *csv_table(const struct rama_cli_opts *o, bool groups)
{
	static const char *const names[2][4] = { { "figures", "findings", "layers", "files" },
						 { "figures", "runs" } };
	const char *name = rama_cli_opts_value(o, RAMA_TAB_OPT_diff_csv);

	if (name == NULL || strcmp(name, "figures") == 0)
		return "metrics";
	for (unsigned i = 1; i < 4 && names[groups][i] != NULL; i++)
		if (strcmp(name, names[groups][i]) == 0)
			return name;
	rama_cli_opts_usage(o,
			    groups ? "of groups no table is called '%s'; figures and runs are"
				   : "no table is called '%s'; figures, findings, layers and "
				     "files are",
			    name);
}

static struct rama_report_ask ask_of(const struct rama_cli_opts *o, bool groups)
{
	enum rama_report_form_id form = form_of(o);
	struct rama_cli_terminal t =
		rama_cli_terminal_of(o, RAMA_TAB_OPT_diff_width, RAMA_TAB_OPT_diff_color,
				     rama_cli_opts_has(o, RAMA_TAB_OPT_diff_output));
	struct rama_report_ask ask = {
		.look = { .width = t.width, .colour = t.colour, .utf8 = t.utf8 },
		.table = csv_table(o, groups),
		.all = form == RAMA_REPORT_FORM_csv ||
		       rama_cli_opts_has(o, RAMA_TAB_OPT_diff_verbose)
	};

	if (form == RAMA_REPORT_FORM_figure)
		rama_cli_figure_file(o, RAMA_TAB_OPT_diff_output, &ask.file);
	return ask;
}

/* --html and --svg may name their file themselves; else it is A-B.html. NULL: standard output. */
static const char *place_of(const struct rama_cli_opts *o)
{
	static char named[2 * NAME_MAX + 16];
	const struct rama_report_form *form = rama_report_forms[form_of(o)];
	const char *html = rama_cli_opts_value(o, RAMA_TAB_OPT_diff_html),
		   *file = html != NULL ? html : rama_cli_opts_value(o, RAMA_TAB_OPT_diff_svg);
	char a[NAME_MAX], b[NAME_MAX];

	if (file == NULL)
		file = rama_cli_opts_value(o, RAMA_TAB_OPT_diff_output);
	if (file != NULL || !form->file)
		return file;
	rama_report_base_name(a, sizeof(a), o->args[0]);
	rama_report_base_name(b, sizeof(b), o->args[1]);
	snprintf(named, sizeof(named), "%s-%s%s", a, b, form->suffix);
	if (!rama_cli_opts_has(o, RAMA_TAB_OPT_diff_quiet))
		fprintf(stderr, "iorama: writing %s\n", named);
	return named;
}

/* The comparison goes where it is to go; the exit status, with what --fail-on asks for. */
static int deliver(const struct rama_cli_opts *o, struct rama_out *out, int rc, int damage,
		   bool slower, bool differs)
{
	enum gate gate = gate_of(o);
	int status;

	if (rc != 0) {
		rama_cli_complain("diff", "%s", rama_err_text(rc));
		status = rama_err_status(rc);
	} else {
		status = rama_cli_paper_write(out, place_of(o));
	}
	rama_out_fini(out);
	if (status == 0)
		status = damage;
	if (status == 0 && ((gate == GATE_SLOWER && slower) || (gate == GATE_ANY && differs)))
		status = 1;
	return status;
}

/* what a side is called: the log, also if it came from a store */
static const char *name_of(const struct rama_study *s, const char *arg)
{
	return s->view.logs != NULL && s->view.n_logs > 0 ? s->view.logs[0] : arg;
}

/* damage: the exit status of what could not be read */
static int compare(const struct rama_study *s, const struct rama_cli_opts *o, int damage)
{
	struct rama_report_diff_side sides[2] = {
		{ name_of(&s[0], o->args[0]), &s[0].view, &s[0].diagnosis },
		{ name_of(&s[1], o->args[1]), &s[1].view, &s[1].diagnosis }
	};
	struct rama_report_ask ask = ask_of(o, false);
	struct rama_report_diff d;
	struct rama_out out;
	struct rama_err e = { 0 };
	int status;

	rama_out_init(&out, NULL, NULL);
	status = rama_report_diff_make(&d, sides, tolerance_of(o), &e);
	if (status == 0)
		status = rama_report_form_diff(rama_report_forms[form_of(o)], &out, &d, &ask);
	status = deliver(o, &out, status, damage, d.slower, d.differs);
	rama_report_diff_fini(&d);
	return status;
}

/* directories of logs: each is a group of runs */
static int compare_groups(const struct rama_cli_opts *o, struct rama_study_options opt)
{
	struct rama_report_ask ask = ask_of(o, true);
	struct rama_report_group g[2];
	struct rama_report_spread s = { 0 };
	struct rama_out out;
	struct rama_err e = { 0 };
	int rc, damage = 0;

	rama_cli_study_told(&opt, rama_cli_opts_has(o, RAMA_TAB_OPT_diff_quiet));
	for (unsigned i = 0; i < 2; i++) {
		int one = rama_study_runs_read(&g[i], rama_cli_input_named(o->args[i]), &opt);

		damage = one < 0 && rama_err_status(one) > damage ? rama_err_status(one) : damage;
	}
	rama_cli_progress_end();
	rc = rama_study_runs_compare(&s, g, tolerance_of(o), &e);
	if (rc != 0) {
		rama_cli_complain("diff", "%s", e.text);
		rc = damage > 0 ? damage : rama_err_status(rc);
	} else {
		rama_out_init(&out, NULL, NULL);
		rc = rama_report_form_spread(rama_report_forms[form_of(o)], &out, &s, &ask);
		rc = deliver(o, &out, rc, damage, s.slower, s.differs);
	}
	rama_report_spread_fini(&s);
	rama_report_group_fini(&g[0]);
	rama_report_group_fini(&g[1]);
	return rc;
}

/* wrong words are told before the work */
static void check_options(const struct rama_cli_opts *o, bool groups)
{
	if (o->n_args != 2)
		rama_cli_opts_usage(o, "two logs are compared, not %zu", o->n_args);
	if (strcmp(o->args[0], "-") == 0 && strcmp(o->args[1], "-") == 0)
		rama_cli_opts_usage(o, "standard input holds one log only");
	ask_of(o, groups);
	gate_of(o);
	tolerance_of(o);
}

/* one side: a log, or a job of a store */
static int read_side(struct rama_study *to, const struct rama_cli_opts *o, unsigned i,
		     struct rama_store *store, const struct rama_study_options *opt)
{
	bool quiet = rama_cli_opts_has(o, RAMA_TAB_OPT_diff_quiet);
	struct rama_study_source from = { .path = rama_cli_input_named(o->args[i]) };
	struct rama_study_stored_set stored;
	struct rama_err e = { 0 };
	int status;

	if (store == NULL)
		return rama_cli_study_open(to, &from, 1, *opt, quiet);
	if (rama_study_stored_set_find(store, o->args[i], rama_cli_opts_setting(RAMA_TAB_SET_DIR),
				       &stored, &e) != 0) {
		rama_study_stored_set_fini(&stored);
		rama_cli_complain("diff", "%s", e.text);
		return rama_err_status(e.code);
	}
	status = rama_cli_study_open(to, stored.from, stored.n, *opt, quiet);
	rama_study_stored_set_fini(&stored);
	return status;
}

int rama_cli_cmd_diff(int argc, char **argv)
{
	struct rama_study s[2] = { { .viewed = false } };
	struct rama_study_options opt = { 0 };
	struct rama_diag_profile profile;
	struct rama_store *store = NULL;
	struct rama_cli_opts o;
	bool groups;
	int status, damage = 0;

	rama_cli_opts_parse(&o, RAMA_TAB_CMD_diff, argc, argv);
	groups = o.n_args == 2 && !rama_cli_opts_has(&o, RAMA_TAB_OPT_diff_store) &&
		 (rama_study_runs_are(o.args[0]) || rama_study_runs_are(o.args[1]));
	check_options(&o, groups);
	status = rama_cli_profile_load(&profile, &o, RAMA_TAB_OPT_diff_profile);
	if (status != 0) {
		rama_cli_opts_fini(&o);
		return status;
	}
	opt.profile = &profile;
	opt.no_trace = rama_cli_opts_has(&o, RAMA_TAB_OPT_diff_notrace);
	if (groups)
		status = compare_groups(&o, opt);
	else if (rama_cli_opts_has(&o, RAMA_TAB_OPT_diff_store))
		status = rama_cli_store_here(&store, &o, RAMA_TAB_OPT_diff_store, RAMA_STORE_READ);
	for (unsigned i = 0; i < 2 && status == 0 && !groups; i++) {
		int one = read_side(&s[i], &o, i, store, &opt);

		damage = one > damage ? one : damage;
		status = s[i].reported ? 0 : one;
	}
	if (status == 0 && !groups)
		status = compare(s, &o, damage);
	rama_study_close(&s[0]);
	rama_study_close(&s[1]);
	rama_store_close(store);
	rama_diag_profile_fini(&profile);
	rama_cli_opts_fini(&o);
	return status;
}
