/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_run.c: iorama run */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "cli/run/line.h"
#include "cli/run/summary.h"
#include "cli/run/told.h"
#include "cli/terminal.h"
#include "launch/run/repeat.h"
#include "study/runs.h"

struct command {
	struct rama_cli_opts o;
	bool quiet, json;
	char store[PATH_MAX], log[PATH_MAX];
	struct rama_cli_run_line *line;
	struct rama_launch_run run;
};

/* ---- what is asked for ---------------------------------------------------------------------- */

/* --store, --tag and --no-index say something about --live */
static int check_live(struct command *c)
{
	static const enum rama_tab_option_id only[] = { RAMA_TAB_OPT_run_store,
							RAMA_TAB_OPT_run_tag,
							RAMA_TAB_OPT_run_noindex };
	const char *tag = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_run_tag);

	if (rama_cli_opts_has(&c->o, RAMA_TAB_OPT_run_live)) {
		struct rama_err e = { 0 };

		if (rama_launch_live_possible(&e) != 0) {
			rama_cli_complain("run", "%s", e.text);
			return rama_err_status(e.code);
		}
		if (tag != NULL && !rama_launch_run_is_tag(tag))
			rama_cli_opts_usage(
				&c->o, "a tag has up to 63 letters, digits and ._-, not '%s'", tag);
		return rama_cli_store_place(&c->o, RAMA_TAB_OPT_run_store, c->store) ? 0 : 4;
	}
	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++)
		if (rama_cli_opts_has(&c->o, only[i]))
			rama_cli_opts_usage(&c->o, "--store, --tag and --no-index need --live");
	return 0;
}

static int read_options(struct command *c)
{
	static const struct rama_cli_log_options log = { RAMA_TAB_OPT_run_output,
							 RAMA_TAB_OPT_run_dir,
							 RAMA_TAB_OPT_run_force };
	struct rama_cli_opts *o = &c->o;
	int status;

	c->run.asked = (struct rama_launch_asked){
		.args = o->args,
		.library = rama_cli_opts_value(o, RAMA_TAB_OPT_run_library),
		.memory = rama_cli_memory_of(o, RAMA_TAB_OPT_run_memory),
		.files = rama_cli_memory_of(o, RAMA_TAB_OPT_run_files),
		.jobid = rama_cli_opts_number(o, RAMA_TAB_OPT_run_jobid, 0, INT64_MAX, -1),
		.trace = rama_cli_opts_has(o, RAMA_TAB_OPT_run_trace),
		.path = rama_cli_opts_has(o, RAMA_TAB_OPT_run_path),
		.live = rama_cli_opts_has(o, RAMA_TAB_OPT_run_live),
		.keep = rama_cli_opts_has(o, RAMA_TAB_OPT_run_keep),
		.tag = rama_cli_opts_value(o, RAMA_TAB_OPT_run_tag),
		.no_index = rama_cli_opts_has(o, RAMA_TAB_OPT_run_noindex),
		.store = c->store,
		.count_first = c->json,
	};
	if (rama_cli_opts_has(o, RAMA_TAB_OPT_run_any) &&
	    !rama_any_mode_read(rama_cli_opts_value(o, RAMA_TAB_OPT_run_any), &c->run.asked.any))
		rama_cli_opts_usage(o, "--any takes auto or all, not '%s'",
				    rama_cli_opts_value(o, RAMA_TAB_OPT_run_any));
	status = check_live(c);
	if (status != 0)
		return status;
	c->run.asked.log = rama_cli_log_place(o, &log);
	if (c->log[0] != '\0')
		c->run.asked.log.file = c->log;
	if (!rama_cli_globs_of(o, RAMA_TAB_OPT_run_exclude, &c->run.asked.exclude) ||
	    !rama_cli_globs_of(o, RAMA_TAB_OPT_run_include, &c->run.asked.include)) {
		rama_cli_complain("run", "out of memory");
		return 4;
	}
	return 0;
}

/* ---- --dry-run ------------------------------------------------------------------------------ */

static void print_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-./:=,+@%";

	if (*word != '\0' && word[strspn(word, plain)] == '\0') {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (; *word != '\0'; word++) {
		if (*word == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*word);
	}
	putchar('\'');
}

/* the variables and words that a shell would need to do the same */
static void print_plan(const struct rama_launch_run *r)
{
	if (r->kind.why != RAMA_UNSEEN_NOT)
		rama_cli_complain(
			r->program, "%s: it would run, but not be observed%s",
			rama_unseen_one(r->kind.why),
			r->kind.why == RAMA_UNSEEN_STATIC
				? " unless it was linked with `iorama config --static-ldflags`"
				: "");
	for (size_t i = r->plan.preload ? 0 : 1; i < r->n_vars; i++) {
		if (i == 0 && r->var[i].value[0] == '\0')
			continue;
		printf("%s=", r->var[i].name);
		print_word(r->var[i].value);
		putchar('\n');
	}
	for (size_t i = 0; r->plan.argv[i] != NULL; i++) {
		if (i > 0)
			putchar(' ');
		print_word(r->plan.argv[i]);
	}
	putchar('\n');
}

