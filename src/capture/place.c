/* SPDX-License-Identifier: BSD-3-Clause */
/* place.c: the directory that the segment of this process goes to. Where everybody may write,
 * others can be there first: whatever is used was opened, without following links, and looked at
 * through the descriptor. */
#include <sys/statfs.h>
#include <time.h>

#include "capture/place.h"
#include "capture/runtime.h"
#include "segment/place.h"
#include "segment/tally.h"

#define FOUND_MOST 1024 /* directories of our name that are looked at, whoever made them */
#define READ_MOST 256	/* times that a base is read on: some ten thousands of entries */

/* ---- directories ----------------------------------------------------------------------------- */

static uint32_t own_uid(void)
{
	return (uint32_t)rama_cap_sys3(SYS_geteuid, 0, 0, 0);
}

static bool look(int fd, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	return rama_cap_sys6(SYS_newfstatat, fd, (long)"", (long)st, AT_EMPTY_PATH, 0, 0) == 0;
}

static int open_dir(int at, const char *name, int flags)
{
	return (int)rama_cap_sys6(SYS_openat, at, (long)name, flags | O_DIRECTORY | O_CLOEXEC, 0, 0,
				  0);
}

/* A directory that is ours alone, or a negative errno: -EPERM: it is not. */
static int open_own(int at, const char *name)
{
	struct stat st;
	int fd = open_dir(at, name, O_PATH | O_NOFOLLOW);

	if (fd < 0)
		return fd == -ENOTDIR || fd == -ELOOP ? -EPERM : fd;
	if (look(fd, &st) && rama_seg_place_own(st.st_mode, st.st_uid, own_uid()))
		return fd;
	rama_cap_sys_close(fd);
	return -EPERM;
}

/* the same, made if need be */
static int make_own(int at, const char *name)
{
	long rc = rama_cap_sys3(SYS_mkdirat, at, name, 0700);
	int fd;

	if (rc != 0 && rc != -EEXIST) {
		fd = open_own(at,
			      name); /* where nothing can be made it may be there all the same */
		return fd >= 0 ? fd : (int)rc;
	}
	fd = open_own(at, name);
	if (fd >= 0 && rc == 0) /* whatever the mask of the process is */
		rama_cap_sys3(SYS_fchmodat, at, name, 0700);
	return fd;
}

static int open_base(const char *path)
{
	struct statfs fs = { 0 };
	struct stat st;
	int fd = open_dir(AT_FDCWD, path, O_PATH);

	if (fd < 0)
		return fd;
	if (look(fd, &st) && rama_seg_place_steady(st.st_mode) &&
	    (rama_cap_sys3(SYS_fstatfs, fd, &fs, 0) != 0 ||
	     rama_seg_place_firm((uint64_t)fs.f_type)))
		return fd;
	rama_cap_sys_close(fd);
	return -EPERM;
}

/* ---- a user's directory in a base ------------------------------------------------------------ */

struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

/* The oldest of ours, if there is one. */
static int find_other(int base, char name[RAMA_SEG_PLACE_NAME])
{
	static char buf[8192] __attribute__((aligned(8)));
	int dir = open_dir(base, ".", O_RDONLY), fd = -ENOENT;
	unsigned found = 0;
	long n = 0;

	for (unsigned k = 0; dir >= 0 && k < READ_MOST && found < FOUND_MOST; k++) {
		n = rama_cap_sys3(SYS_getdents64, dir, buf, sizeof(buf));
		for (long at = 0; at < n && found < FOUND_MOST;) {
			const struct entry *e = (const struct entry *)(buf + at);
			uint32_t uid;
			bool usual;
			int one;

			at += e->len;
			if (!rama_seg_place_read(e->name, &uid, &usual) || usual ||
			    uid != own_uid() || (fd >= 0 && strcmp(e->name, name) > 0))
				continue;
			found++;
			one = open_own(base, e->name);
			if (one < 0)
				continue;
			if (fd >= 0)
				rama_cap_sys_close(fd);
			fd = one;
			memcpy(name, e->name, strlen(e->name) + 1);
		}
		if (n <= 0)
			break;
	}
	if (dir >= 0)
		rama_cap_sys_close(dir);
	return fd;
}

