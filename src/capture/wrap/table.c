/* SPDX-License-Identifier: BSD-3-Clause */
/* table.c: all ordinary wrappers. There is no code per function: see table/fn_*.def. */
#include "capture/hooks/hooks.h"
#include "capture/record.h"
#include "capture/runtime.h"

/* fields that most rows leave as they are get their values first */
#pragma GCC diagnostic ignored "-Woverride-init"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* which door a kind of operation goes through */
#define END_READ rama_cap_end_data
#define END_WRITE rama_cap_end_data
#define END_SEEK rama_cap_end_seek
#define END_SYNC rama_cap_end_sync
#define END_DATASYNC rama_cap_end_sync
#define END_OPEN rama_cap_end_open
#define END_STAT rama_cap_end_stat
#define END_NOTHING rama_cap_end_other
#define END_ACCESS rama_cap_end_meta
#define END_STATOTHER rama_cap_end_meta
#define END_RANGESYNC rama_cap_end_meta
#define END_TRUNCATE rama_cap_end_meta
#define END_ALLOCATE rama_cap_end_meta
#define END_ADVISE rama_cap_end_meta
#define END_LOCK rama_cap_end_meta
#define END_MKDIR rama_cap_end_meta
#define END_UNLINK rama_cap_end_meta
#define END_LINK rama_cap_end_meta
#define END_CHMOD rama_cap_end_meta
#define END_UTIME rama_cap_end_meta
#define END_XATTR rama_cap_end_meta
#define END_READDIR rama_cap_end_meta

/* what a server that is observed by its requests asks of its files: not even counted */
#define PASSED(opk)                                        \
	((RAMA_CAP_OF_SERVERS >> RAMA_TAB_OP_##opk & 1) && \
	 RAMA_TAB_OP_##opk != RAMA_TAB_OP_SEEK && RAMA_CAP_UNLIKELY(rama_cap_hooks_serving))

/* The door of these hands back what they return, so that nothing has to be kept for it meanwhile:
 * RETURN(door, ...) is RETURN_1 for those named here, and RETURN_0 for all others. */
#define HANDS_BACK_rama_cap_end_data , 1
#define HANDS_BACK_rama_cap_end_seek , 1
#define RETURN(door, ...) RETURN_OF(HANDS_BACK_##door, 0, )(door, __VA_ARGS__)
#define RETURN_OF(...) RETURN_SECOND(__VA_ARGS__)
#define RETURN_SECOND(first, second, ...) RETURN_##second
#define RETURN_1(door, ret, r, ...) return (ret)door(__VA_ARGS__);
#define RETURN_0(door, ret, r, ...) \
	door(__VA_ARGS__);          \
	return r;

#define BODY(end, fn_name, ret, rrole, opk, arguments, ...)                 \
	struct rama_cap_span sp;                                            \
	int at = -1;                                                        \
	RAMA_TAB_EACH(RAMA_CAP_AT, __VA_ARGS__)                             \
	if (PASSED(opk) || !rama_cap_begin(&sp, RAMA_TAB_FN_##fn_name, at)) \
		return RAMA_CAP_REAL(fn_name) arguments;                    \
	ret r = RAMA_CAP_REAL(fn_name) arguments;                           \
	RETURN(end, ret, r, &sp,                                            \
	       &(struct rama_cap_call){ .op.fn = RAMA_TAB_FN_##fn_name,     \
					.op.kind = RAMA_TAB_OP_##opk,       \
					.fd = -1,                           \
					.dirfd = AT_FDCWD,                  \
					RAMA_TAB_OUT_##rrole(r)             \
						RAMA_TAB_EACH(RAMA_CAP_IN, __VA_ARGS__) })

#define FN(name, ret, rrole, opk, ...)                                                             \
	RAMA_CAP_EXPORT ret RAMA_CAP_SYM(name)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__))         \
	{                                                                                          \
		BODY(END_##opk, name, ret, rrole, opk, (RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__)), \
		     __VA_ARGS__)                                                                  \
	}

#define FN_MODE(name, ret, rrole, opk, ...)                                                     \
	RAMA_CAP_EXPORT ret RAMA_CAP_SYM(name)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__), ...) \
	{                                                                                       \
		mode_t mode = 0;                                                                \
		if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {                      \
			va_list ap;                                                             \
			va_start(ap, flags);                                                    \
			mode = va_arg(ap, mode_t);                                              \
			va_end(ap);                                                             \
		}                                                                               \
		BODY(END_##opk, name, ret, rrole, opk,                                          \
		     (RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__), mode), (mode_t, mode, MODE),    \
		     __VA_ARGS__)                                                               \
	}
#define FN_HAND(name, ...)
#define FN_FMT(name, vname, ...)                                                                 \
	RAMA_CAP_EXPORT int RAMA_CAP_SYM(name)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__), ...)  \
	{                                                                                        \
		va_list ap;                                                                      \
		struct rama_cap_span sp;                                                         \
		int at = -1;                                                                     \
		RAMA_TAB_EACH(RAMA_CAP_AT, __VA_ARGS__)                                          \
		bool on = rama_cap_begin(&sp, RAMA_TAB_FN_##name, at);                           \
		va_start(ap, fmt);                                                               \
		int r = RAMA_CAP_REAL(vname)(RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__), ap);      \
		va_end(ap);                                                                      \
		if (on)                                                                          \
			END_FMT(&sp, &(struct rama_cap_call){                                    \
					     .op.fn = RAMA_TAB_FN_##name,                        \
					     .op.kind = RAMA_TAB_OP_WRITE,                       \
					     .fd = -1,                                           \
					     RAMA_TAB_OUT_COUNT(r)                               \
						     RAMA_TAB_EACH(RAMA_CAP_IN, __VA_ARGS__) }); \
		return r;                                                                        \
	}
#define END_FMT rama_cap_end_data
#include RAMA_CAP_ROWS_POSIX
#undef FN
#undef END_FMT

/* ---- streams --------------------------------------------------------------------------------- */

#define FN(name, ret, rrole, opk, ...)                                                     \
	RAMA_CAP_EXPORT ret RAMA_CAP_SYM(name)(RAMA_TAB_LIST(RAMA_CAP_PARAM, __VA_ARGS__)) \
	{                                                                                  \
		BODY(rama_cap_end_moved, name, ret, rrole, opk,                            \
		     (RAMA_TAB_LIST(RAMA_CAP_ARG, __VA_ARGS__)), __VA_ARGS__)              \
	}
#define FN_HAND0(name, ...)
#define END_FMT rama_cap_end_printed
#define FN_SCAN(name, vname)                                                                      \
	RAMA_CAP_EXPORT int RAMA_CAP_SYM(name)(FILE *restrict stream, const char *restrict fmt,   \
					       ...)                                               \
	{                                                                                         \
		va_list ap;                                                                       \
		va_start(ap, fmt);                                                                \
		int r = rama_cap_scan(RAMA_TAB_FN_##name, RAMA_CAP_REAL(vname), stream, fmt, ap); \
		va_end(ap);                                                                       \
		return r;                                                                         \
	}
#define FN_SCAN0(name, vname)                                                                    \
	RAMA_CAP_EXPORT int RAMA_CAP_SYM(name)(const char *restrict fmt, ...)                    \
	{                                                                                        \
		va_list ap;                                                                      \
		va_start(ap, fmt);                                                               \
		int r = rama_cap_scan(RAMA_TAB_FN_##name, RAMA_CAP_REAL(vname), stdin, fmt, ap); \
		va_end(ap);                                                                      \
		return r;                                                                        \
	}
#include RAMA_CAP_ROWS_STDIO
