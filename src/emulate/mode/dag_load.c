/* SPDX-License-Identifier: BSD-3-Clause */
/* dag_load.c: a workflow from its file to the first task. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "emulate/format/formats.h"
#include "emulate/format/lines.h"
#include "emulate/mode/dag.h"

#define FILE_MOST ((size_t)1 << 30)
#define LOOK_AT 65536 /* bytes from which a workflow is known */

/* ---- the file ------------------------------------------------------------------------------- */

/* all of a file, with a NUL after it; also of a pipe */
static char *slurp(const char *path, size_t *n, struct rama_err *e)
{
	int fd = strcmp(path, "-") == 0 ? dup(0) : open(path, O_RDONLY | O_CLOEXEC);
	size_t room = 65536;
	char *bytes = malloc(room);
	ssize_t got = -1;

	*n = 0;
	while (fd >= 0 && bytes != NULL && (got = read(fd, bytes + *n, room - *n - 1)) > 0) {
		*n += (size_t)got;
		if (*n > FILE_MOST) {
			rama_err_set(e, RAMA_ELIMIT, "%s: larger than any workflow", path);
			goto fail;
		}
		if (room - *n < 32768) {
			char *p = realloc(bytes, room *= 2);

			if (p == NULL)
				break;
			bytes = p;
		}
	}
	if (got == 0) {
		close(fd);
		bytes[*n] = '\0';
		return bytes;
	}
	rama_err_set(e, RAMA_EMISSING, "%s: %s", path, strerror(errno));
fail:
	if (fd >= 0)
		close(fd);
	free(bytes);
	return NULL;
}

/* by its first bytes: logs, which can be large, are told apart without reading them */
static bool is_workflow(const char *path)
{
	char bytes[LOOK_AT];
	const char *text = bytes;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, bytes, sizeof(bytes)) : 0;
	size_t n = got > 0 ? (size_t)got : 0;

	if (fd >= 0)
		close(fd);
	rama_emu_skip_mark(&text, &n);
	for (unsigned i = 0; n > 0 && i < rama_emu_n_graph_formats; i++)
		if (rama_emu_graph_formats[i].read != NULL &&
		    rama_emu_graph_formats[i].looks_like(text, n))
			return true;
	return false;
}

int rama_emu_workflow_read(const char *path, struct rama_emu_graph *g, struct rama_err *e)
{
	struct rama_err loops;
	char *bytes;
	size_t n = 0;
	int rc;

	if (!is_workflow(path))
		return 0;
	bytes = slurp(path, &n, e);
	if (bytes == NULL)
		return e->code;
	rc = rama_emu_graph_read(g, NULL, bytes, n, e);
	free(bytes);
	if (rc != 0)
		return rama_err_prefix(e, "%s", path);
	rama_emu_graph_cut(
		g,
		/* what is fed back is shown as such; what cannot be run can still be looked at */
		&loops);
	return 1;
}

/* Rank 0 reads it, all get the bytes: the file need not be on every node. */
static int fetch(struct rama_emu_dag *d, const char *path, char **bytes, size_t *n,
		 struct rama_err *e)
{
	struct rama_emu_team *t = d->m->team;
	uint64_t size = 0;
	int rc = 0;

	*bytes = NULL;
	if (t->rank == 0) {
		*bytes = slurp(path, n, e);
		if (*bytes == NULL)
			return e->code;
		size = *n;
	}
	rc = rama_emu_team_bcast(t, &size, sizeof(size), e);
	if (rc == 0 && t->rank != 0) {
		*bytes = malloc(size + 1);
		*n = size;
		if (*bytes == NULL)
			return rama_err_set(e, RAMA_EMEMORY, "no memory for %s", path);
	}
	if (rc == 0)
		rc = rama_emu_team_bcast(t, *bytes, *n, e);
	return rc;
}

/* Units that the file gives no size have that of the command line; others may not contradict it. */
static int set_sizes(struct rama_emu_graph *g, const struct rama_emu_config *c, const char *path,
		     struct rama_err *e)
{
	bool given = rama_emu_config_given(c, RAMA_EMU_P_block_size) ||
		     rama_emu_config_given(c, RAMA_EMU_P_segment_count);
	int64_t size;

