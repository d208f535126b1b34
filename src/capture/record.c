/* SPDX-License-Identifier: BSD-3-Clause */
/* record.c: one observed call becomes counters, heat and events. */
#include "capture/attach.h"
#include "capture/events.h"
#include "capture/hooks/hooks.h"
#include "capture/record.h"
#include "capture/sites.h"
#include "capture/slot.h"
#include "core/posix_transfer.h"

/* ---- in and out ------------------------------------------------------------------------------ */

void rama_cap_missed(struct rama_cap_thread *t)
{
	if (t->lane)
		t->lane->missed++;
}

/* The thread may have lost its lane since rama_cap_begin: it forked, or it is ending. */
bool rama_cap_enter(struct rama_cap_visit *v)
{
	v->saved_errno = errno;
	v->t = &rama_cap_thread;
	if (v->t->live != *rama_cap_live && !rama_cap_wake())
		return false;
	if (v->t->busy && !rama_cap_was_left(v->t, (uintptr_t)v)) {
		rama_cap_missed(v->t);
		return false;
	}
	rama_cap_busy(v->t, (uintptr_t)v);
	return true;
}

void rama_cap_leave(struct rama_cap_visit *v)
{
	rama_cap_free(v->t);
	errno = v->saved_errno;
}

/* Only memory that is there already may be touched when we are quiet; calls of processes forked
 * since count here, too. */
static bool uncounted(void)
{
	if (rama_cap_run.state && !rama_cap_off)
		__atomic_fetch_add(&rama_cap_run.state->missed, 1, __ATOMIC_RELAXED);
	return false;
}

bool rama_cap_begin_slow(struct rama_cap_span *sp, unsigned fn, int fd)
{
	if (rama_cap_quiet)
		return uncounted();
	if (*rama_cap_live != rama_cap_thread.live && !rama_cap_wake())
		return false;
	sp->t0 = rama_cap_ticks();
	rama_cap_doing(sp, fn, fd);
	return true;
}

void rama_cap_times(const struct rama_cap_span *sp, struct rama_core_op *op)
{
	op->t0 = sp->t0 - rama_cap_run.tick0;
	op->t1 = rama_cap_ticks() - rama_cap_run.tick0;
}

/* A handler interrupted our bookkeeping: what it did is done when that is finished. */
static __attribute__((noinline)) void queue(struct rama_cap_thread *t,
					    const struct rama_core_op *op, int fd, uintptr_t mem)
{
	uint32_t at = t->tail;

	if (at - t->head >= RAMA_CAP_QUEUE) {
		rama_cap_missed(t);
		return;
	}
	t->tail = at + 1; /* first, so that a handler in this handler takes the next one */
	atomic_signal_fence(memory_order_seq_cst);
	t->queue[at % RAMA_CAP_QUEUE] =
		(struct rama_cap_pending){ .op = *op, .fd = fd, .mem = mem };
}

/* ---- slots ----------------------------------------------------------------------------------- */

bool rama_cap_slot_lock_slow(struct rama_cap_thread *t, uint32_t *seq, uint8_t *stuck)
{
	if (*stuck)
		return false;
	if (rama_cap_lock(t, seq)) {
		t->held_at = t->guard_at;
		atomic_signal_fence(memory_order_seq_cst);
		t->held = seq;
		atomic_signal_fence(memory_order_seq_cst);
		t->guard = NULL;
		return true;
	}
	*stuck = 1;
	return false;
}

static bool do_extra(struct rama_cap_thread *t, uint32_t name, struct rama_core_op *op)
{
	struct rama_core_extra_file *f = name ? rama_cap_extra_of(t, rama_cap_name_at(name)) : NULL;

	if (!f || !rama_cap_slot_lock(t, &f->seq, &f->stuck))
		return false;
	rama_core_extra_apply(f, op);
	rama_cap_slot_unlock(t, &f->seq);
	return true;
}

static bool is_sync(const struct rama_core_op *op)
{
	return op->kind == RAMA_TAB_OP_SYNC || op->kind == RAMA_TAB_OP_DATASYNC;
}

