/* SPDX-License-Identifier: BSD-3-Clause */
/* paper.h: sentences and tables (base/form/grid.h), made once and printed as text, Markdown,
 * HTML or CSV. For what compares jobs (diff, fleet) and lists them; the report of one job has
 * pictures and a page of its own.
 *
 * Texts are kept as given: they must live as long as the paper; rama_report_paper_fmt() and its
 * like keep them in the paper's own memory. */
#ifndef RAMA_REPORT_PAPER_H
#define RAMA_REPORT_PAPER_H

#include "base/arena.h"
#include "base/form/grid.h"

struct rama_report_line {
	const char *text;
	enum rama_tone tone;
};

#define RAMA_REPORT_PAPER_LINES 32
#define RAMA_REPORT_PAPER_SHEETS 24

struct rama_report_paper {
	struct rama_arena arena;
	const char *title; /* of the page */
	const char *verdict;
	enum rama_tone tone; /* of the verdict */
	struct rama_report_line head[RAMA_REPORT_PAPER_LINES], foot[RAMA_REPORT_PAPER_LINES];
	unsigned n_head, n_foot;
	struct rama_grid sheets[RAMA_REPORT_PAPER_SHEETS];
	unsigned n_sheets;
	bool failed; /* out of memory; what is missing must not be printed as if it were all */
};

void rama_report_paper_fini(struct rama_report_paper *p);
const char *rama_report_paper_fmt(struct rama_report_paper *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* a copy that may be printed: control characters and bytes that are no UTF-8 are replaced */
const char *rama_report_paper_text(struct rama_report_paper *p, const char *s);
void rama_report_paper_head(struct rama_report_paper *p, enum rama_tone tone, const char *text);
void rama_report_paper_foot(struct rama_report_paper *p, enum rama_tone tone, const char *text);

/* the next one; key, title and columns are kept as given */
struct rama_grid *rama_report_paper_sheet(struct rama_report_paper *p, const char *key,
					  const char *title, const struct rama_grid_column *columns,
					  unsigned n_columns);
/* n_columns empty cells; never NULL (without memory: cells nobody sees) */
struct rama_grid_cell *rama_report_paper_row(struct rama_report_paper *p, struct rama_grid *s);
const struct rama_grid *rama_report_paper_find(const struct rama_report_paper *p, const char *key);

/* cells of values, with the text that people read */
struct rama_grid_cell rama_report_paper_value(struct rama_report_paper *p, const char *unit,
					      double value);

/* " · 2 Mar 2022 19:52 UTC" of a time in seconds since 1970, "" if it is none */
#define RAMA_REPORT_DATE 64
const char *rama_report_date_text(char to[RAMA_REPORT_DATE], int64_t seconds);

void rama_report_paper_print(const struct rama_report_paper *p, struct rama_out *o,
			     const struct rama_grid_style *style);
/* as struct rama_report_form has them */
struct rama_report_ask;
void rama_report_paper_markdown(struct rama_out *o, const struct rama_report_paper *p,
				const struct rama_report_ask *a);
void rama_report_paper_html(struct rama_out *o, const struct rama_report_paper *p,
			    const struct rama_report_ask *a);

#endif
