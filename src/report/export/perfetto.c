/* SPDX-License-Identifier: BSD-3-Clause */
/* perfetto.c: the Trace Event Format, which Perfetto and the browsers' own viewers open. A process
 * for each rank and one for the job; in a rank a track for each layer and, where calls of one
 * caused those of another, tracks that show them inside each other; counters of bytes per second.
 */
#include <stdio.h>
#include <string.h>

#include "base/form/trace.h"
#include "report/export/export.h"

struct writer {
	struct rama_json j;
	const struct rama_report_export *x;
	uint64_t next_tid; /* Perfetto knows threads by this number alone: no two have the same */
};

/* 0 is the kernel's idle process to Perfetto */
static int64_t pid_of(int64_t rank)
{
	return rank + 1;
}

static int64_t job_pid(const struct writer *w)
{
	return pid_of(w->x->view->nprocs);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void process_name(struct writer *w, int64_t rank)
{
	const struct rama_job_view *v = w->x->view;
	int32_t host = rank >= 0 && rank < v->nprocs ? v->ranks[rank].host : -1;
	char name[128];

	if (rank < 0)
		snprintf(name, sizeof(name), "rank not known");
	else
		snprintf(name, sizeof(name), "rank %lld%s%s", (long long)rank,
			 host >= 0 ? " on " : "", host >= 0 ? v->hosts[host] : "");
	rama_trace_name(&w->j, "process_name", pid_of(rank < 0 ? v->nprocs + 1 : rank), 0, name, 0);
	rama_trace_name(&w->j, "process_sort_index", pid_of(rank < 0 ? v->nprocs + 1 : rank), 0,
			NULL, rank + 1);
}

/* ---- operations ------------------------------------------------------------------------------ */

static void operation(struct writer *w, const struct rama_report_export_op *x, uint64_t tid,
		      const char *category)
{
	const struct rama_job_view_op *op = x->op;
	int64_t nobody = w->x->view->nprocs + 1;
	char name[64];

	snprintf(name, sizeof(name), "%s %s", rama_job_layer_info[op->layer].name,
		 op->kind == 0 ? "write" : "read");
	rama_trace_open(&w->j, "X", pid_of(op->rank < 0 ? nobody : op->rank), tid);
	rama_trace_moment(&w->j, "ts", x->start);
	rama_trace_moment(&w->j, "dur", x->end - x->start);
	rama_json_key_string(&w->j, "name", name);
	rama_json_key_string(&w->j, "cat", category);
	rama_json_key_open(&w->j, "args", '{');
	rama_json_key_string(&w->j, "file", w->x->view->files[op->file].name);
	rama_json_key_i64(&w->j, "offset", op->offset);
	rama_json_key_i64(&w->j, "bytes", op->length);
	if (op->thread != 0)
		rama_json_key_u64(&w->j, "thread", op->thread);
	rama_json_close(&w->j, '}');
	rama_json_close(&w->j, '}');
	rama_out_char(w->j.out, '\n');
}

/* The tracks of one layer in ops[from .. to - 1], or (RAMA_JOB_LAYERS) the nested ones. */
static void tracks(struct writer *w, size_t from, size_t to, unsigned layer)
{
	bool nested = layer == RAMA_JOB_LAYERS;
	const char *label = nested ? "nested" : rama_job_layer_info[layer].name;
	int64_t rank = w->x->ops[from].op->rank;
	uint32_t lanes = 0;
	char name[64];

	for (size_t i = from; i < to; i++) {
		const struct rama_report_export_op *x = &w->x->ops[i];
		uint32_t lane = nested ? x->nested_lane : x->layer_lane;

		if (!nested && x->op->layer != layer)
			continue;
		for (; lanes <= lane; lanes++) {
			uint64_t tid = w->next_tid + lanes;
			int64_t pid = pid_of(rank < 0 ? w->x->view->nprocs + 1 : rank);

			snprintf(name, sizeof(name), lanes > 0 ? "%s %u" : "%s", label, lanes + 1);
			rama_trace_name(&w->j, "thread_name", pid, tid, name, 0);
			rama_trace_name(&w->j, "thread_sort_index", pid, tid, NULL,
					(int64_t)((layer + 1) % (RAMA_JOB_LAYERS + 1)));
		}
		operation(w, x, w->next_tid + lane, label);
	}
	w->next_tid += lanes;
}

static void ranks(struct writer *w)
{
	const struct rama_report_export *x = w->x;

	for (size_t from = 0, to; from < x->n && w->j.out->error == 0; from = to) {
		bool nests = false, used[RAMA_JOB_LAYERS] = { false };

		to = rama_report_export_rank_end(x, from);
		for (size_t i = from; i < to; i++) {
			nests = nests || x->ops[i].depth > 0;
			used[x->ops[i].op->layer] = true;
		}
		process_name(w, x->ops[from].op->rank);
		if (nests)
			tracks(w, from, to, RAMA_JOB_LAYERS);
		for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++)
			if (used[l])
				tracks(w, from, to, l);
	}
}

