/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_memory.c: mlockall(). It is for the memory of the application: ours counts neither when
 * the system decides whether it may, nor is it locked, for all of it would have to be there
 * then. */
#include <sys/mman.h>
#include <sys/resource.h>

#include "capture/runtime.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#ifndef MCL_ONFAULT
#define MCL_ONFAULT 4
#endif
#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT 1
#endif

/* ---- what is not ours ------------------------------------------------------------------------ */

static uint64_t our_size(void)
{
	uintptr_t from, to = 0;
	uint64_t n = 0;

	while (rama_cap_memory_next(to, &from, &to))
		n += to - from;
	return n;
}

static void unlock_ours(void)
{
	uintptr_t from, to = 0;

	while (rama_cap_memory_next(to, &from, &to))
		rama_cap_sys3(SYS_munlock, from, to - from, 0);
}

/* What mlockall() cannot lock it passes over, too. */
static void lock_range(uintptr_t from, uintptr_t to, int how)
{
	uintptr_t ours = 0, end = 0;

	while (from < to) {
		if (!rama_cap_memory_next(from, &ours, &end) || ours > to)
			ours = end = to;
		if (ours > from)
			rama_cap_sys3(SYS_mlock2, from, ours - from, how);
		from = end > from ? end : to;
	}
}

/* a line of /proc/self/maps begins with its range; the number ends where *at is then */
static uintptr_t hex(const char **at)
{
	uintptr_t v = 0;

	for (;; ++*at) {
		char c = **at;
		unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
			     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
						    : 16;
		if (d == 16)
			return v;
		v = v * 16 + d;
	}
}

static void lock_line(const char *line, int how)
{
	uintptr_t from = hex(&line), to;

	if (*line++ != '-')
		return;
	to = hex(&line);
	if (to > from && to < UINTPTR_MAX / 2) /* the page of the kernel is above */
		lock_range(from, to, how);
}

/* All that the process has mapped and is not ours; false: it cannot be told what that is. `how`:
 * 0 or MLOCK_ONFAULT */
static bool lock_others(int how)
{
	int fd = rama_cap_sys_open("/proc/self/maps", O_RDONLY, 0);
	char buf[2048];
	size_t have = 0;
	bool skip = false; /* the rest of a line that was too long */

	if (fd < 0)
		return false;
	for (;;) {
		long n = rama_cap_sys3(SYS_read, fd, buf + have, sizeof(buf) - 1 - have);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
		buf[have] = '\0';
		char *line = buf, *end;
		while ((end = memchr(line, '\n', have - (size_t)(line - buf)))) {
			if (!skip)
				lock_line(line, how);
			skip = false;
			line = end + 1;
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have == sizeof(buf) - 1) {
			if (!skip)
				lock_line(buf, how);
			skip = true;
			have = 0;
		}
	}
	rama_cap_sys_close(fd);
	return true;
}

/* Would the process without us be within its limit? */
static bool fits_without_us(void)
{
	uint64_t limit[2] = { 0, 0 }, pages = 0;
	char text[64];

	if (rama_cap_sys_slurp("/proc/self/statm", text, sizeof(text)) == 0)
		return false;
	for (const char *c = text; *c >= '0' && *c <= '9'; c++)
		pages = pages * 10 + (uint64_t)(*c - '0');
	rama_cap_sys6(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, (long)limit, 0, 0);
	return pages * RAMA_SEG_PAGE <= limit[0] / RAMA_SEG_PAGE * RAMA_SEG_PAGE + our_size();
}

/* ---- mlockall -------------------------------------------------------------------------------- */

static bool locks_future;

static void note(int flags)
{
	locks_future = flags & MCL_FUTURE;
	rama_cap_memory_locks(locks_future);
}

/* The system may lock all: first in name only, so that nothing of ours comes to be in memory for
 * it. */
static int lock_all(int flags)
{
	int r = RAMA_CAP_REAL(mlockall)(flags | MCL_ONFAULT);

	if (r != 0 && errno == EINVAL && !(flags & MCL_ONFAULT)) /* an old kernel, or nonsense */
		r = RAMA_CAP_REAL(mlockall)(flags);
	else if (r == 0 && !(flags & MCL_ONFAULT)) {
		unlock_ours();
		if (!lock_others(0))
			r = RAMA_CAP_REAL(mlockall)(flags);
		else if (flags & MCL_FUTURE)
			r = RAMA_CAP_REAL(mlockall)(MCL_FUTURE);
	}
	if (r == 0)
		unlock_ours();
	return r;
}

/* It may not, because of us: one after the other. */
static int lock_each(int flags)
{
	if (flags & MCL_FUTURE)
		RAMA_CAP_REAL(mlockall)(flags & ~MCL_CURRENT);
	else if (locks_future) /* that ends with this call */
		rama_cap_sys3(SYS_munlockall, 0, 0, 0);
	return lock_others(flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0) ? 0 : -1;
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(mlockall)(int flags)
{
	int saved = errno, r;

	if (rama_cap_off || !rama_cap_awake())
		return RAMA_CAP_REAL(mlockall)(flags);
	rama_cap_memory_locks(flags & MCL_FUTURE); /* before it holds */
	if (!(flags & MCL_CURRENT)) {
		r = RAMA_CAP_REAL(mlockall)(flags);
	} else {
		r = lock_all(flags);
		int why = errno;
		if (r != 0 && why == ENOMEM && fits_without_us())
			r = lock_each(flags);
		errno = r == 0 ? saved : why;
	}
	if (r == 0)
		note(flags);
	else
		rama_cap_memory_locks(locks_future);
	return r;
}
