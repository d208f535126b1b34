/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fts.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "emulate/mode/dl.h"

/* ---- making --------------------------------------------------------------------------------- */

static void name_of(const struct rama_emu_emulation *m, int64_t i, char name[96])
{
	int64_t dirs = rama_emu_config_size(m->cfg, RAMA_EMU_P_make_dirs);

	snprintf(name, 96, "subdir.%lld/data.%lld", (long long)(i % (dirs > 0 ? dirs : 1)),
		 (long long)i);
}

/* Nothing is made before all files of all ranks are known to be free or ours. */
static int check_all(struct rama_emu_emulation *m, int64_t n, struct rama_err *e)
{
	struct rama_arena arena = { 0 };
	char name[96];
	int rc = rama_emu_own_where(m->opt.own, rama_emu_config_text(m->cfg, RAMA_EMU_P_input_dir),
				    e);

	if (rc == 0 && m->team->rank == 0) {
		double all = (double)rama_emu_config_size(m->cfg, RAMA_EMU_P_make_size) *
			     rama_emu_config_number(m->cfg, RAMA_EMU_P_bytes) * (double)n;
		char path[RAMA_EMU_OWN_PATH];

		snprintf(path, sizeof(path), "%.4000s/data",
			 rama_emu_config_text(m->cfg, RAMA_EMU_P_input_dir));
		rama_emu_own_need(m->opt.own, path, (int64_t)fmin(all, 9e18));
	}
	if (rc == 0)
		rc = rama_emu_own_room(m->opt.own, m->team, e);
	for (int64_t i = m->team->rank; rc == 0 && i < n; i += m->team->size) {
		struct rama_emu_sample s = { .name = name };
		struct rama_emu_unit *u;

		name_of(m, i, name);
		u = rama_emu_dataset_unit(m, &arena, &s, e);
		rc = u != NULL ? rama_emu_own_check(m->opt.own, u->path, e) : e->code;
		rama_arena_fini(&arena);
	}
	return rc == 0 ? rama_emu_team_barrier(m->team, e) : rc;
}

static int make_one(struct rama_emu_emulation *m, int64_t i, struct rama_err *e)
{
	struct rama_emu_sample s = { .size = rama_emu_config_size(m->cfg, RAMA_EMU_P_make_size) };
	struct rama_emu_walk w = { .request = 1 << 20 };
	struct rama_arena arena = { 0 };
	struct rama_emu_script script;
	struct rama_emu_unit *u;
	char name[96];
	int rc = 0;

	name_of(m, i, name);
	s.name = name;
	if (!rama_emu_config_scale(m->cfg, &s.size))
		return rama_err_set(e, RAMA_EUSAGE, "make_size: larger than any file");
	w.size = s.size;
	rama_emu_script_init(&script);
	u = rama_emu_dataset_unit(m, &arena, &s, e);
	if (u == NULL) {
		rc = e->code;
	} else {
		u->engine = rama_emu_engine_find("posix");
		rama_emu_script_open(&script, u,
				     RAMA_EMU_OPEN_WRITE | RAMA_EMU_OPEN_CREATE |
					     RAMA_EMU_OPEN_TRUNCATE);
		rama_emu_script_move(&script, RAMA_EMU_DO_WRITE, u, &w, false);
		rama_emu_script_step(&script, RAMA_EMU_DO_CLOSE, u);
		rama_emu_script_step(&script, RAMA_EMU_DO_READY, u);
		rc = rama_emu_emulation_stream(m, &script, e);
	}
	rama_emu_script_fini(&script);
	rama_arena_fini(&arena);
	return rc;
}

/* the directories of this rank's share */
static int make_dirs(struct rama_emu_emulation *m, struct rama_err *e)
{
	int64_t dirs = rama_emu_config_size(m->cfg, RAMA_EMU_P_make_dirs);
	const char *top = rama_emu_config_text(m->cfg, RAMA_EMU_P_input_dir);
	char name[64];
	int rc = 0;

	for (int64_t i = m->team->rank; rc == 0 && i < (dirs > 0 ? dirs : 1); i += m->team->size) {
		const char *path;

		snprintf(name, sizeof(name), "subdir.%lld", (long long)i);
		path = rama_emu_emulation_path(m, top, name, e);
		rc = path != NULL ? rama_emu_own_folders(m->opt.own, path, e) : e->code;
	}
	return rc;
}

