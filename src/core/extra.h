/* SPDX-License-Identifier: BSD-3-Clause */
/* extra.h: calls that Darshan's modules do not count: metadata of all kinds, and failures. */
#ifndef RAMA_CORE_EXTRA_H
#define RAMA_CORE_EXTRA_H

#include "core/kind.h"

struct rama_core_extra_file {
	uint32_t seq, name;
	uint8_t stuck;
	uint8_t pad[7];
	uint64_t meta_end;
	/* words up to F_WRITE_SUM unused: they are in the POSIX slot */
	union rama_core_word w[RAMA_TAB_EXTRA__WORDS];
};

void rama_core_extra_init(struct rama_core_extra_file *f, uint64_t id);
void rama_core_extra_apply(struct rama_core_extra_file *f, const struct rama_core_op *op);
/* only the words after F_WRITE_SUM, id and rank 0; those before become 0 */
void rama_core_extra_finish(const struct rama_core_extra_file *f, double tick,
			    union rama_core_word w[RAMA_TAB_EXTRA__WORDS]);

#endif
