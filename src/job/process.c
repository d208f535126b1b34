/* SPDX-License-Identifier: BSD-3-Clause */
/* process.c: the processes of the job: where they ran, how they ended, what was lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/recordid.h"
#include "job/work.h"
#include "logfile/meta.h"

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

/* the program of a rank, from its command line: /usr/bin/python3 train.py -> python3 */
static int name_program(struct rama_job_view *v, struct rama_job_view_rank *r, const char *command,
			size_t n)
{
	struct rama_job_view_work *k = v->work;
	const char *slash;
	uint64_t *at;
	bool fresh;

	n = strnlen(command, n);
	for (size_t i = 0; i < n; i++)
		n = command[i] == ' ' ? i : n;
	slash = memrchr(command, '/', n);
	if (slash != NULL && slash + 1 < command + n) {
		n -= (size_t)(slash + 1 - command);
		command = slash + 1;
	}
	if (n == 0)
		return 0;
	at = rama_map_put(&k->programs, rama_core_record_id(command, n), &fresh);
	if (at == NULL)
		return RAMA_EMEMORY;
	if (fresh) {
		const char *copy = rama_arena_text(&v->arena, command, n);

		if (copy == NULL || !RAMA_GROW(v->programs, k->programs_room, v->n_programs + 1))
			return RAMA_EMEMORY;
		*at = v->n_programs;
		v->programs[v->n_programs++] = (struct rama_job_view_program){ .name = copy };
	}
	r->program = v->programs[*at].name;
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

static void take_uring(struct rama_job_view *v, const union rama_core_word *w)
{
	struct rama_job_view_uring *u = &v->uring;

	u->ops = counted(u->ops, w[RAMA_TAB_PROCESS_URING_OPS].i);
	u->submits = counted(u->submits, w[RAMA_TAB_PROCESS_URING_SUBMITS].i);
	u->depth_sum = counted(u->depth_sum, w[RAMA_TAB_PROCESS_URING_DEPTH_SUM].i);
	u->missed = counted(u->missed, w[RAMA_TAB_PROCESS_URING_MISSED].i);
	/* sums of damaged logs may run over */
	u->ops = u->ops > 0 ? u->ops : 0;
	u->submits = u->submits > 0 ? u->submits : 0;
	u->depth_sum = u->depth_sum > 0 ? u->depth_sum : 0;
	u->missed = u->missed > 0 ? u->missed : 0;
	if (w[RAMA_TAB_PROCESS_URING_DEPTH_MAX].i > u->depth_max)
		u->depth_max = w[RAMA_TAB_PROCESS_URING_DEPTH_MAX].i;
}

static int take(struct rama_job_view *v, const struct rama_core_record *record)
{
	const union rama_core_word *w = record->w;
	struct rama_job_view_work *k = v->work;
	int64_t rank = w[RAMA_TAB_RANK].i;
	struct rama_job_view_rank *r;
	double start, end;

	k->told++;
	k->roots += w[RAMA_TAB_PROCESS_PARENT_RANK].i < 0;
	k->unfinished += w[RAMA_TAB_PROCESS_ENDED].i == 0;
	k->running += w[RAMA_TAB_PROCESS_ENDED].i == 3;
	v->lost_events = counted(v->lost_events, w[RAMA_TAB_PROCESS_EVENTS_LOST].i);
	v->missed_calls = counted(v->missed_calls, w[RAMA_TAB_PROCESS_CALLS_MISSED].i);
	v->folded_files = counted(v->folded_files, w[RAMA_TAB_PROCESS_FILES_FOLDED].i);
	take_uring(v, w);
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
	if (w[RAMA_TAB_PROCESS_THREADS].i > r->threads)
		r->threads = w[RAMA_TAB_PROCESS_THREADS].i;
	if (w[RAMA_TAB_PROCESS_PARENT_RANK].i >= 0 && w[RAMA_TAB_PROCESS_PARENT_RANK].i < k->n)
		r->parent = k->first + w[RAMA_TAB_PROCESS_PARENT_RANK].i;
	r->major_faults = counted(r->major_faults, w[RAMA_TAB_PROCESS_MAJOR_FAULTS].i);
	r->mapped += (double)counted(0, w[RAMA_TAB_PROCESS_BYTES_MAPPED].i);
	r->user_time += moment(w[RAMA_TAB_PROCESS_F_USER_TIME].f, 0);
	r->cpu_time += moment(w[RAMA_TAB_PROCESS_F_USER_TIME].f, 0) +
		       moment(w[RAMA_TAB_PROCESS_F_SYSTEM_TIME].f, 0);
	if (record->array[0] != NULL &&
	    name_program(v, r, record->array[0]->b, sizeof(*w) * record->count[0]) != 0)
		return RAMA_EMEMORY;
	return rama_job_view_host(v, rank, w[RAMA_TAB_PROCESS_HOSTNAME].b, sizeof(w->b) * 8);
}

int rama_job_view_processes(struct rama_job_view *v)
{
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&c, v->work->log, RAMA_TAB_MOD_PROCESS), bad = 0;

	while (rc > 0 && bad == 0 && (rc = rama_log_cursor_next(&c, &r)) > 0)
		bad = take(v, r);
	v->work->records[RAMA_TAB_MOD_PROCESS] += c.index;
	rama_log_cursor_close(&c);
	return bad != 0 ? bad : rc;
}

