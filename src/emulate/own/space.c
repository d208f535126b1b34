/* SPDX-License-Identifier: BSD-3-Clause */
/* space.c: where a run works, and whether there is room for all that it will write: a disk that
 * is full after an hour has cost the hour, and perhaps the work of others. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/human.h"
#include "emulate/own/place.h"

/* What one rank will write in a place. Those of one file system are added, but not those of
 * several nodes: disks of their own may have the same number there. What is refused is certain. */
struct claim {
	char host[64];
	uint64_t device;
	uint64_t need, room;
	char dir[256];
};

void rama_emu_own_need(struct rama_emu_own *own, const char *path, int64_t bytes)
{
	const char *name;
	struct rama_emu_own_place *p = rama_emu_own_find(own, path, &name);
	uint64_t n = bytes > 0 ? (uint64_t)bytes : 0;

	if (p != NULL)
		p->need = p->need > UINT64_MAX - n ? UINT64_MAX : p->need + n;
}

/* A place that is not there yet will be where its parent is. */
static bool look_up(const char *dir, struct stat *st, struct statvfs *v)
{
	char part[RAMA_EMU_OWN_PATH];
	char *slash;

	if (strlen(dir) >= sizeof(part))
		return false;
	memcpy(part, dir, strlen(dir) + 1);
	while (stat(part[0] != '\0' ? part : ".", st) != 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			return false;
		slash = strrchr(part, '/');
		if (slash == part && part[1] == '\0')
			return false;
		if (slash == part)
			slash++;
		*(slash != NULL ? slash : part) = '\0';
	}
	return statvfs(part[0] != '\0' ? part : ".", v) == 0;
}

/* File systems that do not say how large they are have as much as is asked for. */
static void fill_claim(struct claim *c, const struct rama_emu_own_place *p)
{
	struct stat st = { 0 };
	struct statvfs v = { 0 };

	*c = (struct claim){ .need = p->need, .room = UINT64_MAX };
	snprintf(c->dir, sizeof(c->dir), "%s", p->len > 0 ? p->dir : ".");
	if (gethostname(c->host, sizeof(c->host) - 1) != 0)
		c->host[0] = '\0';
	if (!look_up(p->dir, &st, &v) || v.f_blocks == 0)
		return;
	c->device = (uint64_t)st.st_dev;
	c->room = (uint64_t)v.f_bavail * v.f_frsize;
}

static int judge(const struct claim *all, size_t n, struct rama_err *e)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN];

	for (size_t i = 0; i < n; i++) {
		uint64_t need = 0;

		for (size_t k = 0; all[i].need > 0 && k < n; k++)
			if (all[k].device == all[i].device && strcmp(all[k].host, all[i].host) == 0)
				need = need > UINT64_MAX - all[k].need ? UINT64_MAX
								       : need + all[k].need;
		if (need > all[i].room)
			return rama_err_set(e, RAMA_EIO,
					    "%s: there is room for %s, but %s are to be "
					    "written; nothing was touched",
					    all[i].dir, rama_human_bytes(a, (double)all[i].room),
					    rama_human_bytes(b, (double)need));
	}
	return 0;
}

int rama_emu_own_room(struct rama_emu_own *own, struct rama_emu_team *t, struct rama_err *e)
{
	struct claim *mine = calloc(own->n + 1, sizeof(*mine));
	size_t *lens = NULL, bytes = 0;
	char *all = NULL;
	int rc;

	if (mine == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (size_t i = 0; i < own->n; i++)
		fill_claim(&mine[i], &own->places[i]);
	rc = rama_emu_team_gather(t, mine, own->n * sizeof(*mine), &all, &lens, e);
	for (int i = 0; rc == 0 && t->rank == 0 && i < t->size; i++)
		bytes += lens[i];
	if (rc == 0 && t->rank == 0)
		rc = judge((const struct claim *)(const void *)all, bytes / sizeof(*mine), e);
	free(mine);
	free(all);
	free(lens);
	/* whoever finds too little does not come here, and so nobody gets further */
	return rc == 0 ? rama_emu_team_barrier(t, e) : rc;
}

const char *rama_emu_own_place_name(const struct rama_emu_own *own, size_t i, bool *made)
{
	if (own == NULL || i >= own->n)
		return NULL;
	*made = own->places[i].fresh;
	return own->places[i].len > 0 ? own->places[i].dir : ".";
}
