/* SPDX-License-Identifier: BSD-3-Clause */
/* quick.c: the quick ways, for what nearly all calls are: of a descriptor that is known, with
 * nobody else at the file, nothing to tell but counters. Whatever is otherwise goes the long way
 * (record.c), or ends in a function of its own: so nothing has to be kept over a call. */
#include "capture/events.h"
#include "capture/record.h"
#include "capture/slot.h"
#include "core/posix_transfer.h"

/* ---- of descriptors -------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) struct rama_core_posix_file *quick_file(int fd)
{
	struct rama_core_posix_file *f;

	if (RAMA_CAP_UNLIKELY((unsigned)fd >= rama_cap_run.quick_fds) ||
	    RAMA_CAP_UNLIKELY(rama_cap_thread.busy))
		return NULL;
	f = rama_cap_run.fds[(unsigned)fd].posix;
	if (RAMA_CAP_UNLIKELY((uintptr_t)f & 1))
		return NULL;
	return f;
}

/* enter() and rama_cap_slot_lock(), but it does not wait; false: it is as it was */
static inline __attribute__((always_inline)) bool quick_enter(struct rama_cap_thread *t,
							      uint32_t *seq)
{
	rama_cap_note_frame(&t->frame);
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	uint32_t is = __atomic_load_n(seq, __ATOMIC_RELAXED) & ~1u;
	t->held_at = is + 1;
	atomic_signal_fence(memory_order_seq_cst);
	t->held = seq;
	atomic_signal_fence(memory_order_seq_cst);
	if (RAMA_CAP_LIKELY(__atomic_compare_exchange_n(seq, &is, is + 1, false, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED)))
		return true;
	t->held = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = 0; /* what handlers queued is done by who leaves next: the long way */
	return false;
}

/* Is it the turn of the place that `ret` is in? */
static inline __attribute__((always_inline)) bool is_turn(const struct rama_core_turn *turn,
							  uint64_t ret)
{
	return RAMA_CAP_LIKELY(turn->key == (ret | rama_cap_run.site_turn));
}

/* quick_enter() undone: the long way comes next */
static inline void quick_back(struct rama_cap_thread *t, uint32_t *seq)
{
	rama_cap_slot_unlock(t, seq);
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = 0;
	atomic_signal_fence(memory_order_seq_cst);
}

static __attribute__((noinline)) int64_t drained(struct rama_cap_thread *t, int64_t r)
{
	rama_cap_drain(t);
	return r;
}

/* rama_cap_free(), and r */
static inline __attribute__((always_inline)) int64_t quick_leave(struct rama_cap_thread *t,
								 int64_t r)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = 0;
	atomic_signal_fence(memory_order_seq_cst);
	return RAMA_CAP_UNLIKELY(t->head != t->tail) ? drained(t, r) : r;
}

static __attribute__((noinline)) int64_t quick_tell(struct rama_cap_thread *t, uint32_t name,
						    const struct rama_core_op *op, bool rd)
{
	rama_cap_tell(t, RAMA_SEG_LAYER_POSIX, name, op, rd);
	rama_cap_free(t);
	return op->bytes;
}

static __attribute__((noinline)) int64_t quick_values(struct rama_cap_thread *t,
						      struct rama_core_posix_file *f,
						      int64_t stride, const struct rama_core_op *op)
{
	rama_core_posix_new_values(f, op->bytes, stride);
	rama_cap_slot_unlock(t, &f->seq);
	return quick_tell(t, f->name, op, op->kind == RAMA_TAB_OP_READ);
}

