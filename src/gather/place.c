/* SPDX-License-Identifier: BSD-3-Clause */
#include "gather/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "gather/pack.h"
#include "segment/place.h"

int rama_gather_place_check(const char *dir, struct rama_err *e)
{
	struct stat st;

	if (lstat(dir, &st) != 0)
		return rama_err_set(e, RAMA_EIO, "%s", strerror(errno));
	if (S_ISLNK(st.st_mode))
		return rama_err_set(e, RAMA_EIO,
				    "is a link; segments go only into a real directory");
	if (!S_ISDIR(st.st_mode))
		return rama_err_set(e, RAMA_EIO, "is no directory");
	if (st.st_uid != geteuid())
		return rama_err_set(e, RAMA_EIO, "belongs to user %u, not to you",
				    (unsigned)st.st_uid);
	if (st.st_mode & 022)
		return rama_err_set(e, RAMA_EIO, "others may write into it; chmod 700 it");
	if (access(dir, W_OK | X_OK) != 0)
		return rama_err_set(e, RAMA_EIO, "%s", strerror(errno));
	return 0;
}

static int open_lock(const char *dir, int how)
{
	char path[PATH_MAX + sizeof(RAMA_GATHER_PLACE_LOCK) + 1];

	snprintf(path, sizeof(path), "%s/" RAMA_GATHER_PLACE_LOCK, dir);
	return open(path, how | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int rama_gather_place_lock(const char *dir)
{
	int fd = open_lock(dir, O_CREAT | O_RDWR);

	if (fd < 0)
		return -2;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	close(fd);
	return -1;
}

bool rama_gather_place_locked(const char *dir)
{
	int fd = open_lock(dir, O_RDONLY);
	bool held;

	if (fd < 0)
		return false;
	held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	close(fd); /* gives it back */
	return held;
}

static bool is_of(const char *path, uint32_t uid)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == uid;
}

static void remove_file(const char *dir, const char *name, uint32_t uid)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (is_of(path, uid))
		unlink(path);
}

/* what is beside the segments; .agent is of one that was killed */
static bool remove_dir(const char *dir, uint32_t uid)
{
	static const char *const name[] = { RAMA_GATHER_PLACE_LOCK, RAMA_GATHER_PLACE_AGENT,
					    RAMA_GATHER_PLACE_MAIN, RAMA_GATHER_PACK,
					    RAMA_SEG_TALLY };

	for (unsigned i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		remove_file(dir, name[i], uid);
	return rmdir(dir) == 0;
}

bool rama_gather_place_clear(const char *dir, uint32_t uid)
{
	struct rama_gather_spares spares;

	rama_gather_spares_read(&spares, dir);
	for (size_t i = 0; i < spares.n; i++)
		remove_dir(spares.dir[i], uid);
	return remove_dir(dir, uid);
}

bool rama_gather_place_remove(const char *dir, const struct rama_gather_list *s, const bool *keep,
			      bool stay)
{
	struct rama_gather_spares spares;
	bool all = !stay, packs = true;

	rama_gather_spares_read(&spares, dir);
	for (size_t i = 0; i < s->n; i++) {
		bool kept = keep != NULL && keep[i];

		if (rama_gather_is_packed(s->path[i]))
			packs = packs && !kept;
		else if (kept || !is_of(s->path[i], geteuid()) || unlink(s->path[i]) != 0)
			all = false;
	}
	if (packs) { /* they go as a whole */
		remove_file(dir, RAMA_GATHER_PACK, geteuid());
		for (size_t i = 0; i < spares.n; i++)
			remove_file(spares.dir[i], RAMA_GATHER_PACK, geteuid());
	}
	return all && packs && rama_gather_place_clear(dir, geteuid());
}

/* ---- other directories of a job -------------------------------------------------------------- */

static bool stat_dir(const char *path, struct stat *st)
{
	return lstat(path, st) == 0 && S_ISDIR(st->st_mode);
}

/* a small file of the owner of its directory */
static ssize_t read_small(const char *dir, const char *name, void *to, size_t size)
{
	char path[PATH_MAX + 32];
	struct stat st, owner;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && stat_dir(dir, &owner) &&
	    owner.st_uid == st.st_uid)
		n = pread(fd, to, size, 0);
	close(fd);
	return n;
}

