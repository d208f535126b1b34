/* SPDX-License-Identifier: BSD-3-Clause */
/* left.c: spools that nobody looks after any more: of `iorama run --live` whose store was
 * away, SPOOL.run/JOB. An agent takes them over, each to where it was meant to go, and removes
 * them when all of it is there. Two locks make sure that a spool has one owner: that of the
 * spool itself, and that of the file `run` in it, which `iorama run` holds as long as it may
 * start an agent. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "agent/loop.h"

#define PATIENCE 10000 /* ms that --drain waits for a sink that cannot be reached */
#define OTHERS 40000   /* ms that it waits for others who have a spool */
#define STEP 20000     /* us between two looks of it */

/* a directory of ours alone, and no link */
static int open_own(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 022) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool is_part(const char *name)
{
	size_t n = strlen(name);

	return n > 6 && strcmp(name + n - 6, ".spool") == 0;
}

/* bytes of what could wait in it; 0: one that is just being made has nothing yet */
static uint64_t size_of(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	uint64_t bytes = 0;
	struct stat st;

	while (d != NULL && (entry = readdir(d)) != NULL)
		if (is_part(entry->d_name) &&
		    fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (uint64_t)st.st_size;
	if (d != NULL)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return bytes;
}

int rama_agent_run_lock(const char *spool)
{
	char path[PATH_MAX + 8];
	int fd;

	snprintf(path, sizeof(path), "%s/" RAMA_AGENT_RUN_FILE, spool);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* ---- one of them ----------------------------------------------------------------------------- */

static bool is_taken(const struct rama_agent_left *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->one[i].path, path) == 0)
			return true;
	return false;
}

/* Those that somebody else has are his. */
static void take(struct rama_agent_left *l, const char *path)
{
	struct rama_agent_post_options o = { .spool = path,
					     .limit = l->o->limit,
					     .sink = l->o->sink,
					     .tell = l->o->tell,
					     .ctx = l->o->ctx };
	struct rama_err e = { 0 };
	struct rama_agent_post *post;
	int run = rama_agent_run_lock(path);
	char line[PATH_MAX + 64];

	if (run < 0) {
		l->others++;
		return;
	}
	if (rama_agent_post_open_left(&post, &o, l->instead, &e) != 0) {
		l->others++;
		close(run);
		return;
	}
	snprintf(line, sizeof(line), "%s: taken over", path);
	l->o->tell(l->o->ctx, line);
	l->one[l->n].post = post;
	l->one[l->n].run = run;
	snprintf(l->one[l->n++].path, PATH_MAX, "%s", path);
}

static void let_go(struct rama_agent_left *l, size_t i)
{
	close(l->one[i].run);
	l->one[i] = l->one[--l->n];
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* In the order of their names, from the one after the last that was taken on: where one waits
 * for its sink, others get their turn. */
static bool next_of(struct rama_agent_left *l, const char *folder, char path[PATH_MAX])
{
	int at = open_own(AT_FDCWD, folder);
	int copy = at >= 0 ? fcntl(at, F_DUPFD_CLOEXEC, 0) : -1;
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
	char best[256] = "";
	struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		uint64_t bytes;
		int dir;

		if (entry->d_name[0] == '.' || strcmp(entry->d_name, l->last) <= 0 ||
		    (best[0] != '\0' && strcmp(entry->d_name, best) >= 0))
			continue;
		dir = open_own(at, entry->d_name);
		bytes = dir >= 0 ? size_of(dir) : 0;
		if (bytes > 0 && bytes <= l->most)
			snprintf(best, sizeof(best), "%s", entry->d_name);
		if (dir >= 0)
			close(dir);
	}
	if (d != NULL)
		closedir(d);
	if (at >= 0)
		close(at);
	snprintf(l->last, sizeof(l->last), "%s", best);
	return best[0] != '\0' && snprintf(path, PATH_MAX, "%s/%s", folder, best) < PATH_MAX;
}

void rama_agent_left_look(struct rama_agent_left *l, uint64_t most)
{
	char folder[PATH_MAX], path[PATH_MAX];

	l->others = 0;
	l->most = most;

	for (size_t i = l->n; i-- > 0;)
		if (rama_agent_post_failing(l->one[i].post) && l->n == RAMA_AGENT_LEFT) {
			rama_agent_post_close(l->one[i].post, 0);
			let_go(l, i);
		}
	if (snprintf(folder, sizeof(folder), "%s.run", l->o->spool) >= (int)sizeof(folder))
		return;
	for (unsigned tries = 0; l->n < RAMA_AGENT_LEFT && tries < 1024; tries++) {
		if (!next_of(l, folder, path))
			return;
		if (!is_taken(l, path))
			take(l, path);
	}
}

void rama_agent_left_second(struct rama_agent_left *l)
{
	for (size_t i = l->n; i-- > 0;)
		if (rama_agent_post_remove(l->one[i].post))
			let_go(l, i);
}