/* Others that start at this moment may make one too: after that the oldest counts for all. */
static int make_other(int base, char name[RAMA_SEG_PLACE_NAME])
{
	struct rama_seg_place_other o = { 0 };
	struct timespec now;
	int fd;

	clock_gettime(CLOCK_REALTIME, &now);
	o.when = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	if (rama_cap_sys3(SYS_getrandom, &o.chance, sizeof(o.chance), 1 /* GRND_NONBLOCK */) !=
	    sizeof(o.chance))
		o.chance = (rama_cap_ticks() * 0x9e3779b97f4a7c15u) ^ (uint64_t)rama_cap_run.pid;
	rama_seg_place_name(name, own_uid(), &o);
	fd = make_own(base, name);
	if (fd < 0)
		return fd;
	rama_cap_sys_close(fd);
	fd = find_other(base, name);
	return fd >= 0 ? fd : open_own(base, name);
}

/* BASE/iorama-UID, or another where that is somebody else's. `path` gets its path. */
static int user_dir(const char *base, struct rama_config_text *path)
{
	char name[RAMA_SEG_PLACE_NAME];
	int at = open_base(base), fd;

	if (at < 0)
		return at;
	rama_seg_place_name(name, own_uid(), NULL);
	fd = make_own(at, name);
	if (fd == -EPERM)
		fd = find_other(at, name);
	if (fd == -ENOENT)
		fd = make_other(at, name);
	rama_cap_sys_close(at);
	rama_config_text_str(path, base);
	rama_config_text_str(path, "/");
	rama_config_text_str(path, name);
	return fd;
}

/* ---- the places of this process -------------------------------------------------------------- */

/* Where `iorama run` is not, its choice of a directory may make no sense. */
static bool is_elsewhere(void)
{
	return rama_cap_variable("IORAMA_RUN_HOST") && !rama_cap_by_run();
}

/* The directory of the job in a place, -1: this one cannot be used. */
static int job_dir(int root, struct rama_config_text *path, const char *job)
{
	int fd = -1;

	rama_config_text_str(path, "/");
	rama_config_text_str(path, job);
	if (root >= 0 && !path->cut)
		fd = make_own(root, job);
	if (root >= 0)
		rama_cap_sys_close(root);
	return fd;
}

static int given_dir(struct rama_config_text *path, const char *job)
{
	rama_config_text_str(path, rama_cap_run.settings->dir);
	return job_dir(make_own(AT_FDCWD, path->p), path, job);
}

/* one that `iorama run` has made */
static int spare_dir(struct rama_config_text *path, unsigned i)
{
	const struct rama_seg_tally *t = rama_cap_run.tally;

	if (!t || i >= RAMA_SEG_SPARES || t->spare[i][0] != '/' ||
	    !memchr(t->spare[i], '\0', sizeof(t->spare[i])))
		return -1;
	rama_config_text_str(path, t->spare[i]);
	return path->cut ? -1 : open_own(AT_FDCWD, path->p);
}

bool rama_cap_place_open(unsigned i, const char *job, struct rama_config_text *path, int *fd)
{
	bool given = rama_cap_run.settings->dir[0] != '\0';
	const char *base;

	*fd = -1;
	if (given && i == 0) {
		*fd = given_dir(path, job);
		return true;
	}
	if (given && !is_elsewhere()) {
		if (i > RAMA_SEG_SPARES)
			return false;
		*fd = spare_dir(path, i - 1);
		return true;
	}
	base = rama_seg_place_base(given ? i - 1 : i, rama_cap_variable("TMPDIR"));
	if (base)
		*fd = job_dir(user_dir(base, path), path, job);
	return base != NULL;
}