/* fn of `given` is not set yet: it is of no use before something is told of the call */
static inline __attribute__((always_inline)) int64_t quick(const struct rama_core_op *given,
							   uint64_t at,
							   struct rama_core_posix_file *f,
							   uintptr_t mem, bool rd)
{
	struct rama_cap_thread *t = &rama_cap_thread;
	struct rama_core_heat *heat = &t->lane->heat[RAMA_SEG_LAYER_POSIX];
	struct rama_core_op op = *given;

	if (mem & rama_cap_run.mem_mask)
		f->w[RAMA_TAB_POSIX_MEM_NOT_ALIGNED].i++;
	op.has_off = true;
	if (op.off < 0)
		op.off = f->offset;
#if defined(__GNUC__) /* the counter itself is not needed beside them */
	__asm__("" : "+r"(op.t0), "+r"(op.t1));
#endif
	int64_t stride = rama_core_posix_move(f, &op, rd);
	if (!rama_core_posix_repeats(f, op.bytes, stride)) {
		struct rama_core_op copy = op;

		copy.fn = (uint16_t)(at >> 32);
		return quick_values(t, f, stride, &copy);
	}
	uint32_t name = f->name;
	rama_cap_slot_unlock(t, &f->seq);
	if (RAMA_CAP_LIKELY(rama_core_heat_is_in(heat, op.t0, op.t1)) &&
	    !rama_cap_eventful(RAMA_SEG_LAYER_POSIX)) {
		heat->bytes[rd][heat->bin] += op.bytes;
		return quick_leave(t, op.bytes);
	}
	struct rama_core_op copy = op;
	copy.fn = (uint16_t)(at >> 32);
	return quick_tell(t, name, &copy, rd);
}