	if (__builtin_mul_overflow(rama_emu_config_size(c, RAMA_EMU_P_block_size),
				   rama_emu_config_size(c, RAMA_EMU_P_segment_count), &size))
		return rama_err_set(e, RAMA_EUSAGE,
				    "block_size x segment_count is larger than any file");
	for (uint32_t i = 0; i < g->n_data; i++) {
		if (g->data[i].size < 0)
			g->data[i].size = size;
		else if (given && g->data[i].size != size)
			return rama_err_set(e, RAMA_EUSAGE,
					    "%s: %.100s has %lld bytes there, but block_size x "
					    "segment_count is %lld; --bytes scales sizes, "
					    "--transfer_size is that of requests",
					    path, g->data[i].id, (long long)g->data[i].size,
					    (long long)size);
	}
	if (rama_emu_config_given(c, RAMA_EMU_P_filename)) {
		if (g->n_data != 1)
			return rama_err_set(e, RAMA_EUSAGE,
					    "filename: %s has %u data units, one name is for one",
					    path, g->n_data);
		g->data[0].name = rama_emu_config_text(c, RAMA_EMU_P_filename);
	}
	return 0;
}

int rama_emu_dag_load(struct rama_emu_dag *d, struct rama_emu_graph *g, struct rama_err *e)
{
	const struct rama_emu_config *c = d->m->cfg;
	const char *path =
		c->n_args > 0 ? c->args[0] : rama_emu_config_text(c, RAMA_EMU_P_dag_file);
	const char *format = rama_emu_config_text(c, RAMA_EMU_P_format);
	int64_t wanted = rama_emu_config_size(c, RAMA_EMU_P_iterations);
	char *bytes;
	size_t n = 0;
	int rc;

	if (path[0] == '\0')
		return rama_err_set(e, RAMA_EUSAGE, "no workflow: iorama emulate dag FILE");
	rc = fetch(d, path, &bytes, &n, e);
	if (rc != 0)
		return rc;
	rc = rama_emu_graph_read(g, format[0] != '\0' ? format : NULL, bytes, n, e);
	free(bytes);
	if (rc == 0)
		rc = rama_emu_graph_cut(g, e);
	if (rc != 0)
		return rama_err_prefix(e, "%s", path);
	rc = set_sizes(g, c, path, e);
	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < g->n_data; i++) {
		bool any = g->data[i].size > 0;

		if (!rama_emu_config_scale(c, &g->data[i].size))
			return rama_err_set(e, RAMA_EUSAGE,
					    "bytes: %.100s would be larger than any file",
					    g->data[i].id);
		if (any && g->data[i].size == 0)
			g->data[i].size = 1;
	}
	if (rama_emu_config_text(c, RAMA_EMU_P_graph_svg)[0] != '\0' &&
	    (uint64_t)g->n_tasks + g->n_data > RAMA_EMU_PICTURE)
		return rama_err_set(
			e, RAMA_EUSAGE,
			"graph_svg: %u tasks and %u data units are too many for a picture",
			g->n_tasks, g->n_data);
	d->iterations = wanted > 0 ? (uint32_t)wanted : g->iterations;
	return 0;
}

/* ---- after the run -------------------------------------------------------------------------- */

int rama_emu_dag_remarks(struct rama_emu_dag *d, struct rama_err *e)
{
	const struct rama_emu_graph *g = d->graph;
	uint32_t cut = 0, cuts = rama_emu_dag_cuts(d);

	(void)e;
	for (uint32_t i = 0; i < g->n_edges; i++)
		cut += g->edges[i].feedback;
	for (uint32_t i = 0; i < g->n_afters; i++)
		cut += g->afters[i].feedback;
	for (size_t i = 0; i < g->n_warnings; i++)
		rama_out_fmt(&d->m->remarks, "%s\n", g->warnings[i]);
	if (cuts > 0)
		rama_out_fmt(&d->m->remarks,
			     "measured_bytes: %u of the relations would move a file more than %d "
			     "times; so often they do\n",
			     cuts, RAMA_EMU_DAG_TIMES);
	if (cut > 0)
		rama_out_fmt(&d->m->remarks,
			     "%u relation%s fed back, from the second iteration on\n", cut,
			     cut == 1 ? " is" : "s are");
	return 0;
}

/* ---- units ---------------------------------------------------------------------------------- */
/* The files of a workflow: where each data unit lives, folders, input that no task
 * makes, and their end. */

