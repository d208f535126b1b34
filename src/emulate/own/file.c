/* SPDX-License-Identifier: BSD-3-Clause */
/* file.c: files and folders of a run: made, named, removed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emulate/own/place.h"
#include "emulate/pattern.h"

/* ---- whose it is ---------------------------------------------------------------------------- */

static bool is_partial(const struct rama_emu_own *own, const char *name)
{
	size_t n = strlen(name);

	return n > RAMA_EMU_OWN_PART && name[n - RAMA_EMU_OWN_PART] == '.' &&
	       strncmp(name + n - RAMA_EMU_OWN_PART + 1, own->run, RAMA_EMU_OWN_RUN) == 0 &&
	       strcmp(name + n - 5, ".part") == 0;
}

/* Before this run has entered: afterwards there are none. */
static bool is_left(const struct rama_emu_own_way *w)
{
	size_t n = w->last > w->name ? (size_t)(w->last - w->name - 1) : 1;

	return w->place->since == INT64_MAX &&
	       rama_emu_own_list_left(w->place, w->last > w->name ? w->name : ".", n, w->last);
}

/* a file of this user that has no other name */
static bool is_plain(const struct rama_emu_own_id *id)
{
	return S_ISREG(id->mode) && id->uid == geteuid() && id->links == 1;
}

/* The lines of other hosts may not be seen yet (NFS): then a plain file that is younger than the
 * run and holds nothing but what emulate writes is taken for one of it. */
