/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_path.c: iorama path */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "cli/opts.h"
#include "cli/paper.h"
#include "path/print.h"
#include "path/read.h"
#include "study/stored.h"

#define SLOWEST 5 /* calls of the tree, if nobody asks for more */

/* seconds since the start of the job */
static int64_t moment_of(const struct rama_cli_opts *o, enum rama_tab_option_id option,
			 int64_t without)
{
	const char *text = rama_cli_opts_value(o, option);
	char *end;
	double v;

	if (text == NULL)
		return without;
	v = strtod(text, &end);
	if (end == text || *end != '\0' || !(v >= 0 && v < 1e9))
		rama_cli_opts_usage(o, "--%s is a number of seconds since the job began, not '%s'",
				    rama_tab_options[option].name, text);
	return (int64_t)(v * 1e9);
}

static enum rama_rows_form form_of(const struct rama_cli_opts *o)
{
	bool json = rama_cli_opts_has(o, RAMA_TAB_OPT_path_json),
	     csv = rama_cli_opts_has(o, RAMA_TAB_OPT_path_csv);

	if (json && csv)
		rama_cli_opts_usage(o, "--json and --csv exclude each other");
	return json ? RAMA_ROWS_JSON : csv ? RAMA_ROWS_CSV : RAMA_ROWS_TEXT;
}

/* what is shown; forms for machines have no tree but its rows, with their parents */
static const struct view {
	enum rama_tab_option_id option;
	int (*print)(const struct rama_path *p, const struct rama_path_ask *ask,
		     struct rama_out *out);
} views[] = {
	{ RAMA_TAB_OPT_path_calls, rama_path_print_calls },
	{ RAMA_TAB_OPT_path_servers, rama_path_print_servers },
	{ RAMA_TAB_OPT_path_critical, rama_path_print_critical },
	{ RAMA_TAB_OPT_path_svg, rama_path_print_svg },
	{ RAMA_TAB_OPT_path_html, rama_path_print_html },
	{ RAMA_TAB_OPT_path_perfetto, rama_path_print_perfetto },
};

/* NULL: none was asked for */
static const struct view *view_of(const struct rama_cli_opts *o)
{
	const struct view *found = NULL;

	for (unsigned i = 0; i < sizeof(views) / sizeof(*views); i++) {
		if (!rama_cli_opts_has(o, views[i].option))
			continue;
		if (found != NULL)
			rama_cli_opts_usage(o, "--%s and --%s exclude each other",
					    rama_tab_options[found->option].name,
					    rama_tab_options[views[i].option].name);
		found = &views[i];
	}
	return found;
}

/* where to: -o, or the FILE of --html, --svg and --perfetto; NULL: standard output */
static const char *place_of(const struct rama_cli_opts *o)
{
	const struct view *view = view_of(o);
	const char *file = view != NULL ? rama_cli_opts_value(o, view->option) : NULL,
		   *output = rama_cli_opts_value(o, RAMA_TAB_OPT_path_output);

	if (file != NULL && output != NULL)
		rama_cli_opts_usage(o, "-o and --%s=FILE exclude each other",
				    rama_tab_options[view->option].name);
	return file != NULL ? file : output;
}

static struct rama_path_ask ask_of(const struct rama_cli_opts *o)
{
	int64_t call = rama_cli_opts_number(o, RAMA_TAB_OPT_path_call, 1, INT64_MAX, 0);

	if (o->n_args == 0)
		rama_cli_opts_usage(o, rama_cli_opts_has(o, RAMA_TAB_OPT_path_store)
					       ? "no job given"
					       : "no log given");
	place_of(o);
	return (struct rama_path_ask){ .rank = rama_cli_opts_number(o, RAMA_TAB_OPT_path_rank, 0,
								    INT64_MAX, -1),
				       .call = call > 0 ? (size_t)call - 1 : RAMA_PATH_NONE,
				       .file = rama_cli_opts_value(o, RAMA_TAB_OPT_path_file),
				       .from = moment_of(o, RAMA_TAB_OPT_path_from, 0),
				       .to = moment_of(o, RAMA_TAB_OPT_path_to, INT64_MAX),
				       .most = (size_t)rama_cli_opts_number(
					       o, RAMA_TAB_OPT_path_slowest, 1, INT64_MAX, SLOWEST),
				       .form = form_of(o) };
}

static void show_progress(void *ctx, const struct rama_log_cursor *c)
{
	rama_cli_progress(ctx, c);
}

