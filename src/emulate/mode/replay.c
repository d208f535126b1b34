/* SPDX-License-Identifier: BSD-3-Clause */
/* mode_replay.c: a job done again from its log: the same requests in the same order, with the
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

/* ---- before the run ------------------------------------------------------------------------- */

static int make_units(struct rama_emu_replay *r, const char *scratch, struct rama_err *e)
{
	for (uint32_t i = 0; i < r->n_files; i++) {
		struct rama_emu_replay_file *f = &r->files[i];
		const char *base = strrchr(f->name, '/');
		char name[320];
		const char *path, *kept;

		base = base != NULL && base[1] != '\0' ? base + 1 : f->name;
		snprintf(name, sizeof(name), "%016" PRIx64 "-%.200s", f->id, base);
		kept = rama_arena_text(&r->m->arena, name, strlen(name));
		path = rama_emu_emulation_path(r->m, scratch, name, e);
		f->unit = path != NULL && kept != NULL
				  ? rama_emu_emulation_unit(r->m, kept, path, f->size, 0, e)
				  : NULL;
		if (f->unit == NULL)
			return rama_err_set(e, RAMA_EMEMORY, "no memory");
		f->unit->in_place = true;
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
	if (rc == 0)
		rc = rama_emu_team_barrier(t, e);
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

static int note(struct rama_emu_replay *r, struct rama_err *e)
{
	struct rama_emu_emulation *m = r->m;
	struct rama_emu_tally all = { 0 }, *rank = calloc((size_t)m->team->size, sizeof(*rank));

	if (rank == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (size_t i = 0; i < r->n; i++) {
		rama_emu_replay_plan(&all, &r->ops[i]);
		rama_emu_replay_plan(&rank[rama_emu_replay_rank(r, r->ops[i].rank)], &r->ops[i]);
	}
	rama_out_fmt(&m->notes,
		     "\"log_processes\":%lld,\"log_span_s\":%.9g,\"files\":%u,\"from_counters\":%s,"
		     "\"lost\":%llu,\"at_once\":%u,",
		     (long long)r->nprocs, r->span, r->n_files, r->shape ? "true" : "false",
		     (unsigned long long)r->lost, r->hands);
	note_plan(&m->notes, &all);
	rama_out_text(&m->notes, ",\"planned\":[");
	for (int i = 0; i < m->team->size; i++) {
		rama_out_text(&m->notes, i == 0 ? "{" : ",{");
		note_plan(&m->notes, &rank[i]);
		rama_out_char(&m->notes, '}');
	}
	rama_out_char(&m->notes, ']');
	free(rank);
	rama_out_fmt(&m->remarks,
		     "%zu operations of %lld processes, which took %.4g s when they were recorded; "
		     "all were done\n",
		     r->n, (long long)r->nprocs, r->span);
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
	return 0;
}

/* When all have ended, if they did. */
static int clean(struct rama_emu_replay *r, bool failed, struct rama_err *e)
{
	struct rama_emu_team *t = r->m->team;
	int rc = failed ? 0 : rama_emu_team_barrier(t, e);

	for (uint32_t i = (uint32_t)t->rank; r->entered && i < r->n_files; i += (uint32_t)t->size)
		if (rama_emu_config_flag(r->m->cfg, RAMA_EMU_P_keep))
			rama_emu_own_complete(r->m->opt.own, r->files[i].unit->path);
		else
			rama_emu_own_remove(r->m->opt.own, r->files[i].unit->path);
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
	rc = rama_emu_replay_load(&r, c->args, c->n_args, e);
	if (rc == 0 && r.n == 0)
		rc = rama_err_set(e, RAMA_EMISSING, "%s: no reads or writes in it", c->args[0]);
	if (rc == 0)
		rc = rama_emu_replay_find_hands(&r, e);
	if (rc == 0)
		rc = rama_emu_replay_change(&r, e);
	if (rc == 0)
		rc = rama_emu_replay_number(&r, e);
	if (rc == 0)
		rc = rama_emu_replay_find_order(&order, &r, e);
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
	rama_emu_replay_order_fini(&order);
	rama_emu_replay_fini(&r);
	return rc;
}
