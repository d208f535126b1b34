/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.c: the records of the layers, row by row: a row is one file on one rank, or on all ranks
 * together. */
#include <math.h>
#include <string.h>

#include "core/sum/reduce.h"
#include "job/work.h"

/* ---- words of a record ---------------------------------------------------------------------- */
/* Records that can be reckoned with, and several of them as one. */

#define SECONDS_MOST 1e12 /* a time beyond is damage */

void rama_job_care_init(struct rama_job_care *c, const struct rama_tab_module *mod)
{
	const struct rama_tab_schema *s = mod->record;

	*c = (struct rama_job_care){ 0 };
	for (unsigned i = 0; i < *s->n_fields; i++) {
		const struct rama_tab_field *f = &s->fields[i];

		if (f->word == RAMA_TAB_NO_WORD || f->word >= RAMA_JOB_RECORD_WORDS)
			continue;
		if (f->type == RAMA_TAB_F64)
			c->seconds[c->n_seconds++] = f->word;
		else if (f->reduce == RAMA_TAB_SUM || f->reduce == RAMA_TAB_SUM_NEG)
			c->sum[c->n_sum++] = f->word;
		if (rama_tab_field_is_timestamp(f))
			c->stamp[c->n_stamp++] = f->word;
	}
}

/* a copy that can be reckoned with: no times before 0 or without end, moments moved by `shift` */
static void record_clean(const struct rama_job_care *c, union rama_core_word *w, double shift)
{
	for (unsigned i = 0; i < c->n_seconds; i++) {
		double *x = &w[c->seconds[i]].f;

		if (!(*x > 0 && *x < SECONDS_MOST)) /* also what is no number */
			*x = 0;
	}
	for (unsigned i = 0; i < c->n_sum; i++) /* reduced records may have added up several */
		if (w[c->sum[i]].i < 0)
			w[c->sum[i]].i = -1;
	for (unsigned i = 0; shift != 0 && i < c->n_stamp; i++)
		if (w[c->stamp[i]].f > 0)
			w[c->stamp[i]].f += shift;
}

