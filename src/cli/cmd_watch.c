/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_watch.c: iorama watch */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "launch/place.h"
#include "cli/open_store.h"
#include "cli/terminal.h"
#include "cli/watch/screen.h"
#include "study/moments.h"
#include "look/dirs.h"

#define LINGER 5.0 /* s that what has ended stays on the screen */

struct watch {
	struct rama_cli_opts o;
	const char *word; /* JOB or PID; NULL: all */
	double interval;
	enum rama_look_watch_sort sort;
	bool sorted; /* by the user's wish */
	struct rama_cli_terminal t;
	struct rama_look_dirs dirs;
	char place[512];
	struct rama_store *store; /* NULL: this machine is looked at */
	struct rama_look *l;
};

/* ---- what is asked for ----------------------------------------------------------------------- */

static void find_interval(struct watch *w)
{
	const char *text = rama_cli_opts_value(&w->o, RAMA_TAB_OPT_watch_interval);
	char *end;

	w->interval = 1;
	if (text == NULL)
		return;
	w->interval = strtod(text, &end);
	if (*text == '\0' || *end != '\0' || !(w->interval >= 0.1 && w->interval <= 3600))
		rama_cli_opts_usage(&w->o, "--interval takes seconds, 0.1 to 3600, not '%s'", text);
}

static void find_sort(struct watch *w)
{
	const char *text = rama_cli_opts_value(&w->o, RAMA_TAB_OPT_watch_sort);

	w->sort = RAMA_LOOK_SORT_RATE;
	if (text == NULL)
		return;
	for (unsigned i = 0; i < RAMA_LOOK_SORTS; i++)
		if (strcmp(text, rama_look_watch_sort_name[i]) == 0) {
			w->sort = (enum rama_look_watch_sort)i;
			w->sorted = true;
		}
	if (!w->sorted)
		rama_cli_opts_usage(
			&w->o,
			"--sort takes rate, ops, latency, longest, io, moved or name, not '%s'",
			text);
}

static void find_dirs(struct watch *w)
{
	const char *chosen = rama_cli_opts_setting(RAMA_TAB_SET_DIR),
		   *given = rama_cli_opts_value(&w->o, RAMA_TAB_OPT_watch_dir);

	if (given != NULL && access(given, R_OK | X_OK) != 0)
		rama_cli_opts_usage(&w->o, "--dir %s: %s", given, strerror(errno));
	rama_look_dirs_find(&w->dirs, given != NULL ? given : chosen);
	for (size_t i = 0; i < w->dirs.n; i++) {
		size_t n = strlen(w->place);

		snprintf(w->place + n, sizeof(w->place) - n, "%s%s", n > 0 ? ", " : "",
			 w->dirs.path[i]);
	}
	if (w->dirs.n == 0)
		snprintf(w->place, sizeof(w->place), "/dev/shm/iorama-*, /tmp/iorama-*");
}

/* ---- looking --------------------------------------------------------------------------------- */

/* at what agents told a store; 0, or the exit status */
static int start_stored(struct watch *w)
{
	struct rama_err e = { 0 };
	char where[PATH_MAX], shown[PATH_MAX];
	int status =
		rama_cli_store_here(&w->store, &w->o, RAMA_TAB_OPT_watch_store, RAMA_STORE_READ);

	if (status != 0)
		return status;
	if (rama_cli_store_place(&w->o, RAMA_TAB_OPT_watch_store, where))
		snprintf(w->place, sizeof(w->place), "%.500s", rama_store_shown(where, shown));
	if (rama_study_moments_open(&w->l, w->store, &e) == 0)
		return 0;
	rama_cli_complain("watch", "%s", e.text);
	return rama_err_status(e.code);
}

static int start(struct watch *w)
{
	struct rama_look_options o = { .dir = (const char *const *)w->dirs.path,
				       .n_dirs = w->dirs.n,
				       .uid = geteuid() == 0 ? UINT32_MAX : (uint32_t)geteuid(),
				       .linger = LINGER };
	struct rama_err e = { 0 };

	if (rama_look_create(&w->l, &o, &e) == 0)
		return 0;
	rama_cli_complain("watch", "%s", e.text);
	return rama_err_status(e.code);
}

static void wait_interval(double s)
{
	struct timespec t = { .tv_sec = (time_t)s, .tv_nsec = (long)((s - floor(s)) * 1e9) };

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		continue;
}

