/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_collect.c: iorama collect */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/human.h"
#include "base/json.h"
#include "base/now.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "bus/collect.h"
#include "index/import_store.h"

#define BATCH 256
#define WAIT_MS 200
#define ACK_WAIT 30 /* s */

static volatile sig_atomic_t stop;

struct state {
	const struct rama_cli_opts *o;
	const char *where; /* NATS, without its password; or the file that is read */
	bool quiet, terminal;
	int64_t began, shown; /* ms */
	uint64_t shown_events;
	struct rama_bus_collect_totals total;
};

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

static void tell(void *ctx, const char *line)
{
	(void)ctx;
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	fprintf(stderr, "iorama: %s\n", line);
}

/* one line, once a second, on a terminal only */
static void show(void *ctx, const struct rama_bus_collect_totals *t)
{
	struct state *s = ctx;
	char messages[RAMA_HUMAN], events[RAMA_HUMAN], rate[RAMA_HUMAN], waiting[RAMA_HUMAN];
	int64_t now = rama_now_ms(), span = now - s->shown;

	if (!s->terminal || span < 1000)
		return;
	fprintf(stderr, "\r%s messages, %s events, %s/s",
		rama_human_count(messages, (int64_t)t->messages),
		rama_human_count(events, (int64_t)t->events),
		rama_human_count(rate, (int64_t)(t->events - s->shown_events) * 1000 / span));
	if (t->waiting >= 0)
		fprintf(stderr, ", %s waiting", rama_human_count(waiting, t->waiting));
	if (t->refused > 0)
		fprintf(stderr, ", %s refused", rama_human_count(waiting, (int64_t)t->refused));
	fputs("\033[K", stderr);
	s->shown = now;
	s->shown_events = t->events;
}

static void print_json(const struct state *s)
{
	const struct rama_bus_collect_totals *t = &s->total;
	struct rama_out out;
	struct rama_json j;

	rama_out_init(&out, rama_cli_to_file, stdout);
	rama_json_init(&j, &out);
	rama_json_open(&j, '{');
	rama_json_key_i64(&j, "messages", (int64_t)t->messages);
	rama_json_key_i64(&j, "events", (int64_t)t->events);
	rama_json_key_i64(&j, "repeated", (int64_t)t->repeated);
	rama_json_key_i64(&j, "refused", (int64_t)t->refused);
	rama_json_key_i64(&j, "refused_events", (int64_t)t->refused_events);
	rama_json_key_i64(&j, "redelivered", (int64_t)t->redelivered);
	rama_json_key_i64(&j, "batches", (int64_t)t->batches);
	rama_json_key_i64(&j, "retries", (int64_t)t->retries);
	rama_json_key_f64(&j, "seconds", (double)(rama_now_ms() - s->began) / 1000);
	rama_json_close(&j, '}');
	rama_out_char(&out, '\n');
	rama_out_flush(&out);
	rama_out_fini(&out);
}

static void print_totals(const struct state *s)
{
	char messages[RAMA_HUMAN], events[RAMA_HUMAN], repeated[RAMA_HUMAN], refused[RAMA_HUMAN];

	if (s->terminal)
		fputs("\r\033[K", stderr);
	if (rama_cli_opts_has(s->o, RAMA_TAB_OPT_collect_json)) {
		print_json(s);
		return;
	}
	if (s->quiet)
		return;
	fprintf(stderr, "%s message%s, %s event%s stored",
		rama_human_count(messages, (int64_t)s->total.messages),
		s->total.messages == 1 ? "" : "s",
		rama_human_count(events, (int64_t)s->total.events),
		s->total.events == 1 ? "" : "s");
	if (s->total.repeated > 0)
		fprintf(stderr, ", %s were there already",
			rama_human_count(repeated, (int64_t)s->total.repeated));
	if (s->total.refused > 0)
		fprintf(stderr, ", %s damaged and left out",
			rama_human_count(refused, (int64_t)s->total.refused));
	fputc('\n', stderr);
}

/* ---- from NATS ------------------------------------------------------------------------------- */

