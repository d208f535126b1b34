/* SPDX-License-Identifier: BSD-3-Clause */
/* A table as CSV (RFC 4180): the log first, then the columns of the table, values without units. */
#include "base/form/csv.h"
#include "report/form.h"

static void csv(struct rama_out *o, const struct rama_report *r, const struct rama_report_ask *a)
{
	const struct rama_report_table *t = rama_report_table_find(a->table);
	struct rama_cell c[RAMA_REPORT_COLUMNS_MOST];
	size_t n = t->rows(r);

	if (!a->apart) {
		rama_out_text(o, "log");
		for (unsigned k = 0; k < t->n_columns; k++) {
			rama_out_char(o, ',');
			rama_out_text(o, t->columns[k].key);
		}
		rama_out_char(o, '\n');
	}
	for (size_t i = 0; i < n && o->error == 0; i++) {
		if (!t->row(r, i, c))
			continue;
		rama_csv_text(o, r->view->n_logs > 0 ? r->view->logs[0] : "");
		for (unsigned k = 0; k < t->n_columns; k++) {
			rama_out_char(o, ',');
			rama_cell_csv(o, &c[k], t->columns[k].unit);
		}
		rama_out_char(o, '\n');
	}
}

static void paper(struct rama_out *o, const struct rama_report_paper *p,
		  const struct rama_report_ask *a)
{
	rama_grid_csv(o, rama_report_paper_find(p, a->table));
}

const struct rama_report_form rama_report_form_csv = { .suffix = ".csv",
						       .report = csv,
						       .paper = paper };
