/* SPDX-License-Identifier: BSD-3-Clause */
#include "index/watch.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/now.h"
#include "base/map.h"

/* seconds without a change after which a file that nobody closed before us is complete */
#define SETTLE 2.0
#define RESCAN 30.0 /* seconds between two lists, where the kernel does not tell */
#define RETRY 1.0   /* seconds between two looks for a tree that has gone */
#define ASKED (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF)

struct root {
	char *path;
	int wd;	   /* -1: it is not there */
	bool poll; /* the kernel does not tell what other machines do to it */
};

struct waiting {
	char *path;
	double due; /* monotonic seconds */
};

struct rama_index_watch {
	int fd;
	struct rama_map by_wd; /* -> place in dirs */
	char **dirs;
	size_t n_dirs, room_dirs;
	struct root *roots;
	size_t n_roots, room_roots;
	struct waiting *wait; /* files that may not be complete */
	size_t n_wait, room_wait;
	const char **ready; /* given to the caller */
	size_t n_ready, room_ready;
	bool polling, again;
	double rescan, retry; /* when */
	void (*tell)(void *ctx, const char *path, const char *line);
	void *ctx;
};

static bool is_log(const char *name)
{
	size_t n = strlen(name), m = strlen(".darshan");

	return n > m && strcmp(name + n - m, ".darshan") == 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* path is taken over */
static int wait_for(struct rama_index_watch *w, char *path, double due, struct rama_err *e)
{
	if (path == NULL || !RAMA_GROW(w->wait, w->room_wait, w->n_wait + 1)) {
		free(path);
		return rama_err_no_memory(e);
	}
	w->wait[w->n_wait++] = (struct waiting){ path, due };
	return 0;
}

/* seconds until it will have been still long enough; 0: it is */
static double unsettled(const char *path)
{
	struct timespec now;
	struct stat st;
	double age;

	if (stat(path, &st) != 0)
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	age = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec -
	      ((double)st.st_mtim.tv_sec + 1e-9 * (double)st.st_mtim.tv_nsec);
	return age >= 0 && age < SETTLE ? SETTLE - age : 0;
}

bool rama_index_watch_defer(struct rama_index_watch *w, const char *path)
{
	double left = unsettled(path);

	return left > 0 && wait_for(w, strdup(path), rama_now() + left, NULL) == 0;
}

static int make_ready(struct rama_index_watch *w, char *path, struct rama_err *e)
{
	if (path == NULL || !RAMA_GROW(w->ready, w->room_ready, w->n_ready + 1)) {
		free(path);
		return rama_err_no_memory(e);
	}
	w->ready[w->n_ready++] = path;
	return 0;
}

/* those whose time has come; `next`: when the next one is due */
static int settle(struct rama_index_watch *w, double *next, struct rama_err *e)
{
	double t = rama_now();
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < w->n_wait; i++) {
		struct waiting x = w->wait[i];
		double left = x.due <= t ? unsettled(x.path) : x.due - t;

		if (left > 0 || rc != 0) {
			x.due = t + left;
			*next = x.due < *next ? x.due : *next;
			w->wait[kept++] = x;
		} else {
			rc = make_ready(w, x.path, e);
		}
	}
	w->n_wait = kept;
	return rc;
}

static void forget_ready(struct rama_index_watch *w)
{
	for (size_t i = 0; i < w->n_ready; i++)
		free((char *)w->ready[i]);
	w->n_ready = 0;
}

/* ---- directories ----------------------------------------------------------------------------- */

static char *join(const char *dir, const char *name)
{
	size_t n = strlen(dir) + strlen(name) + 2;
	char *path = malloc(n);

	if (path != NULL)
		snprintf(path, n, "%s/%s", dir, name);
	return path;
}

/* Watches cannot be had: the trees are listed now and then instead. */
static void give_up(struct rama_index_watch *w, const char *path, int why)
{
	char line[160];

	if (!w->polling) {
		snprintf(line, sizeof(line),
			 "cannot be watched (%s): listed every %d seconds instead",
			 why == ENOSPC ? "fs.inotify.max_user_watches is used up" : strerror(why),
			 (int)RESCAN);
		w->tell(w->ctx, path, line);
		w->rescan = rama_now() + RESCAN;
	}
	w->polling = true;
}

