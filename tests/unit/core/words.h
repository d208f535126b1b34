/* SPDX-License-Identifier: BSD-3-Clause */
/* words.h: records in memory, made from names of counters. */
#ifndef RAMA_TESTS_WORDS_H
#define RAMA_TESTS_WORDS_H

#include "core/sum/plan.h"
#include "core/record.h"
#include "unit.h"

#define WORDS_MAX 700 /* of the largest record */

/* a record of a module, all zero but for id and rank */
struct made {
	union rama_core_word w[WORDS_MAX];
	struct rama_core_record r;
};

static inline void make(struct made *m, unsigned module, uint64_t id, int64_t rank)
{
	const struct rama_tab_module *mod = rama_tab_module_get(module);

	assert_true(mod->record->words <= WORDS_MAX);
	memset(m->w, 0, sizeof(m->w));
	m->w[RAMA_TAB_ID].u = id;
	m->w[RAMA_TAB_RANK].i = rank;
	m->r = (struct rama_core_record){ .mod = mod, .schema = mod->record, .w = m->w };
}

/* value and count of slot k of a list of the four most frequent values */
static inline void set_top(union rama_core_word *w, const struct rama_core_top *top, unsigned k,
			   int64_t value, int64_t count)
{
	w[top->value[k]].i = value;
	w[top->count[k]].i = count;
}

static inline void check_top(const union rama_core_word *w, const struct rama_core_top *top,
			     const int64_t want[4][2])
{
	for (unsigned k = 0; k < 4; k++) {
		assert_int_equal(w[top->value[k]].i, want[k][0]);
		assert_int_equal(w[top->count[k]].i, want[k][1]);
	}
}

#endif
