/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_posix.c: descriptor and path calls that need a body of their own (FN_HAND in
 * fn_posix.def). */
#include <linux/openat2.h>
#include <sys/sendfile.h>

#include "capture/hooks/hooks.h"
#include "capture/record.h"
#include "capture/runtime.h"
#include "capture/uring/uring.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Woverride-init"

/* takes any number of arguments, which a row cannot say */
typedef long rama_syscall(long number, ...);
#ifdef RAMA_STATIC_WRAP
extern rama_syscall rama_real_syscall __asm__("__real_syscall");
#define RAMA_REAL_SYSCALL rama_real_syscall
#else
#define RAMA_REAL_SYSCALL ((rama_syscall *)RAMA_CAP_REAL(syscall))
#endif

#define CALL(fn_name, kind_, ...)                                                         \
	(struct rama_cap_call)                                                            \
	{                                                                                 \
		.op.fn = RAMA_TAB_FN_##fn_name, .op.kind = RAMA_TAB_OP_##kind_, .fd = -1, \
		.dirfd = AT_FDCWD, __VA_ARGS__                                            \
	}

/* ---- closing: the descriptor is forgotten before the real call, as its number may be given to
 * somebody else the moment it is free
 * ------------------------------------------------------------------------------ */

static int end_close(const struct rama_cap_span *sp, struct rama_core_posix_file *f, int r)
{
	struct rama_cap_visit v;
	struct rama_core_op op = { .fn = RAMA_TAB_FN_close, .kind = RAMA_TAB_OP_CLOSE, .ok = true };

	rama_cap_idle(sp);
	rama_cap_times(sp, &op);
	if (rama_cap_enter(&v)) {
		rama_cap_do_posix(v.t, f, &op);
		rama_cap_leave(&v);
	}
	return r;
}

/* the slot that a descriptor has in this generation, without looking anything up */
static struct rama_core_posix_file *slot_now(int fd)
{
	struct rama_cap_fd *e = rama_cap_run.fds ? rama_cap_fd(fd) : NULL;

	return e && !((uintptr_t)e->posix & 1) ? e->posix : NULL;
}

/* A child of vfork shares our memory, not our descriptors: it must leave the table alone. */
static struct rama_core_posix_file *forget(int fd)
{
	if (rama_cap_off)
		return NULL;
	struct rama_core_posix_file *f = rama_cap_awake() ? slot_now(fd) : NULL;
	if (f)
		rama_cap_layout(f->name, fd);
	else if (RAMA_CAP_UNLIKELY(rama_cap_uring_rings))
		rama_cap_uring_close(fd);
	rama_cap_fd_forget(fd);
	return f;
}

