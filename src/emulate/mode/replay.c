/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.c: a job done again from its log: the same requests in the same order, with the
 * time between them, in files of its own. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulate/replay/replay.h"

/* ---- change --------------------------------------------------------------------------------- */
/* The operations of a log done in another way, where the parameters say so:
 * larger or smaller requests, aligned ones, a file of its own for each rank. Bytes stay as many
 * as they were; so does the time between operations. */

static int by_rank(const void *a, const void *b)
{
	const struct rama_emu_replay_op *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->hand != y->hand)
		return x->hand < y->hand ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* ---- size of requests ----------------------------------------------------------------------- */

/* Can b be done with a, in one request? */
static bool follows(const struct rama_emu_replay_op *a, const struct rama_emu_replay_op *b,
		    int64_t most)
{
	return a->rank == b->rank && a->hand == b->hand && a->file == b->file &&
	       a->write == b->write && a->together == b->together && a->upper == b->upper &&
	       a->offset + a->length == b->offset && b->length <= most - a->length;
}

/* A write is done when the first was, a read when the last was: what is to be read may have been
 * written in between. What they took is added. */
static void join(struct rama_emu_replay_op *a, const struct rama_emu_replay_op *b)
{
	double took = a->end - a->start + (b->end - b->start);

	if (!a->write)
		a->start = b->start;
	a->end = a->start + took;
	a->length += b->length;
}

static void join_all(struct rama_emu_replay *r, int64_t most)
{
	size_t n = 0;

	qsort(r->ops, r->n, sizeof(*r->ops), by_rank);
	for (size_t i = 0; i < r->n; i++) {
		if (n > 0 && follows(&r->ops[n - 1], &r->ops[i], most))
			join(&r->ops[n - 1], &r->ops[i]);
		else
			r->ops[n++] = r->ops[i];
	}
	r->n = n;
}

static int split_all(struct rama_emu_replay *r, int64_t most, struct rama_err *e)
{
	size_t n = r->n;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct rama_emu_replay_op op = r->ops[i], part;
		double each = (op.end - op.start) / (double)op.length;
		int64_t done = most;

		if (op.length <= most)
			continue;
		r->ops[i].length = most;
		r->ops[i].end = op.start + each * (double)most;
		for (; rc == 0 && done < op.length; done += part.length) {
			part = op;
			part.offset += done;
			part.length = op.length - done < most ? op.length - done : most;
			part.start = op.start + each * (double)done;
			part.end = part.start + each * (double)part.length;
			rc = rama_emu_replay_add(r, &part, e);
		}
	}
	return rc;
}

/* All offsets multiplied; a request keeps at least a byte. */
static int scale_all(struct rama_emu_replay *r, struct rama_err *e)
{
	for (uint32_t i = 0; i < r->n_files; i++)
		r->files[i].size = 0;
	for (size_t i = 0; i < r->n; i++) {
		struct rama_emu_replay_op *op = &r->ops[i];
		int64_t to = op->offset + op->length;

		if (!rama_emu_config_scale(r->m->cfg, &op->offset) ||
		    !rama_emu_config_scale(r->m->cfg, &to) || to == INT64_MAX)
			return rama_err_set(e, RAMA_EUSAGE,
					    "bytes: %s would be larger than any file",
					    r->files[op->file].name);
		if (op->length == 0)
			continue;
		op->length = to > op->offset ? to - op->offset : 1;
		if (op->offset + op->length > r->files[op->file].size)
			r->files[op->file].size = op->offset + op->length;
	}
	return 0;
}

/* ---- where they go -------------------------------------------------------------------------- */

static void align_all(struct rama_emu_replay *r, int64_t to)
{
	for (size_t i = 0; i < r->n; i++)
		r->ops[i].offset -= r->ops[i].offset % to;
}

