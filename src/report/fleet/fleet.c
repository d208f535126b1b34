/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/fleet/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "core/recordid.h"

int rama_report_fleet_init(struct rama_report_fleet *f, size_t n_logs)
{
	*f = (struct rama_report_fleet){ .n_logs = n_logs };
	f->logs = calloc(n_logs + 1, sizeof(*f->logs));
	return f->logs != NULL ? 0 : RAMA_EMEMORY;
}

void rama_report_fleet_fini(struct rama_report_fleet *f)
{
	for (unsigned i = 0; i < RAMA_REPORT_FLEET_TOPS; i++)
		free(f->top[i]);
	free(f->logs);
	free(f->exes);
	free(f->order);
	free(f->exe_order);
	free(f->jobs);
	rama_map_fini(&f->by_name);
	rama_arena_fini(&f->arena);
	*f = (struct rama_report_fleet){ 0 };
}

/* ---- one log --------------------------------------------------------------------------------- */

size_t rama_report_fleet_user(const char *path, const char **user)
{
	return rama_job_view_log_user(path, user);
}

static int exe_of(struct rama_report_fleet *f, const char *name, uint32_t *index)
{
	bool fresh = false;
	uint64_t *at = rama_map_put(&f->by_name, rama_core_record_id(name, strlen(name)), &fresh);

	if (at == NULL)
		return RAMA_EMEMORY;
	if (fresh) {
		char *copy = rama_arena_text(&f->arena, name, strlen(name));

		if (copy == NULL || !RAMA_GROW(f->exes, f->room_exes, f->n_exes + 1))
			return RAMA_EMEMORY;
		f->exes[f->n_exes] = (struct rama_report_fleet_exe){ .name = copy };
		*at = f->n_exes++;
	}
	*index = (uint32_t)*at;
	return 0;
}

static int keep_hits(struct rama_report_fleet *f, struct rama_report_fleet_log *l,
		     const struct rama_diag *d)
{
	l->hits = rama_arena_alloc(&f->arena, (d->n_findings + 1) * sizeof(*l->hits));
	if (l->hits == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < d->n_findings; i++) {
		const struct rama_diag_finding *x = &d->findings[i];

		if (x->level == RAMA_DIAG_LEVEL_OK || l->n_hits == UINT16_MAX)
			continue;
		l->hits[l->n_hits++] = (struct rama_report_fleet_hit){
			.rule = (uint16_t)(x->rule - rama_diag_rules),
			.level = (uint8_t)x->level,
			.cost = (float)x->cost
		};
		if (x->level >= RAMA_DIAG_LEVEL_WARN)
			l->cost += x->cost;
	}
	for (unsigned r = 0; r < rama_diag_n_rules && r < RAMA_REPORT_FLEET_RULES; r++)
		if (d->checks[r] != RAMA_DIAG_CHECK_NA)
			l->applies[r / 64] |= 1ull << r % 64;
	return 0;
}

int rama_report_fleet_add(struct rama_report_fleet *f, size_t i, const char *path,
			  const struct rama_job_view *v, const struct rama_diag *d)
{
	struct rama_report_fleet_log *l = &f->logs[i];
	const char *user;
	size_t n = rama_report_fleet_user(path, &user);

	l->path = path;
	l->user = n > 0 ? rama_arena_text(&f->arena, user, n) : NULL;
	l->jobid = v->jobid;
	l->uid = v->uid;
	l->nprocs = v->nprocs;
	l->start_sec = v->start_sec;
	l->run_time = v->run_time;
	/* pipes and devices that were waited for are no I/O */
	l->io_time = v->io_time > d->waiting ? v->io_time - d->waiting : 0;
	l->meta_time = v->nprocs > 0 ? v->total.meta_time / (double)v->nprocs : 0;
	if (l->meta_time > v->run_time) /* threads at the same time */
		l->meta_time = v->run_time;
	l->meta_time -= v->nprocs > 0 ? d->waiting / (double)v->nprocs : 0;
	l->meta_time = l->meta_time > 0 ? l->meta_time : 0;
	l->bytes_read = (double)v->disk.bytes_read;
	l->bytes_written = (double)v->disk.bytes_written;
	l->files = v->n_real;
	l->complete = v->complete;
	l->read = true;
	if (exe_of(f, v->name, &l->exe) != 0 || keep_hits(f, l, d) != 0)
		return RAMA_EMEMORY;
	if (l->cost > l->io_time) /* findings overlap: no more can be saved than is spent */
		l->cost = l->io_time;
	return 0;
}

int rama_report_fleet_problem(struct rama_report_fleet *f, size_t i, const char *path,
			      const char *problem)
{
	struct rama_report_fleet_log *l = &f->logs[i];

	l->path = path;
	l->problem = rama_arena_text(&f->arena, problem, strlen(problem));
	return l->problem != NULL ? 0 : RAMA_EMEMORY;
}
