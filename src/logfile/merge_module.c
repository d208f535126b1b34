/* SPDX-License-Identifier: BSD-3-Clause */
/* merge_module.c: the records of one module from all logs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "core/sum/reduce.h"
#include "logfile/cursor.h"
#include "logfile/merge.h"

/* ---- one process, several programs ---------------------------------------------------------- */
/* Records of one process that came in several logs, because it ran several programs: each file's
 * become one again. */

struct joined {
	struct rama_core_record *rec; /* in the order in which their ids came */
	size_t n, room;
	struct rama_map by_id; /* id -> index in rec */
	struct rama_arena arena;
};

/* empty again */
static void joined_fini(struct joined *j)
{
	free(j->rec);
	rama_map_fini(&j->by_id);
	rama_arena_fini(&j->arena);
	*j = (struct joined){ 0 };
}

static int copy_array(struct joined *j, struct rama_core_record *to,
		      const struct rama_core_record *r, unsigned k)
{
	size_t size = r->count[k] * r->schema->array[k].words * sizeof(*r->w);

	to->array[k] = size > 0 ? rama_arena_alloc(&j->arena, size) : NULL;
	if (size > 0 && to->array[k] == NULL)
		return RAMA_EMEMORY;
	if (size > 0)
		memcpy(to->array[k], r->array[k], size);
	to->count[k] = r->count[k];
	return 0;
}

static int first(struct joined *j, const struct rama_core_record *r)
{
	size_t size = r->schema->words * sizeof(*r->w);
	struct rama_core_record *to;
	int rc = 0;

	if (!RAMA_GROW(j->rec, j->room, j->n + 1))
		return RAMA_EMEMORY;
	to = &j->rec[j->n];
	*to = (struct rama_core_record){ .mod = r->mod, .schema = r->schema };
	to->w = rama_arena_alloc(&j->arena, size);
	if (to->w == NULL)
		return RAMA_EMEMORY;
	memcpy(to->w, r->w, size);
	for (unsigned k = 0; k < r->schema->n_arrays && rc == 0; k++)
		rc = copy_array(j, to, r, k);
	j->n += rc == 0;
	return rc;
}

static void add_bins(struct rama_core_record *y, const struct rama_core_record *x)
{
	for (unsigned k = 0; k < 2; k++)
		for (uint64_t i = 0; i < y->count[k] && i < x->count[k]; i++)
			y->array[k][i].i = rama_core_add(y->array[k][i].i, x->array[k][i].i);
}

static void add_counters(const struct rama_core_plan *p, union rama_core_word *y,
			 union rama_core_word *x)
{
	int64_t rank = y[RAMA_TAB_RANK].i;
	uint64_t renamed = p->mod->id == RAMA_TAB_MOD_POSIX ? y[RAMA_TAB_POSIX_RENAMED_FROM].u : 0;

	rama_core_reduce_prepare(p, y);
	rama_core_reduce_prepare(p, x);
	rama_core_reduce(p, y, x);
	rama_core_reduce_undo(p, y, rank);
	if (renamed != 0) /* the first one counts */
		y[RAMA_TAB_POSIX_RENAMED_FROM].u = renamed;
}

/* Takes in a record, which is changed; its ranks and times are those of the whole job. Those of
 * later programs come later. 0 or RAMA_EMEMORY. */
