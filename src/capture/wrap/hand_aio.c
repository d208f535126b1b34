/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_aio.c: POSIX AIO. An operation counts when its result is fetched, with the time from its
 * submission. */
#include "capture/record.h"
#include "capture/runtime.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* Submissions under way, found by the address of their control block. An operation whose place
 * is taken counts without its start. */
enum { PENDING = 4096, PROBES = 8 };
static struct {
	const void *cb;
	uint64_t t0;
	const struct rama_seg_lane *lane; /* whose call the parent is */
	uint32_t generation, parent;
} pending[PENDING];

static unsigned place_of(const void *cb)
{
	return (unsigned)((uintptr_t)cb * 0x9e3779b97f4a7c15ull >> 52) % PENDING;
}

/* Ids of calls are those of a lane. The name is only looked at: a descriptor that nothing was done
 * with yet has none. */
static uint32_t parent_of(int fd, int64_t off, int64_t bytes)
{
	const struct rama_cap_thread *t = &rama_cap_thread;
	const struct rama_core_posix_file *f = NULL;

	if (!t->parent && rama_cap_requests && (unsigned)fd < RAMA_CAP_FDS_FIRST)
		f = rama_cap_run.fds[fd].posix;
	return rama_cap_parent(t, f && !((uintptr_t)f & 1) ? f->name : 0, off, bytes);
}

void rama_cap_aio_submitted(const void *cb, uint64_t t0, int fd, int64_t off, int64_t bytes)
{
	for (unsigned i = 0; i < PROBES; i++) {
		unsigned at = (place_of(cb) + i) % PENDING;
		const void *is = __atomic_load_n(&pending[at].cb, __ATOMIC_RELAXED);
		if ((is == NULL || is == cb) &&
		    __atomic_compare_exchange_n(&pending[at].cb, &is, cb, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			pending[at].t0 = t0;
			pending[at].lane = rama_cap_thread.lane;
			pending[at].generation = rama_cap_run.generation;
			pending[at].parent = parent_of(fd, off, bytes);
			return;
		}
	}
}

struct rama_cap_aio rama_cap_aio_taken(const void *cb)
{
	struct rama_cap_aio was = { 0 };

	for (unsigned i = 0; i < PROBES; i++) {
		unsigned at = (place_of(cb) + i) % PENDING;
		if (__atomic_load_n(&pending[at].cb, __ATOMIC_ACQUIRE) == cb) {
			was.t0 = pending[at].t0;
			if (pending[at].lane == rama_cap_thread.lane &&
			    pending[at].generation == rama_cap_run.generation)
				was.parent = pending[at].parent;
			__atomic_store_n(&pending[at].cb, NULL, __ATOMIC_RELEASE);
			return was;
		}
	}
	return was;
}

#define AIO_BODY(name)                                                            \
	struct rama_cap_span sp;                                                  \
	bool on = rama_cap_begin(&sp, RAMA_TAB_FN_##name, -1);                    \
	int r = RAMA_CAP_REAL(name)(cb);                                          \
	if (on)                                                                   \
		rama_cap_idle(&sp);                                               \
	if (on && r == 0)                                                         \
		rama_cap_aio_submitted(cb, sp.t0, cb->aio_fildes, cb->aio_offset, \
				       (int64_t)cb->aio_nbytes);                  \
	return r;

RAMA_CAP_EXPORT int RAMA_CAP_SYM(aio_read)(struct aiocb *cb){ AIO_BODY(aio_read) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(aio_read64)(struct aiocb64 *cb){ AIO_BODY(aio_read64) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(aio_write)(struct aiocb *cb){ AIO_BODY(aio_write) }

RAMA_CAP_EXPORT int RAMA_CAP_SYM(aio_write64)(struct aiocb64 *cb){ AIO_BODY(aio_write64) }

#define LIO_BODY(name)                                                                             \
	struct rama_cap_span sp;                                                                   \
	bool on = rama_cap_begin(&sp, RAMA_TAB_FN_##name, -1);                                     \
	/* with another mode the list is not looked at */                                          \
	bool known = mode == LIO_WAIT || mode == LIO_NOWAIT;                                       \
	for (int i = 0; on && known && list && i < n; i++)                                         \
		if (list[i] && list[i]->aio_lio_opcode != LIO_NOP)                                 \
			rama_cap_aio_submitted(list[i], sp.t0, list[i]->aio_fildes,                \
					       list[i]->aio_offset, (int64_t)list[i]->aio_nbytes); \
	int r = RAMA_CAP_REAL(name)(mode, list, n, sig);                                           \
	if (on)                                                                                    \
		rama_cap_idle(&sp);                                                                \
	return r;

RAMA_CAP_EXPORT int RAMA_CAP_SYM(lio_listio)(int mode, struct aiocb *const *restrict list, int n,
					     struct sigevent *restrict sig){ LIO_BODY(lio_listio) }

RAMA_CAP_EXPORT
	int RAMA_CAP_SYM(lio_listio64)(int mode, struct aiocb64 *const *restrict list, int n,
				       struct sigevent *restrict sig){ LIO_BODY(lio_listio64) }

/* The control block says what it was only by the call it was given to; the C library notes that
 * in the block. */
#define RETURN_BODY(name)                                                             \
	struct rama_cap_span sp;                                                      \
	bool on = rama_cap_begin(&sp, RAMA_TAB_FN_##name, -1);                        \
	ssize_t r = RAMA_CAP_REAL(name)(cb);                                          \
	if (on)                                                                       \
		rama_cap_idle(&sp);                                                   \
	struct rama_cap_aio was = { 0 };                                              \
	if (on)                                                                       \
		was = rama_cap_aio_taken(cb);                                         \
	if (!was.t0)                                                                  \
		return r;                                                             \
	sp.t0 = was.t0;                                                               \
	struct rama_cap_call c = { .op.fn = RAMA_TAB_FN_##name,                       \
				   .op.kind = (cb->aio_lio_opcode & 127) == LIO_WRITE \
						      ? RAMA_TAB_OP_WRITE             \
						      : RAMA_TAB_OP_READ,             \
				   .op.how = RAMA_CORE_HOW_ASYNC,                     \
				   .op.ok = r >= 0,                                   \
				   .op.bytes = r,                                     \
				   .op.off = cb->aio_offset,                          \
				   .op.has_off = true,                                \
				   .fd = cb->aio_fildes,                              \
				   .mem = (uintptr_t)cb->aio_buf };                   \
	if ((cb->aio_lio_opcode & 127) <= LIO_WRITE)                                  \
		rama_cap_end_async(&sp, &c, was.parent);                              \
	return r;

RAMA_CAP_EXPORT ssize_t RAMA_CAP_SYM(aio_return)(struct aiocb *cb){ RETURN_BODY(aio_return) }

RAMA_CAP_EXPORT ssize_t RAMA_CAP_SYM(aio_return64)(struct aiocb64 *cb)
{
	RETURN_BODY(aio_return64)
}
