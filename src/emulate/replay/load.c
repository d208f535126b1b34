/* SPDX-License-Identifier: BSD-3-Clause */
/* load.c: a log becomes operations. For each file the lowest layer that was traced
 * counts: what reached the system is what is done again. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"
#include "core/sum/plan.h"
#include "emulate/replay/replay.h"
#include "logfile/cursor.h"

/* ---- loading -------------------------------------------------------------------------------- */

static const unsigned traces[] = { RAMA_TAB_MOD_DXT_POSIX, RAMA_TAB_MOD_DXT_STDIO,
				   RAMA_TAB_MOD_DXT_MPIIO };
#define UPPER UINT32_MAX /* files[].traced: by MPI-IO, in the log being read */
#define REQUEST_MOST (INT64_C(1) << 38)
#define N_TRACES (sizeof(traces) / sizeof(traces[0]))

struct loader {
	struct rama_emu_replay *r;
	struct rama_log log;
	struct rama_err *e;
	uint32_t number; /* as in struct rama_emu_replay_log */
	uint32_t rank_base;
	double shift;
	size_t first;
};

/* when a job ran */
struct era {
	const char *path;
	size_t place; /* among the arguments */
	double start, end, shift;
};

/* ---- files and operations ------------------------------------------------------------------- */

int64_t rama_emu_replay_file(struct rama_emu_replay *r, uint64_t id, const char *name,
			     struct rama_err *e)
{
	bool fresh = false;
	uint64_t *at = rama_map_put(&r->by_id, id, &fresh);

