/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.c: figures for Prometheus. No job, user, file or rank is a label, and however many jobs
 * there are, there are no more series: tests count them. */
#include <stdio.h>
#include <string.h>

#include "base/form/prom.h"
#include "base/now.h"
#include "serve/inside.h"
#include "store/store.h"

#define SILENT_NS (120 * INT64_C(1000000000)) /* an agent of which there was no sample */
#define RULES_MOST 250			      /* series of findings */

const double rama_serve_bin[RAMA_SERVE_BINS - 1] = { 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5 };

void rama_serve_counts_add(struct rama_serve_counts *c, const struct rama_serve_route *route,
			   int status, int64_t ns)
{
	unsigned at = route != NULL ? (unsigned)(route - rama_serve_routes) : RAMA_SERVE_ROUTES;
	unsigned bin = 0, hundred = status >= 100 && status < 600 ? (unsigned)status / 100 : 5;

	while (bin < RAMA_SERVE_BINS - 1 && (double)ns / 1e9 > rama_serve_bin[bin])
		bin++;
	atomic_fetch_add(&c->code[at][hundred], 1);
	atomic_fetch_add(&c->bin[bin], 1);
	atomic_fetch_add(&c->ns, (unsigned long long)(ns > 0 ? ns : 0));
}

/* ---- the store ------------------------------------------------------------------------------- */

static void two(struct rama_out *o, const char *name, const char *help, const char *const label[3],
		const double v[2])
{
	rama_prom_head(o, name, "counter", help);
	for (unsigned i = 0; i < 2; i++)
		rama_prom_series(o, name, (const char *const[]){ label[0], NULL },
				 (const char *const[]){ label[1 + i], NULL }, v[i]);
}

static void jobs(struct rama_out *o, const struct rama_query_totals *t, int64_t now)
{
	static const char *const states[] = { "state", "done", "broken" }, *const ways[] = {
		"direction", "read", "write"
	};

	rama_prom_head(o, "iorama_jobs", "gauge", "Jobs that run.");
	rama_out_fmt(o, "iorama_jobs{state=\"running\"} %lld\n", (long long)t->running);
	two(o, "iorama_jobs_ended_total", "Jobs of the store that have ended.", states,
	    (const double[]){ t->ended - t->broken, t->broken });
	two(o, "iorama_jobs_bytes_total", "Bytes that jobs of the store that have ended moved.",
	    ways, (const double[]){ t->bytes_read, t->bytes_written });
	rama_prom_one(o, "iorama_jobs_io_seconds_total", "counter",
		      "Time in I/O of jobs of the store that have ended.", t->io);
	rama_prom_one(o, "iorama_node_seconds_total", "counter",
		      "Run time of jobs of the store that have ended, times their nodes.",
		      t->node_time);
	if (t->running > 0 && t->last_seen > 0)
		rama_prom_one(o, "iorama_agent_delay_seconds", "gauge",
			      "How long ago anything was heard of a job that runs.",
			      (double)(now - t->last_seen) / 1e9);
}

/* Counters of the store as series: by its name, its labels, and what they mean. unit: 1e-9 for
 * ns. */
static const struct series {
	const char *stored, *name, *key[2], *help;
	double unit;
} known[] = {
	{ "bytes",
	  "iorama_bytes_total",
	  { "layer", "direction" },
	  "Bytes that observed jobs moved. Layers move the same bytes: do not add them up.",
	  1 },
	{ "calls", "iorama_calls_total", { "layer", "kind" }, "Calls of observed jobs.", 1 },
	{ "ns",
	  "iorama_io_seconds_total",
	  { "layer", "kind" },
	  "Time of observed jobs in calls, of all ranks together.",
	  1e-9 },
	{ "findings",
	  "iorama_findings_total",
	  { "rule", "level" },
	  "Findings HIGH and WARN of jobs.",
	  1 },
	{ "notices",
	  "iorama_notifications_total",
	  { "channel", "result" },
	  "Messages of alerts; unsure: nobody knows whether it arrived.",
	  1 },
};
#define KNOWN (sizeof(known) / sizeof(known[0]))

struct counters {
	struct rama_out *o;
	const struct series *of; /* whose rows are wanted */
	double stored, lost;
	unsigned n;
};

static const char *text_of(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_TEXT ? c->text : "";
}

