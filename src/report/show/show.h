/* SPDX-License-Identifier: BSD-3-Clause */
/* show.h: a log as text, trace, JSON or CSV, whole or in part: what `iorama show` prints. */
#ifndef RAMA_REPORT_SHOW_SHOW_H
#define RAMA_REPORT_SHOW_SHOW_H

#include "base/out.h"
#include "logfile/cursor.h"
#include "report/show/filter.h"
#include "report/show/items.h"

struct rama_report_show {
	struct rama_report_filter filter;
	struct rama_out *out;
	bool base, total, file, perf, incomplete; /* text: sections */
	bool dxt, threads;
	/* the log that is shown, and what it is called */
	struct rama_log *log;
	const char *path;
	/* whoever asked: what went wrong, a line; lines for people that are no part of the output;
	 * how far it is. May be NULL */
	void (*problem)(void *ctx, const char *line);
	void (*say)(void *ctx, const char *lines);
	void (*progress)(void *ctx, const struct rama_log_cursor *c);
	void *ctx;
};

/* Each shows one log. 0 or a negative error, which was told; RAMA_EMISSING also when a module is
 * incomplete and that was not asked for. */
int rama_report_show_text(struct rama_report_show *s);
int rama_report_show_dxt(struct rama_report_show *s);
int rama_report_show_json(struct rama_report_show *s);
int rama_report_show_csv(struct rama_report_show *s);

/* ---- for those four -------------------------------------------------------------------------- */

/* the lines at the top of both text forms */
void rama_report_show_preamble(struct rama_report_show *s);
/* told in the output (going on) or beside it (stopping): false = stop */
bool rama_report_show_may_lack(struct rama_report_show *s, const struct rama_tab_module *mod);
void rama_report_show_progress(const struct rama_report_show *s, const struct rama_log_cursor *c);

/* Calls `fn` for each record of the module that passes the filter; 0 or a negative error of a
 * strict log, which is told. */
int rama_report_show_records(struct rama_report_show *s, unsigned module,
			     int (*fn)(void *ctx, struct rama_log_cursor *c,
				       const struct rama_core_record *r),
			     void *ctx);

#endif
