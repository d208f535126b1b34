/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/posix.h"

#include <string.h>

#include "core/times.h"

/* where a word of the EXTRA record stands in `more` */
#define MORE(word) (RAMA_EXTRA_##word - RAMA_EXTRA_SEQ_READS)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

enum { LAST_READ = 1, LAST_WRITE = 2 }; /* rama_posix_file.last */

/* upper ends of the ten size ranges */
static const uint64_t limit[10] = { 100,     1024,     10240,	  102400,     1048576,
				    4194304, 10485760, 104857600, 1073741824, UINT64_MAX };

/* [k]: range of 2^k; there is at most one limit from there to 2^(k+1) */
static const uint8_t range_of_power[64] = {
	0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, /* 1, 2, 4, ... 32768 */
	3, 4, 4, 4, 4, 5, 5, 6, 7, 7, 7, 8, 8, 8, 8, 9, /* 64 KiB ... 2 GiB */
	9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9,
	9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9,
};

static ALWAYS_INLINE unsigned size_range(uint64_t n)
{
	unsigned range;

	if (LIKELY(n <= 100)) /* where a step more or less matters most */
		return 0;
	range = range_of_power[63 - __builtin_clzll(n)];
	return range + (n > limit[range]);
}

static ALWAYS_INLINE bool off_boundary(int64_t off, int64_t align)
{
	uint64_t mask = (uint64_t)align - 1;

	if (UNLIKELY((uint64_t)align & mask)) /* negative, or no power of two */
		return align > 0 && off % align != 0;
	return ((uint64_t)off & mask) && align > 0;
}

/* by the rules of the log format, which take byte 0 as the last one before the first access */
static ALWAYS_INLINE int64_t sequence(union rama_word *seq, union rama_word *consec, int64_t last,
				      int64_t off)
{
	int64_t gap = (int64_t)((uint64_t)off - (uint64_t)last - 1);

	if (LIKELY(gap == 0)) {
		seq->i++;
		consec->i++;
		return 0;
	}
	if (off <= last)
		return 0;
	seq->i++;
	return off > 0 && last != 0 ? gap : 0;
}

/* by our own: the first access is neither, as -1 is beyond all offsets */
static ALWAYS_INLINE void own_sequence(union rama_word *seq, union rama_word *consec, int64_t end,
				       int64_t off)
{
	if (LIKELY(off == end)) {
		seq->i++;
		consec->i++;
	} else if ((uint64_t)off > (uint64_t)end) {
		seq->i++;
	}
}

static ALWAYS_INLINE void special(struct rama_posix_file *f, unsigned how, bool rd)
{
	if (how == RAMA_HOW_ASYNC)
		f->more[rd ? MORE(AIO_READS) : MORE(AIO_WRITES)].i++;
	else if (how == RAMA_HOW_COPY)
		f->more[rd ? MORE(COPY_READS) : MORE(COPY_WRITES)].i++;
}

static __attribute__((noinline)) void new_values(struct rama_posix_file *f, int64_t n,
						 int64_t stride)
{
	rama_values_add(&f->access, n);
	rama_values_add(&f->stride, stride);
}

/* The values come last: what may call is then a jump, and no register needs saving. */
static ALWAYS_INLINE void values(struct rama_posix_file *f, int64_t n, int64_t stride)
{
	if (UNLIKELY(!rama_values_repeats(&f->access, n) ||
		     !rama_values_repeats(&f->stride, stride))) {
		new_values(f, n, stride);
		return;
	}
	f->access.count[f->access.last]++;
	f->stride.count[f->stride.last]++;
}

static ALWAYS_INLINE void transfer_time(struct rama_posix_file *f, const struct rama_op *op,
					bool rd)
{
	union rama_word *w = f->w;
	union rama_word *start =
		&w[rd ? RAMA_POSIX_F_READ_START_TIMESTAMP : RAMA_POSIX_F_WRITE_START_TIMESTAMP];
	union rama_word *end =
		&w[rd ? RAMA_POSIX_F_READ_END_TIMESTAMP : RAMA_POSIX_F_WRITE_END_TIMESTAMP];
	union rama_word *most = &w[rd ? RAMA_POSIX_F_MAX_READ_TIME : RAMA_POSIX_F_MAX_WRITE_TIME];
	uint64_t took = op->t1 - op->t0;

	rama_times_stamp(start, end, op);
	if (UNLIKELY((int64_t)took > most->i)) {
		most->u = took;
		w[rd ? RAMA_POSIX_MAX_READ_TIME_SIZE : RAMA_POSIX_MAX_WRITE_TIME_SIZE].i =
			op->bytes;
	}
	rama_times_add(&w[rd ? RAMA_POSIX_F_READ_TIME : RAMA_POSIX_F_WRITE_TIME],
		       rd ? &f->read_end : &f->write_end, op);
	f->more[rd ? MORE(F_READ_SUM) : MORE(F_WRITE_SUM)].u += took;
}

