/* SPDX-License-Identifier: BSD-3-Clause */
/* own.c: places, the way to files in them, and whose a file is. */
#include "emulate/own/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emulate/own/place.h"

/* ---- the run -------------------------------------------------------------------------------- */

int rama_emu_own_new(struct rama_emu_own **own, struct rama_emu_team *t, struct rama_err *e)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
	struct rama_emu_own *o = calloc(1, sizeof(*o));
	unsigned char bytes[RAMA_EMU_OWN_RUN] = { 0 };
	int rc = 0;

	*own = o;
	if (o == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	pthread_mutex_init(&o->lock, NULL);
	o->several_nodes = t->n_nodes > 1;
	if (t->rank == 0 && getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		rc = rama_err_set(e, RAMA_EIO, "getrandom: %s", strerror(errno));
	if (rc == 0)
		rc = rama_emu_team_bcast(t, bytes, sizeof(bytes), e);
	for (int i = 0; i < RAMA_EMU_OWN_RUN; i++)
		o->run[i] = letters[bytes[i] % (sizeof(letters) - 1)];
	return rc;
}

void rama_emu_own_overwrite(struct rama_emu_own *own)
{
	own->overwrite = true;
}

void rama_emu_own_folder_remove(struct rama_emu_own *own, const char *path)
{
	struct rama_emu_own_way w;
	const char *name;

	if (rama_emu_own_find(own, path, &name) == NULL) {
		rmdir(path);
	} else if (rama_emu_own_go(own, path, &w) == 0) {
		unlinkat(w.fd, w.last, AT_REMOVEDIR);
		rama_emu_own_back(&w);
	}
}

void rama_emu_own_rmdir(struct rama_emu_own *own, const char *path)
{
	char **more = reallocarray(own->empty, own->n_empty + 1, sizeof(*more));
	char *copy = strdup(path);

	if (more != NULL)
		own->empty = more;
	if (more != NULL && copy != NULL)
		own->empty[own->n_empty++] = copy;
	/* an empty folder stays */
	else
		free(copy);
}

void rama_emu_own_free(struct rama_emu_own *own, bool done)
{
	for (size_t i = 0; own != NULL && i < own->n; i++) {
		struct rama_emu_own_place *p = &own->places[i];

		rama_emu_own_list_tidy(own, p, done);
		rama_emu_own_list_close(p);
	}
	for (size_t i = 0; own != NULL && i < own->n_empty; i++) {
		rama_emu_own_folder_remove(own, own->empty[i]);
		free(own->empty[i]);
	}
	for (size_t i = 0; own != NULL && i < own->n; i++) {
		if (own->places[i].fd >= 0)
			close(own->places[i].fd);
		rama_map_fini(&own->places[i].entered);
		free(own->places[i].dir);
	}
	if (own != NULL) {
		pthread_mutex_destroy(&own->lock);
		free(own->places);
		free(own->empty);
	}
	free(own);
}

/* ---- places --------------------------------------------------------------------------------- */

/* the place itself is where the user says, through links too */
static int open_place(struct rama_emu_own_place *p)
{
	if (p->fd < 0)
		p->fd = open(p->dir[0] != '\0' ? p->dir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return p->fd;
}

int rama_emu_own_where(struct rama_emu_own *own, const char *dir, struct rama_err *e)
{
	struct rama_emu_own_place *p;
	size_t n = strlen(dir);
	struct stat st;
	int rc = 0;

	while (n > 1 && dir[n - 1] == '/')
		n--;
	for (size_t i = 0; i < own->n; i++)
		if (own->places[i].len == n && strncmp(own->places[i].dir, dir, n) == 0)
			return 0;
	p = reallocarray(own->places, own->n + 1, sizeof(*p));
	if (p == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	own->places = p;
	p += own->n;
	*p = (struct rama_emu_own_place){
		.dir = strndup(dir, n), .len = n, .fd = -1, .list = -1, .since = INT64_MAX
	};
	if (p->dir == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	own->n++;
	if (open_place(p) < 0) {
		int number = errno, there = stat(p->dir, &st) == 0;

		/* what is above it will be told when it is made */
		p->fresh = number == ENOENT;
		if (number == ENOENT || (number == ENOTDIR && !there))
			return 0;
		return rama_err_set(e, number == ENOTDIR ? RAMA_EMISSING : RAMA_EIO, "%s: %s", dir,
				    strerror(number));
	}
	rc = rama_emu_own_list_open(p, false, e);
	if (rc == 0 && rama_emu_own_list_read(p) != 0)
		rc = rama_err_set(e, RAMA_EMEMORY, "no memory");
	return rc;
}

/* Two names of one directory have one list, which is led once. */
static bool is_led(const struct rama_emu_own *own, const struct rama_emu_own_place *p)
{
	struct stat a, b;

	for (const struct rama_emu_own_place *q = own->places; q < p; q++)
		if (fstat(p->fd, &a) == 0 && fstat(q->fd, &b) == 0 && a.st_dev == b.st_dev &&
		    a.st_ino == b.st_ino)
			return true;
	return false;
}

int rama_emu_own_enter(struct rama_emu_own *own, bool leads, struct rama_err *e)
{
	struct rama_emu_own_id id;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < own->n; i++) {
		struct rama_emu_own_place *p = &own->places[i];

		if (open_place(p) < 0)
			return rama_err_set(e, RAMA_EIO, "%s: %s", p->dir, strerror(errno));
		if (leads && !is_led(own, p)) {
			rc = rama_emu_own_list_lead(own, p, e);
		} else {
			rama_emu_own_list_close(p);
			rc = rama_emu_own_list_open(p, true, e);
		}
		if (rc == 0 && rama_emu_own_list_read(p) != 0)
			rc = rama_err_set(e, RAMA_EMEMORY, "no memory");
		if (rc == 0 && rama_emu_own_identify(p->list, "", &id) == 0)
			p->since = id.changed;
	}
	return rc;
}

static bool leads_up(const char *name)
{
	for (const char *at = name; at != NULL; at = strchr(at, '/')) {
		at += strspn(at, "/");
		if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
			return true;
	}
	return false;
}

struct rama_emu_own_place *rama_emu_own_find(struct rama_emu_own *own, const char *path,
					     const char **name)
{
	struct rama_emu_own_place *best = NULL;

	for (size_t i = 0; i < own->n; i++) {
		struct rama_emu_own_place *p = &own->places[i];
		bool root = p->len == 1 && p->dir[0] == '/';
		bool below = p->len == 0 ? path[0] != '/'
			     : root	 ? path[0] == '/'
				    : strncmp(path, p->dir, p->len) == 0 && path[p->len] == '/';

		const char *rest = below ? path + p->len + strspn(path + p->len, "/") : "";

		if (rest[0] != '\0' && !leads_up(rest) && (best == NULL || p->len > best->len)) {
			*name = rest;
			best = p;
		}
	}
	return best;
}

/* ---- the way -------------------------------------------------------------------------------- */

/* Kernels before 5.6 have no openat2: folder by folder there. */
static int step_by_step(int from, char *name)
{
	int fd = -1;

	for (char *rest = NULL, *part = strtok_r(name, "/", &rest); part != NULL;
	     part = strtok_r(NULL, "/", &rest)) {
		int next = openat(fd >= 0 ? fd : from, part,
				  O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int number = errno;

		if (fd >= 0)
			close(fd);
		fd = next;
		if (fd < 0) {
			errno = number;
			return -1;
		}
	}
	return fd;
}

static int open_folder(int from, char *name)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, from, name, &how, sizeof(how));

	if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EINVAL))
		return fd;
	return step_by_step(from, name);
}

