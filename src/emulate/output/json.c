/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c: what was measured and with which parameters (docs/format/emulate.md). */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "emulate/output/output.h"

static void put_tally(struct rama_json *j, const struct rama_emu_tally *t)
{
	rama_json_key_i64(j, "reads", (int64_t)t->reads);
	rama_json_key_i64(j, "writes", (int64_t)t->writes);
	rama_json_key_i64(j, "opens", (int64_t)t->opens);
	rama_json_key_i64(j, "syncs", (int64_t)t->syncs);
	rama_json_key_i64(j, "metas", (int64_t)t->metas);
	rama_json_key_i64(j, "bytes_read", (int64_t)t->bytes_read);
	rama_json_key_i64(j, "bytes_written", (int64_t)t->bytes_written);
	rama_json_key_f64(j, "read_s", t->read_time);
	rama_json_key_f64(j, "write_s", t->write_time);
	rama_json_key_f64(j, "open_s", t->open_time);
	rama_json_key_f64(j, "sync_s", t->sync_time);
	rama_json_key_f64(j, "wait_s", t->wait_time);
	rama_json_key_f64(j, "compute_s", t->compute_time);
	rama_json_key_f64(j, "longest_read_s", t->max_read);
	rama_json_key_f64(j, "longest_write_s", t->max_write);
}

static void put_config(struct rama_json *j, const struct rama_emu_config *c)
{
	rama_json_key_open(j, "parameters", '{');
	for (int i = 0; i < RAMA_EMU_PARAMS; i++) {
		const struct rama_emu_param_info *p = &rama_emu_param_info[i];

		if (p->kind == RAMA_EMU_KIND_DEAD)
			continue;
		rama_json_key(j, p->name);
		if (p->kind == RAMA_EMU_KIND_FLAG)
			rama_json_bool(j, rama_emu_config_flag(c, (enum rama_emu_param)i));
		else if (p->kind == RAMA_EMU_KIND_SIZE || p->kind == RAMA_EMU_KIND_COUNT)
			rama_json_i64(j, rama_emu_config_size(c, (enum rama_emu_param)i));
		else if (p->kind == RAMA_EMU_KIND_SECONDS || p->kind == RAMA_EMU_KIND_RATIO)
			rama_json_f64(j, rama_emu_config_number(c, (enum rama_emu_param)i));
		else
			rama_json_string(j, rama_emu_config_text(c, (enum rama_emu_param)i));
	}
	rama_json_close(j, '}');
	rama_json_key_open(j, "arguments", '[');
	for (size_t i = 0; i < c->n_args; i++)
		rama_json_string(j, c->args[i]);
	rama_json_close(j, ']');
}

static void put_flaws(struct rama_json *j, const struct rama_emu_result *r)
{
	rama_json_key_open(j, "wrong_bytes", '{');
	for (int i = 1; i < RAMA_EMU_FLAWS; i++)
		rama_json_key_i64(j, rama_emu_flaw_name[i], (int64_t)r->total.flaws.bad[i]);
	rama_json_close(j, '}');
}