/* -1 means "not monitored" and must not be taken for a number: the sum is -1 only if all are. */
void rama_job_record_merge(const struct rama_job_view_work *k, enum rama_job_layer layer,
			   union rama_core_word *y, union rama_core_word *x, uint32_t ny,
			   uint32_t nx)
{
	const struct rama_core_plan *p = &k->plan[layer];
	const struct rama_job_care *c = &k->care[layer];
	uint16_t none[RAMA_JOB_RECORD_WORDS];
	struct rama_core_spread spread = { 0 };
	unsigned n = 0;

	for (unsigned i = 0; i < c->n_sum; i++) {
		int64_t *a = &y[c->sum[i]].i, *b = &x[c->sum[i]].i;

		if (*a < 0 && *b < 0)
			none[n++] = c->sum[i];
		*a = *a < 0 ? 0 : *a;
		*b = *b < 0 ? 0 : *b;
		if (*b >
		    INT64_MAX - *a) /* damage; a sum that turned negative would look like none */
			*b = INT64_MAX - *a;
	}
	if (ny > 0)
		spread = rama_core_spread_merge(rama_core_spread_of(p, y, ny),
						rama_core_spread_of(p, x, nx));
	rama_core_reduce_prepare(p, y);
	rama_core_reduce_prepare(p, x);
	rama_core_reduce(p, y, x);
	rama_core_reduce_finish(p, y, spread);
	for (unsigned i = 0; i < n; i++)
		y[none[i]].i = -1;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool is_disk(const struct rama_job_view_work *k, enum rama_job_layer layer)
{
	return layer == RAMA_JOB_LAYER_POSIX || layer == RAMA_JOB_LAYER_STDIO ||
	       layer == RAMA_JOB_LAYER_DFS || (layer == RAMA_JOB_LAYER_DAOS && !k->dfs);
}

static bool moved(const struct rama_job_io *io)
{
	return io->bytes_read > 0 || io->bytes_written > 0;
}

/* What is beneath MPI-IO is in its time already. Where MPI-IO only opened the file, data moved
 * otherwise count, but not the opens, which were MPI-IO's. MPI-IO has been read before the
 * others. */
static enum rama_job_top_part top_part(const struct rama_job_view *v,
				       const struct rama_job_view_file *f,
				       enum rama_job_layer layer)
{
	const union rama_core_word *mpi = f->rec[RAMA_JOB_LAYER_MPIIO];
	struct rama_job_io io = { 0 };

	if (mpi != NULL)
		io = rama_job_io_of(RAMA_JOB_LAYER_MPIIO, mpi);
	else if (f->traced[RAMA_JOB_LAYER_MPIIO] != NULL)
		io.bytes_read = 1;
	switch (layer) {
	case RAMA_JOB_LAYER_MPIIO:
	case RAMA_JOB_LAYER_STDIO:
		return RAMA_JOB_TOP_ALL;
	case RAMA_JOB_LAYER_DAOS:
		return v->work->dfs ? RAMA_JOB_TOP_NOT : RAMA_JOB_TOP_ALL;
	case RAMA_JOB_LAYER_DFS:
	case RAMA_JOB_LAYER_POSIX:
	case RAMA_JOB_LAYER_EXTRA:
		return moved(&io)		   ? RAMA_JOB_TOP_NOT
		       : rama_job_io_time(&io) > 0 ? RAMA_JOB_TOP_DATA
						   : RAMA_JOB_TOP_ALL;
	default:
		return RAMA_JOB_TOP_NOT;
	}
}

static struct rama_job_io part_of(const struct rama_job_io *io, enum rama_job_top_part part)
{
	struct rama_job_io x = *io;

	if (part == RAMA_JOB_TOP_NOT)
		return (struct rama_job_io){ 0 };
	if (part == RAMA_JOB_TOP_DATA) {
		x.metas = 0;
		x.meta_time = 0;
	}
	return x;
}

struct row {
	enum rama_job_layer layer;
	uint32_t file;
	int64_t rank; /* in the log; -1: all */
	struct rama_job_io io;
	union rama_core_word *w;
};

/* ---- of all ranks --------------------------------------------------------------------------- */

static struct rama_job_known known(const struct rama_core_plan *p, const union rama_core_word *w,
				   unsigned kind, int64_t n)
{
	struct rama_job_known x = { .rank = -1 };

	if (p->at[kind] == RAMA_TAB_NO_WORD)
		return x;
	x.rank = w[p->at[kind]].i;
	x.bytes = w[p->at[kind + 1]].i > 0 ? w[p->at[kind + 1]].i : 0;
	x.time = w[p->at[kind + 2]].f;
	if (x.rank < 0 || x.rank >= n)
		x.rank = -1;
	return x;
}

/* bytes of all ranks are the same: their variance says so */
static bool all_alike(const struct rama_core_plan *p, const struct rama_job_shared *s,
		      const union rama_core_word *w)
{
	return p->at[RAMA_TAB_VAR_BYTES] != RAMA_TAB_NO_WORD &&
	       w[p->at[RAMA_TAB_VAR_BYTES]].f == 0 && s->slow.bytes == s->fast.bytes &&
	       s->slow.bytes > 0;
}

static int add_shared(struct rama_job_view *v, const struct row *r, enum rama_job_top_part top)
{
	struct rama_job_view_work *k = v->work;
	const struct rama_core_plan *p = &k->plan[r->layer];
	struct rama_job_view_file *f = &v->files[r->file];
	struct rama_job_shared s = { .file = r->file,
				     .layer = (uint8_t)r->layer,
				     .top = (uint8_t)top,
				     .disk = is_disk(k, r->layer),
				     .io = r->io,
				     .slow = known(p, r->w, RAMA_TAB_SLOW_RANK, k->n),
				     .fast = known(p, r->w, RAMA_TAB_FAST_RANK, k->n) };

	s.alike = all_alike(p, &s, r->w);
	if (s.disk && s.slow.rank >= 0 && s.slow.time >= f->most_time) {
		f->most_time = s.slow.time;
		f->least_time = s.fast.time;
		f->slow_rank = k->first + s.slow.rank;
	}
	if (!RAMA_GROW(k->shared, k->shared_room, k->n_shared + 1))
		return RAMA_EMEMORY;
	k->shared[k->n_shared++] = s;
	return 0;
}

/* ---- of one rank ---------------------------------------------------------------------------- */

static void take_extremes(struct rama_job_view_file *f, const struct row *r, int64_t rank)
{
	double time = rama_job_io_time(&r->io);
	bool first = f->most_written < 0;

	if (first || r->io.bytes_written > f->most_written)
		f->most_written = r->io.bytes_written;
	if (first || r->io.bytes_written < f->least_written)
		f->least_written = r->io.bytes_written;
	if (first || r->io.bytes_read > f->most_read)
		f->most_read = r->io.bytes_read;
	if (first || r->io.bytes_read < f->least_read)
		f->least_read = r->io.bytes_read;
	if (first || time < f->least_time)
		f->least_time = time;
	if (first || time > f->most_time) {
		f->most_time = time;
		f->slow_rank = rank;
	}
}

/* rows of one file in several layers are one file of its rank: only the first layer counts */
static bool is_first(const struct rama_job_view_file *f, enum rama_job_layer layer)
{
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++)
		if (f->rows[l] > 0 && l != layer)
			return false;
	return !rama_job_layer_info[layer].part && layer != RAMA_JOB_LAYER_EXTRA;
}

