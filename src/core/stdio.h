/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio.h: what stream calls mean for the counters of a file. See core/posix.h. */
#ifndef RAMA_CORE_STDIO_H
#define RAMA_CORE_STDIO_H

#include "core/kind.h"
#include "core/site.h"
#include "core/times.h"

struct rama_core_stdio_file {
	uint32_t seq, name;
	uint8_t stuck;
	uint8_t standard; /* <STDIN> and its like: dropped from the log if never read or written */
	uint8_t pad[6];
	int64_t offset;
	uint64_t meta_end, read_end, write_end;
	struct rama_core_turn turn[RAMA_CORE_TURNS];
	union rama_core_word w[RAMA_TAB_STDIO__WORDS];
};

/* A read or write that moved something: inline, as all of them come here. `rd` is a constant. */
static inline __attribute__((always_inline)) void rama_core_stdio_move(
	struct rama_core_stdio_file *restrict f, const struct rama_core_op *restrict op, bool rd)
{
	union rama_core_word *w = f->w;
	union rama_core_word *most =
		&w[rd ? RAMA_TAB_STDIO_MAX_BYTE_READ : RAMA_TAB_STDIO_MAX_BYTE_WRITTEN];
	union rama_core_word *bytes =
		&w[rd ? RAMA_TAB_STDIO_BYTES_READ : RAMA_TAB_STDIO_BYTES_WRITTEN];
	int64_t end = rama_core_add(op->has_off ? op->off : f->offset, op->bytes);

	f->offset = end;
	if (rama_core_add(end, -1) > most->i)
		most->i = rama_core_add(end, -1);
	bytes->i = rama_core_add(bytes->i, op->bytes);
	w[rd ? RAMA_TAB_STDIO_READS : RAMA_TAB_STDIO_WRITES].i++;
	rama_core_times_stamp(
		&w[rd ? RAMA_TAB_STDIO_F_READ_START_TIMESTAMP
		      : RAMA_TAB_STDIO_F_WRITE_START_TIMESTAMP],
		&w[rd ? RAMA_TAB_STDIO_F_READ_END_TIMESTAMP : RAMA_TAB_STDIO_F_WRITE_END_TIMESTAMP],
		op);
	rama_core_times_add(&w[rd ? RAMA_TAB_STDIO_F_READ_TIME : RAMA_TAB_STDIO_F_WRITE_TIME],
			    rd ? &f->read_end : &f->write_end, op);
}

void rama_core_stdio_init(struct rama_core_stdio_file *f, uint64_t id, bool standard);
void rama_core_stdio_apply(struct rama_core_stdio_file *f, const struct rama_core_op *op);
void rama_core_stdio_finish(const struct rama_core_stdio_file *f, double tick,
			    union rama_core_word w[RAMA_TAB_STDIO__WORDS]);

#endif