/* where in the file; returns the stride */
static ALWAYS_INLINE int64_t transfer_place(struct rama_posix_file *f, const struct rama_op *op,
					    bool rd)
{
	union rama_word *w = f->w, *more = f->more;
	union rama_word *most = &w[rd ? RAMA_POSIX_MAX_BYTE_READ : RAMA_POSIX_MAX_BYTE_WRITTEN];
	int64_t *last = rd ? &f->last_read : &f->last_written;
	int64_t *own = rd ? &f->end_read : &f->end_written;
	int64_t off = op->has_off ? op->off : f->offset;
	int64_t end = rama_add(off, op->bytes);
	int64_t stride =
		sequence(&w[rd ? RAMA_POSIX_SEQ_READS : RAMA_POSIX_SEQ_WRITES],
			 &w[rd ? RAMA_POSIX_CONSEC_READS : RAMA_POSIX_CONSEC_WRITES], *last, off);

	own_sequence(&more[rd ? MORE(SEQ_READS) : MORE(SEQ_WRITES)],
		     &more[rd ? MORE(CONSEC_READS) : MORE(CONSEC_WRITES)], *own, off);
	f->offset = *own = end;
	*last = rama_add(end, -1);
	if (*last > most->i)
		most->i = *last;
	if (off_boundary(off, w[RAMA_POSIX_FILE_ALIGNMENT].i))
		w[RAMA_POSIX_FILE_NOT_ALIGNED].i++;
	return stride;
}

/* `rd` is a constant wherever this is used, so that every index is one too */
static ALWAYS_INLINE void transfer(struct rama_posix_file *restrict f,
				   const struct rama_op *restrict op, bool rd)
{
	union rama_word *w = f->w;
	union rama_word *bytes = &w[rd ? RAMA_POSIX_BYTES_READ : RAMA_POSIX_BYTES_WRITTEN];
	union rama_word *size = &w[rd ? RAMA_POSIX_SIZE_READ_0_100 : RAMA_POSIX_SIZE_WRITE_0_100];
	const uint8_t kind = rd ? LAST_READ : LAST_WRITE;
	int64_t stride = transfer_place(f, op, rd);

	bytes->i = rama_add(bytes->i, op->bytes);
	w[rd ? RAMA_POSIX_READS : RAMA_POSIX_WRITES].i++;
	size[size_range((uint64_t)op->bytes)].i++;
	if (op->unaligned)
		w[RAMA_POSIX_MEM_NOT_ALIGNED].i++;
	if (f->last != kind) {
		w[RAMA_POSIX_RW_SWITCHES].i += f->last != 0;
		f->last = kind;
	}
	if (UNLIKELY(op->how != RAMA_HOW_PLAIN))
		special(f, op->how, rd);
	transfer_time(f, op, rd);
	values(f, op->bytes, stride);
}

static void meta(struct rama_posix_file *f, const struct rama_op *op)
{
	rama_times_add(&f->w[RAMA_POSIX_F_META_TIME], &f->meta_end, op);
}

static void opened(struct rama_posix_file *f, const struct rama_op *op)
{
	f->w[RAMA_POSIX_OPENS].i++;
	rama_times_stamp(&f->w[RAMA_POSIX_F_OPEN_START_TIMESTAMP],
			 &f->w[RAMA_POSIX_F_OPEN_END_TIMESTAMP], op);
	meta(f, op);
}

static void closed(struct rama_posix_file *f, const struct rama_op *op)
{
	f->last_read = f->last_written = 0;
	rama_times_stamp(&f->w[RAMA_POSIX_F_CLOSE_START_TIMESTAMP],
			 &f->w[RAMA_POSIX_F_CLOSE_END_TIMESTAMP], op);
	meta(f, op);
}

/* the time of a sync is time of writing, without being a write */
static void synced(struct rama_posix_file *f, const struct rama_op *op)
{
	rama_times_add(&f->w[RAMA_POSIX_F_WRITE_TIME], &f->write_end, op);
	f->more[MORE(F_WRITE_SUM)].u += op->t1 - op->t0;
}

static void mapped(struct rama_posix_file *f, const struct rama_op *op)
{
	union rama_word *bytes = &f->more[MORE(BYTES_MAPPED)];

	/* -1: the log format counts them in static builds only */
	if (f->w[RAMA_POSIX_MMAPS].i >= 0)
		f->w[RAMA_POSIX_MMAPS].i++;
	f->more[MORE(MMAPS)].i++;
	bytes->i = rama_add(bytes->i, op->bytes);
}

