/* SPDX-License-Identifier: BSD-3-Clause */
/* sum.c: jobs from steps, rules over jobs, the lists of jobs that stand out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/fleet/fleet.h"

/* seconds: numbers of jobs come again, steps of a job follow each other within a day */
#define STEP_GAP 86400

/* ---- the lists ------------------------------------------------------------------------------- */

#define TOP(symbol, title, columns, first, condition, value)                \
	static double value_##symbol(const struct rama_report_fleet_job *j) \
	{                                                                   \
		return value;                                               \
	}                                                                   \
	static bool listed_##symbol(const struct rama_report_fleet_job *j)  \
	{                                                                   \
		return condition;                                           \
	}
#include "report/fleet/tops.def"
#undef TOP

enum { MOST, LEAST };
const struct rama_report_fleet_top_info rama_report_fleet_top_info[RAMA_REPORT_FLEET_TOPS] = {
#define TOP(symbol, title, columns, first, condition, value) \
	{ #symbol, title, columns, value_##symbol, listed_##symbol, (first) == LEAST },
#include "report/fleet/tops.def"
#undef TOP
};

/* is job a before b in this list? Equal ones in the order of jobs, so that runs agree. */
static bool before(const struct rama_report_fleet *f, const struct rama_report_fleet_top_info *t,
		   uint32_t a, uint32_t b)
{
	double x = t->value(&f->jobs[a]), y = t->value(&f->jobs[b]);

	if (x != y)
		return t->least ? x < y : x > y;
	return a < b;
}

static int make_list(struct rama_report_fleet *f, unsigned which, size_t most)
{
	const struct rama_report_fleet_top_info *t = &rama_report_fleet_top_info[which];
	uint32_t *list = malloc((most + 1) * sizeof(*list));
	size_t n = 0;

	if (list == NULL)
		return RAMA_EMEMORY;
	for (uint32_t j = 0; j < f->n_jobs; j++) {
		size_t at = n;

		if (!t->listed(&f->jobs[j]))
			continue;
		while (at > 0 && before(f, t, j, list[at - 1]))
			at--;
		if (at == most)
			continue;
		n = n < most ? n + 1 : n;
		memmove(&list[at + 1], &list[at], (n - 1 - at) * sizeof(*list));
		list[at] = j;
	}
	f->top[which] = list;
	f->n_top[which] = n;
	return 0;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int by_step(const void *x, const void *y, void *fleet)
{
	const struct rama_report_fleet *f = fleet;
	const struct rama_report_fleet_log *a = &f->logs[*(const size_t *)x];
	const struct rama_report_fleet_log *b = &f->logs[*(const size_t *)y];

	if (a->uid != b->uid)
		return a->uid < b->uid ? -1 : 1;
	if (a->jobid != b->jobid)
		return a->jobid < b->jobid ? -1 : 1;
	if (a->exe != b->exe) /* two programs of one batch job have two stories */
		return strcmp(f->exes[a->exe].name, f->exes[b->exe].name);
	if (a->start_sec != b->start_sec)
		return a->start_sec < b->start_sec ? -1 : 1;
	return strcmp(a->path, b->path);
}

static int sort_steps(struct rama_report_fleet *f)
{
	f->order = malloc((f->n_logs + 1) * sizeof(*f->order));
	f->jobs = calloc(f->n_logs + 1, sizeof(*f->jobs));
	if (f->order == NULL || f->jobs == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < f->n_logs; i++) {
		f->n_unread += !f->logs[i].read;
		f->n_damaged += f->logs[i].read && f->logs[i].problem != NULL;
		if (f->logs[i].read)
			f->order[f->n_order++] = i;
	}
	qsort_r(f->order, f->n_order, sizeof(*f->order), by_step, f);
	return 0;
}

/* Logs of a job that ran at the same time are its processes, those one after the other its steps.
 * Each log goes to a lane in which it overlaps with nothing: what steps took is added up in a lane,
 * and the job took as long in I/O as its slowest lane, like a job with its slowest rank. */
struct lane {
	double end, io_time, meta_time, cost;
	int64_t nprocs;
};

struct lanes {
	struct lane *at;
	size_t n, room;
	double end; /* of the last log of the job */
};

/* starts are known in whole seconds: what ends within the one in which another begins is before */
static struct lane *lane_of(struct lanes *all, const struct rama_report_fleet_log *l)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->at[i].end < (double)l->start_sec + 1)
			return &all->at[i];
	if (!RAMA_GROW(all->at, all->room, all->n + 1))
		return NULL;
	all->at[all->n] = (struct lane){ 0 };
	return &all->at[all->n++];
}