/* ---- what is told --------------------------------------------------------------------------- */

static void begun(void *ctx, const char *dir)
{
	struct command *c = ctx;

	c->line = !c->quiet && !c->json ? rama_cli_run_line_create(dir) : NULL;
}

static void second(void *ctx)
{
	struct command *c = ctx;

	if (c->line != NULL)
		rama_cli_run_line_second(c->line);
}

static void wait_for(void *ctx, const char *what)
{
	struct command *c = ctx;

	if (c->line != NULL)
		rama_cli_run_line_say(c->line, what);
}

static void hide(void *ctx)
{
	struct command *c = ctx;

	if (c->line != NULL)
		rama_cli_run_line_hide(c->line);
}

static void ended(void *ctx, const struct rama_launch_outcome *o)
{
	struct command *c = ctx;

	if (!c->quiet)
		rama_cli_run_summary(o, &c->o, c->json);
}

static void counted(void *ctx, const struct rama_launch_live *live)
{
	struct command *c = ctx;

	rama_cli_run_live_text(live, c->quiet);
}

/* Where standard streams are closed, our own files would take their numbers. The command still
 * finds them closed. */
static void fill_streams(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
			return;
}

static int run(struct command *c)
{
	struct rama_err e = { 0 };
	int rc = rama_launch_run_prepare(&c->run, &e), status = rama_err_status(rc);

	if (rc == 0 && rama_cli_opts_has(&c->o, RAMA_TAB_OPT_run_dry))
		print_plan(&c->run);
	else if (rc == 0)
		status = rama_launch_run(&c->run, &e);
	if (rc == RAMA_EUSAGE && e.code != 0) {
		rama_launch_run_fini(&c->run);
		rama_cli_opts_usage(&c->o, "%s", e.text);
	}
	if (e.code != 0)
		rama_cli_complain("run", "%s", e.text);
	return status >= 0 ? status : 4;
}

/* --repeat: false, and the exit status, where all of it was done by others; else this is a run, and
 * c->log its log */
static bool is_one(struct command *c, int *status)
{
	const char *text = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_run_repeat), *dir;
	struct rama_err e = { 0 };
	char *end;
	long times;
	int which;

	if (text == NULL || rama_cli_opts_has(&c->o, RAMA_TAB_OPT_run_dry))
		return true;
	times = strtol(text, &end, 10);
	dir = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_run_output);
	if (*text == '\0' || *end != '\0' || times < 1 || times > RAMA_LAUNCH_REPEAT_MOST)
		rama_cli_opts_usage(&c->o, "--repeat takes a number from 1 to %d, not '%s'",
				    RAMA_LAUNCH_REPEAT_MOST, text);
	if (dir == NULL)
		rama_cli_opts_usage(&c->o, "--repeat needs -o DIR, a directory for the logs");
	which = rama_study_runs_place(dir, &e) == 0 ? rama_launch_repeat(times, status, &e) : -1;
	if (e.code != 0) {
		rama_cli_complain("run", "%s", e.text);
		*status = 4;
	} else if (which == 0 && *status == 0 && !c->quiet && !c->json) {
		rama_study_runs_tell(dir, c->log, sizeof(c->log));
		text = rama_cli_terminal_words(c->log); /* for good */
		fprintf(stderr, "iorama: %s\n", text);
	}
	if (which > 0)
		snprintf(c->log, sizeof(c->log), "%s/%d.darshan", dir, which);
	return which > 0;
}

int rama_cli_cmd_run(int argc, char **argv)
{
	struct command *c = calloc(1, sizeof(*c));
	int status;

	if (c == NULL) {
		rama_cli_complain("run", "out of memory");
		return 4;
	}
	fill_streams();
	rama_cli_opts_parse(&c->o, RAMA_TAB_CMD_run, argc, argv);
	if (c->o.n_args == 0)
		rama_cli_opts_usage(&c->o, "which command? none is given");
	c->quiet = rama_cli_opts_has(&c->o, RAMA_TAB_OPT_run_quiet);
	c->json = rama_cli_opts_has(&c->o, RAMA_TAB_OPT_run_json);
	c->run.told = rama_cli_launch_told(c->quiet, c);
	c->run.live.told = (struct rama_launch_live_told){ begun, second, wait_for, hide, c };
	c->run.ended = ended;
	c->run.counted = counted;
	if (is_one(c, &status)) {
		status = read_options(c);
		if (status == 0)
			status = run(c);
	}
	rama_cli_run_line_destroy(c->line);
	rama_launch_run_fini(&c->run);
	free((void *)c->run.asked.exclude.glob);
	free((void *)c->run.asked.include.glob);
	rama_cli_opts_fini(&c->o);
	free(c);
	return status;
}