	if (at == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	if (!fresh)
		return (int64_t)*at;
	if (!RAMA_GROW(r->files, r->room_files, r->n_files + 1))
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %u files", r->n_files + 1);
	*at = r->n_files;
	r->files[r->n_files] = (struct rama_emu_replay_file){
		.id = id, .name = rama_arena_text(&r->m->arena, name, strlen(name))
	};
	if (r->files[r->n_files].name == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	return r->n_files++;
}

int rama_emu_replay_add(struct rama_emu_replay *r, const struct rama_emu_replay_op *op,
			struct rama_err *e)
{
	struct rama_emu_replay_file *f = &r->files[op->file];

	if (op->length <= 0 && !op->together)
		return 0; /* nothing is moved */
	if (op->offset < 0 || op->length > REQUEST_MOST || op->length > INT64_MAX - op->offset)
		return rama_err_set(e, RAMA_ECORRUPT, "%s: an access of %lld bytes at %lld",
				    f->name, (long long)op->length, (long long)op->offset);
	if (r->n == r->room) {
		size_t room = r->room == 0 ? 4096 : 2 * r->room;
		struct rama_emu_replay_op *p;

		if (room > 2 * (size_t)RAMA_EMU_REPLAY_MOST)
			return rama_err_set(e, RAMA_ELIMIT, "more than %d operations",
					    RAMA_EMU_REPLAY_MOST);
		p = reallocarray(r->ops, room, sizeof(*p));
		if (p == NULL)
			return rama_err_set(e, RAMA_EMEMORY, "no memory for %zu operations", room);
		r->ops = p;
		r->room = room;
	}
	r->ops[r->n] = *op;
	if (!isfinite(op->start) || op->start < 0)
		r->ops[r->n].start = 0;
	if (!isfinite(op->end) || op->end < r->ops[r->n].start)
		r->ops[r->n].end = r->ops[r->n].start;
	r->n++;
	f->together |= op->together;
	if (op->offset + op->length > f->size)
		f->size = op->offset + op->length;
	return 0;
}

bool rama_emu_replay_streams(const struct rama_emu_replay *r, const struct rama_emu_replay_file *f)
{
	bool all = r->streams != NULL && r->m->opt.engine == r->streams;

	return r->streams != NULL && (all || (f->stream && !f->plain)) && f->upper == 0;
}

static const char *name_of(const struct rama_log *log, uint64_t id)
{
	const struct rama_log_name *n = rama_log_name_get(log, id);

	return n != NULL ? n->text : "unnamed";
}

/* ---- traces --------------------------------------------------------------------------------- */

static int add_segments(struct loader *l, struct rama_log_cursor *c, uint32_t file, int64_t rank)
{
	union rama_core_word seg[256][RAMA_TAB_SEG_WORDS];
	unsigned kind = 0;
	int n, rc = 0;

	while (rc == 0 && (n = rama_log_cursor_segments(c, seg, 256, &kind)) > 0) {
		for (int i = 0; rc == 0 && i < n; i++) {
			struct rama_emu_replay_op op = {
				.file = file,
				.rank = (int32_t)(l->rank_base + rank),
				.write = kind == 0,
				.offset = seg[i][RAMA_TAB_SEG_OFFSET].i,
				.length = seg[i][RAMA_TAB_SEG_LENGTH].i,
				.start = seg[i][RAMA_TAB_SEG_START].f + l->shift,
				.end = seg[i][RAMA_TAB_SEG_END].f + l->shift
			};

			if (op.offset >= 0) /* -1: some traces of MPI-IO do not know it */
				rc = rama_emu_replay_add(l->r, &op, l->e);
		}
	}
	return rc;
}

static int load_trace(struct loader *l, unsigned module)
{
	struct rama_log_cursor c;
	struct rama_core_record *rec;
	int rc = rama_log_cursor_open(&c, &l->log, module);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &rec)) > 0) {
		int64_t rank = rec->w[RAMA_TAB_RANK].i, file;
		uint64_t *known = rama_map_get(&l->r->by_id, rec->w[RAMA_TAB_ID].u);
		const char *name = name_of(&l->log, rec->w[RAMA_TAB_ID].u);

		if (rank < 0 || rank >= l->log.job.nprocs || !rama_emu_replay_is_file(name) ||
		    (known != NULL && l->r->files[*known].upper == l->number) ||
		    (known != NULL && l->r->files[*known].traced == l->number &&
		     module == RAMA_TAB_MOD_DXT_MPIIO)) /* seen below MPI-IO already */
			continue;
		file = rama_emu_replay_file(l->r, rec->w[RAMA_TAB_ID].u, name, l->e);
		if (file < 0)
			rc = (int)file;
		else
			rc = add_segments(l, &c, (uint32_t)file, rank);
		if (rc == 0)
			*(module == RAMA_TAB_MOD_DXT_STDIO ? &l->r->files[file].stream
							   : &l->r->files[file].plain) = true;
		if (rc == 0 && l->r->files[file].traced != l->number)
			l->r->files[file].traced =
				module == RAMA_TAB_MOD_DXT_MPIIO ? UPPER : l->number;
		rc = rc == 0 ? 1 : rc;
	}
	rama_log_cursor_close(&c);
	return rc < 0 ? rc : 0;
}

/* Files that only MPI-IO shows: known as such until all ranks' records of them are read. */
static void mark_upper(struct loader *l)
{
	for (uint32_t i = 0; i < l->r->n_files; i++)
		if (l->r->files[i].traced == UPPER)
			l->r->files[i].traced = l->number;
}

/* ---- counters ------------------------------------------------------------------------------- */

static double sane(double x)
{
	return isfinite(x) && x > 0 ? x : 0;
}

static void frequent(struct rama_emu_replay_shape *s, const struct rama_core_plan *p,
		     const union rama_core_word *w)
{
	for (int i = 0; i < 4 && p->access.width != 0; i++) {
		s->size[i] = w[p->access.value[i]].i;
		s->often[i] = w[p->access.count[i]].i;
	}
}

