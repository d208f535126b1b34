/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.c: which directories there are. The kernel tells of new ones and of new files in
 * them; what it cannot tell (no watches left, a directory that is not there yet) is found by
 * reading all of them now and then. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "gather/place.h"
#include "agent/loop.h"

/* ---- one directory --------------------------------------------------------------------------- */

static void on_dir_closed(uv_handle_t *h)
{
	struct rama_agent_dir *d = h->data;

	free(d->path);
	free(d);
}

/* takes it out of the list; the last one gets its place */
static void forget(struct rama_agent *a, size_t i)
{
	uint64_t *at = rama_map_get(&a->dir_by, rama_agent_path_hash(a->dir[i]->path));

	if (at != NULL)
		*at = 0;
	a->dir[i] = a->dir[--a->n_dirs];
	at = i < a->n_dirs ? rama_map_get(&a->dir_by, rama_agent_path_hash(a->dir[i]->path)) : NULL;
	if (at != NULL)
		*at = i + 1;
}

static void close_dir(struct rama_agent *a, size_t i)
{
	struct rama_agent_dir *d = a->dir[i];

	forget(a, i);
	if (d->kind == RAMA_AGENT_DIR_JOB)
		rama_agent_use(a, d->uid, RAMA_AGENT_SHARE_DIRS, -1);
	if (d->claim >= 0) {
		rama_agent_as(a, d->uid);
		rama_look_agent_release(d->path, d->claim);
		rama_agent_as_self(a);
	}
	uv_close((uv_handle_t *)&d->event, on_dir_closed);
}

static struct rama_agent_dir *dir_at(struct rama_agent *a, const char *path)
{
	const uint64_t *at = rama_map_get(&a->dir_by, rama_agent_path_hash(path));

	return at != NULL && *at != 0 && strcmp(a->dir[*at - 1]->path, path) == 0 ? a->dir[*at - 1]
										  : NULL;
}

static void read_dir(struct rama_agent *a, struct rama_agent_dir *d);
static void on_change(uv_fs_event_t *handle, const char *name, int events, int status);

static struct rama_agent_dir *add_dir(struct rama_agent *a, const char *path, uint32_t uid,
				      int kind)
{
	uint64_t *at = rama_map_put(&a->dir_by, rama_agent_path_hash(path), NULL);
	struct rama_agent_dir *d;

	if (at == NULL || *at != 0 || !RAMA_GROW(a->dir, a->room_dirs, a->n_dirs + 1))
		return NULL;
	d = calloc(1, sizeof(*d));
	if (d == NULL || (d->path = strdup(path)) == NULL) {
		free(d);
		return NULL;
	}
	if (kind == RAMA_AGENT_DIR_JOB)
		rama_agent_use(a, uid, RAMA_AGENT_SHARE_DIRS, 1);
	d->agent = a;
	d->uid = uid;
	d->kind = kind;
	d->claim = -1;
	d->event.data = d;
	uv_fs_event_init(&a->loop, &d->event);
	a->dir[a->n_dirs++] = d;
	*at = a->n_dirs;
	return d;
}

/* Begins to watch it, or again if another one took its place under the same name. */
static void watch(struct rama_agent *a, struct rama_agent_dir *d)
{
	struct rama_look_find_id id = { 0 };

	if (d->kind != RAMA_AGENT_DIR_BASE && (!rama_look_find_is_dir(d->path, d->uid, &id) ||
					       (d->watched && rama_look_find_id_same(&id, &d->id))))
		return;
	if (d->kind == RAMA_AGENT_DIR_BASE && d->watched)
		return;
	uv_fs_event_stop(&d->event);
	d->id = id;
	d->watched = uv_fs_event_start(&d->event, on_change, d->path, 0) == 0;
	if (!d->watched && !a->no_inotify) {
		a->no_inotify = true;
		rama_agent_say(
			a, "%s: cannot be watched (%s); directories are read each second instead",
			d->path, strerror(errno));
	}
}

/* ---- what is in them ------------------------------------------------------------------------- */

static void found_segment(void *ctx, const char *path, const char *name)
{
	struct rama_agent_dir *d = ctx;

	(void)name;
	rama_agent_found(d->agent, path, d->uid);
}

static void found_job(void *ctx, const char *path, const char *name)
{
	struct rama_agent_dir *root = ctx, *d = dir_at(root->agent, path);

	(void)name;
	if (d == NULL && rama_agent_may(root->agent, root->uid, RAMA_AGENT_SHARE_DIRS) &&
	    rama_look_find_is_dir(path, root->uid, NULL))
		d = add_dir(root->agent, path, root->uid, RAMA_AGENT_DIR_JOB);
	if (d == NULL)
		return;
	watch(root->agent, d); /* before it is read, so that nothing falls between */
	read_dir(root->agent, d);
}

/* A root is ours from the moment that we have said so in it. */
static bool claim(struct rama_agent *a, struct rama_agent_dir *d, struct rama_err *e)
{
	if (d->claim >= 0)
		return true;
	if (!rama_look_find_is_dir(d->path, d->uid, NULL)) {
		rama_err_set(e, RAMA_EIO, "%s: is no directory of user %u alone", d->path,
			     (unsigned)d->uid);
		return false;
	}
	rama_agent_as(a, d->uid);
	d->claim = rama_look_agent_claim(d->path, a->o.spool, e);
	rama_agent_as_self(a);
	return d->claim >= 0;
}

static size_t roots_of(const struct rama_agent *a, uint32_t uid)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n_dirs; i++)
		n += a->dir[i]->kind == RAMA_AGENT_DIR_ROOT && a->dir[i]->uid == uid;
	return n;
}