static int add_single(struct rama_job_view *v, const struct row *r, const struct rama_job_io *top)
{
	struct rama_job_view_work *k = v->work;
	struct rama_job_view_file *f = &v->files[r->file];
	int64_t rank = k->first + r->rank;
	struct rama_job_io *io;

	if (r->rank < 0 || r->rank >= k->n) /* damage: in the sums, but of nobody */
		return 0;
	io = rama_job_view_rank_io(v, r->layer, rank);
	if (io == NULL)
		return RAMA_EMEMORY;
	rama_job_io_add(io, &r->io);
	rama_job_io_add(&v->ranks[rank].io, top);
	if (is_disk(k, r->layer)) {
		rama_job_io_add(&v->ranks[rank].disk, &r->io);
		k->moved[rank] |= moved(&r->io);
		take_extremes(f, r, rank);
	}
	if (f->rank < 0)
		f->rank = rank;
	if (is_first(f, r->layer))
		v->ranks[rank].files++;
	return 0;
}

static int add_row(struct rama_job_view *v, const struct row *r)
{
	struct rama_job_view_work *k = v->work;
	struct rama_job_view_file *f = &v->files[r->file];
	enum rama_job_top_part part = top_part(v, f, r->layer);
	struct rama_job_io top = part_of(&r->io, part);

	if (f->pseudo) {
		if (is_disk(k, r->layer))
			rama_job_io_add(&v->std, &r->io);
		return 0;
	}
	rama_job_io_add(&v->layer[r->layer].io, &r->io);
	rama_job_io_add(&f->io, &top);
	rama_job_io_add(&v->total, &top);
	if (is_disk(k, r->layer)) {
		rama_job_io_add(&f->disk, &r->io);
		rama_job_io_add(&v->disk, &r->io);
	}
	return r->rank < 0 && r->w != NULL ? add_shared(v, r, part) : add_single(v, r, &top);
}

int rama_job_view_traced_row(struct rama_job_view *v, enum rama_job_layer layer, uint32_t file,
			     int64_t rank, const struct rama_job_io *io)
{
	struct row r = { .layer = layer, .file = file, .rank = -1, .io = *io };

	if (rank >= 0)
		r.rank = rank - v->work->first;
	return add_row(v, &r);
}

/* ---- merging -------------------------------------------------------------------------------- */

