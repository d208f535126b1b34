/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/human.h"
#include "base/json.h"
#include "base/when.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"

struct upkeep {
	struct rama_cli_opts o;
	struct rama_store *store;
	const char *to; /* archive */
	bool quiet, as_json, dry;
	bool failed; /* a line on standard error is the answer */
	struct rama_out out;
	struct rama_json json;
	struct rama_err e;
};

static int open_store(struct upkeep *u, unsigned flags)
{
	int status = rama_cli_store_here(&u->store, &u->o, RAMA_TAB_OPT_store_store, flags);

	u->failed = status != 0;
	return status;
}

static int failed(struct upkeep *u)
{
	u->failed = true;
	rama_cli_complain("store", "%s", u->e.text);
	return rama_err_status(u->e.code);
}

/* ---- stats ----------------------------------------------------------------------------------- */

static void count_line(const char *what, int64_t n)
{
	char text[RAMA_HUMAN];

	printf("%-14s %s\n", what, rama_human_count(text, n));
}

static void stats_text(const struct rama_store_counts *c)
{
	char first[RAMA_WHEN], last[RAMA_WHEN], bytes[RAMA_HUMAN];

	count_line("jobs", c->jobs);
	if (c->first != 0)
		printf("%-14s %s to %s\n", "", rama_when_text(first, c->first, 0),
		       c->last != 0 ? rama_when_text(last, c->last, 0) : "now");
	count_line("processes", c->processes);
	count_line("logs", c->logs);
	count_line("files", c->files);
	count_line("records", c->records);
	count_line("findings", c->findings);
	count_line("events", c->events);
	count_line("  in blocks", c->blocks);
	count_line("  lost", c->lost);
	count_line("samples", c->samples);
	printf("%-14s %s, schema %d\n", "size", rama_human_bytes(bytes, (double)c->bytes),
	       c->schema);
}

static void stats_json(struct upkeep *u, const struct rama_store_counts *c)
{
	struct rama_json *j = &u->json;

	rama_json_key_i64(j, "jobs", c->jobs);
	rama_json_key_i64(j, "first_ns", c->first);
	rama_json_key_i64(j, "last_ns", c->last);
	rama_json_key_i64(j, "processes", c->processes);
	rama_json_key_i64(j, "logs", c->logs);
	rama_json_key_i64(j, "files", c->files);
	rama_json_key_i64(j, "records", c->records);
	rama_json_key_i64(j, "findings", c->findings);
	rama_json_key_i64(j, "events", c->events);
	rama_json_key_i64(j, "blocks", c->blocks);
	rama_json_key_i64(j, "lost", c->lost);
	rama_json_key_i64(j, "samples", c->samples);
	rama_json_key_i64(j, "bytes", c->bytes);
	rama_json_key_i64(j, "schema", c->schema);
}

static int stats(struct upkeep *u)
{
	struct rama_store_counts c;
	int status = open_store(u, RAMA_STORE_READ);

	if (status != 0)
		return status;
	if (rama_store_stats(u->store, &c, &u->e) != 0)
		return failed(u);
	if (u->as_json)
		stats_json(u, &c);
	else
		stats_text(&c);
	return 0;
}

/* ---- prune, archive -------------------------------------------------------------------------- */

/* --before or --older; one of them is needed, so that nothing is removed by a slip */
static int64_t moment(const struct upkeep *u)
{
	const char *before = rama_cli_opts_value(&u->o, RAMA_TAB_OPT_store_before);
	const char *older = rama_cli_opts_value(&u->o, RAMA_TAB_OPT_store_older);
	struct timespec t;
	int64_t now, ns = 0;

	clock_gettime(CLOCK_REALTIME, &t);
	now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	if ((before == NULL) == (older == NULL))
		rama_cli_opts_usage(&u->o,
				    "which jobs? One of --before TIME and --older SPAN is needed");
	if (before != NULL && !rama_when(before, now, 0, &ns))
		rama_cli_opts_usage(
			&u->o, "--before is a moment such as 2026-11-16 or -30d, not '%s'", before);
	if (older != NULL && (!rama_when_span(older, &ns) || ns < 0))
		rama_cli_opts_usage(&u->o, "--older is a span such as 30d, not '%s'", older);
	return older != NULL ? now - ns : ns;
}

static void say_done(struct upkeep *u, const char *what, int64_t jobs)
{
	if (u->as_json)
		rama_json_key_i64(&u->json, what, jobs);
	else if (!u->quiet)
		printf("%lld job%s %s\n", (long long)jobs, jobs == 1 ? "" : "s", what);
}