/* The file of a rank has the offsets of the shared one; so has what the rank reads in it. */
static int part_files(struct rama_emu_replay *r, struct rama_err *e)
{
	int32_t *owner = calloc((size_t)r->n_files + 1, sizeof(*owner)); /* rank + 1; -1: several */
	uint32_t n_files = r->n_files;
	int rc = 0;

	if (owner == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (size_t i = 0; i < r->n; i++) {
		int32_t *o = &owner[r->ops[i].file];

		*o = *o == 0 || *o == r->ops[i].rank + 1 ? r->ops[i].rank + 1 : -1;
	}
	for (size_t i = 0; rc == 0 && i < r->n; i++) {
		struct rama_emu_replay_op *op = &r->ops[i];
		uint64_t id =
			r->files[op->file].id ^ ((uint64_t)op->rank + 1) * 0x9e3779b97f4a7c15u;
		char name[4200];
		int64_t file, size;

		if (op->file >= n_files || owner[op->file] != -1)
			continue;
		op->together = false;
		snprintf(name, sizeof(name), "%.4096s.%d", r->files[op->file].name, op->rank);
		size = r->files[op->file].size;
		file = rama_emu_replay_file(r, id, name, e);
		if (file < 0)
			rc = (int)file;
		else
			r->files[op->file = (uint32_t)file].size = size;
	}
	free(owner);
	return rc;
}

/* ---- collective or not ---------------------------------------------------------------------- */

/* What a job did by MPI-IO is done so again where there is MPI-IO and no other engine is asked
 * for; with --mpiio_type collective all else is, too. */
static int choose_engine(struct rama_emu_replay *r, struct rama_err *e)
{
	const struct rama_emu_config *c = r->m->cfg;
	const struct rama_emu_engine *mpiio = rama_emu_engine_find("mpiio");
	bool given = rama_emu_config_given(c, RAMA_EMU_P_engine) ||
		     rama_emu_config_given(c, RAMA_EMU_P_io_api);

	r->upper = given && r->m->opt.engine != mpiio ? NULL : mpiio;
	/* so are streams */
	r->streams = rama_emu_engine_find("stdio");
	if (given && r->m->opt.engine != r->streams)
		r->streams = NULL;
	if (!rama_emu_config_given(c, RAMA_EMU_P_mpiio_type))
		return 0;
	if (r->upper == NULL)
		return rama_err_set(e, RAMA_EUSAGE, "mpiio_type: %s",
				    mpiio == NULL ? "needs MPI: start with mpirun"
						  : "needs the engine mpiio");
	if (r->m->opt.opt.collective)
		r->m->opt.engine = r->upper;
	return 0;
}

/* files that several ranks of the run use are used by them together */
static int all_together(struct rama_emu_replay *r, struct rama_err *e)
{
	uint32_t *user = calloc((size_t)r->n_files + 1, sizeof(*user)); /* rank + 1 */
	bool *several = calloc((size_t)r->n_files + 1, sizeof(*several));

	for (size_t i = 0; user != NULL && several != NULL && i < r->n; i++) {
		uint32_t rank = rama_emu_replay_rank(r, r->ops[i].rank) + 1;

		several[r->ops[i].file] |=
			user[r->ops[i].file] != 0 && user[r->ops[i].file] != rank;
		user[r->ops[i].file] = rank;
	}
	for (size_t i = 0; user != NULL && several != NULL && i < r->n; i++)
		r->ops[i].together = several[r->ops[i].file];
	if (user == NULL || several == NULL)
		rama_err_set(e, RAMA_EMEMORY, "no memory");
	free(user);
	free(several);
	return e->code;
}

static void none_together(struct rama_emu_replay *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		r->ops[i].together = false;
		if (r->ops[i].length > 0)
			r->ops[n++] = r->ops[i];
	}
	r->n = n;
}

static int replay_change(struct rama_emu_replay *r, struct rama_err *e)
{
	const struct rama_emu_config *c = r->m->cfg;
	int64_t transfer = rama_emu_config_size(c, RAMA_EMU_P_transfer_size);
	int64_t alignment = rama_emu_config_size(c, RAMA_EMU_P_alignment);
	double ratio = rama_emu_config_number(c, RAMA_EMU_P_bytes);
	int rc = 0;

	if (ratio != 1)
		rc = scale_all(r, e);
	if (rc == 0 && transfer > 0) {
		join_all(r, transfer);
		rc = split_all(r, transfer, e);
	}
	if (rc == 0 && alignment > 1)
		align_all(r, alignment);
	if (rc == 0 && (rama_emu_config_flag(c, RAMA_EMU_P_write_own) ||
			rama_emu_config_flag(c, RAMA_EMU_P_read_own)))
		rc = part_files(r, e);
	if (rc == 0 && rama_emu_config_given(c, RAMA_EMU_P_mpiio_type)) {
		if (r->m->opt.opt.collective)
			rc = all_together(r, e);
		else
			none_together(r);
	}
	if (rc == 0)
		rama_emu_replay_sort(r);
	return rc;
}

/* ---- the run -------------------------------------------------------------------------------- */

/* ---- before the run ------------------------------------------------------------------------- */