static bool is_late(const struct rama_emu_own *own, const struct rama_emu_own_way *w,
		    const struct rama_emu_own_id *id, bool zeros)
{
	bool empty = true, data;
	int fd;

	if (!own->several_nodes || !is_plain(id) || id->changed < w->place->since)
		return false;
	fd = openat(w->fd, w->last, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	data = fd >= 0 && rama_emu_own_data(fd, id->size, &empty) && (zeros || !empty);
	if (fd >= 0)
		close(fd);
	return data;
}

/* what there is of a file, by a list that is read to its end if need be */
static enum rama_emu_own_state state_of(struct rama_emu_own *own, struct rama_emu_own_way *w,
					struct rama_emu_own_id *id)
{
	enum rama_emu_own_state s;

	if (is_partial(own, w->last) || is_left(w)) { /* half-written, by this run or a dead one */
		if (rama_emu_own_identify(w->fd, w->last, id) != 0)
			return errno == ENOENT ? RAMA_EMU_OWN_NOTHING : RAMA_EMU_OWN_OTHER;
		return is_plain(id) ? RAMA_EMU_OWN_OURS : RAMA_EMU_OWN_OTHER;
	}
	pthread_mutex_lock(&own->lock);
	s = rama_emu_own_state(w, id, rama_emu_own_list_find(w->place, w->name));
	if (s == RAMA_EMU_OWN_OTHER && rama_emu_own_list_read(w->place) == 0)
		s = rama_emu_own_state(w, id, rama_emu_own_list_find(w->place, w->name));
	pthread_mutex_unlock(&own->lock);
	return s == RAMA_EMU_OWN_OTHER && is_late(own, w, id, false) ? RAMA_EMU_OWN_OURS : s;
}

/* may it be replaced: by what is written now, never for nothing */
static bool is_free(struct rama_emu_own *own, struct rama_emu_own_way *w,
		    struct rama_emu_own_id *id)
{
	return state_of(own, w, id) != RAMA_EMU_OWN_OTHER || (own->overwrite && is_plain(id));
}

static int in_the_way(const char *path, const struct rama_emu_own_id *id, struct rama_err *e)
{
	const char *what = S_ISLNK(id->mode)   ? "a symbolic link"
			   : S_ISDIR(id->mode) ? "a folder"
			   : S_ISREG(id->mode) ? "a file that emulate did not make, or that was "
						 "changed since"
					       : "no plain file";

	return rama_err_set(e, RAMA_EIO, "%.300s: there is %s; nothing was touched", path, what);
}

static int no_way(const char *path, struct rama_err *e)
{
	if (errno == ELOOP || errno == ENOTDIR)
		return rama_err_set(e, RAMA_EIO,
				    "%.300s: a folder on its way is a symbolic link or no folder; "
				    "nothing was touched",
				    path);
	return rama_err_set(e, RAMA_EIO, "%.300s: %s", path, strerror(errno));
}

int rama_emu_own_check(struct rama_emu_own *own, const char *path, struct rama_err *e)
{
	struct rama_emu_own_way w;
	struct rama_emu_own_id id = { 0 };
	int rc = 0;

	if (rama_emu_own_go(own, path, &w) != 0)
		return errno == ENOENT ? 0 : no_way(path, e);
	if (!is_free(own, &w, &id))
		rc = in_the_way(path, &id, e);
	rama_emu_own_back(&w);
	return rc;
}

/* ---- folders -------------------------------------------------------------------------------- */

/* by the user: a place, or what is above one */
static bool is_named(const struct rama_emu_own *own, const char *path)
{
	size_t n = strlen(path);

	for (size_t i = 0; i < own->n; i++)
		if (strncmp(own->places[i].dir, path, n) == 0 &&
		    (own->places[i].dir[n] == '/' || own->places[i].dir[n] == '\0'))
			return true;
	return false;
}

/* More than one missing folder is more likely a mistyped name than a wish. */
static bool is_place(const struct rama_emu_own *own, const char *path)
{
	for (size_t i = 0; i < own->n; i++)
		if (strcmp(own->places[i].dir, path) == 0)
			return true;
	return false;
}

int rama_emu_own_folder(struct rama_emu_own *own, const char *path, struct rama_err *e)
{
	struct rama_emu_own_way w = { .fd = -1 };
	const char *name;
	int rc;

	if (is_named(own, path) || rama_emu_own_find(own, path, &name) == NULL) {
		/* the place itself, or above it */
		if (!is_place(own, path) && access(path, F_OK) != 0 && errno == ENOENT)
			return rama_err_set(e, RAMA_EIO,
					    "%.300s: no such directory; only the last folder of "
					    "a path that is given is made",
					    path);
		rc = mkdir(path, 0777);
		if (rc == 0 || errno == EEXIST || errno == EISDIR || errno == EROFS)
			return rc == 0;
		return rama_err_set(e, RAMA_EIO, "%.300s: %s", path, strerror(errno));
	}
	if (rama_emu_own_go(own, path, &w) != 0)
		return no_way(path, e);
	rc = mkdirat(w.fd, w.last, 0777) == 0 ? 1 : errno == EEXIST ? 0 : no_way(path, e);
	rama_emu_own_back(&w);
	return rc;
}

int rama_emu_own_folders(struct rama_emu_own *own, const char *path, struct rama_err *e)
{
	char part[RAMA_EMU_OWN_PATH];
	int rc = 0;

	if (strlen(path) >= sizeof(part))
		return rama_err_set(e, RAMA_EUSAGE, "%.100s...: name too long", path);
	for (size_t i = 1; rc >= 0 && path[0] != '\0' && path[i - 1] != '\0'; i++) {
		if ((path[i] != '/' && path[i] != '\0') || path[i - 1] == '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		rc = rama_emu_own_folder(own, part, e);
	}
	return rc < 0 ? rc : 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

const char *rama_emu_own_partial(const struct rama_emu_own *own, const char *path, char *to,
				 size_t room)
{
	int n = snprintf(to, room, "%s.%s.part", path, own->run);

	return n > 0 && (size_t)n < room ? to : NULL;
}

/* The list must know of this folder before there is anything incomplete in it. */
static int note_folder(struct rama_emu_own *own, const struct rama_emu_own_way *w)
{
	struct rama_emu_own_line l = { .kind = 'i' };
	char folder[RAMA_EMU_OWN_PATH];
	bool fresh = false;
	int rc = 0;

	snprintf(folder, sizeof(folder), "%.*s",
		 w->last > w->name ? (int)(w->last - w->name - 1) : 1,
		 w->last > w->name ? w->name : ".");
	memcpy(l.run, own->run, sizeof(l.run));
	l.name = folder;
	pthread_mutex_lock(&own->lock);
	if (rama_map_put(&w->place->entered, rama_emu_pattern_unit(folder), &fresh) == NULL ||
	    fresh)
		rc = rama_emu_own_list_add(w->place, &l);
	pthread_mutex_unlock(&own->lock);
	return rc;
}

static int add_file(struct rama_emu_own *own, const struct rama_emu_own_way *w,
		    const struct rama_emu_own_id *id, bool complete)
{
	struct rama_emu_own_line l = { .kind = 'f',
				       .inode = id->inode,
				       .device = rama_emu_own_device(w->place, id),
				       .born = id->born,
				       .changed = complete ? id->changed : 0,
				       .size = id->size,
				       .name = w->name };
	int rc;

	pthread_mutex_lock(&own->lock);
	rc = rama_emu_own_list_add(w->place, &l);
	pthread_mutex_unlock(&own->lock);
	return rc;
}

/* A plain file that only we can reach, under a name that nobody else would use, or the one that
 * the list tells of. */
static int check_made(struct rama_emu_own *own, struct rama_emu_own_way *w,
		      const struct rama_emu_own_id *id)
{
	const struct rama_emu_own_line *l;
	bool ours = is_plain(id);

	if (ours && !is_partial(own, w->last)) {
		pthread_mutex_lock(&own->lock);
		l = rama_emu_own_list_find(w->place, w->name);
		/* the number of a file that went is soon that of another */
		if (l == NULL || l->inode != id->inode || l->born != id->born) {
			rama_emu_own_list_read(w->place);
			l = rama_emu_own_list_find(w->place, w->name);
		}
		ours = l != NULL && l->inode == id->inode && l->born == id->born;
		pthread_mutex_unlock(&own->lock);
		ours = ours || is_late(own, w, id, true); /* made, and not written to yet */
	}
	if (!ours)
		errno = EEXIST;
	return ours ? 0 : -1;
}

int rama_emu_own_open(struct rama_emu_own *own, const char *path, int flags)
{
	struct rama_emu_own_way w;
	struct rama_emu_own_id id;
	int fd = -1, number = 0;

	if (rama_emu_own_go(own, path, &w) != 0)
		return -1;
	if (!is_partial(own, w.last))
		flags &= ~O_CREAT; /* it is there, or somebody took it away */
	else if (flags & O_CREAT)
		number = note_folder(own, &w) != 0 ? EIO : 0;
	if (number == 0)
		fd = openat(w.fd, w.last, (flags & ~O_TRUNC) | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (number == 0 &&
	    (fd < 0 || rama_emu_own_identify(fd, "", &id) != 0 || check_made(own, &w, &id) != 0 ||
	     (flags & O_TRUNC && id.size > 0 && ftruncate(fd, 0) != 0)))
		number = errno;
	if (number != 0 && fd >= 0) {
		close(fd);
		fd = -1;
	}
	rama_emu_own_back(&w);
	errno = number;
	return fd;
}

int rama_emu_own_look(struct rama_emu_own *own, const char *path, bool there)
{
	struct rama_emu_own_way w;
	struct rama_emu_own_id id, named;
	int rc = 0;

	if (rama_emu_own_go(own, path, &w) != 0)
		return -1;
	if (is_partial(own, w.last) && !there && note_folder(own, &w) != 0) {
		errno = EIO;
		rc = -1;
	} else if (rama_emu_own_identify(w.fd, w.last, &id) != 0) {
		rc = errno == ENOENT && !there ? 0 : -1;
	} else {
		rc = check_made(own, &w, &id);
		/* what the library finds by the whole name is the same */
		if (rc == 0 && (rama_emu_own_identify(AT_FDCWD, path, &named) != 0 ||
				named.inode != id.inode || named.device != id.device)) {
			errno = ESTALE;
			rc = -1;
		}
	}
	rama_emu_own_back(&w);
	return rc;
}

int rama_emu_own_adopt(struct rama_emu_own *own, const char *path)
{
	struct rama_emu_own_way w;
	struct rama_emu_own_id id;
	int rc = -1;

	if (rama_emu_own_go(own, path, &w) != 0)
		return -1;
	errno = EEXIST;
	if (rama_emu_own_identify(w.fd, w.last, &id) == 0 && is_plain(&id))
		rc = add_file(own, &w, &id, false) == 0 ? 0 : -1;
	rama_emu_own_back(&w);
	return rc;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Between the look at a name and what is done with it somebody else may put another file there. So
 * whatever is to go takes a name first that nobody else has (NAME.RUN.kept), and is looked at under
 * that one: what was not meant has its own name back. A run that finds such files of one that was
 * killed settles it (list.c). */
#define KEPT_ROOM 256
static void kept_name(const struct rama_emu_own *own, const struct rama_emu_own_way *w,
		      char to[KEPT_ROOM])
{
	snprintf(to, KEPT_ROOM, "%.*s.%s.kept", RAMA_EMU_OWN_KEPT, w->last, own->run);
}

static bool same(const struct rama_emu_own_id *a, const struct rama_emu_own_id *b)
{
	return a->inode == b->inode && a->device == b->device && a->born == b->born &&
	       a->links == b->links && a->mode == b->mode;
}

/* Like statx in own.c, not through the C library. */
static int rename_as(int fd, const char *from, const char *to, unsigned how)
{
	return (int)syscall(SYS_renameat2, fd, from, fd, to, how);
}

static bool is_unknown(int number)
{
	return number == EINVAL || number == ENOSYS || number == EOPNOTSUPP;
}

int rama_emu_own_move(int fd, const char *from, const char *to)
{
	struct rama_emu_own_id id;

	if (rename_as(fd, from, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (!is_unknown(errno))
		return -1;
	/* a second name is never given over another */
	if (linkat(fd, from, fd, to, 0) == 0)
		return unlinkat(fd, from, 0);
	if (errno != EPERM && !is_unknown(errno))
		return -1;
	/* Where the file system knows neither, the name is looked at just before. */
	errno = EEXIST;
	return rama_emu_own_identify(fd, to, &id) != 0 && errno == ENOENT
		       ? renameat(fd, from, fd, to)
		       : -1;
}

/* What has its name, if it is still what `was` there, goes. -1: errno says why. */
static int take_away(struct rama_emu_own *own, const struct rama_emu_own_way *w,
		     const struct rama_emu_own_id *was)
{
	char kept[KEPT_ROOM];
	struct rama_emu_own_id id;

	kept_name(own, w, kept);
	if (note_folder(own, w) != 0) {
		errno = EIO;
		return -1;
	}
	if (rama_emu_own_move(w->fd, w->last, kept) != 0)
		return errno == ENOENT ? 0 : -1;
	if (rama_emu_own_identify(w->fd, kept, &id) == 0 && same(&id, was))
		return unlinkat(w->fd, kept, 0);
	rama_emu_own_move(w->fd, kept, w->last);
	errno = EPERM;
	return -1;
}

/* The new file takes the name of `there` at once, for who reads it meanwhile; then what it has
 * replaced is looked at. -1: errno says why, EINVAL where the file system cannot do so. */
static int exchange(const char *kept, const struct rama_emu_own_way *w,
		    const struct rama_emu_own_id *there)
{
	struct rama_emu_own_id id;

	if (rename_as(w->fd, kept, w->last, RENAME_EXCHANGE) != 0)
		return -1;
	if (rama_emu_own_identify(w->fd, kept, &id) == 0 && same(&id, there) &&
	    id.changed == there->changed && id.size == there->size)
		return unlinkat(w->fd, kept, 0);
	rename_as(w->fd, kept, w->last, RENAME_EXCHANGE);
	errno = EEXIST;
	return -1;
}

/* Nothing but what was `there` is replaced. */
static int take_name(struct rama_emu_own *own, const char *part, struct rama_emu_own_way *w,
		     const struct rama_emu_own_id *there)
{
	struct rama_emu_own_id new, id;
	char kept[KEPT_ROOM];
	int number;

	if (renameat2(w->fd, part, w->fd, w->last, RENAME_NOREPLACE) == 0)
		return 0;
	if (is_unknown(errno) && rama_emu_own_move(w->fd, part, w->last) == 0)
		return 0;
	if (errno != EEXIST || there->mode == 0 || rama_emu_own_identify(w->fd, part, &new) != 0)
		return -1;
	kept_name(own, w, kept);
	if (rama_emu_own_move(w->fd, part, kept) != 0)
		return -1;
	if (exchange(kept, w, there) == 0)
		return 0;
	number = errno;
	/* only what is ours becomes a half-written file again, which may be removed */
	if (rama_emu_own_identify(w->fd, kept, &id) == 0 && same(&id, &new))
		rama_emu_own_move(w->fd, kept, part);
	errno = number;
	if (!is_unknown(number))
		return -1;
	return take_away(own, w, there) == 0 ? rama_emu_own_move(w->fd, part, w->last) : -1;
}

/* Like statx in own.c: it is no open of the job, so nobody who observes shall see one. It is made
 * under a name that nobody else has: else there might be another file under it when it is looked
 * at. Where files are made by opening them alone, one open is seen. */
static int make_empty(struct rama_emu_own *own, const struct rama_emu_own_way *w)
{
	struct rama_emu_own_id id;
	char part[KEPT_ROOM];
	int fd = -1, number;

	snprintf(part, sizeof(part), "%.*s.%s.part", RAMA_EMU_OWN_KEPT, w->last, own->run);
	if (note_folder(own, w) != 0) {
		errno = EIO;
		return -1;
	}
	if (syscall(SYS_mknodat, w->fd, part, S_IFREG | 0666, 0) != 0) {
		if (errno == EEXIST)
			return -1;
		fd = openat(w->fd, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0666);
		if (fd < 0)
			return -1;
		close(fd);
	}
	if (rama_emu_own_identify(w->fd, part, &id) == 0 && add_file(own, w, &id, false) == 0 &&
	    rama_emu_own_move(w->fd, part, w->last) == 0)
		return 0;
	number = errno;
	unlinkat(w->fd, part, 0);
	errno = number;
	return -1;
}

int rama_emu_own_create(struct rama_emu_own *own, const char *path, struct rama_err *e)
{
	struct rama_emu_own_way w;
	int rc = 0;

	if (rama_emu_own_clear(own, path) != 0 && errno == EPERM)
		return rama_emu_own_check(own, path, e);
	if (rama_emu_own_go(own, path, &w) != 0)
		return no_way(path, e);
	if (make_empty(own, &w) != 0)
		rc = rama_err_set(e, RAMA_EIO, "%.300s: cannot be made: %s", path, strerror(errno));
	rama_emu_own_back(&w);
	return rc;
}

int rama_emu_own_publish(struct rama_emu_own *own, const char *part, const char *path,
			 struct rama_err *e)
{
	const char *last = strrchr(part, '/');
	struct rama_emu_own_way w;
	struct rama_emu_own_id id, there = { 0 };
	int rc = 0;

	if (rama_emu_own_go(own, path, &w) != 0)
		return no_way(path, e);
	last = last != NULL ? last + 1 : part;
	/* whose the name is now must be known before the new line says whose it will be */
	if (!is_free(own, &w, &there))
		rc = in_the_way(path, &there, e);
	else if (rama_emu_own_identify(w.fd, last, &id) != 0 || !S_ISREG(id.mode) ||
		 add_file(own, &w, &id, true) != 0 || take_name(own, last, &w, &there) != 0)
		rc = rama_err_set(e, RAMA_EIO, "%.300s: cannot take its name: %s", path,
				  strerror(errno));
	rama_emu_own_back(&w);
	return rc;
}

void rama_emu_own_complete(struct rama_emu_own *own, const char *path)
{
	struct rama_emu_own_way w;
	struct rama_emu_own_id id;

	if (rama_emu_own_go(own, path, &w) != 0)
		return;
	if (rama_emu_own_identify(w.fd, w.last, &id) == 0 && check_made(own, &w, &id) == 0)
		add_file(own, &w, &id, true);
	rama_emu_own_back(&w);
}

enum how { OURS, REPLACED, SEEN };

static int remove_if(struct rama_emu_own *own, const char *path, enum how how)
{
	struct rama_emu_own_way w;
	struct rama_emu_own_id id = { 0 };
	bool ours;
	int rc = 0;

	if (rama_emu_own_go(own, path, &w) != 0)
		return errno == ENOENT ? 0 : -1;
	ours = how == REPLACED ? is_free(own, &w, &id)
			       : state_of(own, &w, &id) != RAMA_EMU_OWN_OTHER;
	if (ours && id.mode != 0)
		rc = how == SEEN ? unlinkat(w.fd, w.last, 0) : take_away(own, &w, &id);
	rama_emu_own_back(&w);
	if (!ours) {
		errno = EPERM;
		rc = -1;
	}
	return rc;
}

int rama_emu_own_remove(struct rama_emu_own *own, const char *path)
{
	return remove_if(own, path, OURS);
}

int rama_emu_own_unlink(struct rama_emu_own *own, const char *path)
{
	return remove_if(own, path, SEEN);
}

int rama_emu_own_clear(struct rama_emu_own *own, const char *path)
{
	return remove_if(own, path, REPLACED);
}

int rama_emu_own_rename(struct rama_emu_own *own, const char *path, const char *to)
{
	struct rama_emu_own_way w, new;
	struct rama_emu_own_id id;
	int rc = -1, number = EPERM;

	if (rama_emu_own_go(own, path, &w) != 0)
		return -1;
	if (rama_emu_own_go(own, to, &new) != 0) {
		rama_emu_own_back(&w);
		return -1;
	}
	/* the new name is in the list before it is anywhere else */
	if (state_of(own, &w, &id) == RAMA_EMU_OWN_OURS && add_file(own, &new, &id, false) == 0) {
		rc = renameat2(w.fd, w.last, new.fd, new.last, RENAME_NOREPLACE);
		number = errno;
	}
	rama_emu_own_back(&new);
	rama_emu_own_back(&w);
	errno = number;
	return rc;
}

void rama_emu_own_drop(struct rama_emu_own *own, const char *path)
{
	char part[RAMA_EMU_OWN_PATH];
	struct rama_emu_own_way w;
	struct rama_emu_own_id id;

	if (rama_emu_own_partial(own, path, part, sizeof(part)) == NULL ||
	    rama_emu_own_go(own, part, &w) != 0)
		return;
	if (rama_emu_own_identify(w.fd, w.last, &id) == 0 && check_made(own, &w, &id) == 0)
		unlinkat(w.fd, w.last, 0);
	rama_emu_own_back(&w);
}
