/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_agent.c: iorama agent */
#include <errno.h>
#ifndef RAMA_WITHOUT_JANSSON
#include <jansson.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/human.h"
#include "base/without.h"
#include "bus/sink/sink.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "config/state.h"
#include "config/text.h"
#include "launch/place.h"

#define DIRS_MOST 64

struct command {
	struct rama_cli_opts o;
	struct rama_agent_options a;
	bool quiet;
	const char *dirs[DIRS_MOST];
	struct rama_gather_roots roots;
	char spool[PATH_MAX], sink[PATH_MAX + 16], logs[PATH_MAX];
};

/* ---- where things are ------------------------------------------------------------------------ */

static void choose_spool(struct command *c)
{
	const char *given = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_agent_spool);

	if (given == NULL)
		given = rama_cli_opts_setting(RAMA_TAB_SET_SPOOL);
	if (*given != '\0') {
		if (snprintf(c->spool, sizeof(c->spool), "%s", given) >= (int)sizeof(c->spool))
			rama_cli_opts_usage(&c->o, "the path of the spool is too long");
	} else if (c->a.system) {
		snprintf(c->spool, sizeof(c->spool), "%s/spool", c->a.home);
	} else if (!rama_config_state_place(c->spool, sizeof(c->spool), "spool")) {
		rama_cli_opts_usage(&c->o, "there is no home directory: --spool names a place");
	}
	c->a.spool = c->spool;
}

static void choose_logs(struct command *c)
{
	const char *given = rama_cli_opts_setting(RAMA_TAB_SET_LOG_DIR);

	if (*given != '\0')
		snprintf(c->logs, sizeof(c->logs), "%s", given);
	else if (!rama_config_state_place(c->logs, sizeof(c->logs), "logs"))
		c->logs[0] = '\0';
	if (c->logs[0] != '\0' && !rama_config_state_make(c->logs))
		c->logs[0] = '\0';
	c->a.logs = c->logs[0] != '\0' ? c->logs : NULL;
}

static int choose_sink(struct command *c)
{
	const char *sink = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_agent_sink), *where;
	const char *store = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_agent_store);
	char place[PATH_MAX];

	if (sink != NULL && store != NULL)
		rama_cli_opts_usage(&c->o, "--sink and --store: one of them");
	if (sink != NULL && rama_bus_sink_find(sink, &where) == NULL)
		rama_cli_opts_usage(&c->o,
				    "'%s' is no sink: store:PATH, file:PATH, nats://HOST:PORT, "
				    "ldms:HOST:PORT or postgresql://…",
				    sink);
	if (sink == NULL && store == NULL && c->a.system)
		return 0;
	if (sink == NULL) {
		if (!rama_cli_store_place(&c->o, RAMA_TAB_OPT_agent_store, place))
			return 4;
		snprintf(c->sink, sizeof(c->sink), "%s%s",
			 strstr(place, "://") != NULL ? "" : "store:", place);
		sink = c->sink;
	}
	c->a.sink = sink;
	return 0;
}

static void complain(void *ctx, const char *about, const char *line)
{
	(void)ctx;
	rama_cli_complain(about, "%s", line);
}

/* all places that processes of this user may use */
static void choose_own(struct command *c)
{
	struct rama_launch_told told = { .problem = complain };
	struct rama_gather_roots *roots = &c->roots;

	rama_launch_place_roots(roots, &told);
	for (size_t i = 0; i < roots->n && c->a.n_dirs < DIRS_MOST; i++)
		c->dirs[c->a.n_dirs++] = roots->path[i];
}

static void choose_dirs(struct command *c)
{
	const char *chosen = rama_cli_opts_setting(RAMA_TAB_SET_DIR), *dir;
	size_t at = 0;

	c->a.dirs = c->dirs;
	while ((dir = rama_cli_opts_next(&c->o, RAMA_TAB_OPT_agent_dir, &at)) != NULL &&
	       c->a.n_dirs < DIRS_MOST)
		c->dirs[c->a.n_dirs++] = dir;
	if (c->a.system && c->a.n_dirs > 0) {
		c->a.base = c->dirs[0];
		if (c->a.n_dirs > 1)
			rama_cli_opts_usage(
				&c->o, "--system: one --dir, which has the directories of users");
		c->a.n_dirs = 0;
	}
	if (c->a.n_dirs > 0 || c->a.system)
		return;
	if (*chosen != '\0') {
		c->dirs[c->a.n_dirs++] = chosen;
		return;
	}
	choose_own(c);
}

/* ---- options --------------------------------------------------------------------------------- */

static uint64_t size_of(struct command *c, enum rama_tab_option_id option, uint64_t otherwise,
			uint64_t least)
{
	const char *text = rama_cli_opts_value(&c->o, option);
	uint64_t v;

	if (text == NULL)
		return otherwise;
	if (!rama_config_piece_size((struct rama_config_piece){ text, strlen(text) }, &v) ||
	    v < least)
		rama_cli_opts_usage(&c->o, "'%s' is no size: 512M, 4G, at least 256K", text);
	return v;
}