#define CLOSE_BODY(name)                                        \
	struct rama_core_posix_file *f = forget(fd);            \
	struct rama_cap_span sp;                                \
	if (!f || !rama_cap_begin(&sp, RAMA_TAB_FN_##name, fd)) \
		return RAMA_CAP_REAL(name)(fd);                 \
	return end_close(&sp, f, RAMA_CAP_REAL(name)(fd));

RAMA_CAP_EXPORT int RAMA_CAP_SYM(close)(int fd){ CLOSE_BODY(close) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(__close)(int fd)
{
	CLOSE_BODY(__close)
}

/* every file in the range gets its close; the time is that of the whole call */
static void close_many(unsigned first, unsigned last, uint64_t t0)
{
	struct rama_cap_span sp = { t0 };

	for (unsigned fd = first; fd < rama_cap_run.fd_high && fd <= last; fd++) {
		struct rama_core_posix_file *f = slot_now((int)fd);
		if (!f)
			continue;
		rama_cap_layout(f->name, (int)fd);
		end_close(&sp, f, 0);
	}
	rama_cap_uring_close_range(first, last);
	rama_cap_fd_forget_range(first, last);
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(close_range)(unsigned first, unsigned last, int flags)
{
	struct rama_cap_span sp;

	if (rama_cap_off || !rama_cap_awake())
		return RAMA_CAP_REAL(close_range)(first, last, flags);
	sp.t0 = rama_cap_ticks();
	if (!(flags & CLOSE_RANGE_CLOEXEC) && first <= last)
		close_many(first, last, sp.t0);
	return RAMA_CAP_REAL(close_range)(first, last, flags);
}

RAMA_CAP_EXPORT void RAMA_CAP_SYM(closefrom)(int first)
{
	if (!rama_cap_off && rama_cap_awake())
		close_many(first < 0 ? 0 : (unsigned)first, UINT32_MAX, rama_cap_ticks());
	RAMA_CAP_REAL(closefrom)(first);
}

/* ---- duplicates ------------------------------------------------------------------------------ */

static int end_dup(const struct rama_cap_span *sp, int fd, int r, unsigned fn)
{
	struct rama_cap_visit v;
	struct rama_cap_call c = CALL(dup, DUP, .op.ok = true);

	rama_cap_idle(sp);
	if (r < 0)
		return r;
	if (RAMA_CAP_UNLIKELY(rama_cap_uring_rings) && r != fd)
		rama_cap_uring_close(r); /* whatever it was */
	c.op.fn = (uint16_t)fn;
	rama_cap_times(sp, &c.op);
	if (!rama_cap_enter(&v)) {
		if (r != fd)
			rama_cap_fd_forget(r);
		return r;
	}
	struct rama_core_posix_file *f = rama_cap_fd_posix(v.t, fd);
	struct rama_cap_fd *from = rama_cap_fd(fd);
	if (r != fd)
		rama_cap_fd_set(r, f ? f : RAMA_CAP_NO_FILE,
				from && from->stdio == RAMA_CAP_NO_STREAM ? RAMA_CAP_NO_STREAM
									  : NULL,
				from ? from->name : 0);
	if (f)
		rama_cap_do_posix(v.t, f, &c.op);
	rama_cap_leave(&v);
	return r;
}

#define DUP_BODY(name, ...)                                               \
	struct rama_cap_span sp;                                          \
	if (rama_cap_off || !rama_cap_begin(&sp, RAMA_TAB_FN_##name, fd)) \
		return RAMA_CAP_REAL(name)(__VA_ARGS__);                  \
	return end_dup(&sp, fd, RAMA_CAP_REAL(name)(__VA_ARGS__), RAMA_TAB_FN_##name);

RAMA_CAP_EXPORT int RAMA_CAP_SYM(dup)(int fd){ DUP_BODY(dup, fd) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(dup2)(int fd, int to){ DUP_BODY(dup2, fd, to) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(__dup2)(int fd, int to){ DUP_BODY(__dup2, fd, to) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(dup3)(int fd, int to, int flags)
{
	DUP_BODY(dup3, fd, to, flags)
}

static int end_fcntl(const struct rama_cap_span *sp, int fd, int cmd, int r, unsigned fn)
{
	struct rama_cap_call c = CALL(fcntl, LOCK, .fd = fd, .op.ok = r == 0);

	rama_cap_idle(sp);
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return end_dup(sp, fd, r, fn);
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		c.op.fn = (uint16_t)fn;
		rama_cap_end_meta(sp, &c);
	}
	return r;
}

/* The third argument is a pointer or an int; as a word it is passed on unchanged. */
#define FCNTL_BODY(name)                                  \
	va_list ap;                                       \
	struct rama_cap_span sp;                          \
	va_start(ap, cmd);                                \
	void *arg = va_arg(ap, void *);                   \
	va_end(ap);                                       \
	if (!rama_cap_begin(&sp, RAMA_TAB_FN_##name, fd)) \
		return RAMA_CAP_REAL(name)(fd, cmd, arg); \
	return end_fcntl(&sp, fd, cmd, RAMA_CAP_REAL(name)(fd, cmd, arg), RAMA_TAB_FN_##name);

RAMA_CAP_EXPORT int RAMA_CAP_SYM(fcntl)(int fd, int cmd, ...){ FCNTL_BODY(fcntl) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(fcntl64)(int fd, int cmd, ...){ FCNTL_BODY(fcntl64) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(__fcntl)(int fd, int cmd, ...)
{
	FCNTL_BODY(__fcntl)
}

/* ---- from file to file: a read of the one, a write of the other ------------------------------ */

static void end_copy(const struct rama_cap_span *sp, unsigned fn, int fd, int64_t off, ssize_t r,
		     unsigned kind)
{
	struct rama_cap_call c =
		CALL(splice, READ, .fd = fd, .op.ok = r >= 0, .op.bytes = r, .op.off = off,
		     .op.has_off = off >= 0, .op.how = RAMA_CORE_HOW_COPY);

	c.op.fn = (uint16_t)fn;
	c.op.kind = (uint8_t)kind;
	rama_cap_end_data(sp, &c);
}

/* A position given by the caller has moved on by what was copied; after a failure it may not be
 * looked at. */
#define COPY_BODY(name, in_off_, out_off_, ...)                                \
	struct rama_cap_span sp;                                               \
	if (!rama_cap_begin(&sp, RAMA_TAB_FN_##name, in))                      \
		return RAMA_CAP_REAL(name)(__VA_ARGS__);                       \
	ssize_t r = RAMA_CAP_REAL(name)(__VA_ARGS__);                          \
	int64_t from = r >= 0 ? (in_off_) : -1, to = r >= 0 ? (out_off_) : -1; \
	end_copy(&sp, RAMA_TAB_FN_##name, in, from, r, RAMA_TAB_OP_READ);      \
	end_copy(&sp, RAMA_TAB_FN_##name, out, to, r, RAMA_TAB_OP_WRITE);      \
	return r;

RAMA_CAP_EXPORT ssize_t RAMA_CAP_SYM(sendfile)(int out, int in, off_t *off, size_t n){
	COPY_BODY(sendfile, off ? *off - r : -1, -1, out, in, off, n)
}

RAMA_CAP_EXPORT ssize_t RAMA_CAP_SYM(sendfile64)(int out, int in, off64_t *off, size_t n){
	COPY_BODY(sendfile64, off ? *off - r : -1, -1, out, in, off, n)
}

RAMA_CAP_EXPORT ssize_t RAMA_CAP_SYM(copy_file_range)(int in, off64_t *in_off, int out,
						      off64_t *out_off, size_t n, unsigned flags)
{
	COPY_BODY(copy_file_range, in_off ? *in_off - r : -1, out_off ? *out_off - r : -1, in,
		  in_off, out, out_off, n, flags)
}

static inline __attribute__((always_inline)) ssize_t copy_by_splice(
	int in, off64_t *in_off, int out, off64_t *out_off, size_t n,
	unsigned flags){ COPY_BODY(splice, in_off ? *in_off - r : -1, out_off ? *out_off - r : -1,
				   in, in_off, out, out_off, n, flags) }

RAMA_CAP_EXPORT ssize_t RAMA_CAP_SYM(splice)(int in, off64_t *in_off, int out, off64_t *out_off,
					     size_t n, unsigned flags)
{
	uint64_t before = rama_cap_fuse_any() ? rama_cap_ticks() : 0;
	ssize_t r = copy_by_splice(in, in_off, out, out_off, n, flags);

	if (rama_cap_fuse_any())
		rama_cap_fuse_spliced(in, out, r, before);
	return r;
}

/* ---- renaming -------------------------------------------------------------------------------- */

int rama_cap_end_rename(const struct rama_cap_span *sp, unsigned fn,
			const struct rama_cap_rename *what, int r)
{
	struct rama_cap_visit v;
	struct rama_cap_call c = CALL(rename, RENAME, .op.ok = r == 0);
	size_t len;

	c.op.fn = (uint16_t)fn;
	rama_cap_idle(sp);
	rama_cap_times(sp, &c.op);
	if (!rama_cap_enter(&v))
		return r;
	bool readable = c.op.ok || rama_cap_path_was_read(what->from, v.saved_errno);
	const char *from = readable ? rama_cap_clean(v.t, what->fromfd, what->from, &len) : NULL;
	struct rama_seg_name *old = from && c.op.ok ? rama_cap_name(v.t, from, len, true) : NULL;
	if (!c.op.ok) {
		if (from)
			rama_cap_path_failed(v.t, from, len, &c.op);
	} else if (old) {
		rama_cap_do_extra(v.t, rama_cap_name_number(old), &c.op);
		const char *to = rama_cap_clean(v.t, what->tofd, what->to, &len);
		struct rama_seg_name *n = to ? rama_cap_name(v.t, to, len, true) : NULL;
		if (n)
			rama_cap_do_origin(v.t, n, RAMA_TAB_EXTRA_RENAMED_FROM, old->id);
		/* the log format counts renames only of files it has a record of */
		if (old->slot[0]) {
			c.op.kind = RAMA_TAB_OP_RENAMEFROM;
			rama_cap_do_posix(v.t, rama_cap_posix_of(v.t, old), &c.op);
			struct rama_core_posix_file *f = n ? rama_cap_posix_of(v.t, n) : NULL;
			c.op.kind = RAMA_TAB_OP_RENAMETO;
			c.op.off = (int64_t)old->id;
			c.op.has_off = true;
			if (f)
				rama_cap_do_posix(v.t, f, &c.op);
		}
	}
	rama_cap_leave(&v);
	return r;
}

#define RENAME_BODY(name, fromfd_, tofd_, ...)                      \
	struct rama_cap_span sp;                                    \
	if (!rama_cap_begin(&sp, RAMA_TAB_FN_##name, -1))           \
		return RAMA_CAP_REAL(name)(__VA_ARGS__);            \
	struct rama_cap_rename what = { fromfd_, tofd_, from, to }; \
	return rama_cap_end_rename(&sp, RAMA_TAB_FN_##name, &what,  \
				   RAMA_CAP_REAL(name)(__VA_ARGS__));

RAMA_CAP_EXPORT int RAMA_CAP_SYM(rename)(const char *from, const char *to){
	RENAME_BODY(rename, AT_FDCWD, AT_FDCWD, from, to)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(renameat)(int fromfd, const char *from, int tofd, const char *to){
	RENAME_BODY(renameat, fromfd, tofd, fromfd, from, tofd, to)
}

RAMA_CAP_EXPORT
	int RAMA_CAP_SYM(renameat2)(int fromfd, const char *from, int tofd, const char *to,
				    unsigned flags){ RENAME_BODY(renameat2, fromfd, tofd, fromfd,
								 from, tofd, to, flags) }

/* ---- directories ----------------------------------------------------------------------------- */

RAMA_CAP_EXPORT DIR *RAMA_CAP_SYM(opendir)(const char *path)
{
	struct rama_cap_span sp;
	struct rama_cap_visit v;

	if (!rama_cap_begin(&sp, RAMA_TAB_FN_opendir, -1))
		return RAMA_CAP_REAL(opendir)(path);
	DIR *r = RAMA_CAP_REAL(opendir)(path);
	struct rama_cap_call c = CALL(opendir, READDIR, .path = path, .op.ok = r != NULL);
	rama_cap_end_meta(&sp, &c);
	if (r && rama_cap_enter(&v)) {
		size_t len;
		const char *text = rama_cap_clean(v.t, AT_FDCWD, path, &len);
		struct rama_seg_name *n = text ? rama_cap_name(v.t, text, len, true) : NULL;
		rama_cap_fd_set(dirfd(r), RAMA_CAP_NO_FILE, NULL, n ? rama_cap_name_number(n) : 0);
		rama_cap_leave(&v);
	}
	return r;
}

RAMA_CAP_EXPORT DIR *RAMA_CAP_SYM(fdopendir)(int fd)
{
	struct rama_cap_span sp;

	if (!rama_cap_begin(&sp, RAMA_TAB_FN_fdopendir, fd))
		return RAMA_CAP_REAL(fdopendir)(fd);
	DIR *r = RAMA_CAP_REAL(fdopendir)(fd);
	struct rama_cap_call c = CALL(fdopendir, READDIR, .fd = fd, .op.ok = r != NULL);
	rama_cap_end_meta(&sp, &c);
	return r;
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(closedir)(DIR *dir)
{
	int fd = dir ? dirfd(dir) : -1;
	struct rama_core_posix_file *f = fd >= 0 ? forget(fd) : NULL;
	struct rama_cap_span sp;

	if (!f || !rama_cap_begin(&sp, RAMA_TAB_FN_closedir, fd))
		return RAMA_CAP_REAL(closedir)(dir);
	return end_close(&sp, f, RAMA_CAP_REAL(closedir)(dir));
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(chdir)(const char *path)
{
	int r = RAMA_CAP_REAL(chdir)(path);

	if (!rama_cap_off)
		rama_cap_cwd_changed();
	return r;
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(fchdir)(int fd)
{
	int r = RAMA_CAP_REAL(fchdir)(fd);

	if (!rama_cap_off)
		rama_cap_cwd_changed();
	return r;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Which file a mapping is of, for msync: the latest ones, found by address. */
enum { MAPPINGS = 256 };
static struct {
	uintptr_t from, until;
	uint32_t name;
} mapping[MAPPINGS];
static uint32_t next_mapping;

static void end_mmap(const struct rama_cap_span *sp, void *r, int fd, struct rama_core_op *op)
{
	struct rama_cap_visit v;

	rama_cap_idle(sp);
	rama_cap_times(sp, op);
	if (r == MAP_FAILED || !rama_cap_enter(&v))
		return;
	struct rama_core_posix_file *f = rama_cap_fd_posix(v.t, fd);
	if (f) {
		rama_cap_do_posix(v.t, f, op);
		uint32_t i = __atomic_fetch_add(&next_mapping, 1, __ATOMIC_RELAXED) % MAPPINGS;
		mapping[i].from = (uintptr_t)r;
		mapping[i].until = (uintptr_t)r + (uintptr_t)op->bytes;
		mapping[i].name = f->name;
	}
	rama_cap_leave(&v);
}

#define MMAP_BODY(name)                                                                        \
	struct rama_cap_span sp;                                                               \
	if (fd < 0 || (flags & MAP_ANONYMOUS) || !rama_cap_begin(&sp, RAMA_TAB_FN_##name, fd)) \
		return RAMA_CAP_REAL(name)(addr, n, prot, flags, fd, off);                     \
	void *r = RAMA_CAP_REAL(name)(addr, n, prot, flags, fd, off);                          \
	struct rama_core_op op = { .fn = RAMA_TAB_FN_##name,                                   \
				   .kind = RAMA_TAB_OP_MMAP,                                   \
				   .ok = true,                                                 \
				   .has_off = true,                                            \
				   .off = off,                                                 \
				   .bytes = (int64_t)n };                                      \
	end_mmap(&sp, r, fd, &op);                                                             \
	return r;

RAMA_CAP_EXPORT void *RAMA_CAP_SYM(mmap)(void *addr, size_t n, int prot, int flags, int fd,
					 off_t off){ MMAP_BODY(mmap) }

RAMA_CAP_EXPORT void *RAMA_CAP_SYM(mmap64)(void *addr, size_t n, int prot, int flags, int fd,
					   off64_t off){ MMAP_BODY(mmap64) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(msync)(void *addr, size_t n, int flags)
{
	struct rama_cap_span sp;
	struct rama_cap_visit v;

	if (!rama_cap_begin(&sp, RAMA_TAB_FN_msync, -1))
		return RAMA_CAP_REAL(msync)(addr, n, flags);
	int r = RAMA_CAP_REAL(msync)(addr, n, flags);
	rama_cap_idle(&sp);
	struct rama_cap_call c = CALL(msync, MSYNC, .op.ok = r == 0);
	rama_cap_times(&sp, &c.op);
	if (!rama_cap_enter(&v))
		return r;
	for (uint32_t k = 0; k < MAPPINGS; k++) { /* newest first: addresses are used again */
		uint32_t i = (next_mapping - 1 - k) % MAPPINGS;
		if ((uintptr_t)addr >= mapping[i].from && (uintptr_t)addr < mapping[i].until) {
			rama_cap_do_extra(v.t, mapping[i].name, &c.op);
			break;
		}
	}
	rama_cap_leave(&v);
	return r;
}

/* ---- system calls by number: those of which the C library has no function, and the plain ones  */

static void end_syscall(const struct rama_cap_span *sp, long number, const long *a, long r)
{
	struct rama_cap_call c = CALL(syscall, READ, .fd = (int)a[0], .op.ok = r >= 0,
				      .op.bytes = r, .mem = (uintptr_t)a[1]);

	switch (number) {
	case SYS_openat2:
	case SYS_openat:
		c.op.kind = RAMA_TAB_OP_OPEN;
		c.dirfd = (int)a[0];
		c.path = (const char *)a[1];
		c.fd = (int)r;
		c.op.bytes = 0;
		if (number == SYS_openat2 && r >= 0)
			c.op.mode = (int32_t)((const struct open_how *)a[2])->mode;
		else if (number == SYS_openat &&
			 (a[2] & O_CREAT || (a[2] & O_TMPFILE) == O_TMPFILE))
			c.op.mode = (int32_t)a[3];
		rama_cap_end_open(sp, &c);
		break;
	case SYS_pread64:
	case SYS_pwrite64:
		c.op.off = a[3];
		c.op.has_off = true;
		/* fall through */
	case SYS_read:
	case SYS_write:
		if (number == SYS_write || number == SYS_pwrite64)
			c.op.kind = RAMA_TAB_OP_WRITE;
		rama_cap_end_data(sp, &c);
		break;
	}
}

RAMA_CAP_EXPORT long RAMA_CAP_SYM(syscall)(long number, ...)
{
	struct rama_cap_span sp;
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	switch (number) {
	case SYS_openat2:
	case SYS_openat:
	case SYS_read:
	case SYS_write:
	case SYS_pread64:
	case SYS_pwrite64:
		if (rama_cap_begin(&sp, RAMA_TAB_FN_syscall, -1)) {
			long r = RAMA_REAL_SYSCALL(number, a[0], a[1], a[2], a[3], a[4], a[5]);
			rama_cap_idle(&sp);
			end_syscall(&sp, number, a, r);
			return r;
		}
		break;
	case SYS_close:
		return RAMA_CAP_SYM(close)((int)a[0]);
	case SYS_io_uring_setup:
	case SYS_io_uring_enter:
	case SYS_io_uring_register:
		if (rama_cap_begin(&sp, RAMA_TAB_FN_syscall, -1)) {
			const struct rama_cap_uring_call c = rama_cap_uring_begin(&sp, number, a);
			long r = RAMA_REAL_SYSCALL(number, a[0], a[1], a[2], a[3], a[4], a[5]);
			rama_cap_idle(&sp);
			rama_cap_uring_end(&c, r, __builtin_return_address(0));
			return r;
		}
		break;
	case SYS_prctl:
	case SYS_seccomp: {
		const char *why = rama_cap_confines(number, a);
		long r = RAMA_REAL_SYSCALL(number, a[0], a[1], a[2], a[3], a[4], a[5]);
		rama_cap_confined(why, r);
		return r;
	}
	case SYS_close_range:
		return RAMA_CAP_SYM(close_range)((unsigned)a[0], (unsigned)a[1], (int)a[2]);
	}
	return RAMA_REAL_SYSCALL(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
