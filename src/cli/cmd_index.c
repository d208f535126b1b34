/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_index.c: iorama index */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/human.h"
#include "base/json.h"
#include "base/now.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "cli/paper.h"
#include "cli/profile.h"
#include "index/trees.h"

#define KEPT (32 << 20) /* bytes */
#define SHOW_EVERY 0.1	/* seconds between two states of the progress line */

/* what was wrong with a log, for --json */
struct flaw {
	char *path, *line;
};

struct command {
	struct rama_cli_opts o;
	struct rama_diag_profile profile;
	struct rama_index_trees trees;
	char where[PATH_MAX];
	bool quiet, as_json;
	struct flaw *flaws;
	size_t n_flaws, room_flaws;
	sigset_t before; /* signals as they were */
	/* the progress line */
	bool shows, shown;
	size_t base, todo; /* logs before this pass, of it */
	double start, delay, told;
};

/* ---- what is told meanwhile ------------------------------------------------------------------ */

static size_t done_of(const struct rama_index_counts *c)
{
	return c->same + c->stored + c->failed + c->gone;
}

static void clear_line(struct command *c)
{
	if (c->shown)
		fputs("\r\033[K", stderr);
	c->shown = false;
}

static void progress(void *ctx, const struct rama_index_counts *n)
{
	struct command *c = ctx;
	char text[3][RAMA_HUMAN];
	double t = c->shows ? rama_now() : 0;

	if (!c->shows || t - c->start < c->delay || t - c->told < SHOW_EVERY)
		return;
	fprintf(stderr, "\r%s of %s logs, %s damaged\033[K",
		rama_human_count(text[0], (int64_t)(done_of(n) - c->base)),
		rama_human_count(text[1], (int64_t)c->todo),
		rama_human_count(text[2], (int64_t)(n->damaged + n->failed)));
	c->told = t;
	c->shown = true;
}

static void problem(void *ctx, const char *path, const char *line)
{
	struct command *c = ctx;

	clear_line(c);
	rama_cli_complain(path, "%s", line);
	if (!c->as_json || !RAMA_GROW(c->flaws, c->room_flaws, c->n_flaws + 1))
		return;
	c->flaws[c->n_flaws++] = (struct flaw){ strdup(path), strdup(line) };
}

static void note(void *ctx, const char *path, const char *line)
{
	struct command *c = ctx;

	clear_line(c);
	if (!c->quiet)
		rama_cli_complain(path, "%s", line);
}

/* with --watch each log is told when it is in the store, for people and for programs that wait
 * for it */
static void taken(void *ctx, const struct rama_store_log *row)
{
	const struct command *c = ctx;

	if (c->quiet || c->as_json)
		return;
	printf("%s\n", row->path);
	fflush(stdout);
}

/* ---- signals --------------------------------------------------------------------------------- */

static const int ending[] = { SIGTERM, SIGINT, SIGHUP };
#define N_ENDING (sizeof(ending) / sizeof(*ending))

static volatile sig_atomic_t ended;

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

/* They come only while we wait; else they stay pending, and stop() sees them. */
static void hold_signals(struct command *c)
{
	struct sigaction act = { .sa_handler = end };
	sigset_t held;

	sigemptyset(&held);
	for (unsigned i = 0; i < N_ENDING; i++) {
		sigaddset(&held, ending[i]);
		sigaction(ending[i], &act, NULL);
	}
	pthread_sigmask(SIG_BLOCK, &held, &c->before);
	for (unsigned i = 0; i < N_ENDING; i++)
		sigdelset(&c->before, ending[i]);
}

static bool stop(void *ctx)
{
	sigset_t pending;

	(void)ctx;
	if (ended)
		return true;
	sigemptyset(&pending);
	sigpending(&pending);
	for (unsigned i = 0; i < N_ENDING; i++)
		if (sigismember(&pending, ending[i]) == 1)
			return true;
	return false;
}

/* ---- passes over the logs -------------------------------------------------------------------- */

static void unread(void *ctx, const char *path, const char *line)
{
	(void)ctx;
	rama_cli_complain(path, "%s", line);
}

static void pass(void *ctx, size_t logs)
{
	struct command *c = ctx;

	c->base = done_of(&c->trees.run.counts);
	c->todo = logs;
}

static void passed(void *ctx)
{
	clear_line(ctx);
}

static int failed(struct command *c, int rc, const struct rama_err *e)
{
	char shown[PATH_MAX];

	if (rc != 0 && e->code != 0) /* else it was told */
		rama_cli_complain(c->trees.in_store ? rama_store_shown(c->where, shown) : "index",
				  "%s", e->text);
	return rama_err_status(rc);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void print_json(struct command *c)
{
	const struct rama_index_counts *n = &c->trees.run.counts;
	char shown[PATH_MAX];
	struct rama_out out;
	struct rama_json j;

	rama_out_init(&out, NULL, NULL);
	rama_json_init(&j, &out);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "schema", "iorama.index/1");
	rama_json_key_string(&j, "store", rama_store_shown(c->where, shown));
	rama_json_key_i64(&j, "logs", (int64_t)n->all);
	rama_json_key_i64(&j, "stored", (int64_t)n->stored);
	rama_json_key_i64(&j, "unchanged", (int64_t)n->same);
	rama_json_key_i64(&j, "damaged", (int64_t)n->damaged);
	rama_json_key_i64(&j, "failed", (int64_t)n->failed);
	rama_json_key_i64(&j, "gone", (int64_t)n->gone);
	rama_json_key(&j, "problems");
	rama_json_open(&j, '[');
	for (size_t i = 0; i < c->n_flaws; i++) {
		rama_json_open(&j, '{');
		rama_json_key_string(&j, "log", c->flaws[i].path);
		rama_json_key_string(&j, "problem", c->flaws[i].line);
		rama_json_close(&j, '}');
	}
	rama_json_close(&j, ']');
	rama_json_close(&j, '}');
	rama_out_char(&out, '\n');
	rama_cli_paper_write(&out, NULL);
	rama_out_fini(&out);
}

