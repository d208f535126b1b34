/* SPDX-License-Identifier: BSD-3-Clause */
/* sys.h: system calls made directly. Inside an application our own I/O must not pass through the
 * very functions we replace, must not be a cancellation point and must not touch errno. */
#ifndef RAMA_CAPTURE_SYS_H
#define RAMA_CAPTURE_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sys.h"

#if !defined(RAMA_SYS_DIRECT)
#error "capture needs to know how to make a system call on this processor: add it to base/sys.h"
#endif

/* The process has confined itself (confine.c): a system call of ours could end it, so none is
 * made but by rama_sys_always(). */
extern uint32_t rama_cap_quiet __attribute__((visibility("hidden")));

static inline long rama_cap_sys6(long n, long a, long b, long c, long d, long e, long f)
{
	return __builtin_expect(rama_cap_quiet, 0) ? -EPERM : rama_sys_always(n, a, b, c, d, e, f);
}

#define rama_cap_sys3(n, a, b, c) rama_cap_sys6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)

static inline int rama_cap_sys_open(const char *path, int flags, unsigned mode)
{
	return (int)rama_cap_sys6(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, mode, 0, 0);
}

static inline void rama_cap_sys_close(int fd)
{
	rama_cap_sys3(SYS_close, fd, 0, 0);
}

/* the whole file if it fits, NUL added; bytes read, 0 if it cannot be read */
size_t rama_cap_sys_slurp(const char *path, char *buf, size_t size);

#endif
