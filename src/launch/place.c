/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config/value.h"
#include "segment/place.h"

#define TRIES 100

static int write_new(const char *dir, const char *name, const void *bytes, size_t n)
{
	char path[PATH_MAX + 32];
	ssize_t done = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		done = write(fd, bytes, n);
		if (done >= 0 && (size_t)done < n)
			errno = ENOSPC;
		close(fd);
	}
	return done >= 0 && (size_t)done == n ? 0 : -1;
}

/* All its bytes are written, so that processes never need room for it. */
static int write_tally(const struct rama_launch_place *p)
{
	struct rama_seg_tally *t = calloc(1, RAMA_SEG_TALLY_SIZE);
	struct stat st;
	int rc;

	if (t == NULL)
		return -1;
	t->magic = RAMA_SEG_TALLY_MAGIC;
	t->version = 1;
	t->pids = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
	for (size_t i = 0; i < p->spare.n; i++)
		memcpy(t->spare[i], p->spare.dir[i], sizeof(t->spare[i]));
	rc = write_new(p->dir, RAMA_SEG_TALLY, t, RAMA_SEG_TALLY_SIZE);
	free(t);
	return rc;
}

static void remove_dir(const char *dir)
{
	static const struct rama_gather_list none = { 0 };

	rama_gather_place_remove(dir, &none, NULL, false);
}

void rama_launch_place_unlock(struct rama_launch_place *p)
{
	for (unsigned i = 0; i < RAMA_SEG_SPARES; i++) {
		if (p->spare_lock[i] >= 0)
			close(p->spare_lock[i]);
		p->spare_lock[i] = -1;
	}
	if (p->lock >= 0)
		close(p->lock);
	p->lock = -1;
}

/* One more directory of the job in this base. What cannot be had is done without. */
static void add_spare(struct rama_launch_place *p, const char *base)
{
	char root[PATH_MAX / 2], why[256], *dir = p->spare.dir[p->spare.n];
	struct rama_err e = { 0 };
	size_t room = sizeof(p->spare.dir[0]);

	if (p->spare.n == RAMA_SEG_SPARES || rama_gather_root_make(base, root, why, &e) != 0 ||
	    snprintf(dir, room, "%s/%s", root, p->job) >= (int)room || mkdir(dir, 0700) != 0)
		return;
	p->spare_lock[p->spare.n] = rama_gather_place_lock(dir);
	if (p->spare_lock[p->spare.n] >= 0 &&
	    write_new(dir, RAMA_GATHER_PLACE_MAIN, p->dir, strlen(p->dir)) == 0) {
		p->spare.n++;
		return;
	}
	if (p->spare_lock[p->spare.n] >= 0)
		close(p->spare_lock[p->spare.n]);
	p->spare_lock[p->spare.n] = -1;
	remove_dir(dir);
}

/* The directory of the job in p->root; from `next` on there are bases for spare ones. */
static int make_in(struct rama_launch_place *p, unsigned next, struct rama_err *e)
{
	const char *base;

	for (unsigned i = 0; i < TRIES; i++) {
		int n = snprintf(p->dir, sizeof(p->dir), "%s/run-%ld-%llx", p->root, (long)getpid(),
				 (unsigned long long)time(NULL) + i);

		if (n < 0 || (size_t)n >= sizeof(p->dir))
			return rama_err_set(e, RAMA_EIO, "%s: the path is too long", p->root);
		if (mkdir(p->dir, 0700) != 0) {
			if (errno == EEXIST)
				continue;
			break;
		}
		p->job = strrchr(p->dir, '/') + 1;
		p->lock = rama_gather_place_lock(p->dir);
		while (p->lock >= 0 && next > 0 &&
		       (base = rama_seg_place_base(next, getenv("TMPDIR"))) != NULL) {
			add_spare(p, base);
			next++;
		}
		if (p->lock >= 0 && write_tally(p) == 0)
			return 0;
		rama_err_set(e, RAMA_EIO, "%s: %s", p->dir, strerror(errno));
		for (size_t k = 0; k < p->spare.n; k++)
			remove_dir(p->spare.dir[k]);
		p->spare.n = 0;
		rama_launch_place_unlock(p);
		remove_dir(p->dir);
		p->job = NULL;
		return e->code;
	}
	return rama_err_set(e, RAMA_EIO, "%s: cannot be made: %s", p->dir, strerror(errno));
}

/* as IORAMA_DIR says; nothing goes anywhere else */
static int make_chosen(struct rama_launch_place *p, const char *chosen, struct rama_err *e)
{
	char *real = NULL;

	if (mkdir(chosen, 0700) != 0 && errno != EEXIST)
		return rama_err_set(e, RAMA_EIO, "IORAMA_DIR=%s: cannot be made: %s", chosen,
				    strerror(errno));
	if (rama_gather_place_check(chosen, e) != 0)
		return rama_err_prefix(e, "IORAMA_DIR=%s", chosen);
	real = realpath(chosen, NULL); /* the command may change its directory */
	if (real == NULL || strlen(real) >= sizeof(p->root)) {
		free(real);
		return rama_err_set(e, RAMA_EIO, "IORAMA_DIR=%s: the path is too long", chosen);
	}
	memcpy(p->root, real, strlen(real) + 1);
	free(real);
	return make_in(p, 0, e);
}

/* what a user should know: he would look elsewhere */
static void note_place(struct rama_launch_place *p, const char *base, const char *why,
		       const struct rama_err *before)
{
	if (*why != '\0')
		snprintf(p->note, sizeof(p->note), "%.1024s/iorama-%u %.200s", base,
			 (unsigned)geteuid(), why);
	else if (before->code != 0)
		snprintf(p->note, sizeof(p->note), "%.1500s", before->text);
}

int rama_launch_place_make(struct rama_launch_place *p, struct rama_err *e)
{
	const char *chosen = rama_config_value(RAMA_TAB_SET_DIR), *base;
	char why[256];
	int rc = RAMA_EIO;

	*p = (struct rama_launch_place){ .lock = -1, .spare_lock = { -1, -1 } };
	if (*chosen != '\0')
		return make_chosen(p, chosen, e);
	for (unsigned i = 0; rc != 0 && (base = rama_seg_place_base(i, getenv("TMPDIR"))) != NULL;
	     i++) {
		struct rama_err before = *e;

		*e = (struct rama_err){ 0 };
		rc = rama_gather_root_make(base, p->root, why, e);
		if (rc == 0)
			rc = make_in(p, i + 1, e);
		if (rc == 0)
			note_place(p, base, why, &before);
	}
	return rc;
}

void rama_launch_place_roots(struct rama_gather_roots *roots, const struct rama_launch_told *told)
{
	char path[PATH_MAX / 2], why[256];
	const char *base;

	for (unsigned i = 0; (base = rama_seg_place_base(i, getenv("TMPDIR"))) != NULL; i++) {
		struct rama_err e = { 0 };

		if (rama_gather_root_make(base, path, why, &e) != 0)
			rama_launch_problem(told, "agent", "%s", e.text);
		else if (why[0] != '\0')
			rama_launch_problem(told, "agent", "%s/iorama-%u: %s; segments are in %s",
					    base, (unsigned)geteuid(), why, path);
	}
	rama_gather_roots_find(roots, (uint32_t)geteuid());
}
