/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sheet.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/human.h"

#define CELLS_MOST 64 /* columns of a table */

void rama_report_paper_fini(struct rama_report_paper *p)
{
	for (unsigned i = 0; i < p->n_sheets; i++)
		free(p->sheets[i].cells);
	rama_arena_fini(&p->arena);
	*p = (struct rama_report_paper){ 0 };
}

const char *rama_report_paper_fmt(struct rama_report_paper *p, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	text = n >= 0 ? rama_arena_alloc(&p->arena, (size_t)n + 1) : NULL;
	if (text == NULL) {
		p->failed = true;
		return "";
	}
	va_start(ap, fmt);
	vsnprintf(text, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return text;
}

const char *rama_report_paper_text(struct rama_report_paper *p, const char *s)
{
	size_t n = strlen(s), used = 0;
	char *to = rama_arena_alloc(&p->arena, 3 * n + 1);

	if (to == NULL) {
		p->failed = true;
		return "";
	}
	for (size_t i = 0; i < n;) {
		unsigned len = rama_text_sound(s + i);

		if (len > 0) {
			memcpy(to + used, s + i, len);
			used += len;
			i += len;
		} else {
			memcpy(to + used, "\xef\xbf\xbd", 3);
			used += 3;
			i++;
		}
	}
	to[used] = '\0';
	return to;
}

const char *rama_report_date_text(char to[RAMA_REPORT_DATE], int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;
	char rest[48];

	to[0] = '\0';
	if (seconds > 0 && gmtime_r(&t, &tm) != NULL &&
	    strftime(rest, sizeof(rest), "%b %Y %H:%M UTC", &tm) > 0)
		snprintf(to, RAMA_REPORT_DATE, " · %d %s", tm.tm_mday, rest);
	return to;
}

static void add_line(struct rama_report_line *lines, unsigned *n, struct rama_report_line line)
{
	if (*n < RAMA_REPORT_PAPER_LINES)
		lines[(*n)++] = line;
}

void rama_report_paper_head(struct rama_report_paper *p, enum rama_report_tone tone,
			    const char *text)
{
	add_line(p->head, &p->n_head, (struct rama_report_line){ text, tone });
}

void rama_report_paper_foot(struct rama_report_paper *p, enum rama_report_tone tone,
			    const char *text)
{
	add_line(p->foot, &p->n_foot, (struct rama_report_line){ text, tone });
}

struct rama_report_sheet *rama_report_paper_sheet(struct rama_report_paper *p, const char *key,
						  const char *title,
						  const struct rama_report_sheet_column *columns,
						  unsigned n_columns)
{
	/* the number of sheets is known when a paper is written down: the last one takes what is
	 * too much */
	struct rama_report_sheet *s =
		&p->sheets[p->n_sheets < RAMA_REPORT_PAPER_SHEETS ? p->n_sheets++
								  : RAMA_REPORT_PAPER_SHEETS - 1];

	free(s->cells);
	*s = (struct rama_report_sheet){
		.key = key, .title = title, .columns = columns, .n_columns = n_columns
	};
	return s;
}

struct rama_report_sheet_cell *rama_report_sheet_row(struct rama_report_paper *p,
						     struct rama_report_sheet *s)
{
	static struct rama_report_sheet_cell nobody[CELLS_MOST];
	struct rama_report_sheet_cell *row;

	if (s->n_rows == s->room) {
		size_t room = s->room == 0 ? 16 : s->room * 2;
		struct rama_report_sheet_cell *cells =
			realloc(s->cells, room * s->n_columns * sizeof(*cells));

		if (cells == NULL) {
			p->failed = true;
			return nobody;
		}
		s->cells = cells;
		s->room = room;
	}
	row = &s->cells[s->n_rows++ * s->n_columns];
	for (unsigned i = 0; i < s->n_columns; i++)
		row[i] = (struct rama_report_sheet_cell){ .value = NAN };
	return row;
}

const struct rama_report_sheet *rama_report_paper_find(const struct rama_report_paper *p,
						       const char *key)
{
	for (unsigned i = 0; i < p->n_sheets; i++)
		if (strcmp(p->sheets[i].key, key) == 0)
			return &p->sheets[i];
	return NULL;
}

struct rama_report_sheet_cell rama_report_sheet_value(struct rama_report_paper *p, const char *unit,
						      double value)
{
	char text[RAMA_HUMAN];

	if (!isfinite(value))
		return (struct rama_report_sheet_cell){ .text = "–",
							.value = NAN,
							.tone = RAMA_REPORT_TONE_DIM };
	return (struct rama_report_sheet_cell){
		.text = rama_report_paper_fmt(p, "%s", rama_human_value(text, unit, value)),
		.value = value
	};
}

struct rama_report_sheet_cell rama_report_sheet_text(const char *text)
{
	return (struct rama_report_sheet_cell){ .text = text, .value = NAN };
}
