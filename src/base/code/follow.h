/* SPDX-License-Identifier: BSD-3-Clause */
/* follow.h: how a thread that is about to become a program which cannot be observed from inside
 * asks to be followed from outside (src/any). Async-signal-safe, and without functions that our
 * library replaces: it is also used inside of observed processes, between vfork and exec. */
#ifndef RAMA_BASE_CODE_FOLLOW_H
#define RAMA_BASE_CODE_FOLLOW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/sys.h"

/* Who follows listens at a socket without a file; the name is handed on in IORAMA_ANY. */
#define RAMA_FOLLOW_NAME 96
#define RAMA_FOLLOW_PATIENCE 10 /* seconds that an answer may take */

/* what is asked, and of which thread of the process that asks; 0: its first */
enum { RAMA_FOLLOW_ME = 'm', RAMA_FOLLOW_NOT = 'n', RAMA_FOLLOW_DONE = 'd' };
struct rama_follow_ask {
	uint32_t what, tid;
};
#define RAMA_FOLLOW_YES 'y'

static inline int rama_follow_connect(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = RAMA_FOLLOW_PATIENCE };
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	size_t n = strnlen(name, RAMA_FOLLOW_NAME - 1);
	int fd;

	memcpy(at.sun_path + 1, name, n);
	fd = (int)rama_sys_always3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	rama_sys_always(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, (long)&patience,
			sizeof(patience), 0);
	/* anybody may take a name: only our own user is asked */
	if (rama_sys_always3(SYS_connect, fd, &at,
			     offsetof(struct sockaddr_un, sun_path) + 1 + n) != 0 ||
	    rama_sys_always(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&size,
			    0) != 0 ||
	    ((long)peer.uid != rama_sys_always3(SYS_geteuid, 0, 0, 0) && peer.uid != 0)) {
		rama_sys_always3(SYS_close, fd, 0, 0);
		return -1;
	}
	/* where only parents may follow (Yama): it may, too */
	rama_sys_always(SYS_prctl, PR_SET_PTRACER, peer.pid, 0, 0, 0, 0);
	return fd;
}

/* 0: it is done */
static inline int rama_follow_ask(const char *name, unsigned what)
{
	long tid = rama_sys_always3(SYS_gettid, 0, 0, 0);
	struct rama_follow_ask ask = {
		.what = what,
		.tid = tid == rama_sys_always3(SYS_getpid, 0, 0, 0) ? 0 : (uint32_t)tid,
	};
	char answer = 0;
	int fd = rama_follow_connect(name);

	if (fd < 0)
		return -1;
	if (rama_sys_always(SYS_sendto, fd, (long)&ask, sizeof(ask), MSG_NOSIGNAL, 0, 0) ==
	    (long)sizeof(ask))
		while (rama_sys_always3(SYS_read, fd, &answer, 1) == -4 /* EINTR */)
			continue;
	rama_sys_always3(SYS_close, fd, 0, 0);
	return answer == RAMA_FOLLOW_YES ? 0 : -1;
}

#endif