/* Not part of what is measured. */
int rama_emu_dataset_make(struct rama_emu_emulation *m, struct rama_err *e)
{
	int64_t n = rama_emu_config_size(m->cfg, RAMA_EMU_P_make_files);
	struct rama_emu_books books = m->books;
	bool record = m->opt.record;
	int rc;

	if (n == 0)
		return 0;
	m->books = (struct rama_emu_books){ 0 };
	m->opt.record = false;
	rc = check_all(m, n, e);
	if (rc == 0)
		rc = make_dirs(m, e);
	if (rc == 0)
		rc = rama_emu_team_barrier(m->team, e);
	if (rc == 0)
		rc = rama_emu_emulation_enter(m, m->team->rank == 0, e);
	for (int64_t i = m->team->rank; rc == 0 && i < n; i += m->team->size)
		rc = make_one(m, i, e);
	rama_emu_books_fini(&m->books);
	m->books = books;
	m->opt.record = record;
	return rc != 0 ? rc : rama_emu_team_barrier(m->team, e);
}

/* ---- finding -------------------------------------------------------------------------------- */

struct found {
	char *name;
	int64_t size;
};

struct finds {
	struct found *all;
	size_t n, room;
};

static int add_found(struct finds *f, const char *name, int64_t size)
{
	if (!RAMA_GROW(f->all, f->room, f->n + 1))
		return RAMA_EMEMORY;
	f->all[f->n] = (struct found){ strdup(name), size };
	return f->all[f->n].name != NULL ? (f->n++, 0) : RAMA_EMEMORY;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

/* Files, also by links; what is hidden and half-written files are no samples. */
static bool is_sample(const FTSENT *f)
{
	size_t n = f->fts_namelen;

	return f->fts_info == FTS_F && f->fts_name[0] != '.' &&
	       !(n > 5 && strcmp(f->fts_name + n - 5, ".part") == 0);
}

/* One entry of the tree: taken, passed over, or an error. */
static int look_at(FTS *tree, FTSENT *at, size_t skip, struct finds *f, struct rama_err *e)
{
	const char *name = at->fts_path + skip + strspn(at->fts_path + skip, "/");

	if (at->fts_level > 0 && at->fts_info == FTS_D && at->fts_name[0] == '.') {
		fts_set(tree, at, FTS_SKIP);
		return 0;
	}
	if (at->fts_info == FTS_DNR || at->fts_info == FTS_ERR || at->fts_info == FTS_NS)
		return rama_err_set(e, RAMA_EMISSING, "%s: %s", at->fts_path,
				    strerror(at->fts_errno));
	if (at->fts_level == 0 && at->fts_info != FTS_D && at->fts_info != FTS_DP)
		return rama_err_set(e, RAMA_EMISSING, "%s: not a directory", at->fts_path);
	if (is_sample(at) && add_found(f, name, at->fts_statp->st_size) != 0)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for the names of the data set");
	return 0;
}

static int look(const char *top, struct finds *f, struct rama_err *e)
{
	char *paths[] = { (char *)top, NULL };
	FTS *tree = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, NULL);
	size_t skip = strlen(top);
	FTSENT *at;
	int rc = 0;

	if (tree == NULL)
		return rama_err_set(e, RAMA_EMISSING, "%s: %s", top, strerror(errno));
	while (skip > 0 && top[skip - 1] == '/')
		skip--;
	errno = 0;
	while (rc == 0 && (at = fts_read(tree)) != NULL) {
		rc = look_at(tree, at, skip, f, e);
		errno = 0;
	}
	if (rc == 0 && errno != 0)
		rc = rama_err_set(e, RAMA_EIO, "%s: %s", top, strerror(errno));
	fts_close(tree);
	if (rc == 0 && f->n == 0)
		rc = rama_err_set(e, RAMA_EMISSING, "%s: no files; make_files=N makes a data set",
				  top);
	if (rc == 0 && f->n >= UINT32_MAX)
		rc = rama_err_set(e, RAMA_ELIMIT, "%s: too many files", top);
	if (rc == 0 && f->all != NULL)
		qsort(f->all, f->n, sizeof(*f->all), by_name);
	return rc;
}