static void say_gone(struct upkeep *u, const struct rama_store_keep_gone *g)
{
	static const char *const names[] = { "jobs without events", "jobs without sums by second",
					     "samples", "jobs" };
	static const char *const keys[] = { "events", "series", "samples", "jobs" };

	for (int i = 0; i < RAMA_STORE_KEEPS; i++)
		if (u->as_json)
			rama_json_key_i64(&u->json, keys[i], g->n[i]);
		else if (!u->quiet)
			printf("%lld %s\n", (long long)g->n[i], names[i]);
}

/* by the setting of the store; of --before or --older only what would go is counted */
static int apply(struct upkeep *u, const struct rama_store_keep *k)
{
	struct rama_store_keep kept;
	struct rama_store_keep_gone gone;
	int status = open_store(u, u->dry ? RAMA_STORE_READ : RAMA_STORE_WRITE);
	int rc;

	if (status != 0)
		return status;
	rc = k != NULL ? 1 : rama_store_keep_get(u->store, &kept, &u->e);
	if (rc == 0)
		rc = rama_err_set(&u->e, RAMA_EUSAGE,
				  "which jobs? --before TIME or --older SPAN, or a setting of the "
				  "store: iorama store keep events=30d");
	if (rc < 0 || rama_store_keep_apply(u->store, k != NULL ? k : &kept, u->dry, &gone, &u->e))
		return failed(u);
	say_gone(u, &gone);
	return 0;
}

/* what would go */
static int count(struct upkeep *u, bool events, bool samples)
{
	struct rama_store_keep k;
	struct timespec t;
	int64_t span;

	clock_gettime(CLOCK_REALTIME, &t);
	span = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec - moment(u);
	for (int i = 0; i < RAMA_STORE_KEEPS; i++)
		k.span[i] = RAMA_STORE_FOREVER;
	k.span[events ? RAMA_STORE_KEEP_EVENTS : RAMA_STORE_KEEP_JOBS] = span;
	if (samples)
		k.span[RAMA_STORE_KEEP_SAMPLES] = span;
	return apply(u, &k);
}

static int prune(struct upkeep *u)
{
	bool events = rama_cli_opts_has(&u->o, RAMA_TAB_OPT_store_events);
	bool which = rama_cli_opts_has(&u->o, RAMA_TAB_OPT_store_before) ||
		     rama_cli_opts_has(&u->o, RAMA_TAB_OPT_store_older);
	int64_t before, jobs;
	int status;

	if (!which && !events)
		return apply(u, NULL);
	if (u->dry)
		return count(u, events, !events);
	before = moment(u);
	status = open_store(u, RAMA_STORE_WRITE);
	if (status != 0)
		return status;
	if (rama_store_prune(u->store, before, events, &jobs, &u->e) != 0)
		return failed(u);
	say_done(u, "pruned", jobs);
	return 0;
}

/* the setting, changed or only shown */
static int keep(struct upkeep *u)
{
	bool change = u->o.n_args > 1;
	bool off = u->o.n_args == 2 && strcmp(u->o.args[1], "off") == 0;
	char text[RAMA_STORE_KEEP_TEXT] = "";
	struct rama_store_keep k;
	int status, rc = 0;

	if (change && !off && rama_store_keep_read(&k, u->o.args + 1, u->o.n_args - 1, &u->e) != 0)
		return failed(u);
	status = open_store(u, change ? RAMA_STORE_WRITE : RAMA_STORE_READ);
	if (status != 0)
		return status;
	if (change)
		rc = rama_store_keep_set(u->store, off ? NULL : &k, &u->e);
	if (rc == 0)
		rc = rama_store_keep_get(u->store, &k, &u->e);
	if (rc < 0)
		return failed(u);
	if (rc > 0)
		rama_store_keep_text(text, &k);
	if (u->as_json)
		rama_json_key_string(&u->json, "keep", text);
	else if (!u->quiet)
		puts(rc > 0 ? text : "all is kept for ever");
	return 0;
}

static int archive(struct upkeep *u)
{
	int64_t before, jobs;
	int status;

	if (u->dry)
		return count(u, false, true);
	before = moment(u);
	status = open_store(u, RAMA_STORE_WRITE);
	if (status != 0)
		return status;
	status = rama_store_archive(u->store, u->to, before, &jobs, &u->e) != 0 ? failed(u) : 0;
	say_done(u, "archived", jobs);
	return status;
}

/* ---- verify, upgrade ------------------------------------------------------------------------- */

