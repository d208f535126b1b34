/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c: many jobs for scripts; docs/format/fleet.md describes it. */
#include <math.h>

#include "base/json.h"
#include "report/fleet/fleet.h"

static void put_job(struct rama_json *j, const struct rama_report_fleet *f,
		    const struct rama_report_fleet_job *x)
{
	rama_json_open(j, '{');
	rama_json_key_id(j, "job", (uint64_t)x->jobid);
	rama_json_key_i64(j, "uid", x->uid);
	rama_json_key_string(j, "user", x->user);
	rama_json_key_string(j, "program", f->exes[x->exe].name);
	rama_json_key_i64(j, "start_s", x->start_sec);
	rama_json_key_i64(j, "ranks", x->nprocs);
	rama_json_key_f64(j, "run_time", x->run_time);
	rama_json_key_f64(j, "io_time", x->io_time);
	rama_json_key_f64(j, "meta_time", x->meta_time);
	rama_json_key_f64(j, "bytes_read", x->bytes_read);
	rama_json_key_f64(j, "bytes_written", x->bytes_written);
	rama_json_key_f64(j, "rate", x->rate);
	rama_json_key_i64(j, "files", (int64_t)x->files);
	rama_json_key_f64(j, "cost_s", x->cost);
	rama_json_key_string(j, "level", rama_diag_level_name[x->level]);
	rama_json_key_string(j, "worst",
			     x->worst != UINT16_MAX ? rama_diag_rules[x->worst].id : NULL);
	rama_json_key_open(j, "logs", '[');
	for (size_t i = x->first; i < x->first + x->steps; i++)
		rama_json_string(j, f->logs[f->order[i]].path);
	rama_json_close(j, ']');
	rama_json_close(j, '}');
}

static void put_totals(struct rama_json *j, const struct rama_report_fleet *f)
{
	rama_json_key_open(j, "totals", '{');
	rama_json_key_i64(j, "logs", (int64_t)f->n_logs);
	rama_json_key_i64(j, "unreadable", (int64_t)f->n_unread);
	rama_json_key_i64(j, "damaged", (int64_t)f->n_damaged);
	rama_json_key_i64(j, "jobs", (int64_t)f->n_jobs);
	rama_json_key_i64(j, "jobs_high", (int64_t)f->n_high);
	rama_json_key_i64(j, "jobs_warn", (int64_t)f->n_warn);
	rama_json_key_i64(j, "users", (int64_t)f->n_users);
	rama_json_key_i64(j, "programs", (int64_t)f->n_exes);
	rama_json_key_i64(j, "files", (int64_t)f->files);
	rama_json_key_f64(j, "bytes_read", f->bytes_read);
	rama_json_key_f64(j, "bytes_written", f->bytes_written);
	rama_json_key_f64(j, "run_time", f->run_time);
	rama_json_key_f64(j, "io_time", f->io_time);
	rama_json_key_f64(j, "rank_time", f->rank_time);
	rama_json_key_f64(j, "cost_s", f->cost);
	rama_json_key_i64(j, "first_start_s", f->first_start);
	rama_json_key_i64(j, "last_start_s", f->last_start);
	rama_json_close(j, '}');
}

static void put_rule(struct rama_json *j, const struct rama_report_fleet *f, unsigned rule)
{
	const struct rama_report_fleet_rule *r = &f->rules[rule];

	rama_json_open(j, '{');
	rama_json_key_string(j, "rule", rama_diag_rules[rule].id);
	rama_json_key_string(j, "title", rama_diag_rules[rule].title);
	rama_json_key_string(j, "drishti", rama_diag_rules[rule].drishti);
	rama_json_key_i64(j, "jobs", (int64_t)r->found);
	rama_json_key_f64(j, "share", f->n_jobs > 0 ? (double)r->found / (double)f->n_jobs : NAN);
	rama_json_key_i64(j, "applicable", (int64_t)r->applies);
	rama_json_key_i64(j, "high", (int64_t)r->jobs[RAMA_DIAG_LEVEL_HIGH]);
	rama_json_key_i64(j, "warn", (int64_t)r->jobs[RAMA_DIAG_LEVEL_WARN]);
	rama_json_key_i64(j, "info", (int64_t)r->jobs[RAMA_DIAG_LEVEL_INFO]);
	rama_json_key_i64(j, "users", (int64_t)r->users);
	rama_json_key_i64(j, "programs", (int64_t)r->exes);
	rama_json_key_f64(j, "cost_s", r->cost);
	rama_json_key_string(j, "worst_program",
			     r->worst != UINT32_MAX ? f->exes[r->worst].name : NULL);
	rama_json_close(j, '}');
}

static void put_programs(struct rama_json *j, const struct rama_report_fleet *f)
{
	rama_json_key_open(j, "programs", '[');
	for (size_t i = 0; i < f->n_exes; i++) {
		const struct rama_report_fleet_exe *x = &f->exes[f->exe_order[i]];

		rama_json_open(j, '{');
		rama_json_key_string(j, "program", x->name);
		rama_json_key_i64(j, "jobs", (int64_t)x->jobs);
		rama_json_key_i64(j, "with_findings", (int64_t)x->bad);
		rama_json_key_f64(j, "run_time", x->run_time);
		rama_json_key_f64(j, "io_time", x->io_time);
		rama_json_key_f64(j, "bytes", x->bytes);
		rama_json_key_f64(j, "cost_s", x->cost);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void put_problems(struct rama_json *j, const struct rama_report_fleet *f)
{
	rama_json_key_open(j, "problems", '[');
	for (size_t i = 0; i < f->n_logs; i++) {
		if (f->logs[i].problem == NULL)
			continue;
		rama_json_open(j, '{');
		rama_json_key_string(j, "log", f->logs[i].path);
		rama_json_key_bool(j, "read", f->logs[i].read);
		rama_json_key_string(j, "problem", f->logs[i].problem);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

void rama_report_fleet_json(const struct rama_report_fleet *f, struct rama_out *o)
{
	struct rama_json j;

	rama_json_init(&j, o);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "schema", "iorama-fleet");
	rama_json_key_i64(&j, "version", 1);
	rama_json_key_string(&j, "tool", "iorama " IORAMA_BUILD_VERSION);
	put_totals(&j, f);
	rama_json_key_open(&j, "findings", '[');
	for (unsigned i = 0; i < f->n_rules; i++)
		put_rule(&j, f, f->rule_order[i]);
	rama_json_close(&j, ']');
	put_programs(&j, f);
	rama_json_key_open(&j, "top", '{');
	for (unsigned t = 0; t < RAMA_REPORT_FLEET_TOPS; t++) {
		rama_json_key_open(&j, rama_report_fleet_top_info[t].name, '[');
		for (size_t i = 0; i < f->n_top[t]; i++)
			put_job(&j, f, &f->jobs[f->top[t][i]]);
		rama_json_close(&j, ']');
	}
	rama_json_close(&j, '}');
	rama_json_key_open(&j, "jobs", '[');
	for (size_t i = 0; i < f->n_jobs; i++)
		put_job(&j, f, &f->jobs[i]);
	rama_json_close(&j, ']');
	put_problems(&j, f);
	rama_json_close(&j, '}');
	rama_out_char(o, '\n');
}
