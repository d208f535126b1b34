/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/run/take.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "gather/pack.h"
#include "launch/left/awaited.h"
#include "look/find.h"

#define NEW_MOST 64 /* so many new segments are worth a look at once; fewer after a second */
#define LOOK_MS 1000
#define PAUSE_MS 20 /* between two looks at least */
#define DIRS (1 + RAMA_SEG_SPARES)

struct rama_launch_take {
	pthread_t thread;
	int stop, notify; /* descriptors */
	const struct rama_launch_place *place;
	bool live;
	const char *dir[DIRS];
	size_t n_dirs;
	struct rama_gather_pack pack;
	bool full; /* there is no room for the pack: nothing more is taken in */
	struct rama_seg seg;
	struct rama_seg_lane lane;
	struct rama_launch_taken taken;
	size_t left; /* segments that stayed at the last look */
};

/* ---- one segment ----------------------------------------------------------------------------- */

/* dead, but nobody has asked how it ended */
static bool is_zombie(long pid)
{
	char path[64], line[512], *p;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[n > 0 ? n : 0] = '\0';
	p = strrchr(line, ')');
	return p != NULL && p[1] == ' ' && p[2] == 'Z';
}

/* HOST.PID.IMAGE.seg: most belong to processes that run, which needs no look into the file */
static bool seems_alive(const char *name)
{
	const char *end = strrchr(name, '.'), *p = end;
	long pid = 0;

	while (p != NULL && p > name && *--p != '.')
		continue;
	end = p;
	while (end != NULL && p > name && *--p != '.')
		continue;
	if (end == NULL || *p != '.' || p == end)
		return false;
	pid = strtol(p + 1, NULL, 10);
	return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM) && !is_zombie(pid);
}

/* live events of it, and whether its reader is done with it */
static bool is_read(struct rama_launch_take *t, bool awaited, struct rama_launch_taken *sum)
{
	struct rama_err e;

	awaited = awaited || rama_launch_awaited_is(&t->seg);
	for (uint32_t i = 0; i < rama_seg_lanes(&t->seg); i++) {
		if (rama_seg_lane_get(&t->seg, i, &t->lane, &e) != 0)
			return false;
		sum->made += t->lane.made;
		sum->dropped += t->lane.dropped;
		if (t->lane.made > t->seg.control.taken[i] && awaited)
			return false;
	}
	return !awaited || t->seg.control.read != 0;
}

static bool open_pack(struct rama_launch_take *t)
{
	struct rama_err e = { 0 };

	/* on a disk if there is one: memory is what is short */
	for (size_t i = t->n_dirs; t->pack.fd < 0 && i-- > 0;)
		rama_gather_pack_create(&t->pack, t->dir[i], &e);
	return t->pack.fd >= 0;
}

static int read_fd(void *ctx, uint64_t off, void *buf, size_t n, struct rama_err *e)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(*(int *)ctx, (char *)buf + done, n - done, (off_t)(off + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return rama_err_set(e, RAMA_EIO, "cannot be read");
		done += (size_t)got;
	}
	return 0;
}

/* false: it stays */
static bool take_one(struct rama_launch_take *t, int dir, const char *name, bool awaited)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct rama_launch_taken sum = { .segments = 1 };
	struct rama_err e = { 0 };
	struct rama_source src = { .read = read_fd, .ctx = &fd };
	bool ok = false;
	struct stat st;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()) {
		src.size = (uint64_t)st.st_size;
		ok = rama_seg_open(&t->seg, &src, &e) == 0 &&
		     t->seg.state.phase != RAMA_SEG_STARTING && rama_gather_gone(&t->seg) &&
		     is_read(t, awaited, &sum) && open_pack(t);
	}
	if (ok) {
		int rc = rama_gather_pack_add(&t->pack, fd, name, &e);

		t->full = t->full || rc == RAMA_EIO || rc == RAMA_EMEMORY;
		ok = rc == 0 && unlinkat(dir, name, 0) == 0;
	}
	close(fd);
	if (ok) {
		t->taken.segments++;
		t->taken.made += sum.made;
		t->taken.dropped += sum.dropped;
	}
	return ok;
}

/* ---- looks ----------------------------------------------------------------------------------- */

