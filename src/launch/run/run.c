/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/jobid.h"
#include "config/value.h"
#include "launch/left/awaited.h"
#include "launch/find.h"
#include "launch/run/take.h"
#include "launch/run/vars.h"
#include "logfile/log.h"

extern char **environ;

#define TAG_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define TAG_MOST 63

/* ---- before --------------------------------------------------------------------------------- */

bool rama_launch_run_is_tag(const char *tag)
{
	return *tag != '\0' && strlen(tag) <= TAG_MOST && tag[strspn(tag, TAG_LETTERS)] == '\0';
}

static const char *look(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

static void find_jobid(struct rama_launch_run *r)
{
	const char *named = getenv("DARSHAN_JOBID");
	struct rama_config_jobid job;

	if (r->asked.jobid >= 0)
		r->jobid = r->asked.jobid;
	else if (rama_config_jobid_find(&job, named != NULL ? named : "", look, NULL))
		r->jobid = job.id;
	else
		r->own_jobid = true;
	if (r->own_jobid)
		r->jobid = getpid();
}

/* A launcher may make the job of the batch system itself, and only its ranks are told the id: it
 * is that of all, if they agree. */
static void learn_jobid(struct rama_launch_run *r, const struct rama_launch_seg_infos *infos)
{
	int64_t id = r->made.it.n > 0 ? r->made.jobid : -1;

	if (!r->own_jobid)
		return;
	for (size_t i = 0; i < infos->n; i++) {
		if (infos->info[i].bad)
			continue;
		if (id >= 0 && id != infos->info[i].jobid)
			return;
		id = infos->info[i].jobid;
	}
	if (id >= 0)
		r->jobid = id;
}

/* value NULL: there was no memory for it */
static int add_var(struct rama_launch_run *r, const char *name, const char *value,
		   struct rama_err *e)
{
	char *copy = value != NULL ? rama_arena_text(&r->arena, value, strlen(value)) : NULL;

	if (copy == NULL)
		return rama_err_no_memory(e);
	r->var[r->n_vars++] = (struct rama_launch_var){ name, copy };
	return 0;
}

/* Everything that the first word starts sees to its own children; only the first is ours to see
 * to. */
static int add_preload(struct rama_launch_run *r, const struct rama_launch_in *in,
		       struct rama_err *e)
{
	size_t launcher = rama_launch_parallel(in);
	const char *as_it_is = getenv("LD_PRELOAD");
	char path[PATH_MAX];
	int rc;

	if (r->asked.any == RAMA_ANY_ALL)
		return add_var(r, "LD_PRELOAD", as_it_is != NULL ? as_it_is : "", e);
	if (launcher != SIZE_MAX)
		rama_launch_find_rank_program(&r->asked.args[launcher + 1], &r->preloaded);
	else if (rama_launch_find_program(r->asked.args[0], path))
		rama_program_look(&r->preloaded, AT_FDCWD, path);
	rc = add_var(r, "LD_PRELOAD",
		     rama_launch_vars_preload(r->library, &r->preloaded, &r->arena), e);
	if (rc == 0 && r->preloaded.first[0] != '\0' && r->preloaded.why == RAMA_UNSEEN_NOT)
		rc = add_var(r, "IORAMA_RUNTIME", r->preloaded.first, e);
	return rc;
}

static int add_globs(struct rama_launch_run *r, const char *name, const struct rama_launch_globs *g,
		     struct rama_err *e)
{
	char *value;

	if (g->n == 0)
		return 0;
	value = rama_launch_vars_globs(name, g->glob, g->n, &r->arena, e);
	return value != NULL ? add_var(r, name, value, e) : e->code;
}

static int make_vars(struct rama_launch_run *r, const struct rama_launch_in *in, struct rama_err *e)
{
	const struct rama_launch_asked *q = &r->asked;
	char number[24];
	const struct {
		const char *name, *value;
		bool wanted;
	} more[] = {
		{ "IORAMA_DIR", r->place.root, true },
		{ "IORAMA_JOB", r->place.job, true },
		{ r->own_jobid ? "IORAMA_RUN_JOBID" : "IORAMA_JOBID", number, true },
		{ "IORAMA_RUN_HOST", r->made.host, true },
		{ "IORAMA_RUN_LOG", r->made.told, true },
		{ "IORAMA_ANY", r->any.name, r->asked.any == RAMA_ANY_AUTO },
		{ "IORAMA_MEMORY", q->files, q->files != NULL },
		{ "IORAMA_TRACE_MEMORY", q->memory, q->memory != NULL },
		{ "IORAMA_TRACE", "1", q->trace || q->path || q->memory != NULL },
		{ "IORAMA_LIVE_TAG", q->tag, q->live && q->tag != NULL },
		{ "IORAMA_LIVE", "1", q->live },
		{ "IORAMA_SITES", "1", getenv("IORAMA_SITES") == NULL },
	};
	int rc = add_preload(r, in, e);

	snprintf(number, sizeof(number), "%lld", (long long)r->jobid);
	for (size_t i = 0; rc == 0 && i < sizeof(more) / sizeof(more[0]); i++)
		if (more[i].wanted)
			rc = add_var(r, more[i].name, more[i].value, e);
	if (rc == 0)
		rc = add_globs(r, "IORAMA_EXCLUDE", &q->exclude, e);
	if (rc == 0)
		rc = add_globs(r, "IORAMA_INCLUDE", &q->include, e);
	return rc;
}

static bool is_ours(const struct rama_launch_run *r, const char *entry)
{
	/* of an iorama run that this one is within */
	if (strncmp(entry, "IORAMA_JOBID=", 13) == 0 ||
	    strncmp(entry, "IORAMA_RUN_JOBID=", 17) == 0 || strncmp(entry, "IORAMA_ANY=", 11) == 0)
		return true;
	for (size_t i = 0; i < r->n_vars; i++) {
		size_t n = strlen(r->var[i].name);

		/* what a launcher hands on by itself it must not have */
		if (strncmp(entry, r->var[i].name, n) == 0 && entry[n] == '=')
			return i > 0 || r->plan.preload;
	}
	return false;
}

static int make_environment(struct rama_launch_run *r, struct rama_err *e)
{
	size_t n = 0, k = 0;

	while (environ[n] != NULL)
		n++;
	r->envp = rama_arena_alloc(&r->arena, (n + r->n_vars + 1) * sizeof(*r->envp));
	if (r->envp == NULL)
		return rama_err_no_memory(e);
	for (size_t i = 0; i < n; i++)
		if (!is_ours(r, environ[i]))
			r->envp[k++] = environ[i];
	for (size_t i = r->plan.preload ? 0 : 1; i < r->n_vars; i++) {
		size_t size = strlen(r->var[i].name) + strlen(r->var[i].value) + 2;
		char *entry = rama_arena_alloc(&r->arena, size);

		if (entry == NULL)
			return rama_err_no_memory(e);
		if (i == 0 && r->var[i].value[0] == '\0')
			continue; /* there is nothing to preload */
		snprintf(entry, size, "%s=%s", r->var[i].name, r->var[i].value);
		r->envp[k++] = entry;
	}
	r->envp[k] = NULL;
	return 0;
}

/* What is known of the program before it runs; only used if it leaves no data. */
static void look_at_program(struct rama_launch_run *r)
{
	if (rama_launch_find_program(r->plan.argv[r->plan.program], r->program))
		rama_launch_find_kind(r->program, &r->kind);
	if (r->plan.kind == RAMA_LAUNCH_ELSEWHERE)
		rama_launch_note(&r->told, r->plan.argv[r->plan.program],
				 "has the work done by another process, which is not observed; put "
				 "iorama run in front of the command there");
}

static int refuse(const struct rama_launch_run *r, const char *word)
{
	rama_launch_problem(&r->told, word,
			    "takes the preload away, so that nothing could be observed; put "
			    "iorama inside: %s iorama run …",
			    word);
	return RAMA_EUSAGE;
}

int rama_launch_run_prepare(struct rama_launch_run *r, struct rama_err *e)
{
	struct rama_launch_in in = { .argv = (char *const *)r->asked.args,
				     .family = rama_launch_find_family };
	const char *refused = rama_launch_refused(&in);
	int rc;

	r->place.lock = r->place.spare_lock[0] = r->place.spare_lock[1] = -1;
	if (refused != NULL)
		return refuse(r, refused);
	find_jobid(r);
	rc = rama_launch_log_check(&r->asked.log, &r->told);
	if (rc != 0)
		return rc;
	if (rama_launch_find_library(r->asked.library, r->library, e) != 0 ||
	    rama_launch_place_make(&r->place, e) != 0 ||
	    rama_launch_made_init(&r->made, &r->asked.log, r->place.job, e) != 0)
		return RAMA_EIO; /* whatever it was: the machine is not as it should be */
	r->any.life = -1;
	if (r->asked.any != RAMA_ANY_OFF)
		rama_any_name(&r->any);
	rc = make_vars(r, &in, e);
	in.vars = r->var;
	in.n_vars = r->n_vars;
	if (rc == 0 && rama_launch_plan_make(&r->plan, &in, &r->arena) != 0)
		rc = rama_err_no_memory(e);
	if (rc == 0)
		rc = make_environment(r, e);
	if (rc == 0)
		look_at_program(r);
	return rc;
}

/* ---- after ---------------------------------------------------------------------------------- */

static int not_started(const struct rama_launch_run *r)
{
	const char *name = r->plan.argv[0];
	bool there = strchr(name, '/') != NULL && access(name, F_OK) == 0;

	if (r->child.error == ENOENT && !there) {
		rama_launch_problem(&r->told, name,
				    strchr(name, '/') != NULL ? "there is no such file"
							      : "there is no such command");
		return 127;
	}
	rama_launch_problem(&r->told, name, "cannot be started: %s",
			    r->child.error == ENOENT ? "its interpreter is missing"
						     : strerror(r->child.error));
	return 126;
}

/* Did the command itself leave anything? If not, the log tells of it, too. */
static void see_command(struct rama_launch_run *r, const struct rama_launch_seg_infos *infos)
{
	bool family = rama_launch_family_name(r->plan.kind) != NULL;

	if (family ? infos->processes + r->made.it.n > 0
		   : rama_launch_seg_infos_has(infos, r->child.pid))
		return;
	r->unseen.why = r->kind.why != RAMA_UNSEEN_NOT ? r->kind.why : RAMA_UNSEEN_OTHER;
	rama_log_unseen_add(&r->unseen.sum, r->unseen.why, 1,
			    r->program[0] != '\0' ? r->program : r->plan.argv[0]);
}

/* Says in one line why the command itself is not in the log; NULL: it is. */
static const char *why_unobserved(struct rama_launch_run *r)
{
	bool family = rama_launch_family_name(r->plan.kind) != NULL;
	const char *name = r->program[0] != '\0' ? r->program : r->plan.argv[0], *hint = "";

	if (r->unseen.why == RAMA_UNSEEN_NOT)
		return NULL;
	if (r->tally.unplaced > 0) /* that is told */
		return NULL;
	if (strcmp(rama_config_value(RAMA_TAB_SET_DISABLE), "0") != 0 ||
	    look(NULL, "DARSHAN_DISABLE") != NULL)
		hint = "; IORAMA_DISABLE or DARSHAN_DISABLE is set";
	else if (r->kind.why == RAMA_UNSEEN_STATIC && r->asked.any == RAMA_ANY_OFF)
		hint = "; try --any=auto, or link it with `iorama config --static-ldflags`";
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

/* how a parallel job was started: its program alone does not tell */
static void note_command(struct rama_launch_run *r, char *to, size_t room)
{
	const char *words = rama_launch_vars_joined((char *const *)r->asked.args, &r->arena);
	int n;

	if (words == NULL || strlen(words) > RAMA_LOG_META_COMMAND_MOST)
		return;
	n = snprintf(to, room, RAMA_LOG_META_COMMAND "%s\n", words);
	if (n < 0 || (size_t)n >= room)
		to[0] = '\0';
	for (char *p = to; p[0] != '\0' && p[1] != '\0'; p++) /* one line */
		*p = *p == '\n' ? ' ' : *p;
}

/* what the log is to say of processes that are not in it, of where segments were, and of how the
 * job was started */
static const char *note_of(struct rama_launch_run *r, char *to, size_t room)
{
	int n = 0;

	to[0] = '\0';
	if (r->tally.unplaced > 0 || r->tally.calls > 0)
		n = snprintf(to, room,
			     RAMA_LOG_META_UNPLACED "%lld\n" RAMA_LOG_META_UNPLACED_CALLS "%lld\n",
			     (long long)r->tally.unplaced, (long long)r->tally.calls);
	if (r->place.note[0] != '\0' && strlen(r->place.root) < 448)
		snprintf(to + n, room - (size_t)n, RAMA_LOG_META_PLACE "%.447s\n", r->place.root);
	if (rama_launch_family_name(r->plan.kind) != NULL)
		note_command(r, to + strlen(to), room - strlen(to));
	return to;
}

static int make_log(struct rama_launch_run *r, const struct rama_gather_list *segs,
		    const struct rama_launch_seg_infos *infos, char path[PATH_MAX])
{
	bool family = rama_launch_family_name(r->plan.kind) != NULL;
	struct rama_gather_options opt = { .reduce = getenv("DARSHAN_DISABLE_SHARED_REDUCTION") ==
						     NULL,
					   .jobid = r->jobid,
					   .unseen = &r->unseen.sum,
					   .logs = (const char *const *)r->made.it.path,
					   .n_logs = r->made.it.n,
					   .served = r->path.served,
					   .n_served = r->path.n_served,
					   .progress = r->told.progress,
					   .problem = r->told.line,
					   .ctx = r->told.ctx };
	struct rama_gather_result result = { 0 };
	struct rama_launch_log_about about = { .jobid = r->jobid,
					       .pid = r->child.pid,
					       .start = infos->n > 0 ? infos->start
								     : r->made.start };
	const char *first = r->made.it.n > 0 ? r->made.program
			    : infos->n > 0   ? infos->info[0].text
					     : r->plan.argv[r->plan.program];
	char program[NAME_MAX + 1], note[RAMA_LOG_META_SIZE];
	struct rama_err e = { 0 };
	int rc;

	/* what a launcher of parallel jobs started is of more interest than itself */
	opt.command =
		family ? NULL : rama_launch_vars_joined((char *const *)r->asked.args, &r->arena);
	opt.note = note_of(r, note, sizeof(note));
	opt.incomplete = r->tally.unplaced > 0 || r->tally.calls > 0;
	rama_launch_log_program(program, sizeof(program),
				family ? first : r->plan.argv[r->plan.program]);
	about.program = program;
	rc = rama_launch_log_make(&r->asked.log, segs, &about, &opt, path, &result, &e);
	if (rc != 0) {
		rama_launch_problem(&r->told, "run", "%s", e.text);
		rama_launch_problem(&r->told, r->place.dir,
				    "holds all that was recorded; `iorama recover %s` tries again",
				    r->place.dir);
		for (size_t i = 0; i < r->made.it.n; i++)
			rama_launch_problem(&r->told, r->made.it.path[i],
					    "holds what ranks of several hosts did");
	}
	return rc;
}

/* there may be no log: then the command itself is all there is to tell of */
static void tell_end(struct rama_launch_run *r, const char *path,
		     const struct rama_launch_seg_infos *infos)
{
	struct rama_launch_outcome o = {
		.log = path,
		.command = r->asked.args[0],
		.exit = r->child.status,
		.signal = r->child.signal,
		.running = r->left > infos->alive ? r->left : infos->alive,
		.place = r->place.dir,
		.unobserved = why_unobserved(r),
		.why = r->unseen.why,
		.unplaced = r->tally.unplaced,
		.told = r->tally.told,
		.unplaced_calls = r->tally.calls,
		.moved = r->tally.moved,
		.odd = r->place.note[0] != '\0' ? r->place.note : NULL,
		.live = r->live.on ? &r->live : NULL,
	};

	if (path == NULL && o.unobserved != NULL)
		o.unseen = r->unseen.sum;
	if (r->ended != NULL)
		r->ended(r->told.ctx, &o);
}

/* Segments of processes that go on stay: `iorama recover` makes a log of them later; so do those
 * that an agent has not read yet. */
static void clean_up(struct rama_launch_run *r, const struct rama_gather_list *segs,
		     const struct rama_launch_seg_infos *infos)
{
	bool *keep = calloc(segs->n + 1, sizeof(*keep));

	for (size_t i = 0; keep != NULL && i < infos->n; i++)
		keep[i] = infos->info[i].alive > 0;
	if (keep != NULL && !r->asked.keep && !r->live.on)
		rama_launch_awaited_leave(r->place.root, r->place.dir, segs, keep);
	if (r->asked.keep)
		rama_launch_note(&r->told, r->place.dir, "keeps the segments");
	else if (keep != NULL)
		rama_gather_place_remove(r->place.dir, segs, keep, r->left > 0);
	free(keep);
}

/* Events are counted when the segments are gone; a report for people need not wait for that, a
 * line of JSON must. */
static void end(struct rama_launch_run *r, const char *path, const struct rama_gather_list *segs,
		const struct rama_launch_seg_infos *infos)
{
	bool later = r->asked.count_first && r->live.on;

	if (!later)
		tell_end(r, path, infos);
	clean_up(r, segs, infos);
	if (!r->live.on)
		return;
	rama_launch_live_end(&r->live, r->left > 0 || infos->alive > 0,
			     r->asked.no_index ? NULL : path);
	if (later)
		tell_end(r, path, infos);
	else
		r->counted(r->told.ctx, &r->live);
}

static void finish(struct rama_launch_run *r)
{
	struct rama_gather_list segs = { 0 };
	struct rama_launch_seg_infos infos = { 0 };
	struct rama_err e = { 0 };
	char path[PATH_MAX];

	rama_gather_tally_read(&r->tally, r->place.dir);
	if (r->live.on)
		rama_launch_live_drain(&r->live);
	if (rama_gather_find(&segs, r->place.dir, &e) != 0 ||
	    rama_launch_seg_infos_read(&infos, &segs) != 0 ||
	    rama_launch_made_find(&r->made, &e) != 0) {
		rama_launch_problem(&r->told, "run", "%s", e.code != 0 ? e.text : "out of memory");
		goto out;
	}
	see_command(r, &infos);
	learn_jobid(r, &infos);
	if (segs.n + r->made.it.n == 0) {
		end(r, NULL, &segs, &infos);
	} else if (make_log(r, &segs, &infos, path) == 0) {
		rama_launch_path_tell(&r->path, &r->told);
		end(r, path, &segs, &infos);
		rama_launch_made_remove(&r->made);
	} else if (r->live.on) {
		rama_launch_live_end(&r->live, r->left > 0, NULL);
		r->counted(r->told.ctx, &r->live);
	}
out:
	rama_launch_seg_infos_fini(&infos);
	rama_gather_list_fini(&segs);
}

/* Who is to follow is made before there are other threads. A program with other rights gets them
 * only if nobody follows it. */
static void begin_any(struct rama_launch_run *r)
{
	const struct rama_any_how how = {
		.mode = r->asked.any, .dir = r->place.dir, .library = r->library, .envp = r->envp
	};
	struct rama_err e = { 0 };

	if (how.mode == RAMA_ANY_OFF)
		return;
	if (rama_any_start(&r->any, &how, &e) != 0)
		rama_launch_problem(&r->told, "run", "%s", e.text);
	else if (how.mode == RAMA_ANY_ALL ? !r->kind.rights
					  : rama_program_follows(&r->kind, r->kind.why))
		r->child.follow = r->any.name;
}

int rama_launch_run(struct rama_launch_run *r, struct rama_err *e)
{
	static const struct rama_gather_list none = { 0 };
	struct rama_launch_take *take = NULL;
	struct rama_launch_taken taken;
	int rc;

	r->child.parallel = rama_launch_family_name(r->plan.kind) != NULL;
	begin_any(r);
	if (r->asked.live) {
		snprintf(r->live.store, sizeof(r->live.store), "%s", r->asked.store);
		rama_launch_live_start(&r->live, &r->place);
		r->child.second = rama_launch_live_second;
		r->child.pause = rama_launch_live_pause;
		r->child.ctx = &r->live;
	}
	if (!r->asked.keep)
		take = rama_launch_take_start(&r->place, r->live.on);
	if (r->asked.path)
		rama_launch_path_begin(&r->path, r->library, &r->told);
	rc = rama_launch_child_run(&r->child, r->plan.argv, r->envp);
	rama_any_end(&r->any);
	rama_launch_path_end(&r->path, &r->told);
	rama_launch_take_stop(take, &taken);
	r->live.past_made = taken.made;
	r->live.past_dropped = taken.dropped;
	if (rc != 0) {
		rama_err_set(e, RAMA_EIO, "no process can be made: %s", strerror(errno));
		rama_gather_place_remove(r->place.dir, &none, NULL, false);
		return -1;
	}
	if (r->child.error != 0) {
		rama_gather_place_remove(r->place.dir, &none, NULL, false);
		if (r->live.on)
			rama_launch_live_end(&r->live, false, NULL);
		return not_started(r);
	}
	r->left = rama_launch_child_left();
	finish(r);
	return r->child.status;
}

void rama_launch_run_fini(struct rama_launch_run *r)
{
	static const struct rama_gather_list none = { 0 };

	if (r->place.job != NULL && r->child.pid == 0) /* it was never started */
		rama_gather_place_remove(r->place.dir, &none, NULL, false);
	rama_launch_place_unlock(&r->place);
	rama_launch_live_fini(&r->live);
	rama_launch_made_fini(&r->made);
	rama_launch_path_fini(&r->path);
	rama_arena_fini(&r->arena);
}