static int watch_dir(struct rama_index_watch *w, const char *path, int *wd, struct rama_err *e)
{
	char *copy;
	uint64_t *at;
	bool fresh = true;

	*wd = inotify_add_watch(w->fd, path, ASKED | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK);
	if (*wd < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			give_up(w, path, errno);
		return 0;
	}
	copy = strdup(path);
	at = copy != NULL ? rama_map_put(&w->by_wd, (uint64_t)*wd, &fresh) : NULL;
	if (at != NULL && !fresh) { /* it was moved */
		free(w->dirs[*at]);
		w->dirs[*at] = copy;
		return 0;
	}
	if (at == NULL || !RAMA_GROW(w->dirs, w->room_dirs, w->n_dirs + 1)) {
		free(copy);
		return rama_err_no_memory(e);
	}
	w->dirs[w->n_dirs] = copy;
	*at = w->n_dirs++;
	return 0;
}

/* Watches a directory and all below it. Each is watched before it is listed, so that what comes
 * in between is told. list: logs that are there wait until they are still. */
static int watch_tree(struct rama_index_watch *w, const char *top, bool list, int *top_wd,
		      struct rama_err *e)
{
	char *const names[] = { (char *)top, NULL };
	FTS *t = fts_open(names, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *f;
	int rc = 0, wd;

	*top_wd = -1;
	if (t == NULL)
		return rama_err_no_memory(e);
	while (rc == 0 && (f = fts_read(t)) != NULL) {
		if (f->fts_info == FTS_D) {
			rc = watch_dir(w, f->fts_path, &wd, e);
			if (f->fts_level == FTS_ROOTLEVEL)
				*top_wd = wd;
		} else if (list && f->fts_info == FTS_F && is_log(f->fts_name)) {
			rc = wait_for(w, strdup(f->fts_path), rama_now(), e);
		}
	}
	fts_close(t);
	return rc;
}

/* what other machines do to these, the kernel does not tell */
static bool is_remote(const char *path)
{
	static const uint32_t kinds[] = { 0x6969 /* NFS */,	 0x0bd00bd0 /* Lustre */,
					  0x47504653 /* GPFS */, 0xff534d42 /* CIFS */,
					  0xfe534d42 /* SMB2 */, 0x19830326 /* BeeGFS */,
					  0x00c36400 /* Ceph */, 0x65735546 /* FUSE */ };
	struct statfs fs;

	if (statfs(path, &fs) != 0)
		return false;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if ((uint32_t)fs.f_type == kinds[i])
			return true;
	return false;
}

int rama_index_watch_add(struct rama_index_watch *w, const char *root, struct rama_err *e)
{
	char *copy = strdup(root);

	if (copy == NULL || !RAMA_GROW(w->roots, w->room_roots, w->n_roots + 1)) {
		free(copy);
		return rama_err_no_memory(e);
	}
	w->roots[w->n_roots] = (struct root){ copy, -1, is_remote(root) };
	if (w->roots[w->n_roots].poll && !w->polling) {
		w->polling = true;
		w->rescan = rama_now() + RESCAN;
	}
	return watch_tree(w, root, false, &w->roots[w->n_roots++].wd, e);
}

/* a tree that had gone and is back is watched again, and listed */
static int look_for_roots(struct rama_index_watch *w, struct rama_err *e)
{
	int rc = 0;

	w->retry = 0;
	for (size_t i = 0; rc == 0 && i < w->n_roots; i++) {
		struct root *r = &w->roots[i];

		if (r->wd >= 0)
			continue;
		rc = watch_tree(w, r->path, true, &r->wd, e);
		if (r->wd < 0)
			w->retry = rama_now() + RETRY;
	}
	return rc;
}

/* ---- what the kernel tells ------------------------------------------------------------------- */

static void lost_watch(struct rama_index_watch *w, int wd)
{
	for (size_t i = 0; i < w->n_roots; i++)
		if (w->roots[i].wd == wd) {
			w->roots[i].wd = -1;
			w->retry = rama_now() + RETRY;
		}
}

static int heard(struct rama_index_watch *w, const struct inotify_event *ev, struct rama_err *e)
{
	const uint64_t *at = rama_map_get(&w->by_wd, (uint64_t)ev->wd);
	char *path;
	int rc = 0, wd;

	if (ev->mask & IN_Q_OVERFLOW)
		w->again = true;
	if (ev->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT))
		lost_watch(w, ev->wd);
	if (at == NULL || ev->len == 0)
		return 0;
	if (!(ev->mask & IN_ISDIR) && !is_log(ev->name))
		return 0;
	path = join(w->dirs[*at], ev->name);
	if (path == NULL)
		return rama_err_no_memory(e);
	if (ev->mask & IN_ISDIR) {
		if (ev->mask & (IN_CREATE | IN_MOVED_TO))
			rc = watch_tree(w, path, true, &wd, e);
		free(path);
		return rc;
	}
	if (ev->mask & (IN_CLOSE_WRITE | IN_MOVED_TO))
		return make_ready(w, path, e);
	/* created: closed later, or a second name of a file that is complete */
	return wait_for(w, path, rama_now() + SETTLE, e);
}