static int print(const struct rama_cli_opts *o, const struct rama_path *p,
		 const struct rama_path_ask *ask, struct rama_out *out)
{
	const struct view *view = view_of(o);

	if (view != NULL)
		return view->print(p, ask, out);
	return ask->form != RAMA_ROWS_TEXT ? rama_path_print_calls(p, ask, out)
					   : rama_path_print_tree(p, ask, out);
}

/* every call of all logs, joined; 0 or the exit status after the reason was printed */
static int read_all(struct rama_path *p, struct rama_cli_input *in, size_t n,
		    const struct rama_path_ask *ask)
{
	struct rama_err e = { 0 };
	const char *where = in[0].path;
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		where = in[i].path;
		rc = rama_path_read(p, &in[i].log, show_progress, &in[i], &e);
	}
	rama_cli_progress_end();
	if (rc == 0 && rama_path_join(p, p->end) != 0)
		rc = rama_err_no_memory(&e);
	if (rc == 0 && ask->call != RAMA_PATH_NONE && ask->call >= p->n)
		rc = rama_err_set(&e, RAMA_EMISSING, "it has no call %zu; they go up to %zu",
				  ask->call + 1, p->n);
	if (rc == 0)
		return 0;
	rama_cli_complain(where, "%s", e.text);
	return rc == RAMA_EMISSING ? 3 : rama_err_status(rc);
}

static int tell(const struct rama_cli_opts *o, struct rama_cli_input *in, size_t n,
		const struct rama_path_ask *ask)
{
	struct rama_path p = { 0 };
	const char *place;
	struct rama_out out;
	int status = read_all(&p, in, n, ask), rc;

	if (status != 0) {
		rama_path_fini(&p);
		return status;
	}
	place = place_of(o);
	if (place == NULL || strcmp(place, "-") == 0) {
		rama_cli_stdout_begin(&out);
		rc = print(o, &p, ask, &out);
		status = rama_cli_stdout_end(&out);
	} else {
		rama_out_init(&out, NULL, NULL);
		rc = print(o, &p, ask, &out);
		status = rc == 0 ? rama_cli_paper_write(&out, place) : 0;
		rama_out_fini(&out);
	}
	rama_path_fini(&p);
	if (rc != 0 && rc != RAMA_ESTOPPED && status == 0) {
		rama_cli_complain("path", "%s", rama_err_text(rc));
		return rama_err_status(rc);
	}
	for (size_t i = 0; i < n && status == 0; i++)
		status = rama_cli_input_status(&in[i]);
	return status;
}

/* ---- where logs are -------------------------------------------------------------------------- */

struct logs {
	struct rama_cli_input *in;
	struct rama_study_stored *stored; /* of a store: what each input is of */
	size_t n, room;
	bool quiet;
};

static int no_memory(void)
{
	rama_cli_complain("path", "%s", rama_err_text(RAMA_EMEMORY));
	return rama_err_status(RAMA_EMEMORY);
}

static bool has_room(struct logs *l, size_t n)
{
	struct rama_cli_input *in = calloc(n, sizeof(*in));

	l->stored = calloc(n, sizeof(*l->stored));
	l->in = in;
	l->room = n;
	return l->in != NULL && l->stored != NULL;
}

static int open_files(struct logs *l, const struct rama_cli_opts *o)
{
	int rc = has_room(l, o->n_args) ? 0 : no_memory();

	while (rc == 0 && l->n < o->n_args) {
		rc = rama_cli_input_open(&l->in[l->n], rama_cli_input_named(o->args[l->n]), false,
					 l->quiet);
		l->n += rc == 0;
	}
	return rc;
}

/* the log of l->stored[l->n]; a job of which a file or segments are left has no bytes here */
static int open_stored(struct logs *l)
{
	struct rama_study_stored *s = &l->stored[l->n];
	struct rama_cli_input *in = &l->in[l->n];
	int rc = s->bytes != NULL ? rama_cli_input_memory(in, s->path, s->bytes, s->len, l->quiet)
				  : rama_cli_input_open(in, s->path, false, l->quiet);

	if (rc == 0)
		l->n++;
	else
		rama_study_stored_fini(s);
	return rc;
}

static bool is_there(const struct logs *l, int64_t job)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->stored[i].job == job)
			return true;
	return false;
}