static int joined_add(struct joined *j, const struct rama_core_plan *p, struct rama_core_record *r)
{
	bool fresh;
	uint64_t *at = rama_map_put(&j->by_id, r->w[RAMA_TAB_ID].u, &fresh);
	struct rama_core_record *y;
	int64_t threads;
	bool unknown;

	if (at == NULL)
		return RAMA_EMEMORY;
	if (fresh) {
		*at = j->n;
		return first(j, r);
	}
	y = &j->rec[*at];
	if (r->mod->id == RAMA_TAB_MOD_HEATMAP) {
		add_bins(y, r);
		return 0;
	}
	if (r->mod->id != RAMA_TAB_MOD_PROCESS) {
		add_counters(p, y->w, r->w);
		return 0;
	}
	threads = y->w[RAMA_TAB_PROCESS_THREADS].i;
	unknown = y->w[RAMA_TAB_PROCESS_MAJOR_FAULTS].i < 0 ||
		  r->w[RAMA_TAB_PROCESS_MAJOR_FAULTS].i < 0;
	add_counters(p, y->w, r->w);
	if (unknown)
		y->w[RAMA_TAB_PROCESS_MAJOR_FAULTS].i = -1;
	if (threads > y->w[RAMA_TAB_PROCESS_THREADS].i)
		y->w[RAMA_TAB_PROCESS_THREADS].i = threads;
	return copy_array(j, y, r, 0); /* the command line of the last program */
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* a file that every rank used: what was reduced so far */
struct shared {
	union rama_core_word *w;
	union rama_core_word *array; /* MDHIM: answers of each server */
	uint64_t count;
	struct rama_core_spread spread;
	bool any;
};

struct walk;
typedef int (*visitor)(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r);

struct walk {
	struct rama_log_merge *m;
	struct rama_log_writer *w;
	const struct rama_tab_module *mod;
	struct rama_err *e;
	struct rama_core_plan plan;
	struct rama_log_merge_input *in; /* log being read */
	struct rama_map ranks;		 /* id -> ranks that have it */
	struct rama_map by_id;		 /* id of a shared file -> index in shared */
	struct shared *shared;
	uint64_t *shared_id;
	size_t n_shared;
	struct rama_arena arena;
	double width, end; /* heat maps: of all records */
	uint64_t bins;
	union rama_core_word *bin[2];
	bool first_written; /* of modules with one record for the whole job */
	struct rama_core_spread comm, sync;
	struct rama_map seen; /* layouts written, I/O nodes */
	struct rama_log_short_trace cut;
	/* Sees each record of a process that ran several programs and adds it to `joined`, whose
	 * records are then visited instead. NULL: they are visited as they are. */
	visitor collect;
	struct joined joined;
};

static void tell_progress(const struct walk *k, const struct rama_log_cursor *c)
{
	if (k->m->progress != NULL)
		k->m->progress(k->in, c);
}

/* Calls `visit` for every record of the module in one log. `quiet`: problems are told another
 * time. */
static int each_of_log(struct walk *k, visitor visit, bool quiet)
{
	struct rama_log *log = k->in->log;
	struct rama_log_hush before;
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc;

	if (quiet)
		before = rama_log_set_hush(log);
	rc = rama_log_cursor_open(&c, log, k->mod->id);
	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		rc = visit(k, &c, r);
		if (rc != 0)
			break;
		tell_progress(k, &c);
		rc = 1;
	}
	if (rc < 0 && log->err.code == rc)
		rama_err_set(k->e, rc, "%s: %s", k->in->path, log->err.text);
	rama_log_cursor_close(&c);
	if (quiet)
		rama_log_unhush(log, before);
	return rc;
}

/* records that are joined have their place in the job already */
static int visit_joined(struct walk *k, visitor visit)
{
	struct rama_log_merge_input in = *k->in;
	int rc = 0;

	in.first_rank = 0;
	in.shift = 0;
	k->in = &in;
	for (size_t i = 0; i < k->joined.n && rc == 0; i++)
		rc = visit(k, NULL, &k->joined.rec[i]);
	joined_fini(&k->joined);
	return rc;
}

/* the same for all logs */
/* inputs [from, end) are of one process */
static int each_of_process(struct walk *k, size_t from, size_t end, visitor visit, bool quiet)
{
	bool join = end - from > 1 && k->collect != NULL;
	int rc = 0;

	for (size_t at = from; at < end && rc == 0; at++) {
		k->in = &k->m->in[at];
		rc = each_of_log(k, join ? k->collect : visit, quiet);
	}
	return rc == 0 && join ? visit_joined(k, visit) : rc;
}

static bool same_process(const struct rama_log_merge *m, size_t a, size_t b)
{
	return m->images && m->in[a].process == m->in[b].process;
}

