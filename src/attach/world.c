/* SPDX-License-Identifier: BSD-3-Clause */
#include "attach/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"

#define VARIABLES_MOST (4u << 20)
#define ANCESTORS 64 /* shells and tools between a launcher and its rank */

static const struct row {
	const char *rank, *size, *world;
} rows[] = {
#define W(rank, size, world) { rank, size, world },
#include "table/mpi_worlds.def"
#undef W
};

static FILE *open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

/* ---- the environment ------------------------------------------------------------------------- */

void rama_attach_variables_read(struct rama_attach_variables *v, pid_t pid)
{
	FILE *f = open_proc(pid, "environ");
	size_t got = 1;

	*v = (struct rama_attach_variables){ .text = malloc(VARIABLES_MOST + 1) };
	while (f != NULL && v->text != NULL && got > 0 && v->n < VARIABLES_MOST) {
		got = fread(v->text + v->n, 1, VARIABLES_MOST - v->n, f);
		v->n += got;
	}
	if (v->text != NULL)
		v->text[v->n] = '\0';
	if (f != NULL)
		fclose(f);
}

const char *rama_attach_variables_get(void *ctx, const char *name)
{
	const struct rama_attach_variables *v = ctx;
	size_t len = strlen(name);

	for (size_t at = 0; at < v->n; at += strlen(v->text + at) + 1)
		if (strncmp(v->text + at, name, len) == 0 && v->text[at + len] == '=')
			return v->text + at + len + 1;
	return NULL;
}

void rama_attach_variables_fini(struct rama_attach_variables *v)
{
	free(v->text);
	*v = (struct rama_attach_variables){ 0 };
}

/* ---- the job --------------------------------------------------------------------------------- */

pid_t rama_attach_parent(pid_t pid)
{
	FILE *f = open_proc(pid, "status");
	char line[512];
	long parent = 0;

	while (f != NULL && parent == 0 && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "PPid:", 5) == 0)
			parent = strtol(line + 5, NULL, 10);
	if (f != NULL)
		fclose(f);
	return (pid_t)parent;
}

static bool has_mpi(pid_t pid)
{
	FILE *f = open_proc(pid, "maps");
	char *line = NULL;
	size_t room = 0;
	bool has = false;

	while (f != NULL && !has && getline(&line, &room, f) > 0) {
		const char *slash = strrchr(line, '/');

		has = slash != NULL && strncmp(slash, "/libmpi", 7) == 0;
	}
	free(line);
	if (f != NULL)
		fclose(f);
	return has;
}

/* the row that the process has a rank by; NULL: it has none */
static const struct row *row_of(struct rama_attach_variables *v)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rama_attach_variables_get(v, rows[i].rank) != NULL)
			return &rows[i];
	return NULL;
}

static bool is_rank(pid_t pid, const struct row *row)
{
	struct rama_attach_variables v;
	bool is;

	rama_attach_variables_read(&v, pid);
	is = rama_attach_variables_get(&v, row->rank) != NULL;
	rama_attach_variables_fini(&v);
	return is;
}

/* A rank may be the child of a shell that its launcher started: that one has the variables, too. */
bool rama_attach_world_find(struct rama_attach_world *w, pid_t pid)
{
	struct rama_attach_variables v;
	const struct row *row;
	const char *name = NULL;

	*w = (struct rama_attach_world){ 0 };
	rama_attach_variables_read(&v, pid);
	row = row_of(&v);
	if (row != NULL && row->world[0] != '\0')
		name = rama_attach_variables_get(&v, row->world);
	if (name != NULL) {
		const struct rama_sipkey key = { 0, 0 };

		w->name = rama_siphash(&key, name, strlen(name));
	}
	rama_attach_variables_fini(&v);
	if (row == NULL || !has_mpi(pid))
		return false;
	w->launcher = rama_attach_parent(pid);
	for (unsigned i = 0; i < ANCESTORS && w->launcher > 1 && is_rank(w->launcher, row); i++)
		w->launcher = rama_attach_parent(w->launcher);
	return true;
}