static int from_bus(struct state *s, const char *store)
{
	const struct rama_cli_opts *o = s->o;
	char name[128] = "collector-";
	struct rama_bus_collect_options c = {
		.store = store,
		.bus = { .agent = name,
			 .where = o->args[0],
			 .credentials = rama_cli_opts_value(o, RAMA_TAB_OPT_collect_credentials),
			 .ca = rama_cli_opts_value(o, RAMA_TAB_OPT_collect_ca),
			 .cert = rama_cli_opts_value(o, RAMA_TAB_OPT_collect_cert),
			 .key = rama_cli_opts_value(o, RAMA_TAB_OPT_collect_key),
			 .domain = rama_cli_opts_value(o, RAMA_TAB_OPT_collect_domain),
			 .tell = tell,
			 .ctx = s },
		.batch = (unsigned)rama_cli_opts_number(o, RAMA_TAB_OPT_collect_batch, 1, 65536,
							BATCH),
		.wait_ms = WAIT_MS,
		.ack_wait_s = (unsigned)rama_cli_opts_number(o, RAMA_TAB_OPT_collect_ackwait, 1,
							     86400, ACK_WAIT),
		.drain = rama_cli_opts_has(o, RAMA_TAB_OPT_collect_drain),
		.stop = &stop,
		.progress = s->terminal ? show : NULL,
		.ctx = s,
	};
	struct rama_err e = { 0 };
	int rc;

	if (o->n_args > 1)
		rama_cli_opts_usage(o, "one URL; several servers are joined by commas: "
				       "nats://a:4222,nats://b:4222");
	gethostname(name + strlen(name), sizeof name - strlen(name) - 1);
	rc = rama_bus_collect_bus(&c, &s->total, &e);
	if (rc != 0) {
		rama_cli_complain("collect", "%s", e.text);
		return rama_err_status(rc);
	}
	print_totals(s);
	return s->total.refused > 0 ? 3 : 0;
}

/* ---- from files ------------------------------------------------------------------------------ */

struct import {
	struct rama_index_import_store it;
	struct state *s;
};

static void take_counts(void *ctx)
{
	const struct import *im = ctx;
	struct rama_bus_collect_totals *t = &im->s->total;

	t->messages = im->it.messages;
	t->events = im->it.events;
	t->repeated = im->it.repeated;
	t->refused = im->it.refused;
	t->batches = im->it.batches;
	show(im->s, t);
}

static bool stops(void *ctx)
{
	(void)ctx;
	return stop;
}

/* What is wrong with one file does not keep others from being read. */
static int from_files(struct state *s)
{
	struct import im = {
		.s = s, .it = { .tell = tell, .progress = take_counts, .stop = stops, .ctx = &im }
	};
	int status = rama_cli_store_here(&im.it.store, s->o, RAMA_TAB_OPT_collect_store,
					 RAMA_STORE_WRITE | RAMA_STORE_CREATE);

	if (status != 0)
		return status;
	for (size_t i = 0; i < s->o->n_args && !stop; i++) {
		struct rama_err e = { 0 };
		int rc = rama_index_import_store(&im.it, s->o->args[i], &e);

		if (rc != 0)
			tell(s, e.text);
		status = rama_err_status(rc) > status ? rama_err_status(rc) : status;
	}
	take_counts(&im);
	rama_store_close(im.it.store);
	print_totals(s);
	return status;
}

int rama_cli_cmd_collect(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal };
	char store[PATH_MAX];
	const char *where;
	struct rama_cli_opts o;
	struct state s = { .o = &o, .began = rama_now_ms() };
	int status;

	rama_cli_opts_parse(&o, RAMA_TAB_CMD_collect, argc, argv);
	if (o.n_args == 0)
		rama_cli_opts_usage(&o, "where from? The URL of a NATS server, or files");
	s.quiet = rama_cli_opts_has(&o, RAMA_TAB_OPT_collect_quiet);
	s.terminal = !s.quiet && isatty(STDERR_FILENO);
	s.shown = s.began;
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	if (!rama_cli_store_place(&o, RAMA_TAB_OPT_collect_store, store))
		status = 4;
	else if ((status = rama_cli_store_events(&o, RAMA_TAB_OPT_collect_store,
						 RAMA_TAB_OPT_collect_events)) == 0)
		status = rama_bus_sink_find(o.args[0], &where) == &rama_bus_sink_nats
				 ? from_bus(&s, store)
				 : from_files(&s);
	rama_cli_opts_fini(&o);
	return status;
}