/* What failed but is neither read nor write (those are counted with the file's other reads and
 * writes) is counted apart; and all that is no access is an event of its own. */
static __attribute__((noinline)) void no_access(struct rama_cap_thread *t, uint32_t name,
						struct rama_core_op *op)
{
	if (!op->ok && op->kind != RAMA_TAB_OP_READ && op->kind != RAMA_TAB_OP_WRITE &&
	    op->kind != RAMA_TAB_OP_CLOSE)
		do_extra(t, name, op);
	if (op->ok && is_sync(op) && rama_cap_run.server) {
		op->off = -1;
		op->bytes = 0;
		if (rama_cap_eventful(RAMA_SEG_LAYER_POSIX))
			rama_cap_access(t, RAMA_SEG_LAYER_POSIX, name, op);
	} else if (rama_cap_live_on(RAMA_SEG_LAYER_POSIX)) {
		rama_cap_live_call(t, RAMA_SEG_LAYER_POSIX, name, op);
	}
}

static inline __attribute__((always_inline)) void do_posix(struct rama_cap_thread *t,
							   struct rama_core_posix_file *f,
							   struct rama_core_op *op,
							   enum rama_tab_opkind kind)
{
	struct rama_cap_site site = { .key = 0 };
	const bool moves = kind != RAMA_TAB_OP_NOTHING && RAMA_CAP_LIKELY(op->ok);

	if (moves && rama_cap_run.sites)
		site = rama_cap_site_now(t);
	if (!rama_cap_slot_lock(t, &f->seq, &f->stuck))
		return;
	if (moves && rama_cap_run.sites)
		rama_cap_site_turn(t, &f->turn[kind == RAMA_TAB_OP_READ], f->w, 0,
				   kind == RAMA_TAB_OP_READ, f->name, &site);
	else if (moves)
		f->turn[kind == RAMA_TAB_OP_READ].key = RAMA_CAP_SITE_ANY;
	if (!op->has_off)
		op->off = f->offset; /* what the trace says */
	if (kind != RAMA_TAB_OP_NOTHING && RAMA_CAP_LIKELY(op->ok))
		rama_core_posix_transfer(f, op, kind == RAMA_TAB_OP_READ);
	else
		rama_core_posix_apply(f, op);
	rama_cap_slot_unlock(t, &f->seq);
	if (kind != RAMA_TAB_OP_NOTHING && RAMA_CAP_LIKELY(op->ok))
		rama_cap_tell(t, RAMA_SEG_LAYER_POSIX, f->name, op, kind == RAMA_TAB_OP_READ);
	else if (RAMA_CAP_UNLIKELY(!op->ok) || rama_cap_live_on(RAMA_SEG_LAYER_POSIX) ||
		 RAMA_CAP_UNLIKELY(rama_cap_run.server))
		no_access(t, f->name, op);
}

void rama_cap_do_posix(struct rama_cap_thread *t, struct rama_core_posix_file *f,
		       struct rama_core_op *op)
{
	do_posix(t, f, op, RAMA_TAB_OP_NOTHING);
}

static inline bool unaligned(uintptr_t mem)
{
	return RAMA_CAP_LIKELY(rama_cap_run.mem_mask) ? (mem & rama_cap_run.mem_mask) != 0
						      : mem % rama_cap_run.mem_align != 0;
}

void rama_cap_do_data(struct rama_cap_thread *t, struct rama_core_posix_file *f, uintptr_t mem,
		      struct rama_core_op *op)
{
	op->unaligned = unaligned(mem);
	if (op->kind == RAMA_TAB_OP_READ)
		do_posix(t, f, op, RAMA_TAB_OP_READ);
	else if (op->kind == RAMA_TAB_OP_WRITE)
		do_posix(t, f, op, RAMA_TAB_OP_WRITE);
	else
		do_posix(t, f, op, RAMA_TAB_OP_NOTHING);
}

static bool is_access(const struct rama_core_op *op)
{
	return op->kind == RAMA_TAB_OP_READ || op->kind == RAMA_TAB_OP_WRITE;
}

