/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_export.c: iorama export */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "cli/profile.h"
#include "cli/study.h"
#include "report/export/export.h"
#include "study/stored.h"

static const enum rama_tab_option_id option_of[RAMA_REPORT_EXPORTS] = {
#define EXPORT(name, ...) RAMA_TAB_OPT_export_##name,
#include "table/exports.def"
#undef EXPORT
};

static const struct rama_report_export_form *form_of(const struct rama_cli_opts *o)
{
	const struct rama_report_export_form *form = NULL;

	for (unsigned i = 0; i < RAMA_REPORT_EXPORTS; i++) {
		if (!rama_cli_opts_has(o, option_of[i]))
			continue;
		if (form != NULL)
			rama_cli_opts_usage(o, "one format at a time");
		form = rama_report_export_forms[i];
	}
	if (form == NULL)
		rama_cli_opts_usage(o, "no format given: --perfetto, --otf2 or --csv");
	if (o->n_args == 0)
		rama_cli_opts_usage(o, "no log given");
	return form;
}

/* dir/job.darshan -> job.perfetto.json */
static void name_output(char path[PATH_MAX], const char *log, const char *suffix)
{
	static const char end[] = ".darshan";
	const char *base = strrchr(log, '/') != NULL ? strrchr(log, '/') + 1 : log;
	size_t n = strlen(base), cut = strlen(end);

	if (n > cut && strcmp(base + n - cut, end) == 0)
		n -= cut;
	if (n == 0 || strcmp(log, "-") == 0)
		snprintf(path, PATH_MAX, "job%s", suffix);
	else
		snprintf(path, PATH_MAX, "%.*s%s", (int)n, base, suffix);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int to_fd(void *ctx, const char *bytes, size_t n)
{
	return rama_fd_write(*(const int *)ctx, bytes, n);
}

static int write_stream(const struct rama_report_export_form *form,
			const struct rama_report_export *x, const char *path)
{
	bool to_stdout = strcmp(path, "-") == 0;
	struct rama_newfile file = { .fd = -1 };
	struct rama_err e = { 0 };
	struct rama_out out;
	int fd = STDOUT_FILENO;

	if (!to_stdout && rama_newfile_open(&file, path, &e) != 0) {
		rama_cli_complain(path, "%s", e.text);
		return rama_err_status(e.code);
	}
	fd = to_stdout ? fd : file.fd;
	rama_out_init(&out, to_fd, &fd);
	form->write(&out, x);
	rama_out_flush(&out);
	if (out.error == 0 && !to_stdout)
		rama_newfile_commit(&file, &e);
	else if (out.error != 0 && out.error != RAMA_ESTOPPED)
		rama_err_set(&e, out.error, "cannot be written: %s",
			     out.error == RAMA_EIO ? strerror(errno) : rama_err_text(out.error));
	rama_newfile_abort(&file);
	rama_out_fini(&out);
	if (e.code != 0)
		rama_cli_complain(to_stdout ? "standard output" : path, "%s", e.text);
	return e.code != 0 ? rama_err_status(e.code) : 0;
}

static int write_directory(const struct rama_report_export_form *form,
			   const struct rama_report_export *x, const char *path)
{
	struct rama_err e = { 0 };

	if (strcmp(path, "-") == 0)
		rama_err_set(&e, RAMA_EUSAGE, "is a directory: it needs a name");
	else
		form->make(path, x, &e);
	if (e.code != 0)
		rama_cli_complain(path, "%s", e.text);
	return e.code != 0 ? rama_err_status(e.code) : 0;
}

/* ---- one job --------------------------------------------------------------------------------- */

static int export_job(const struct rama_cli_opts *o, const struct rama_study *s,
		      const struct rama_report_export_form *form, const char *name)
{
	bool quiet = rama_cli_opts_has(o, RAMA_TAB_OPT_export_quiet);
	const char *path = rama_cli_opts_value(o, RAMA_TAB_OPT_export_output);
	struct rama_report_export x;
	char made[PATH_MAX];
	int status, rc;

	if (s->view.n_every == 0) {
		bool useful = form->counters && s->view.n_heats > 0;

		if (!useful || !quiet)
			rama_cli_complain(name, "no trace%s; `iorama run --trace` records one",
					  useful ? ": only activity over time is exported" : "");
		if (!useful)
			return rama_err_status(RAMA_EMISSING);
	}
	name_output(made, name, form->suffix);
	path = path != NULL ? path : made;
	rc = rama_report_export_init(&x, &s->view);
	if (rc != 0) {
		rama_cli_complain(name, "%s", rama_err_text(rc));
		status = rama_err_status(rc);
	} else {
		status = form->write != NULL ? write_stream(form, &x, path)
					     : write_directory(form, &x, path);
	}
	rama_report_export_fini(&x);
	if (status == 0 && path == made && !quiet)
		fprintf(stderr, "iorama: wrote %s\n", path);
	return status;
}

static int export_sources(const struct rama_cli_opts *o, const struct rama_study_source *from,
			  size_t n, const struct rama_report_export_form *form)
{
	struct rama_diag_profile profile = { 0 };
	struct rama_study_options opt = { .profile = &profile, .every = true };
	struct rama_study s;
	int status = rama_cli_profile_load(&profile, o, RAMA_TAB_OPTIONS), one;

	if (status != 0)
		return status;
	status = rama_cli_study_open(&s, from, n, opt,
				     rama_cli_opts_has(o, RAMA_TAB_OPT_export_quiet));
	if (s.reported) {
		one = export_job(o, &s, form, from[0].path);
		status = one > status ? one : status;
	}
	rama_study_close(&s);
	rama_diag_profile_fini(&profile);
	return status;
}

/* ---- where from ------------------------------------------------------------------------------ */

static int export_stored(const struct rama_cli_opts *o, const struct rama_report_export_form *form)
{
	struct rama_study_stored_set stored;
	struct rama_store *store = NULL;
	struct rama_err e = { 0 };
	int status, rc;

	if (o->n_args > 1)
		rama_cli_opts_usage(o, "one job of a store at a time");
	status = rama_cli_store_here(&store, o, RAMA_TAB_OPT_export_store, RAMA_STORE_READ);
	if (status != 0)
		return status;
	rc = rama_study_stored_set_find(store, o->args[0], rama_cli_opts_setting(RAMA_TAB_SET_DIR),
					&stored, &e);
	if (rc == 0) {
		status = export_sources(o, stored.from, stored.n, form);
	} else {
		rama_cli_complain("export", "%s", e.text);
		status = rama_err_status(rc);
	}
	rama_study_stored_set_fini(&stored);
	rama_store_close(store);
	return status;
}

static int export_logs(const struct rama_cli_opts *o, const struct rama_report_export_form *form)
{
	struct rama_study_source *from = calloc(o->n_args, sizeof(*from));
	int status;

	if (from == NULL) {
		rama_cli_complain("export", "%s", rama_err_text(RAMA_EMEMORY));
		return rama_err_status(RAMA_EMEMORY);
	}
	for (size_t i = 0; i < o->n_args; i++)
		from[i].path = rama_cli_input_named(o->args[i]);
	status = export_sources(o, from, o->n_args, form);
	free(from);
	return status;
}

int rama_cli_cmd_export(int argc, char **argv)
{
	const struct rama_report_export_form *form;
	struct rama_cli_opts o;
	int status;

	rama_cli_opts_parse(&o, RAMA_TAB_CMD_export, argc, argv);
	form = form_of(&o);
	rama_cli_progress_start(!rama_cli_opts_has(&o, RAMA_TAB_OPT_export_quiet));
	status = rama_cli_opts_has(&o, RAMA_TAB_OPT_export_store) ? export_stored(&o, form)
								  : export_logs(&o, form);
	rama_cli_progress_end();
	rama_cli_opts_fini(&o);
	return status;
}
