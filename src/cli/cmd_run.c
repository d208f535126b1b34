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
#include "cli/run/child.h"
#include "cli/open_store.h"
#include "cli/run/find.h"
#include "cli/run/live.h"
#include "cli/run/log.h"
#include "cli/run/made.h"
#include "cli/run/summary.h"
#include "cli/run/take.h"
#include "cli/run/vars.h"
#include "config/jobid.h"

extern char **environ;

#define TAG_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

#define VARS_MOST 13

/* one observed command */
struct run {
	struct rama_cli_opts o;
	bool quiet, json;
	struct rama_cli_log_place log;
	struct rama_cli_job_place place;
	struct rama_cli_made made;
	char library[PATH_MAX];
	int64_t jobid;
	struct rama_arena arena;
	struct rama_cli_launch_var var[VARS_MOST]; /* the first is LD_PRELOAD */
	size_t n_vars;
	struct rama_cli_launch launch;
	char **envp;
	struct rama_cli_child child;
	size_t left;		/* processes that still run */
	char program[PATH_MAX]; /* file of the command, or of its interpreter */
	struct rama_program kind;
	/* of the first word, or where that starts ranks elsewhere, of theirs: what LD_PRELOAD
	 * has to be like */
	struct rama_program preloaded;
	char unobserved[PATH_MAX + 200];
	struct {
		enum rama_unseen why; /* NOT: the command was observed */
		struct rama_log_unseen_sum sum;
	} unseen;
	struct rama_cli_run_live live;
	struct rama_seg_tally tally; /* what processes counted that had no room */
};

/* ---- before --------------------------------------------------------------------------------- */

static int no_memory(void)
{
	rama_cli_complain("run", "out of memory");
	return 4;
}

