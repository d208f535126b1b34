/* SPDX-License-Identifier: BSD-3-Clause */
/* cr_files.c: the data of a checkpoint, written and read. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulate/mode/cr.h"

static struct rama_emu_unit *unit_of(struct rama_emu_cr *c, struct rama_arena *arena,
				     const char *path, uint64_t set,
				     const struct rama_emu_cr_shape *shape, struct rama_err *e)
{
	struct rama_emu_unit *u = rama_arena_alloc(arena, sizeof(*u));
	char *kept = rama_arena_text(arena, path, strlen(path));

	if (u == NULL || kept == NULL) {
		rama_err_set(e, RAMA_EMEMORY, "no memory");
		return NULL;
	}
	*u = (struct rama_emu_unit){ .name = strrchr(kept, '/') + 1,
				     .path = kept,
				     .size = shape->size,
				     .opt = c->m->opt.opt };
	u->pattern = (struct rama_emu_pattern){ shape->seed, rama_emu_pattern_unit(u->name), set };
	return u;
}

static struct rama_emu_walk walk_of(const struct rama_emu_cr *c, const struct rama_emu_unit *u)
{
	const char *order = rama_emu_config_text(c->m->cfg, RAMA_EMU_P_order);

	return (struct rama_emu_walk){ .size = u->size,
				       .request = c->m->request,
				       .seed = u->pattern.seed ^ u->pattern.unit,
				       .order = strcmp(order, "random") == 0 ? RAMA_EMU_RANDOM
						: strcmp(order, "strided") == 0
							? RAMA_EMU_STRIDED
							: RAMA_EMU_SEQUENTIAL };
}

static void add_write(struct rama_emu_cr *c, struct rama_emu_script *s, struct rama_emu_unit *u,
		      double stop)
{
	const char *sync = rama_emu_config_text(c->m->cfg, RAMA_EMU_P_fsync);
	struct rama_emu_walk w = walk_of(c, u);
	int64_t requests = w.size / w.request;

	if (stop < 1)
		w.limit = 1 + (uint64_t)(stop * (double)requests);
	rama_emu_script_open(s, u,
			     RAMA_EMU_OPEN_WRITE | RAMA_EMU_OPEN_CREATE | RAMA_EMU_OPEN_TRUNCATE);
	rama_emu_script_move(s, RAMA_EMU_DO_WRITE, u, &w, strcmp(sync, "request") == 0);
	if (stop >= 1 && strcmp(sync, "file") == 0)
		rama_emu_script_step(s, RAMA_EMU_DO_SYNC, u);
	rama_emu_script_step(s, RAMA_EMU_DO_CLOSE, u);
	if (stop >= 1)
		rama_emu_script_step(s, RAMA_EMU_DO_READY, u);
}

int rama_emu_cr_write(struct rama_emu_cr *c, uint64_t set, double stop, struct rama_err *e)
{
	struct rama_arena arena = { 0 };
	struct rama_emu_script s;
	char path[RAMA_EMU_SET_PATH];
	int rc = 0;

	c->writing = set;
	rama_emu_script_init(&s);
	rama_emu_script_begin(&s, 1, (uint32_t)set);
	for (uint32_t f = 0; c->writer && rc == 0 && f < c->shape.files; f++) {
		struct rama_emu_unit *u;

		rama_emu_set_file(rama_emu_cr_here(c), set, (uint32_t)c->m->team->rank, f, path);
		u = unit_of(c, &arena, path, set, &c->shape, e);
		if (u != NULL) /* of several files the last one is torn */
			add_write(c, &s, u, f + 1 == c->shape.files ? stop : 1);
		rc = u != NULL ? 0 : e->code;
	}
	if (stop < 1 && c->kill)
		rama_emu_script_step(&s, RAMA_EMU_DO_KILL, NULL);
	rama_emu_script_step(&s, RAMA_EMU_DO_BARRIER, NULL);
	if (rc == 0)
		rc = rama_emu_emulation_stream(c->m, &s, e);
	rama_emu_script_fini(&s);
	rama_arena_fini(&arena);
	return rc;
}

