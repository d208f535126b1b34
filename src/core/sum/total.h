/* SPDX-License-Identifier: BSD-3-Clause */
/* total.h: one record that sums up all records of a module, by the rules of `darshan-parser
 * --total` (which differ in places from those at run time, see reduce.h). */
#ifndef RAMA_CORE_SUM_TOTAL_H
#define RAMA_CORE_SUM_TOTAL_H

#include "core/sum/plan.h"
#include "core/record.h"

struct rama_core_total {
	struct rama_core_plan plan;
	bool any;		 /* a record was added */
	bool same;		 /* all records so far are of the same file */
	uint64_t id;		 /* of that file */
	union rama_core_word *w; /* caller's memory, plan.mod->record->words, zeroed by init */
};

void rama_core_total_init(struct rama_core_total *t, const struct rama_tab_module *mod,
			  union rama_core_word *w);
void rama_core_total_add(struct rama_core_total *t, const struct rama_core_record *r);

#endif