static void other(struct rama_posix_file *f, const struct rama_op *op)
{
	union rama_word *w = f->w;

	switch (op->kind) {
	case RAMA_OP_OPEN:
		if (op->mode)
			w[RAMA_POSIX_MODE].i = op->mode;
		f->offset = f->last_read = f->last_written = 0;
		opened(f, op);
		break;
	case RAMA_OP_DUP:
		w[RAMA_POSIX_DUPS].i++;
		opened(f, op);
		break;
	case RAMA_OP_FILENO:
		w[RAMA_POSIX_FILENOS].i++;
		opened(f, op);
		break;
	case RAMA_OP_CLOSE:
		closed(f, op);
		break;
	case RAMA_OP_SEEK:
		f->offset = op->off;
		w[RAMA_POSIX_SEEKS].i++;
		meta(f, op);
		break;
	case RAMA_OP_STAT:
		w[RAMA_POSIX_STATS].i++;
		meta(f, op);
		break;
	case RAMA_OP_SYNC:
		w[RAMA_POSIX_FSYNCS].i++;
		synced(f, op);
		break;
	case RAMA_OP_DATASYNC:
		w[RAMA_POSIX_FDSYNCS].i++;
		synced(f, op);
		break;
	case RAMA_OP_MMAP:
		mapped(f, op);
		break;
	case RAMA_OP_RENAMEFROM:
		w[RAMA_POSIX_RENAME_SOURCES].i++;
		meta(f, op);
		break;
	case RAMA_OP_RENAMETO: /* `off` holds the id of the old name */
		w[RAMA_POSIX_RENAME_TARGETS].i++;
		if (w[RAMA_POSIX_RENAMED_FROM].u == 0)
			w[RAMA_POSIX_RENAMED_FROM].u = (uint64_t)op->off;
		break;
	}
}

static void failed(struct rama_posix_file *f, const struct rama_op *op)
{
	if (op->kind == RAMA_OP_READ)
		f->more[MORE(READS_FAILED)].i++;
	else if (op->kind == RAMA_OP_WRITE)
		f->more[MORE(WRITES_FAILED)].i++;
	else if (op->kind == RAMA_OP_CLOSE) /* the descriptor is gone, whatever the call returned */
		closed(f, op);
}

void rama_posix_init(struct rama_posix_file *f, uint64_t id, int64_t mem_align, int64_t file_align)
{
	memset(f, 0, sizeof(*f));
	f->w[RAMA_ID].u = id;
	f->w[RAMA_POSIX_MEM_ALIGNMENT].i = mem_align;
	f->w[RAMA_POSIX_FILE_ALIGNMENT].i = file_align;
	f->w[RAMA_POSIX_MMAPS].i = -1;
	f->end_read = f->end_written = -1;
	rama_values_init(&f->access);
	rama_values_init(&f->stride);
}

void rama_posix_apply(struct rama_posix_file *restrict f, const struct rama_op *restrict op)
{
	if (UNLIKELY(!op->ok))
		failed(f, op);
	else if (op->kind == RAMA_OP_READ)
		transfer(f, op, true);
	else if (op->kind == RAMA_OP_WRITE)
		transfer(f, op, false);
	else
		other(f, op);
}

void rama_posix_finish(const struct rama_posix_file *f, double tick,
		       union rama_word w[RAMA_POSIX__WORDS], union rama_word more[RAMA_POSIX_MORE])
{
	memcpy(w, f->w, sizeof(f->w));
	memcpy(more, f->more, sizeof(f->more));
	rama_values_top4(&f->access, &w[RAMA_POSIX_ACCESS1_ACCESS], &w[RAMA_POSIX_ACCESS1_COUNT]);
	rama_values_top4(&f->stride, &w[RAMA_POSIX_STRIDE1_STRIDE], &w[RAMA_POSIX_STRIDE1_COUNT]);
	for (unsigned i = RAMA_POSIX_F_OPEN_START_TIMESTAMP; i <= RAMA_POSIX_F_CLOSE_END_TIMESTAMP;
	     i++)
		w[i].f = rama_times_moment(f->w[i], tick);
	for (unsigned i = RAMA_POSIX_F_READ_TIME; i <= RAMA_POSIX_F_MAX_WRITE_TIME; i++)
		w[i].f = rama_times_sum(f->w[i], tick);
	for (unsigned i = RAMA_POSIX_F_FASTEST_RANK_TIME; i < RAMA_POSIX__WORDS; i++)
		w[i].f = 0; /* of several ranks only */
	more[MORE(F_READ_SUM)].f = rama_times_sum(f->more[MORE(F_READ_SUM)], tick);
	more[MORE(F_WRITE_SUM)].f = rama_times_sum(f->more[MORE(F_WRITE_SUM)], tick);
}