static enum rama_agent_events events_of(struct command *c)
{
	static const char *const word[] = { "asked", "on", "off" };
	const char *text = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_agent_events);

	for (unsigned i = 0; i < 3; i++)
		if (text == NULL || strcmp(text, word[i]) == 0)
			return (enum rama_agent_events)i;
	rama_cli_opts_usage(&c->o, "--events is asked, on or off, not '%s'", text);
}

static double limit_of(struct command *c, enum rama_tab_setting_id setting, double least)
{
	const char *text = rama_cli_opts_setting(setting);
	char *end;
	double v = strtod(text, &end);

	if (*text == '\0' || *end != '\0' || !(v >= least && v <= 1e9))
		rama_cli_opts_usage(&c->o, "%s is a number of at least %g, not '%s'",
				    rama_tab_settings[setting].variable, least, text);
	return v;
}

static void choose_focus(struct command *c)
{
	c->a.focus = rama_cli_opts_has(&c->o, RAMA_TAB_OPT_agent_focus);
	if (!c->a.focus)
		return;
	if (c->a.events != RAMA_AGENT_EVENTS_ASKED)
		rama_cli_opts_usage(&c->o, "--focus and --events: one of them");
	c->a.focus_calls = (uint64_t)limit_of(c, RAMA_TAB_SET_FOCUS_CALLS, 1);
	c->a.focus_ratio = limit_of(c, RAMA_TAB_SET_FOCUS_RATIO, 1);
	c->a.focus_rounds = (unsigned)limit_of(c, RAMA_TAB_SET_FOCUS_ROUNDS, 1);
}

/* ---- --status -------------------------------------------------------------------------------- */

#ifdef RAMA_WITHOUT_JANSSON
static int show_status(struct command *c)
{
	struct rama_err e = { 0 };

	(void)c;
	rama_err_without(&e, "a reader of JSON (jansson)");
	rama_cli_complain("agent", "%s", e.text);
	return rama_err_status(e.code);
}
#else
static json_int_t number(const json_t *of, const char *a, const char *b)
{
	return json_integer_value(json_object_get(json_object_get(of, a), b));
}

static void print_job(const json_t *j)
{
	static const char *const word[] = { "made", "dropped", "committed", "lost" };
	char text[RAMA_HUMAN];

	printf("  %-40s", json_string_value(json_object_get(j, "key")));
	for (unsigned i = 0; i < 4; i++)
		printf(" %14s",
		       rama_human_count(text, json_integer_value(json_object_get(j, word[i]))));
	putchar('\n');
}

static void print_focus(const json_t *f)
{
	char calls[RAMA_HUMAN], took[RAMA_HUMAN];

	printf("focus: %s: process %lld on %s, %s a call; %lld others send sums, %s calls made no "
	       "event; moved %lld times",
	       json_string_value(json_object_get(f, "job")),
	       (long long)json_integer_value(json_object_get(f, "pid")),
	       json_string_value(json_object_get(f, "host")),
	       rama_human_seconds(
		       took, (double)json_integer_value(json_object_get(f, "ns_per_call")) * 1e-9),
	       (long long)json_integer_value(json_object_get(f, "others")),
	       rama_human_count(calls, json_integer_value(json_object_get(f, "left_out"))),
	       (long long)json_integer_value(json_object_get(f, "switches")));
	if (json_integer_value(json_object_get(f, "agents")) > 1)
		printf("; %lld agents choose together, %s decides",
		       (long long)json_integer_value(json_object_get(f, "agents")),
		       json_string_value(json_object_get(f, "decides")));
	putchar('\n');
}

static void print_status(const json_t *s, bool runs)
{
	const json_t *jobs = json_object_get(s, "jobs"), *job;
	char a[RAMA_HUMAN], b[RAMA_HUMAN], d[RAMA_HUMAN];
	size_t i;

	printf("%s on %s, process %lld, sink %s\n", runs ? "runs" : "does not run any more",
	       json_string_value(json_object_get(s, "host")),
	       (long long)json_integer_value(json_object_get(s, "pid")),
	       json_string_value(json_object_get(s, "sink")));
	printf("events: %s seen, %s stored, %s lost\n",
	       rama_human_count(a, number(s, "totals", "made") + number(s, "totals", "dropped")),
	       rama_human_count(b, number(s, "totals", "stored")),
	       rama_human_count(d, number(s, "totals", "lost") + number(s, "totals", "dropped") +
					   number(s, "totals", "refused")));
	printf("spool: %s of %s, %s messages wait%s\n",
	       rama_human_bytes(a, (double)number(s, "spool", "bytes")),
	       rama_human_bytes(b, (double)number(s, "spool", "limit")),
	       rama_human_count(d, number(s, "spool", "messages")),
	       json_is_true(json_object_get(json_object_get(s, "spool"), "full")) ? "; it is full"
										  : "");
	json_array_foreach(json_object_get(s, "focus"), i, job) print_focus(job);
	if (json_array_size(jobs) > 0)
		printf("  %-40s %14s %14s %14s %14s\n", "job", "made", "dropped", "stored", "lost");
	json_array_foreach(jobs, i, job) print_job(job);
}