#define PART_MOST 240  /* bytes of one part of a path: .RUN.part is added */
#define PATH_MOST 3900 /* bytes of a path */

/* ---- where units live ----------------------------------------------------------------------- */

/* the directory of a tier: NAME=DIR in the list of tiers */
static int folder_of(struct rama_emu_dag *d, const char *tier, const char **dir, struct rama_err *e)
{
	const struct rama_emu_config *c = d->m->cfg;
	const char *text;
	size_t n;

	*dir = rama_emu_config_text(c, RAMA_EMU_P_input_dir);
	for (size_t i = 0;
	     tier != NULL && (n = rama_emu_config_item(c, RAMA_EMU_P_tier, i, &text)) > 0; i++) {
		size_t len = strlen(tier);

		if (n > len && strncmp(text, tier, len) == 0 && text[len] == '=') {
			*dir = rama_arena_text(&d->m->arena, text + len + 1, n - len - 1);
			return *dir != NULL ? 0 : rama_err_set(e, RAMA_EMEMORY, "no memory");
		}
	}
	if (tier != NULL)
		return rama_err_set(e, RAMA_EUSAGE, "tier %s has no directory: --tier %s=DIR", tier,
				    tier);
	return 0;
}

/* what is a file already, what is a folder: by the hash of its path. Two that are taken for the
 * same only cost one its name. */
struct places {
	struct rama_map files, folders;
};

static uint64_t place_of(const char *path, size_t n, const char *end)
{
	char text[PATH_MOST + 16];

	memcpy(text, path, n);
	memcpy(text + n, end, strlen(end) + 1);
	return rama_emu_pattern_unit(text);
}

static bool known(const struct rama_map *m, uint64_t key)
{
	return rama_map_get(m, key) != NULL;
}

/* Would it be in the way of another, or another of it? `start`: length of the directory, which
 * is not looked at. */
static bool collides(const struct places *p, const char *path, size_t start)
{
	size_t n = strlen(path), part = 0;
	uint64_t self, partial;

	if (n > PATH_MOST)
		return true;
	self = place_of(path, n, "");
	partial = place_of(path, n, ".part");
	if (known(&p->files, self) || known(&p->files, partial) || known(&p->folders, self) ||
	    known(&p->folders, partial))
		return true;
	for (size_t i = start; i < n; i++) {
		part = path[i] == '/' ? 0 : part + 1;
		if (part > PART_MOST || (path[i] == '/' && known(&p->files, place_of(path, i, ""))))
			return true;
	}
	return false;
}

