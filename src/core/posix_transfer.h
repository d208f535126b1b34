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

/* rama_core_posix_file.last */
enum { RAMA_CORE_LAST_READ = 1, RAMA_CORE_LAST_WRITE = 2, RAMA_CORE_LAST_ODD = 128 };

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

	if (n <= 100)
		return 0;
	range = rama_core_posix_range[63 - __builtin_clzll(n)];
	return range + (n > rama_core_posix_limit[range]);
}

/* where the counters of one direction stand */
struct rama_core_posix_sequence {
	union rama_core_word *seq, *consec, *most;
	union rama_core_word *own_seq, *own_consec; /* less seq and consec */
};

/* By our own rules: the first access is neither, as -1 is beyond all offsets. */
static RAMA_CORE_INLINE void rama_core_posix_own_sequence(const struct rama_core_posix_sequence *s,
							  int64_t end, int64_t off)
{
	if (off == end) {
		s->own_seq->i++;
		s->own_consec->i++;
	} else if ((uint64_t)off > (uint64_t)end) {
		s->own_seq->i++;
	}
}

/* An access that does not follow on. By the rules of the log format, which take byte 0 as the last
 * one before the first access; returns the stride. */
static RAMA_CORE_INLINE int64_t rama_core_posix_elsewhere(const struct rama_core_posix_sequence *s,
							  const struct rama_core_posix_way *way,
							  int64_t off)
{
	bool afresh = way->next == RAMA_CORE_POSIX_AFRESH;
	int64_t last = afresh ? 0 : rama_core_add(way->next, -1);
	int64_t gap = (int64_t)((uint64_t)off - (uint64_t)last - 1);

	rama_core_posix_own_sequence(s, afresh ? way->end : way->next, off);
	if (last > s->most->i)
		s->most->i = last;
	if (gap == 0) {
		s->seq->i++;
		s->consec->i++;
		s->own_seq->i--;
		s->own_consec->i--;
		return 0;
	}
	if (off <= last)
		return 0;
	s->seq->i++;
	s->own_seq->i--;
	return off > 0 && last != 0 ? gap : 0;
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

/* of the same size and stride as the last one? Then that is counted. */
static RAMA_CORE_INLINE bool rama_core_posix_repeats(struct rama_core_posix_file *f, int64_t n,
						     int64_t stride)
{
	if (RAMA_CORE_SELDOM(n != f->run_size || stride != f->run_stride))
		return false;
	f->run++;
	return true;
}

/* It began before another one had ended: another thread's, or they are recorded out of order. */
static RAMA_CORE_INLINE void rama_core_posix_overlaps(union rama_core_word *time,
						      union rama_core_word *twice, uint64_t *until,
						      const struct rama_core_op *op)
{
	uint64_t added = op->t1 > *until ? op->t1 - *until : 0;

	time->u += added;
	twice->u += op->t1 - op->t0 - added;
	*until += added;
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
	union rama_core_word *time =
		&w[rd ? RAMA_TAB_POSIX_F_READ_TIME : RAMA_TAB_POSIX_F_WRITE_TIME];
	uint64_t *until = rd ? &f->read.until : &f->written.until;
	uint64_t took = op->t1 - op->t0;

	if (RAMA_CORE_SELDOM((int64_t)took > most->i)) {
		most->u = took;
		w[rd ? RAMA_TAB_POSIX_MAX_READ_TIME_SIZE : RAMA_TAB_POSIX_MAX_WRITE_TIME_SIZE].i =
			op->bytes;
	}
	end->u = op->t1;
	if (RAMA_CORE_OFTEN(op->t0 >= *until)) { /* so it is not the first to start, either */
		time->u += took;
		*until = op->t1;
		return;
	}
	if (op->t0 <= start->u - 1)
		start->u = op->t0;
	rama_core_posix_overlaps(
		time, &f->more[rd ? RAMA_CORE_MORE(F_READ_SUM) : RAMA_CORE_MORE(F_WRITE_SUM)],
		until, op);
}

/* where in the file; returns the stride */
static RAMA_CORE_INLINE int64_t rama_core_posix_transfer_place(struct rama_core_posix_file *f,
							       const struct rama_core_op *op,
							       bool rd)
{
	union rama_core_word *w = f->w, *more = f->more;
	struct rama_core_posix_way *way = rd ? &f->read : &f->written;
	const struct rama_core_posix_sequence s = {
		.seq = &w[rd ? RAMA_TAB_POSIX_SEQ_READS : RAMA_TAB_POSIX_SEQ_WRITES],
		.consec = &w[rd ? RAMA_TAB_POSIX_CONSEC_READS : RAMA_TAB_POSIX_CONSEC_WRITES],
		.most = &w[rd ? RAMA_TAB_POSIX_MAX_BYTE_READ : RAMA_TAB_POSIX_MAX_BYTE_WRITTEN],
		.own_seq = &more[rd ? RAMA_CORE_MORE(SEQ_READS) : RAMA_CORE_MORE(SEQ_WRITES)],
		.own_consec =
			&more[rd ? RAMA_CORE_MORE(CONSEC_READS) : RAMA_CORE_MORE(CONSEC_WRITES)],
	};
	int64_t off = op->has_off ? op->off : f->offset;
	int64_t stride = 0;

	if (RAMA_CORE_OFTEN(off == way->next)) {
		s.seq->i++;
		s.consec->i++;
	} else {
		stride = rama_core_posix_elsewhere(&s, way, off);
	}
	f->offset = way->next = rama_core_add(off, op->bytes);
	if ((uint64_t)off & f->file_mask)
		w[RAMA_TAB_POSIX_FILE_NOT_ALIGNED].i++;
	return stride;
}

static RAMA_CORE_INLINE void rama_core_posix_seek(struct rama_core_posix_file *f, int64_t off,
						  const struct rama_core_op *op)
{
	f->offset = off;
	f->w[RAMA_TAB_POSIX_SEEKS].i++;
	rama_core_times_add(&f->w[RAMA_TAB_POSIX_F_META_TIME], &f->meta_end, op);
}

/* its first access of this kind since one of the other; or its alignment is odd */
static RAMA_CORE_INLINE void rama_core_posix_turns(struct rama_core_posix_file *f, int64_t bytes,
						   uint64_t t0, uint8_t kind)
{
	const uint8_t odd = f->last & RAMA_CORE_LAST_ODD, last = f->last & ~RAMA_CORE_LAST_ODD;
	const int64_t off = rama_core_add(f->offset, -bytes); /* where it began */
	union rama_core_word *start =
		&f->w[kind == RAMA_CORE_LAST_READ ? RAMA_TAB_POSIX_F_READ_START_TIMESTAMP
						  : RAMA_TAB_POSIX_F_WRITE_START_TIMESTAMP];

	if (odd && off % f->w[RAMA_TAB_POSIX_FILE_ALIGNMENT].i != 0)
		f->w[RAMA_TAB_POSIX_FILE_NOT_ALIGNED].i++;
	f->w[RAMA_TAB_POSIX_RW_SWITCHES].i += last != 0 && last != kind;
	f->last = kind | odd;
	if (start->u == 0)
		start->u = t0;
}

/* All but the values, which come last: what may call is then a jump, and no register needs saving.
 * Returns the stride. `rd` is a constant wherever this is used, so that every index is one too. */
static RAMA_CORE_INLINE int64_t rama_core_posix_move(struct rama_core_posix_file *restrict f,
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
	if (RAMA_CORE_OFTEN((uint64_t)op->bytes <= 100)) /* where a step more matters most */
		size[0].i++;
	else
		size[rama_core_posix_size_range((uint64_t)op->bytes)].i++;
	if (op->unaligned)
		w[RAMA_TAB_POSIX_MEM_NOT_ALIGNED].i++;
	if (RAMA_CORE_SELDOM(f->last != kind))
		rama_core_posix_turns(f, op->bytes, op->t0, kind);
	if (RAMA_CORE_SELDOM(op->how != RAMA_CORE_HOW_PLAIN))
		rama_core_posix_special(f, op->how, rd);
	rama_core_posix_transfer_time(f, op, rd);
	return stride;
}

static RAMA_CORE_INLINE void rama_core_posix_transfer(struct rama_core_posix_file *restrict f,
						      const struct rama_core_op *restrict op,
						      bool rd)
{
	int64_t stride = rama_core_posix_move(f, op, rd);

	if (!rama_core_posix_repeats(f, op->bytes, stride))
		rama_core_posix_new_values(f, op->bytes, stride);
}

#endif
