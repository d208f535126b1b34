/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/emulate/keep.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/human.h"
#include "cli/input.h"
#include "diagnose/advice.h"
#include "index/index.h"
#include "query/job.h"
#include "store/shown.h"

static int name_store(const struct rama_cli_emulate_keep *k, struct rama_err *e)
{
	char shown[PATH_MAX];

	return rama_err_prefix(e, "%s", rama_store_shown(k->where, shown));
}

static void take(void *ctx, const struct rama_emu_tried *t)
{
	struct rama_cli_emulate_keep *k = ctx;

	k->t = *t;
	k->tried = true;
}

static bool find_place(struct rama_cli_emulate_keep *k, const char *where)
{
	if (strcmp(where, "default") == 0)
		return rama_store_default(k->where, sizeof(k->where));
	return *where != '\0' &&
	       (size_t)snprintf(k->where, sizeof(k->where), "%s", where) < sizeof(k->where);
}

int rama_cli_emulate_keep_begin(struct rama_cli_emulate_keep *k, struct rama_emu_config *c,
				struct rama_err *e)
{
	const char *log = c->n_args > 0 ? c->args[0] : "nothing";
	struct rama_store *s = NULL;
	int rc;

	*k = (struct rama_cli_emulate_keep){ 0 };
	c->tried = take;
	c->tried_ctx = k;
	if (!find_place(k, rama_emu_config_text(c, RAMA_EMU_P_store)))
		return rama_err_set(e, RAMA_EUSAGE,
				    "store: the path of a file, a postgresql:// URL, or default");
	rc = rama_store_open(&s, k->where, RAMA_STORE_WRITE, e);
	if (rc == 0) {
		rc = rama_index_find(s, log, &k->job, e);
		if (rc == RAMA_EMISSING)
			rama_err_set(e, rc,
				     "it has no job of %s: `iorama index` takes a log in, and only "
				     "what is tried of a log can be kept",
				     log);
	}
	rama_store_close(s);
	return rc != 0 ? name_store(k, e) : 0;
}

/* ---- under a launcher ----------------------------------------------------------------------- */

static volatile pid_t worker;

static void pass_on(int number)
{
	if (worker > 0)
		kill(worker, number);
}

static void begin_worker(int pipe_out, pid_t parent, int (*become)(void *ctx, char *word),
			 void *ctx)
{
	char word[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(4);
	snprintf(word, sizeof(word), "tried:%d", pipe_out);
	_exit(become(ctx, word));
}

static int wait_for(struct rama_cli_emulate_keep *k, int from)
{
	int status;
	ssize_t n;

	do
		n = read(from, &k->t, sizeof(k->t));
	while (n < 0 && errno == EINTR);
	k->tried = n == (ssize_t)sizeof(k->t);
	while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
		;
	worker = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

int rama_cli_emulate_keep_beside(struct rama_cli_emulate_keep *k,
				 int (*become)(void *ctx, char *word), void *ctx)
{
	static const int passed[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	struct sigaction act = { .sa_handler = pass_on };
	pid_t self = getpid();
	int ends[2], status;

	if (pipe(ends) != 0) {
		fprintf(stderr, "iorama emulate: %s\n", strerror(errno));
		return 4;
	}
	fflush(NULL);
	worker = fork();
	if (worker == 0) {
		close(ends[0]);
		begin_worker(ends[1], self, become, ctx);
	}
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		sigaction(passed[i], &act, NULL);
	close(ends[1]);
	status = worker > 0 ? wait_for(k, ends[0]) : 4;
	close(ends[0]);
	return status;
}

/* ---- the end -------------------------------------------------------------------------------- */

struct said {
	const struct rama_emu_config *c;
	char rule[32];
	double cost;
};

/* Is it one of the parameters that were changed? */
static bool is_tried(const struct rama_emu_config *c, const char *rule)
{
	size_t n = rama_emu_config_items(c, RAMA_EMU_P_set);

	for (size_t i = 0; i < n; i++) {
		const char *item, *equal, *name;
		size_t len = rama_emu_config_item(c, RAMA_EMU_P_set, i, &item);
		int p;

		equal = memchr(item, '=', len);
		p = equal != NULL ? rama_emu_config_find(item, (size_t)(equal - item)) : -1;
		name = p >= 0 ? rama_emu_param_info[p].name : NULL;
		if (name != NULL && rama_diag_advice_tries(rule, name, strlen(name)))
			return true;
	}
	return false;
}

/* rows of level, rule, cost, title: the dearest first */
static int find_rule(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct said *to = ctx;
	const struct rama_store_cell *cell = row->cell;

	(void)e;
	if (cell[1].type != RAMA_STORE_CELL_TEXT || strcmp(cell[0].text, "OK") == 0 ||
	    !is_tried(to->c, cell[1].text))
		return 0;
	snprintf(to->rule, sizeof(to->rule), "%s", cell[1].text);
	to->cost = cell[2].type == RAMA_STORE_CELL_REAL ? cell[2].f : NAN;
	return 1;
}

static int put(struct rama_store *s, const struct rama_cli_emulate_keep *k,
	       const struct rama_emu_config *c, struct said *said, struct rama_err *e)
{
	char host[256] = "";
	struct timespec now;
	struct rama_store_trial t = { .host = host,
				      .change = rama_emu_config_text(c, RAMA_EMU_P_set),
				      .ranks = k->t.ranks,
				      .rounds = k->t.rounds,
				      .before = k->t.c.median[0],
				      .after = k->t.c.median[1],
				      .low = k->t.c.low,
				      .high = k->t.c.high,
				      .confidence = k->t.c.confidence,
				      .verdict = rama_emu_verdict_name[k->t.c.verdict] };
	int rc = rama_query_job_rows(s, k->job, RAMA_QUERY_JOB_FINDINGS, find_rule, said, e);

	gethostname(host, sizeof(host) - 1);
	clock_gettime(CLOCK_REALTIME, &now);
	t.t_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	t.rule = said->rule;
	t.cost = said->cost;
	if (rc == 0)
		rc = rama_store_begin(s, e);
	if (rc != 0)
		return rc;
	rc = rama_store_put_trial(s, k->job, &t, e);
	if (rc == 0)
		rc = rama_store_commit(s, e);
	if (rc != 0)
		rama_store_rollback(s);
	return rc;
}

static void tell(const struct rama_cli_emulate_keep *k, const struct said *said)
{
	char cost[RAMA_HUMAN];

	fprintf(stderr, "iorama emulate: kept with job %lld of the store", (long long)k->job);
	if (said->rule[0] != '\0')
		fprintf(stderr, ", beside %s", said->rule);
	if (isfinite(said->cost) && said->cost > 0)
		fprintf(stderr, ", which was said to cost %s",
			rama_human_seconds(cost, said->cost));
	fputc('\n', stderr);
}

int rama_cli_emulate_keep_end(struct rama_cli_emulate_keep *k, const struct rama_emu_config *c,
			      struct rama_err *e)
{
	struct said said = { .c = c, .cost = NAN };
	struct rama_store *s = NULL;
	int rc;

	if (!k->tried)
		return 0;
	rc = rama_store_open(&s, k->where, RAMA_STORE_WRITE, e);
	if (rc == 0)
		rc = put(s, k, c, &said, e);
	rama_store_close(s);
	if (rc == 0 && !rama_emu_config_flag(c, RAMA_EMU_P_quiet))
		tell(k, &said);
	return rc != 0 ? name_store(k, e) : 0;
}
