/* SPDX-License-Identifier: BSD-3-Clause */
/* uring.c: io_uring, --depth requests at a time. A kernel that has none says so when the
 * file is opened. */
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulate/engine/engine.h"
#include "emulate/team/team.h"

#define DIRECT_ALIGN 4096 /* of buffers, offsets and lengths past the page cache */

struct request {
	struct request *next;	   /* free ones */
	struct rama_emu_request q; /* what is left of it */
	double start;
};

struct ring {
	int fd;
	int around; /* past no page cache: for requests that are not aligned; -1: fd is for all */
	struct io_uring ring;
	struct request *all, *free;
	unsigned flying;
};

/* What has ended is looked for where it is waited for, by the thread that asked for it, instead of
 * interrupting it: Linux 6.1. Older ones take no such flags. */
static int make_ring(unsigned depth, struct io_uring *ring)
{
	int rc = -EINVAL;

#if defined(IORING_SETUP_SINGLE_ISSUER) && defined(IORING_SETUP_DEFER_TASKRUN)
	rc = io_uring_queue_init(depth, ring,
				 IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
#endif
	return rc == -EINVAL ? io_uring_queue_init(depth, ring, 0) : rc;
}

static int ring_open(struct rama_emu_handle *h, int flags, struct rama_err *e)
{
	unsigned depth = h->opt.depth > 0 ? h->opt.depth : 1;
	struct ring *r = calloc(1, sizeof(*r));
	int rc;

	if (r != NULL)
		r->all = calloc(depth, sizeof(*r->all));
	if (r == NULL || r->all == NULL) {
		free(r);
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	}
	rc = make_ring(depth, &r->ring);
	if (rc < 0) {
		free(r->all);
		free(r);
		return rama_err_set(e, RAMA_EIO, "io_uring cannot be used here: %s", strerror(-rc));
	}
	for (unsigned i = 0; i < depth; i++) {
		r->all[i].next = r->free;
		r->free = &r->all[i];
	}
	r->around = -1;
	r->fd = rama_emu_engine_fd(h, flags, h->engine->direct ? O_DIRECT : 0);
	if (r->fd >= 0 && h->engine->direct)
		r->around = rama_emu_engine_fd(h, flags & ~RAMA_EMU_OPEN_TRUNCATE, 0);
	h->state = r;
	if (r->fd >= 0 && (r->around >= 0 || !h->engine->direct))
		return 0;
	rc = rama_emu_engine_error(h, "open", -1, errno, e);
	if (r->fd >= 0)
		close(r->fd);
	io_uring_queue_exit(&r->ring);
	free(r->all);
	free(r);
	return rc;
}

static int submit(struct rama_emu_handle *h, struct request *x, struct rama_err *e)
{
	struct ring *r = h->state;
	const struct rama_emu_request *q = &x->q;
	unsigned part = q->n < (1u << 30) ? (unsigned)q->n : 1u << 30;
	struct io_uring_sqe *s = io_uring_get_sqe(&r->ring);
	bool odd = ((uint64_t)q->off | part | (uintptr_t)q->buf) % DIRECT_ALIGN != 0;
	int fd = odd && r->around >= 0 ? r->around : r->fd, rc;

	if (s == NULL)
		return rama_err_set(e, RAMA_EIO, "%s: no place in the ring", h->path);
	if (q->write)
		io_uring_prep_write(s, fd, q->buf, part, (uint64_t)q->off);
	else
		io_uring_prep_read(s, fd, q->buf, part, (uint64_t)q->off);
	io_uring_sqe_set_data(s, x);
	do
		rc = io_uring_submit(&r->ring);
	while (rc == -EINTR || rc == -EAGAIN);
	return rc >= 0 ? 0 : rama_emu_engine_error(h, "io_uring", q->off, -rc, e);
}

static int ring_move(struct rama_emu_handle *h, struct rama_emu_request q, struct rama_err *e)
{
	struct ring *r = h->state;
	struct request *x = r->free;
	int rc;

	if (x == NULL)
		return rama_err_set(e, RAMA_EIO, "%s: more requests than --depth", h->path);
	r->free = x->next;
	*x = (struct request){ .q = q, .start = rama_now() };
	rc = submit(h, x, e);
	if (rc == 0)
		r->flying++;
	return rc;
}

/* 1: the request is finished; 0: its rest was asked for again */
static int advance(struct rama_emu_handle *h, struct request *x, int result, struct rama_err *e)
{
	struct rama_emu_request *q = &x->q;

	if (result == -EINTR || result == -EAGAIN)
		result = 0;
	else if (result < 0)
		return rama_emu_engine_error(h, q->write ? "write" : "read", q->off, -result, e);
	else if (result == 0)
		return rama_emu_engine_error(h, q->write ? "write" : "read", q->off,
					     q->write ? ENOSPC : 0, e);
	q->buf += result;
	q->off += result;
	q->n -= (size_t)result;
	if (q->n == 0)
		return 1;
	return submit(h, x, e);
}

static int ring_reap(struct rama_emu_handle *h, unsigned left,
		     void (*done)(void *ctx, void *tag, double seconds), void *ctx,
		     struct rama_err *e)
{
	struct ring *r = h->state;

	while (r->flying > left) {
		struct io_uring_cqe *c;
		struct request *q;
		int rc = io_uring_wait_cqe(&r->ring, &c), result;

		if (rc == -EINTR)
			continue;
		if (rc < 0)
			return rama_emu_engine_error(h, "io_uring", -1, -rc, e);
		q = io_uring_cqe_get_data(c);
		result = c->res;
		io_uring_cqe_seen(&r->ring, c);
		rc = advance(h, q, result, e);
		if (rc == 0)
			continue;
		r->flying--;
		q->next = r->free;
		r->free = q;
		if (rc < 0)
			return rc;
		if (done != NULL)
			done(ctx, q->q.tag, rama_now() - q->start);
	}
	return 0;
}

static int ring_sync(struct rama_emu_handle *h, struct rama_err *e)
{
	struct ring *r = h->state;

	return fsync(r->fd) == 0 ? 0 : rama_emu_engine_error(h, "fsync", -1, errno, e);
}

/* Nothing may be under way when the buffers go. */
static int ring_close(struct rama_emu_handle *h, struct rama_err *e)
{
	struct ring *r = h->state;
	struct rama_err ignored;
	int rc = 0;

	/* as long as each that is waited for comes */
	for (unsigned left = r->flying + 1; r->flying > 0 && r->flying < left;) {
		left = r->flying;
		ring_reap(h, 0, NULL, NULL, &ignored);
	}
	io_uring_queue_exit(&r->ring);
	if (r->around >= 0)
		close(r->around);
	if (close(r->fd) != 0)
		rc = rama_emu_engine_error(h, "close", -1, errno, e);
	free(r->all);
	free(r);
	return rc;
}

const struct rama_emu_engine rama_emu_engine_uring = {
	.name = "uring",
	.doc = "io_uring, --depth requests at a time",
	.open = ring_open,
	.move = ring_move,
	.reap = ring_reap,
	.sync = ring_sync,
	.close = ring_close,
};

const struct rama_emu_engine rama_emu_engine_uring_direct = {
	.name = "uring-direct",
	.doc = "io_uring past the page cache (O_DIRECT); what is not aligned goes through it",
	.direct = true,
	.open = ring_open,
	.move = ring_move,
	.reap = ring_reap,
	.sync = ring_sync,
	.close = ring_close,
};