/* A histogram that does not add up to the requests is none. */
static void histogram(struct rama_emu_replay_shape *s, const union rama_core_word *w)
{
	unsigned first =
		s->write ? RAMA_TAB_POSIX_SIZE_WRITE_0_100 : RAMA_TAB_POSIX_SIZE_READ_0_100;
	int64_t sum = 0;

	for (unsigned b = 0; b < RAMA_EMU_SHAPE_BINS; b++) {
		s->in_bin[b] = w[first + b].i;
		if (s->in_bin[b] < 0 || s->in_bin[b] > s->count - sum)
			break;
		sum += s->in_bin[b];
	}
	if (sum == s->count)
		return;
	memset(s->in_bin, 0, sizeof(s->in_bin));
	s->in_bin[0] = s->count;
}

static int shape_side(struct loader *l, const struct rama_core_plan *p,
		      const union rama_core_word *w, uint32_t file, bool write)
{
	bool posix = p->mod->id == RAMA_TAB_MOD_POSIX;
	int64_t rank = w[RAMA_TAB_RANK].i;
	struct rama_emu_replay_shape s = {
		.file = file, .write = write, .highest = -1, .together = -1
	};

	s.first = (int32_t)(l->rank_base + (rank < 0 ? 0 : rank));
	s.ranks = rank < 0 ? (uint32_t)l->log.job.nprocs : 1;
	s.bytes = w[write ? p->bytes_written : p->bytes_read].i;
	s.count = posix ? w[write ? RAMA_TAB_POSIX_WRITES : RAMA_TAB_POSIX_READS].i
			: w[write ? RAMA_TAB_STDIO_WRITES : RAMA_TAB_STDIO_READS].i;
	s.busy = sane(w[write ? p->write_time : p->read_time].f);
	s.highest = w[write ? p->max_written : p->max_read].i;
	s.sequential = 1;
	if (posix) {
		double seq =
			(double)w[write ? RAMA_TAB_POSIX_SEQ_WRITES : RAMA_TAB_POSIX_SEQ_READS].i;

		s.sequential = s.count > 1 ? fmin(1, (seq + s.ranks) / (double)s.count) : 1;
		s.from = sane(w[write ? RAMA_TAB_POSIX_F_WRITE_START_TIMESTAMP
				      : RAMA_TAB_POSIX_F_READ_START_TIMESTAMP]
				      .f);
		s.to = sane(w[write ? RAMA_TAB_POSIX_F_WRITE_END_TIMESTAMP
				    : RAMA_TAB_POSIX_F_READ_END_TIMESTAMP]
				    .f);
		frequent(&s, p, w);
		histogram(&s, w);
	} else {
		s.in_bin[0] = s.count;
		s.from = sane(w[write ? RAMA_TAB_STDIO_F_WRITE_START_TIMESTAMP
				      : RAMA_TAB_STDIO_F_READ_START_TIMESTAMP]
				      .f);
		s.to = sane(w[write ? RAMA_TAB_STDIO_F_WRITE_END_TIMESTAMP
				    : RAMA_TAB_STDIO_F_READ_END_TIMESTAMP]
				    .f);
	}
	s.from += l->shift;
	s.to += l->shift;
	if (s.count <= 0 || s.bytes <= 0)
		return 0;
	if (s.count > RAMA_EMU_REPLAY_MOST)
		return rama_err_set(l->e, RAMA_ELIMIT, "%s: %lld operations",
				    l->r->files[file].name, (long long)s.count);
	if (s.bytes > RAMA_EMU_REPLAY_BYTES || s.highest > RAMA_EMU_REPLAY_BYTES)
		return rama_err_set(l->e, RAMA_ECORRUPT, "%s: %lld bytes", l->r->files[file].name,
				    (long long)s.bytes);
	l->r->shape = true;
	*(posix ? &l->r->files[file].plain : &l->r->files[file].stream) = true;
	return rama_emu_replay_shape(l->r, &s, l->e);
}