static int64_t meta_number(const char *metadata, const char *key)
{
	size_t len;
	const char *text = rama_log_meta_get(metadata, key, &len);
	int64_t n = text != NULL ? strtoll(text, NULL, 10) : 0;

	return n > 0 ? n : 0;
}

int rama_job_view_missing(struct rama_job_view *v)
{
	struct rama_job_view_work *k = v->work;
	const char *metadata = k->log->job.metadata;
	size_t len, command_len;
	const char *missing = rama_log_meta_get(metadata, RAMA_LOG_META_MISSING, &len);
	const char *command = rama_log_meta_get(metadata, RAMA_LOG_META_COMMAND, &command_len);
	int64_t n = meta_number(metadata, RAMA_LOG_META_UNFINISHED);

	v->unfinished += k->unfinished > n ? k->unfinished : n;
	v->running += k->running;
	k->unfinished = k->running = 0;
	rama_log_unseen_read(&v->unseen, metadata);
	v->unplaced = rama_core_add(v->unplaced, meta_number(metadata, RAMA_LOG_META_UNPLACED));
	v->unplaced_calls = rama_core_add(v->unplaced_calls,
					  meta_number(metadata, RAMA_LOG_META_UNPLACED_CALLS));
	if (command != NULL && v->command == NULL)
		v->command = rama_arena_text(&v->arena, command, command_len);
	if (command != NULL && v->command == NULL)
		return RAMA_EMEMORY;
	if (missing == NULL || v->missing_ranks != NULL)
		return 0;
	v->missing_ranks = rama_arena_text(&v->arena, missing, len);
	return v->missing_ranks != NULL ? 0 : RAMA_EMEMORY;
}

void rama_job_view_nodes_finish(struct rama_job_view *v)
{
	int64_t known = 0;

	/* ranks of MPI were started by a launcher, which is none: then nobody has a parent here */
	v->processes = v->work->told == v->nprocs && v->work->roots == 1 &&
		       !v->layer[RAMA_JOB_LAYER_MPIIO].used;
	for (int64_t r = 0; r < v->nprocs; r++)
		known += v->ranks[r].host >= 0;
	v->nodes = known == v->nprocs ? (int64_t)v->n_hosts : 0;
}

static int by_use(const void *a, const void *b)
{
	const struct rama_job_view_program *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->processes != y->processes)
		return x->processes > y->processes ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* how many processes ran which program, and how many of them moved data */
void rama_job_view_programs_finish(struct rama_job_view *v)
{
	if (!v->processes)
		v->n_programs = 0;
	for (int64_t r = 0; r < v->nprocs && v->n_programs > 0; r++) {
		const char *name = v->ranks[r].program;
		uint64_t *at = name != NULL ? rama_map_get(&v->work->programs,
							   rama_core_record_id(name, strlen(name)))
					    : NULL;

		if (at == NULL)
			continue;
		v->programs[*at].processes++;
		v->programs[*at].active += v->work->moved[r] != 0;
		v->programs[*at].bytes += (double)v->ranks[r].disk.bytes_read +
					  (double)v->ranks[r].disk.bytes_written;
	}
	if (v->n_programs > 1)
		qsort(v->programs, v->n_programs, sizeof(*v->programs), by_use);
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool of_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool rank_at(const char *at)
{
	return (*at == 'r' || *at == 'R') && memcmp(at + 1, "ank", 3) == 0;
}

/* the next "rank" or "Rank", or NULL */
static const char *next_rank(const char *text)
{
	const char *at = strstr(text, "ank");

	while (at != NULL && (at == text || !rank_at(at - 1)))
		at = strstr(at + 1, "ank");
	return at != NULL ? at - 1 : NULL;
}

/* "rank" or "ranks" as a word of its own, and not a place to be filled in ({ranks}, {all.ranks}):
 * its length, else 0 */
static size_t rank_word(const char *text, const char *at)
{
	size_t n = at[4] == 's' ? 5 : 4;

	if (at > text && (of_word(at[-1]) || at[-1] == '{' || at[-1] == '.'))
		return 0;
	return of_word(at[n]) ? 0 : n;
}

const char *rama_job_view_say(const struct rama_job_view *v, const char *text, char *to,
			      size_t room)
{
	const char *at = text, *next;
	size_t used = 0;

	if (!v->processes)
		return text;
	for (next = next_rank(text); next != NULL; next = next_rank(next)) {
		size_t n = rank_word(text, next);

		if (n > 0) {
			used += (size_t)snprintf(to + used, room - used, "%.*s%crocess%s",
						 (int)(next - at), at, *next == 'R' ? 'P' : 'p',
						 n == 5 ? "es" : "");
			if (used >= room)
				return text;
			at = next + n;
		}
		next += n > 0 ? n : 4;
	}
	if (at == text)
		return text;
	used += (size_t)snprintf(to + used, room - used, "%s", at);
	return used < room ? to : text;
}
