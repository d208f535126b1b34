/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_uring.c: liburing. In an object of its own, because only programs that use it have the real
 * functions. Of its struct only the ring's descriptor is looked at. */
#include <linux/time_types.h>
#include <signal.h>

#include "capture/uring/uring.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

struct io_uring;

#define RAMA_CAP_LAZY_ROWS "table/fn_uring.def"
#include "capture/wrap/lazy.def"

/* of struct io_uring, in all versions from 0.7 on; a number that is no ring's is none */
enum { AT_RING_FD = 196 };

static int fd_of(const struct io_uring *ring)
{
	int fd;

	memcpy(&fd, (const char *)ring + AT_RING_FD, sizeof(fd));
	return fd;
}

static struct rama_cap_uring *ring_of(const struct io_uring *ring)
{
	return ring ? rama_cap_uring_find(fd_of(ring)) : NULL;
}

/* ---- setup and end --------------------------------------------------------------------------- */

static int made(const struct rama_cap_span *sp, int r, int fd, const struct io_uring_params *p)
{
	int saved = errno;

	rama_cap_idle(sp);
	if (r >= 0)
		rama_cap_uring_made(fd, p, false);
	errno = saved;
	return r;
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_queue_init)(unsigned entries, struct io_uring *ring,
						      unsigned flags)
{
	struct io_uring_params p = { .flags = flags }; /* as it does itself */
	struct rama_cap_span sp;

	if (!rama_cap_begin(&sp, RAMA_TAB_FN_io_uring_queue_init, -1))
		return RAMA_CAP_LAZY(io_uring_queue_init)(entries, ring, flags);
	int r = RAMA_CAP_LAZY(io_uring_queue_init_params)(entries, ring, &p);
	return made(&sp, r, r >= 0 ? fd_of(ring) : -1, &p);
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_queue_init_params)(unsigned entries,
							     struct io_uring *ring,
							     struct io_uring_params *p)
{
	struct rama_cap_span sp;

	if (!rama_cap_begin(&sp, RAMA_TAB_FN_io_uring_queue_init_params, -1))
		return RAMA_CAP_LAZY(io_uring_queue_init_params)(entries, ring, p);
	int r = RAMA_CAP_LAZY(io_uring_queue_init_params)(entries, ring, p);
	return made(&sp, r, r >= 0 ? fd_of(ring) : -1, p);
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_queue_init_mem)(unsigned entries, struct io_uring *ring,
							  struct io_uring_params *p, void *buf,
							  size_t n)
{
	struct rama_cap_span sp;

	if (!rama_cap_begin(&sp, RAMA_TAB_FN_io_uring_queue_init_mem, -1))
		return RAMA_CAP_LAZY(io_uring_queue_init_mem)(entries, ring, p, buf, n);
	int r = RAMA_CAP_LAZY(io_uring_queue_init_mem)(entries, ring, p, buf, n);
	return made(&sp, r, r >= 0 ? fd_of(ring) : -1, p);
}

/* its setup may have been seen already */
RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_queue_mmap)(int fd, struct io_uring_params *p,
						      struct io_uring *ring)
{
	struct rama_cap_span sp;

	if (!rama_cap_begin(&sp, RAMA_TAB_FN_io_uring_queue_mmap, fd))
		return RAMA_CAP_LAZY(io_uring_queue_mmap)(fd, p, ring);
	int r = RAMA_CAP_LAZY(io_uring_queue_mmap)(fd, p, ring);
	if (rama_cap_uring_find(fd)) {
		rama_cap_idle(&sp);
		return r;
	}
	return made(&sp, r, fd, p);
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_setup)(unsigned entries, struct io_uring_params *p)
{
	struct rama_cap_span sp;

	if (!rama_cap_begin(&sp, RAMA_TAB_FN_io_uring_setup, -1))
		return RAMA_CAP_LAZY(io_uring_setup)(entries, p);
	int r = RAMA_CAP_LAZY(io_uring_setup)(entries, p);
	return made(&sp, r, r, p);
}