#define SILENT 15 /* s: an agent says how it stands each second */

/* It is there, and has said so lately. */
static bool is_well(const json_t *s, bool runs)
{
	time_t updated = (time_t)(json_integer_value(json_object_get(s, "updated")) / 1000000000);

	return runs && time(NULL) - updated <= SILENT;
}

static int show_status(struct command *c)
{
	char path[PATH_MAX + 32];
	json_error_t error;
	json_t *s;
	bool runs, well;

	snprintf(path, sizeof(path), "%s/" RAMA_AGENT_STATUS_FILE, c->spool);
	s = json_load_file(path, 0, &error);
	if (s == NULL || !json_is_object(s)) {
		if (access(path, F_OK) != 0)
			rama_cli_complain(c->spool, "no agent has used this spool");
		else
			rama_cli_complain(path, "line %d: %s", error.line, error.text);
		json_decref(s);
		return 3;
	}
	runs = !json_is_true(json_object_get(s, "ended")) &&
	       (kill((pid_t)json_integer_value(json_object_get(s, "pid")), 0) == 0 ||
		errno == EPERM);
	well = is_well(s, runs);
	json_object_set_new(s, "running", json_boolean(runs));
	json_object_set_new(s, "silent", json_boolean(runs && !well));
	if (rama_cli_opts_has(&c->o, RAMA_TAB_OPT_agent_json)) {
		json_dumpf(s, stdout, JSON_COMPACT);
		putchar('\n');
	} else {
		print_status(s, runs);
		if (runs && !well)
			puts("it has said nothing of itself for some time");
	}
	json_decref(s);
	return well ? 0 : 3;
}
#endif

/* ---- the agent ------------------------------------------------------------------------------- */

static void tell(void *ctx, const char *line)
{
	struct command *c = ctx;

	if (!c->quiet)
		fprintf(stderr, "iorama: %s\n", line);
}

static int start(struct command *c)
{
	struct rama_err e = { 0 };
	int status = choose_sink(c);

	if (status != 0)
		return status;
	if (c->a.system && geteuid() != 0) {
		rama_cli_complain(
			"agent",
			"--system needs the rights of root; without it your own jobs are read");
		return 4;
	}
	umask(077);
	if (rama_cli_opts_has(&c->o, RAMA_TAB_OPT_agent_drain)) {
		bool chosen = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_agent_sink) != NULL ||
			      rama_cli_opts_value(&c->o, RAMA_TAB_OPT_agent_store) != NULL;

		status = rama_agent_left_drain(&c->a, chosen, &e);
	} else {
		choose_logs(c);
		choose_dirs(c);
		status = rama_agent_run(&c->a, &e);
	}
	if (status == 0)
		return 0;
	rama_cli_complain("agent", "%s", e.text);
	return rama_err_status(e.code);
}

int rama_cli_cmd_agent(int argc, char **argv)
{
	struct command *c = calloc(1, sizeof(*c));
	int status;

	if (c == NULL)
		return 4;
	rama_cli_opts_parse(&c->o, RAMA_TAB_CMD_agent, argc, argv);
	if (c->o.n_args > 0)
		rama_cli_opts_usage(&c->o, "'%s' is no option", c->o.args[0]);
	c->quiet = rama_cli_opts_has(&c->o, RAMA_TAB_OPT_agent_quiet);
	c->a = (struct rama_agent_options){
		.job = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_agent_job),
		.system = rama_cli_opts_has(&c->o, RAMA_TAB_OPT_agent_system),
		.samples = !rama_cli_opts_has(&c->o, RAMA_TAB_OPT_agent_no_samples),
		.limit = size_of(c, RAMA_TAB_OPT_agent_limit, 1ull << 30, 256 << 10),
		.interval = (unsigned)rama_cli_opts_number(&c->o, RAMA_TAB_OPT_agent_interval, 1,
							   1000, 5),
		.events = events_of(c),
		.root = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_agent_root),
		.home = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_agent_home),
		.metrics = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_agent_metrics),
		.tell = tell,
		.ctx = c
	};
	if (c->a.root == NULL)
		c->a.root = "";
	if (c->a.home == NULL)
		c->a.home = RAMA_AGENT_HOME;
	if (c->a.job != NULL && c->a.system)
		rama_cli_opts_usage(&c->o, "--job and --system: one of them");
	if (rama_cli_opts_has(&c->o, RAMA_TAB_OPT_agent_drain) && (c->a.job != NULL || c->a.system))
		rama_cli_opts_usage(&c->o, "--drain is for spools of your own");
	choose_focus(c);
	choose_spool(c);
	status = rama_cli_opts_has(&c->o, RAMA_TAB_OPT_agent_status) ? show_status(c) : start(c);
	rama_cli_opts_fini(&c->o);
	free(c);
	return status;
}
