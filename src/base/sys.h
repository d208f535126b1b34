/* SPDX-License-Identifier: BSD-3-Clause */
/* sys.h: system calls made directly: for code that also runs inside of observed processes, where
 * functions of the C library are those that we replace (syscall(), too), may be cancellation
 * points and change errno. */
#ifndef RAMA_BASE_SYS_H
#define RAMA_BASE_SYS_H

#include <sys/syscall.h>

#if defined(__x86_64__) || defined(__aarch64__)
#define RAMA_SYS_DIRECT
#else
#include <errno.h>
#include <unistd.h>
#endif

/* result, or a negative errno */
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
	long r = syscall(n, a, b, c, d, e, f);
	return r == -1 ? -errno : r;
#endif
}

#define rama_sys_always3(n, a, b, c) rama_sys_always(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)

#endif
