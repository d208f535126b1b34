/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_wait.c: calls that wait for anything. A program that uses a ring of io_uring without calls
 * waits for its completions in one of these; all others pay a test of one word. */
#include <poll.h>
#include <sys/epoll.h>

#include "capture/uring/uring.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define RAMA_CAP_LAZY_ROWS "table/fn_wait.def"
#include "capture/wrap/lazy.def"

/* Not while the library sleeps, nor in the child of a vfork. */
static __attribute__((noinline)) void look(void)
{
	struct rama_cap_span sp;
	int saved = errno;

	if (!rama_cap_off && rama_cap_begin(&sp, RAMA_TAB_FN_epoll_wait, -1)) {
		rama_cap_idle(&sp);
		rama_cap_uring_watch();
	}
	errno = saved;
}

#define BODY(name, ...)                                  \
	if (RAMA_CAP_LIKELY(!rama_cap_uring_watched))    \
		return RAMA_CAP_LAZY(name)(__VA_ARGS__); \
	look();                                          \
	int r = RAMA_CAP_LAZY(name)(__VA_ARGS__);        \
	look();                                          \
	return r;

RAMA_CAP_EXPORT int RAMA_CAP_SYM(epoll_wait)(int fd, struct epoll_event *events, int n,
					     int limit){ BODY(epoll_wait, fd, events, n, limit) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(epoll_pwait)(int fd, struct epoll_event *events, int n, int limit,
					      const sigset_t *mask){ BODY(epoll_pwait, fd, events,
									  n, limit, mask) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(epoll_pwait2)(int fd, struct epoll_event *events, int n,
					       const struct timespec *limit, const sigset_t *mask){
	BODY(epoll_pwait2, fd, events, n, limit, mask)
}

RAMA_CAP_EXPORT
	int RAMA_CAP_SYM(poll)(struct pollfd *fds, nfds_t n, int limit){ BODY(poll, fds, n, limit) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(ppoll)(struct pollfd *fds, nfds_t n, const struct timespec *limit,
					const sigset_t *mask){ BODY(ppoll, fds, n, limit, mask) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(__poll_chk)(struct pollfd *fds, nfds_t n, int limit,
					     size_t room){ BODY(__poll_chk, fds, n, limit, room) }

RAMA_CAP_EXPORT
	int RAMA_CAP_SYM(__ppoll_chk)(struct pollfd *fds, nfds_t n, const struct timespec *limit,
				      const sigset_t *mask, size_t room)
{
	BODY(__ppoll_chk, fds, n, limit, mask, room)
}
