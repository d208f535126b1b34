/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/sum/plan.h"

static uint16_t word_of(const struct rama_tab_module *mod, const char *suffix)
{
	const struct rama_tab_field *f = rama_tab_field_find(mod, suffix);

	return f != NULL ? f->word : RAMA_TAB_NO_WORD;
}

static void find_top(struct rama_core_top *top, const struct rama_tab_module *mod, uint8_t value,
		     uint8_t count, uint8_t more)
{
	unsigned nv = 0, nc = 0, extra = 0;

	for (unsigned i = 0; i < *mod->record->n_fields; i++) {
		const struct rama_tab_field *f = &mod->record->fields[i];

		if (f->reduce == value && nv < 4)
			top->value[nv++] = f->word;
		else if (f->reduce == count && nc < 4)
			top->count[nc++] = f->word;
		else if (f->reduce == more)
			extra++;
	}
	top->width = nv == 4 && nc == 4 ? (uint16_t)(1 + extra / 4) : 0;
}

void rama_core_plan_init(struct rama_core_plan *p, const struct rama_tab_module *mod)
{
	*p = (struct rama_core_plan){ .mod = mod };
	for (unsigned k = 0; k < RAMA_TAB_REDUCE_KINDS; k++)
		p->at[k] = RAMA_TAB_NO_WORD;
	for (unsigned i = *mod->record->n_fields; i-- > 0;) {
		const struct rama_tab_field *f = &mod->record->fields[i];

		if (f->word != RAMA_TAB_NO_WORD)
			p->at[f->reduce] = f->word;
	}
	find_top(&p->access, mod, RAMA_TAB_ACCESS_VALUE, RAMA_TAB_ACCESS_COUNT,
		 RAMA_TAB_ACCESS_MORE);
	find_top(&p->stride, mod, RAMA_TAB_STRIDE_VALUE, RAMA_TAB_STRIDE_COUNT,
		 RAMA_TAB_REDUCE_KINDS);
	p->bytes_read = word_of(mod, "BYTES_READ");
	p->bytes_written = word_of(mod, "BYTES_WRITTEN");
	p->read_time = word_of(mod, "F_READ_TIME");
	p->write_time = word_of(mod, "F_WRITE_TIME");
	p->meta_time = word_of(mod, "F_META_TIME");
	p->max_read = word_of(mod, "MAX_BYTE_READ");
	p->max_written = word_of(mod, "MAX_BYTE_WRITTEN");
}
