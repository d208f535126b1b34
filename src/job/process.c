/* SPDX-License-Identifier: BSD-3-Clause */
/* process.c: the processes of the job: where they ran, how they ended, what was lost. */
#include <stdlib.h>
#include <string.h>

#include "core/recordid.h"
#include "job/work.h"

int rama_job_view_host(struct rama_job_view *v, int64_t rank, const char *host, size_t n)
{
	struct rama_job_view_work *k = v->work;
	uint64_t *at;
	bool fresh;

	n = strnlen(host, n);
	if (n == 0 || rank < 0 || rank >= k->n || v->ranks[k->first + rank].host >= 0)
		return 0;
	at = rama_map_put(&k->hosts, rama_core_record_id(host, n), &fresh);
	if (at == NULL)
		return RAMA_EMEMORY;
	if (fresh) {
		const char *copy = rama_arena_text(&v->arena, host, n);

		if (copy == NULL || !RAMA_GROW(v->hosts, k->hosts_room, v->n_hosts + 1))
			return RAMA_EMEMORY;
		*at = v->n_hosts;
		v->hosts[v->n_hosts++] = copy;
	}
	v->ranks[k->first + rank].host = (int32_t)*at;
	return 0;
}

/* a count from a file: nothing below 0 */
static int64_t counted(int64_t sum, int64_t x)
{
	return x > 0 ? rama_core_add(sum, x) : sum;
}

static double moment(double t, double shift)
{
	return t > 0 && t < 1e12 ? t + shift : 0;
}

static int take(struct rama_job_view *v, const union rama_core_word *w)
{
	struct rama_job_view_work *k = v->work;
	int64_t rank = w[RAMA_TAB_RANK].i;
	struct rama_job_view_rank *r;
	double start, end;

	k->unfinished += w[RAMA_TAB_PROCESS_ENDED].i == 0;
	k->running += w[RAMA_TAB_PROCESS_ENDED].i == 3;
	v->lost_events = counted(v->lost_events, w[RAMA_TAB_PROCESS_EVENTS_LOST].i);
	v->missed_calls = counted(v->missed_calls, w[RAMA_TAB_PROCESS_CALLS_MISSED].i);
	v->folded_files = counted(v->folded_files, w[RAMA_TAB_PROCESS_FILES_FOLDED].i);
	if (k->n == 1 && rank < 0)
		rank = 0;
	if (rank < 0 || rank >= k->n)
		return 0;
	r = &v->ranks[k->first + rank];
	start = moment(w[RAMA_TAB_PROCESS_F_START_TIMESTAMP].f, k->shift);
	end = moment(w[RAMA_TAB_PROCESS_F_END_TIMESTAMP].f, k->shift);
	if (r->end == 0 || start < r->start)
		r->start = start;
	if (end > r->end)
		r->end = end;
	r->pid = w[RAMA_TAB_PROCESS_PID].i;
	return rama_job_view_host(v, rank, w[RAMA_TAB_PROCESS_HOSTNAME].b, sizeof(w->b) * 8);
}

int rama_job_view_processes(struct rama_job_view *v)
{
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&c, v->work->log, RAMA_TAB_MOD_PROCESS), bad = 0;

	while (rc > 0 && bad == 0 && (rc = rama_log_cursor_next(&c, &r)) > 0)
		bad = take(v, r->w);
	v->work->records[RAMA_TAB_MOD_PROCESS] += c.index;
	rama_log_cursor_close(&c);
	return bad != 0 ? bad : rc;
}

/* a number or text of the metadata, "key=value" lines; NULL: not there */
static const char *meta_value(const char *metadata, const char *key)
{
	const char *at = strstr(metadata, key);

	return at != NULL && (at == metadata || at[-1] == '\n') ? at + strlen(key) : NULL;
}

static int64_t meta_number(const char *metadata, const char *key)
{
	const char *text = meta_value(metadata, key);
	int64_t n = text != NULL ? strtoll(text, NULL, 10) : 0;

	return n > 0 ? n : 0;
}

int rama_job_view_missing(struct rama_job_view *v)
{
	struct rama_job_view_work *k = v->work;
	const char *metadata = k->log->job.metadata;
	const char *missing = meta_value(metadata, RAMA_LOG_META_MISSING);
	int64_t n = meta_number(metadata, RAMA_LOG_META_UNFINISHED);

	v->unfinished += k->unfinished > n ? k->unfinished : n;
	v->running += k->running;
	k->unfinished = k->running = 0;
	rama_log_unseen_read(&v->unseen, metadata);
	v->unplaced = rama_core_add(v->unplaced, meta_number(metadata, RAMA_LOG_META_UNPLACED));
	v->unplaced_calls = rama_core_add(v->unplaced_calls,
					  meta_number(metadata, RAMA_LOG_META_UNPLACED_CALLS));
	if (missing == NULL || v->missing_ranks != NULL)
		return 0;
	v->missing_ranks = rama_arena_text(&v->arena, missing, strcspn(missing, "\n"));
	return v->missing_ranks != NULL ? 0 : RAMA_EMEMORY;
}

void rama_job_view_nodes_finish(struct rama_job_view *v)
{
	int64_t known = 0;

	for (int64_t r = 0; r < v->nprocs; r++)
		known += v->ranks[r].host >= 0;
	v->nodes = known == v->nprocs ? (int64_t)v->n_hosts : 0;
}
