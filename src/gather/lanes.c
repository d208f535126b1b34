/* SPDX-License-Identifier: BSD-3-Clause */
/* lanes.c: what threads keep for themselves, added up: heat maps and losses; and the record of the
 * process. */
#include <string.h>

#include "core/times.h"
#include "gather/one.h"

const char *const rama_gather_heat_names[RAMA_SEG_LAYERS] = {
#define TRACED(layer, ...) "heatmap:" #layer,
#include "table/layers.def"
};

static const uint64_t traces = 1ull << RAMA_TAB_MOD_CALLS
#define TRACED(layer, word, name, module) | 1ull << RAMA_TAB_MOD_##module
#include "table/layers.def"
	;
#define BIN_SECONDS 0.1 /* width of a bin at the start */

/* bins in use: up to the last that holds anything */
static unsigned bins_used(const struct rama_core_heat *h)
{
	unsigned n = RAMA_CORE_HEAT_BINS;

	while (n > 0 && h->bytes[0][n - 1] == 0 && h->bytes[1][n - 1] == 0)
		n--;
	return n;
}

int rama_gather_lanes_find(struct rama_gather *g)
{
	uint32_t lanes = rama_seg_lanes(g->s);

	g->missed = g->s->state.missed;
	for (uint32_t i = 0; i < lanes; i++) {
		int rc = rama_seg_lane_get(g->s, i, &g->u.lane, g->e);

		if (rc != 0)
			return rc;
		g->lost += g->u.lane.lost;
		g->missed += g->u.lane.missed;
		for (unsigned l = 0; l < RAMA_SEG_LAYERS; l++)
			rama_core_heat_merge(&g->heat[l], &g->u.lane.heat[l]);
	}
	for (unsigned l = 0; l < RAMA_SEG_LAYERS; l++) {
		if (bins_used(&g->heat[l]) > 0)
			g->has |= 1ull << RAMA_TAB_MOD_HEATMAP;
		else
			g->heat[l].width = 0;
	}
	if (g->lost > 0) /* nobody counts by layer what is lost */
		g->partial |= (g->has | g->s->state.registered) & traces;
	if (!(g->s->id.flags & RAMA_SEG_NO_PROCESS))
		g->has |= 1ull << RAMA_TAB_MOD_PROCESS;
	return 0;
}

/* Widths are 0.1 s, doubled some times; ticks say that only nearly, and maps of several
 * processes have to agree. */
static double width_seconds(uint64_t ticks, double tick)
{
	double s = (double)ticks * tick, nominal = BIN_SECONDS;

	while (nominal < s * 0.99 && nominal < 1e15)
		nominal *= 2;
	return nominal < s * 1.01 && nominal > s * 0.99 ? nominal : s;
}

static int write_heat(struct rama_gather *g, unsigned layer)
{
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_HEATMAP);
	struct rama_core_heat *h = &g->heat[layer];
	union rama_core_word w[RAMA_TAB_HEATMAP__WORDS] = { { .u = 0 } };
	struct rama_core_record r = { .mod = mod, .schema = mod->record, .w = w };
	uint64_t bins;

	while (g->s->end_tick > 0 && (g->s->end_tick - 1) / RAMA_CORE_HEAT_BINS >= h->width)
		rama_core_heat_halve(h);
	bins = g->s->end_tick / h->width + (g->s->end_tick % h->width != 0);
	if (bins < bins_used(h))
		bins = bins_used(h);
	w[RAMA_TAB_ID].u = rama_gather_id(rama_gather_heat_names[layer]);
	w[RAMA_TAB_RANK].i = g->p->rank;
	w[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f = width_seconds(h->width, g->s->tick);
	w[RAMA_TAB_HEATMAP_NBINS].u = bins;
	for (unsigned k = 0; k < 2; k++) {
		/* words that are integers */
		r.array[k] = (union rama_core_word *)(void *)h->bytes[k];
		r.count[k] = bins;
	}
	return rama_gather_failed(g, rama_log_writer_record(g->w, &r));
}

int rama_gather_heat_write(struct rama_gather *g)
{
	int rc = 0;

	for (unsigned l = 0; l < RAMA_SEG_LAYERS && rc == 0; l++)
		if (g->heat[l].width > 0)
			rc = write_heat(g, l);
	return rc;
}