static inline void do_stdio(struct rama_cap_thread *t, struct rama_core_stdio_file *f,
			    struct rama_core_op *op)
{
	struct rama_cap_site site = { .key = 0 };
	const bool rd = op->kind == RAMA_TAB_OP_READ;
	const bool moves = is_access(op) && op->ok;

	if (moves && rama_cap_run.sites)
		site = rama_cap_site_now(t);
	if (!rama_cap_slot_lock(t, &f->seq, &f->stuck))
		return;
	if (moves && rama_cap_run.sites)
		rama_cap_site_turn(t, &f->turn[rd], f->w, 1, rd, f->name, &site);
	else if (moves)
		f->turn[rd].key = RAMA_CAP_SITE_ANY;
	if (op->kind != RAMA_TAB_OP_SEEK)
		op->off = f->offset;
	rama_core_stdio_apply(f, op);
	rama_cap_slot_unlock(t, &f->seq);
	if (is_access(op))
		rama_cap_tell(t, RAMA_SEG_LAYER_STDIO, f->name, op, op->kind == RAMA_TAB_OP_READ);
	else if (rama_cap_live_on(RAMA_SEG_LAYER_STDIO))
		rama_cap_live_call(t, RAMA_SEG_LAYER_STDIO, f->name, op);
}

void rama_cap_do_stdio(struct rama_cap_thread *t, struct rama_core_stdio_file *f,
		       struct rama_core_op *op)
{
	do_stdio(t, f, op);
}

/* events of layers above: what is no access, or failed, is live only */
static void tell_layer(struct rama_cap_thread *t, enum rama_seg_layer layer, uint32_t name,
		       const struct rama_core_op *op)
{
	if (op->ok && is_access(op)) {
		if (rama_cap_eventful(layer))
			rama_cap_access(t, layer, name, op);
	} else if (rama_cap_live_on(layer)) {
		rama_cap_live_call(t, layer, name, op);
	}
}

/* A failed call has no counters; what closes does, whatever it returns. */
static bool counts(const struct rama_core_op *op)
{
	return op->ok || !is_access(op);
}

void rama_cap_do_mpiio(struct rama_cap_thread *t, struct rama_core_mpiio_file *f,
		       struct rama_core_op *op)
{
	if (op->ok) {
		if (!rama_cap_slot_lock(t, &f->seq, &f->stuck))
			return;
		rama_core_mpiio_apply(f, op);
		rama_cap_slot_unlock(t, &f->seq);
	}
	if (op->ok && is_access(op))
		rama_cap_tell(t, RAMA_SEG_LAYER_MPIIO, f->name, op, op->kind == RAMA_TAB_OP_READ);
	else if (rama_cap_live_on(RAMA_SEG_LAYER_MPIIO))
		rama_cap_live_call(t, RAMA_SEG_LAYER_MPIIO, f->name, op);
}

void rama_cap_do_kind(struct rama_cap_thread *t, enum rama_seg_kind kind, void *slot,
		      struct rama_core_op *op, enum rama_seg_layer layer)
{
	struct rama_core_slot *s = slot;

	if (!rama_cap_slot_lock(t, &s->seq, &s->stuck))
		return;
	rama_core_kinds[kind]->apply(slot, op);
	rama_cap_slot_unlock(t, &s->seq);
	if (layer < RAMA_SEG_EVENT_LAYERS)
		tell_layer(t, layer, s->name, op);
}

void rama_cap_do_h5d(struct rama_cap_thread *t, struct rama_core_h5d_file *f,
		     struct rama_core_op *op, const struct rama_core_h5d_shape *s,
		     const struct rama_core_h5d_access *a)
{
	if (counts(op)) {
		if (!rama_cap_slot_lock(t, &f->seq, &f->stuck))
			return;
		if (s)
			rama_core_h5d_open(f, op, s);
		else
			rama_core_h5d_apply(f, op, a);
		rama_cap_slot_unlock(t, &f->seq);
	}
	op->off = -1; /* where in the file it was is not known */
	tell_layer(t, RAMA_SEG_LAYER_H5D, f->name, op);
}

