/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_fuse.c: reads and writes as all others, but for one thing: on the device of a FUSE daemon
 * they are requests of the kernel and their answers (hooks/fuse.c). */
#include "capture/hooks/hooks.h"
#include "capture/record.h"
#include "capture/runtime.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* __read_chk() */

#define CALL(fn_name, kind_, mem_)                                                                 \
	(struct rama_cap_call)                                                                     \
	{                                                                                          \
		.op.fn = RAMA_TAB_FN_##fn_name, .op.kind = RAMA_TAB_OP_##kind_, .dirfd = AT_FDCWD, \
		RAMA_TAB_OUT_BYTES(r).fd = fd, .mem = (mem_)                                       \
	}

/* A function that is observed, and in front of it short ways past it: for sockets of a daemon, and
 * for its device. */
#define DOOR(name, parameters, ...)                                          \
	static __attribute__((noinline)) ssize_t seen_##name parameters;     \
	static __attribute__((noinline)) ssize_t asked_##name parameters;    \
	static __attribute__((noinline)) ssize_t served_##name parameters    \
	{                                                                    \
		if (rama_cap_hooks_pass(fd))                                 \
			return RAMA_CAP_REAL(name)(__VA_ARGS__);             \
		return rama_cap_hooks_device(fd) ? asked_##name(__VA_ARGS__) \
						 : seen_##name(__VA_ARGS__); \
	}                                                                    \
	RAMA_CAP_EXPORT ssize_t RAMA_CAP_SYM(name) parameters                \
	{                                                                    \
		if (RAMA_CAP_LIKELY(!rama_cap_hooks_armed))                  \
			return seen_##name(__VA_ARGS__);                     \
		PASS_AT_ONCE(name, __VA_ARGS__)                              \
		return served_##name(__VA_ARGS__);                           \
	}

/* without a call that comes back there is nothing to be kept */
#ifdef RAMA_STATIC_WRAP
#define PASS_AT_ONCE(name, ...)
#else
#define PASS_AT_ONCE(name, ...)                                                              \
	__typeof__(rama_cap_real.name) real_ =                                               \
		__atomic_load_n(&rama_cap_real.name, __ATOMIC_RELAXED);                      \
	unsigned what_ = (unsigned)fd < RAMA_CAP_FDS_FIRST ? rama_cap_hooks_past[fd] : 0;    \
                                                                                             \
	if (RAMA_CAP_LIKELY(what_ == RAMA_CAP_HOOKS_PAST) && RAMA_CAP_LIKELY(real_ != NULL)) \
		return real_(__VA_ARGS__);                                                   \
	if (what_ == RAMA_CAP_HOOKS_DEVICE && *rama_cap_live == rama_cap_thread.live)        \
		return asked_##name(__VA_ARGS__);
#endif

#define READ(...) READ_(__VA_ARGS__)
#define READ_(name, iov_, cnt_, mem_, parameters, ...)            \
	DOOR(name, parameters, __VA_ARGS__)                       \
	static ssize_t asked_##name parameters                    \
	{                                                         \
		ssize_t r = RAMA_CAP_REAL(name)(__VA_ARGS__);     \
		rama_cap_fuse_request(iov_, cnt_, r);             \
		return r;                                         \
	}                                                         \
	static ssize_t seen_##name parameters                     \
	{                                                         \
		struct rama_cap_span sp;                          \
		if (!rama_cap_begin(&sp, RAMA_TAB_FN_##name, fd)) \
			return RAMA_CAP_REAL(name)(__VA_ARGS__);  \
		ssize_t r = RAMA_CAP_REAL(name)(__VA_ARGS__);     \
		if (rama_cap_fuse_any())                          \
			rama_cap_fuse_took(fd, iov_, cnt_, r);    \
		rama_cap_end_data(&sp, &CALL(name, READ, mem_));  \
		return r;                                         \
	}

/* a request that was taken back is answered, too: the kernel says so, having read the answer */
#define WRITE(...) WRITE_(__VA_ARGS__)
#define WRITE_(name, iov_, cnt_, mem_, parameters, ...)                                     \
	DOOR(name, parameters, __VA_ARGS__)                                                 \
	static ssize_t asked_##name parameters                                              \
	{                                                                                   \
		uint64_t t0 = rama_cap_ticks();                                             \
		ssize_t r = RAMA_CAP_REAL(name)(__VA_ARGS__);                               \
		if (r >= 0 || errno == ENOENT)                                              \
			rama_cap_fuse_answer(iov_, cnt_, t0);                               \
		return r;                                                                   \
	}                                                                                   \
	static ssize_t seen_##name parameters                                               \
	{                                                                                   \
		struct rama_cap_span sp;                                                    \
		if (!rama_cap_begin(&sp, RAMA_TAB_FN_##name, fd))                           \
			return RAMA_CAP_REAL(name)(__VA_ARGS__);                            \
		ssize_t r = RAMA_CAP_REAL(name)(__VA_ARGS__);                               \
		if (RAMA_CAP_UNLIKELY(rama_cap_fuse_is(fd)) && (r >= 0 || errno == ENOENT)) \
			rama_cap_fuse_answer(iov_, cnt_, sp.t0);                            \
		rama_cap_end_data(&sp, &CALL(name, WRITE, mem_));                           \
		return r;                                                                   \
	}

#define IOV_MEM (r >= 0 ? rama_cap_iov_mem(iov, cnt) : 0)
#define ONE(buf, n) &((struct iovec){ (void *)(uintptr_t)(buf), n }), 1, (uintptr_t)(buf)

READ(read, ONE(buf, n), (int fd, void *buf, size_t n), fd, buf, n)
READ(__read_chk, ONE(buf, n), (int fd, void *buf, size_t n, size_t cap), fd, buf, n, cap)
READ(readv, iov, cnt, IOV_MEM, (int fd, const struct iovec *iov, int cnt), fd, iov, cnt)
WRITE(write, ONE(buf, n), (int fd, const void *buf, size_t n), fd, buf, n)
WRITE(writev, iov, cnt, IOV_MEM, (int fd, const struct iovec *iov, int cnt), fd, iov, cnt)

/* To and from pipes: what lies in one may be a request or an answer. It is no I/O of its own. */
RAMA_CAP_EXPORT ssize_t RAMA_CAP_SYM(vmsplice)(int fd, const struct iovec *iov, size_t n,
					       unsigned flags)
{
	ssize_t r = RAMA_CAP_REAL(vmsplice)(fd, iov, n, flags);

	if (rama_cap_fuse_any())
		rama_cap_fuse_vmspliced(iov, n, r);
	return r;
}
