/* SPDX-License-Identifier: BSD-3-Clause */
/* posix_transfer.h: what a read or write means for the counters of a file. All inline: this is
 * what every observed read and write of an application costs. */
#ifndef RAMA_CORE_POSIX_TRANSFER_H
#define RAMA_CORE_POSIX_TRANSFER_H

#include "core/posix.h"
#include "core/times.h"

/* where a word of the EXTRA record stands in `more` */
#define RAMA_CORE_MORE(word) (RAMA_TAB_EXTRA_##word - RAMA_TAB_EXTRA_SEQ_READS)
#define RAMA_CORE_INLINE inline __attribute__((always_inline))
#define RAMA_CORE_OFTEN(x) __builtin_expect(!!(x), 1)
#define RAMA_CORE_SELDOM(x) __builtin_expect(!!(x), 0)

enum { RAMA_CORE_LAST_READ = 1, RAMA_CORE_LAST_WRITE = 2 }; /* rama_core_posix_file.last */

/* upper ends of the ten size ranges */
static const uint64_t rama_core_posix_limit[10] = { 100,	1024,	   10240,    102400,
						    1048576,	4194304,   10485760, 104857600,
						    1073741824, UINT64_MAX };

/* [k]: range of 2^k; there is at most one limit from there to 2^(k+1) */
static const uint8_t rama_core_posix_range[64] = {
	0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, 3, /* 1, 2, 4, ... 32768 */
	3, 4, 4, 4, 4, 5, 5, 6, 7, 7, 7, 8, 8, 8, 8, 9, /* 64 KiB ... 2 GiB */
	9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9,
	9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9,
};

static RAMA_CORE_INLINE unsigned rama_core_posix_size_range(uint64_t n)
{
	unsigned range;

	if (RAMA_CORE_OFTEN(n <= 100)) /* where a step more or less matters most */
		return 0;
	range = rama_core_posix_range[63 - __builtin_clzll(n)];
	return range + (n > rama_core_posix_limit[range]);
}

static RAMA_CORE_INLINE bool rama_core_posix_off_boundary(int64_t off, int64_t align)
{
	uint64_t mask = (uint64_t)align - 1;

	if (RAMA_CORE_SELDOM((uint64_t)align & mask)) /* negative, or no power of two */
		return align > 0 && off % align != 0;
	return ((uint64_t)off & mask) && align > 0;
}

