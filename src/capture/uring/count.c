/* SPDX-License-Identifier: BSD-3-Clause */
/* count.c: operations that have ended are counted as the calls that they stand for. */
#include "capture/events.h"
#include "capture/record.h"
#include "capture/uring/uring.h"

static struct rama_core_op op_of(const struct rama_core_uring_flight *f)
{
	bool data = f->kind == RAMA_TAB_OP_READ || f->kind == RAMA_TAB_OP_WRITE;

	return (struct rama_core_op){ .fn = f->fn,
				      .kind = f->kind,
				      .how = RAMA_CORE_HOW_ASYNC,
				      .ok = f->res >= 0,
				      .bytes = data ? f->res : 0,
				      .off = f->off,
				      .has_off = data && f->has_off,
				      .t0 = f->t0 - rama_cap_run.tick0,
				      .t1 = f->t1 - rama_cap_run.tick0 };
}

/* The slot of the file; one that no call has used yet is looked up now. NULL: not observed. */
static struct rama_core_posix_file *slot_of(struct rama_cap_thread *t, uint64_t file, int fd,
					    int64_t moved)
{
	struct rama_cap_fd *e;

	if (file > RAMA_CAP_URING_NO_FILE)
		return (struct rama_core_posix_file *)(uintptr_t)file;
	if (file == RAMA_CAP_URING_NO_FILE || fd < 0 || !(e = rama_cap_fd(fd)))
		return NULL;
	if (e->posix && !((uintptr_t)e->posix & 1))
		return e->posix;
	return rama_cap_fd_posix_slow(t, fd, moved);
}

static void count_copy(struct rama_cap_thread *t, const struct rama_core_uring_flight *f)
{
	struct rama_core_op op = op_of(f);
	struct rama_core_posix_file *from = slot_of(t, f->file_in, f->fd_in, 0);
	struct rama_core_posix_file *to = slot_of(t, f->file, f->fd, 0);

	op.how = RAMA_CORE_HOW_COPY;
	op.off = f->off_in;
	op.has_off = f->off_in != -1;
	if (from)
		rama_cap_do_data(t, from, 0, &op);
	op = op_of(f);
	op.how = RAMA_CORE_HOW_COPY;
	op.kind = RAMA_TAB_OP_WRITE;
	if (to)
		rama_cap_do_data(t, to, 0, &op);
}

static void count_meta(struct rama_cap_thread *t, const struct rama_core_uring_flight *f)
{
	struct rama_core_posix_file *to = slot_of(t, f->file, f->fd, 0);
	struct rama_core_op op = op_of(f);

	if (!to)
		return;
	if (op.ok) {
		rama_cap_do_extra(t, to->name, &op);
		return;
	}
	rama_cap_do_failed(t, rama_cap_name_at(to->name), &op);
	if (rama_cap_live_on(RAMA_SEG_LAYER_POSIX))
		rama_cap_live_call(t, RAMA_SEG_LAYER_POSIX, to->name, &op);
}

/* A registered file that was opened by a request before this one, in the same chain. */
static uint64_t file_of(const struct rama_cap_uring *r, const struct rama_core_uring_flight *f)
{
	if (f->file || !f->fixed || !r->files || f->file_index >= r->n_files)
		return f->file;
	return r->files[f->file_index].owner == (int32_t)rama_cap_run.pid
		       ? r->files[f->file_index].file
		       : 0;
}

static void count_one(struct rama_cap_thread *t, const struct rama_cap_uring *r,
		      const struct rama_core_uring_flight *f)
{
	struct rama_core_posix_file *to;
	struct rama_core_op op;

	switch (f->shape) {
	case RAMA_CORE_URING_DATA:
	case RAMA_CORE_URING_VECTOR:
	case RAMA_CORE_URING_SYNC:
		op = op_of(f);
		to = slot_of(t, file_of(r, f), f->fd,
			     op.ok && f->shape != RAMA_CORE_URING_SYNC && !f->has_off ? f->res : 0);
		if (to)
			rama_cap_do_data(t, to, (uintptr_t)f->mem, &op);
		else if (f->fixed && !file_of(r, f)) /* registered in a way that was not seen */
			rama_cap_uring_missed(1);
		break;
	case RAMA_CORE_URING_CLOSE:
		op = op_of(f);
		op.ok = true;
		if (f->file > RAMA_CAP_URING_NO_FILE)
			rama_cap_do_posix(t, (struct rama_core_posix_file *)(uintptr_t)f->file,
					  &op);
		break;
	case RAMA_CORE_URING_META:
		count_meta(t, f);
		break;
	case RAMA_CORE_URING_COPY:
		count_copy(t, f);
		break;
	}
}

void rama_cap_uring_count(struct rama_cap_thread *t, const struct rama_cap_uring *r,
			  struct rama_cap_uring_batch *b)
{
	if (b->n > 0)
		__atomic_fetch_add(&rama_cap_run.state->uring_ops, b->n, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < b->n; i++)
		count_one(t, r, &b->item[i]);
}

/* ---- by path --------------------------------------------------------------------------------- */