int rama_emu_own_go(struct rama_emu_own *own, const char *path, struct rama_emu_own_way *w)
{
	char folder[RAMA_EMU_OWN_PATH];
	const char *slash;

	*w = (struct rama_emu_own_way){ .fd = -1 };
	w->place = rama_emu_own_find(own, path, &w->name);
	if (w->place == NULL) { /* a mistake of a mode, not of the user */
		errno = EXDEV;
		return -1;
	}
	if (open_place(w->place) < 0)
		return -1;
	slash = strrchr(w->name, '/');
	w->last = slash != NULL ? slash + 1 : w->name;
	if (slash == NULL) {
		w->fd = w->place->fd;
		return 0;
	}
	if ((size_t)(slash - w->name) >= sizeof(folder)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(folder, w->name, (size_t)(slash - w->name));
	folder[slash - w->name] = '\0';
	w->fd = open_folder(w->place->fd, folder);
	return w->fd >= 0 ? 0 : -1;
}

void rama_emu_own_back(struct rama_emu_own_way *w)
{
	if (w->place != NULL && w->fd >= 0 && w->fd != w->place->fd)
		close(w->fd);
	w->fd = -1;
}

/* ---- whose it is ---------------------------------------------------------------------------- */

static int64_t nanoseconds(const struct statx_timestamp *t)
{
	return t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
}

int rama_emu_own_identify(int fd, const char *name, struct rama_emu_own_id *id)
{
	struct statx x;
	unsigned dev[2];

	/* not through the C library: who observes a replay sees what the job did, without this */
	if (syscall(SYS_statx, fd, name,
		    AT_SYMLINK_NOFOLLOW | (name[0] == '\0' ? AT_EMPTY_PATH : 0),
		    STATX_BASIC_STATS | STATX_BTIME, &x) != 0)
		return -1;
	dev[0] = x.stx_dev_major;
	dev[1] = x.stx_dev_minor;
	*id = (struct rama_emu_own_id){ .inode = x.stx_ino,
					.device = (uint64_t)dev[0] << 32 | dev[1],
					.links = x.stx_nlink,
					.changed = nanoseconds(&x.stx_mtime),
					.size = (int64_t)x.stx_size,
					.mode = x.stx_mode,
					.uid = x.stx_uid };
	if (x.stx_mask & STATX_BTIME)
		id->born = nanoseconds(&x.stx_btime);
	return 0;
}

/* Never complete, so that nobody knows when it was written to last: then it is ours if all that it
 * holds is. Zeros say nothing, but the time of its birth does. */
static bool holds_ours(const struct rama_emu_own_way *w, const struct rama_emu_own_id *id,
		       const struct rama_emu_own_line *l)
{
	int fd = openat(w->fd, w->last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct rama_emu_own_id now;
	bool empty = false, ours;

	if (fd < 0)
		return false;
	ours = rama_emu_own_identify(fd, "", &now) == 0 && now.inode == id->inode &&
	       rama_emu_own_data(fd, id->size, &empty) && (!empty || l->born != 0);
	close(fd);
	return ours;
}

/* Devices have other numbers on other hosts and after the next start of this one: that of the
 * list is 0. */
uint64_t rama_emu_own_device(const struct rama_emu_own_place *p, const struct rama_emu_own_id *id)
{
	return id->device == p->device ? 0 : id->device;
}

enum rama_emu_own_state rama_emu_own_state(struct rama_emu_own_way *w, struct rama_emu_own_id *id,
					   const struct rama_emu_own_line *l)
{
	if (rama_emu_own_identify(w->fd, w->last, id) != 0)
		return errno == ENOENT ? RAMA_EMU_OWN_NOTHING : RAMA_EMU_OWN_OTHER;
	if (l == NULL || rama_emu_own_device(w->place, id) != l->device || !S_ISREG(id->mode) ||
	    id->uid != geteuid() || id->links != 1 || id->inode != l->inode || id->born != l->born)
		return RAMA_EMU_OWN_OTHER;
	if (l->changed != 0 && id->changed == l->changed && id->size == l->size)
		return RAMA_EMU_OWN_OURS;
	if (l->changed != 0)
		return RAMA_EMU_OWN_OTHER; /* somebody has written to it since */
	if (l->fresh)
		return RAMA_EMU_OWN_OURS; /* this run writes to it */
	return holds_ours(w, id, l) ? RAMA_EMU_OWN_OURS : RAMA_EMU_OWN_OTHER;
}
