/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_stdio.c: stream calls that need a body of their own (FN_HAND in fn_stdio.def). */
#include "capture/events.h"
#include "capture/record.h"
#include "capture/runtime.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define CALL(fn_name, kind_, ...)                                                         \
	(struct rama_cap_call)                                                            \
	{                                                                                 \
		.op.fn = RAMA_TAB_FN_##fn_name, .op.kind = RAMA_TAB_OP_##kind_, .fd = -1, \
		.dirfd = AT_FDCWD, __VA_ARGS__                                            \
	}

/* ---- opening --------------------------------------------------------------------------------- */

static void end_fopen(const struct rama_cap_span *sp, const char *path, FILE *r, unsigned fn)
{
	struct rama_cap_visit v;
	struct rama_cap_call c = CALL(fopen, OPEN, .op.ok = r != NULL);
	struct rama_seg_name *n = NULL;
	size_t len;

	c.op.fn = (uint16_t)fn;
	rama_cap_idle(sp);
	rama_cap_times(sp, &c.op);
	if (!rama_cap_enter(&v))
		return;
	const char *text = r || rama_cap_path_was_read(path, v.saved_errno)
				   ? rama_cap_clean_known(v.t, AT_FDCWD, path, &len, &n)
				   : NULL;
	if (!r && text) {
		rama_cap_do_failed(v.t, rama_cap_name_known(v.t, text, len), &c.op);
		if (rama_cap_live_on(RAMA_SEG_LAYER_STDIO))
			rama_cap_live_path(v.t, RAMA_SEG_LAYER_STDIO, text, len, &c.op);
	} else if (r) {
		if (text && !n)
			n = rama_cap_name(v.t, text, len, true);
		struct rama_core_stdio_file *f = text && n ? rama_cap_stdio_of(v.t, n) : NULL;
		int fd = RAMA_CAP_REAL(fileno)(r);
		if (fd >= 0)
			rama_cap_fd_set(fd, NULL, f ? f : RAMA_CAP_NO_STREAM, 0);
		if (f)
			rama_cap_do_stdio(v.t, f, &c.op);
	}
	rama_cap_leave(&v);
}

