/* SPDX-License-Identifier: BSD-3-Clause */
/* A table as CSV (RFC 4180): the log first, then the columns of the table, values without units. */
#include "report/table.h"

#include "base/csv.h"

static void cell(struct rama_out *o, const struct rama_report_cell *c)
{
	switch (c->kind) {
	case RAMA_REPORT_CELL_NONE:
		break;
	case RAMA_REPORT_CELL_TEXT:
		rama_csv_text(o, c->text);
		break;
	case RAMA_REPORT_CELL_ID:
		rama_out_u64(o, c->id);
		break;
	case RAMA_REPORT_CELL_INT:
		rama_out_i64(o, c->i);
		break;
	case RAMA_REPORT_CELL_REAL:
		rama_report_out_figure(o, c->f);
		break;
	case RAMA_REPORT_CELL_FLAG:
		rama_out_char(o, c->flag ? '1' : '0');
		break;
	}
}

void rama_report_csv(struct rama_out *o, const struct rama_report *r,
		     const struct rama_report_table *t, bool head)
{
	struct rama_report_cell c[RAMA_REPORT_COLUMNS_MOST];
	size_t n = t->rows(r);

	if (head) {
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
			cell(o, &c[k]);
		}
		rama_out_char(o, '\n');
	}
}