/* A file that has no descriptor, but a number among the registered ones. */
static void opened_direct(struct rama_cap_uring *r, const struct rama_core_uring_flight *f,
			  const char *path)
{
	uint32_t at = f->file_index == UINT32_MAX ? (uint32_t)f->res : f->file_index - 1;
	struct rama_core_op op = op_of(f);
	struct rama_cap_visit v;
	size_t len;

	if (!rama_cap_enter(&v))
		return;
	const char *text = path[0] ? rama_cap_clean(v.t, f->fd, path, &len) : NULL;
	struct rama_seg_name *n = text ? rama_cap_name(v.t, text, len, true) : NULL;
	struct rama_core_posix_file *to = n ? rama_cap_posix_of(v.t, n) : NULL;
	op.mode = (int32_t)f->len;
	if (to)
		rama_cap_do_posix(v.t, to, &op);
	if (rama_cap_lock(v.t, &r->shared->t.lock)) {
		if (r->files && at < r->n_files)
			r->files[at] =
				(struct rama_cap_uring_file){ to ? (uint64_t)(uintptr_t)to
								 : RAMA_CAP_URING_NO_FILE,
							      -1, (int32_t)rama_cap_run.pid };
		rama_cap_unlock(v.t, &r->shared->t.lock);
	}
	rama_cap_leave(&v);
}

/* Its path was too long to be kept: the descriptor knows it. */
static void opened_unnamed(const struct rama_core_uring_flight *f)
{
	struct rama_core_op op = op_of(f);
	struct rama_cap_visit v;

	rama_cap_fd_forget(f->res);
	if (!rama_cap_enter(&v))
		return;
	struct rama_core_posix_file *to = rama_cap_fd_posix(v.t, f->res);
	op.mode = (int32_t)f->len;
	if (to)
		rama_cap_do_posix(v.t, to, &op);
	rama_cap_leave(&v);
}

/* on a name that could not be kept, or is none at all */
static void unnamed(const struct rama_core_uring_flight *f)
{
	if (f->res != -EFAULT && f->res != -ENAMETOOLONG)
		rama_cap_uring_missed(1);
}

static void count_open(struct rama_cap_uring *r, const struct rama_core_uring_flight *f,
		       struct rama_cap_call *c)
{
	const struct rama_cap_span sp = { f->t0 };

	c->fd = f->res;
	c->op.mode = (int32_t)f->len;
	if (f->res >= 0 && f->file_index)
		opened_direct(r, f, c->path);
	else if (f->res >= 0 && !c->path[0])
		opened_unnamed(f);
	else if (c->path[0])
		rama_cap_end_open(&sp, c);
	else
		unnamed(f);
}

static void count_stat(const struct rama_core_uring_flight *f, struct rama_cap_call *c)
{
	const struct rama_cap_span sp = { f->t0 };
	uint16_t mode = 0;

	if (f->res == 0)
		rama_cap_uring_copy(&mode, (uintptr_t)f->answer + offsetof(struct statx, stx_mode),
				    sizeof(mode));
	c->file_mode = mode;
	if (f->path)
		rama_cap_end_stat(&sp, c);
	else
		unnamed(f);
}

static void count_path(struct rama_cap_uring *r, const struct rama_core_uring_flight *f,
		       struct rama_cap_uring_batch *b)
{
	struct rama_cap_call c = {
		.op = op_of(f), .fd = -1, .dirfd = f->fd, .path = f->path ? b->path[0] : ""
	};
	const struct rama_cap_span sp = { f->t0 };
	int saved = errno;

	errno = f->res < 0 ? -f->res : saved;
	switch (f->shape) {
	case RAMA_CORE_URING_OPEN:
	case RAMA_CORE_URING_HOW:
		count_open(r, f, &c);
		break;
	case RAMA_CORE_URING_STAT:
		count_stat(f, &c);
		break;
	case RAMA_CORE_URING_PATH:
		if (f->fn == RAMA_TAB_FN_uring_SETXATTR || f->fn == RAMA_TAB_FN_uring_GETXATTR)
			c.dirfd = AT_FDCWD;
		if (f->path)
			rama_cap_end_meta(&sp, &c);
		else
			unnamed(f);
		break;
	case RAMA_CORE_URING_RENAME:
		if (f->path && f->path_to)
			rama_cap_end_rename(&sp, f->fn,
					    &(struct rama_cap_rename){ f->fd, f->fd_in, b->path[0],
								       b->path[1] },
					    f->res);
		else
			unnamed(f);
		break;
	}
	errno = saved;
}

void rama_cap_uring_count_paths(struct rama_cap_uring *r, struct rama_cap_uring_batch *b)
{
	for (unsigned i = 0; i < b->n; i++)
		if (b->item[i].shape == RAMA_CORE_URING_OPEN ||
		    b->item[i].shape == RAMA_CORE_URING_HOW ||
		    (b->item[i].shape >= RAMA_CORE_URING_STAT &&
		     b->item[i].shape <= RAMA_CORE_URING_RENAME))
			count_path(r, &b->item[i], b);
}