static void sum_lanes(struct rama_report_fleet_job *j, const struct lanes *all)
{
	double meta = 0;

	j->nprocs = 0;
	j->io_time = j->cost = 0;
	for (size_t i = 0; i < all->n; i++) {
		const struct lane *x = &all->at[i];

		j->nprocs += x->nprocs;
		meta += x->meta_time * (double)x->nprocs;
		j->io_time = fmax(j->io_time, x->io_time);
		j->cost = fmax(j->cost, x->cost);
	}
	j->meta_time = j->nprocs > 0 ? meta / (double)j->nprocs : 0;
	j->rate = j->io_time > 0 ? (j->bytes_read + j->bytes_written) / j->io_time : 0;
}

static bool add_step(struct rama_report_fleet_job *j, struct lanes *all,
		     const struct rama_report_fleet_log *l)
{
	double end = (double)l->start_sec + l->run_time;
	struct lane *x = lane_of(all, l);

	if (x == NULL)
		return false;
	j->steps++;
	j->user = j->user != NULL ? j->user : l->user;
	if (all->end < (double)l->start_sec + 1)
		j->run_time += l->run_time;
	else
		j->run_time += fmax(0, end - all->end);
	all->end = fmax(all->end, end);
	x->end = end;
	x->io_time += l->io_time;
	x->meta_time += l->meta_time;
	x->cost += l->cost;
	x->nprocs = l->nprocs > x->nprocs ? l->nprocs : x->nprocs;
	j->cost_sum += l->cost;
	j->bytes_read += l->bytes_read;
	j->bytes_written += l->bytes_written;
	j->files += l->files;
	return true;
}