/* ---- over time ------------------------------------------------------------------------------- */

static void counter(struct writer *w, const char *name, int64_t pid, double at, double read,
		    double written)
{
	rama_trace_open(&w->j, "C", pid, 0);
	rama_trace_moment(&w->j, "ts", (uint64_t)(at * 1e9 + 0.5));
	rama_json_key_string(&w->j, "name", name);
	rama_json_key_open(&w->j, "args", '{');
	rama_json_key_f64(&w->j, "read", read);
	rama_json_key_f64(&w->j, "written", written);
	rama_json_close(&w->j, '}');
	rama_json_close(&w->j, '}');
	rama_out_char(w->j.out, '\n');
}

/* A counter holds until its next value: those that repeat are left out, the last is 0. */
static void series(struct writer *w, const char *name, int64_t pid,
		   const struct rama_job_view_heat *h, const double *written, const double *read)
{
	double was[2] = { 0, 0 };

	for (uint32_t b = 0; b <= h->bins && w->j.out->error == 0; b++) {
		double in = b < h->bins ? read[b] / h->width : 0;
		double out = b < h->bins ? written[b] / h->width : 0;

		if (b > 0 && in == was[0] && out == was[1])
			continue;
		counter(w, name, pid, b * h->width, in, out);
		was[0] = in;
		was[1] = out;
	}
}

/* Of each rank only where no single operations are known: else they say more. */
static void counters(struct writer *w)
{
	const struct rama_job_view *v = w->x->view;

	for (size_t i = 0; i < v->n_heats; i++) {
		const struct rama_job_view_heat *h = &v->heats[i];
		char name[64];

		snprintf(name, sizeof(name), "%s bytes/s", rama_job_layer_info[h->layer].name);
		series(w, name, job_pid(w), h, h->bin_bytes[0], h->bin_bytes[1]);
		for (uint32_t r = 0; r < h->rows && w->x->n == 0; r++) {
			size_t at = (size_t)r * h->bins;

			if (h->first[r + 1] != h->first[r] + 1)
				continue;
			if (i == 0)
				process_name(w, h->first[r]);
			series(w, name, pid_of(h->first[r]), h, h->sum[0] + at, h->sum[1] + at);
		}
	}
}

static void phases(struct writer *w)
{
	const struct rama_job_view *v = w->x->view;
	uint64_t tid = w->next_tid++;
	char name[64];

	if (v->n_phases == 0)
		return;
	rama_trace_name(&w->j, "thread_name", job_pid(w), tid, "phases", 0);
	for (size_t i = 0; i < v->n_phases; i++) {
		const struct rama_job_view_phase *p = &v->phases[i];
		uint64_t start = (uint64_t)(p->start * 1e9 + 0.5),
			 end = (uint64_t)(p->end * 1e9 + 0.5);

		snprintf(name, sizeof(name), "phase %zu", i + 1);
		rama_trace_open(&w->j, "X", job_pid(w), tid);
		rama_trace_moment(&w->j, "ts", start);
		rama_trace_moment(&w->j, "dur", end > start ? end - start : 0);
		rama_json_key_string(&w->j, "name", name);
		rama_json_key_string(&w->j, "cat", "phase");
		rama_json_key_open(&w->j, "args", '{');
		rama_json_key_i64(&w->j, "read", p->bytes[1]);
		rama_json_key_i64(&w->j, "written", p->bytes[0]);
		rama_json_key_u64(&w->j, "ranks", p->ranks);
		rama_json_close(&w->j, '}');
		rama_json_close(&w->j, '}');
		rama_out_char(w->j.out, '\n');
	}
}

static void perfetto(struct rama_out *o, const struct rama_report_export *x)
{
	const struct rama_job_view *v = x->view;
	struct writer w = { .x = x, .next_tid = (uint64_t)v->nprocs + 3 };

	rama_json_init(&w.j, o);
	rama_json_open(&w.j, '{');
	rama_json_key_string(&w.j, "displayTimeUnit", "ns");
	rama_json_key_open(&w.j, "otherData", '{');
	rama_json_key_string(&w.j, "program", v->name);
	rama_json_key_i64(&w.j, "job", v->jobid);
	rama_json_key_i64(&w.j, "start", v->start_sec);
	rama_json_key_u64(&w.j, "operations", x->n);
	rama_json_close(&w.j, '}');
	rama_json_key_open(&w.j, "traceEvents", '[');
	rama_trace_name(&w.j, "process_name", job_pid(&w), 0, v->name, 0);
	rama_trace_name(&w.j, "process_sort_index", job_pid(&w), 0, NULL, -1);
	phases(&w);
	counters(&w);
	ranks(&w);
	rama_json_close(&w.j, ']');
	rama_json_close(&w.j, '}');
	rama_out_char(o, '\n');
}

const struct rama_report_export_form rama_report_export_form_perfetto = {
	.suffix = ".perfetto.json",
	.counters = true,
	.write = perfetto,
};
