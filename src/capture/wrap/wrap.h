/* SPDX-License-Identifier: BSD-3-Clause */
/* wrap.h: how a wrapper is named, how it reaches the real function, and the door through which
 * every observed call goes: rama_cap_begin() before it, one of rama_cap_end_...() after it.
 *
 * preload: we are `read`, the real one sits in a slot filled by dlsym(RTLD_NEXT) static:  we are
 * `__wrap_read`, the linker gives us `__real_read` (ld --wrap) */
#ifndef RAMA_CAPTURE_WRAP_WRAP_H
#define RAMA_CAPTURE_WRAP_WRAP_H

#include <aio.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utime.h>

#include "core/op.h"
#include "table/map.h"
#include "table/roles.h"

/* the headers have these as macros too */
#undef fread_unlocked
#undef fwrite_unlocked
#undef getc
#undef putc
#undef getc_unlocked
#undef putc_unlocked

/* The headers give these names to the C99 forms; we need both forms under their own names. */
#ifndef RAMA_STATIC_WRAP
#define fscanf rama_plain_fscanf
#define scanf rama_plain_scanf
#define vfscanf rama_plain_vfscanf
#define vscanf rama_plain_vscanf
int fscanf(FILE *restrict stream, const char *restrict fmt, ...) __asm__("fscanf");
int scanf(const char *restrict fmt, ...) __asm__("scanf");
int vfscanf(FILE *restrict stream, const char *restrict fmt, va_list ap) __asm__("vfscanf");
int vscanf(const char *restrict fmt, va_list ap) __asm__("vscanf");
#endif

typedef int rama_cap_vscan(FILE *restrict stream, const char *restrict fmt, va_list ap);
typedef int rama_cap_pick_scandir(const struct dirent *);
typedef int rama_cap_order_scandir(const struct dirent **, const struct dirent **);
typedef int rama_cap_pick_scandir64(const struct dirent64 *);
typedef int rama_cap_order_scandir64(const struct dirent64 **, const struct dirent64 **);

#define RAMA_CAP_PARAM_(type, name, role) type name
#define RAMA_CAP_PARAM(t) RAMA_CAP_PARAM_ t
#define RAMA_CAP_ARG_(type, name, role) name
#define RAMA_CAP_ARG(t) RAMA_CAP_ARG_ t
#define RAMA_CAP_IN_(type, name, role) RAMA_TAB_IN_##role(name)
#define RAMA_CAP_IN(t) RAMA_CAP_IN_ t
#define RAMA_CAP_AT_(type, name, role) RAMA_TAB_AT_##role(name)
#define RAMA_CAP_AT(t) RAMA_CAP_AT_ t

#define RAMA_CAP_ROWS_POSIX "table/fn_posix.def"
#define RAMA_CAP_ROWS_STDIO "table/fn_stdio.def"
#define RAMA_CAP_ROWS_PROCESS "table/fn_process.def"
#define RAMA_CAP_ROWS_MPI "table/fn_mpi.def"
#define RAMA_CAP_ROWS_PNETCDF "table/fn_pnetcdf.def"

typedef void rama_cap_anyfn(void);

#ifdef RAMA_STATIC_WRAP
#include "static_missing.h" /* made by the build */
#define RAMA_CAP_SYM(name) __wrap_##name
#define RAMA_CAP_REAL(name) __real_##name
#define RAMA_CAP_EXPORT __attribute__((visibility("default")))
#define FN(name, ret, rrole, opk, ...) \
	extern ret __real_##name(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__));
#define FN_MODE(name, ret, rrole, opk, ...) \
	extern ret __real_##name(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__), ...);
#define FN_HAND FN
#define FN_HAND0(name, ret, rrole, opk) extern ret __real_##name(void);
#define FN_FMT(name, vname, ...)
#define FN_SCAN(name, vname)
#define FN_SCAN0(name, vname)
#define FN_EXECL(name, vname)
#define FN_JUMP(name) extern void __real_##name(void *env, int value) __attribute__((noreturn));
#define FN_ASM(name)
#include RAMA_CAP_ROWS_POSIX
#include RAMA_CAP_ROWS_STDIO
#include RAMA_CAP_ROWS_PROCESS
#else
struct rama_cap_real { /* one typed slot per row */
#define FN(name, ret, rrole, opk, ...) ret (*name)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__));
#define FN_MODE(name, ret, rrole, opk, ...) \
	ret (*name)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__), ...);
#define FN_HAND FN
#define FN_HAND0(name, ret, rrole, opk) ret (*name)(void);
#define FN_FMT(name, vname, ...)
#define FN_SCAN(name, vname)
#define FN_SCAN0(name, vname)
#define FN_EXECL(name, vname)
#define FN_JUMP(name) void (*name)(void *env, int value);
#define FN_ASM(name)
#include RAMA_CAP_ROWS_POSIX
#include RAMA_CAP_ROWS_STDIO
#include RAMA_CAP_ROWS_PROCESS
};
extern struct rama_cap_real rama_cap_real __attribute__((visibility("hidden")));
rama_cap_anyfn *rama_cap_resolve(rama_cap_anyfn **slot, const char *name);
#define RAMA_CAP_SYM(name) name
#define RAMA_CAP_EXPORT __attribute__((visibility("default")))
/* The slots are filled when the library is loaded. A call before that, from the constructor of
 * another library, fills its own only: looking up a function that does not exist allocates
 * memory, and the caller may be an allocator that is about to begin. */
#define RAMA_CAP_REAL(name)                                                                        \
	__extension__({                                                                            \
		__typeof__(rama_cap_real.name) f_ =                                                \
			__atomic_load_n(&rama_cap_real.name, __ATOMIC_RELAXED);                    \
		__builtin_expect(f_ != NULL, 1)                                                    \
			? f_                                                                       \
			: (__typeof__(f_))rama_cap_resolve((rama_cap_anyfn **)&rama_cap_real.name, \
							   #name);                                 \
	})
#endif
#include "table/fn_words_end.h"

/* one observed call: the operation, and on what */
struct rama_cap_call {
	struct rama_core_op op;
	int fd, dirfd; /* 0 where the row has none: see rama_cap_end_meta */
	const char *path;
	FILE *stream;
	uintptr_t mem;	    /* address of the data */
	uint32_t file_mode; /* STAT: st_mode */
};

struct rama_cap_span {
	uint64_t t0;
};

/* without asking: the C library takes a lock for it */
static inline int rama_cap_stream_fd(const FILE *stream)
{
#ifdef __GLIBC__
	return stream && stream->_fileno >= 0 ? stream->_fileno : -1;
#else
	return stream ? -1 : -1;
#endif
}

int rama_cap_scan(unsigned fn, rama_cap_vscan *real, FILE *stream, const char *fmt, va_list ap);

/* an address that stands for all of them: an unaligned one if there is one */
uintptr_t rama_cap_iov_mem(const struct iovec *iov, int n);

#endif