/* one look, or the difference to the next one */
static int take(struct watch *w, struct rama_err *e)
{
	const struct rama_look_process *p;
	int rc = 0;

	if (w->l->takes == 0 && w->store == NULL)
		rc = rama_look_take(w->l, e);
	if (w->l->takes > 0)
		wait_interval(w->interval);
	if (rc == 0)
		rc = rama_look_take(w->l, e);
	if (rc == 0 && w->word != NULL && !rama_look_watch_choose(w->l, w->word, &p))
		rc = rama_err_set(
			e, RAMA_EMISSING,
			"no job or process %s runs here; `iorama watch%s --once` lists them",
			w->word, w->store != NULL ? " --store" : "");
	return rc;
}

/* Without end a reader that goes away ends it; that is no failure. */
static int print(struct watch *w, bool json, bool once)
{
	struct rama_out out;
	struct rama_err e = { 0 };
	int rc;

	rama_out_init(&out, rama_file_to_stdout, NULL);
	do {
		struct rama_look_page p;

		rc = take(w, &e);
		if (rc == 0 && json) {
			rc = rama_look_watch_json(&out, w->l, &e);
		} else if (rc == 0) {
			rama_look_page_init(&p, w->t.width, 0, w->t.utf8);
			rc = rama_look_watch_text(&p, w->l, w->place, w->sort, &e);
			rama_look_page_print(&p, &out, w->t.colour);
			rama_look_page_fini(&p);
		}
		if (rc == 0 && rama_out_flush(&out) != 0)
			break;
	} while (rc == 0 && !once);
	if (rc == 0 && out.error != 0 && out.error != RAMA_ESTOPPED)
		rc = rama_err_set(&e, out.error, "standard output: %s", rama_err_text(out.error));
	rama_out_fini(&out);
	if (rc == 0)
		return 0;
	rama_cli_complain("watch", "%s", e.text);
	return rama_err_status(rc);
}

/* a job or process that was asked for is shown at once, not in the list of all */
#ifdef RAMA_WITHOUT_NCURSESW
static int screen(struct watch *w)
{
	rama_cli_complain("watch", "this iorama was built without a screen (ncurses)");
	return print(w, false, true);
}
#else
static int screen(struct watch *w)
{
	enum rama_look_watch_sort ranks = w->sorted ? w->sort : RAMA_LOOK_SORT_NAME;
	struct rama_look_watch_view v = { .sort = { w->sort, ranks, w->sort } };
	struct rama_look_watch_about a = { .interval = w->interval,
					   .ascii = !w->t.utf8,
					   .place = w->place };
	const struct rama_look_process *p = NULL;
	struct rama_err e = { 0 };

	if (w->word != NULL) {
		if (rama_look_take(w->l, &e) != 0 || !rama_look_watch_choose(w->l, w->word, &p)) {
			rama_cli_complain("watch", "%s",
					  e.code != 0 ? e.text
						      : "no such job or process runs here");
			return e.code != 0 ? rama_err_status(e.code) : 3;
		}
		if (p != NULL || w->l->n == 1) {
			v.kind = p != NULL ? RAMA_LOOK_WATCH_FILES : RAMA_LOOK_WATCH_RANKS;
			v.process = p != NULL ? p->number : 0;
			snprintf(v.job, sizeof(v.job), "%s", w->l->job[0]->key);
		}
	}
	return rama_cli_watch_screen(w->l, &v, &a, w->word, w->t.colour);
}
#endif

/* each process that is looked at takes memory maps, no descriptors; directories are open one at
 * a time */
int rama_cli_cmd_watch(int argc, char **argv)
{
	struct watch w = { 0 };
	bool once, json;
	int status;

	signal(SIGPIPE, SIG_IGN);
	rama_cli_opts_parse(&w.o, RAMA_TAB_CMD_watch, argc, argv);
	if (w.o.n_args > 1)
		rama_cli_opts_usage(&w.o, "one job or process at a time, not %zu", w.o.n_args);
	w.word = w.o.n_args == 1 ? w.o.args[0] : NULL;
	json = rama_cli_opts_has(&w.o, RAMA_TAB_OPT_watch_json);
	once = rama_cli_opts_has(&w.o, RAMA_TAB_OPT_watch_once);
	find_interval(&w);
	find_sort(&w);
	w.t = rama_cli_terminal_of(&w.o, RAMA_TAB_OPT_watch_width, RAMA_TAB_OPT_watch_color, false);
	if (rama_cli_opts_has(&w.o, RAMA_TAB_OPT_watch_store)) {
		status = start_stored(&w);
	} else {
		find_dirs(&w);
		status = start(&w);
	}
	if (status == 0 && (json || once || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)))
		status = print(&w, json, once || !json);
	else if (status == 0)
		status = screen(&w);
	if (w.store != NULL)
		rama_study_moments_close(w.l);
	else
		rama_look_destroy(w.l);
	rama_store_close(w.store);
	rama_look_dirs_fini(&w.dirs);
	rama_cli_opts_fini(&w.o);
	return status;
}