static const char *look(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

static void find_jobid(struct run *r)
{
	const char *text = rama_cli_opts_value(&r->o, RAMA_TAB_OPT_run_jobid);
	const char *named = getenv("DARSHAN_JOBID");
	struct rama_config_jobid job;
	char *end;

	r->jobid = getpid();
	if (text != NULL) {
		errno = 0;
		r->jobid = strtoll(text, &end, 10);
		if (*text == '\0' || *end != '\0' || errno != 0 || r->jobid < 0)
			rama_cli_opts_usage(&r->o, "--job-id takes a number, not '%s'", text);
	} else if (rama_config_jobid_find(&job, named != NULL ? named : "", look, NULL)) {
		r->jobid = job.id;
	}
}

static int add_var(struct run *r, const char *name, const char *value)
{
	char *copy = value != NULL ? rama_arena_text(&r->arena, value, strlen(value)) : NULL;

	if (copy == NULL)
		return no_memory();
	r->var[r->n_vars++] = (struct rama_cli_launch_var){ name, copy };
	return 0;
}

/* Everything that the first word starts sees to its own children; only the first is ours to see
 * to. */
static int add_preload(struct run *r, const struct rama_cli_launch_in *in)
{
	size_t launcher = rama_cli_launch_parallel(in);
	char path[PATH_MAX];
	int status;

	if (launcher < r->o.n_args)
		rama_cli_find_rank_program(&r->o.args[launcher + 1], &r->preloaded);
	else if (rama_cli_find_program(r->o.args[0], path))
		rama_program_look(&r->preloaded, AT_FDCWD, path);
	status = add_var(r, "LD_PRELOAD",
			 rama_cli_vars_preload(r->library, &r->preloaded, &r->arena));
	if (status == 0 && r->preloaded.first[0] != '\0' && r->preloaded.why == RAMA_UNSEEN_NOT)
		status = add_var(r, "IORAMA_RUNTIME", r->preloaded.first);
	return status;
}

static int add_globs(struct run *r, const char *name, enum rama_tab_option_id option)
{
	if (!rama_cli_opts_has(&r->o, option))
		return 0;
	return add_var(r, name, rama_cli_vars_globs(&r->o, name, option, &r->arena));
}

static int add_trace(struct run *r)
{
	const char *memory = rama_cli_opts_value(&r->o, RAMA_TAB_OPT_run_memory);

	if (memory != NULL && add_var(r, "IORAMA_TRACE_MEMORY", memory) != 0)
		return 4;
	return rama_cli_opts_has(&r->o, RAMA_TAB_OPT_run_trace) || memory != NULL
		       ? add_var(r, "IORAMA_TRACE", "1")
		       : 0;
}

static int add_live(struct run *r)
{
	const char *tag = rama_cli_opts_value(&r->o, RAMA_TAB_OPT_run_tag);

	if (!rama_cli_opts_has(&r->o, RAMA_TAB_OPT_run_live))
		return 0;
	if (tag != NULL && add_var(r, "IORAMA_LIVE_TAG", tag) != 0)
		return 4;
	return add_var(r, "IORAMA_LIVE", "1");
}

static int make_vars(struct run *r, const struct rama_cli_launch_in *in)
{
	char number[24];
	int status = add_preload(r, in);

	snprintf(number, sizeof(number), "%lld", (long long)r->jobid);
	if (status == 0)
		status = add_var(r, "IORAMA_DIR", r->place.root);
	if (status == 0)
		status = add_var(r, "IORAMA_JOB", r->place.job);
	if (status == 0)
		status = add_var(r, "IORAMA_JOBID", number);
	if (status == 0)
		status = add_var(r, "IORAMA_RUN_HOST", r->made.host);
	if (status == 0)
		status = add_var(r, "IORAMA_RUN_LOG", r->made.told);
	if (status == 0)
		status = add_trace(r);
	if (status == 0)
		status = add_live(r);
	if (status == 0)
		status = add_globs(r, "IORAMA_EXCLUDE", RAMA_TAB_OPT_run_exclude);
	if (status == 0)
		status = add_globs(r, "IORAMA_INCLUDE", RAMA_TAB_OPT_run_include);
	return status;
}

static bool is_ours(const struct run *r, const char *entry)
{
	for (size_t i = 0; i < r->n_vars; i++) {
		size_t n = strlen(r->var[i].name);

		/* what a launcher hands on by itself it must not have */
		if (strncmp(entry, r->var[i].name, n) == 0 && entry[n] == '=')
			return i > 0 || r->launch.preload;
	}
	return false;
}

static int make_environment(struct run *r)
{
	size_t n = 0, k = 0;

	while (environ[n] != NULL)
		n++;
	r->envp = rama_arena_alloc(&r->arena, (n + r->n_vars + 1) * sizeof(*r->envp));
	if (r->envp == NULL)
		return no_memory();
	for (size_t i = 0; i < n; i++)
		if (!is_ours(r, environ[i]))
			r->envp[k++] = environ[i];
	for (size_t i = r->launch.preload ? 0 : 1; i < r->n_vars; i++) {
		size_t size = strlen(r->var[i].name) + strlen(r->var[i].value) + 2;
		char *entry = rama_arena_alloc(&r->arena, size);

		if (entry == NULL)
			return no_memory();
		if (i == 0 && r->var[i].value[0] == '\0')
			continue; /* there is nothing to preload */
		snprintf(entry, size, "%s=%s", r->var[i].name, r->var[i].value);
		r->envp[k++] = entry;
	}
	r->envp[k] = NULL;
	return 0;
}

/* What is known of the program before it runs; only used if it leaves no data. */
static void look_at_program(struct run *r)
{
	if (rama_cli_find_program(r->launch.argv[r->launch.program], r->program))
		rama_cli_find_kind(r->program, &r->kind);
	if (r->launch.kind == RAMA_CLI_LAUNCH_ELSEWHERE && !r->quiet)
		rama_cli_complain(
			r->launch.argv[r->launch.program],
			"has the work done by another process, which is not observed; put "
			"iorama run in front of the command there");
}

/* --store, --tag and --no-index say something about --live */
static int check_live(struct run *r)
{
	static const enum rama_tab_option_id only[] = { RAMA_TAB_OPT_run_store,
							RAMA_TAB_OPT_run_tag,
							RAMA_TAB_OPT_run_noindex };
	const char *tag = rama_cli_opts_value(&r->o, RAMA_TAB_OPT_run_tag);

	if (rama_cli_opts_has(&r->o, RAMA_TAB_OPT_run_live)) {
		if (tag != NULL &&
		    (*tag == '\0' || strlen(tag) > 63 || tag[strspn(tag, TAG_LETTERS)] != '\0'))
			rama_cli_opts_usage(
				&r->o, "a tag has up to 63 letters, digits and ._-, not '%s'", tag);
		return rama_cli_store_place(&r->o, RAMA_TAB_OPT_run_store, r->live.store) ? 0 : 4;
	}
	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++)
		if (rama_cli_opts_has(&r->o, only[i]))
			rama_cli_opts_usage(&r->o, "--store, --tag and --no-index need --live");
	return 0;
}

