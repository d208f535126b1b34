/* SPDX-License-Identifier: BSD-3-Clause */
/* csv.c: a log as comma separated values, one counter or one traced access per line. */
#include <string.h>

#include "base/form/csv.h"
#include "report/show/show.h"

struct writer {
	struct rama_report_show *show;
	struct rama_report_items items;
	const struct rama_core_record *r;
	struct rama_report_place col;
};

static void front(struct writer *w)
{
	struct rama_out *o = w->show->out;

	rama_csv_text(o, w->show->path);
	rama_out_char(o, ',');
	rama_out_text(o, w->r->mod->name);
	rama_out_char(o, ',');
	rama_out_i64(o, w->r->w[RAMA_TAB_RANK].i);
	rama_out_char(o, ',');
	rama_out_u64(o, w->r->w[RAMA_TAB_ID].u);
	rama_out_char(o, ',');
}

static void item(void *ctx, const struct rama_report_item *it)
{
	struct writer *w = ctx;
	struct rama_out *o = w->show->out;

	if (!rama_report_filter_counter(&w->show->filter, it->name))
		return;
	front(w);
	rama_out_text(o, it->name);
	rama_out_char(o, ',');
	if (it->type == RAMA_TAB_TEXT) {
		rama_csv_bytes(o, it->text, it->text_len);
	} else if (it->type == RAMA_TAB_F64) {
		rama_out_fmt(o, "%.17g", it->value.f);
	} else if (it->type == RAMA_TAB_U64) {
		rama_out_u64(o, it->value.u);
	} else {
		rama_out_i64(o, it->value.i);
	}
	rama_out_char(o, ',');
	rama_csv_bytes(o, w->col.name, w->col.named ? strlen(w->col.name) : 0);
	rama_out_char(o, ',');
	rama_csv_text(o, w->col.mount);
	rama_out_char(o, ',');
	rama_csv_text(o, w->col.fs);
	rama_out_char(o, '\n');
}

static void segments(struct writer *w, struct rama_log_cursor *c)
{
	union rama_core_word seg[512][RAMA_TAB_SEG_WORDS];
	struct rama_out *o = w->show->out;
	long long number[2] = { 0, 0 };
	char host[65] = { 0 };
	unsigned kind;
	int n;

	memcpy(host, w->r->w[RAMA_TAB_DXT_HOSTNAME].b, 64);
	while ((n = rama_log_cursor_segments(c, seg, 512, &kind)) > 0) {
		for (int i = 0; i < n; i++) {
			front(w);
			rama_csv_text(o, host);
			rama_out_fmt(o, ",%s,%lld,%lld,%lld,%.9f,%.9f,",
				     kind == 0 ? "write" : "read", number[kind]++,
				     (long long)seg[i][RAMA_TAB_SEG_OFFSET].i,
				     (long long)seg[i][RAMA_TAB_SEG_LENGTH].i,
				     seg[i][RAMA_TAB_SEG_START].f, seg[i][RAMA_TAB_SEG_END].f);
			if (rama_log_cursor_has_threads(c))
				rama_out_u64(o, seg[i][RAMA_TAB_SEG_THREAD].u);
			rama_out_char(o, ',');
			rama_csv_bytes(o, w->col.name, w->col.named ? strlen(w->col.name) : 0);
			rama_out_char(o, '\n');
		}
		rama_report_show_progress(w->show, c);
	}
}

static int record(void *ctx, struct rama_log_cursor *c, const struct rama_core_record *r)
{
	struct writer *w = ctx;

	w->r = r;
	rama_report_place_of(&w->col, w->show->log, r);
	if (r->mod->flags & RAMA_TAB_TRACE)
		segments(w, c);
	else
		rama_report_items_each(&w->items, r);
	return 0;
}

int rama_report_show_csv(struct rama_report_show *s)
{
	struct writer w = { .show = s, .items = { .fn = item, .ctx = &w } };
	int rc = 0;

	for (unsigned i = 0; i < RAMA_TAB_MODULES && rc == 0; i++) {
		const struct rama_tab_module *mod = rama_tab_module_get(i);

		if (mod != NULL && rama_report_filter_module(&s->filter, i) &&
		    (bool)(mod->flags & RAMA_TAB_TRACE) == s->dxt)
			rc = rama_report_show_records(s, i, record, &w);
	}
	return rc;
}