void rama_cap_do_pnetcdf_var(struct rama_cap_thread *t, struct rama_core_pnetcdf_var *f,
			     struct rama_core_op *op, const struct rama_core_pnetcdf_shape *s,
			     const struct rama_core_pnetcdf_access *a)
{
	if (counts(op)) {
		if (!rama_cap_slot_lock(t, &f->seq, &f->stuck))
			return;
		if (s)
			rama_core_pnetcdf_var_open(f, op, s);
		else
			rama_core_pnetcdf_var_apply(f, op, a);
		rama_cap_slot_unlock(t, &f->seq);
	}
	op->off = -1;
	tell_layer(t, RAMA_SEG_LAYER_PNETCDF, f->name, op);
}

void rama_cap_do_lustre(struct rama_cap_thread *t, struct rama_core_lustre_file *f,
			const void *layout, size_t len)
{
	if (!rama_cap_slot_lock(t, &f->seq, &f->stuck))
		return;
	rama_core_lustre_apply(f, layout, len);
	rama_cap_slot_unlock(t, &f->seq);
}

void rama_cap_do_extra(struct rama_cap_thread *t, uint32_t name, struct rama_core_op *op)
{
	if (do_extra(t, name, op) && rama_cap_live_on(RAMA_SEG_LAYER_POSIX))
		rama_cap_live_call(t, RAMA_SEG_LAYER_POSIX, name, op);
}

void rama_cap_do_origin(struct rama_cap_thread *t, struct rama_seg_name *n, unsigned word,
			uint64_t id)
{
	/* the catch-all is many files */
	struct rama_core_extra_file *f = n != rama_cap_name_at(1) ? rama_cap_extra_of(t, n) : NULL;

	if (!f || !rama_cap_slot_lock(t, &f->seq, &f->stuck))
		return;
	if (f->w[word].u == 0)
		f->w[word].u = id;
	rama_cap_slot_unlock(t, &f->seq);
}

/* Names that do not exist are many (searches along a path): they share one record. */
void rama_cap_do_failed(struct rama_cap_thread *t, struct rama_seg_name *n, struct rama_core_op *op)
{
	if (!n || n == rama_cap_name_at(1)) /* the catch-all is for files that are there */
		n = rama_cap_name(t, RAMA_CAP_NAME_FAILED, sizeof(RAMA_CAP_NAME_FAILED) - 1, true);
	if (n)
		do_extra(t, rama_cap_name_number(n), op);
}

/* ---- the doors ------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void data(struct rama_cap_thread *t, int fd,
						       uintptr_t mem, struct rama_core_op *op,
						       enum rama_tab_opkind kind)
{
	struct rama_core_posix_file *f;
	if (RAMA_CAP_UNLIKELY((unsigned)fd >= RAMA_CAP_FDS_FIRST)) {
		struct rama_cap_fd *e = rama_cap_fd(fd);
		if (!e)
			return;
		f = e->posix;
	} else {
		f = rama_cap_run.fds[fd].posix;
	}
	if (RAMA_CAP_UNLIKELY(!f || (uintptr_t)f & 1) &&
	    !(f = rama_cap_fd_posix_slow(
		      t, fd,
		      !op->has_off && op->ok && kind != RAMA_TAB_OP_NOTHING ? op->bytes : 0)))
		return;
	op->unaligned = unaligned(mem);
	do_posix(t, f, op, kind);
}

/* The thread was awake at rama_cap_begin, so it still is. errno is not touched by anything in
 * here: slow ways keep it themselves. */
