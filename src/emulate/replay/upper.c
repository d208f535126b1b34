/* SPDX-License-Identifier: BSD-3-Clause */
/* upper.c: what a job did by MPI-IO, read where MPI-IO was called: which calls were collective the
 * calls of a traced log say by their names; without them it is known where all or none of a file
 * were. Files that are not known well enough are done by the requests that reached the system. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sum/plan.h"
#include "emulate/replay/replay.h"
#include "logfile/calls.h"
#include "logfile/cursor.h"
#include "table/layers.h"

#define SECOND 1e-9

/* ---- files that are no job's ---------------------------------------------------------------- */

/* what libraries of MPI make beside a file: Open MPI tries locks in NAME.locktest.N, its shared
 * file pointers are in memory (NAME_cid-N-N.sm) or in NAME.lockedfile; ROMIO's in .NAME.shfp.N */
static const char *const library_marks[] = { ".locktest.", "_cid-", ".lockedfile", ".shfp." };
/* ... and elsewhere: folders of a run, and memory that ranks share */
static const char *const library_places[] = { "/ompi.",		 "/pmix-",	    "/prte.",
					      "/vader_segment.", "/mpich_shar_tmp", "/osc_rdma" };

bool rama_emu_replay_is_file(const char *name)
{
	const char *base = strrchr(name, '/');

	base = base != NULL ? base + 1 : name;
	for (size_t i = 0; i < sizeof(library_places) / sizeof(library_places[0]); i++)
		if (strncmp(name, "/tmp/", 5) == 0 || strncmp(name, "/dev/shm/", 9) == 0)
			if (strstr(name, library_places[i]) != NULL)
				return false;
	for (size_t i = 0; i < sizeof(library_marks) / sizeof(library_marks[0]); i++) {
		const char *mark = strstr(base, library_marks[i]);

		if (mark != NULL && mark > base &&
		    strspn(mark + strlen(library_marks[i]), "0123456789-.sm") ==
			    strlen(mark) - strlen(library_marks[i]))
			return false;
	}
	return name[0] != '<'; /* <STDOUT> and the like */
}

struct reader {
	struct rama_emu_replay *r;
	const struct rama_emu_replay_log *l;
	struct rama_err *e;
};

static bool is_upper(const struct reader *d, uint64_t id, uint32_t *file)
{
	const uint64_t *at = rama_map_get(&d->r->by_id, id);

	if (at == NULL || d->r->files[*at].upper != d->l->number)
		return false;
	*file = (uint32_t)*at;
	return true;
}

static bool is_rank(const struct reader *d, int64_t rank)
{
	return rank >= 0 && rank < d->l->log->job.nprocs;
}

/* ---- a log, record by record ----------------------------------------------------------------- */

static int each_record(struct reader *d, unsigned module,
		       int (*act)(struct reader *d, struct rama_log_cursor *c,
				  const struct rama_core_record *rec))
{
	struct rama_log_cursor c;
	struct rama_core_record *rec;
	int rc = rama_log_cursor_open(&c, d->l->log, module);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &rec)) > 0) {
		int done = act(d, &c, rec);

		rc = done == 0 ? 1 : done;
	}
	rama_log_cursor_close(&c);
	return rc < 0 ? rc : 0;
}

/* ---- which files ----------------------------------------------------------------------------- */

static double sane(double x)
{
	return isfinite(x) && x > 0 ? x : 0;
}

static int find_file(struct reader *d, struct rama_log_cursor *c,
		     const struct rama_core_record *rec)
{
	const union rama_core_word *w = rec->w;
	const struct rama_log_name *name = rama_log_name_get(d->l->log, w[RAMA_TAB_ID].u);
	int64_t file;

	(void)c;
	if (name == NULL || !rama_emu_replay_is_file(name->text) ||
	    w[RAMA_TAB_RANK].i >= d->l->log->job.nprocs)
		return 0;
	file = rama_emu_replay_file(d->r, w[RAMA_TAB_ID].u, name->text, d->e);
	if (file < 0)
		return (int)file;
	d->r->files[file].upper = d->l->number;
	return 0;
}

/* Traced below, but not above: only that is known. */
static int drop_untraced(struct reader *d, struct rama_log_cursor *c,
			 const struct rama_core_record *rec)
{
	uint32_t file;

	(void)c;
	if (is_upper(d, rec->w[RAMA_TAB_ID].u, &file) && d->r->files[file].traced != d->l->number)
		d->r->files[file].upper = 0;
	return 0;
}