/* by the rules of the log format, which take byte 0 as the last one before the first access */
static RAMA_CORE_INLINE int64_t rama_core_posix_sequence(union rama_core_word *seq,
							 union rama_core_word *consec, int64_t last,
							 int64_t off)
{
	int64_t gap = (int64_t)((uint64_t)off - (uint64_t)last - 1);

	if (RAMA_CORE_OFTEN(gap == 0)) {
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
static RAMA_CORE_INLINE void rama_core_posix_own_sequence(union rama_core_word *seq,
							  union rama_core_word *consec, int64_t end,
							  int64_t off)
{
	if (RAMA_CORE_OFTEN(off == end)) {
		seq->i++;
		consec->i++;
	} else if ((uint64_t)off > (uint64_t)end) {
		seq->i++;
	}
}

static RAMA_CORE_INLINE void rama_core_posix_special(struct rama_core_posix_file *f, unsigned how,
						     bool rd)
{
	if (how == RAMA_CORE_HOW_ASYNC)
		f->more[rd ? RAMA_CORE_MORE(AIO_READS) : RAMA_CORE_MORE(AIO_WRITES)].i++;
	else if (how == RAMA_CORE_HOW_COPY)
		f->more[rd ? RAMA_CORE_MORE(COPY_READS) : RAMA_CORE_MORE(COPY_WRITES)].i++;
}

/* a size or stride other than the last one */
void rama_core_posix_new_values(struct rama_core_posix_file *f, int64_t n, int64_t stride);

/* The values come last: what may call is then a jump, and no register needs saving. */
static RAMA_CORE_INLINE void rama_core_posix_values(struct rama_core_posix_file *f, int64_t n,
						    int64_t stride)
{
	if (RAMA_CORE_SELDOM(!rama_core_values_repeats(&f->access, n) ||
			     !rama_core_values_repeats(&f->stride, stride))) {
		rama_core_posix_new_values(f, n, stride);
		return;
	}
	f->access.count[f->access.last]++;
	f->stride.count[f->stride.last]++;
}

static RAMA_CORE_INLINE void rama_core_posix_transfer_time(struct rama_core_posix_file *f,
							   const struct rama_core_op *op, bool rd)
{
	union rama_core_word *w = f->w;
	union rama_core_word *start = &w[rd ? RAMA_TAB_POSIX_F_READ_START_TIMESTAMP
					    : RAMA_TAB_POSIX_F_WRITE_START_TIMESTAMP];
	union rama_core_word *end =
		&w[rd ? RAMA_TAB_POSIX_F_READ_END_TIMESTAMP : RAMA_TAB_POSIX_F_WRITE_END_TIMESTAMP];
	union rama_core_word *most =
		&w[rd ? RAMA_TAB_POSIX_F_MAX_READ_TIME : RAMA_TAB_POSIX_F_MAX_WRITE_TIME];
	uint64_t took = op->t1 - op->t0;

	rama_core_times_stamp(start, end, op);
	if (RAMA_CORE_SELDOM((int64_t)took > most->i)) {
		most->u = took;
		w[rd ? RAMA_TAB_POSIX_MAX_READ_TIME_SIZE : RAMA_TAB_POSIX_MAX_WRITE_TIME_SIZE].i =
			op->bytes;
	}
	rama_core_times_add(&w[rd ? RAMA_TAB_POSIX_F_READ_TIME : RAMA_TAB_POSIX_F_WRITE_TIME],
			    rd ? &f->read_end : &f->write_end, op);
	f->more[rd ? RAMA_CORE_MORE(F_READ_SUM) : RAMA_CORE_MORE(F_WRITE_SUM)].u += took;
}

/* where in the file; returns the stride */
static RAMA_CORE_INLINE int64_t rama_core_posix_transfer_place(struct rama_core_posix_file *f,
							       const struct rama_core_op *op,
							       bool rd)
{
	union rama_core_word *w = f->w, *more = f->more;
	union rama_core_word *most =
		&w[rd ? RAMA_TAB_POSIX_MAX_BYTE_READ : RAMA_TAB_POSIX_MAX_BYTE_WRITTEN];
	int64_t *last = rd ? &f->last_read : &f->last_written;
	int64_t *own = rd ? &f->end_read : &f->end_written;
	int64_t off = op->has_off ? op->off : f->offset;
	int64_t end = rama_core_add(off, op->bytes);
	int64_t stride = rama_core_posix_sequence(
		&w[rd ? RAMA_TAB_POSIX_SEQ_READS : RAMA_TAB_POSIX_SEQ_WRITES],
		&w[rd ? RAMA_TAB_POSIX_CONSEC_READS : RAMA_TAB_POSIX_CONSEC_WRITES], *last, off);

	rama_core_posix_own_sequence(
		&more[rd ? RAMA_CORE_MORE(SEQ_READS) : RAMA_CORE_MORE(SEQ_WRITES)],
		&more[rd ? RAMA_CORE_MORE(CONSEC_READS) : RAMA_CORE_MORE(CONSEC_WRITES)], *own,
		off);
	f->offset = *own = end;
	*last = rama_core_add(end, -1);
	if (*last > most->i)
		most->i = *last;
	if (rama_core_posix_off_boundary(off, w[RAMA_TAB_POSIX_FILE_ALIGNMENT].i))
		w[RAMA_TAB_POSIX_FILE_NOT_ALIGNED].i++;
	return stride;
}

/* `rd` is a constant wherever this is used, so that every index is one too */
static RAMA_CORE_INLINE void rama_core_posix_transfer(struct rama_core_posix_file *restrict f,
						      const struct rama_core_op *restrict op,
						      bool rd)
{
	union rama_core_word *w = f->w;
	union rama_core_word *bytes =
		&w[rd ? RAMA_TAB_POSIX_BYTES_READ : RAMA_TAB_POSIX_BYTES_WRITTEN];
	union rama_core_word *size =
		&w[rd ? RAMA_TAB_POSIX_SIZE_READ_0_100 : RAMA_TAB_POSIX_SIZE_WRITE_0_100];
	const uint8_t kind = rd ? RAMA_CORE_LAST_READ : RAMA_CORE_LAST_WRITE;
	int64_t stride = rama_core_posix_transfer_place(f, op, rd);

	bytes->i = rama_core_add(bytes->i, op->bytes);
	w[rd ? RAMA_TAB_POSIX_READS : RAMA_TAB_POSIX_WRITES].i++;
	size[rama_core_posix_size_range((uint64_t)op->bytes)].i++;
	if (op->unaligned)
		w[RAMA_TAB_POSIX_MEM_NOT_ALIGNED].i++;
	if (f->last != kind) {
		w[RAMA_TAB_POSIX_RW_SWITCHES].i += f->last != 0;
		f->last = kind;
	}
	if (RAMA_CORE_SELDOM(op->how != RAMA_CORE_HOW_PLAIN))
		rama_core_posix_special(f, op->how, rd);
	rama_core_posix_transfer_time(f, op, rd);
	rama_core_posix_values(f, op->bytes, stride);
}

#endif