static inline __attribute__((always_inline)) void record(uint64_t t0,
							 const struct rama_cap_pending *c,
							 uint64_t what, enum rama_tab_opkind kind)
{
	struct rama_cap_thread *t = &rama_cap_thread;
	struct rama_core_op op = c->op;
	const uintptr_t cfa = t->cfa;

	t->cfa = 0;
	memcpy(&op, &what, sizeof(what));
	op.t1 = rama_cap_ticks() - rama_cap_run.tick0;
	if (RAMA_CAP_LIKELY(t->lane->doing_since == t0))
		t->lane->doing_since = 0;
	op.t0 = t0 - rama_cap_run.tick0;
	if (RAMA_CAP_UNLIKELY(t->busy) && !rama_cap_was_left(t, rama_cap_frame())) {
		queue(t, &op, c->fd, c->mem);
		return;
	}
	rama_cap_busy(t, rama_cap_frame());
	t->cfa = cfa;
	data(t, c->fd, c->mem, &op, kind);
	t->cfa = 0;
	rama_cap_free(t);
}

int64_t rama_cap_record_read(uint64_t t0, int fd, uintptr_t mem, int64_t bytes, int64_t off,
			     uint64_t what)
{
	record(t0,
	       &(struct rama_cap_pending){ .op.bytes = bytes, .op.off = off, .fd = fd, .mem = mem },
	       what, RAMA_TAB_OP_READ);
	return bytes;
}

int64_t rama_cap_record_write(uint64_t t0, int fd, uintptr_t mem, int64_t bytes, int64_t off,
			      uint64_t what)
{
	record(t0,
	       &(struct rama_cap_pending){ .op.bytes = bytes, .op.off = off, .fd = fd, .mem = mem },
	       what, RAMA_TAB_OP_WRITE);
	return bytes;
}

void rama_cap_record_other(uint64_t t0, int fd, int64_t off, uint64_t what)
{
	record(t0, &(struct rama_cap_pending){ .op.off = off, .fd = fd }, what,
	       RAMA_TAB_OP_NOTHING);
}

void rama_cap_end_async(const struct rama_cap_span *sp, const struct rama_cap_call *c,
			uint32_t parent)
{
	struct rama_cap_thread *t = &rama_cap_thread;
	struct rama_core_op op = c->op;
	struct rama_cap_nest nest = { .outer = parent };

	if (!parent || t->busy) {
		rama_cap_end_data(sp, c);
		return;
	}
	rama_cap_idle(sp);
	rama_cap_times(sp, &op);
	rama_cap_busy(t, rama_cap_frame());
	nest.id = (uint32_t)++t->lane->calls;
	t->nest = &nest;
	if (op.kind == RAMA_TAB_OP_READ)
		data(t, c->fd, c->mem, &op, RAMA_TAB_OP_READ);
	else if (op.kind == RAMA_TAB_OP_WRITE)
		data(t, c->fd, c->mem, &op, RAMA_TAB_OP_WRITE);
	else
		data(t, c->fd, c->mem, &op, RAMA_TAB_OP_NOTHING);
	t->nest = NULL;
	rama_cap_free(t);
}

/* A handler that comes while we are not busy may drain the queue itself: it is looked at only
 * while busy. */
void rama_cap_drain(struct rama_cap_thread *t)
{
	bool more = true;

	while (more) {
		struct rama_cap_pending c = { .op.kind = RAMA_TAB_OP_NOTHING };

		rama_cap_busy(t, rama_cap_frame());
		t->cfa = 0; /* that was long ago */
		more = t->head != t->tail;
		if (more) {
			c = t->queue[t->head % RAMA_CAP_QUEUE];
			t->queue[t->head % RAMA_CAP_QUEUE].op.kind = RAMA_TAB_OP_NOTHING;
			t->head++;
		}
		if (c.op.kind == RAMA_TAB_OP_READ)
			data(t, c.fd, c.mem, &c.op, RAMA_TAB_OP_READ);
		else if (c.op.kind == RAMA_TAB_OP_WRITE)
			data(t, c.fd, c.mem, &c.op, RAMA_TAB_OP_WRITE);
		else if (c.op.kind != RAMA_TAB_OP_NOTHING)
			data(t, c.fd, c.mem, &c.op, RAMA_TAB_OP_NOTHING);
		atomic_signal_fence(memory_order_seq_cst);
		t->busy = 0;
		atomic_signal_fence(memory_order_seq_cst);
	}
}