/* Traces of some calls do not know where in the file they were. */
static int look_at_trace(struct reader *d, struct rama_log_cursor *c,
			 const struct rama_core_record *rec)
{
	union rama_core_word seg[256][RAMA_TAB_SEG_WORDS];
	unsigned kind = 0;
	uint32_t file;
	int n;

	if (!is_upper(d, rec->w[RAMA_TAB_ID].u, &file))
		return 0;
	d->r->files[file].traced = d->l->number;
	while ((n = rama_log_cursor_segments(c, seg, 256, &kind)) > 0)
		for (int i = 0; i < n; i++)
			if (seg[i][RAMA_TAB_SEG_OFFSET].i < 0 && seg[i][RAMA_TAB_SEG_LENGTH].i > 0)
				d->r->files[file].upper = 0;
	return n < 0 ? n : 0;
}

static int take_time(struct reader *d, struct rama_log_cursor *c,
		     const struct rama_core_record *rec)
{
	int64_t rank = rec->w[RAMA_TAB_RANK].i, n = d->l->log->job.nprocs;
	double meta = sane(rec->w[RAMA_TAB_MPIIO_F_META_TIME].f);
	uint32_t file;

	(void)c;
	if (!is_upper(d, rec->w[RAMA_TAB_ID].u, &file))
		return 0;
	for (int64_t i = 0; i < n; i++)
		if (rank < 0 || rank == i)
			d->r->untraced[d->l->rank_base + i] += meta / (rank < 0 ? (double)n : 1);
	return 0;
}

int rama_emu_replay_upper_find(struct rama_emu_replay *r, const struct rama_emu_replay_log *l,
			       struct rama_err *e)
{
	struct reader d = { .r = r, .l = l, .e = e };
	int rc;

	/* with holes in the trace nobody knows which calls belong together */
	if (r->upper == NULL || r->lost > 0)
		return 0;
	rc = each_record(&d, RAMA_TAB_MOD_MPIIO, find_file);
	if (rc == 0)
		rc = each_record(&d, RAMA_TAB_MOD_DXT_MPIIO, look_at_trace);
	if (rc == 0)
		rc = each_record(&d, RAMA_TAB_MOD_DXT_POSIX, drop_untraced);
	return rc == 0 ? each_record(&d, RAMA_TAB_MOD_MPIIO, take_time) : rc;
}

/* ---- operations ------------------------------------------------------------------------------ */

static int add(struct reader *d, const struct rama_emu_replay_op *op)
{
	struct rama_emu_replay_op x = *op;

	x.upper = true;
	x.offset = x.length > 0 ? x.offset : 0;
	x.length = x.length > 0 ? x.length : 0;
	return rama_emu_replay_add(d->r, &x, d->e);
}

static bool contains(const char *text, size_t n, const char *word)
{
	return memmem(text, n, word, strlen(word)) != NULL;
}

static int add_calls(struct reader *d, struct rama_log_cursor *c,
		     const struct rama_core_record *rec)
{
	int64_t rank = rec->w[RAMA_TAB_RANK].i;
	double origin = sane(rec->w[RAMA_TAB_CALLS_F_ORIGIN_TIMESTAMP].f) + d->l->shift;
	struct rama_log_calls calls;
	struct rama_log_call x;
	int rc = rama_log_calls_open(&calls, rec), got = 0;

	(void)c;
	while (rc == 0 && is_rank(d, rank) && (got = rama_log_calls_next(&calls, &x)) > 0) {
		struct rama_emu_replay_op op = { .rank = (int32_t)(d->l->rank_base + rank),
						 .write = x.write,
						 .offset = x.off,
						 .length = x.bytes,
						 .start = origin + SECOND * (double)x.start };

		if (x.layer != RAMA_TAB_LAYER_ROW_MPIIO || !is_upper(d, x.file, &op.file))
			continue;
		op.end = op.start + SECOND * (double)x.length;
		op.together =
			contains(x.op, x.op_len, "_all") || contains(x.op, x.op_len, "_ordered");
		rc = add(d, &op);
	}
	return rc != 0 ? rc : got;
}

