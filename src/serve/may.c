/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/may.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

const struct rama_serve_role_info rama_serve_role_info[RAMA_SERVE_ROLES] = {
#define ROLE(name, sums, own, project, all, doc) { #name, sums, own, project, all },
#include "serve/roles.def"
#undef ROLE
};

/* ---- who it is ------------------------------------------------------------------------------- */

static int add_user(struct rama_serve_viewer *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->user[i], name) == 0)
			return 0;
	if (!RAMA_GROW(v->user, v->room, v->n + 1))
		return RAMA_EMEMORY;
	v->user[v->n] = strdup(name);
	return v->user[v->n] != NULL ? (v->n++, 0) : RAMA_EMEMORY;
}

#define GROUP_ROOM 65536

/* the members of a group; fn: more than 0: enough */
static int each_member(const char *group, int (*fn)(void *ctx, const char *name), void *ctx,
		       gid_t *gid)
{
	struct group g, *found = NULL;
	char *room = malloc(GROUP_ROOM);
	int rc = 0;

	if (room == NULL)
		return RAMA_EMEMORY;
	if (getgrnam_r(group, &g, room, GROUP_ROOM, &found) == 0 && found != NULL) {
		*gid = g.gr_gid;
		for (char **m = g.gr_mem; rc == 0 && *m != NULL; m++)
			rc = fn(ctx, *m);
	}
	free(room);
	return rc;
}

static int is_name(void *ctx, const char *name)
{
	return strcmp(ctx, name) == 0;
}

static bool has_group(const char *user, gid_t gid)
{
	struct passwd p, *found = NULL;
	char room[4096];

	return gid != (gid_t)-1 && getpwnam_r(user, &p, room, sizeof(room), &found) == 0 &&
	       found != NULL && p.pw_gid == gid;
}

static bool is_member(const char *group, char *user)
{
	gid_t gid = (gid_t)-1;

	return each_member(group, is_name, user, &gid) > 0 || has_group(user, gid);
}

static int take_member(void *ctx, const char *name)
{
	return add_user(ctx, name);
}

static enum rama_serve_role role_of(const struct rama_serve_options *site, char *name)
{
	for (size_t i = 0; i < site->n_staff; i++)
		if (site->staff[i][0] == '@' ? is_member(site->staff[i] + 1, name)
					     : strcmp(site->staff[i], name) == 0)
			return RAMA_SERVE_ROLE_staff;
	for (size_t i = 0; i < site->n_projects; i++)
		if (is_member(site->projects[i], name))
			return RAMA_SERVE_ROLE_project;
	return RAMA_SERVE_ROLE_user;
}

int rama_serve_viewer_init(struct rama_serve_viewer *v, const struct rama_serve_options *site,
			   const char *name, bool master)
{
	gid_t gid;
	int rc;

	*v = (struct rama_serve_viewer){ .role = site->open ? RAMA_SERVE_ROLE_public
							    : RAMA_SERVE_ROLE_nobody };
	if (name == NULL || *name == '\0' || strlen(name) >= sizeof(v->name))
		return 0;
	snprintf(v->name, sizeof(v->name), "%s", name);
	v->role = master ? RAMA_SERVE_ROLE_staff : role_of(site, v->name);
	rc = add_user(v, name);
	for (size_t i = 0; rc == 0 && v->role == RAMA_SERVE_ROLE_project && i < site->n_projects;
	     i++)
		if (is_member(site->projects[i], v->name))
			rc = each_member(site->projects[i], take_member, v, &gid);
	return rc;
}

void rama_serve_viewer_fini(struct rama_serve_viewer *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->user[i]);
	free(v->user);
	*v = (struct rama_serve_viewer){ 0 };
}

/* ---- what it sees ---------------------------------------------------------------------------- */

struct rama_query_seen rama_serve_may_sums(const struct rama_serve_viewer *v)
{
	const struct rama_serve_role_info *r = &rama_serve_role_info[v->role];
	struct rama_query_seen seen = { .all = r->all };

	if (!r->all && r->own) {
		seen.user = (const char *const *)v->user;
		seen.n = v->n;
	}
	return seen;
}

bool rama_serve_may_see(const struct rama_serve_viewer *v, const char *owner)
{
	struct rama_query_seen seen = rama_serve_may_sums(v);

	for (size_t i = 0; i < seen.n; i++)
		if (strcmp(seen.user[i], owner) == 0)
			return true;
	return seen.all;
}

int rama_serve_may_job(const struct rama_serve_viewer *v, struct rama_store *s, int64_t job,
		       struct rama_err *e)
{
	char owner[1024] = "";
	int rc = rama_query_job_owner(s, job, owner, sizeof(owner), e);

	return rc <= 0 ? rc : rama_serve_may_see(v, owner);
}

int rama_serve_may_list(const struct rama_serve_viewer *v, struct rama_query_jobs *q,
			struct rama_err *e)
{
	struct rama_query_seen seen = rama_serve_may_sums(v);

	return seen.all ? 0 : rama_query_jobs_users(q, seen.user, seen.n, e);
}