#define QUICK_WORD(kind, off) \
	RAMA_CORE_OP_WORD((uint16_t)fn, RAMA_TAB_OP_##kind, RAMA_CORE_HOW_PLAIN, true, (off) >= 0)

/* since the call began at t0; it is over, and what it was is no longer told */
#define QUICK_OP(kind_)                                                              \
	(const struct rama_core_op)                                                  \
	{                                                                            \
		.kind = RAMA_TAB_OP_##kind_, .ok = true, .bytes = bytes, .off = off, \
		.t0 = t0 - rama_cap_run.tick0, .t1 = t1 - rama_cap_run.tick0         \
	}

static inline __attribute__((always_inline)) void quick_idle(uint64_t t0)
{
	struct rama_seg_lane *l = rama_cap_thread.lane;

	if (RAMA_CAP_LIKELY(l->doing_since == t0))
		l->doing_since = 0;
}

/* It is not the turn of who called: that of the call around it, perhaps. */
static __attribute__((noinline)) int64_t other_read(uint64_t t0, uint64_t at, uintptr_t mem,
						    int64_t bytes, int64_t off, uintptr_t cfa)
{
	const int fd = (int)(uint32_t)at;
	const unsigned fn = (unsigned)(at >> 32);
	struct rama_core_posix_file *f = rama_cap_thread.outer_ret ? quick_file(fd) : NULL;
	uint64_t t1;

	if (f && quick_enter(&rama_cap_thread, &f->seq)) {
		t1 = rama_cap_ticks_tsc();
		if (is_turn(&f->turn[RAMA_CORE_TURN_READ], rama_cap_thread.outer_ret))
			return quick(&QUICK_OP(READ), at, f, mem, true);
		quick_back(&rama_cap_thread, &f->seq);
	}
	rama_cap_thread.cfa = cfa;
	return rama_cap_record_read(t0, fd, mem, bytes, off, QUICK_WORD(READ, off));
}

int64_t rama_cap_quick_read(uint64_t t0, uint64_t at, uintptr_t mem, int64_t bytes, int64_t off,
			    uintptr_t cfa)
{
	const int fd = (int)(uint32_t)at;
	struct rama_core_posix_file *f = quick_file(fd);
	uint64_t t1;

	if (RAMA_CAP_LIKELY(f)) {
		t1 = rama_cap_ticks_tsc();
		quick_idle(t0);
		if (quick_enter(&rama_cap_thread, &f->seq)) {
			if (is_turn(&f->turn[RAMA_CORE_TURN_READ], RAMA_CAP_RETURN(cfa)))
				return quick(&QUICK_OP(READ), at, f, mem, true);
			quick_back(&rama_cap_thread, &f->seq);
		}
	}
	return other_read(t0, at, mem, bytes, off, cfa);
}

/* It is not the turn of who called: that of the call around it, perhaps. */
static __attribute__((noinline)) int64_t other_write(uint64_t t0, uint64_t at, uintptr_t mem,
						     int64_t bytes, int64_t off, uintptr_t cfa)
{
	const int fd = (int)(uint32_t)at;
	const unsigned fn = (unsigned)(at >> 32);
	struct rama_core_posix_file *f = rama_cap_thread.outer_ret ? quick_file(fd) : NULL;
	uint64_t t1;

	if (f && quick_enter(&rama_cap_thread, &f->seq)) {
		t1 = rama_cap_ticks_tsc();
		if (is_turn(&f->turn[RAMA_CORE_TURN_WRITE], rama_cap_thread.outer_ret))
			return quick(&QUICK_OP(WRITE), at, f, mem, false);
		quick_back(&rama_cap_thread, &f->seq);
	}
	rama_cap_thread.cfa = cfa;
	return rama_cap_record_write(t0, fd, mem, bytes, off, QUICK_WORD(WRITE, off));
}

int64_t rama_cap_quick_write(uint64_t t0, uint64_t at, uintptr_t mem, int64_t bytes, int64_t off,
			     uintptr_t cfa)
{
	const int fd = (int)(uint32_t)at;
	struct rama_core_posix_file *f = quick_file(fd);
	uint64_t t1;

	if (RAMA_CAP_LIKELY(f)) {
		t1 = rama_cap_ticks_tsc();
		quick_idle(t0);
		if (quick_enter(&rama_cap_thread, &f->seq)) {
			if (is_turn(&f->turn[RAMA_CORE_TURN_WRITE], RAMA_CAP_RETURN(cfa)))
				return quick(&QUICK_OP(WRITE), at, f, mem, false);
			quick_back(&rama_cap_thread, &f->seq);
		}
	}
	return other_write(t0, at, mem, bytes, off, cfa);
}

static __attribute__((noinline)) int64_t long_seek(uint64_t t0, int fd, int64_t off, unsigned fn)
{
	rama_cap_record_other(t0, fd, off, QUICK_WORD(SEEK, 0));
	return off;
}

int64_t rama_cap_quick_seek(uint64_t t0, int fd, int64_t off, unsigned fn)
{
	struct rama_cap_thread *t = &rama_cap_thread;
	struct rama_core_posix_file *f = quick_file(fd);

	if (RAMA_CAP_UNLIKELY(!f) || rama_cap_live_on(RAMA_SEG_LAYER_POSIX))
		return long_seek(t0, fd, off, fn);
	const struct rama_core_op op = { .t0 = t0 - rama_cap_run.tick0,
					 .t1 = rama_cap_ticks_tsc() - rama_cap_run.tick0 };
	quick_idle(t0);
	if (!quick_enter(t, &f->seq))
		return long_seek(t0, fd, off, fn);
	rama_core_posix_seek(f, off, &op);
	rama_cap_slot_unlock(t, &f->seq);
	return quick_leave(t, off);
}

/* ---- of streams ------------------------------------------------------------------------------ */

/* What fileno() of glibc looks at; -1: ask it. */
static inline int quick_stream_fd(const FILE *stream)
{
#if defined(__GLIBC__)
	enum { IS_FILEBUF = 0x2000 };

	return stream && stream->_flags & IS_FILEBUF ? stream->_fileno : -1;
#else
	return stream ? -1 : -1;
#endif
}

/* NULL: it goes the long way */
static inline __attribute__((always_inline)) struct rama_core_stdio_file *quick_stream(
	const FILE *stream)
{
	int fd = quick_stream_fd(stream);
	const struct rama_cap_fd *e;

	if (RAMA_CAP_UNLIKELY((unsigned)fd >= RAMA_CAP_FDS_FIRST) ||
	    RAMA_CAP_UNLIKELY(rama_cap_thread.live != *rama_cap_live) ||
	    RAMA_CAP_UNLIKELY(rama_cap_run.quick_fds == 0) ||
	    RAMA_CAP_UNLIKELY(rama_cap_thread.busy))
		return NULL;
	e = &rama_cap_run.fds[(unsigned)fd];
	if (RAMA_CAP_UNLIKELY((uintptr_t)e->stdio & 1) ||
	    RAMA_CAP_UNLIKELY(e->generation != rama_cap_run.generation))
		return NULL;
	return e->stdio;
}

static __attribute__((noinline)) void long_stream(uint64_t t0, FILE *stream, int64_t bytes,
						  unsigned fn, enum rama_tab_opkind kind)
{
	const struct rama_cap_span sp = { t0 };
	struct rama_cap_call c = { .op.fn = (uint16_t)fn,
				   .op.kind = (uint8_t)kind,
				   .op.ok = true,
				   .op.bytes = bytes,
				   .fd = -1,
				   .dirfd = AT_FDCWD,
				   .stream = stream };

	rama_cap_end_stream_from(&sp, &c);
}

static __attribute__((noinline)) void quick_stream_tell(struct rama_cap_thread *t, uint32_t name,
							const struct rama_core_op *op)
{
	rama_cap_tell(t, RAMA_SEG_LAYER_STDIO, name, op, op->kind == RAMA_TAB_OP_READ);
	rama_cap_free(t);
}

static inline __attribute__((always_inline)) void quick_moved(struct rama_core_stdio_file *f,
							      const struct rama_core_op *given,
							      bool rd)
{
	struct rama_cap_thread *t = &rama_cap_thread;
	struct rama_core_heat *heat = &t->lane->heat[RAMA_SEG_LAYER_STDIO];
	struct rama_core_op op = *given;

	op.off = f->offset;
	rama_core_stdio_move(f, &op, rd);
	uint32_t name = f->name;
	rama_cap_slot_unlock(t, &f->seq);
	if (RAMA_CAP_LIKELY(rama_core_heat_is_in(heat, op.t0, op.t1)) &&
	    !rama_cap_eventful(RAMA_SEG_LAYER_STDIO)) {
		heat->bytes[rd][heat->bin] += op.bytes;
		quick_leave(t, 0);
		return;
	}
	const struct rama_core_op copy = op;
	quick_stream_tell(t, name, &copy);
}

static inline __attribute__((always_inline)) void quick_streamed(uint64_t t0, FILE *stream,
								 int64_t bytes, unsigned fn,
								 enum rama_tab_opkind kind,
								 uintptr_t cfa)
{
	struct rama_core_stdio_file *f = bytes >= 0 ? quick_stream(stream) : NULL;
	struct rama_core_op op = { .fn = (uint16_t)fn,
				   .kind = (uint8_t)kind,
				   .ok = true,
				   .bytes = bytes,
				   .t0 = t0 - rama_cap_run.tick0 };

	if (RAMA_CAP_LIKELY(f)) {
		op.t1 = rama_cap_ticks_tsc() - rama_cap_run.tick0;
		quick_idle(t0);
		if (quick_enter(&rama_cap_thread, &f->seq)) {
			if (is_turn(&f->turn[kind == RAMA_TAB_OP_READ], RAMA_CAP_RETURN(cfa))) {
				quick_moved(f, &op, kind == RAMA_TAB_OP_READ);
				return;
			}
			quick_back(&rama_cap_thread, &f->seq);
		}
	}
	rama_cap_thread.cfa = cfa;
	long_stream(t0, stream, bytes, fn, kind);
}

void rama_cap_quick_fread(uint64_t t0, FILE *stream, int64_t bytes, unsigned fn, uintptr_t cfa)
{
	quick_streamed(t0, stream, bytes, fn, RAMA_TAB_OP_READ, cfa);
}

void rama_cap_quick_fwrite(uint64_t t0, FILE *stream, int64_t bytes, unsigned fn, uintptr_t cfa)
{
	quick_streamed(t0, stream, bytes, fn, RAMA_TAB_OP_WRITE, cfa);
}

/* ---- of MPI-IO ------------------------------------------------------------------------------- */

bool rama_cap_quick_mpiio(const struct rama_core_op *op, struct rama_core_mpiio_file *f)
{
	struct rama_cap_thread *t = &rama_cap_thread;
	struct rama_core_heat *heat;

	if (RAMA_CAP_UNLIKELY(t->live != *rama_cap_live) || RAMA_CAP_UNLIKELY(t->busy))
		return false;
	heat = &t->lane->heat[RAMA_SEG_LAYER_MPIIO];
	if (RAMA_CAP_UNLIKELY(!rama_core_heat_is_in(heat, op->t0, op->t1)) ||
	    rama_cap_eventful(RAMA_SEG_LAYER_MPIIO) || !quick_enter(t, &f->seq))
		return false;
	rama_core_mpiio_apply(f, op);
	rama_cap_slot_unlock(t, &f->seq);
	heat->bytes[op->kind == RAMA_TAB_OP_READ][heat->bin] += op->bytes;
	quick_leave(t, 0);
	return true;
}