RAMA_CAP_EXPORT void RAMA_CAP_SYM(io_uring_queue_exit)(struct io_uring *ring)
{
	int saved = errno;

	if (ring && !rama_cap_off && rama_cap_uring_rings)
		rama_cap_uring_close(fd_of(ring));
	errno = saved;
	RAMA_CAP_LAZY(io_uring_queue_exit)(ring);
}

/* ---- sights ---------------------------------------------------------------------------------- */

#define SIGHT(ret, name, submits, on, ...)                                         \
	struct rama_cap_span sp;                                                   \
	struct rama_cap_uring *is;                                                 \
	if (!rama_cap_uring_rings || !rama_cap_begin(&sp, RAMA_TAB_FN_##name, -1)) \
		return RAMA_CAP_LAZY(name)(__VA_ARGS__);                           \
	is = on;                                                                   \
	rama_cap_uring_before(is, &sp, submits);                                   \
	ret r = RAMA_CAP_LAZY(name)(__VA_ARGS__);                                  \
	int saved = errno;                                                         \
	rama_cap_idle(&sp);                                                        \
	rama_cap_uring_after(is, &sp, submits, (long)r);                           \
	errno = saved;                                                             \
	return r;

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_submit)(struct io_uring *ring){
	SIGHT(int, io_uring_submit, true, ring_of(ring), ring)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_submit_and_wait)(struct io_uring *ring, unsigned n){
	SIGHT(int, io_uring_submit_and_wait, true, ring_of(ring), ring, n)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_submit_and_get_events)(struct io_uring *ring){
	SIGHT(int, io_uring_submit_and_get_events, true, ring_of(ring), ring)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_submit_and_wait_timeout)(struct io_uring *ring,
								   struct io_uring_cqe **cqe,
								   unsigned n,
								   struct __kernel_timespec *limit,
								   sigset_t *mask){
	SIGHT(int, io_uring_submit_and_wait_timeout, true, ring_of(ring), ring, cqe, n, limit, mask)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_submit_and_wait_min_timeout)(
	struct io_uring *ring, struct io_uring_cqe **cqe, unsigned n,
	struct __kernel_timespec *limit, unsigned least,
	sigset_t *mask){ SIGHT(int, io_uring_submit_and_wait_min_timeout, true, ring_of(ring), ring,
			       cqe, n, limit, least, mask) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_submit_and_wait_reg)(struct io_uring *ring,
							       struct io_uring_cqe **cqe,
							       unsigned n, int index){
	SIGHT(int, io_uring_submit_and_wait_reg, true, ring_of(ring), ring, cqe, n, index)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_get_events)(struct io_uring *ring){
	SIGHT(int, io_uring_get_events, false, ring_of(ring), ring)
}

/* without the kernel's help it submits a timeout, and all that is queued */
RAMA_CAP_EXPORT
	int RAMA_CAP_SYM(io_uring_wait_cqes)(struct io_uring *ring, struct io_uring_cqe **cqe,
					     unsigned n, struct __kernel_timespec *limit,
					     sigset_t *mask){
		SIGHT(int, io_uring_wait_cqes, false, ring_of(ring), ring, cqe, n, limit, mask)
	}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_wait_cqes_min_timeout)(
	struct io_uring *ring, struct io_uring_cqe **cqe, unsigned n,
	struct __kernel_timespec *limit, unsigned least,
	sigset_t *mask){ SIGHT(int, io_uring_wait_cqes_min_timeout, false, ring_of(ring), ring, cqe,
			       n, limit, least, mask) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_wait_cqe_timeout)(struct io_uring *ring,
							    struct io_uring_cqe **cqe,
							    struct __kernel_timespec *limit){
	SIGHT(int, io_uring_wait_cqe_timeout, false, ring_of(ring), ring, cqe, limit)
}