void rama_gather_tally_read(struct rama_seg_tally *t, const char *dir)
{
	if (read_small(dir, RAMA_SEG_TALLY, t, sizeof(*t)) != (ssize_t)sizeof(*t) ||
	    t->magic != RAMA_SEG_TALLY_MAGIC)
		memset(t, 0, sizeof(*t));
	for (unsigned i = 0; i < RAMA_SEG_SPARES; i++)
		t->spare[i][sizeof(t->spare[i]) - 1] = '\0';
}

void rama_gather_unwritten_read(struct rama_seg_unwritten *u, const char *root)
{
	if (read_small(root, RAMA_SEG_UNWRITTEN, u, sizeof(*u)) != (ssize_t)sizeof(*u) ||
	    u->magic != RAMA_SEG_TALLY_MAGIC)
		memset(u, 0, sizeof(*u));
	u->where[sizeof(u->where) - 1] = '\0';
	for (char *p = u->where; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?'; /* it goes to terminals */
}

void rama_gather_spares_read(struct rama_gather_spares *s, const char *dir)
{
	struct rama_seg_tally *t = malloc(sizeof(*t));
	struct stat st, main;

	s->n = 0;
	if (t == NULL || !stat_dir(dir, &main)) {
		free(t);
		return;
	}
	rama_gather_tally_read(t, dir);
	for (unsigned i = 0; i < RAMA_SEG_SPARES; i++)
		if (t->spare[i][0] == '/' && stat_dir(t->spare[i], &st) &&
		    rama_seg_place_own(st.st_mode, st.st_uid, main.st_uid))
			memcpy(s->dir[s->n++], t->spare[i], sizeof(t->spare[i]));
	free(t);
}

void rama_gather_spare_main(char dir[PATH_MAX])
{
	struct rama_gather_spares *spares = malloc(sizeof(*spares));
	char text[PATH_MAX];
	ssize_t n = read_small(dir, RAMA_GATHER_PLACE_MAIN, text, sizeof(text) - 1);

	if (n <= 0 || spares == NULL) {
		free(spares);
		return;
	}
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	rama_gather_spares_read(spares, text);
	for (size_t i = 0; i < spares->n; i++)
		if (strcmp(spares->dir[i], dir) == 0) {
			snprintf(dir, PATH_MAX, "%s", text);
			break;
		}
	free(spares);
}

bool rama_gather_spare_is(const char *dir)
{
	char copy[PATH_MAX];

	if (snprintf(copy, sizeof(copy), "%s", dir) >= (int)sizeof(copy))
		return false;
	rama_gather_spare_main(copy);
	return strcmp(copy, dir) != 0;
}

/* ---- places of users ------------------------------------------------------------------------- */

/* all of this user in a base, `fn` gets their names; read through the descriptor */
static void each_root(int base, uint32_t uid, void (*fn)(void *ctx, const char *name), void *ctx)
{
	int fd = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (d == NULL && fd >= 0)
		close(fd);
	while (d != NULL && (entry = readdir(d)) != NULL) {
		struct stat st;
		uint32_t whose;
		bool usual;

		if (rama_seg_place_read(entry->d_name, &whose, &usual) && whose == uid &&
		    fstatat(base, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    rama_seg_place_own(st.st_mode, st.st_uid, uid))
			fn(ctx, entry->d_name);
	}
	if (d != NULL)
		closedir(d);
}

static void choose_oldest(void *ctx, const char *name)
{
	char *best = ctx;
	uint32_t uid;
	bool usual;

	if (rama_seg_place_read(name, &uid, &usual) && !usual &&
	    (best[0] == '\0' || strcmp(name, best) < 0))
		snprintf(best, RAMA_SEG_PLACE_NAME, "%s", name);
}

static int open_base(const char *path, struct rama_err *e)
{
	struct statfs fs;
	struct stat st;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0) {
		rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
	} else if (!rama_seg_place_steady(st.st_mode)) {
		rama_err_set(e, RAMA_EIO, "%s: others may rename what is in it; chmod +t it", path);
	} else if (fstatfs(fd, &fs) == 0 && !rama_seg_place_firm((uint64_t)fs.f_type)) {
		rama_err_set(e, RAMA_EIO, "%s: its file system cannot keep room for memory", path);
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* what is wrong with it, as one sees it through a descriptor; false: nothing */
static bool is_others(int base, const char *name, char why[256])
{
	int fd = openat(base, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	why[0] = '\0';
	if (fd < 0 || fstat(fd, &st) != 0)
		snprintf(why, 256, "%s", strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		snprintf(why, 256, "is no directory");
	else if (st.st_uid != geteuid())
		snprintf(why, 256, "belongs to user %u", (unsigned)st.st_uid);
	else if (!rama_seg_place_own(st.st_mode, st.st_uid, geteuid()))
		snprintf(why, 256, "others may write into it; chmod 700 it");
	if (fd >= 0)
		close(fd);
	return why[0] != '\0';
}

/* as capture/place.c does it */
static int make_other(int base, char name[RAMA_SEG_PLACE_NAME])
{
	struct rama_seg_place_other o = { 0 };
	char oldest[RAMA_SEG_PLACE_NAME] = "", why[256];
	struct timespec now;

	each_root(base, geteuid(), choose_oldest, oldest);
	if (oldest[0] == '\0') {
		clock_gettime(CLOCK_REALTIME, &now);
		o.when = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		if (getrandom(&o.chance, sizeof(o.chance), 0) != (ssize_t)sizeof(o.chance))
			return -1;
		rama_seg_place_name(name, geteuid(), &o);
		if (mkdirat(base, name, 0700) != 0)
			return -1;
		each_root(base, geteuid(), choose_oldest, oldest);
	}
	if (oldest[0] != '\0')
		memcpy(name, oldest, sizeof(oldest));
	return is_others(base, name, why) ? -1 : 0;
}

int rama_gather_root_make(const char *base, char path[PATH_MAX / 2], char why[256],
			  struct rama_err *e)
{
	char name[RAMA_SEG_PLACE_NAME];
	int fd = open_base(base, e), n, rc;

	why[0] = '\0';
	if (fd < 0)
		return RAMA_EIO;
	rama_seg_place_name(name, geteuid(), NULL);
	rc = mkdirat(fd, name, 0700);
	if (rc != 0 && errno != EEXIST && faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		rama_err_set(e, RAMA_EIO, "%s/%s: cannot be made: %s", base, name, strerror(errno));
	else if (is_others(fd, name, why) && make_other(fd, name) != 0)
		rama_err_set(e, RAMA_EIO, "%s/iorama-%u: %s, and no other can be made: %s", base,
			     (unsigned)geteuid(), why, strerror(errno));
	close(fd);
	n = snprintf(path, PATH_MAX / 2, "%s/%s", base, name);
	if (e->code == 0 && n >= PATH_MAX / 2)
		rama_err_set(e, RAMA_EIO, "%s: the path is too long", base);
	return e->code;
}

struct found {
	struct rama_gather_roots *r;
	const char *base;
};

static void add_root(void *ctx, const char *name)
{
	struct found *f = ctx;
	char(*more)[PATH_MAX / 2] = realloc(f->r->path, (f->r->n + 1) * sizeof(*more));

	if (more == NULL)
		return;
	f->r->path = more;
	if (snprintf(more[f->r->n], sizeof(*more), "%s/%s", f->base, name) < (int)sizeof(*more))
		f->r->n++;
}

void rama_gather_roots_find(struct rama_gather_roots *r, uint32_t uid)
{
	struct found f = { .r = r };

	*r = (struct rama_gather_roots){ 0 };
	for (unsigned i = 0; (f.base = rama_seg_place_base(i, getenv("TMPDIR"))) != NULL; i++) {
		int fd = open(f.base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		char name[RAMA_SEG_PLACE_NAME];

		if (fd >= 0) {
			each_root(fd, uid, add_root, &f);
			close(fd);
			continue;
		}
		/* a base that cannot be read has the usual one all the same */
		fd = open(f.base, O_PATH | O_DIRECTORY | O_CLOEXEC);
		rama_seg_place_name(name, uid, NULL);
		if (fd >= 0 && faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			add_root(&f, name);
		if (fd >= 0)
			close(fd);
	}
}

void rama_gather_roots_fini(struct rama_gather_roots *r)
{
	free(r->path);
	*r = (struct rama_gather_roots){ 0 };
}
