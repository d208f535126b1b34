/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.h: where in a module's record the counters stand that belong together, found once from the
 * `reduce` column of the rows. RAMA_TAB_NO_WORD: the module has no such counter. */
#ifndef RAMA_CORE_SUM_PLAN_H
#define RAMA_CORE_SUM_PLAN_H

#include "table/table.h"

/* a list of the four most frequent values */
struct rama_core_top {
	uint16_t value[4], count[4];
	uint16_t width; /* words that make up one value; 0: the module has no such list */
};

struct rama_core_plan {
	const struct rama_tab_module *mod;
	uint16_t at[RAMA_TAB_REDUCE_KINDS]; /* first word of each kind */
	struct rama_core_top access, stride;
	uint16_t bytes_read, bytes_written, read_time, write_time, meta_time, max_read, max_written;
};

void rama_core_plan_init(struct rama_core_plan *p, const struct rama_tab_module *mod);

#endif
