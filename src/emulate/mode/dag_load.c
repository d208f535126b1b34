/* SPDX-License-Identifier: BSD-3-Clause */
/* dag_load.c: a workflow from its file to the first task. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulate/mode/dag.h"
#include "emulate/format/formats.h"
#include "emulate/format/lines.h"

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
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, bytes, sizeof(bytes)) : 0;

	if (fd >= 0)
		close(fd);
	for (unsigned i = 0; n > 0 && i < rama_emu_n_graph_formats; i++)
		if (rama_emu_graph_formats[i].read != NULL &&
		    rama_emu_graph_formats[i].looks_like(bytes, (size_t)n))
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
	for (uint32_t i = 0; i < g->n_data; i++)
		if (g->data[i].size < 0 &&
		    __builtin_mul_overflow(rama_emu_config_size(c, RAMA_EMU_P_block_size),
					   rama_emu_config_size(c, RAMA_EMU_P_segment_count),
					   &g->data[i].size))
			return rama_err_set(e, RAMA_EUSAGE,
					    "block_size x segment_count is larger than any file");
	rama_emu_graph_scale(g, rama_emu_config_number(c, RAMA_EMU_P_bytes), 1);
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
	uint32_t cut = 0;

	(void)e;
	for (uint32_t i = 0; i < g->n_edges; i++)
		cut += g->edges[i].feedback;
	for (uint32_t i = 0; i < g->n_afters; i++)
		cut += g->afters[i].feedback;
	for (size_t i = 0; i < g->n_warnings; i++)
		rama_out_fmt(&d->m->remarks, "%s\n", g->warnings[i]);
	if (cut > 0)
		rama_out_fmt(&d->m->remarks,
			     "%u relation%s fed back, from the second iteration on\n", cut,
			     cut == 1 ? " is" : "s are");
	return 0;
}