static int take_counter(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct counters *c = ctx;
	const char *name = text_of(&row->cell[0]), *a = text_of(&row->cell[1]);
	const char *b = text_of(&row->cell[2]);
	double v = row->cell[3].type == RAMA_STORE_CELL_REAL ? row->cell[3].f : 0;

	(void)e;
	if (strcmp(name, "events") == 0) {
		*(strcmp(a, "lost") == 0 ? &c->lost : &c->stored) = v;
		return 0;
	}
	if (c->of == NULL || strcmp(name, c->of->stored) != 0 || c->n >= RULES_MOST ||
	    strcmp(b, "INFO") == 0)
		return 0;
	if (c->n++ == 0)
		rama_prom_head(c->o, c->of->name, "counter", c->of->help);
	rama_prom_series(c->o, c->of->name, c->of->key, (const char *const[]){ a, b },
			 v > 0 ? v * c->of->unit : 0);
	return 0;
}

static void counters(struct rama_out *o, struct rama_store *s)
{
	struct counters c = { .o = o };
	struct rama_err e = { 0 };

	for (size_t i = 0; i < KNOWN; i++) {
		c.of = &known[i];
		c.n = 0;
		if (rama_query_counters_list(s, take_counter, &c, &e) != 0)
			return;
	}
	rama_prom_one(o, "iorama_events_stored_total", "counter",
		      "Events that came into the store.", c.stored);
	rama_prom_one(o, "iorama_events_lost_total", "counter",
		      "Events that were seen and had to be dropped.", c.lost > 0 ? c.lost : 0);
}

struct agents {
	int64_t now, at_work, silent;
};

static int take_agent(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct agents *a = ctx;

	(void)e;
	if (row->cell[2].type == RAMA_STORE_CELL_INT && a->now - row->cell[2].i < SILENT_NS)
		a->at_work++;
	else
		a->silent++;
	return 0;
}

static void agents(struct rama_out *o, struct rama_store *s)
{
	struct agents a = { .now = rama_store_now(s) };
	struct rama_err e = { 0 };

	if (rama_query_nodes_list(s, take_agent, &a, &e) != 0)
		return;
	rama_prom_head(o, "iorama_agents", "gauge",
		       "Nodes of which there are samples; silent: none in the last two minutes.");
	rama_out_fmt(o,
		     "iorama_agents{state=\"at_work\"} %lld\niorama_agents{state=\"silent\"} "
		     "%lld\n",
		     (long long)a.at_work, (long long)a.silent);
}

/* ---- the server ------------------------------------------------------------------------------ */

static void requests(struct rama_out *o, const struct rama_serve_counts *c)
{
	static const char name[] = "iorama_http_request_duration_seconds";
	unsigned long long all = 0;

	rama_prom_head(o, "iorama_http_requests_total", "counter", "Requests that were answered.");
	for (unsigned r = 0; r <= RAMA_SERVE_ROUTES; r++)
		for (unsigned h = 1; h < 6; h++) {
			unsigned long long n = atomic_load(&c->code[r][h]);

			if (n > 0)
				rama_out_fmt(o,
					     "iorama_http_requests_total{route=\"%s\","
					     "code=\"%uxx\"} %llu\n",
					     r < RAMA_SERVE_ROUTES ? rama_serve_routes[r].name
								   : "none",
					     h, n);
		}
	rama_prom_head(o, name, "histogram", "How long answers took.");
	for (unsigned b = 0; b < RAMA_SERVE_BINS; b++) {
		all += atomic_load(&c->bin[b]);
		if (b < RAMA_SERVE_BINS - 1)
			rama_out_fmt(o, "%s_bucket{le=\"%g\"} %llu\n", name, rama_serve_bin[b],
				     all);
	}
	rama_out_fmt(o, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9f\n%s_count %llu\n", name, all,
		     name, (double)atomic_load(&c->ns) / 1e9, name, all);
}

void rama_serve_do_metrics(struct rama_serve_call *c)
{
	struct rama_query_totals t = { 0 };
	bool up = rama_serve_totals(c, &t) == 0;
	struct rama_out *o = &c->out;

	c->type = RAMA_PROM_TYPE;
	rama_prom_head(o, "iorama_build_info", "gauge", "Which program this is.");
	rama_out_text(o, "iorama_build_info{version=\"" IORAMA_BUILD_VERSION "\"} 1\n");
	rama_prom_one(o, "iorama_up", "gauge", "It answers.", 1);
	rama_prom_one(o, "iorama_store_up", "gauge", "The store can be read.", up);
	if (up) {
		jobs(o, &t, rama_store_now(c->store));
		counters(o, c->store);
		agents(o, c->store);
		rama_prom_one(o, "iorama_store_bytes", "gauge", "What the store takes, about.",
			      (double)rama_store_size(c->store));
	}
	rama_prom_one(o, "iorama_viewers", "gauge", "Streams that are open.",
		      atomic_load(&c->serve->counts.viewers));
	rama_prom_one(o, "iorama_live_delay_seconds", "gauge", "Since streams were renewed last.",
		      (double)rama_serve_hub_late(c->serve) / 1e3);
	requests(o, &c->serve->counts);
}
