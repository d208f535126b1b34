/* SPDX-License-Identifier: BSD-3-Clause */
/* csv.c: a line for each operation, for tables and data frames. Arrow and Parquet have no library
 * here that is small and well kept; both are one call away from CSV in Python and R. */
#include "base/form/csv.h"

#include "report/export/export.h"

static void csv(struct rama_out *o, const struct rama_report_export *x)
{
	const struct rama_job_view *v = x->view;

	rama_out_text(o, "rank,host,thread,layer,depth,operation,file,offset,length,start,end\n");
	for (size_t i = 0; i < x->n && o->error == 0; i++) {
		const struct rama_job_view_op *op = x->ops[i].op;
		int32_t host = op->rank >= 0 ? v->ranks[op->rank].host : -1;

		rama_out_fmt(o, "%d,", (int)op->rank);
		rama_csv_text(o, host >= 0 ? v->hosts[host] : "");
		rama_out_fmt(o, ",%u,%s,%u,%s,", (unsigned)op->thread,
			     rama_job_layer_info[op->layer].name, (unsigned)x->ops[i].depth,
			     op->kind == 0 ? "write" : "read");
		rama_csv_text(o, v->files[op->file].name);
		rama_out_fmt(o, ",%lld,%lld,", (long long)op->offset, (long long)op->length);
		rama_out_f64(o, op->start, 9);
		rama_out_char(o, ',');
		rama_out_f64(o, op->end, 9);
		rama_out_char(o, '\n');
	}
}

const struct rama_report_export_form rama_report_export_form_csv = { .suffix = ".ops.csv",
								     .write = csv };