static void tell_flaw(void *ctx, const char *line)
{
	struct upkeep *u = ctx;

	if (u->as_json)
		rama_json_string(&u->json, line);
	else
		printf("%s\n", line);
}

static int verify(struct upkeep *u)
{
	int64_t flaws;
	int status = open_store(u, RAMA_STORE_READ);

	if (status != 0)
		return status;
	if (u->as_json) {
		rama_json_key(&u->json, "flaws");
		rama_json_open(&u->json, '[');
	}
	flaws = rama_store_verify(u->store, tell_flaw, u, &u->e);
	if (u->as_json)
		rama_json_close(&u->json, ']');
	if (flaws < 0)
		return failed(u);
	if (flaws == 0 && !u->as_json && !u->quiet)
		puts("whole");
	return flaws == 0 ? 0 : 3;
}

static int upgrade(struct upkeep *u)
{
	const char *events = rama_cli_opts_value(&u->o, RAMA_TAB_OPT_store_place);
	struct rama_store_counts c;
	int status = open_store(u, events != NULL ? RAMA_STORE_WRITE | RAMA_STORE_CREATE
						  : RAMA_STORE_WRITE);

	if (status != 0)
		return status;
	if (events != NULL && rama_store_events_at(u->store, events, true, &u->e) != 0)
		return failed(u);
	if (rama_store_stats(u->store, &c, &u->e) != 0)
		return failed(u);
	if (u->as_json)
		rama_json_key_i64(&u->json, "schema", c.schema);
	else if (!u->quiet)
		printf("schema %d\n", c.schema);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct upkeep *u);
	bool chooses;  /* takes --before, --older, --dry-run */
	unsigned most; /* words that follow */
} words[] = {
	{ "stats", stats, false, 0 },	{ "keep", keep, false, RAMA_STORE_KEEPS },
	{ "prune", prune, true, 0 },	{ "archive", archive, true, 1 },
	{ "verify", verify, false, 0 }, { "upgrade", upgrade, false, 0 },
};

static int run(struct upkeep *u)
{
	const char *word = u->o.n_args > 0 ? u->o.args[0] : "";
	size_t i = 0, n = sizeof(words) / sizeof(words[0]);
	bool chosen = rama_cli_opts_has(&u->o, RAMA_TAB_OPT_store_before) ||
		      rama_cli_opts_has(&u->o, RAMA_TAB_OPT_store_older) || u->dry;

	while (i < n && strcmp(words[i].name, word) != 0)
		i++;
	if (i == n)
		rama_cli_opts_usage(&u->o,
				    "what to do? One of stats, keep, prune, archive, verify, "
				    "upgrade");
	if (u->o.n_args > words[i].most + 1 || (words[i].run == archive && u->o.n_args != 2))
		rama_cli_opts_usage(&u->o,
				    words[i].run == archive ? "archive takes the store to move "
							      "jobs to"
							    : "%s takes no more words",
				    word);
	if (chosen && !words[i].chooses)
		rama_cli_opts_usage(&u->o,
				    "--before, --older and --dry-run are for prune and archive");
	if (rama_cli_opts_has(&u->o, RAMA_TAB_OPT_store_events) && words[i].run != prune)
		rama_cli_opts_usage(&u->o, "--events-only is for prune");
	if (rama_cli_opts_has(&u->o, RAMA_TAB_OPT_store_place) && words[i].run != upgrade)
		rama_cli_opts_usage(&u->o, "--events is for upgrade");
	u->to = words[i].run == archive ? u->o.args[1] : NULL;
	return words[i].run(u);
}

int rama_cli_cmd_store(int argc, char **argv)
{
	struct upkeep u = { 0 };
	int status;

	rama_cli_opts_parse(&u.o, RAMA_TAB_CMD_store, argc, argv);
	u.quiet = rama_cli_opts_has(&u.o, RAMA_TAB_OPT_store_quiet);
	u.as_json = rama_cli_opts_has(&u.o, RAMA_TAB_OPT_store_json);
	u.dry = rama_cli_opts_has(&u.o, RAMA_TAB_OPT_store_dry);
	rama_out_init(&u.out, rama_cli_to_file, stdout);
	rama_json_init(&u.json, &u.out);
	if (u.as_json)
		rama_json_open(&u.json, '{');
	status = run(&u);
	if (u.as_json) {
		rama_json_close(&u.json, '}');
		rama_out_char(&u.out, '\n');
		if (!u.failed)
			rama_out_flush(&u.out);
	}
	rama_out_fini(&u.out);
	rama_store_close(u.store);
	rama_cli_opts_fini(&u.o);
	return status;
}