/* Without names: all are collective until the counters have been asked. */
static int add_segments(struct reader *d, struct rama_log_cursor *c,
			const struct rama_core_record *rec)
{
	union rama_core_word seg[256][RAMA_TAB_SEG_WORDS];
	int64_t rank = rec->w[RAMA_TAB_RANK].i;
	struct rama_emu_replay_op op = { .together = true };
	unsigned kind = 0;
	int n = 0, rc = 0;

	if (!is_upper(d, rec->w[RAMA_TAB_ID].u, &op.file) || !is_rank(d, rank))
		return 0;
	op.rank = (int32_t)(d->l->rank_base + rank);
	while (rc == 0 && (n = rama_log_cursor_segments(c, seg, 256, &kind)) > 0) {
		for (int i = 0; rc == 0 && i < n; i++) {
			op.write = kind == 0;
			op.offset = seg[i][RAMA_TAB_SEG_OFFSET].i;
			op.length = seg[i][RAMA_TAB_SEG_LENGTH].i;
			op.start = seg[i][RAMA_TAB_SEG_START].f + d->l->shift;
			op.end = seg[i][RAMA_TAB_SEG_END].f + d->l->shift;
			rc = add(d, &op);
		}
	}
	return rc == 0 && n < 0 ? n : rc;
}

/* ---- counters -------------------------------------------------------------------------------- */

static int64_t count_of(const union rama_core_word *w, bool write, bool together)
{
	int64_t n = w[write ? RAMA_TAB_MPIIO_COLL_WRITES : RAMA_TAB_MPIIO_COLL_READS].i +
		    w[write ? RAMA_TAB_MPIIO_SPLIT_WRITES : RAMA_TAB_MPIIO_SPLIT_READS].i;

	if (!together)
		n += w[write ? RAMA_TAB_MPIIO_INDEP_WRITES : RAMA_TAB_MPIIO_INDEP_READS].i +
		     w[write ? RAMA_TAB_MPIIO_NB_WRITES : RAMA_TAB_MPIIO_NB_READS].i;
	return n;
}

static void sizes_of(struct rama_emu_replay_shape *s, const struct rama_core_plan *p,
		     const union rama_core_word *w)
{
	unsigned first =
		s->write ? RAMA_TAB_MPIIO_SIZE_WRITE_AGG_0_100 : RAMA_TAB_MPIIO_SIZE_READ_AGG_0_100;
	int64_t sum = 0;

	for (int i = 0; i < 4 && p->access.width != 0; i++) {
		s->size[i] = w[p->access.value[i]].i;
		s->often[i] = w[p->access.count[i]].i;
	}
	for (unsigned b = 0; b < RAMA_EMU_SHAPE_BINS; b++) {
		s->in_bin[b] = w[first + b].i > 0 ? w[first + b].i : 0;
		sum = rama_core_add(sum, s->in_bin[b]);
	}
	if (sum == s->count)
		return;
	memset(s->in_bin, 0, sizeof(s->in_bin));
	s->in_bin[0] = s->count;
}

static int shape_side(struct reader *d, const union rama_core_word *w, uint32_t file, bool write)
{
	int64_t rank = w[RAMA_TAB_RANK].i;
	struct rama_emu_replay_shape s = { .file = file, .write = write, .highest = -1 };
	struct rama_core_plan p;

	rama_core_plan_init(&p, rama_tab_module_get(RAMA_TAB_MOD_MPIIO));
	s.first = (int32_t)(d->l->rank_base + (rank < 0 ? 0 : rank));
	s.ranks = rank < 0 ? (uint32_t)d->l->log->job.nprocs : 1;
	s.bytes = w[write ? RAMA_TAB_MPIIO_BYTES_WRITTEN : RAMA_TAB_MPIIO_BYTES_READ].i;
	s.count = count_of(w, write, false);
	s.together = count_of(w, write, true);
	s.busy = sane(w[write ? p.write_time : p.read_time].f);
	s.sequential = 1;
	s.from = d->l->shift + sane(w[write ? RAMA_TAB_MPIIO_F_WRITE_START_TIMESTAMP
					    : RAMA_TAB_MPIIO_F_READ_START_TIMESTAMP]
					    .f);
	s.to = d->l->shift + sane(w[write ? RAMA_TAB_MPIIO_F_WRITE_END_TIMESTAMP
					  : RAMA_TAB_MPIIO_F_READ_END_TIMESTAMP]
					  .f);
	if (s.count <= 0 || s.bytes <= 0)
		return 0;
	if (s.count > RAMA_EMU_REPLAY_MOST || s.bytes > RAMA_EMU_REPLAY_BYTES)
		return rama_err_set(d->e, RAMA_ELIMIT, "%s: %lld operations, %lld bytes",
				    d->r->files[file].name, (long long)s.count, (long long)s.bytes);
	sizes_of(&s, &p, w);
	d->r->shape = true;
	return rama_emu_replay_shape(d->r, &s, d->e);
}