static int make_units(struct rama_emu_replay *r, const char *scratch, struct rama_err *e)
{
	for (size_t i = 0; i < r->n; i++) {
		struct rama_emu_replay_file *f = &r->files[r->ops[i].file];

		if (r->ops[i].write && f->written < f->size)
			f->written += r->ops[i].length;
	}
	for (uint32_t i = 0; i < r->n_files; i++) {
		struct rama_emu_replay_file *f = &r->files[i];
		const char *base = f->name;
		char name[320];
		const char *path, *kept;
		int n;

		/* the last part of its name, which may end with slashes: mkdir("objects/") */
		for (const char *at = f->name; *at != '\0'; at++)
			if (at[0] == '/' && at[1] != '/' && at[1] != '\0')
				base = at + 1;
		n = (int)strcspn(base, "/");
		snprintf(name, sizeof(name), "%016" PRIx64 "-%.*s", f->id, n < 200 ? n : 200, base);
		kept = rama_arena_text(&r->m->arena, name, strlen(name));
		path = rama_emu_emulation_path(r->m, scratch, name, e);
		f->unit = path != NULL && kept != NULL
				  ? rama_emu_emulation_unit(r->m, kept, path, f->size, 0, e)
				  : NULL;
		if (f->unit == NULL)
			return rama_err_set(e, RAMA_EMEMORY, "no memory");
		f->unit->in_place = true;
		f->unit->engine = f->upper != 0			  ? r->upper
				  : rama_emu_replay_streams(r, f) ? r->streams
								  : NULL;
		f->unit->opt.depth = 1;
		f->unit->opt.collective = false; /* ranks do not come together in a replay */
	}
	return 0;
}

/* The file, empty but for what is read in it before anybody has written that. */
static int make_file(struct rama_emu_replay *r, struct rama_emu_replay_file *f, struct rama_err *e)
{
	struct rama_emu_books books = r->m->books;
	struct rama_emu_unit u = *f->unit;
	struct rama_emu_script s;
	int rc;

	r->m->books = (struct rama_emu_books){ 0 };
	u.engine = rama_emu_engine_find(r->m->opt.engine->no_files ? "null" : "posix");
	rc = r->entered ? rama_emu_own_create(r->m->opt.own, u.path, e) : 0;
	if (rc == 0 && f->needed.n == 0 && r->entered) {
		r->m->books = books;
		return 0;
	}
	rama_emu_script_init(&s);
	rama_emu_script_open(&s, &u,
			     RAMA_EMU_OPEN_WRITE | RAMA_EMU_OPEN_CREATE | RAMA_EMU_OPEN_TRUNCATE);
	for (uint32_t i = 0; i < f->needed.n; i++) {
		const struct rama_emu_range *range = &f->needed.range[i];
		struct rama_emu_walk w = { .size = range->to - range->from,
					   .from = range->from,
					   .request = 1 << 20,
					   .parts = 1 };

		rama_emu_script_move(&s, RAMA_EMU_DO_WRITE, &u, &w, false);
	}
	rama_emu_script_step(&s, RAMA_EMU_DO_CLOSE, &u);
	if (rc == 0)
		rc = rama_emu_emulation_stream(r->m, &s, e);
	rama_emu_script_fini(&s);
	rama_emu_books_fini(&r->m->books);
	r->m->books = books;
	return rc;
}

/* Holes take no room: a file needs at most what is written to it. */
static void need_room(struct rama_emu_replay *r)
{
	struct rama_emu_team *t = r->m->team;

	for (uint32_t i = (uint32_t)t->rank; i < r->n_files; i += (uint32_t)t->size) {
		const struct rama_emu_replay_file *f = &r->files[i];
		int64_t bytes = f->written;

		for (uint32_t k = 0; k < f->needed.n && bytes < f->size; k++)
			bytes += f->needed.range[k].to - f->needed.range[k].from;
		rama_emu_own_need(r->m->opt.own, f->unit->path, bytes < f->size ? bytes : f->size);
	}
}

