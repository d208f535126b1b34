/* SPDX-License-Identifier: BSD-3-Clause */
#include "look/dirs.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gather/place.h"
#include "look/find.h"
#include "segment/place.h"

static void add(struct rama_look_dirs *d, const char *path)
{
	if (d->n < RAMA_LOOK_DIRS && (d->path[d->n] = strdup(path)) != NULL)
		d->n++;
}

/* iorama-UID, a real directory of that very user: anybody can make others, and many of his own */
static bool is_users(const struct rama_look_dirs *d, const char *path)
{
	const char *name = strrchr(path, '/');
	uint32_t uid, other;
	size_t n = 0;

	if (name == NULL || !rama_look_find_user_of(name + 1, &uid) ||
	    !rama_look_find_is_dir(path, uid, NULL))
		return false;
	for (size_t i = 0; i < d->n; i++)
		n += rama_look_find_user_of(strrchr(d->path[i], '/') + 1, &other) && other == uid;
	return n < RAMA_LOOK_FIND_ROOTS;
}

static void add_all_users(struct rama_look_dirs *d)
{
	static const char *const where[] = { "/dev/shm/iorama-*", "/tmp/iorama-*" };
	glob_t g;

	for (unsigned i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		if (glob(where[i], 0, NULL, &g) == 0)
			for (size_t k = 0; k < g.gl_pathc; k++)
				if (is_users(d, g.gl_pathv[k]))
					add(d, g.gl_pathv[k]);
		globfree(&g);
	}
}

static void add_own(struct rama_look_dirs *d)
{
	char path[PATH_MAX], name[RAMA_SEG_PLACE_NAME];
	struct rama_gather_roots roots;
	const char *base;

	rama_seg_place_name(name, (uint32_t)geteuid(), NULL);
	for (unsigned i = 0; (base = rama_seg_place_base(i, getenv("TMPDIR"))) != NULL; i++)
		if (snprintf(path, sizeof(path), "%s/%s", base, name) < (int)sizeof(path))
			add(d, path);
	rama_gather_roots_find(&roots, (uint32_t)geteuid());
	for (size_t i = 0; i < roots.n; i++)
		if (strcmp(strrchr(roots.path[i], '/') + 1, name) != 0)
			add(d, roots.path[i]);
	rama_gather_roots_fini(&roots);
}

void rama_look_dirs_find(struct rama_look_dirs *d, const char *chosen)
{
	d->n = 0;
	if (chosen != NULL && *chosen != '\0')
		add(d, chosen);
	else if (geteuid() == 0)
		add_all_users(d);
	else
		add_own(d);
}

void rama_look_dirs_fini(struct rama_look_dirs *d)
{
	while (d->n > 0)
		free(d->path[--d->n]);
}