void rama_cap_path_failed(struct rama_cap_thread *t, const char *path, size_t len,
			  struct rama_core_op *op)
{
	rama_cap_do_failed(t, rama_cap_name_known(t, path, len), op);
	if (rama_cap_live_on(RAMA_SEG_LAYER_POSIX))
		rama_cap_live_path(t, RAMA_SEG_LAYER_POSIX, path, len, op);
}

void rama_cap_end_open(const struct rama_cap_span *sp, struct rama_cap_call *c)
{
	struct rama_cap_visit v;

	rama_cap_idle(sp);
	rama_cap_times(sp, &c->op);
	if (!rama_cap_enter(&v)) {
		if (c->op.ok)
			rama_cap_fd_forget(c->fd); /* looked up when it is used */
		return;
	}
	if (!c->op.ok && !rama_cap_path_was_read(c->path, v.saved_errno)) {
		rama_cap_leave(&v);
		return;
	}
	struct rama_seg_name *n;
	size_t len;
	const char *path = rama_cap_clean_known(v.t, c->dirfd, c->path, &len, &n);
	if (!c->op.ok) {
		if (path)
			rama_cap_path_failed(v.t, path, len, &c->op);
	} else {
		if (path && !n)
			n = rama_cap_name(v.t, path, len, true);
		struct rama_core_posix_file *f = path && n ? rama_cap_posix_of(v.t, n) : NULL;
		rama_cap_fd_set(c->fd, f ? f : RAMA_CAP_NO_FILE, NULL, 0);
		if (f)
			rama_cap_do_posix(v.t, f, &c->op);
		else
			rama_cap_fuse_opened(c->fd, c->path);
	}
	rama_cap_leave(&v);
	if (rama_cap_attached)
		rama_cap_attach_again();
	if (RAMA_CAP_UNLIKELY(rama_cap_hooks_wanted))
		rama_cap_hooks_again();
}

void rama_cap_end_stat(const struct rama_cap_span *sp, struct rama_cap_call *c)
{
	struct rama_cap_visit v;

	rama_cap_idle(sp);
	rama_cap_times(sp, &c->op);
	if (!rama_cap_enter(&v))
		return;
	if (c->op.ok && S_ISREG(c->file_mode)) {
		struct rama_core_posix_file *f = NULL;
		if (!c->path || c->path[0] == '\0') {
			int fd = c->path ? c->dirfd : c->fd;
			f = rama_cap_fd_posix(v.t, fd);
		} else {
			struct rama_seg_name *n;
			size_t len;
			const char *path = rama_cap_clean_known(v.t, c->dirfd, c->path, &len, &n);
			if (path && !n)
				n = rama_cap_name(v.t, path, len, true);
			f = path && n ? rama_cap_posix_of(v.t, n) : NULL;
		}
		if (f)
			rama_cap_do_posix(v.t, f, &c->op);
		rama_cap_leave(&v);
		return;
	}
	rama_cap_leave(&v);
	if (c->op.ok)
		c->op.kind = RAMA_TAB_OP_STATOTHER;
	rama_cap_end_meta(sp, c);
}

/* an operation by path */
static void meta_path(struct rama_cap_thread *t, struct rama_cap_call *c)
{
	struct rama_seg_name *n;
	size_t len;
	const char *path = rama_cap_clean_known(t, c->dirfd, c->path, &len, &n);

	if (path && !n && c->op.ok)
		n = rama_cap_name(t, path, len, true);
	if (path && n && c->op.ok)
		rama_cap_do_extra(t, rama_cap_name_number(n), &c->op);
	else if (path && !c->op.ok)
		rama_cap_path_failed(t, path, len, &c->op);
}

/* by descriptor */
static void meta_fd(struct rama_cap_thread *t, struct rama_cap_call *c)
{
	struct rama_seg_name *n = rama_cap_fd_name(t, c->path ? c->dirfd : c->fd);

	if (!n)
		return;
	if (c->op.ok) {
		rama_cap_do_extra(t, rama_cap_name_number(n), &c->op);
		return;
	}
	rama_cap_do_failed(t, n, &c->op);
	if (rama_cap_live_on(RAMA_SEG_LAYER_POSIX))
		rama_cap_live_call(t, RAMA_SEG_LAYER_POSIX, rama_cap_name_number(n), &c->op);
}