/* ---- restart -------------------------------------------------------------------------------- */

static uint64_t wrong_bytes(const struct rama_emu_cr *c)
{
	uint64_t sum = 0;

	for (int i = 1; i < RAMA_EMU_FLAWS; i++)
		sum += c->m->books.rank.flaws.bad[i];
	return sum;
}

static int read_file(struct rama_emu_cr *c, const char *path, uint64_t set,
		     const struct rama_emu_cr_shape *shape, struct rama_err *e)
{
	struct rama_arena arena = { 0 };
	struct rama_emu_unit *u = unit_of(c, &arena, path, set, shape, e);
	uint64_t before = wrong_bytes(c);
	struct rama_emu_script s;
	struct rama_emu_walk w;
	int rc = u != NULL ? 0 : e->code;

	rama_emu_script_init(&s);
	if (rc == 0) {
		w = walk_of(c, u);
		rama_emu_script_begin(&s, 2, (uint32_t)set);
		rama_emu_script_open(&s, u, RAMA_EMU_OPEN_READ);
		rama_emu_script_move(&s, RAMA_EMU_DO_READ, u, &w, false);
		rama_emu_script_step(&s, RAMA_EMU_DO_CLOSE, u);
		rc = rama_emu_emulation_stream(c->m, &s, e);
	}
	if (rc == 0 && wrong_bytes(c) > before)
		rc = rama_err_set(e, RAMA_ECORRUPT,
				  "%s: %llu of its %lld bytes are not what was written: %s", path,
				  (unsigned long long)(wrong_bytes(c) - before),
				  (long long)shape->size,
				  rama_emu_flaw_name[c->m->books.rank.flaws.first_kind]);
	rama_emu_script_fini(&s);
	rama_arena_fini(&arena);
	return rc;
}

static int read_files(struct rama_emu_cr *c, const char *dir, uint64_t set,
		      const struct rama_emu_cr_shape *shape, uint32_t writer, struct rama_err *e)
{
	char path[RAMA_EMU_SET_PATH];
	int rc = 0;

	for (uint32_t f = 0; rc == 0 && f < shape->files; f++) {
		rama_emu_set_file(dir, set, writer, f, path);
		rc = read_file(c, path, set, shape, e);
	}
	return rc;
}

/* the writer that stands for a rank without files of its own: one of its node, if there is any */
static uint32_t partner(const struct rama_emu_cr *c, const struct rama_emu_cr_shape *shape)
{
	const struct rama_emu_team *t = c->m->team;
	uint32_t rank = (uint32_t)t->rank, near = 0, pick;

	if (shape->writers == 0)
		return 0;
	for (uint32_t w = 0; w < shape->writers; w++)
		near += t->node_of[w] == t->node_of[rank];
	if (near == 0)
		return rank % shape->writers;
	pick = rank % near;
	for (uint32_t w = 0;; w++)
		if (t->node_of[w] == t->node_of[rank] && pick-- == 0)
			return w;
}

int rama_emu_cr_read(struct rama_emu_cr *c, const char *dir, uint64_t set,
		     const struct rama_emu_cr_shape *shape, struct rama_err *e)
{
	uint32_t size = (uint32_t)c->m->team->size, rank = (uint32_t)c->m->team->rank;
	char path[RAMA_EMU_SET_PATH];
	int rc = 0;

	for (uint64_t w = rank; rc == 0 && w < shape->writers; w += size)
		rc = read_files(c, dir, set, shape, (uint32_t)w, e);
	if (rank >= shape->writers) {
		uint32_t w = partner(c, shape);

		/* in a place of their own node others cannot read it */
		rama_emu_set_file(dir, set, w, 0, path);
		if (!c->files || dir == c->safe || access(path, F_OK) == 0)
			rc = read_files(c, dir, set, shape, w, e);
	}
	return rc == 0 ? rama_emu_team_barrier(c->m->team, e) : rc;
}