/* Nothing but what an earlier replay left may be where files will be. */
static int take_scratch(struct rama_emu_replay *r, const char *scratch, struct rama_err *e)
{
	struct rama_emu_team *t = r->m->team;
	struct rama_emu_own *own = r->m->opt.own;
	int rc = 0, made = 0;

	/* what the user named may be a link, a folder below it that is not named may not */
	rc = rama_emu_own_where(
		own,
		rama_emu_config_text(r->m->cfg, rama_emu_config_given(r->m->cfg, RAMA_EMU_P_scratch)
							? RAMA_EMU_P_scratch
							: RAMA_EMU_P_input_dir),
		e);
	for (uint32_t i = (uint32_t)t->rank; rc == 0 && i < r->n_files; i += (uint32_t)t->size)
		rc = rama_emu_own_check(own, r->files[i].unit->path, e);
	need_room(r);
	if (rc == 0)
		rc = rama_emu_own_room(own, t, e);
	if (rc == 0 && t->rank == 0) {
		struct stat st;

		made = lstat(scratch, &st) != 0;
		rc = rama_emu_own_folders(own, scratch, e);
	}
	if (rc == 0)
		rc = rama_emu_team_bcast(t, &made, sizeof(made), e);
	if (rc == 0 && made)
		rama_emu_own_rmdir(own, scratch);
	r->entered = rc == 0;
	return rc == 0 ? rama_emu_emulation_enter(r->m, t->rank == 0, e) : rc;
}

static int prepare(struct rama_emu_replay *r, const char *scratch, struct rama_err *e)
{
	struct rama_emu_team *t = r->m->team;
	int rc = make_units(r, scratch, e);

	if (rc == 0 && !r->m->opt.engine->no_files)
		rc = take_scratch(r, scratch, e);
	for (uint32_t i = (uint32_t)t->rank; rc == 0 && i < r->n_files; i += (uint32_t)t->size)
		if (!r->files[i].folder)
			rc = make_file(r, &r->files[i], e);
	return rc;
}

/* ---- what is said about it ------------------------------------------------------------------ */

static void note_plan(struct rama_out *out, const struct rama_emu_tally *t)
{
	rama_out_fmt(out,
		     "\"planned_reads\":%llu,\"planned_writes\":%llu,\"planned_bytes_read\":%llu,"
		     "\"planned_bytes_written\":%llu",
		     (unsigned long long)t->reads, (unsigned long long)t->writes,
		     (unsigned long long)t->bytes_read, (unsigned long long)t->bytes_written);
}

static bool is_complete(const struct rama_emu_replay *r)
{
	bool all = r->lost == 0 && r->partial == 0 && !r->shape;

	for (unsigned i = 0; i < RAMA_EMU_REPLAY_ROWS; i++)
		all &= r->left[i] == 0;
	return all;
}

static void add_remarks(const struct rama_emu_replay *r, size_t together)
{
	struct rama_emu_emulation *m = r->m;

	if (together > 0)
		rama_out_fmt(
			&m->remarks, "%zu of them are collective calls of MPI-IO%s\n", together,
			rama_emu_config_given(m->cfg, RAMA_EMU_P_mpiio_type) ? "" : ", as then");
	if (r->partial != 0)
		rama_out_text(&m->remarks, "the log does not hold all files of the job: memory for "
					   "them was full\n");
	if (r->hands > 1)
		rama_out_fmt(&m->remarks, "up to %u operations of a process at a time, as then\n",
			     r->hands);
	if (r->shape)
		rama_out_text(&m->remarks, "files without a trace are done again in shape only: "
					   "sizes, numbers, order\n");
	if (r->lost > 0)
		rama_out_fmt(
			&m->remarks,
			"%llu operations are not in the trace, because memory for it was full\n",
			(unsigned long long)r->lost);
}

