/* SPDX-License-Identifier: BSD-3-Clause */
/* shorttrace.c: see rama_log_short_trace in cursor.h */
#include "logfile/cursor.h"

static int walk(struct rama_log_short_trace *s, struct rama_log *log, unsigned module)
{
	union rama_core_word seg[256][RAMA_TAB_SEG_WORDS];
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&c, log, module);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		uint64_t got[2] = { 0, 0 };
		unsigned kind;
		int n;

		while ((n = rama_log_cursor_segments(&c, seg, 256, &kind)) > 0)
			got[kind] += (uint64_t)n;
		if (n < 0)
			rc = n;
		else if (got[0] != r->count[0] || got[1] != r->count[1])
			*s = (struct rama_log_short_trace){ c.index, { got[0], got[1] } };
	}
	rama_log_cursor_close(&c);
	return rc;
}

int rama_log_short_trace_find(struct rama_log_short_trace *s, struct rama_log *log, unsigned module)
{
	struct rama_log_hush before = rama_log_set_hush(log);
	int rc;

	*s = (struct rama_log_short_trace){ 0 };
	rc = walk(s, log, module);
	rama_log_unhush(log, before);
	return rc;
}

void rama_log_short_trace_apply(const struct rama_log_short_trace *s,
				const struct rama_log_cursor *c, struct rama_core_record *r)
{
	if (s->record == 0 || s->record != c->index)
		return;
	r->w[RAMA_TAB_DXT_WRITE_COUNT].u = s->count[0];
	r->w[RAMA_TAB_DXT_READ_COUNT].u = s->count[1];
}
