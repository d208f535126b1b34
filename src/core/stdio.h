/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio.h: what stream calls mean for the counters of a file. See core/posix.h. */
#ifndef RAMA_CORE_STDIO_H
#define RAMA_CORE_STDIO_H

#include "core/kind.h"

struct rama_core_stdio_file {
	uint32_t seq, name;
	uint8_t stuck;
	uint8_t standard; /* <STDIN> and its like: dropped from the log if never read or written */
	uint8_t pad[6];
	int64_t offset;
	uint64_t meta_end, read_end, write_end;
	union rama_core_word w[RAMA_TAB_STDIO__WORDS];
};

void rama_core_stdio_init(struct rama_core_stdio_file *f, uint64_t id, bool standard);
void rama_core_stdio_apply(struct rama_core_stdio_file *f, const struct rama_core_op *op);
void rama_core_stdio_finish(const struct rama_core_stdio_file *f, double tick,
			    union rama_core_word w[RAMA_TAB_STDIO__WORDS]);

#endif
