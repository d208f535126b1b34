/* SPDX-License-Identifier: BSD-3-Clause */
/* hand_libaio.c: libaio, the kernel's own asynchronous I/O. Its structs are those of the kernel.
 * In an object of its own, because only programs that use libaio have the real functions. */
#include <linux/aio_abi.h>
#include <signal.h>

#include "capture/record.h"
#include "capture/runtime.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

typedef void *io_context_t;

#define RAMA_CAP_LAZY_ROWS "table/fn_libaio.def"
#include "capture/wrap/lazy.def"

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_submit)(io_context_t ctx, long n, struct iocb **list)
{
	struct rama_cap_span sp;
	bool on = rama_cap_begin(&sp, RAMA_TAB_FN_io_submit, -1);
	int r = RAMA_CAP_LAZY(io_submit)(ctx, n, list);

	if (on)
		rama_cap_idle(&sp);
	for (int i = 0; on && i < r; i++)
		rama_cap_aio_submitted(list[i], sp.t0, (int)list[i]->aio_fildes,
				       list[i]->aio_offset, (int64_t)list[i]->aio_nbytes);
	return r;
}

static uintptr_t memory_of(const struct iocb *cb, bool vector)
{
	if (vector)
		return rama_cap_iov_mem((const struct iovec *)(uintptr_t)cb->aio_buf,
					(int)cb->aio_nbytes);
	return (uintptr_t)cb->aio_buf;
}

static void completed(const struct io_event *ev, unsigned fn)
{
	const struct iocb *cb = (const struct iocb *)(uintptr_t)ev->obj;
	struct rama_cap_aio was = rama_cap_aio_taken(cb);
	struct rama_cap_span sp = { was.t0 };
	struct rama_cap_call c = { .op.fn = (uint16_t)fn,
				   .op.how = RAMA_CORE_HOW_ASYNC,
				   .op.ok = ev->res >= 0,
				   .op.bytes = ev->res };

	if (!sp.t0) /* fetched by a thread that was faster than the one that submitted it */
		sp.t0 = rama_cap_ticks();
	bool vector =
		cb->aio_lio_opcode == IOCB_CMD_PREADV || cb->aio_lio_opcode == IOCB_CMD_PWRITEV;
	c.fd = (int)cb->aio_fildes;
	switch (cb->aio_lio_opcode) {
	case IOCB_CMD_PREAD:
	case IOCB_CMD_PREADV:
	case IOCB_CMD_PWRITE:
	case IOCB_CMD_PWRITEV:
		c.op.kind = cb->aio_lio_opcode == IOCB_CMD_PREAD ||
					    cb->aio_lio_opcode == IOCB_CMD_PREADV
				    ? RAMA_TAB_OP_READ
				    : RAMA_TAB_OP_WRITE;
		c.op.off = cb->aio_offset;
		c.op.has_off = true;
		c.mem = memory_of(cb, vector);
		break;
	case IOCB_CMD_FSYNC:
		c.op.kind = RAMA_TAB_OP_SYNC;
		break;
	case IOCB_CMD_FDSYNC:
		c.op.kind = RAMA_TAB_OP_DATASYNC;
		break;
	default:
		return;
	}
	rama_cap_end_async(&sp, &c, was.parent);
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_getevents)(io_context_t ctx, long min, long n,
					       struct io_event *events, struct timespec *timeout)
{
	struct rama_cap_span sp;
	bool on = rama_cap_begin(&sp, RAMA_TAB_FN_io_getevents, -1);
	int r = RAMA_CAP_LAZY(io_getevents)(ctx, min, n, events, timeout);

	if (on)
		rama_cap_idle(&sp);
	for (int i = 0; on && i < r; i++)
		completed(&events[i], RAMA_TAB_FN_io_getevents);
	return r;
}

RAMA_CAP_EXPORT int RAMA_CAP_SYM(io_pgetevents)(io_context_t ctx, long min, long n,
						struct io_event *events, struct timespec *timeout,
						sigset_t *mask)
{
	struct rama_cap_span sp;
	bool on = rama_cap_begin(&sp, RAMA_TAB_FN_io_pgetevents, -1);
	int r = RAMA_CAP_LAZY(io_pgetevents)(ctx, min, n, events, timeout, mask);

	if (on)
		rama_cap_idle(&sp);
	for (int i = 0; on && i < r; i++)
		completed(&events[i], RAMA_TAB_FN_io_pgetevents);
	return r;
}
