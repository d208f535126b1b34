/* SPDX-License-Identifier: BSD-3-Clause */
/* moments.c: the jobs that run, out of a store: who they are and what they did by its tables, what
 * they are at by the moments that agents told. */
#include "study/moments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/grow.h"
#include "base/map.h"
#include "query/now.h"

#define JOBS_MOST 50
#define FILES_MOST 1000

struct job {
	struct rama_look_job is; /* first */
	int64_t number;
	struct rama_look_process *process;
	size_t n, room, of;		       /* of: all that it ever had */
	struct rama_map by_number, by_segment; /* -> place + 1 */
	struct rama_look_files files;
	size_t room_files;
};

struct stored {
	struct rama_store *s;
	struct job **job;
	size_t n, room;
	struct rama_arena arena; /* texts of the moments */
	int64_t now;
};

/* a row, or a moment, and what it is for */
struct taking {
	struct stored *all;
	struct job *job;
};

/* ---- small words ----------------------------------------------------------------------------- */

static const char *text_of(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_TEXT ? c->text : "";
}

static int64_t int_of(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_INT ? c->i : 0;
}

static void copy(char *to, size_t room, const char *from)
{
	snprintf(to, room, "%s", from);
}

/* the end of a long name says more than its beginning */
static void copy_end(char *to, size_t room, const char *from)
{
	size_t n = strlen(from), at = n < room ? 0 : n - (room - 1);

	while (at > 0 && at < n && ((unsigned char)from[at] & 0xc0) == 0x80)
		at++;
	copy(to, room, from + at);
}

static uint64_t half_of(const void *segment)
{
	uint64_t h;

	memcpy(&h, segment, sizeof(h));
	return h;
}

/* figures in a second */
static struct rama_look_io per_second(const struct rama_wire_msg_gain *g, int64_t width)
{
	double per = width > 0 ? 1e9 / (double)width : 1;

	return (struct rama_look_io){ .reads = (int64_t)((double)g->reads * per + 0.5),
				      .writes = (int64_t)((double)g->writes * per + 0.5),
				      .metas = (int64_t)((double)g->metas * per + 0.5),
				      .bytes_read = (int64_t)((double)g->bytes_read * per + 0.5),
				      .bytes_written =
					      (int64_t)((double)g->bytes_written * per + 0.5),
				      .read_time = (double)g->read_ns * 1e-9 * per,
				      .write_time = (double)g->write_ns * 1e-9 * per,
				      .meta_time = (double)g->meta_ns * 1e-9 * per };
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void free_jobs(struct stored *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct job *j = all->job[i];

		rama_map_fini(&j->by_number);
		rama_map_fini(&j->by_segment);
		rama_look_files_fini(&j->files);
		free(j->is.process);
		free(j->process);
		free(j);
	}
	all->n = 0;
	rama_arena_fini(&all->arena);
	all->arena = (struct rama_arena){ 0 };
}

static int take_job(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct stored *all = ctx;
	const char *key = text_of(&row->cell[1]), *slash = strchr(key, '/');
	struct job *j = RAMA_GROW(all->job, all->room, all->n + 1) ? calloc(1, sizeof(*j)) : NULL;

	if (j == NULL)
		return rama_err_no_memory(e);
	all->job[all->n++] = j;
	j->number = row->cell[0].i;
	copy(j->is.key, sizeof(j->is.key), key);
	copy(j->is.name, sizeof(j->is.name), slash != NULL ? slash + 1 : key);
	j->is.uid = int_of(&row->cell[2]);
	j->is.jobid = int_of(&row->cell[3]);
	j->is.start = int_of(&row->cell[4]);
	j->files.of = (size_t)int_of(&row->cell[5]);
	j->of = (size_t)int_of(&row->cell[6]);
	j->is.told = &j->files;
	return 0;
}

static int take_process(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct job *j = ctx;
	const struct rama_store_cell *c = row->cell;
	struct rama_look_process *p;
	uint64_t *number, *segment;

	if (!RAMA_GROW(j->process, j->room, j->n + 1))
		return rama_err_no_memory(e);
	p = &j->process[j->n++];
	*p = (struct rama_look_process){ .number = (uint64_t)int_of(&c[0]),
					 .pid = int_of(&c[4]),
					 .uid = j->is.uid,
					 .jobid = j->is.jobid,
					 .rank = int_of(&c[2]),
					 .mpi = int_of(&c[11]) > 0,
					 .start = int_of(&c[7]),
					 .state = RAMA_LOOK_RUNNING,
					 .wait = RAMA_LOOK_WAIT_COMPUTE,
					 .threads = 1,
					 .live = { .made = (uint64_t)int_of(&c[8]),
						   .dropped = (uint64_t)int_of(&c[9]),
						   .taken = (uint64_t)int_of(&c[10]) } };
	copy(p->host, sizeof(p->host), text_of(&c[3]));
	copy(p->exe, sizeof(p->exe), text_of(&c[5]));
	copy(p->command, sizeof(p->command), text_of(&c[6]));
	number = rama_map_put(&j->by_number, p->number, NULL);
	segment = rama_map_put(&j->by_segment,
			       c[1].len == sizeof(struct rama_wire_segment_key) ? half_of(c[1].text)
										: p->number,
			       NULL);
	if (number == NULL || segment == NULL)
		return rama_err_no_memory(e);
	*number = *segment = j->n;
	return 0;
}