static int prepare(struct run *r)
{
	static const struct rama_cli_log_options_of options = { RAMA_TAB_OPT_run_output,
								RAMA_TAB_OPT_run_dir,
								RAMA_TAB_OPT_run_force };
	struct rama_cli_launch_in in = { .argv = (char *const *)r->o.args,
					 .family = rama_cli_find_family };
	struct rama_err e = { 0 };
	const char *refused;
	int status;

	refused = rama_cli_launch_refused(&in);
	if (refused != NULL) {
		rama_cli_complain(refused,
				  "takes the preload away, so that nothing could be observed; put "
				  "iorama inside: %s iorama run …",
				  refused);
		return 2;
	}
	rama_cli_vars_check_memory(&r->o, RAMA_TAB_OPT_run_memory);
	find_jobid(r);
	status = check_live(r);
	if (status == 0)
		status = rama_cli_log_place_init(&r->log, &r->o, &options);
	if (status != 0)
		return status;
	if (rama_cli_find_library(rama_cli_opts_value(&r->o, RAMA_TAB_OPT_run_library), r->library,
				  &e) != 0 ||
	    rama_cli_place_make(&r->place, &e) != 0 ||
	    rama_cli_made_init(&r->made, &r->log, r->place.job, &e) != 0) {
		rama_cli_complain("run", "%s", e.text);
		return 4;
	}
	status = make_vars(r, &in);
	in.vars = r->var;
	in.n_vars = r->n_vars;
	if (status == 0 && rama_cli_launch_plan(&r->launch, &in, &r->arena) != 0)
		status = no_memory();
	if (status == 0)
		status = make_environment(r);
	if (status == 0)
		look_at_program(r);
	return status;
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
static void print_plan(const struct run *r)
{
	if (r->kind.why != RAMA_UNSEEN_NOT)
		rama_cli_complain(
			r->program, "%s: it would run, but not be observed%s",
			rama_unseen_one(r->kind.why),
			r->kind.why == RAMA_UNSEEN_STATIC
				? " unless it was linked with `iorama config --static-ldflags`"
				: "");
	for (size_t i = r->launch.preload ? 0 : 1; i < r->n_vars; i++) {
		if (i == 0 && r->var[i].value[0] == '\0')
			continue;
		printf("%s=", r->var[i].name);
		print_word(r->var[i].value);
		putchar('\n');
	}
	for (size_t i = 0; r->launch.argv[i] != NULL; i++) {
		if (i > 0)
			putchar(' ');
		print_word(r->launch.argv[i]);
	}
	putchar('\n');
}

/* ---- after ---------------------------------------------------------------------------------- */

static int not_started(const struct run *r)
{
	const char *name = r->launch.argv[0];
	bool there = strchr(name, '/') != NULL && access(name, F_OK) == 0;

	if (r->child.error == ENOENT && !there) {
		rama_cli_complain(name, strchr(name, '/') != NULL ? "there is no such file"
								  : "there is no such command");
		return 127;
	}
	rama_cli_complain(name, "cannot be started: %s",
			  r->child.error == ENOENT ? "its interpreter is missing"
						   : strerror(r->child.error));
	return 126;
}

/* Did the command itself leave anything? If not, the log tells of it, too. */
static void see_command(struct run *r, const struct rama_cli_seg_infos *infos)
{
	bool family = rama_cli_launch_family_name(r->launch.kind) != NULL;

	if (family ? infos->processes + r->made.it.n > 0
		   : rama_cli_seg_infos_has(infos, r->child.pid))
		return;
	r->unseen.why = r->kind.why != RAMA_UNSEEN_NOT ? r->kind.why : RAMA_UNSEEN_OTHER;
	rama_log_unseen_add(&r->unseen.sum, r->unseen.why, 1,
			    r->program[0] != '\0' ? r->program : r->launch.argv[0]);
}

/* Says in one line why the command itself is not in the log; NULL: it is. */
static const char *why_unobserved(struct run *r)
{
	bool family = rama_cli_launch_family_name(r->launch.kind) != NULL;
	const char *name = r->program[0] != '\0' ? r->program : r->launch.argv[0], *hint = "";

	if (r->unseen.why == RAMA_UNSEEN_NOT)
		return NULL;
	if (r->tally.unplaced > 0) /* that is told */
		return NULL;
	if (strcmp(rama_cli_opts_setting(RAMA_TAB_SET_DISABLE), "0") != 0 ||
	    look(NULL, "DARSHAN_DISABLE") != NULL)
		hint = "; IORAMA_DISABLE or DARSHAN_DISABLE is set";
	else if (r->kind.why == RAMA_UNSEEN_STATIC)
		hint = "; link it with `iorama config --static-ldflags`";
	else if (family)
		hint = "; if its ranks ran on other hosts, `iorama recover` may find their data "
		       "there";
	else if (rama_program_stops(r->kind.why))
		hint = ", nor could what it started";
	else if (r->kind.why == RAMA_UNSEEN_NOT)
		hint = "; `iorama doctor` may know why";
	snprintf(r->unobserved, sizeof(r->unobserved), "%s %s: it ran, but could not be observed%s",
		 name, rama_unseen_one(r->kind.why), hint);
	return r->unobserved;
}

/* what the log is to say of processes that are not in it, and of where segments were */
static const char *note_of(const struct run *r, char *to, size_t room)
{
	int n = 0;

	to[0] = '\0';
	if (r->tally.unplaced > 0 || r->tally.calls > 0)
		n = snprintf(to, room,
			     RAMA_LOG_META_UNPLACED "%lld\n" RAMA_LOG_META_UNPLACED_CALLS "%lld\n",
			     (long long)r->tally.unplaced, (long long)r->tally.calls);
	if (r->place.note[0] != '\0' && strlen(r->place.root) < room - 64)
		snprintf(to + n, room - (size_t)n, RAMA_LOG_META_PLACE "%s\n", r->place.root);
	return to;
}

static int make_log(struct run *r, const struct rama_gather_list *segs,
		    const struct rama_cli_seg_infos *infos, char path[PATH_MAX])
{
	bool family = rama_cli_launch_family_name(r->launch.kind) != NULL;
	struct rama_gather_options opt = { .reduce = getenv("DARSHAN_DISABLE_SHARED_REDUCTION") ==
						     NULL,
					   .jobid = r->jobid,
					   .unseen = &r->unseen.sum,
					   .logs = (const char *const *)r->made.it.path,
					   .n_logs = r->made.it.n,
					   .progress = r->quiet ? NULL : rama_cli_log_progress };
	struct rama_gather_result result = { 0 };
	struct rama_cli_log_about about = { .jobid = r->jobid,
					    .pid = r->child.pid,
					    .start = infos->n > 0 ? infos->start : r->made.start };
	const char *first = r->made.it.n > 0 ? r->made.program
			    : infos->n > 0   ? infos->info[0].text
					     : r->launch.argv[r->launch.program];
	char program[NAME_MAX + 1], note[512];
	struct rama_err e = { 0 };
	int rc;

	/* what a launcher of parallel jobs started is of more interest than itself */
	opt.command = family ? NULL : rama_cli_vars_joined((char *const *)r->o.args, &r->arena);
	opt.note = note_of(r, note, sizeof(note));
	opt.incomplete = r->tally.unplaced > 0 || r->tally.calls > 0;
	rama_cli_log_program(program, sizeof(program),
			     family ? first : r->launch.argv[r->launch.program]);
	about.program = program;
	rc = rama_cli_log_make(&r->log, segs, &about, &opt, path, &result, &e);
	if (rc != 0) {
		rama_cli_complain("run", "%s", e.text);
		rama_cli_complain(r->place.dir,
				  "holds all that was recorded; `iorama recover %s` tries again",
				  r->place.dir);
		for (size_t i = 0; i < r->made.it.n; i++)
			rama_cli_complain(r->made.it.path[i],
					  "holds what ranks of several hosts did");
	}
	return rc;
}

static void print_summary(struct run *r, const char *path, const struct rama_cli_seg_infos *infos)
{
	struct rama_cli_run_summary s = { .log = path,
					  .exit = r->child.status,
					  .signal = r->child.signal,
					  .running =
						  r->left > infos->alive ? r->left : infos->alive,
					  .place = r->place.dir,
					  .unobserved = why_unobserved(r),
					  .why = r->unseen.why,
					  .unplaced = r->tally.unplaced,
					  .told = r->tally.told,
					  .unplaced_calls = r->tally.calls,
					  .moved = r->tally.moved,
					  .odd = r->place.note[0] != '\0' ? r->place.note : NULL,
					  .live = r->live.on ? &r->live : NULL,
					  .busiest = { .rank = -1 } };
	struct rama_err e = { 0 };

	if (r->quiet)
		return;
	if (path == NULL && s.unobserved != NULL)
		s.unseen = r->unseen.sum;
	if (path != NULL && rama_cli_run_summary_read(&s, &e) != 0) {
		rama_cli_complain(path, "%s", e.text);
	} else if (r->json) {
		if (path == NULL)
			s.command = strdup(r->o.args[0]);
		rama_cli_run_summary_json(&s, stderr);
	} else if (path == NULL) {
		rama_cli_complain("run", "%s; there is no log",
				  s.unobserved != NULL ? s.unobserved
				  : s.unplaced > 0     ? "there was no room for segments"
						       : "nothing was observed");
	} else {
		rama_cli_run_summary_text(&s, &r->o);
	}
	rama_cli_run_summary_fini(&s);
}

/* Segments of processes that go on stay: `iorama recover` makes a log of them later. */
static void clean_up(struct run *r, const struct rama_gather_list *segs,
		     const struct rama_cli_seg_infos *infos)
{
	bool *keep = calloc(segs->n + 1, sizeof(*keep));

	for (size_t i = 0; keep != NULL && i < infos->n; i++)
		keep[i] = infos->info[i].alive > 0;
	if (rama_cli_opts_has(&r->o, RAMA_TAB_OPT_run_keep)) {
		if (!r->quiet)
			rama_cli_complain(r->place.dir, "keeps the segments");
	} else if (keep != NULL) {
		rama_gather_place_remove(r->place.dir, segs, keep, r->left > 0);
	}
	free(keep);
}

/* Events are counted when the segments are gone; a report for people need not wait for that, a
 * line of JSON must. */
static void end(struct run *r, const char *path, const struct rama_gather_list *segs,
		const struct rama_cli_seg_infos *infos)
{
	bool later = r->json && r->live.on;

	if (!later)
		print_summary(r, path, infos);
	clean_up(r, segs, infos);
	if (!r->live.on)
		return;
	rama_cli_run_live_end(&r->live, r->left > 0 || infos->alive > 0,
			      rama_cli_opts_has(&r->o, RAMA_TAB_OPT_run_noindex) ? NULL : path);
	if (later)
		print_summary(r, path, infos);
	else
		rama_cli_run_live_text(&r->live, r->quiet);
}

static void finish(struct run *r)
{
	struct rama_gather_list segs = { 0 };
	struct rama_cli_seg_infos infos = { 0 };
	struct rama_err e = { 0 };
	char path[PATH_MAX];

	rama_gather_tally_read(&r->tally, r->place.dir);
	if (r->live.on)
		rama_cli_run_live_drain(&r->live);
	if (rama_gather_find(&segs, r->place.dir, &e) != 0 ||
	    rama_cli_seg_infos_read(&infos, &segs) != 0 || rama_cli_made_find(&r->made, &e) != 0) {
		rama_cli_complain("run", "%s", e.code != 0 ? e.text : "out of memory");
		goto out;
	}
	see_command(r, &infos);
	if (segs.n + r->made.it.n == 0) {
		end(r, NULL, &segs, &infos);
	} else if (make_log(r, &segs, &infos, path) == 0) {
		end(r, path, &segs, &infos);
		rama_cli_made_remove(&r->made);
	} else if (r->live.on) {
		rama_cli_run_live_end(&r->live, r->left > 0, NULL);
		rama_cli_run_live_text(&r->live, r->quiet);
	}
out:
	rama_cli_seg_infos_fini(&infos);
	rama_gather_list_fini(&segs);
}

static int run(struct run *r)
{
	static const struct rama_gather_list none = { 0 };
	struct rama_cli_take *take = NULL;
	struct rama_cli_taken taken;
	int rc;

	r->child.parallel = rama_cli_launch_family_name(r->launch.kind) != NULL;
	if (rama_cli_opts_has(&r->o, RAMA_TAB_OPT_run_live)) {
		rama_cli_run_live_start(&r->live, &r->place, !r->quiet && !r->json);
		r->child.second = rama_cli_run_live_second;
		r->child.pause = rama_cli_run_live_pause;
		r->child.ctx = &r->live;
	}
	if (!rama_cli_opts_has(&r->o, RAMA_TAB_OPT_run_keep))
		take = rama_cli_take_start(&r->place, r->live.on);
	rc = rama_cli_child_run(&r->child, r->launch.argv, r->envp);
	rama_cli_take_stop(take, &taken);
	r->live.past_made = taken.made;
	r->live.past_dropped = taken.dropped;
	if (rc != 0) {
		rama_cli_complain("run", "no process can be made: %s", strerror(errno));
		rama_gather_place_remove(r->place.dir, &none, NULL, false);
		return 4;
	}
	if (r->child.error != 0) {
		rama_gather_place_remove(r->place.dir, &none, NULL, false);
		if (r->live.on)
			rama_cli_run_live_end(&r->live, false, NULL);
		return not_started(r);
	}
	r->left = rama_cli_child_left();
	finish(r);
	return r->child.status;
}

/* Where standard streams are closed, our own files would take their numbers. The command still
 * finds them closed. */
static void fill_streams(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
			return;
}

int rama_cli_cmd_run(int argc, char **argv)
{
	static const struct rama_gather_list none = { 0 };
	struct run *r = calloc(1, sizeof(*r));
	int status;

	if (r == NULL)
		return no_memory();
	fill_streams();
	r->place.lock = r->place.spare_lock[0] = r->place.spare_lock[1] = -1;
	rama_cli_opts_parse(&r->o, RAMA_TAB_CMD_run, argc, argv);
	if (r->o.n_args == 0)
		rama_cli_opts_usage(&r->o, "which command? none is given");
	r->quiet = rama_cli_opts_has(&r->o, RAMA_TAB_OPT_run_quiet);
	r->json = rama_cli_opts_has(&r->o, RAMA_TAB_OPT_run_json);
	status = prepare(r);
	if (status == 0 && rama_cli_opts_has(&r->o, RAMA_TAB_OPT_run_dry))
		print_plan(r);
	else if (status == 0)
		status = run(r);
	if (status != 0 || rama_cli_opts_has(&r->o, RAMA_TAB_OPT_run_dry)) {
		if (r->place.job != NULL && r->child.pid == 0)
			rama_gather_place_remove(r->place.dir, &none, NULL, false);
	}
	rama_cli_place_unlock(&r->place);
	rama_cli_run_live_fini(&r->live);
	rama_cli_made_fini(&r->made);
	rama_arena_fini(&r->arena);
	rama_cli_opts_fini(&r->o);
	free(r);
	return status;
}
