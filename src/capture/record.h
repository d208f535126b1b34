/* SPDX-License-Identifier: BSD-3-Clause */
/* record.h: the doors, after the real call; errno is kept. The quick ones: quick.c, all others:
 * record.c. */
#ifndef RAMA_CAPTURE_RECORD_H
#define RAMA_CAPTURE_RECORD_H

#include "capture/runtime.h"

#pragma GCC visibility push(hidden)

/* The ways that must be short: a read, a write, something without data on a descriptor. `what`:
 * RAMA_CORE_OP_WORD. Reads and writes return `bytes`, so that who calls them can end with it. */
int64_t rama_cap_record_read(uint64_t t0, int fd, uintptr_t mem, int64_t bytes, int64_t off,
			     uint64_t what);
int64_t rama_cap_record_write(uint64_t t0, int fd, uintptr_t mem, int64_t bytes, int64_t off,
			      uint64_t what);
void rama_cap_record_other(uint64_t t0, int fd, int64_t off, uint64_t what);
/* The same of calls that succeeded and are nothing special. at: RAMA_CAP_FN_FD, function and
 * descriptor; off: below 0: at the tracked one. A seek returns `off`. */
#define RAMA_CAP_FN_FD(fn, fd) ((uint64_t)(fn) << 32 | (uint32_t)(fd))
int64_t rama_cap_quick_read(uint64_t t0, uint64_t at, uintptr_t mem, int64_t bytes, int64_t off,
			    uintptr_t cfa);
int64_t rama_cap_quick_write(uint64_t t0, uint64_t at, uintptr_t mem, int64_t bytes, int64_t off,
			     uintptr_t cfa);
int64_t rama_cap_quick_seek(uint64_t t0, int fd, int64_t off, unsigned fn);
/* Where the call that is recorded next came from: rama_cap_thread.cfa. A function, so that wrappers
 * whose quick way is elsewhere need no register for the thread. */
void rama_cap_from(uintptr_t cfa) __attribute__((cold, noinline));
/* returns c->op.bytes */
static inline __attribute__((always_inline)) int64_t rama_cap_end_data(
	const struct rama_cap_span *sp, const struct rama_cap_call *c)
{
	uint64_t what = RAMA_CORE_OP_WORD(c->op.fn, c->op.kind, c->op.how, c->op.ok, c->op.has_off);
	const int64_t off = c->op.has_off ? c->op.off : -1;
	const bool quick = c->op.ok && c->op.how == RAMA_CORE_HOW_PLAIN;

	if (RAMA_CAP_LIKELY(quick) && c->op.kind == RAMA_TAB_OP_READ)
		return rama_cap_quick_read(sp->t0, RAMA_CAP_FN_FD(c->op.fn, c->fd), c->mem,
					   c->op.bytes, off, RAMA_CAP_CFA);
	if (RAMA_CAP_LIKELY(quick) && c->op.kind == RAMA_TAB_OP_WRITE)
		return rama_cap_quick_write(sp->t0, RAMA_CAP_FN_FD(c->op.fn, c->fd), c->mem,
					    c->op.bytes, off, RAMA_CAP_CFA);
	rama_cap_from(RAMA_CAP_CFA);
	if (c->op.kind == RAMA_TAB_OP_READ)
		rama_cap_record_read(sp->t0, c->fd, c->mem, c->op.bytes, c->op.off, what);
	else if (c->op.kind == RAMA_TAB_OP_WRITE)
		rama_cap_record_write(sp->t0, c->fd, c->mem, c->op.bytes, c->op.off, what);
	else
		rama_cap_record_other(sp->t0, c->fd, c->op.off, what);
	return c->op.bytes;
}
static inline __attribute__((always_inline)) void rama_cap_end_sync(const struct rama_cap_span *sp,
								    const struct rama_cap_call *c)
{
	rama_cap_end_data(sp, c);
}
/* returns c->op.off */
static inline __attribute__((always_inline)) int64_t rama_cap_end_seek(
	const struct rama_cap_span *sp, const struct rama_cap_call *c)
{
	if (RAMA_CAP_LIKELY(c->op.ok))
		return rama_cap_quick_seek(sp->t0, c->fd, c->op.off, c->op.fn);
	rama_cap_end_data(sp, c);
	return c->op.off;
}
/* the same of an asynchronous one; parent: the call of this thread that submitted it, 0: none */
void rama_cap_end_async(const struct rama_cap_span *sp, const struct rama_cap_call *c,
			uint32_t parent);
/* c->path gave c->fd */
void rama_cap_end_open(const struct rama_cap_span *sp, struct rama_cap_call *c);
void rama_cap_end_stat(const struct rama_cap_span *sp, struct rama_cap_call *c);
void rama_cap_end_meta(const struct rama_cap_span *sp,
		       struct rama_cap_call *c); /* by path, or c->fd without one */
struct rama_cap_rename {
	int fromfd, tofd;
	const char *from, *to;
};
int rama_cap_end_rename(const struct rama_cap_span *sp, unsigned fn,
			const struct rama_cap_rename *what, int r);