#define FOPEN_BODY(name, ...)                             \
	struct rama_cap_span sp;                          \
	if (!rama_cap_begin(&sp, RAMA_TAB_FN_##name, -1)) \
		return RAMA_CAP_REAL(name)(__VA_ARGS__);  \
	FILE *r = RAMA_CAP_REAL(name)(__VA_ARGS__);       \
	end_fopen(&sp, path, r, RAMA_TAB_FN_##name);      \
	return r;

RAMA_CAP_EXPORT FILE *RAMA_CAP_SYM(fopen)(const char *restrict path, const char *restrict mode){
	FOPEN_BODY(fopen, path, mode)
}

RAMA_CAP_EXPORT FILE *RAMA_CAP_SYM(fopen64)(const char *restrict path, const char *restrict mode){
	FOPEN_BODY(fopen64, path, mode)
}

/* what the stream stood for is closed first; a path of NULL only changes the mode */
#define FREOPEN_BODY(name)                                         \
	struct rama_cap_span sp;                                   \
	if (!path || !rama_cap_begin(&sp, RAMA_TAB_FN_##name, -1)) \
		return RAMA_CAP_REAL(name)(path, mode, stream);    \
	if (stream && RAMA_CAP_REAL(fileno)(stream) >= 0)          \
		rama_cap_fd_forget(RAMA_CAP_REAL(fileno)(stream)); \
	FILE *r = RAMA_CAP_REAL(name)(path, mode, stream);         \
	end_fopen(&sp, path, r, RAMA_TAB_FN_##name);               \
	return r;

RAMA_CAP_EXPORT FILE *RAMA_CAP_SYM(freopen)(const char *restrict path, const char *restrict mode,
					    FILE *restrict stream){ FREOPEN_BODY(freopen) }

RAMA_CAP_EXPORT FILE *RAMA_CAP_SYM(freopen64)(const char *restrict path, const char *restrict mode,
					      FILE *restrict stream)
{
	FREOPEN_BODY(freopen64)
}

/* a file without a name: nothing to record, and its descriptor's past is over */
static FILE *end_tmpfile(FILE *r)
{
	if (r)
		rama_cap_fd_set(RAMA_CAP_REAL(fileno)(r), RAMA_CAP_NO_FILE, RAMA_CAP_NO_STREAM, 0);
	return r;
}

RAMA_CAP_EXPORT FILE *RAMA_CAP_SYM(tmpfile)(void)
{
	FILE *r = RAMA_CAP_REAL(tmpfile)();
	return rama_cap_awake() ? end_tmpfile(r) : r;
}

RAMA_CAP_EXPORT FILE *RAMA_CAP_SYM(tmpfile64)(void)
{
	FILE *r = RAMA_CAP_REAL(tmpfile64)();
	return rama_cap_awake() ? end_tmpfile(r) : r;
}

RAMA_CAP_EXPORT FILE *RAMA_CAP_SYM(fdopen)(int fd, const char *mode)
{
	struct rama_cap_span sp;
	struct rama_cap_visit v;

	if (!rama_cap_begin(&sp, RAMA_TAB_FN_fdopen, fd))
		return RAMA_CAP_REAL(fdopen)(fd, mode);
	FILE *r = RAMA_CAP_REAL(fdopen)(fd, mode);
	rama_cap_idle(&sp);
	struct rama_cap_call c = CALL(fdopen, FDOPEN, .op.ok = r != NULL);
	rama_cap_times(&sp, &c.op);
	if (!r || !rama_cap_enter(&v))
		return r;
	struct rama_core_posix_file *p = rama_cap_fd_posix(v.t, fd);
	struct rama_core_stdio_file *f =
		p ? rama_cap_stdio_of(v.t, rama_cap_name_at(p->name)) : NULL;
	struct rama_cap_fd *e = rama_cap_fd(fd);
	if (e)
		e->stdio = f ? f : RAMA_CAP_NO_STREAM;
	if (f)
		rama_cap_do_stdio(v.t, f, &c.op);
	rama_cap_leave(&v);
	return r;
}

/* ---- closing --------------------------------------------------------------------------------- */

RAMA_CAP_EXPORT int RAMA_CAP_SYM(fclose)(FILE *stream)
{
	struct rama_cap_span sp;
	struct rama_cap_visit v;
	struct rama_core_stdio_file *f = NULL;
	int fd = stream ? RAMA_CAP_REAL(fileno)(stream) : -1;

	if (rama_cap_off || fd < 0)
		return RAMA_CAP_REAL(fclose)(stream);
	bool on = rama_cap_begin(&sp, RAMA_TAB_FN_fclose, fd);
	if (on && rama_cap_enter(&v)) {
		f = rama_cap_stream_file(v.t, stream);
		rama_cap_leave(&v);
	}
	if (f && !rama_cap_run.no_lustre) {
		rama_cap_layout(f->name, fd);
		rama_cap_begin_again(&sp);
	}
	rama_cap_fd_forget(fd); /* before the number is free for others */
	int r = RAMA_CAP_REAL(fclose)(stream);
	if (on)
		rama_cap_idle(&sp);
	struct rama_cap_call c = CALL(fclose, CLOSE, .op.ok = true);
	if (f) {
		rama_cap_times(&sp, &c.op);
		if (rama_cap_enter(&v)) {
			rama_cap_do_stdio(v.t, f, &c.op);
			rama_cap_leave(&v);
		}
	}
	return r;
}

/* Streams we have met are closed, whatever they are; their descriptors are looked at anew if
 * used again. */
RAMA_CAP_EXPORT int RAMA_CAP_SYM(fcloseall)(void)
{
	if (!rama_cap_off && rama_cap_run.fds)
		for (unsigned fd = 0; fd < rama_cap_run.fd_high; fd++)
			if (rama_cap_fd((int)fd) && rama_cap_fd((int)fd)->stdio)
				rama_cap_fd_forget((int)fd);
	return RAMA_CAP_REAL(fcloseall)();
}

/* ---- the bridge to descriptors --------------------------------------------------------------- */

static int end_fileno(const struct rama_cap_span *sp, FILE *stream, int r)
{
	struct rama_cap_visit v;
	struct rama_cap_call c = CALL(fileno, FILENO, .op.ok = true);

	rama_cap_idle(sp);
	rama_cap_times(sp, &c.op);
	if (r < 0 || !rama_cap_enter(&v))
		return r;
	struct rama_cap_fd *e = rama_cap_fd(r);
	struct rama_core_stdio_file *s = e && e->stdio ? rama_cap_stream_file(v.t, stream) : NULL;
	if (s && !s->standard) {
		struct rama_core_posix_file *f = rama_cap_posix_of(v.t, rama_cap_name_at(s->name));
		if (f) {
			e->posix = f;
			e->generation = rama_cap_run.generation;
			rama_cap_do_posix(v.t, f, &c.op);
		}
	}
	rama_cap_leave(&v);
	return r;
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(fileno)(FILE *stream)
{
	struct rama_cap_span sp;

	if (!rama_cap_begin(&sp, RAMA_TAB_FN_fileno, -1))
		return RAMA_CAP_REAL(fileno)(stream);
	return end_fileno(&sp, stream, RAMA_CAP_REAL(fileno)(stream));
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(fileno_unlocked)(FILE *stream)
{
	struct rama_cap_span sp;

	if (!rama_cap_begin(&sp, RAMA_TAB_FN_fileno_unlocked, -1))
		return RAMA_CAP_REAL(fileno_unlocked)(stream);
	return end_fileno(&sp, stream, RAMA_CAP_REAL(fileno_unlocked)(stream));
}

/* ---- reading --------------------------------------------------------------------------------- */

#define GETCHAR_BODY(name)                                                           \
	struct rama_cap_span sp;                                                     \
	if (!rama_cap_begin(&sp, RAMA_TAB_FN_##name, 0))                             \
		return RAMA_CAP_REAL(name)();                                        \
	int r = RAMA_CAP_REAL(name)();                                               \
	struct rama_cap_call c =                                                     \
		CALL(name, READ, .stream = stdin, .op.ok = r != EOF, .op.bytes = 1); \
	rama_cap_end_stream(&sp, &c);                                                \
	return r;

RAMA_CAP_EXPORT int RAMA_CAP_SYM(getchar)(void){ GETCHAR_BODY(getchar) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(getchar_unlocked)(void)
{
	GETCHAR_BODY(getchar_unlocked)
}

/* How much a scan took is told by the position before and after it. */
int rama_cap_scan(unsigned fn, rama_cap_vscan *real, FILE *stream, const char *fmt, va_list ap)
{
	struct rama_cap_span sp;
	int saved = errno;

	if (!rama_cap_begin(&sp, fn, rama_cap_stream_fd(stream)))
		return real(stream, fmt, ap);
	off_t before = ftello(stream);
	errno = saved;
	int r = real(stream, fmt, ap);
	saved = errno;
	off_t after = before >= 0 ? ftello(stream) : -1;
	errno = saved;
	struct rama_cap_call c = CALL(fgetc, READ, .stream = stream, .op.ok = r != 0,
				      .op.bytes = after > before ? after - before : 0);
	c.op.fn = (uint16_t)fn;
	rama_cap_end_stream(&sp, &c);
	return r;
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(vfscanf)(FILE *restrict stream, const char *restrict fmt,
					  va_list ap)
{
	return rama_cap_scan(RAMA_TAB_FN_vfscanf, RAMA_CAP_REAL(vfscanf), stream, fmt, ap);
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(__isoc99_vfscanf)(FILE *restrict stream, const char *restrict fmt,
						   va_list ap)
{
	return rama_cap_scan(RAMA_TAB_FN___isoc99_vfscanf, RAMA_CAP_REAL(__isoc99_vfscanf), stream,
			     fmt, ap);
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(vscanf)(const char *restrict fmt, va_list ap)
{
	return rama_cap_scan(RAMA_TAB_FN_vscanf, RAMA_CAP_REAL(vfscanf), stdin, fmt, ap);
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(__isoc99_vscanf)(const char *restrict fmt, va_list ap)
{
	return rama_cap_scan(RAMA_TAB_FN___isoc99_vscanf, RAMA_CAP_REAL(__isoc99_vfscanf), stdin,
			     fmt, ap);
}

/* ---- position -------------------------------------------------------------------------------- */

static int end_seek(const struct rama_cap_span *sp, FILE *stream, int r, unsigned fn)
{
	int saved = errno;
	struct rama_cap_call c =
		CALL(fseek, SEEK, .stream = stream, .op.ok = r == 0, .op.has_off = true);

	c.op.fn = (uint16_t)fn;
	if (r == 0)
		c.op.off = ftello(stream);
	if (c.op.off < 0)
		c.op.off = 0;
	errno = saved;
	rama_cap_end_stream(sp, &c);
	return r;
}

#define SEEK_BODY(name, ...)                                                      \
	struct rama_cap_span sp;                                                  \
	if (!rama_cap_begin(&sp, RAMA_TAB_FN_##name, rama_cap_stream_fd(stream))) \
		return RAMA_CAP_REAL(name)(__VA_ARGS__);                          \
	return end_seek(&sp, stream, RAMA_CAP_REAL(name)(__VA_ARGS__), RAMA_TAB_FN_##name);

RAMA_CAP_EXPORT int RAMA_CAP_SYM(fseek)(FILE *stream, long off,
					int whence){ SEEK_BODY(fseek, stream, off, whence) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(fseeko)(FILE *stream, off_t off,
					 int whence){ SEEK_BODY(fseeko, stream, off, whence) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(fseeko64)(FILE *stream, off64_t off,
					   int whence){ SEEK_BODY(fseeko64, stream, off, whence) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(fsetpos)(FILE *stream,
					  const fpos_t *pos){ SEEK_BODY(fsetpos, stream, pos) }

RAMA_CAP_EXPORT
	int RAMA_CAP_SYM(fsetpos64)(FILE *stream,
				    const fpos64_t *pos){ SEEK_BODY(fsetpos64, stream, pos) }

RAMA_CAP_EXPORT void RAMA_CAP_SYM(rewind)(FILE *stream)
{
	struct rama_cap_span sp;
	bool on = rama_cap_begin(&sp, RAMA_TAB_FN_rewind, rama_cap_stream_fd(stream));

	RAMA_CAP_REAL(rewind)(stream);
	struct rama_cap_call c =
		CALL(rewind, SEEK, .stream = stream, .op.ok = true, .op.has_off = true);
	if (on)
		rama_cap_end_stream(&sp, &c);
}
