/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_rights.c: a process gives up rights, or goes where it cannot reach the directory of
 * segments. A forked child has its segment from its first I/O on: here it gets it before, while
 * it still may. What is mapped stays mapped. */
#include <grp.h>
#include <sched.h>

#include "capture/runtime.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define RIGHTS(name, ...)                                                                  \
	RAMA_CAP_EXPORT int RAMA_CAP_SYM(name)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__)) \
	{                                                                                  \
		rama_cap_settle();                                                         \
		return RAMA_CAP_REAL(name)(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__));      \
	}

RIGHTS(setuid, (uid_t, uid, NONE))
RIGHTS(seteuid, (uid_t, uid, NONE))
RIGHTS(setreuid, (uid_t, ruid, NONE), (uid_t, euid, NONE))
RIGHTS(setresuid, (uid_t, ruid, NONE), (uid_t, euid, NONE), (uid_t, suid, NONE))
RIGHTS(setgid, (gid_t, gid, NONE))
RIGHTS(setegid, (gid_t, gid, NONE))
RIGHTS(setregid, (gid_t, rgid, NONE), (gid_t, egid, NONE))
RIGHTS(setresgid, (gid_t, rgid, NONE), (gid_t, egid, NONE), (gid_t, sgid, NONE))
RIGHTS(setgroups, (size_t, n, NONE), (const gid_t *, list, NONE))
RIGHTS(chroot, (const char *, path, NONE))
RIGHTS(unshare, (int, flags, NONE))
RIGHTS(setns, (int, fd, NONE), (int, type, NONE))