static int merge_into(struct rama_job_view *v, enum rama_job_layer layer,
		      const union rama_core_word **rec, const union rama_core_word *w,
		      const uint32_t ranks[2])
{
	size_t size = v->work->plan[layer].mod->record->words * sizeof(*w);
	union rama_core_word copy[RAMA_JOB_RECORD_WORDS], *sum;

	if (*rec == NULL) {
		sum = rama_arena_alloc(&v->arena, size);
		if (sum == NULL)
			return RAMA_EMEMORY;
		memcpy(sum, w, size);
		*rec = sum;
		return 0;
	}
	memcpy(copy, w, size);
	rama_job_record_merge(v->work, layer, (union rama_core_word *)*rec, copy, ranks[0],
			      ranks[1]);
	return 0;
}

static int take_file(struct rama_job_view *v, struct row *r)
{
	uint32_t covers = r->rank < 0 ? (uint32_t)v->work->n : 1;
	struct rama_job_view_file *f;
	int rc = rama_job_view_file_get(v, r->w[RAMA_TAB_ID].u, &r->file);

	if (rc != 0)
		return rc;
	f = &v->files[r->file];
	rc = merge_into(v, r->layer, &f->rec[r->layer], r->w,
			(uint32_t[]){ f->cover[r->layer], covers });
	f->rows[r->layer]++;
	f->cover[r->layer] += covers;
	return rc;
}

static int take_part(struct rama_job_view *v, struct row *r)
{
	uint32_t index;
	struct rama_job_view_part *p;
	int rc = rama_job_view_part_get(v, r->layer, r->w, &index);

	if (rc != 0)
		return rc;
	p = &v->parts[index];
	r->file = p->file;
	p->rows++;
	return merge_into(v, r->layer, &p->rec, r->w, (uint32_t[]){ 0, 0 });
}

/* Renames are in POSIX records too, with their time, and those come first: they count once */
static void rename_once(const struct rama_job_view *v, struct row *r)
{
	const union rama_core_word *posix = v->files[r->file].rec[RAMA_JOB_LAYER_POSIX];
	double all = (double)r->io.metas, renames = (double)r->w[RAMA_TAB_EXTRA_RENAMES].i;

	if (posix == NULL || posix[RAMA_TAB_POSIX_RENAME_SOURCES].i <= 0 || renames <= 0 ||
	    all <= 0)
		return;
	r->io.meta_time *= fmax(0, 1 - renames / all);
	r->io.metas -= r->w[RAMA_TAB_EXTRA_RENAMES].i;
}

static int take(struct rama_job_view *v, enum rama_job_layer layer, union rama_core_word *w)
{
	struct rama_job_view_work *k = v->work;
	struct rama_job_view_layer *l = &v->layer[layer];
	struct row r = { .layer = layer, .rank = w[RAMA_TAB_RANK].i, .w = w };
	int rc;

	record_clean(&k->care[layer], w, k->shift);
	if (k->n == 1 && r.rank < 0) /* a job of one process calls all its files shared */
		w[RAMA_TAB_RANK].i = r.rank = 0;
	r.io = rama_job_io_of(layer, w);
	rc = rama_job_layer_info[layer].part ? take_part(v, &r) : take_file(v, &r);
	if (rc == 0)
		rc = merge_into(v, layer, &l->total, w, (uint32_t[]){ 0, 0 });
	if (rc == 0 && layer == RAMA_JOB_LAYER_EXTRA)
		rename_once(v, &r);
	l->used = true;
	l->records++;
	if (layer == RAMA_JOB_LAYER_DFS && moved(&r.io))
		k->dfs = true;
	return rc == 0 ? add_row(v, &r) : rc;
}

int rama_job_view_rows(struct rama_job_view *v, enum rama_job_layer layer)
{
	struct rama_job_view_work *k = v->work;
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&c, k->log, rama_job_layer_info[layer].module);
	int bad = 0;

	while (rc > 0 && bad == 0 && (rc = rama_log_cursor_next(&c, &r)) > 0)
		bad = take(v, layer, r->w);
	rama_log_cursor_close(&c);
	return bad != 0 ? bad : rc;
}