/* Logs of daemons and servers beside the job; what cannot be read of them is not asked for. */
static void open_beside(struct logs *l, struct rama_store *store, const int64_t *jobs, size_t n)
{
	for (size_t i = 0; i < n && l->n < l->room; i++) {
		struct rama_err e = { 0 };

		if (is_there(l, jobs[i]) ||
		    rama_study_stored_get(store, jobs[i], "", &l->stored[l->n], &e) != 0)
			continue;
		if (l->stored[l->n].bytes == NULL || open_stored(l) != 0)
			continue;
		if (!rama_path_serves(&l->in[l->n - 1].log)) {
			rama_cli_input_close(&l->in[--l->n]);
			rama_study_stored_fini(&l->stored[l->n]);
		}
	}
}

/* What servers of others did for the user; it is his, and theirs is not. */
static void open_served(struct logs *l, struct rama_study_stored *served, size_t n, bool wanted)
{
	for (size_t i = 0; i < n; i++) {
		if (wanted && l->n < l->room) {
			l->stored[l->n] = served[i];
			open_stored(l); /* as above */
		} else {
			rama_study_stored_fini(&served[i]);
		}
	}
	free(served);
}

/* What a store has of the words, which may name several steps each; how many logs, or 0: *rc says
 * why. */
static size_t find_sets(struct rama_study_stored_set *sets, const struct rama_cli_opts *o,
			struct rama_store *store, int *rc)
{
	size_t total = 0;

	for (size_t i = 0; i < o->n_args && *rc == 0; i++) {
		struct rama_err e = { 0 };

		*rc = rama_study_stored_set_find(store, o->args[i], "", &sets[i], &e);
		if (*rc != 0)
			rama_cli_complain(o->args[i], "%s", e.text);
		total += sets[i].n;
	}
	*rc = *rc == RAMA_EMISSING ? 3 : *rc != 0 ? rama_err_status(*rc) : 0;
	return *rc == 0 ? total : 0;
}

static int open_sets(struct logs *l, struct rama_study_stored_set *sets, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sets[i].n && rc == 0; k++) {
			l->stored[l->n] = sets[i].it[k];
			sets[i].it[k] = (struct rama_study_stored){ .job = -1 }; /* it is moved */
			rc = open_stored(l);
		}
	return rc;
}

static int open_jobs(struct logs *l, const struct rama_cli_opts *o, struct rama_store *store)
{
	struct rama_study_stored_set *sets = calloc(o->n_args, sizeof(*sets));
	struct rama_study_stored *served = NULL;
	int64_t *jobs = NULL;
	struct rama_err e = { 0 };
	size_t n = 0, n_served = 0, total;
	int rc = 0;

	if (sets == NULL)
		return no_memory();
	total = find_sets(sets, o, store, &rc);
	if (rc == 0 &&
	    (rama_study_stored_beside(store, sets[0].job, &jobs, &n, &e) != 0 ||
	     rama_study_stored_served(store, sets[0].job, &served, &n_served, &e) != 0)) {
		rama_cli_complain(o->args[0], "%s", e.text);
		rc = rama_err_status(e.code);
	}
	if (rc == 0 && !has_room(l, total + n + n_served))
		rc = no_memory();
	if (rc == 0)
		rc = open_sets(l, sets, o->n_args);
	if (rc == 0)
		open_beside(l, store, jobs, n);
	open_served(l, served, n_served, rc == 0);
	for (size_t i = 0; i < o->n_args; i++)
		rama_study_stored_set_fini(&sets[i]);
	free(sets);
	free(jobs);
	return rc;
}

static void close_logs(struct logs *l)
{
	while (l->n > 0) {
		rama_cli_input_close(&l->in[--l->n]);
		rama_study_stored_fini(&l->stored[l->n]);
	}
	free(l->in);
	free(l->stored);
}

int rama_cli_cmd_path(int argc, char **argv)
{
	struct rama_store *store = NULL;
	struct rama_path_ask ask;
	struct rama_cli_opts o;
	struct logs l = { 0 };
	int rc = 0;

	rama_cli_opts_parse(&o, RAMA_TAB_CMD_path, argc, argv);
	ask = ask_of(&o);
	l.quiet = rama_cli_opts_has(&o, RAMA_TAB_OPT_path_quiet);
	if (rama_cli_opts_has(&o, RAMA_TAB_OPT_path_store)) {
		rc = rama_cli_store_here(&store, &o, RAMA_TAB_OPT_path_store, RAMA_STORE_READ);
		if (rc == 0)
			rc = open_jobs(&l, &o, store);
	} else {
		rc = open_files(&l, &o);
	}
	if (rc == 0) {
		rama_cli_progress_start(!l.quiet);
		rc = tell(&o, l.in, l.n, &ask);
	}
	close_logs(&l);
	if (store != NULL)
		rama_store_close(store);
	rama_cli_opts_fini(&o);
	return rc;
}