static void print_end(struct command *c)
{
	const struct rama_index_counts *n = &c->trees.run.counts;
	char text[4][RAMA_HUMAN], shown[PATH_MAX];

	if (c->as_json) {
		print_json(c);
		return;
	}
	if (c->quiet)
		return;
	printf("%s of %s logs into %s", rama_human_count(text[0], (int64_t)n->stored),
	       rama_human_count(text[1], (int64_t)n->all), rama_store_shown(c->where, shown));
	if (n->same > 0)
		printf(", %s were there already", rama_human_count(text[2], (int64_t)n->same));
	if (n->damaged + n->failed > 0)
		printf(", %s damaged",
		       rama_human_count(text[3], (int64_t)(n->damaged + n->failed)));
	printf("\n");
}

static unsigned threads_of(const struct rama_cli_opts *o)
{
	const char *text = rama_cli_opts_value(o, RAMA_TAB_OPT_index_jobs);
	cpu_set_t set;
	char *rest;
	unsigned long n;

	if (text == NULL)
		return sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
	n = strtoul(text, &rest, 10);
	if (*text < '0' || *text > '9' || *rest != '\0' || n < 1 || n > RAMA_INDEX_THREADS)
		rama_cli_opts_usage(o, "-j is a number from 1 to %d, not '%s'", RAMA_INDEX_THREADS,
				    text);
	return (unsigned)n;
}

static int run(struct command *c)
{
	bool watched = rama_cli_opts_has(&c->o, RAMA_TAB_OPT_index_watch);
	struct rama_index_trees *t = &c->trees;
	struct rama_err e = { 0 };
	int rc = rama_index_trees_open(t, c->o.args, c->o.n_args, watched, &e);

	if (rc == 0)
		rc = rama_index_trees_put(t, &e);
	if (rc == 0 && watched && !stop(c)) {
		t->run.taken = taken;
		rc = rama_index_trees_watch(t, &c->before, &e);
	}
	rc = failed(c, rc, &e);
	if (rc == 0 || t->run.counts.stored > 0)
		print_end(c);
	if (rc == 0)
		rc = t->unread > 0 ? 3 : t->run.worst;
	return rc;
}

static void fini(struct command *c)
{
	rama_index_trees_close(&c->trees);
	rama_store_close(c->trees.run.store);
	rama_diag_profile_fini(&c->profile);
	for (size_t i = 0; i < c->n_flaws; i++) {
		free(c->flaws[i].path);
		free(c->flaws[i].line);
	}
	free(c->flaws);
	rama_cli_opts_fini(&c->o);
}

int rama_cli_cmd_index(int argc, char **argv)
{
	struct command c = { 0 };
	int status;

	rama_cli_opts_parse(&c.o, RAMA_TAB_CMD_index, argc, argv);
	/* Each log takes and gives back a few hundred KiB: the kernel need not be asked for them
	 * each time. */
	mallopt(M_MMAP_THRESHOLD, KEPT);
	mallopt(M_TRIM_THRESHOLD, KEPT);
	if (c.o.n_args == 0)
		rama_cli_opts_usage(&c.o, "no directory and no log given");
	c.quiet = rama_cli_opts_has(&c.o, RAMA_TAB_OPT_index_quiet);
	c.as_json = rama_cli_opts_has(&c.o, RAMA_TAB_OPT_index_json);
	c.shows = !c.quiet && isatty(STDERR_FILENO);
	c.start = rama_now();
	c.delay = strtod(rama_cli_opts_setting(RAMA_TAB_SET_PROGRESS), NULL);
	c.trees.run = (struct rama_index_run){
		.opt = { .profile = &c.profile,
			 .no_logs = rama_cli_opts_has(&c.o, RAMA_TAB_OPT_index_nologs) },
		.threads = threads_of(&c.o),
		.again = rama_cli_opts_has(&c.o, RAMA_TAB_OPT_index_force),
		.problem = problem,
		.progress = progress,
		.ctx = &c
	};
	c.trees.problem = unread;
	c.trees.note = note;
	c.trees.pass = pass;
	c.trees.passed = passed;
	if (rama_cli_opts_has(&c.o, RAMA_TAB_OPT_index_watch)) {
		hold_signals(&c);
		c.trees.run.stop = stop;
	}
	status = rama_cli_store_place(&c.o, RAMA_TAB_OPT_index_store, c.where) ? 0 : 4;
	if (status == 0)
		status = rama_cli_profile_load(&c.profile, &c.o, RAMA_TAB_OPT_index_profile);
	if (status == 0)
		status = rama_cli_store_here(&c.trees.run.store, &c.o, RAMA_TAB_OPT_index_store,
					     RAMA_STORE_WRITE | RAMA_STORE_CREATE);
	if (status == 0)
		status = run(&c);
	fini(&c);
	return status;
}