/* number, then size and name of each */
static int pack(const char *top, struct rama_out *out, struct rama_err *e)
{
	struct finds f = { 0 };
	int rc = look(top, &f, e);

	for (size_t i = 0; rc == 0 && i < f.n; i++) {
		rama_out_bytes(out, (const char *)&f.all[i].size, sizeof(f.all[i].size));
		rama_out_bytes(out, f.all[i].name, strlen(f.all[i].name) + 1);
	}
	for (size_t i = 0; i < f.n; i++)
		free(f.all[i].name);
	free(f.all);
	if (rc == 0 && out->error != 0)
		rc = rama_err_set(e, out->error, "no memory for the names of the data set");
	return rc;
}

static int unpack(struct rama_emu_dataset *d, size_t bytes, struct rama_err *e)
{
	size_t at = 0;

	for (at = 0; at < bytes; d->n++) {
		at += sizeof(int64_t);
		at += strlen(d->text + at) + 1;
	}
	d->samples = calloc((size_t)d->n + 1, sizeof(*d->samples));
	d->order = calloc((size_t)d->n + 1, sizeof(*d->order));
	if (d->samples == NULL || d->order == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %u files", d->n);
	at = 0;
	for (uint32_t i = 0; i < d->n; i++) {
		memcpy(&d->samples[i].size, d->text + at, sizeof(int64_t));
		d->samples[i].name = d->text + at + sizeof(int64_t);
		at += sizeof(int64_t) + strlen(d->samples[i].name) + 1;
		d->order[i] = i;
	}
	return 0;
}

int rama_emu_dataset_find(struct rama_emu_dataset *d, struct rama_emu_emulation *m,
			  struct rama_err *e)
{
	struct rama_out out;
	uint64_t n = 0;
	int rc = 0;

	*d = (struct rama_emu_dataset){ 0 };
	rama_out_init(&out, NULL, NULL);
	if (m->team->rank == 0)
		rc = pack(rama_emu_config_text(m->cfg, RAMA_EMU_P_input_dir), &out, e);
	n = out.used;
	if (rc == 0)
		rc = rama_emu_team_bcast(m->team, &n, sizeof(n), e);
	if (rc == 0) {
		d->text = malloc(n + 1);
		if (d->text == NULL)
			rc = rama_err_set(e, RAMA_EMEMORY,
					  "no memory for the names of the data set");
		else if (m->team->rank == 0)
			memcpy(d->text, out.buf, n);
	}
	if (rc == 0)
		rc = rama_emu_team_bcast(m->team, d->text, n, e);
	rama_out_fini(&out);
	return rc == 0 ? unpack(d, n, e) : rc;
}

void rama_emu_dataset_fini(struct rama_emu_dataset *d)
{
	free(d->samples);
	free(d->order);
	free(d->text);
	*d = (struct rama_emu_dataset){ 0 };
}

/* ---- order ---------------------------------------------------------------------------------- */

static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

void rama_emu_dataset_shuffle(struct rama_emu_dataset *d, uint64_t seed, uint32_t epoch)
{
	uint64_t state = seed * 0xd6e8feb86659fd93u + epoch;

	for (uint32_t i = 0; i < d->n; i++)
		d->order[i] = i;
	for (uint32_t i = d->n; i > 1; i--) {
		uint32_t k = (uint32_t)(draw(&state) % i), x = d->order[k];

		d->order[k] = d->order[i - 1];
		d->order[i - 1] = x;
	}
}

struct rama_emu_unit *rama_emu_dataset_unit(struct rama_emu_emulation *m, struct rama_arena *arena,
					    const struct rama_emu_sample *s, struct rama_err *e)
{
	const char *top = rama_emu_config_text(m->cfg, RAMA_EMU_P_input_dir);
	size_t room = strlen(top) + strlen(s->name) + 2;
	struct rama_emu_unit *u = rama_arena_alloc(arena, sizeof(*u));
	char *path = rama_arena_alloc(arena, room);

	if (u == NULL || path == NULL) {
		rama_err_set(e, RAMA_EMEMORY, "no memory");
		return NULL;
	}
	snprintf(path, room, "%s/%s", top, s->name);
	*u = (struct rama_emu_unit){ .name = path + strlen(top) + 1,
				     .path = path,
				     .size = s->size,
				     .opt = m->opt.opt,
				     .pattern = { m->opt.seed, rama_emu_pattern_unit(s->name),
						  0 } };
	return u;
}