static int load_counters(struct loader *l, unsigned module)
{
	struct rama_log_cursor c;
	struct rama_core_record *rec;
	struct rama_core_plan plan;
	int rc = rama_log_cursor_open(&c, &l->log, module);

	rama_core_plan_init(&plan, rama_tab_module_get(module));
	while (rc > 0 && (rc = rama_log_cursor_next(&c, &rec)) > 0) {
		const union rama_core_word *w = rec->w;
		const char *name = name_of(&l->log, w[RAMA_TAB_ID].u);
		uint64_t *known = rama_map_get(&l->r->by_id, w[RAMA_TAB_ID].u);
		int64_t rank = w[RAMA_TAB_RANK].i, file;

		if (!rama_emu_replay_is_file(name) || rank >= l->log.job.nprocs)
			continue;
		if (known != NULL && l->r->files[*known].upper == l->number)
			continue; /* MPI-IO did it */
		if (rank >= 0)	  /* what the trace does not show of a rank's time */
			l->r->untraced[l->rank_base + rank] += sane(w[plan.meta_time].f);
		else
			for (int64_t i = 0; i < l->log.job.nprocs; i++)
				l->r->untraced[l->rank_base + i] +=
					sane(w[plan.meta_time].f) / (double)l->log.job.nprocs;
		if (known != NULL && l->r->files[*known].traced == l->number)
			continue;
		file = rama_emu_replay_file(l->r, w[RAMA_TAB_ID].u, name, l->e);
		rc = file < 0 ? (int)file : shape_side(l, &plan, w, (uint32_t)file, false);
		if (rc == 0)
			rc = shape_side(l, &plan, w, (uint32_t)file, true);
		rc = rc == 0 ? 1 : rc;
	}
	rama_log_cursor_close(&c);
	return rc < 0 ? rc : 0;
}

/* ---- the log -------------------------------------------------------------------------------- */

/* what the processes themselves say they could not keep */
static int count_lost(struct loader *l)
{
	struct rama_log_cursor c;
	struct rama_core_record *rec;
	int rc = rama_log_cursor_open(&c, &l->log, RAMA_TAB_MOD_PROCESS);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &rec)) > 0)
		if (rec->w[RAMA_TAB_PROCESS_EVENTS_LOST].i > 0)
			l->r->lost += rec->w[RAMA_TAB_PROCESS_EVENTS_LOST].u;
	rama_log_cursor_close(&c);
	return rc < 0 ? rc : 0;
}