static int each_record(struct walk *k, visitor visit, bool quiet)
{
	int rc = 0;

	for (size_t i = 0, end; i < k->m->n_in && rc == 0; i = end) {
		for (end = i + 1; end < k->m->n_in && same_process(k->m, i, end);)
			end++;
		rc = each_of_process(k, i, end, visit, quiet);
	}
	return rc;
}

/* from the last process to the first */
static int each_record_back(struct walk *k, visitor visit, bool quiet)
{
	int rc = 0;

	for (size_t end = k->m->n_in, i; end > 0 && rc == 0; end = i) {
		for (i = end - 1; i > 0 && same_process(k->m, i - 1, i);)
			i--;
		rc = each_of_process(k, i, end, visit, quiet);
	}
	return rc;
}

static void move_rank(union rama_core_word *w, int64_t first_rank)
{
	w->i = rama_core_add(w->i, first_rank);
}

/* ranks and times of the whole job instead of the log's own */
static void relocate(struct walk *k, struct rama_core_record *r)
{
	const struct rama_tab_schema *s = r->schema;

	if (r->w[RAMA_TAB_RANK].i >= 0) {
		move_rank(&r->w[RAMA_TAB_RANK], k->in->first_rank);
	} else if (k->in->first_rank > 0 && s == k->mod->record) {
		if (k->plan.at[RAMA_TAB_FAST_RANK] != RAMA_TAB_NO_WORD)
			move_rank(&r->w[k->plan.at[RAMA_TAB_FAST_RANK]], k->in->first_rank);
		if (k->plan.at[RAMA_TAB_SLOW_RANK] != RAMA_TAB_NO_WORD)
			move_rank(&r->w[k->plan.at[RAMA_TAB_SLOW_RANK]], k->in->first_rank);
	}
	if (k->mod->id == RAMA_TAB_MOD_PROCESS && r->w[RAMA_TAB_PROCESS_PARENT_RANK].i >= 0)
		move_rank(&r->w[RAMA_TAB_PROCESS_PARENT_RANK], k->in->first_rank);
	for (unsigned i = 0; k->in->shift != 0 && i < *s->n_fields; i++) {
		const struct rama_tab_field *f = &s->fields[i];

		if (rama_tab_field_is_timestamp(f) && r->w[f->word].f > 0)
			r->w[f->word].f += k->in->shift;
	}
}

/* Shared among one: a job of one process says -1 of all its files. In a larger job they are its
 * own. */
static bool of_one_process(const struct walk *k, const struct rama_core_record *r)
{
	return r->w[RAMA_TAB_RANK].i < 0 && k->in->log->job.nprocs == 1 && k->m->nprocs > 1;
}

/* how many ranks a record speaks for */
static int64_t covers(const struct walk *k, const struct rama_core_record *r)
{
	return r->w[RAMA_TAB_RANK].i >= 0 ? 1 : k->in->log->job.nprocs;
}

static int write_record(struct walk *k, const struct rama_core_record *r)
{
	if (rama_log_writer_record(k->w, r) == 0)
		return 0;
	*k->e = k->w->err;
	return k->e->code;
}

static int collect_record(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	(void)c;
	relocate(k, r);
	return joined_add(&k->joined, &k->plan, r) == 0 ? 0 : rama_err_no_memory(k->e);
}

/* ---- files that all ranks used -------------------------------------------------------------- */