static int add_shape(struct reader *d, struct rama_log_cursor *c,
		     const struct rama_core_record *rec)
{
	uint32_t file;
	int rc;

	(void)c;
	if (!is_upper(d, rec->w[RAMA_TAB_ID].u, &file) || d->r->files[file].traced == d->l->number)
		return 0;
	rc = shape_side(d, rec->w, file, false);
	return rc == 0 ? shape_side(d, rec->w, file, true) : rc;
}

/* ---- collective or not, by counters ---------------------------------------------------------- */

/* of a file that was traced without names, by write: operations, and collective ones as counted */
struct sums {
	uint64_t traced[2], counted[2];
};

/* Mixed ones cannot be told apart: all of them are done alone. */
static void decide(struct reader *d, const struct sums *sums)
{
	size_t n = d->l->first;

	for (size_t i = d->l->first; i < d->r->n; i++) {
		struct rama_emu_replay_op *op = &d->r->ops[i];
		const struct sums *s = &sums[op->file];

		if (op->upper && !op->guessed)
			op->together = s->counted[op->write] == s->traced[op->write];
		if (op->together || op->length > 0)
			d->r->ops[n++] = *op;
	}
	d->r->n = n;
	for (uint32_t i = 0; i < d->r->n_files; i++) {
		struct rama_emu_replay_file *f = &d->r->files[i];

		if (f->upper != d->l->number || f->traced != d->l->number)
			continue;
		f->together = false;
		for (int k = 0; k < 2; k++) {
			bool all = sums[i].counted[k] == sums[i].traced[k];

			f->together |= all && sums[i].traced[k] > 0;
			if (!all)
				rama_emu_replay_leave(d->r, RAMA_TAB_MOD_MPIIO,
						      k ? RAMA_TAB_MPIIO_COLL_WRITES
							: RAMA_TAB_MPIIO_COLL_READS,
						      sums[i].counted[k]);
		}
	}
}

static int sum_up(struct reader *d, struct sums *sums)
{
	struct rama_log_cursor c;
	struct rama_core_record *rec;
	int rc = rama_log_cursor_open(&c, d->l->log, RAMA_TAB_MOD_MPIIO);
	uint32_t file;

	for (size_t i = d->l->first; i < d->r->n; i++)
		sums[d->r->ops[i].file].traced[d->r->ops[i].write] += d->r->ops[i].upper;
	while (rc > 0 && (rc = rama_log_cursor_next(&c, &rec)) > 0)
		for (int k = 0; k < 2; k++)
			if (is_upper(d, rec->w[RAMA_TAB_ID].u, &file) &&
			    count_of(rec->w, k, true) > 0)
				sums[file].counted[k] += (uint64_t)count_of(rec->w, k, true);
	rama_log_cursor_close(&c);
	return rc < 0 ? rc : 0;
}

int rama_emu_replay_upper_load(struct rama_emu_replay *r, const struct rama_emu_replay_log *l,
			       struct rama_err *e)
{
	struct reader d = { .r = r, .l = l, .e = e };
	bool named = l->log->part[RAMA_TAB_MOD_CALLS].len > 0;
	struct sums *sums;
	int rc;

	if (r->upper == NULL)
		return 0;
	rc = named ? each_record(&d, RAMA_TAB_MOD_CALLS, add_calls)
		   : each_record(&d, RAMA_TAB_MOD_DXT_MPIIO, add_segments);
	if (rc == 0)
		rc = each_record(&d, RAMA_TAB_MOD_MPIIO, add_shape);
	if (rc != 0 || named)
		return rc;
	sums = calloc((size_t)r->n_files + 1, sizeof(*sums));
	if (sums == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	rc = sum_up(&d, sums);
	if (rc == 0)
		decide(&d, sums);
	free(sums);
	return rc;
}