static int by_start(const void *a, const void *b)
{
	const struct rama_emu_replay_op *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int load_all(struct loader *l)
{
	int64_t nprocs = l->log.job.nprocs;
	struct rama_emu_replay_log this = { .log = &l->log,
					    .number = l->number,
					    .rank_base = (uint32_t)l->r->nprocs,
					    .shift = l->shift,
					    .first = l->r->n };
	double *p;
	int rc;

	if (nprocs < 1 || nprocs > 1 << 20)
		return rama_err_set(l->e, RAMA_ELIMIT, "%lld processes", (long long)nprocs);
	l->rank_base = (uint32_t)l->r->nprocs;
	p = reallocarray(l->r->untraced, (size_t)(l->r->nprocs + nprocs), sizeof(*p));
	if (p == NULL)
		return rama_err_set(l->e, RAMA_EMEMORY, "no memory");
	l->r->untraced = p;
	for (int64_t i = 0; i < nprocs; i++)
		p[l->r->nprocs + i] = 0;
	l->r->nprocs += nprocs;
	l->first = l->r->n;
	rc = count_lost(l);
	if (rc == 0)
		rc = rama_emu_replay_upper_find(l->r, &this, l->e);
	for (size_t i = 0; rc == 0 && i < N_TRACES; i++)
		rc = load_trace(l, traces[i]);
	mark_upper(l);
	if (rc == 0)
		rc = load_counters(l, RAMA_TAB_MOD_POSIX);
	if (rc == 0)
		rc = load_counters(l, RAMA_TAB_MOD_STDIO);
	if (rc == 0)
		rc = rama_emu_replay_upper_load(l->r, &this, l->e);
	l->r->partial |= l->log.partial;
	/* calls are placed among requests in order of time, as they will be done */
	if (rc == 0 && l->r->n > l->first)
		qsort(l->r->ops + l->first, l->r->n - l->first, sizeof(*l->r->ops), by_start);
	return rc == 0 ? rama_emu_replay_calls_load(l->r, &l->log, l->first, l->rank_base, l->shift,
						    l->e)
		       : rc;
}

void rama_emu_replay_sort(struct rama_emu_replay *r)
{
	double last = 0;

	if (r->n > 0)
		qsort(r->ops, r->n, sizeof(*r->ops), by_start);
	for (size_t i = 0; i < r->n; i++)
		last = fmax(last, r->ops[i].end);
	r->span = r->n > 0 ? last - r->ops[0].start : 0;
}

/* Opens a log and does something with it. A log that is damaged cannot be done again exactly:
 * the first thing wrong is an error. */
static int with_log(struct loader *l, const char *path, int (*act)(struct loader *l))
{
	struct rama_log_options opt = { .strict = true };
	struct rama_file file;
	int rc = rama_file_open(&file, path, l->e);

	if (rc != 0)
		return rama_err_prefix(l->e, "%s", path);
	rc = rama_log_open(&l->log, &file.src, &opt, l->e);
	if (rc == 0) {
		rc = act(l);
		if (rc == 0)
			rc = rama_log_annex_check(&l->log, l->e);
		if (rc < 0 && l->e->code == 0)
			rama_err_set(l->e, rc, "%s",
				     l->log.err.code != 0 ? l->log.err.text : rama_err_text(rc));
		rama_log_close(&l->log);
	}
	rama_file_close(&file);
	return rc != 0 ? rama_err_prefix(l->e, "%s", path) : 0;
}

static int find_era(struct loader *l)
{
	const struct rama_log_job *j = &l->log.job;

	l->shift = (double)j->start_sec + 1e-9 * (double)j->start_nsec;
	return 0;
}

static int by_era(const void *a, const void *b)
{
	const struct era *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

/* Jobs by start; hours between them in which nothing ran are not waited for. */
static int find_eras(struct rama_emu_replay *r, struct era *eras, size_t n, struct rama_err *e)
{
	double end = 0, cut = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct loader l = { .r = r, .e = e };

		rc = with_log(&l, eras[i].path, find_era);
		eras[i].start = l.shift;
		eras[i].end = l.shift + sane(l.log.job.run_time);
	}
	if (rc != 0)
		return rc;
	qsort(eras, n, sizeof(*eras), by_era);
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && eras[i].start > end)
			cut += eras[i].start - end;
		eras[i].shift = eras[i].start - eras[0].start - cut;
		end = i == 0 ? eras[i].end : fmax(end, eras[i].end);
	}
	return 0;
}

int rama_emu_replay_load(struct rama_emu_replay *r, char *const *paths, size_t n,
			 struct rama_err *e)
{
	struct era *eras = calloc(n, sizeof(*eras));
	int rc;

	if (eras == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (size_t i = 0; i < n; i++)
		eras[i] = (struct era){ .path = paths[i], .place = i };
	rc = find_eras(r, eras, n, e);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct loader l = {
			.r = r, .e = e, .number = (uint32_t)i + 1, .shift = eras[i].shift
		};

		rc = with_log(&l, eras[i].path, load_all);
	}
	free(eras);
	if (rc == 0) {
		rama_emu_replay_sort(r);
		rama_emu_replay_calls_sort(r);
	}
	return rc;
}

void rama_emu_replay_fini(struct rama_emu_replay *r)
{
	for (uint32_t i = 0; i < r->n_files; i++)
		rama_emu_replay_ranges_fini(&r->files[i].needed);
	free(r->ops);
	free(r->calls);
	free(r->files);
	free(r->untraced);
	rama_map_fini(&r->by_id);
}