/* what counters stand at, also of processes that have ended */
static int take_counted(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct job *j = ctx;
	const struct rama_store_cell *c = row->cell;
	const uint64_t *at = rama_map_get(&j->by_number, (uint64_t)int_of(&c[0]));
	struct rama_look_process *p = at != NULL && *at > 0 ? &j->process[*at - 1] : NULL;
	struct rama_look_io io = { .reads = int_of(&c[2]),
				   .writes = int_of(&c[3]),
				   .metas = int_of(&c[4]),
				   .bytes_read = int_of(&c[5]),
				   .bytes_written = int_of(&c[6]),
				   .read_time = (double)int_of(&c[7]) * 1e-9,
				   .write_time = (double)int_of(&c[8]) * 1e-9,
				   .meta_time = (double)int_of(&c[9]) * 1e-9 };
	const char *layer = text_of(&c[1]);
	bool lowest = strcmp(layer, "POSIX") == 0 || strcmp(layer, "STDIO") == 0 ||
		      strcmp(layer, "EXTRA") == 0;

	(void)e;
	for (unsigned i = 0; i < RAMA_LOOK_LAYERS; i++) {
		if (rama_look_layer_name[i] == NULL || strcmp(rama_look_layer_name[i], layer) != 0)
			continue;
		rama_look_io_add(&j->is.layer_total[i], &io);
		if (p != NULL)
			rama_look_io_add(&p->layer_total[i], &io);
	}
	if (!lowest)
		return 0;
	rama_look_io_add(&j->is.total, &io);
	if (p != NULL)
		rama_look_io_add(&p->total, &io);
	return 0;
}

static int take_trail(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_look_trail *t = ctx;
	int64_t second = int_of(&row->cell[0]);
	unsigned at = (unsigned)(second % RAMA_LOOK_TRAIL);

	(void)e;
	if (second > t->second || second <= t->second - RAMA_LOOK_TRAIL)
		return 0;
	t->read[at] = (float)int_of(&row->cell[1]);
	t->written[at] = (float)int_of(&row->cell[2]);
	t->ops[at] = (float)int_of(&row->cell[3]);
	return 0;
}

/* ---- moments --------------------------------------------------------------------------------- */

static int take_at(const struct taking *t, const struct rama_wire_msg_at *a, int64_t width,
		   struct rama_err *e)
{
	const uint64_t *at = rama_map_get(&t->job->by_segment, half_of(a->segment.b));
	struct rama_look_process *p;

	if (at == NULL || *at == 0) /* it has ended meanwhile, or is not known yet */
		return 0;
	p = &t->job->process[*at - 1];
	p->threads = (uint32_t)(a->threads < UINT32_MAX ? a->threads : UINT32_MAX);
	p->files = (uint32_t)(a->files < UINT32_MAX ? a->files : UINT32_MAX);
	p->gain = per_second(&a->gain, width);
	p->share = (double)a->share * 1e-6;
	p->longest = (double)a->longest * 1e-9;
	p->wait = (enum rama_look_wait)(RAMA_LOOK_WAIT_COMPUTE + a->wait);
	p->n_calls = (uint32_t)(a->calls < UINT32_MAX ? a->calls : UINT32_MAX);
	for (uint32_t i = 0; i < a->n && i < RAMA_LOOK_CALLS; i++) {
		struct rama_look_call *c = &p->call[p->n_told++];

		*c = (struct rama_look_call){ .fn = rama_arena_text(&t->all->arena, a->call[i].fn,
								    strlen(a->call[i].fn)),
					      .class = (enum rama_look_class)a->call[i].class,
					      .tid = (uint32_t)a->call[i].tid,
					      .fd = -1,
					      .since = (double)a->call[i].since * 1e-9,
					      .file = true };
		if (c->fn == NULL)
			return rama_err_no_memory(e);
		copy_end(c->name, sizeof(c->name), a->call[i].file);
	}
	return 0;
}

static int take_file(struct job *j, const struct rama_wire_msg_moved *m, int64_t width,
		     struct rama_err *e)
{
	struct rama_look_io gain = per_second(&m->gain, width), total = per_second(&m->total, 0);
	struct rama_look_file *f = NULL;

