/* SPDX-License-Identifier: BSD-3-Clause */
/* users.c: whose jobs they are. An agent of one user has one way out; one of the system
 * has one for each user (a spool and a store of his own, written with his rights), unless all go
 * to one sink that was chosen. */
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "agent/loop.h"

#define IDLE_MOST 60000000000ll /* ns without a job, after which a user's way out is closed */
#define CLOSE_MS 2000

/* ---- rights ---------------------------------------------------------------------------------- */

void rama_agent_as(const struct rama_agent *a, uint32_t uid)
{
	if (a->o.system)
		setfsuid(uid);
}

void rama_agent_as_self(const struct rama_agent *a)
{
	if (a->o.system)
		setfsuid(geteuid());
}

/* ---- users ----------------------------------------------------------------------------------- */

static void describe(struct rama_agent_user *u)
{
	struct passwd pw, *found = NULL;
	char *buf = malloc(16384);

	if (buf != NULL && getpwuid_r(u->uid, &pw, buf, 16384, &found) == 0 && found != NULL) {
		snprintf(u->name, sizeof(u->name), "%s", pw.pw_name);
		u->gid = pw.pw_gid;
	} else {
		snprintf(u->name, sizeof(u->name), "%u", (unsigned)u->uid);
		u->gid = u->uid;
	}
	free(buf);
}

/* a directory of the user's own below ours, closed to others */
static int make_home(struct rama_agent *a, struct rama_agent_user *u, char *to, size_t room,
		     struct rama_err *e)
{
	struct stat st;

	if (snprintf(to, room, "%s/%u", a->o.home, (unsigned)u->uid) >= (int)room)
		return rama_err_set(e, RAMA_EIO, "%s: the path is too long", a->o.home);
	if (mkdir(to, 0700) == 0 && chown(to, u->uid, u->gid) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", to, strerror(errno));
	if (lstat(to, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != u->uid ||
	    (st.st_mode & 022) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: is no directory of user %u alone", to,
				    (unsigned)u->uid);
	return 0;
}

static int open_post(struct rama_agent *a, struct rama_agent_user *u, struct rama_err *e)
{
	char home[PATH_MAX], spool[PATH_MAX + 32], sink[PATH_MAX + 32];
	struct rama_agent_post_options o = { .spool = spool,
					     .limit = a->o.limit,
					     .sink = sink,
					     .writers = a->writers,
					     .uid = u->uid,
					     .gid = u->gid,
					     .tell = a->o.tell,
					     .ctx = a->o.ctx };
	int rc = make_home(a, u, home, sizeof(home), e);

	if (rc != 0)
		return rc;
	snprintf(u->logs, sizeof(u->logs), "%.*s/logs", PATH_MAX - 8, home);
	rama_agent_as(a, u->uid);
	mkdir(u->logs, 0700);
	rama_agent_as_self(a);
	if (a->post != NULL)
		return 0;
	snprintf(spool, sizeof(spool), "%s/%u", a->o.spool, (unsigned)u->uid);
	snprintf(sink, sizeof(sink), "store:%s/store.db", home);
	u->own_post = true;
	return rama_agent_post_open(&u->post, &o, e);
}

struct rama_agent_user *rama_agent_user(struct rama_agent *a, uint32_t uid, struct rama_err *e)
{
	struct rama_agent_user *u;

	for (size_t i = 0; i < a->n_users; i++)
		if (a->user[i]->uid == uid)
			return a->user[i];
	u = RAMA_GROW(a->user, a->room_users, a->n_users + 1) ? calloc(1, sizeof(*u)) : NULL;
	if (u == NULL) {
		rama_err_no_memory(e);
		return NULL;
	}
	u->uid = uid;
	u->used = a->drain.mono;
	u->post = a->post;
	describe(u);
	if (!a->o.system) {
		snprintf(u->logs, sizeof(u->logs), "%s", a->o.logs != NULL ? a->o.logs : "");
	} else if (open_post(a, u, e) != 0) {
		free(u);
		return NULL;
	}
	a->user[a->n_users++] = u;
	return u;
}

static bool has_messages(struct rama_agent *a, const char *name)
{
	struct rama_agent_spool_state st = { 0 };
	struct rama_err e = { 0 };
	struct rama_agent_spool *s;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", a->o.spool, name) >= (int)sizeof(path) ||
	    rama_agent_spool_open(&s, path, a->o.limit, NULL, NULL, &e) != 0)
		return false;
	rama_agent_spool_state(s, &st);
	rama_agent_spool_close(s);
	return st.messages > 0;
}

/* An agent before us may have ended with messages of users who have no job now. */
void rama_agent_users_left(struct rama_agent *a)
{
	DIR *d = opendir(a->o.spool);
	struct dirent *entry;
	struct rama_err e = { 0 };

	while (d != NULL && (entry = readdir(d)) != NULL) {
		char *end;
		unsigned long long uid = strtoull(entry->d_name, &end, 10);

		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && *end == '\0' &&
		    uid < UINT32_MAX && has_messages(a, entry->d_name) &&
		    rama_agent_user(a, (uint32_t)uid, &e) == NULL)
			rama_agent_say(a, "%s", e.text);
	}
	if (d != NULL)
		closedir(d);
}

/* what it did stays in the sums */
static void close_user(struct rama_agent *a, size_t i, unsigned wait_ms)
{
	struct rama_agent_user *u = a->user[i];
	struct rama_agent_post_state st;

	if (u->own_post) {
		rama_agent_post_state(u->post, &st);
		a->past_lost += st.lost;
		a->past_stored += st.sink.events;
		a->past_repeated += st.sink.repeated;
		a->past_refused += st.sink.refused_events;
		rama_agent_post_close(u->post, wait_ms);
	}
	free(u);
	a->user[i] = a->user[--a->n_users];
}

void rama_agent_users_second(struct rama_agent *a)
{
	/* an agent that was killed may have left some to one that finds no process any more */
	if (a->post != NULL)
		rama_agent_post_tell_losses(a->post);
	for (size_t i = 0; i < a->n_jobs; i++)
		for (size_t k = 0; k < a->n_users; k++)
			if (a->user[k]->uid == a->job[i]->uid)
				a->user[k]->used = a->drain.mono;
	for (size_t i = a->n_users; i-- > 0;) {
		struct rama_agent_user *u = a->user[i];

		if (u->post != NULL)
			rama_agent_post_tell_losses(u->post);
		if (u->own_post && a->drain.mono - u->used > IDLE_MOST &&
		    rama_agent_post_idle(u->post) && a->working == 0)
			close_user(a, i, CLOSE_MS);
	}
}

void rama_agent_users_close(struct rama_agent *a, unsigned wait_ms)
{
	while (a->n_users > 0)
		close_user(a, a->n_users - 1, wait_ms);
	free(a->user);
	a->user = NULL;
}