void rama_agent_left_close(struct rama_agent_left *l)
{
	rama_agent_left_second(l);
	while (l->n > 0) {
		rama_agent_post_close(l->one[l->n - 1].post, 0);
		let_go(l, l->n - 1);
	}
}

/* ---- iorama agent --drain -------------------------------------------------------------------- */

struct drain {
	struct rama_agent_left left;
	/* of the spool itself; NULL: there is none, or all of it is there */
	struct rama_agent_post *own;
	int own_rc;	      /* what became of opening that; RAMA_EBUSY: another process has it */
	int64_t began, since; /* ms; since when nothing can be reached */
	bool told;
	char why[600]; /* the last line about that */
	const struct rama_agent_options *o;
};

static void remember(void *ctx, const char *line)
{
	struct drain *d = ctx;

	snprintf(d->why, sizeof(d->why), "%s", line);
	d->o->tell(d->o->ctx, line);
}

/* The spool of an agent stays where it is, one of a run goes when it is empty. */
static void open_own_spool(struct drain *d, struct rama_err *e)
{
	const struct rama_agent_options *o = d->o;
	struct rama_agent_post_options po = {
		.spool = o->spool, .limit = o->limit, .sink = o->sink, .tell = remember, .ctx = d
	};
	int fd = open_own(AT_FDCWD, o->spool);

	if (fd >= 0 && size_of(fd) > 0)
		d->own_rc = rama_agent_post_open_left(&d->own, &po, d->left.instead, e);
	else
		d->own_rc = 0;
	if (fd >= 0)
		close(fd);
}

static uint64_t waiting(struct drain *d)
{
	struct rama_agent_post_state st;
	uint64_t n = 0;

	if (d->own != NULL) {
		rama_agent_post_state(d->own, &st);
		n += st.spool.messages;
	}
	for (size_t i = 0; i < d->left.n; i++) {
		rama_agent_post_state(d->left.one[i].post, &st);
		n += st.spool.messages;
	}
	return n;
}

static bool all_failing(struct drain *d)
{
	bool all = d->own == NULL || rama_agent_post_failing(d->own);

	for (size_t i = 0; i < d->left.n; i++)
		all = all && rama_agent_post_failing(d->left.one[i].post);
	return all;
}

/* true: it is time to give up */
static bool is_hopeless(struct drain *d)
{
	int64_t now = rama_now_ms();

	if (!all_failing(d) || (d->own == NULL && d->left.n == 0))
		d->since = 0;
	else if (d->since == 0)
		d->since = now;
	return d->since != 0 && now - d->since > PATIENCE;
}

/* Another process has some of them: it may bring them itself, or give up soon. */
static bool waits_for_others(struct drain *d)
{
	if ((d->left.others == 0 && d->own_rc != RAMA_EBUSY) || rama_now_ms() - d->began > OTHERS)
		return false;
	if (!d->told)
		d->o->tell(d->o->ctx, "another process uses a spool still; waiting for it");
	d->told = true;
	return true;
}

static void step(struct drain *d, struct rama_err *e)
{
	const struct timespec t = { .tv_nsec = STEP * 1000L };

	if (d->own_rc == RAMA_EBUSY)
		open_own_spool(d, e);
	if (d->own != NULL && rama_agent_post_idle(d->own)) {
		rama_agent_post_close(d->own, 0);
		d->own = NULL;
	}
	rama_agent_left_second(&d->left);
	if (d->left.n < RAMA_AGENT_LEFT)
		rama_agent_left_look(&d->left, UINT64_MAX);
	if (d->own != NULL || d->left.n > 0 || d->left.others > 0 || d->own_rc == RAMA_EBUSY)
		nanosleep(&t, NULL);
}

int rama_agent_left_drain(const struct rama_agent_options *o, bool instead, struct rama_err *e)
{
	struct drain d = { .o = o, .began = rama_now_ms() };
	struct rama_agent_options mine = *o;
	uint64_t left;

	mine.tell = remember;
	mine.ctx = &d;
	d.left = (struct rama_agent_left){ .o = &mine, .instead = instead };
	open_own_spool(&d, e);
	do
		step(&d, e);
	while ((d.own != NULL || d.left.n > 0 || waits_for_others(&d)) && !is_hopeless(&d));
	left = waiting(&d);
	if (d.own != NULL)
		rama_agent_post_close(d.own, 0);
	rama_agent_left_close(&d.left);
	if (left == 0 && d.left.others > 0 && d.own_rc == 0)
		return rama_err_set(e, RAMA_EIO, "%s.run: another process uses spools there",
				    o->spool);
	if (left > 0)
		return rama_err_set(e, RAMA_EIO, "%llu messages wait in %s and %s.run: %.300s",
				    (unsigned long long)left, o->spool, o->spool, d.why);
	return d.own_rc;
}