static int add_folder(struct rama_emu_dag *d, const char *path, size_t n, struct rama_err *e)
{
	if (!RAMA_GROW(d->folders, d->room_folders, d->n_folders + 1))
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	d->folders[d->n_folders] = rama_arena_text(&d->m->arena, path, n);
	if (d->folders[d->n_folders] == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	d->n_folders++;
	return 0;
}

static int occupy(struct rama_emu_dag *d, struct places *p, const char *path, struct rama_err *e)
{
	size_t n = strlen(path);
	bool fresh = false;
	int rc = 0;

	if (rama_map_put(&p->files, place_of(path, n, ""), &fresh) == NULL ||
	    rama_map_put(&p->files, place_of(path, n, ".part"), &fresh) == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (size_t i = 1; rc == 0 && i < n; i++) {
		if (path[i] != '/')
			continue;
		if (rama_map_put(&p->folders, place_of(path, i, ""), &fresh) == NULL)
			return rama_err_set(e, RAMA_EMEMORY, "no memory");
		if (fresh)
			rc = add_folder(d, path, i, e);
	}
	return rc;
}

/* Many ids end alike; a file keeps the whole of its name, unless that is in the way of another
 * one's: then it gets a number. */
static const char *path_of(struct rama_emu_dag *d, struct places *p, uint32_t i, struct rama_err *e)
{
	const char *dir, *path;
	char name[64];

	if (folder_of(d, d->graph->data[i].tier, &dir, e) != 0 ||
	    (!d->m->opt.engine->no_files && rama_emu_own_where(d->m->opt.own, dir, e) != 0))
		return NULL;
	path = rama_emu_emulation_path(d->m, dir, d->graph->data[i].name, e);
	for (unsigned k = 0; path != NULL && collides(p, path, strlen(dir) + 1); k++) {
		if (strlen(dir) + sizeof(name) > PATH_MOST) {
			rama_err_set(e, RAMA_EUSAGE, "%.100s...: name too long", dir);
			return NULL;
		}
		snprintf(name, sizeof(name), k == 0 ? "unit.%u" : "unit.%u.%u", i, k);
		path = rama_emu_emulation_path(d->m, dir, name, e);
	}
	return path != NULL && occupy(d, p, path, e) == 0 ? path : NULL;
}

static int make_units(struct rama_emu_dag *d, struct rama_err *e)
{
	const struct rama_emu_graph *g = d->graph;
	struct places p = { 0 };
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < g->n_data; i++) {
		const char *path = path_of(d, &p, i, e);

		d->units[i] = path != NULL ? rama_emu_emulation_unit(d->m, g->data[i].id, path,
								     g->data[i].size, 0, e)
					   : NULL;
		if (d->units[i] == NULL)
			rc = e->code;
	}
	rama_map_fini(&p.files);
	rama_map_fini(&p.folders);
	return rc;
}

/* Which of the writers of its unit each task is: they share it. */
static int number_writers(struct rama_emu_dag *d, struct rama_err *e)
{
	const struct rama_emu_graph *g = d->graph;
	uint32_t *seen = calloc((size_t)g->n_data + 1, sizeof(*seen));

	d->turn = calloc((size_t)g->n_edges + 1, sizeof(*d->turn));
	if (seen == NULL || d->turn == NULL) {
		free(seen);
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %u relations", g->n_edges);
	}
	for (uint32_t i = 0; i < g->n_edges; i++)
		if (g->edges[i].write)
			d->turn[i] = seen[g->edges[i].data]++;
	free(seen);
	return 0;
}

/* ---- folders and input ---------------------------------------------------------------------- */

static int make_folders(struct rama_emu_dag *d, struct rama_err *e)
{
	d->new_folder = calloc((size_t)d->n_folders + 1, sizeof(*d->new_folder));
	if (d->new_folder == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (uint32_t i = 0; d->m->team->rank == 0 && i < d->n_folders; i++) {
		int made = rama_emu_own_folder(d->m->opt.own, d->folders[i], e);

		if (made < 0)
			return made;
		d->new_folder[i] = made > 0;
	}
	return rama_emu_team_bcast(d->m->team, d->new_folder, d->n_folders * sizeof(*d->new_folder),
				   e);
}

/* Is the place of a unit free? Input that is there is the user's own; links to it are followed,
 * as it is only read. */
static int check_unit(struct rama_emu_dag *d, uint32_t i, struct rama_err *e)
{
	const struct rama_emu_unit *u = d->units[i];
	struct stat st;

	if (u == NULL)
		return 0;
	if (d->graph->data[i].writers > 0 || stat(u->path, &st) != 0) {
		rama_emu_own_need(d->m->opt.own, u->path, u->size);
		return rama_emu_own_check(d->m->opt.own, u->path, e);
	}
	if (!S_ISREG(st.st_mode))
		return rama_err_set(e, RAMA_EMISSING, "%s: no plain file", u->path);
	if (d->m->opt.engine->container || st.st_size >= u->size)
		return 0;
	return rama_err_set(e, RAMA_EMISSING, "%s: has %lld bytes, not %lld", u->path,
			    (long long)st.st_size, (long long)u->size);
}

/* Input that no task writes and that is not there is made, outside of all measurements. */
static int stage_in(struct rama_emu_dag *d, uint32_t i, struct rama_err *e)
{
	struct rama_emu_unit *u = d->units[i];
	bool container = d->m->opt.engine->container;
	struct rama_emu_walk w = { .size = u->size, .request = 1 << 20 };
	struct rama_emu_script s;
	struct stat st;
	int rc;

	if (stat(u->path, &st) == 0)
		return 0; /* the user's own */
	d->made[i] = true;
	rama_emu_script_init(&s);
	rama_emu_script_open(&s, u,
			     RAMA_EMU_OPEN_WRITE | RAMA_EMU_OPEN_CREATE | RAMA_EMU_OPEN_TRUNCATE);
	rama_emu_script_move(&s, RAMA_EMU_DO_WRITE, u, &w, false);
	rama_emu_script_step(&s, RAMA_EMU_DO_CLOSE, u);
	rama_emu_script_step(&s, RAMA_EMU_DO_READY, u);
	u->engine = container ? NULL : rama_emu_engine_find("posix");
	rc = rama_emu_emulation_aside(d->m, &s, e);
	u->engine = NULL;
	rama_emu_script_fini(&s);
	return rc;
}

/* All ranks must know what can be verified and what has to go in the end. */
static int agree(struct rama_emu_dag *d, struct rama_err *e)
{
	uint32_t n = d->graph->n_data;
	char *all = NULL;
	size_t *lens = NULL;
	int rc = rama_emu_team_gather(d->m->team, d->made, n, &all, &lens, e);

	for (size_t i = 0; rc == 0 && all != NULL && i < (size_t)n * (size_t)d->m->team->size; i++)
		d->made[i % n] |= all[i] != 0;
	free(all);
	free(lens);
	return rc != 0 ? rc : rama_emu_team_bcast(d->m->team, d->made, n, e);
}

static int prepare_files(struct rama_emu_dag *d, struct rama_err *e)
{
	const struct rama_emu_graph *g = d->graph;
	struct rama_emu_team *t = d->m->team;
	int rc = 0;

	for (uint32_t i = (uint32_t)t->rank; rc == 0 && i < g->n_data; i += (uint32_t)t->size)
		rc = check_unit(d, i, e);
	if (rc == 0)
		/* nothing is made before all is known to be free */
		rc = rama_emu_own_room(d->m->opt.own, t, e);
	if (rc == 0)
		rc = make_folders(d, e);
	d->entered = rc == 0;
	if (rc == 0)
		rc = rama_emu_emulation_enter(d->m, t->rank == 0, e);
	for (uint32_t i = (uint32_t)t->rank; rc == 0 && i < g->n_data; i += (uint32_t)t->size) {
		if (d->units[i] == NULL)
			continue;
		if (g->data[i].writers == 0)
			rc = stage_in(d, i, e);
		else if (rama_emu_own_clear(d->m->opt.own, d->units[i]->path) != 0)
			rc = rama_err_set(e, RAMA_EIO, "%s: cannot be removed: %s",
					  d->units[i]->path, strerror(errno));
	}
	return rc != 0 ? rc : agree(d, e);
}

int rama_emu_dag_prepare(struct rama_emu_dag *d, struct rama_err *e)
{
	const struct rama_emu_graph *g = d->graph;
	int rc;

	d->units = calloc((size_t)g->n_data + 1, sizeof(void *));
	d->made = calloc((size_t)g->n_data + 1, sizeof(*d->made));
	if (d->units == NULL || d->made == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %u units", g->n_data);
	rc = make_units(d, e);
	if (rc == 0)
		rc = number_writers(d, e);
	if (rc == 0 && !d->m->opt.engine->no_files)
		rc = prepare_files(d, e);
	return rc;
}

/* ---- the end -------------------------------------------------------------------------------- */

static void remove_units(struct rama_emu_dag *d, bool failed)
{
	bool keep = rama_emu_config_flag(d->m->cfg, RAMA_EMU_P_keep);
	uint32_t step = failed ? 1 : (uint32_t)d->m->team->size;
	uint32_t first = failed ? 0 : (uint32_t)d->m->team->rank;

	for (uint32_t i = first; i < d->graph->n_data; i += step) {
		bool ours = d->made[i] || d->graph->data[i].writers > 0;

		if (d->units[i] == NULL || !ours)
			continue;
		if (!keep)
			rama_emu_own_remove(d->m->opt.own, d->units[i]->path);
		if (failed)
			rama_emu_own_drop(d->m->opt.own, d->units[i]->path);
	}
}

static void remove_folders(const struct rama_emu_dag *d)
{
	for (uint32_t i = d->n_folders; d->new_folder != NULL && i-- > 0;)
		if (d->new_folder[i])
			rama_emu_own_rmdir(d->m->opt.own, d->folders[i]);
}

int rama_emu_dag_clean(struct rama_emu_dag *d, bool failed, struct rama_err *e)
{
	int rc = 0;

	if (d->entered) {
		remove_units(d, failed);
		if (!failed)
			rc = rama_emu_team_barrier(d->m->team, e);
		if (failed || d->m->team->rank == 0)
			remove_folders(d);
	}
	free(d->units);
	free(d->made);
	free(d->turn);
	free(d->folders);
	free(d->new_folder);
	return rc;
}