RAMA_CAP_EXPORT
	unsigned RAMA_CAP_SYM(io_uring_peek_batch_cqe)(struct io_uring *ring,
						       struct io_uring_cqe **cqe, unsigned n){
		SIGHT(unsigned, io_uring_peek_batch_cqe, false, ring_of(ring), ring, cqe, n)
	}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(__io_uring_get_cqe)(struct io_uring *ring,
						     struct io_uring_cqe **cqe, unsigned submit,
						     unsigned n, sigset_t *mask){
	SIGHT(int, __io_uring_get_cqe, submit > 0, ring_of(ring), ring, cqe, submit, n, mask)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(__io_uring_sqring_wait)(struct io_uring *ring){
	SIGHT(int, __io_uring_sqring_wait, false, ring_of(ring), ring)
}

#define RING_OF_FD (flags & IORING_ENTER_REGISTERED_RING ? NULL : rama_cap_uring_find((int)fd))

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_enter)(unsigned fd, unsigned submit, unsigned wait,
						 unsigned flags, sigset_t *mask){
	SIGHT(int, io_uring_enter, submit > 0, RING_OF_FD, fd, submit, wait, flags, mask)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_enter2)(unsigned fd, unsigned submit, unsigned wait,
						  unsigned flags, void *arg, size_t n){
	SIGHT(int, io_uring_enter2, submit > 0, RING_OF_FD, fd, submit, wait, flags, arg, n)
}

/* ---- registered files ------------------------------------------------------------------------ */

#define REGISTER(name, then, ...)                                                  \
	struct rama_cap_span sp;                                                   \
	if (!rama_cap_uring_rings || !rama_cap_begin(&sp, RAMA_TAB_FN_##name, -1)) \
		return RAMA_CAP_LAZY(name)(__VA_ARGS__);                           \
	int r = RAMA_CAP_LAZY(name)(__VA_ARGS__);                                  \
	int saved = errno;                                                         \
	rama_cap_idle(&sp);                                                        \
	if (r >= 0)                                                                \
		then;                                                              \
	errno = saved;                                                             \
	return r;

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_register)(unsigned fd, unsigned opcode, const void *arg,
						    unsigned n){
	REGISTER(io_uring_register, rama_cap_uring_registered((int)fd, opcode, (uintptr_t)arg, n),
		 fd, opcode, arg, n)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_register_files)(struct io_uring *ring, const int *fds,
							  unsigned n){
	REGISTER(io_uring_register_files, rama_cap_uring_files_set(fd_of(ring), (uintptr_t)fds, n),
		 ring, fds, n)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_register_files_tags)(struct io_uring *ring,
							       const int *fds, const __u64 *tags,
							       unsigned n){
	REGISTER(io_uring_register_files_tags,
		 rama_cap_uring_files_set(fd_of(ring), (uintptr_t)fds, n), ring, fds, tags, n)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_register_files_sparse)(struct io_uring *ring, unsigned n){
	REGISTER(io_uring_register_files_sparse, rama_cap_uring_files_set(fd_of(ring), 0, n), ring,
		 n)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_register_files_update)(struct io_uring *ring, unsigned at,
								 const int *fds, unsigned n){
	REGISTER(io_uring_register_files_update,
		 rama_cap_uring_files_update(fd_of(ring), at, (uintptr_t)fds, n), ring, at, fds, n)
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_register_files_update_tag)(
	struct io_uring *ring, unsigned at, const int *fds, const __u64 *tags,
	unsigned n){ REGISTER(io_uring_register_files_update_tag,
			      rama_cap_uring_files_update(fd_of(ring), at, (uintptr_t)fds, n), ring,
			      at, fds, tags, n) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_uring_unregister_files)(struct io_uring *ring){
	REGISTER(io_uring_unregister_files, rama_cap_uring_files_set(fd_of(ring), 0, 0), ring)
}

RAMA_CAP_EXPORT
	int RAMA_CAP_SYM(io_uring_resize_rings)(struct io_uring *ring, struct io_uring_params *p)
{
	enum { RESIZE_RINGS = 33 };

	REGISTER(io_uring_resize_rings,
		 rama_cap_uring_registered(fd_of(ring), RESIZE_RINGS, (uintptr_t)p, 1), ring, p)
}