/* c->fd is no file */
void rama_cap_end_other(const struct rama_cap_span *sp, struct rama_cap_call *c);
void rama_cap_end_stream(const struct rama_cap_span *sp, struct rama_cap_call *c);
/* the same, with rama_cap_thread.cfa */
void rama_cap_end_stream_from(const struct rama_cap_span *sp, struct rama_cap_call *c);
static inline __attribute__((always_inline)) void rama_cap_end_printed(
	const struct rama_cap_span *sp, struct rama_cap_call *c)
{
	rama_cap_thread.cfa = RAMA_CAP_CFA;
	rama_cap_end_stream_from(sp, c);
}
/* the same of a read or write that moved `bytes` */
void rama_cap_quick_fread(uint64_t t0, FILE *stream, int64_t bytes, unsigned fn, uintptr_t cfa);
void rama_cap_quick_fwrite(uint64_t t0, FILE *stream, int64_t bytes, unsigned fn, uintptr_t cfa);
static inline __attribute__((always_inline)) void rama_cap_end_moved(const struct rama_cap_span *sp,
								     const struct rama_cap_call *c)
{
	struct rama_cap_call copy;

	if (RAMA_CAP_LIKELY(c->op.ok) && c->op.kind == RAMA_TAB_OP_READ) {
		rama_cap_quick_fread(sp->t0, c->stream, c->op.bytes, c->op.fn, RAMA_CAP_CFA);
	} else if (RAMA_CAP_LIKELY(c->op.ok) && c->op.kind == RAMA_TAB_OP_WRITE) {
		rama_cap_quick_fwrite(sp->t0, c->stream, c->op.bytes, c->op.fn, RAMA_CAP_CFA);
	} else {
		copy = *c;
		rama_cap_end_stream(sp, &copy);
	}
}

/* The pieces, for wrappers by hand: enter, do, leave. enter is false if a handler interrupted
 * us: then nothing may be done but count the call as missed, which it did. */
struct rama_cap_visit {
	int saved_errno;
	struct rama_cap_thread *t;
};
bool rama_cap_enter(struct rama_cap_visit *v);
void rama_cap_leave(struct rama_cap_visit *v);
void rama_cap_times(const struct rama_cap_span *sp, struct rama_core_op *op);
void rama_cap_do_posix(struct rama_cap_thread *t, struct rama_core_posix_file *f,
		       struct rama_core_op *op);
/* the same of reads and writes, with heat and events, from or to memory at mem */
void rama_cap_do_data(struct rama_cap_thread *t, struct rama_core_posix_file *f, uintptr_t mem,
		      struct rama_core_op *op);
void rama_cap_do_stdio(struct rama_cap_thread *t, struct rama_core_stdio_file *f,
		       struct rama_core_op *op);
void rama_cap_do_mpiio(struct rama_cap_thread *t, struct rama_core_mpiio_file *f,
		       struct rama_core_op *op);
/* the same of a read or write that succeeded, from outside; false: not done, do it the long way */
bool rama_cap_quick_mpiio(const struct rama_core_op *op, struct rama_core_mpiio_file *f);
/* a slot of any kind that has an apply(); layer: of its events; RAMA_SEG_EVENT_LAYERS: none */
void rama_cap_do_kind(struct rama_cap_thread *t, enum rama_seg_kind kind, void *slot,
		      struct rama_core_op *op, enum rama_seg_layer layer);
void rama_cap_do_h5d(struct rama_cap_thread *t, struct rama_core_h5d_file *f,
		     struct rama_core_op *op, const struct rama_core_h5d_shape *s,
		     const struct rama_core_h5d_access *a); /* s: of OPEN; a: of READ and WRITE */
void rama_cap_do_pnetcdf_var(struct rama_cap_thread *t, struct rama_core_pnetcdf_var *f,
			     struct rama_core_op *op, const struct rama_core_pnetcdf_shape *s,
			     const struct rama_core_pnetcdf_access *a);
/* the bytes of its extended attribute */
void rama_cap_do_lustre(struct rama_cap_thread *t, struct rama_core_lustre_file *f,
			const void *layout, size_t len);
void rama_cap_do_extra(struct rama_cap_thread *t, uint32_t name, struct rama_core_op *op);
/* what this file was before, or is too: a record id in a word of its EXTRA record; the first one
 * counts */
void rama_cap_do_origin(struct rama_cap_thread *t, struct rama_seg_name *n, unsigned word,
			uint64_t id);
/* of all names that do not exist */
#define RAMA_CAP_NAME_FAILED "<FAILED>"
/* a failed call, or one on a name without slots: the EXTRA record of the name, or the common one */
void rama_cap_do_failed(struct rama_cap_thread *t, struct rama_seg_name *n,
			struct rama_core_op *op);
/* the same by path, and its event */
void rama_cap_path_failed(struct rama_cap_thread *t, const char *path, size_t len,
			  struct rama_core_op *op);

#pragma GCC visibility pop
#endif