static int hear(struct rama_index_watch *w, struct rama_err *e)
{
	char buf[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;
	int rc = 0;

	while (rc == 0 && (n = read(w->fd, buf, sizeof(buf))) > 0) {
		for (char *p = buf; rc == 0 && p < buf + n;) {
			const struct inotify_event *ev = (const struct inotify_event *)p;

			rc = heard(w, ev, e);
			p += sizeof(*ev) + ev->len;
		}
	}
	return rc;
}

static int until(double when, int wait_ms)
{
	double left = (when - rama_now()) * 1000;
	int ms = left <= 0 ? 0 : left > 1e6 ? 1000000 : (int)left + 1;

	return wait_ms < 0 || ms < wait_ms ? ms : wait_ms;
}

int rama_index_watch_wait(struct rama_index_watch *w, int wait_ms, const sigset_t *let_in,
			  const char *const **paths, size_t *n, bool *again, struct rama_err *e)
{
	struct pollfd p = { .fd = w->fd, .events = POLLIN };
	double next = 1e300;
	int rc;

	forget_ready(w);
	rc = settle(w, &next, e);
	if (w->retry > 0 && w->retry < next)
		next = w->retry;
	if (w->polling && w->rescan < next)
		next = w->rescan;
	if (rc == 0 && w->n_ready == 0 && !w->again) {
		int ms = next < 1e300 ? until(next, wait_ms) : wait_ms;
		struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

		if (ppoll(&p, 1, ms < 0 ? NULL : &t, let_in) < 0 && errno != EINTR)
			rc = rama_err_set(e, RAMA_EIO, "cannot wait: %s", strerror(errno));
	}
	if (rc == 0)
		rc = hear(w, e);
	if (rc == 0 && w->retry > 0 && w->retry <= rama_now())
		rc = look_for_roots(w, e);
	if (rc == 0)
		rc = settle(w, &next, e);
	if (w->polling && w->rescan <= rama_now()) {
		w->again = true;
		w->rescan = rama_now() + RESCAN;
	}
	*again = w->again;
	w->again = false;
	*paths = w->ready;
	*n = w->n_ready;
	return rc;
}

int rama_index_watch_open(struct rama_index_watch **made,
			  void (*tell)(void *ctx, const char *path, const char *line), void *ctx,
			  struct rama_err *e)
{
	struct rama_index_watch *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return rama_err_no_memory(e);
	w->tell = tell;
	w->ctx = ctx;
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0) {
		free(w);
		return rama_err_set(e, RAMA_EIO, "directories cannot be watched: %s",
				    strerror(errno));
	}
	*made = w;
	return 0;
}

void rama_index_watch_close(struct rama_index_watch *w)
{
	if (w == NULL)
		return;
	close(w->fd);
	forget_ready(w);
	for (size_t i = 0; i < w->n_dirs; i++)
		free(w->dirs[i]);
	for (size_t i = 0; i < w->n_roots; i++)
		free(w->roots[i].path);
	for (size_t i = 0; i < w->n_wait; i++)
		free(w->wait[i].path);
	free(w->dirs);
	free(w->roots);
	free(w->wait);
	free(w->ready);
	rama_map_fini(&w->by_wd);
	free(w);
}