/* of two names the one that is not ours may have been looked at first */
static bool path_was_read(const struct rama_cap_call *c, int error)
{
	bool second = c->op.fn == RAMA_TAB_FN_symlink || c->op.fn == RAMA_TAB_FN_symlinkat;

	return rama_cap_path_was_read(c->path, second && error != EFAULT ? 0 : error);
}

void rama_cap_end_meta(const struct rama_cap_span *sp, struct rama_cap_call *c)
{
	struct rama_cap_visit v;

	rama_cap_idle(sp);
	rama_cap_times(sp, &c->op);
	if (!rama_cap_enter(&v))
		return;
	if (!c->op.ok && c->path && !path_was_read(c, v.saved_errno))
		; /* then it must not be looked at */
	else if (c->path && c->path[0])
		meta_path(v.t, c);
	else
		meta_fd(v.t, c);
	rama_cap_leave(&v);
}

void rama_cap_end_other(const struct rama_cap_span *sp, struct rama_cap_call *c)
{
	rama_cap_idle(sp);
	if (c->op.ok)
		rama_cap_fd_set(c->fd, RAMA_CAP_NO_FILE, RAMA_CAP_NO_STREAM, 0);
	if (RAMA_CAP_UNLIKELY(rama_cap_hooks_wanted))
		rama_cap_hooks_again();
}

/* Of a stream, at its end or after an error: an event only. */
static __attribute__((noinline)) void nothing_moved(struct rama_cap_thread *t,
						    struct rama_core_stdio_file *f,
						    struct rama_cap_call *c)
{
	c->op.bytes = 0;
	c->op.off = f->offset;
	c->op.ok = is_access(&c->op) && !ferror_unlocked(c->stream);
	rama_cap_live_call(t, RAMA_SEG_LAYER_STDIO, f->name, &c->op);
}

void rama_cap_from(uintptr_t cfa)
{
	rama_cap_thread.cfa = cfa;
}

/* rama_cap_thread.cfa: where it came from */
void rama_cap_end_stream_from(const struct rama_cap_span *sp, struct rama_cap_call *c)
{
	struct rama_cap_thread *t = &rama_cap_thread;
	int saved = errno;

	rama_cap_idle(sp);
	const uintptr_t cfa = t->cfa;

	t->cfa = 0;
	if (!c->stream || (!c->op.ok && !rama_cap_live_on(RAMA_SEG_LAYER_STDIO)))
		return;
	rama_cap_times(sp, &c->op);
	if (RAMA_CAP_UNLIKELY(t->busy) && !rama_cap_was_left(t, rama_cap_frame())) {
		rama_cap_missed(t);
	} else if (RAMA_CAP_LIKELY(t->live == *rama_cap_live) || rama_cap_wake()) {
		rama_cap_busy(t, rama_cap_frame());
		struct rama_core_stdio_file *f = rama_cap_stream_file(t, c->stream);

		t->cfa = cfa;
		if (f && RAMA_CAP_UNLIKELY(!c->op.ok))
			nothing_moved(t, f, c);
		else if (f)
			do_stdio(t, f, &c->op);
		t->cfa = 0;
		rama_cap_free(t);
	}
	errno = saved;
}

void rama_cap_end_stream(const struct rama_cap_span *sp, struct rama_cap_call *c)
{
	/* in here, and the stack is walked from here: wrappers need not pass it on */
	rama_cap_thread.cfa = RAMA_CAP_CFA;
	rama_cap_end_stream_from(sp, c);
}

uintptr_t rama_cap_iov_mem(const struct iovec *iov, int n)
{
	uintptr_t mem = 0;

	if (!iov)
		return 0;
	for (int i = 0; i < n; i++)
		mem |= (uintptr_t)iov[i].iov_base;
	return mem;
}