static int note(struct rama_emu_replay *r, struct rama_err *e)
{
	struct rama_emu_emulation *m = r->m;
	struct rama_emu_tally all = { 0 }, *rank = calloc((size_t)m->team->size, sizeof(*rank));
	struct rama_out left;
	size_t together = 0, streams = 0;

	rama_out_init(&left, NULL, NULL);
	if (rank == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (size_t i = 0; i < r->n; i++) {
		together += r->ops[i].together;
		streams += rama_emu_replay_streams(r, &r->files[r->ops[i].file]);
		rama_emu_replay_plan(&all, &r->ops[i]);
		rama_emu_replay_plan(&rank[rama_emu_replay_rank(r, r->ops[i].rank)], &r->ops[i]);
	}
	rama_out_fmt(&m->notes,
		     "\"log_processes\":%lld,\"log_span_s\":%.9g,\"files\":%u,\"from_counters\":%s,"
		     "\"lost\":%llu,\"at_once\":%u,\"collective\":%zu,\"streams\":%zu,",
		     (long long)r->nprocs, r->span, r->n_files, r->shape ? "true" : "false",
		     (unsigned long long)r->lost, r->hands, together, streams);
	note_plan(&m->notes, &all);
	rama_out_text(&m->notes, ",\"planned\":[");
	for (int i = 0; i < m->team->size; i++) {
		rama_out_text(&m->notes, i == 0 ? "{" : ",{");
		note_plan(&m->notes, &rank[i]);
		rama_out_char(&m->notes, '}');
	}
	rama_out_char(&m->notes, ']');
	free(rank);
	rama_out_fmt(
		&m->remarks,
		"%zu operations and %zu other calls of %lld processes, which took %.4g s when they "
		"were recorded%s\n",
		r->n, r->n_calls, (long long)r->nprocs, r->span,
		is_complete(r) ? "; all were done" : "");
	rama_out_text(&m->notes, ",\"left_out\":{");
	rama_emu_replay_left_put(r, &m->notes, true);
	rama_out_char(&m->notes, '}');
	if (rama_emu_replay_left_put(r, &left, false)) {
		rama_out_text(&m->remarks, "left out: ");
		rama_out_bytes(&m->remarks, left.buf, left.used);
		rama_out_char(&m->remarks, '\n');
	}
	rama_out_fini(&left);
	if (streams > 0 && m->opt.engine != r->streams)
		rama_out_fmt(&m->remarks, "%zu of them are those of streams (stdio), as then\n",
			     streams);
	add_remarks(r, together);
	return 0;
}

/* When all have ended, if they did. */
static int clean(struct rama_emu_replay *r, bool failed, struct rama_err *e)
{
	struct rama_emu_team *t = r->m->team;
	int rc = failed ? 0 : rama_emu_team_barrier(t, e);

	for (uint32_t i = (uint32_t)t->rank; r->entered && i < r->n_files; i += (uint32_t)t->size)
		if (rama_emu_config_flag(r->m->cfg, RAMA_EMU_P_keep)) {
			rama_emu_own_complete(r->m->opt.own, r->files[i].unit->path);
		} else {
			rama_emu_own_remove(r->m->opt.own, r->files[i].unit->path);
			rama_emu_replay_deeds_undo(r, &r->files[i]);
		}
	return rc;
}

int rama_emu_mode_replay(struct rama_emu_emulation *m, struct rama_err *e)
{
	const struct rama_emu_config *c = m->cfg;
	struct rama_emu_replay r = { .m = m };
	struct rama_emu_replay_order order = { 0 };
	char scratch[4096];
	int rc;

	if (c->n_args == 0)
		return rama_err_set(e, RAMA_EUSAGE, "no log: iorama emulate replay LOG");
	if (rama_emu_config_given(c, RAMA_EMU_P_scratch))
		snprintf(scratch, sizeof(scratch), "%s",
			 rama_emu_config_text(c, RAMA_EMU_P_scratch));
	else
		snprintf(scratch, sizeof(scratch), "%.4000s/iorama-replay",
			 rama_emu_config_text(c, RAMA_EMU_P_input_dir));
	rc = choose_engine(&r, e);
	if (rc == 0)
		rc = rama_emu_replay_load(&r, c->args, c->n_args, e);
	if (rc == 0 && r.n == 0 && r.n_calls == 0)
		rc = rama_err_set(e, RAMA_EMISSING, "%s: no reads or writes in it", c->args[0]);
	if (rc == 0)
		rc = rama_emu_replay_find_hands(&r, e);
	if (rc == 0)
		rc = rama_emu_replay_calls_settle(&r, e);
	if (rc == 0)
		rc = replay_change(&r, e);
	if (rc == 0)
		rc = rama_emu_replay_match(&r, e);
	m->plan = rc == 0 ? rama_emu_replay_print(&r) : 0;
	if (m->only_plan)
		goto out;
	if (rc == 0)
		rc = rama_emu_replay_number(&r, e);
	if (rc == 0)
		rc = rama_emu_replay_find_order(&order, &r, e);
	if (rc == 0)
		rama_emu_replay_groups_make(&r);
	if (rc == 0)
		rc = prepare(&r, scratch, e);
	if (rc == 0)
		rc = rama_emu_replay_play(&r, &order, e);
	if (rc == 0 && m->team->rank == 0)
		rc = note(&r, e);
	if (rc != 0)
		clean(&r, true, NULL);
	else
		rc = clean(&r, false, e);
out:
	rama_emu_replay_order_fini(&order);
	rama_emu_replay_fini(&r);
	return rc;
}