/* Will somebody read the live events, and what else an agent wants to know of a process? */
static bool is_awaited(const struct rama_launch_take *t)
{
	if (t->live || rama_look_agent_at(t->place->root, NULL, NULL, 0))
		return true;
	for (size_t i = 0; i < t->n_dirs; i++)
		if (rama_look_agent_at(t->dir[i], NULL, NULL, 0))
			return true;
	return false;
}

static void look_at(struct rama_launch_take *t, const char *path, bool awaited)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (d == NULL && fd >= 0)
		close(fd);
	while (d != NULL && !t->full && (entry = readdir(d)) != NULL)
		if (rama_look_find_is_segment(entry->d_name) &&
		    (seems_alive(entry->d_name) || !take_one(t, dirfd(d), entry->d_name, awaited)))
			t->left++;
	if (d != NULL)
		closedir(d);
}

static void look(struct rama_launch_take *t)
{
	bool awaited = is_awaited(t);

	t->left = 0;
	for (size_t i = 0; i < t->n_dirs; i++)
		look_at(t, t->dir[i], awaited);
}

/* how many segments are new; what the kernel had no room to tell counts as many */
static size_t read_news(int fd)
{
	char buf[8192] __attribute__((aligned(8)));
	size_t news = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const struct inotify_event *)(buf + at);

			news += e->mask & IN_Q_OVERFLOW ? NEW_MOST : 1;
			at += (ssize_t)sizeof(*e) + e->len;
		}
	return news;
}

/* Looks cost as much as there are segments that stay: with many of them there are fewer looks. */
static void *work(void *ctx)
{
	struct rama_launch_take *t = ctx;
	struct pollfd wait[2] = { { .fd = t->stop, .events = POLLIN },
				  { .fd = t->notify, .events = POLLIN } };
	int64_t looked = rama_now_ms();
	size_t news = 0;

	while (!t->full) {
		size_t enough = NEW_MOST + t->left / 4;
		int64_t since = rama_now_ms() - looked, left = LOOK_MS - since;
		int timeout = left < 0 ? 0 : (int)left;

		if (news == 0 && t->notify >= 0)
			timeout = -1;
		else if (news >= enough)
			timeout = since >= PAUSE_MS ? 0 : (int)(PAUSE_MS - since);
		if (poll(wait, news >= enough ? 1 : 2, timeout) < 0 && errno != EINTR)
			break;
		if (wait[0].revents != 0)
			break;
		if (t->notify >= 0)
			news += read_news(t->notify);
		since = rama_now_ms() - looked;
		if (since >= (news >= enough ? PAUSE_MS : LOOK_MS) && (news > 0 || t->notify < 0)) {
			news = 0;
			look(t);
			looked = rama_now_ms();
		}
	}
	return NULL;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void free_take(struct rama_launch_take *t)
{
	rama_gather_pack_close(&t->pack);
	if (t->stop >= 0)
		close(t->stop);
	if (t->notify >= 0)
		close(t->notify);
	free(t);
}

static void watch(struct rama_launch_take *t)
{
	t->notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	for (size_t i = 0; i < t->n_dirs && t->notify >= 0; i++)
		if (inotify_add_watch(t->notify, t->dir[i], IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) <
		    0) {
			close(t->notify); /* none are left: they are read each second instead */
			t->notify = -1;
		}
}

struct rama_launch_take *rama_launch_take_start(const struct rama_launch_place *place, bool live)
{
	struct rama_launch_take *t = calloc(1, sizeof(*t));
	sigset_t all, before;
	int rc;

	if (t == NULL)
		return NULL;
	t->place = place;
	t->live = live;
	t->pack.fd = t->notify = -1;
	t->dir[t->n_dirs++] = place->dir;
	for (size_t i = 0; i < place->spare.n; i++)
		t->dir[t->n_dirs++] = place->spare.dir[i];
	t->stop = eventfd(0, EFD_CLOEXEC);
	if (t->stop < 0) {
		free_take(t);
		return NULL;
	}
	watch(t);
	sigfillset(&all); /* signals are the other thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&t->thread, NULL, work, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (rc == 0)
		return t;
	free_take(t);
	return NULL;
}

void rama_launch_take_stop(struct rama_launch_take *t, struct rama_launch_taken *taken)
{
	uint64_t one = 1;
	ssize_t n;

	*taken = (struct rama_launch_taken){ 0 };
	if (t == NULL)
		return;
	n = write(t->stop, &one, sizeof(one));
	(void)n;
	pthread_join(t->thread, NULL);
	*taken = t->taken;
	free_take(t);
}