	for (size_t i = 0; i < j->files.n && f == NULL; i++)
		if (j->files.file[i].id == m->record)
			f = &j->files.file[i];
	if (f == NULL && j->files.n == FILES_MOST)
		return 0;
	if (f == NULL) {
		if (!RAMA_GROW(j->files.file, j->room_files, j->files.n + 1))
			return rama_err_no_memory(e);
		f = &j->files.file[j->files.n];
		*f = (struct rama_look_file){ .id = m->record, .name = strdup(m->name) };
		if (f->name == NULL)
			return rama_err_no_memory(e);
		j->files.n++;
	}
	rama_look_io_add(&f->gain, &gain);
	rama_look_io_add(&f->total, &total);
	f->processes += (uint32_t)(m->processes < 1u << 30 ? m->processes : 1u << 30);
	f->longest =
		(double)m->longest * 1e-9 > f->longest ? (double)m->longest * 1e-9 : f->longest;
	return 0;
}

static int take_moment(void *ctx, const struct rama_wire_msg_moment *m, struct rama_err *e)
{
	const struct taking *t = ctx;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < m->n; i++)
		rc = take_at(t, &m->at[i], m->width, e);
	for (uint32_t i = 0; rc == 0 && i < m->n_files; i++)
		rc = take_file(t->job, &m->file[i], m->width, e);
	return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
	const struct rama_look_file *x = a, *y = b;
	int64_t bx = x->gain.bytes_read + x->gain.bytes_written,
		by = y->gain.bytes_read + y->gain.bytes_written;

	if (bx != by)
		return bx > by ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* sums over its processes, as look/jobs.c has them of those that it sees itself */
static int sum_up(struct job *j, struct rama_err *e)
{
	struct rama_look_job *is = &j->is;

	is->process = calloc(j->n + 1, sizeof(*is->process));
	if (is->process == NULL)
		return rama_err_no_memory(e);
	for (size_t i = 0; i < j->n; i++) {
		struct rama_look_process *p = &j->process[i];

		is->process[is->n++] = p;
		rama_look_io_add(&is->gain, &p->gain);
		is->share += p->share / (double)j->n;
		is->longest = p->longest > is->longest ? p->longest : is->longest;
		is->n_calls += p->n_calls;
		is->live.made += p->live.made;
		is->live.dropped += p->live.dropped;
		is->live.taken += p->live.taken;
		is->hosts += i == 0 || strcmp(p->host, j->process[i - 1].host) != 0;
	}
	is->running = j->n;
	is->gone = j->of > j->n ? j->of - j->n : 0;
	j->files.of = j->files.of > j->files.n ? j->files.of : j->files.n;
	if (j->files.n > 1)
		qsort(j->files.file, j->files.n, sizeof(*j->files.file), by_bytes);
	return 0;
}

static int fill(struct stored *all, struct job *j, struct rama_err *e)
{
	struct taking t = { all, j };
	struct rama_store *s = all->s;
	int rc = rama_query_now_processes(s, j->number, take_process, j, e);

	/* the second that is going on is not whole yet */
	j->is.trail.second = all->now / 1000000000 - 1;
	if (rc == 0)
		rc = rama_query_now_counted(s, j->number, take_counted, j, e);
	if (rc == 0)
		rc = rama_query_now_trail(s, j->number, j->is.trail.second - RAMA_LOOK_TRAIL,
					  take_trail, &j->is.trail, e);
	if (rc == 0)
		rc = rama_store_moments(s, j->number, all->now - RAMA_QUERY_NOW_FRESH, take_moment,
					&t, e);
	return rc == 0 ? sum_up(j, e) : rc;
}

static int by_start(const void *a, const void *b)
{
	const struct rama_look_job *x = *(struct rama_look_job *const *)a,
				   *y = *(struct rama_look_job *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return strcmp(x->key, y->key);
}

static int take(struct rama_look *l, struct rama_err *e)
{
	struct stored *all = l->ctx;
	int rc;

	free_jobs(all);
	free(l->job);
	l->n = 0;
	all->now = l->time = rama_store_now(all->s);
	l->interval = 1; /* moments are told once a second, and made to fit one */
	l->job = calloc(JOBS_MOST + 1, sizeof(*l->job));
	if (l->job == NULL)
		return rama_err_no_memory(e);
	rc = rama_query_now_jobs(all->s, JOBS_MOST, take_job, all, e);
	for (size_t i = 0; rc == 0 && i < all->n; i++) {
		rc = fill(all, all->job[i], e);
		if (rc == 0)
			l->job[l->n++] = &all->job[i]->is;
	}
	if (l->n > 1)
		qsort(l->job, l->n, sizeof(*l->job), by_start);
	return rc;
}

int rama_study_moments_open(struct rama_look **to, struct rama_store *s, struct rama_err *e)
{
	struct rama_look *l = calloc(1, sizeof(*l));
	struct stored *all = calloc(1, sizeof(*all));

	*to = NULL;
	if (l == NULL || all == NULL) {
		free(l);
		free(all);
		return rama_err_no_memory(e);
	}
	all->s = s;
	l->from = take;
	l->ctx = all;
	*to = l;
	return 0;
}

void rama_study_moments_close(struct rama_look *l)
{
	struct stored *all = l != NULL ? l->ctx : NULL;

	if (all == NULL)
		return;
	free_jobs(all);
	free(all->job);
	free(all);
	rama_look_destroy(l);
}