static void put_places(struct rama_json *j, const struct rama_emu_emulation *m)
{
	const char *dir;
	bool made;

	rama_json_key_open(j, "directories", '[');
	for (size_t i = 0; (dir = rama_emu_own_place_name(m->opt.own, i, &made)) != NULL; i++) {
		rama_json_open(j, '{');
		rama_json_key_string(j, "path", dir);
		rama_json_key_bool(j, "made", made);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void put_ranks(struct rama_json *j, const struct rama_emu_result *r,
		      const struct rama_emu_team *team)
{
	rama_json_key_open(j, "ranks", '[');
	for (uint32_t i = 0; i < r->n_ranks; i++) {
		rama_json_open(j, '{');
		rama_json_key_i64(j, "rank", i);
		rama_json_key_string(j, "node", team->nodes[team->node_of[i]]);
		put_tally(j, &r->rank[i]);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void put_files(struct rama_json *j, const struct rama_emu_result *r)
{
	rama_json_key_open(j, "files", '[');
	for (uint32_t i = 0; i < r->n_files; i++) {
		rama_json_open(j, '{');
		rama_json_key_string(j, "name", r->file[i].name);
		put_tally(j, &r->file[i].tally);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

/* as the paper reports it */
static void put_side(struct rama_json *j, const struct rama_emu_result *r, bool write)
{
	struct rama_emu_side s = rama_emu_result_side(r, write);

	rama_json_key_open(j, write ? "write" : "read", '{');
	rama_json_key_i64(j, "bytes", (int64_t)s.bytes);
	rama_json_key_i64(j, "requests", (int64_t)s.requests);
	rama_json_key_f64(j, "io_time_s", s.absolute);
	rama_json_key_f64(j, "bandwidth", s.absolute > 0 ? (double)s.bytes / s.absolute : 0);
	rama_json_key_f64(j, "rate", r->seconds > 0 ? (double)s.bytes / r->seconds : 0);
	rama_json_key_f64(j, "latency_s", s.requests > 0 ? s.busy / (double)s.requests : 0);
	rama_json_key_f64(j, "p50_s", s.p50);
	rama_json_key_f64(j, "p95_s", s.p95);
	rama_json_key_f64(j, "p99_s", s.p99);
	rama_json_key_f64(j, "longest_s", s.longest);
	rama_json_close(j, '}');
}

/* ---- workflows ------------------------------------------------------------------------------ */

static void put_critical(struct rama_json *j, const struct rama_emu_emulation *m)
{
	rama_json_key_open(j, "critical_paths", '[');
	for (uint32_t k = 0; k < rama_emu_result_iterations(m); k++) {
		double seconds;
		int64_t n;
		uint32_t *path = rama_emu_result_critical(m, k, &n, &seconds);

		rama_json_open(j, '{');
		rama_json_key_i64(j, "iteration", k);
		rama_json_key_f64(j, "seconds", seconds);
		rama_json_key_open(j, "tasks", '[');
		for (int64_t i = 0; i < n; i++)
			rama_json_string(j, m->graph->tasks[path[i]].id);
		rama_json_close(j, ']');
		rama_json_close(j, '}');
		free(path);
	}
	rama_json_close(j, ']');
}

/* one line for each time the task ran: start, end, ranks */
static void put_runs(struct rama_json *j, const struct rama_emu_result *r,
		     const struct rama_emu_emulation *m, uint32_t task)
{
	rama_json_key_open(j, "runs", '[');
	for (uint32_t k = 0; k < rama_emu_result_iterations(m); k++) {
		const struct rama_emu_task_run *run =
			&m->runs[(size_t)k * m->graph->n_tasks + task];

		rama_json_open(j, '{');
		rama_json_key_f64(j, "start_s", run->start - r->total.first);
		rama_json_key_f64(j, "end_s", run->end - r->total.first);
		rama_json_key_i64(j, "ranks", run->ranks);
		rama_json_key_i64(j, "first_rank", run->first_rank);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void put_tasks(struct rama_json *j, const struct rama_emu_result *r,
		      const struct rama_emu_emulation *m)
{
	const struct rama_emu_graph *g = m->graph;
	struct rama_emu_task_wait *waits = rama_emu_result_waits(m);

	rama_json_key_open(j, "tasks", '[');
	for (uint32_t i = 0; i < r->n_tasks && i < g->n_tasks; i++) {
		rama_json_open(j, '{');
		rama_json_key_string(j, "id", g->tasks[i].id);
		if (waits != NULL) {
			rama_json_key_f64(j, "wait_input_s", waits[i].input);
			rama_json_key_f64(j, "wait_rank_s", waits[i].rank);
		}
		put_tally(j, &r->task[i]);
		put_runs(j, r, m, i);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	free(waits);
}

static void put_workflow(struct rama_json *j, const struct rama_emu_result *r,
			 const struct rama_emu_emulation *m)
{
	const struct rama_emu_graph *g = m->graph;

	rama_json_key_open(j, "workflow", '{');
	rama_json_key_string(j, "name", g->name);
	rama_json_key_string(j, "format", g->format);
	rama_json_key_i64(j, "iterations", rama_emu_result_iterations(m));
	rama_json_key_f64(j, "makespan_s", r->seconds);
	rama_json_key_f64(j, "makespan_measured_s", g->makespan);
	rama_json_key_f64(j, "makespan_scaled_s",
			  g->makespan * rama_emu_config_number(m->cfg, RAMA_EMU_P_time));
	put_critical(j, m);
	put_tasks(j, r, m);
	rama_json_close(j, '}');
}

void rama_emu_result_json(const struct rama_emu_result *r, const struct rama_emu_emulation *m,
			  struct rama_out *out)
{
	struct rama_json j;

	rama_json_init(&j, out);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "schema", "iorama-emulate");
	rama_json_key_i64(&j, "version", 1);
	rama_json_key_string(&j, "mode", m->cfg->mode);
	put_config(&j, m->cfg);
	rama_json_key_string(&j, "engine", m->opt.engine->name);
	rama_json_key_string(&j, "processes", m->team->kind);
	rama_json_key_i64(&j, "nodes", m->team->n_nodes);
	rama_json_key_f64(&j, "seconds", r->seconds);
	put_side(&j, r, false);
	put_side(&j, r, true);
	if (m->samples != NULL)
		rama_emu_repeats_json(m->samples, &j);
	rama_json_key_open(&j, "total", '{');
	put_tally(&j, &r->total);
	rama_json_close(&j, '}');
	put_places(&j, m);
	rama_json_key_bool(&j, "verified", m->opt.verify);
	put_flaws(&j, r);
	/* the mode's own members are JSON already */
	rama_json_key_open(&j, "figures", '{');
	rama_out_bytes(out, m->notes.buf, m->notes.used);
	rama_json_close(&j, '}');
	put_ranks(&j, r, m->team);
	put_files(&j, r);
	if (m->graph != NULL)
		put_workflow(&j, r, m);
	rama_json_close(&j, '}');
	rama_out_char(out, '\n');
}
