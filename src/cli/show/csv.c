/* SPDX-License-Identifier: BSD-3-Clause */
/* show_csv.c: a log as comma separated values, one counter or one traced access per line. */
#include <string.h>

#include "cli/show/show.h"

struct writer {
	struct rama_cli_show *show;
	struct rama_cli_input *in;
	struct rama_cli_items items;
	const struct rama_core_record *r;
	struct rama_cli_columns col;
};

/* in quotes where it has to be (RFC 4180) */
static void text(struct rama_out *o, const char *s, size_t n)
{
	size_t plain = 0;

	while (plain < n && strchr(",\"\r\n", s[plain]) == NULL)
		plain++;
	if (plain == n) {
		rama_out_bytes(o, s, n);
		return;
	}
	rama_out_char(o, '"');
	for (size_t i = 0; i < n; i++) {
		if (s[i] == '"')
			rama_out_char(o, '"');
		rama_out_char(o, s[i]);
	}
	rama_out_char(o, '"');
}

static void front(struct writer *w)
{
	struct rama_out *o = w->show->out;

	text(o, w->in->path, strlen(w->in->path));
	rama_out_char(o, ',');
	rama_out_text(o, w->r->mod->name);
	rama_out_char(o, ',');
	rama_out_i64(o, w->r->w[RAMA_TAB_RANK].i);
	rama_out_char(o, ',');
	rama_out_u64(o, w->r->w[RAMA_TAB_ID].u);
	rama_out_char(o, ',');
}

static void item(void *ctx, const struct rama_cli_item *it)
{
	struct writer *w = ctx;
	struct rama_out *o = w->show->out;

	if (!rama_cli_filter_counter(&w->show->filter, it->name))
		return;
	front(w);
	rama_out_text(o, it->name);
	rama_out_char(o, ',');
	if (it->type == RAMA_TAB_TEXT) {
		text(o, it->text, it->text_len);
	} else if (it->type == RAMA_TAB_F64) {
		rama_out_fmt(o, "%.17g", it->value.f);
	} else if (it->type == RAMA_TAB_U64) {
		rama_out_u64(o, it->value.u);
	} else {
		rama_out_i64(o, it->value.i);
	}
	rama_out_char(o, ',');
	text(o, w->col.name, w->col.named ? strlen(w->col.name) : 0);
	rama_out_char(o, ',');
	text(o, w->col.mount, strlen(w->col.mount));
	rama_out_char(o, ',');
	text(o, w->col.fs, strlen(w->col.fs));
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
			text(o, host, strlen(host));
			rama_out_fmt(o, ",%s,%lld,%lld,%lld,%.9f,%.9f,",
				     kind == 0 ? "write" : "read", number[kind]++,
				     (long long)seg[i][RAMA_TAB_SEG_OFFSET].i,
				     (long long)seg[i][RAMA_TAB_SEG_LENGTH].i,
				     seg[i][RAMA_TAB_SEG_START].f, seg[i][RAMA_TAB_SEG_END].f);
			if (rama_log_cursor_has_threads(c))
				rama_out_u64(o, seg[i][RAMA_TAB_SEG_THREAD].u);
			rama_out_char(o, ',');
			text(o, w->col.name, w->col.named ? strlen(w->col.name) : 0);
			rama_out_char(o, '\n');
		}
		rama_cli_progress(w->in, c);
	}
}

static int record(void *ctx, struct rama_log_cursor *c, const struct rama_core_record *r)
{
	struct writer *w = ctx;

	w->r = r;
	rama_cli_columns_of(&w->col, &w->in->log, r);
	if (r->mod->flags & RAMA_TAB_TRACE)
		segments(w, c);
	else
		rama_cli_items_each(&w->items, r);
	return 0;
}

int rama_cli_show_csv(struct rama_cli_show *s, struct rama_cli_input *in)
{
	struct writer w = { .show = s, .in = in, .items = { .fn = item, .ctx = &w } };
	int rc = 0;

	for (unsigned i = 0; i < RAMA_TAB_MODULES && rc == 0; i++) {
		const struct rama_tab_module *mod = rama_tab_module_get(i);

		if (mod != NULL && rama_cli_filter_module(&s->filter, i) &&
		    (bool)(mod->flags & RAMA_TAB_TRACE) == s->dxt)
			rc = rama_cli_show_records(s, in, i, record, &w);
	}
	return rc == 0 ? 0 : rama_err_status(rc);
}
