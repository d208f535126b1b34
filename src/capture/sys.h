/* SPDX-License-Identifier: BSD-3-Clause */
/* sys.h: system calls made directly. Inside an application our own I/O must not pass through the very
 * functions we replace, must not be a cancellation point and must not touch errno. */
#ifndef RAMA_CAPTURE_SYS_H
#define RAMA_CAPTURE_SYS_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

/* The process has confined itself (confine.c): a system call of ours could end it, so none is
 * made. */
extern uint32_t rama_quiet __attribute__((visibility("hidden")));

/* result, or a negative errno; the first one even if we are quiet */
static inline long rama_sys_always(long n, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	long r;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "capture needs to know how to make a system call on this processor: add it to capture/sys.h"
#endif
}

static inline long rama_sys6(long n, long a, long b, long c, long d, long e, long f)
{
	return __builtin_expect(rama_quiet, 0) ? -EPERM : rama_sys_always(n, a, b, c, d, e, f);
}

#define rama_sys3(n, a, b, c) rama_sys6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)

static inline int rama_sys_open(const char *path, int flags, unsigned mode)
{
	return (int)rama_sys6(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC, mode, 0, 0);
}

static inline void rama_sys_close(int fd)
{
	rama_sys3(SYS_close, fd, 0, 0);
}

/* the whole file if it fits, NUL added; bytes read, 0 if it cannot be read */
size_t rama_sys_slurp(const char *path, char *buf, size_t size);

#endif