static void found_user(void *ctx, const char *path, const char *name)
{
	struct rama_agent_dir *base = ctx, *d = dir_at(base->agent, path);
	struct rama_err e = { 0 };
	uint32_t uid;

	if (!rama_look_find_user_of(name, &uid) || !rama_look_find_is_dir(path, uid, NULL))
		return;
	if (d == NULL && roots_of(base->agent, uid) < RAMA_LOOK_FIND_ROOTS)
		d = add_dir(base->agent, path, uid, RAMA_AGENT_DIR_ROOT);
	if (d == NULL)
		return;
	if (!claim(base->agent, d, &e)) {
		if (!d->seen)
			rama_agent_say(base->agent, "%s", e.text);
		d->seen = true;
		return;
	}
	watch(base->agent, d);
	read_dir(base->agent, d);
}

static void read_dir(struct rama_agent *a, struct rama_agent_dir *d)
{
	if (d->kind == RAMA_AGENT_DIR_BASE)
		rama_look_find_users(d->path, found_user, d);
	else if (d->kind == RAMA_AGENT_DIR_ROOT && d->claim >= 0)
		rama_look_find_jobs(d->path, d->uid, found_job, d);
	else if (d->kind == RAMA_AGENT_DIR_JOB)
		rama_look_find_segments(d->path, d->uid, found_segment, d);
	(void)a;
}

static void on_change(uv_fs_event_t *handle, const char *name, int events, int status)
{
	struct rama_agent_dir *d = handle->data;
	struct rama_agent *a = d->agent;
	char path[PATH_MAX];
	uint32_t uid;

	(void)events;
	if (status < 0 || name == NULL) {
		read_dir(a, d);
		return;
	}
	if (snprintf(path, sizeof(path), "%s/%s", d->path, name) >= (int)sizeof(path))
		return;
	if (d->kind == RAMA_AGENT_DIR_JOB && rama_look_find_is_segment(name))
		rama_agent_found(a, path, d->uid);
	else if (d->kind == RAMA_AGENT_DIR_ROOT && name[0] != '.' && d->claim >= 0)
		found_job(d, path, name);
	else if (d->kind == RAMA_AGENT_DIR_BASE && rama_look_find_user_of(name, &uid))
		found_user(d, path, name);
}

void rama_agent_scan(struct rama_agent *a)
{
	a->scanned = a->drain.mono;
	rama_agent_shares_renew(a);
	rama_agent_tidy(a);
	for (size_t i = a->n_dirs; i-- > 0;) {
		struct rama_agent_dir *d = a->dir[i];
		struct stat st;

		if (d->kind == RAMA_AGENT_DIR_JOB && a->o.job == NULL && lstat(d->path, &st) != 0) {
			close_dir(a, i);
			continue;
		}
		watch(a, d);
		read_dir(a, d);
	}
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int add_root(struct rama_agent *a, const char *path, struct rama_err *e)
{
	struct rama_agent_dir *d;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return rama_err_set(e, RAMA_EIO, "%s: cannot be made: %s", path, strerror(errno));
	if (rama_gather_place_check(path, e) != 0)
		return rama_err_prefix(e, "%s", path);
	d = add_dir(a, path, geteuid(), RAMA_AGENT_DIR_ROOT);
	if (d == NULL)
		return rama_err_no_memory(e);
	return claim(a, d, e) ? 0 : e->code;
}

static int add_job_dir(struct rama_agent *a, struct rama_err *e)
{
	struct rama_gather_spares spares;
	struct rama_agent_dir *d;

	if (rama_gather_place_check(a->o.job, e) != 0)
		return rama_err_prefix(e, "%s", a->o.job);
	d = add_dir(a, a->o.job, geteuid(), RAMA_AGENT_DIR_JOB);
	if (d == NULL)
		return rama_err_no_memory(e);
	if (!claim(a, d, e))
		return e->code;
	/* processes that find no room there go on in these */
	rama_gather_spares_read(&spares, a->o.job);
	for (size_t i = 0; i < spares.n; i++) {
		d = add_dir(a, spares.dir[i], geteuid(), RAMA_AGENT_DIR_JOB);
		if (d == NULL)
			return rama_err_no_memory(e);
		if (!claim(a, d, e))
			return e->code;
	}
	return 0;
}

static int add_bases(struct rama_agent *a, struct rama_err *e)
{
	static const char *const usual[] = { "/dev/shm", "/tmp" };

	for (unsigned i = 0; i < (a->o.base != NULL ? 1 : 2); i++)
		if (add_dir(a, a->o.base != NULL ? a->o.base : usual[i], 0, RAMA_AGENT_DIR_BASE) ==
		    NULL)
			return rama_err_no_memory(e);
	/* everybody writes into /tmp, and each write would be told */
	if (a->o.base == NULL)
		a->dir[1]->watched = true;
	return 0;
}

int rama_agent_watch(struct rama_agent *a, struct rama_err *e)
{
	int rc = 0;

	if (a->o.job != NULL)
		rc = add_job_dir(a, e);
	else if (a->o.system)
		rc = add_bases(a, e);
	for (size_t i = 0; i < a->o.n_dirs && rc == 0 && a->o.job == NULL; i++)
		rc = add_root(a, a->o.dirs[i], e);
	if (rc == 0)
		rama_agent_scan(a);
	return rc;
}

void rama_agent_unwatch(struct rama_agent *a)
{
	while (a->n_dirs > 0)
		close_dir(a, a->n_dirs - 1);
	free(a->dir);
	a->dir = NULL;
}