int rama_cap_place_make(const char *path)
{
	return make_own(AT_FDCWD, path);
}

/* ---- what is counted where nothing can be kept ----------------------------------------------- */

/* Does a process number mean another process to `iorama run` than to us? */
static bool other_pids(const struct rama_seg_tally *t)
{
	struct stat st;

	return t->pids != 0 &&
	       rama_cap_sys6(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)&st, 0, 0,
			     0) == 0 &&
	       st.st_ino != t->pids;
}

static void *map_tally(int fd)
{
	struct stat st;
	long p = -1;

	if (fd < 0)
		return NULL;
	if (look(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == own_uid() &&
	    st.st_size >= RAMA_SEG_TALLY_SIZE)
		p = rama_cap_sys6(SYS_mmap, 0, RAMA_SEG_TALLY_SIZE, PROT_READ | PROT_WRITE,
				  MAP_SHARED, fd, 0);
	rama_cap_sys_close(fd);
	return p < 0 && p > -4096 ? NULL : (void *)p;
}

static int open_file(int at, const char *name, int flags)
{
	return (int)rama_cap_sys6(SYS_openat, at, (long)name, flags | O_NOFOLLOW | O_CLOEXEC, 0600,
				  0, 0);
}

void rama_cap_tally_find(int job)
{
	struct rama_seg_tally *t;

	if (rama_cap_run.bare)
		return;
	if (rama_cap_run.tally) { /* of the process we were forked from */
		if (other_pids(rama_cap_run.tally))
			rama_cap_run.id->flags |= RAMA_SEG_OTHER_PIDS;
		return;
	}
	t = map_tally(open_file(job, RAMA_SEG_TALLY, O_RDWR));
	if (t && t->magic != RAMA_SEG_TALLY_MAGIC) {
		rama_cap_sys3(SYS_munmap, t, RAMA_SEG_TALLY_SIZE, 0);
		t = NULL;
	}
	rama_cap_run.tally = t;
	if (t && other_pids(t))
		rama_cap_run.id->flags |= RAMA_SEG_OTHER_PIDS;
}

/* of all slots of a kind: the counters that are named */
static int64_t slot_calls(unsigned kind, const uint16_t *counter, size_t n)
{
	int64_t calls = 0;

	for (uint32_t i = 0; i < rama_cap_run.state->slots_used[kind]; i++) {
		const void *slot = rama_cap_slot_nth(kind, i);
		if (!slot)
			break;
		const union rama_core_word *w =
			(const void *)((const char *)slot + rama_core_kinds[kind]->words);

		/* open from the start */
		calls -= kind == RAMA_SEG_KIND_STDIO &&
			 ((const struct rama_core_stdio_file *)slot)->standard != 0;
		for (size_t k = 0; k < n; k++)
			calls += w[counter[k]].i > 0 ? w[counter[k]].i : 0;
	}
	return calls;
}

/* Calls as counters count them, those of libraries by what they do beneath. */
static int64_t calls_made(void)
{
	static const uint16_t posix[] = { RAMA_TAB_POSIX_OPENS,	 RAMA_TAB_POSIX_READS,
					  RAMA_TAB_POSIX_WRITES, RAMA_TAB_POSIX_SEEKS,
					  RAMA_TAB_POSIX_STATS,	 RAMA_TAB_POSIX_MMAPS,
					  RAMA_TAB_POSIX_FSYNCS, RAMA_TAB_POSIX_FDSYNCS };
	static const uint16_t stdio[] = { RAMA_TAB_STDIO_OPENS, RAMA_TAB_STDIO_READS,
					  RAMA_TAB_STDIO_WRITES, RAMA_TAB_STDIO_SEEKS,
					  RAMA_TAB_STDIO_FLUSHES };
	int64_t calls = (int64_t)rama_cap_run.state->missed;

	calls += slot_calls(RAMA_SEG_KIND_POSIX, posix, sizeof(posix) / sizeof(posix[0]));
	calls += slot_calls(RAMA_SEG_KIND_STDIO, stdio, sizeof(stdio) / sizeof(stdio[0]));
	for (uint32_t i = 0; i < rama_cap_run.state->lanes_used; i++) {
		const struct rama_seg_lane *lane = rama_cap_memory_lane(i, false);
		calls += lane ? (int64_t)lane->missed : 0;
	}
	return calls;
}

void rama_cap_tally_begin(enum rama_cap_placed how)
{
	struct rama_seg_tally *t = rama_cap_run.tally;

	if (!t)
		return;
	if (how == RAMA_CAP_PLACED_SPARE)
		__atomic_fetch_add(&t->moved, 1, __ATOMIC_RELAXED);
	if (how == RAMA_CAP_PLACED_NOWHERE)
		__atomic_fetch_add(&t->unplaced, 1, __ATOMIC_RELAXED);
}

void rama_cap_tally_end(bool replaced)
{
	struct rama_seg_tally *t = rama_cap_run.tally;

	if (!t || rama_cap_run.path[0])
		return;
	int64_t calls = calls_made(), told = replaced ? 0 : 1;

	__atomic_fetch_add(&t->calls, calls - rama_cap_run.told_calls, __ATOMIC_RELAXED);
	__atomic_fetch_add(&t->told, told - rama_cap_run.told_end, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&t->unplaced, replaced - rama_cap_run.told_replaced, __ATOMIC_RELAXED);
	rama_cap_run.told_calls = calls;
	rama_cap_run.told_end = told;
	rama_cap_run.told_replaced = replaced;
}

void rama_cap_tally_again(void)
{
	struct rama_seg_tally *t = rama_cap_run.tally;

	if (!t || rama_cap_run.path[0])
		return;
	__atomic_fetch_add(&t->unplaced, rama_cap_run.told_replaced, __ATOMIC_RELAXED);
	rama_cap_run.told_replaced = 0;
}

/* ---- logs that could not be written ---------------------------------------------------------- */

/* Made under its name only when all its bytes have room. */
static int make_unwritten(int root)
{
	static const char zero[RAMA_SEG_TALLY_SIZE];
	int fd = open_file(root, RAMA_SEG_UNWRITTEN, O_RDWR);
	struct stat st;

	if (fd == -ENOENT)
		fd = open_file(root, RAMA_SEG_UNWRITTEN, O_RDWR | O_CREAT);
	if (fd >= 0 && look(fd, &st) && S_ISREG(st.st_mode) && st.st_size < (off_t)sizeof(zero) &&
	    rama_cap_sys6(SYS_pwrite64, fd, (long)zero, sizeof(zero), 0, 0, 0) != sizeof(zero)) {
		rama_cap_sys_close(fd);
		return -1;
	}
	return fd;
}

void rama_cap_unwritten(long error, const char *where)
{
	static char root[sizeof(rama_cap_run.path)];
	struct rama_seg_unwritten *u;
	struct rama_config_text t;
	struct timespec now;
	char *slash;
	int fd;

	rama_config_text_init(&t, root, sizeof(root));
	rama_config_text_str(&t, rama_cap_run.path);
	for (unsigned i = 0; i < 2; i++) { /* the file, the job */
		slash = strrchr(root, '/');
		if (!slash)
			return;
		*slash = '\0';
	}
	fd = open_own(AT_FDCWD, root);
	if (fd < 0)
		return;
	u = map_tally(make_unwritten(fd));
	rama_cap_sys_close(fd);
	if (!u)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	rama_config_text_init(&t, u->where, sizeof(u->where));
	rama_config_text_str(&t, where);
	u->version = 1;
	u->error = (int32_t)error;
	u->when = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	__atomic_fetch_add(&u->count, 1, __ATOMIC_RELAXED);
	u->magic = RAMA_SEG_TALLY_MAGIC;
	rama_cap_sys3(SYS_munmap, u, RAMA_SEG_TALLY_SIZE, 0);
}
