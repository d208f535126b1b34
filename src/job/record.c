/* SPDX-License-Identifier: BSD-3-Clause */
/* record.c: records that can be reckoned with, and several of them as one. */
#include <string.h>

#include "core/reduce.h"
#include "job/parts.h"

#define SECONDS_MOST 1e12 /* a time beyond is damage */

void rama_job_care_init(struct rama_job_care *c, const struct rama_tab_module *mod)
{
	const struct rama_tab_schema *s = mod->record;

	*c = (struct rama_job_care){ 0 };
	for (unsigned i = 0; i < *s->n_fields; i++) {
		const struct rama_tab_field *f = &s->fields[i];

		if (f->word == RAMA_TAB_NO_WORD || f->word >= RAMA_JOB_RECORD_WORDS)
			continue;
		if (f->type == RAMA_TAB_F64)
			c->seconds[c->n_seconds++] = f->word;
		else if (f->reduce == RAMA_TAB_SUM || f->reduce == RAMA_TAB_SUM_NEG)
			c->sum[c->n_sum++] = f->word;
		if (rama_tab_field_is_timestamp(f))
			c->stamp[c->n_stamp++] = f->word;
	}
}

void rama_job_record_clean(const struct rama_job_care *c, union rama_core_word *w, double shift)
{
	for (unsigned i = 0; i < c->n_seconds; i++) {
		double *x = &w[c->seconds[i]].f;

		if (!(*x > 0 && *x < SECONDS_MOST)) /* also what is no number */
			*x = 0;
	}
	for (unsigned i = 0; i < c->n_sum; i++) /* reduced records may have added up several */
		if (w[c->sum[i]].i < 0)
			w[c->sum[i]].i = -1;
	for (unsigned i = 0; shift != 0 && i < c->n_stamp; i++)
		if (w[c->stamp[i]].f > 0)
			w[c->stamp[i]].f += shift;
}

/* -1 means "not monitored" and must not be taken for a number: the sum is -1 only if all are. */
void rama_job_record_merge(const struct rama_job_view_work *k, enum rama_job_layer layer,
			   union rama_core_word *y, union rama_core_word *x, uint32_t ny,
			   uint32_t nx)
{
	const struct rama_core_plan *p = &k->plan[layer];
	const struct rama_job_care *c = &k->care[layer];
	uint16_t none[RAMA_JOB_RECORD_WORDS];
	struct rama_core_spread spread = { 0 };
	unsigned n = 0;

	for (unsigned i = 0; i < c->n_sum; i++) {
		int64_t *a = &y[c->sum[i]].i, *b = &x[c->sum[i]].i;

		if (*a < 0 && *b < 0)
			none[n++] = c->sum[i];
		*a = *a < 0 ? 0 : *a;
		*b = *b < 0 ? 0 : *b;
		if (*b >
		    INT64_MAX - *a) /* damage; a sum that turned negative would look like none */
			*b = INT64_MAX - *a;
	}
	if (ny > 0)
		spread = rama_core_spread_merge(rama_core_spread_of(p, y, ny),
						rama_core_spread_of(p, x, nx));
	rama_core_reduce_prepare(p, y);
	rama_core_reduce_prepare(p, x);
	rama_core_reduce(p, y, x);
	rama_core_reduce_finish(p, y, spread);
	for (unsigned i = 0; i < n; i++)
		y[none[i]].i = -1;
}
