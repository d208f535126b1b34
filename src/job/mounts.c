/* SPDX-License-Identifier: BSD-3-Clause */
/* mounts.c: the file systems that files are on. */
#include <string.h>

#include "job/parts.h"

static int find(struct rama_job_view *v, const struct rama_log_mount *m, int *mount)
{
	struct rama_job_view_mount new = { 0 };

	for (size_t i = 0; i < v->n_mounts; i++) {
		if (strcmp(v->mounts[i].path, m->path) == 0 &&
		    strcmp(v->mounts[i].type, m->type) == 0) {
			*mount = (int)i;
			return 0;
		}
	}
	new.path = rama_arena_text(&v->arena, m->path, strlen(m->path));
	new.type = rama_arena_text(&v->arena, m->type, strlen(m->type));
	if (new.path == NULL || new.type == NULL ||
	    rama_job_room(&v->mounts, v->n_mounts, &v->work->mounts_room, sizeof(new)) != 0)
		return RAMA_EMEMORY;
	*mount = (int)v->n_mounts;
	v->mounts[v->n_mounts++] = new;
	return 0;
}

/* Longest first; whole parts of the path have to fit: /scratch2/x is not on /scratch. */
static const struct rama_log_mount *mount_of(const struct rama_log *log, const char *name)
{
	for (size_t i = 0; i < log->n_mounts; i++) {
		const struct rama_log_mount *m = &log->mounts[i];
		size_t n = m->path_len;

		if (n > 0 && strncmp(m->path, name, n) == 0 &&
		    (m->path[n - 1] == '/' || name[n] == '/' || name[n] == '\0'))
			return m;
	}
	return NULL;
}

/* Files of one directory come together and are on one file system. */
int rama_job_view_mount_of(struct rama_job_view *v, const char *name, int *mount)
{
	struct rama_job_view_work *k = v->work;
	const char *slash = strrchr(name, '/');
	size_t n = slash != NULL ? (size_t)(slash - name) : 0;
	const struct rama_log_mount *m;
	int rc = 0;

	if (k->last_dir != NULL && slash != NULL && n == k->last_dir_len &&
	    memcmp(name, k->last_dir, n) == 0) {
		*mount = k->last_mount;
		return 0;
	}
	m = mount_of(k->log, name);
	*mount = -1;
	if (m != NULL)
		rc = find(v, m, mount);
	k->last_dir = slash != NULL ? name : NULL;
	k->last_dir_len = n;
	k->last_mount = *mount;
	return rc;
}