static int join_steps(struct rama_report_fleet *f)
{
	struct rama_report_fleet_job *j = f->jobs;
	struct lanes all = { 0 };
	bool ok = true;

	for (size_t i = 0; i < f->n_order && ok; i++) {
		struct rama_report_fleet_log *l = &f->logs[f->order[i]];

		if (f->n_jobs == 0 || j->uid != l->uid || j->jobid != l->jobid ||
		    j->exe != l->exe || (double)l->start_sec > all.end + STEP_GAP) {
			j = &f->jobs[f->n_jobs++];
			*j = (struct rama_report_fleet_job){ .first = i,
							     .exe = l->exe,
							     .jobid = l->jobid,
							     .uid = l->uid,
							     .start_sec = l->start_sec,
							     .worst = UINT16_MAX };
			all.n = 0;
			all.end = 0;
		}
		ok = add_step(j, &all, l);
		sum_lanes(j, &all);
		f->rank_time += l->run_time * (double)l->nprocs;
	}
	free(all.at);
	return ok ? 0 : RAMA_EMEMORY;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* what has been counted already: pairs of rule and user, rule and program */
struct seen {
	struct rama_map users, rule_users, rule_exes, exe_costs;
	bool failed;
};

static bool fresh_in(struct seen *s, struct rama_map *m, uint64_t key)
{
	bool fresh = false;

	if (rama_map_put(m, key, &fresh) == NULL)
		s->failed = true;
	return fresh;
}

static void count_program(struct rama_report_fleet *f, struct seen *s, unsigned rule, uint32_t exe,
			  double cost)
{
	struct rama_report_fleet_rule *r = &f->rules[rule];
	bool fresh = false;
	uint64_t *at = rama_map_put(&s->exe_costs, (uint64_t)rule << 32 | exe, &fresh);
	double sum;

	if (at == NULL) {
		s->failed = true;
		return;
	}
	memcpy(&sum, at, sizeof(sum)); /* 0 is 0.0 */
	sum += cost;
	memcpy(at, &sum, sizeof(sum));
	if (sum > r->worst_cost) {
		r->worst_cost = sum;
		r->worst = exe;
	}
}

/* A job has a finding at the worst level of its steps. Costs of steps add up, those of processes
 * at the same time do not: all get the share that is left of the whole. */
static void count_rules(struct rama_report_fleet *f, struct seen *s,
			struct rama_report_fleet_job *j, uint64_t user)
{
	uint8_t level[RAMA_REPORT_FLEET_RULES] = { 0 };
	double cost[RAMA_REPORT_FLEET_RULES] = { 0 }, most = -1;
	uint64_t applies[RAMA_REPORT_FLEET_RULES / 64] = { 0 };
	double share = j->cost_sum > 0 ? j->cost / j->cost_sum : 1;

	for (size_t i = j->first; i < j->first + j->steps; i++) {
		const struct rama_report_fleet_log *l = &f->logs[f->order[i]];

		for (unsigned k = 0; k < RAMA_REPORT_FLEET_RULES / 64; k++)
			applies[k] |= l->applies[k];
		for (unsigned k = 0; k < l->n_hits; k++) {
			unsigned r = l->hits[k].rule % RAMA_REPORT_FLEET_RULES;

			level[r] = l->hits[k].level > level[r] ? l->hits[k].level : level[r];
			cost[r] += (double)l->hits[k].cost * share;
		}
	}
	for (unsigned r = 0; r < rama_diag_n_rules && r < RAMA_REPORT_FLEET_RULES; r++) {
		f->rules[r].applies += applies[r / 64] >> r % 64 & 1;
		f->rules[r].jobs[level[r]] += level[r] > 0;
		j->level = level[r] > j->level ? level[r] : j->level;
		if (level[r] < RAMA_DIAG_LEVEL_WARN)
			continue;
		f->rules[r].found++;
		f->rules[r].cost += cost[r];
		f->rules[r].users += fresh_in(s, &s->rule_users, (uint64_t)r << 32 | user);
		f->rules[r].exes += fresh_in(s, &s->rule_exes, (uint64_t)r << 32 | j->exe);
		count_program(f, s, r, j->exe, cost[r]);
		if (cost[r] > most) {
			most = cost[r];
			j->worst = (uint16_t)r;
		}
	}
}

static void count_job(struct rama_report_fleet *f, struct seen *s, struct rama_report_fleet_job *j)
{
	struct rama_report_fleet_exe *x = &f->exes[j->exe];
	bool fresh = false;
	uint64_t *user = rama_map_put(&s->users, (uint64_t)j->uid, &fresh);

	if (user == NULL) {
		s->failed = true;
		return;
	}
	if (fresh)
		*user = f->n_users++;
	count_rules(f, s, j, *user);
	f->n_high += j->level == RAMA_DIAG_LEVEL_HIGH;
	f->n_warn += j->level == RAMA_DIAG_LEVEL_WARN;
	f->n_calm += j->level < RAMA_DIAG_LEVEL_WARN;
	x->jobs++;
	x->bad += j->level >= RAMA_DIAG_LEVEL_WARN;
	x->run_time += j->run_time;
	x->io_time += j->io_time;
	x->cost += j->cost;
	x->bytes += j->bytes_read + j->bytes_written;
	f->run_time += j->run_time;
	f->io_time += j->io_time;
	f->cost += j->cost;
	f->bytes_read += j->bytes_read;
	f->bytes_written += j->bytes_written;
	f->files += j->files;
	if (j->start_sec > 0 && (f->first_start == 0 || j->start_sec < f->first_start))
		f->first_start = j->start_sec;
	f->last_start = j->start_sec > f->last_start ? j->start_sec : f->last_start;
}

static void seen_fini(struct seen *s)
{
	rama_map_fini(&s->users);
	rama_map_fini(&s->rule_users);
	rama_map_fini(&s->rule_exes);
	rama_map_fini(&s->exe_costs);
}

/* ---- orders ---------------------------------------------------------------------------------- */

static int rule_by_cost(const void *x, const void *y, void *fleet)
{
	unsigned a = *(const unsigned *)x, b = *(const unsigned *)y;
	const struct rama_report_fleet_rule *r = ((const struct rama_report_fleet *)fleet)->rules;

	if (r[a].cost != r[b].cost)
		return r[a].cost < r[b].cost ? 1 : -1;
	if (r[a].found != r[b].found)
		return r[a].found < r[b].found ? 1 : -1;
	if (r[a].jobs[RAMA_DIAG_LEVEL_INFO] != r[b].jobs[RAMA_DIAG_LEVEL_INFO])
		return r[a].jobs[RAMA_DIAG_LEVEL_INFO] < r[b].jobs[RAMA_DIAG_LEVEL_INFO] ? 1 : -1;
	return strcmp(rama_diag_rules[a].id, rama_diag_rules[b].id);
}

static int exe_by_cost(const void *x, const void *y, void *fleet)
{
	const struct rama_report_fleet_exe *e = ((const struct rama_report_fleet *)fleet)->exes;
	const struct rama_report_fleet_exe *a = &e[*(const uint32_t *)x],
					   *b = &e[*(const uint32_t *)y];

	if (a->cost != b->cost)
		return a->cost < b->cost ? 1 : -1;
	if (a->io_time != b->io_time)
		return a->io_time < b->io_time ? 1 : -1;
	return strcmp(a->name, b->name);
}

static int make_orders(struct rama_report_fleet *f)
{
	f->exe_order = malloc((f->n_exes + 1) * sizeof(*f->exe_order));
	if (f->exe_order == NULL)
		return RAMA_EMEMORY;
	for (uint32_t i = 0; i < f->n_exes; i++)
		f->exe_order[i] = i;
	qsort_r(f->exe_order, f->n_exes, sizeof(*f->exe_order), exe_by_cost, f);
	for (unsigned r = 0; r < rama_diag_n_rules && r < RAMA_REPORT_FLEET_RULES; r++)
		if (f->rules[r].found + f->rules[r].jobs[RAMA_DIAG_LEVEL_INFO] > 0)
			f->rule_order[f->n_rules++] = r;
	qsort_r(f->rule_order, f->n_rules, sizeof(*f->rule_order), rule_by_cost, f);
	return 0;
}

int rama_report_fleet_finish(struct rama_report_fleet *f, size_t top, struct rama_err *e)
{
	struct seen s = { .failed = false };
	int rc = sort_steps(f);

	for (unsigned r = 0; r < RAMA_REPORT_FLEET_RULES; r++)
		f->rules[r].worst = UINT32_MAX;
	if (rc == 0)
		rc = join_steps(f);
	if (rc == 0) {
		for (size_t i = 0; i < f->n_jobs; i++)
			count_job(f, &s, &f->jobs[i]);
	}
	if (rc == 0)
		rc = make_orders(f);
	for (unsigned i = 0; i < RAMA_REPORT_FLEET_TOPS && rc == 0; i++)
		rc = make_list(f, i, top);
	if (s.failed)
		rc = RAMA_EMEMORY;
	seen_fini(&s);
	return rc == 0 ? 0 : rama_err_set(e, rc, "%s", rama_err_text(rc));
}