static uint64_t grown(uint64_t from, uint64_t to)
{
	return to > from && to < INT64_MAX ? to - from : 0;
}

/* what the system counted from the beginning to the end of what was observed */
static void put_usage(const struct rama_seg_state *s, union rama_core_word *w)
{
	const struct rama_seg_usage *a = &s->usage[0], *b = &s->usage[1];

	w[RAMA_TAB_PROCESS_MAJOR_FAULTS].i = -1;
	if (s->usage_known < 2)
		return;
	w[RAMA_TAB_PROCESS_MAJOR_FAULTS].u = grown(a->major_faults, b->major_faults);
	w[RAMA_TAB_PROCESS_F_USER_TIME].f = (double)grown(a->user_us, b->user_us) * 1e-6;
	w[RAMA_TAB_PROCESS_F_SYSTEM_TIME].f = (double)grown(a->system_us, b->system_us) * 1e-6;
}

int rama_gather_process_write(struct rama_gather *g)
{
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_PROCESS);
	const struct rama_seg_identity *id = &g->s->id;
	union rama_core_word *w = g->words;
	struct rama_core_record r = {
		.mod = mod, .schema = mod->record, .w = w, .array = { g->u.command }
	};

	memset(w, 0, RAMA_TAB_PROCESS__WORDS * sizeof(*w));
	memset(g->u.command, 0, sizeof(g->u.command));
	memcpy(g->u.command, id->command, strlen(id->command));
	r.count[0] = (strlen(id->command) + 7) / 8;
	w[RAMA_TAB_ID].u = rama_gather_id(RAMA_GATHER_PROCESS);
	w[RAMA_TAB_RANK].i = g->p->rank;
	w[RAMA_TAB_PROCESS_PID].i = id->pid;
	w[RAMA_TAB_PROCESS_PPID].i = id->ppid;
	w[RAMA_TAB_PROCESS_PARENT_RANK].i = g->p->parent_rank;
	w[RAMA_TAB_PROCESS_IMAGES].i = g->p->images;
	w[RAMA_TAB_PROCESS_FORKED].i = (id->flags & RAMA_SEG_FORKED) != 0;
	w[RAMA_TAB_PROCESS_THREADS].u = g->s->state.threads_most;
	w[RAMA_TAB_PROCESS_ENDED].i = g->p->ended;
	w[RAMA_TAB_PROCESS_EVENTS_LOST].u = g->lost;
	w[RAMA_TAB_PROCESS_CALLS_MISSED].u = g->missed;
	w[RAMA_TAB_PROCESS_FILES_FOLDED].u = g->folded;
	w[RAMA_TAB_PROCESS_URING_OPS].u = g->s->state.uring_ops;
	w[RAMA_TAB_PROCESS_URING_SUBMITS].u = g->s->state.uring_submits;
	w[RAMA_TAB_PROCESS_URING_DEPTH_SUM].u = g->s->state.uring_depth_sum;
	w[RAMA_TAB_PROCESS_URING_DEPTH_MAX].u = g->s->state.uring_depth_max;
	w[RAMA_TAB_PROCESS_URING_MISSED].u = g->s->state.uring_missed;
	w[RAMA_TAB_PROCESS_MMAPS].u = g->maps < INT64_MAX ? g->maps : INT64_MAX;
	w[RAMA_TAB_PROCESS_BYTES_MAPPED].u = g->mapped < INT64_MAX ? g->mapped : INT64_MAX;
	put_usage(&g->s->state, w);
	w[RAMA_TAB_PROCESS_F_START_TIMESTAMP].f =
		rama_core_times_round(g->s->tick); /* 0 would mean never */
	w[RAMA_TAB_PROCESS_F_END_TIMESTAMP].f =
		rama_core_times_round((double)g->s->end_tick * g->s->tick);
	memcpy(&w[RAMA_TAB_PROCESS_HOSTNAME], id->host, strlen(id->host));
	w[RAMA_TAB_PROCESS_COMMAND_WORDS].u = r.count[0];
	return rama_gather_failed(g, rama_log_writer_record(g->w, &r));
}
