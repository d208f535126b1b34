/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_diff.c: iorama diff */
#include <math.h>
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

static const char *csv_table(const struct rama_cli_opts *o)
{
	const char *name = rama_cli_opts_value(o, RAMA_TAB_OPT_diff_csv);

	if (name == NULL || strcmp(name, "figures") == 0)
		return "metrics";
	if (strcmp(name, "findings") != 0 && strcmp(name, "layers") != 0 &&
	    strcmp(name, "files") != 0)
		rama_cli_opts_usage(
			o, "no table is called '%s'; figures, findings, layers and files are",
			name);
	return name;
}

static int render(const struct rama_report_diff *d, const struct rama_cli_opts *o,
		  struct rama_out *out)
{
	enum rama_report_form_id form = form_of(o);
	struct rama_cli_terminal t =
		rama_cli_terminal_of(o, RAMA_TAB_OPT_diff_width, RAMA_TAB_OPT_diff_color,
				     rama_cli_opts_has(o, RAMA_TAB_OPT_diff_output));
	struct rama_report_ask ask = {
		.look = { .width = t.width, .colour = t.colour, .utf8 = t.utf8 },
		.table = csv_table(o),
		.all = form == RAMA_REPORT_FORM_csv ||
		       rama_cli_opts_has(o, RAMA_TAB_OPT_diff_verbose)
	};

	return rama_report_form_diff(rama_report_forms[form], out, d, &ask);
}

/* --html may name its file itself */
static const char *place_of(const struct rama_cli_opts *o)
{
	const char *html = rama_cli_opts_value(o, RAMA_TAB_OPT_diff_html);

	return html != NULL ? html : rama_cli_opts_value(o, RAMA_TAB_OPT_diff_output);
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
	struct rama_report_diff d;
	struct rama_out out;
	struct rama_err e = { 0 };
	enum gate gate = gate_of(o);
	int status;

	rama_out_init(&out, NULL, NULL);
	status = rama_report_diff_make(&d, sides, tolerance_of(o), &e);
	if (status == 0)
		status = render(&d, o, &out);
	if (status != 0) {
		rama_cli_complain("diff", "%s", rama_err_text(status));
		status = rama_err_status(status);
	} else {
		status = rama_cli_paper_write(&out, place_of(o));
	}
	if (status == 0)
		status = damage;
	if (status == 0 && ((gate == GATE_SLOWER && d.slower) || (gate == GATE_ANY && d.differs)))
		status = 1;
	rama_out_fini(&out);
	rama_report_diff_fini(&d);
	return status;
}

/* wrong words are told before the work */
static void check_options(const struct rama_cli_opts *o)
{
	if (o->n_args != 2)
		rama_cli_opts_usage(o, "two logs are compared, not %zu", o->n_args);
	if (strcmp(o->args[0], "-") == 0 && strcmp(o->args[1], "-") == 0)
		rama_cli_opts_usage(o, "standard input holds one log only");
	form_of(o);
	csv_table(o);
	gate_of(o);
	tolerance_of(o);
	rama_cli_terminal_of(o, RAMA_TAB_OPT_diff_width, RAMA_TAB_OPT_diff_color, true);
}

/* one side: a log, or a job of a store */
static int read_side(struct rama_study *to, const struct rama_cli_opts *o, unsigned i,
		     struct rama_store *store, const struct rama_study_options *opt)
{
	bool quiet = rama_cli_opts_has(o, RAMA_TAB_OPT_diff_quiet);
	struct rama_study_source from = { .path = o->args[i] };
	struct rama_study_stored stored;
	struct rama_err e = { 0 };
	int status;

	if (store == NULL)
		return rama_cli_study_open(to, &from, 1, *opt, quiet);
	if (rama_study_stored_find(store, o->args[i], rama_cli_opts_setting(RAMA_TAB_SET_DIR),
				   &stored, &e) != 0) {
		rama_cli_complain("diff", "%s", e.text);
		return rama_err_status(e.code);
	}
	from = rama_study_stored_source(&stored);
	status = rama_cli_study_open(to, &from, 1, *opt, quiet);
	rama_study_stored_fini(&stored);
	return status;
}

int rama_cli_cmd_diff(int argc, char **argv)
{
	struct rama_study s[2] = { { .viewed = false } };
	struct rama_study_options opt = { 0 };
	struct rama_diag_profile profile;
	struct rama_store *store = NULL;
	struct rama_cli_opts o;
	int status, damage = 0;

	rama_cli_opts_parse(&o, RAMA_TAB_CMD_diff, argc, argv);
	check_options(&o);
	status = rama_cli_profile_load(&profile, &o, RAMA_TAB_OPT_diff_profile);
	if (status != 0) {
		rama_cli_opts_fini(&o);
		return status;
	}
	opt.profile = &profile;
	opt.no_trace = rama_cli_opts_has(&o, RAMA_TAB_OPT_diff_notrace);
	if (rama_cli_opts_has(&o, RAMA_TAB_OPT_diff_store))
		status = rama_cli_store_here(&store, &o, RAMA_TAB_OPT_diff_store, RAMA_STORE_READ);
	for (unsigned i = 0; i < 2 && status == 0; i++) {
		int one = read_side(&s[i], &o, i, store, &opt);

		damage = one > damage ? one : damage;
		status = s[i].reported ? 0 : one;
	}
	if (status == 0)
		status = compare(s, &o, damage);
	rama_study_close(&s[0]);
	rama_study_close(&s[1]);
	rama_store_close(store);
	rama_diag_profile_fini(&profile);
	rama_cli_opts_fini(&o);
	return status;
}