static int count_ranks(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	uint64_t *n = rama_map_put(&k->ranks, r->w[RAMA_TAB_ID].u, NULL);

	(void)c;
	if (n == NULL)
		return rama_err_no_memory(k->e);
	*n += (uint64_t)covers(k, r);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int find_shared(struct walk *k)
{
	struct rama_map_slot slot;
	size_t n = 0;

	k->shared = calloc(k->ranks.used + 1, sizeof(*k->shared));
	k->shared_id = calloc(k->ranks.used + 1, sizeof(*k->shared_id));
	if (k->shared == NULL || k->shared_id == NULL)
		return rama_err_no_memory(k->e);
	for (size_t at = 0; rama_map_next(&k->ranks, &at, &slot);)
		if (slot.value == (uint64_t)k->m->nprocs)
			k->shared_id[n++] = slot.key;
	qsort(k->shared_id, n, sizeof(*k->shared_id), by_value);
	for (; k->n_shared < n; k->n_shared++) {
		uint64_t *at = rama_map_put(&k->by_id, k->shared_id[k->n_shared], NULL);

		if (at == NULL)
			return rama_err_no_memory(k->e);
		*at = k->n_shared;
	}
	return 0;
}

static int first_of_shared(struct walk *k, struct shared *s, const struct rama_core_record *r)
{
	size_t size = r->schema->words * sizeof(*r->w);

	s->w = rama_arena_alloc(&k->arena, size);
	s->count = r->count[0];
	s->array = s->count > 0 ? rama_arena_alloc(&k->arena, s->count * sizeof(*s->array)) : NULL;
	if (s->w == NULL || (s->count > 0 && s->array == NULL))
		return rama_err_no_memory(k->e);
	memcpy(s->w, r->w, size);
	if (s->count > 0)
		memcpy(s->array, r->array[0], s->count * sizeof(*s->array));
	s->any = true;
	return 0;
}

static int add_to_shared(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	const uint64_t *at = rama_map_get(&k->by_id, r->w[RAMA_TAB_ID].u);
	struct shared *s = at != NULL ? &k->shared[*at] : NULL;

	(void)c;
	if (s == NULL)
		return 0;
	s->spread = rama_core_spread_merge(s->spread, rama_core_spread_of(&k->plan, r->w,
									  (double)covers(k, r)));
	relocate(k, r);
	rama_core_reduce_prepare(&k->plan, r->w);
	if (!s->any)
		return first_of_shared(k, s, r);
	rama_core_reduce(&k->plan, s->w, r->w); /* what cannot be combined is that of the latter */
	if (k->mod->record->n_arrays > 0) /* the first record says how many elements there are */
		s->w[k->mod->record->array[0].count_word].u = s->count;
	for (uint64_t i = 0; i < s->count && i < r->count[0]; i++)
		s->array[i].i = rama_core_add(s->array[i].i, r->array[0][i].i);
	return 0;
}

static int write_shared(struct walk *k)
{
	int rc = 0;

	for (size_t i = 0; i < k->n_shared && rc == 0; i++) {
		struct shared *s = &k->shared[i];
		struct rama_core_record r = { .mod = k->mod,
					      .schema = k->mod->record,
					      .w = s->w,
					      .array = { s->array },
					      .count = { s->count } };

		if (!s->any)
			continue;
		rama_core_reduce_finish(&k->plan, s->w, s->spread);
		rc = write_record(k, &r);
	}
	return rc;
}

static int write_unshared(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	(void)c;
	if (rama_map_get(&k->by_id, r->w[RAMA_TAB_ID].u) != NULL)
		return 0;
	if (of_one_process(k, r))
		rama_core_reduce_undo(&k->plan, r->w, 0);
	relocate(k, r);
	return write_record(k, r);
}

static int merge_counters(struct walk *k)
{
	int rc = 0;

	k->collect = collect_record;
	if (k->m->reduce && (k->m->nprocs > 1 || k->m->single)) {
		rc = each_record(k, count_ranks, true);
		if (rc == 0)
			rc = find_shared(k);
		if (rc == 0)
			rc = k->m->keep_last ? each_record(k, add_to_shared, true)
					     : each_record_back(k, add_to_shared, true);
		if (rc == 0)
			rc = write_shared(k);
	}
	return rc == 0 ? each_record(k, write_unshared, false) : rc;
}

/* ---- modules that are not reduced ----------------------------------------------------------- */

/* the layout of a file is the same for all ranks: one record, shared if all have it */
static int write_layout(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	const uint64_t *n = rama_map_get(&k->ranks, r->w[RAMA_TAB_ID].u);
	bool fresh = true;

	(void)c;
	if (of_one_process(k, r))
		r->w[RAMA_TAB_RANK].i = 0;
	relocate(k, r);
	if (k->m->reduce && n != NULL && *n == (uint64_t)k->m->nprocs) {
		if (rama_map_put(&k->seen, r->w[RAMA_TAB_ID].u, &fresh) == NULL)
			return rama_err_no_memory(k->e);
		r->w[RAMA_TAB_RANK].i = -1;
	}
	return fresh ? write_record(k, r) : 0;
}

static int count_inodes(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	(void)c;
	return rama_map_put(&k->seen, r->w[RAMA_TAB_BGQ_INODES].u, NULL) != NULL
		       ? 0
		       : rama_err_no_memory(k->e);
}

/* one machine: the first record stands for all, the number of I/O nodes is that of distinct ones */
static int write_machine(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	(void)c;
	if (k->first_written)
		return 0;
	k->first_written = true;
	relocate(k, r);
	if (k->m->n_in > 1 && k->m->reduce) {
		r->w[RAMA_TAB_RANK].i = -1;
		if (k->seen.used > 1)
			r->w[RAMA_TAB_BGQ_INODES].u = k->seen.used;
	}
	return write_record(k, r);
}

static int see_comm(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	(void)c;
	if (k->mod->id != RAMA_TAB_MOD_APMPI || r->schema == k->mod->header)
		return 0;
	k->comm = rama_core_spread_merge(
		k->comm, (struct rama_core_spread){
				 .n = 1, .time_sum = r->w[RAMA_TAB_APMPI_TOTAL_COMM_TIME].f });
	k->sync = rama_core_spread_merge(
		k->sync, (struct rama_core_spread){
				 .n = 1, .time_sum = r->w[RAMA_TAB_APMPI_TOTAL_COMM_SYNC_TIME].f });
	return 0;
}

static int write_autoperf(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	(void)c;
	relocate(k, r);
	if (r->schema != k->mod->header)
		return write_record(k, r);
	if (k->first_written)
		return 0;
	k->first_written = true;
	if (k->mod->id == RAMA_TAB_MOD_APMPI && k->comm.n > 0 && k->m->n_in > 1) {
		r->w[RAMA_TAB_APMPI_HEADER_TOTAL_COMM_TIME_VARIANCE].f =
			k->comm.time_sq / k->comm.n;
		r->w[RAMA_TAB_APMPI_HEADER_TOTAL_COMM_SYNC_TIME_VARIANCE].f =
			k->sync.time_sq / k->sync.n;
	}
	return write_record(k, r);
}

static int write_trace(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	union rama_core_word seg[256][RAMA_TAB_SEG_WORDS];
	unsigned kind;
	int n = 0;

	if (c->index == 1) /* first record of another log */
		n = rama_log_short_trace_find(&k->cut, k->in->log, k->mod->id);
	if (n < 0)
		return n;
	rama_log_short_trace_apply(&k->cut, c, r);
	relocate(k, r);
	if (write_record(k, r) != 0)
		return k->e->code;
	while ((n = rama_log_cursor_segments(c, seg, 256, &kind)) > 0) {
		for (int i = 0; k->in->shift != 0 && i < n; i++) {
			seg[i][RAMA_TAB_SEG_START].f += k->in->shift;
			seg[i][RAMA_TAB_SEG_END].f += k->in->shift;
		}
		if (rama_log_writer_segments(k->w, seg, (size_t)n) != 0) {
			*k->e = k->w->err;
			return k->e->code;
		}
		tell_progress(k, c);
	}
	return n;
}

/* ---- heat maps ------------------------------------------------------------------------------ */

#define BINS_MAX 200 /* as at run time */

static double bin_width(const struct rama_core_record *r)
{
	return r->w[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f;
}

static int measure_heatmap(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	double end = k->in->shift + bin_width(r) * (double)r->count[0];

	(void)c;
	if (bin_width(r) > k->width && isfinite(bin_width(r)))
		k->width = bin_width(r);
	if (end > k->end && isfinite(end))
		k->end = end;
	return 0;
}

/* Bytes of a bin go to the bin of the new map that holds its middle: widths are powers of two times
 * 0.1 s, so without a shift bins merge exactly. */
static void move_bins(struct walk *k, struct rama_core_record *r)
{
	for (unsigned a = 0; a < 2; a++) {
		memset(k->bin[a], 0, k->bins * sizeof(*k->bin[a]));
		for (uint64_t i = 0; i < r->count[a]; i++) {
			double at = (k->in->shift + bin_width(r) * ((double)i + 0.5)) / k->width;
			uint64_t bin = at >= 0 && at < (double)k->bins ? (uint64_t)at : k->bins - 1;

			k->bin[a][bin].i = rama_core_add(k->bin[a][bin].i, r->array[a][i].i);
		}
		r->array[a] = k->bin[a];
		r->count[a] = k->bins;
	}
	relocate(k, r);
	r->w[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f = k->width;
	r->w[RAMA_TAB_HEATMAP_NBINS].u = k->bins;
}

static int collect_heatmap(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	struct rama_core_record to = *r;

	(void)c;
	move_bins(k, &to);
	return joined_add(&k->joined, &k->plan, &to) == 0 ? 0 : rama_err_no_memory(k->e);
}

static int write_heatmap(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	struct rama_core_record to = *r;

	(void)c;
	move_bins(k, &to);
	return write_record(k, &to);
}

static int merge_heatmaps(struct walk *k)
{
	int rc = each_record(k, measure_heatmap, true);
	double bins;

	if (rc != 0 || !(k->width > 0))
		return rc;
	while (k->end / k->width - 1e-6 > BINS_MAX)
		k->width *= 2;
	bins = k->end / k->width - 1e-6;
	/* rounded up, without libm: this runs inside of applications, too */
	k->bins = bins > 1 ? (uint64_t)bins : 1;
	k->bins += (double)k->bins < bins;
	for (unsigned a = 0; a < 2; a++) {
		k->bin[a] = calloc(k->bins, sizeof(*k->bin[a]));
		if (k->bin[a] == NULL)
			return rama_err_no_memory(k->e);
	}
	k->collect = collect_heatmap;
	return each_record(k, write_heatmap, false);
}

static int write_process(struct walk *k, struct rama_log_cursor *c, struct rama_core_record *r)
{
	(void)c;
	relocate(k, r);
	return write_record(k, r);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int merge_records(struct walk *k)
{
	int rc = 0;

	switch (k->mod->id) {
	case RAMA_TAB_MOD_HEATMAP:
		return merge_heatmaps(k);
	case RAMA_TAB_MOD_PROCESS:
		k->collect = collect_record;
		return each_record(k, write_process, false);
	case RAMA_TAB_MOD_CALLS: /* as they are: nothing of several programs becomes one */
	case RAMA_TAB_MOD_PHASE:
	case RAMA_TAB_MOD_SITES:
		return each_record(k, write_process, false);
	case RAMA_TAB_MOD_LUSTRE:
		rc = each_record(k, count_ranks, true);
		return rc == 0 ? each_record(k, write_layout, false) : rc;
	case RAMA_TAB_MOD_BGQ:
		rc = each_record(k, count_inodes, true);
		return rc == 0 ? each_record(k, write_machine, false) : rc;
	case RAMA_TAB_MOD_APMPI:
	case RAMA_TAB_MOD_APXC:
		rc = each_record(k, see_comm, true);
		return rc == 0 ? each_record(k, write_autoperf, false) : rc;
	default:
		return rama_core_reducible(k->mod) ? merge_counters(k)
						   : each_record(k, write_trace, false);
	}
}

int rama_log_merge_module(struct rama_log_merge *m, struct rama_log_writer *w,
			  const struct rama_tab_module *mod, struct rama_err *e)
{
	struct walk k = { .m = m, .w = w, .mod = mod, .e = e };
	bool threads = false;
	int rc;

	rama_core_plan_init(&k.plan, mod);
	for (size_t i = 0; i < m->n_in; i++)
		threads = threads || rama_log_has_threads(m->in[i].log, mod->id);
	rc = rama_log_writer_module(w, mod->id, threads ? mod->newest : mod->released);
	if (rc != 0)
		*e = w->err;
	else
		rc = merge_records(&k);
	joined_fini(&k.joined);
	rama_map_fini(&k.ranks);
	rama_map_fini(&k.by_id);
	rama_map_fini(&k.seen);
	rama_arena_fini(&k.arena);
	free(k.shared);
	free(k.shared_id);
	free(k.bin[0]);
	free(k.bin[1]);
	return rc;
}
