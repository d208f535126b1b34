/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of the report for a terminal. A table has some of the columns that CSV has; those that
 * do not fit are left out from the right, and what is left over in width goes to its text. */
#include "report/text.h"

#include <stdio.h>
#include <string.h>

#include "base/human.h"

#define ROWS_MOST 10
#define SHOWN_MOST 10 /* columns */
#define TEXT_LEAST 24 /* columns of a name that is cut */
#define CELL_ROOM 256

struct shown {
	const struct rama_report_table *t;
	unsigned n;		     /* columns of it */
	unsigned column[SHOWN_MOST]; /* in the table */
	unsigned width[SHOWN_MOST];
	size_t rows;
};

/* which tables, with which columns, in which order; the first is the one that is cut */
static const struct {
	enum rama_report_table_id table;
	const char *columns[SHOWN_MOST];
} choice[] = {
	{ RAMA_REPORT_TABLE_layers,
	  { "name", "files", "read_time", "write_time", "meta_time", "bytes_read", "bytes_written",
	    "reads", "writes", "metas" } },
	{ RAMA_REPORT_TABLE_sizes,
	  { "layer", "class", "reads", "writes", "bytes_read", "bytes_written" } },
	{ RAMA_REPORT_TABLE_files,
	  { "name", "ranks", "read_time", "write_time", "meta_time", "bytes_read", "bytes_written",
	    "reads", "writes" } },
	{ RAMA_REPORT_TABLE_ranks,
	  { "rank", "host", "read_time", "write_time", "meta_time", "bytes_read", "bytes_written",
	    "reads", "writes" } },
	{ RAMA_REPORT_TABLE_phases,
	  { "start", "end", "bytes_read", "bytes_written", "ranks", "slow_rank", "slow_busy",
	    "median_busy", "wait" } },
	{ RAMA_REPORT_TABLE_mounts,
	  { "path", "type", "files", "bytes_read", "bytes_written", "time" } },
	{ RAMA_REPORT_TABLE_targets, { "ost", "files", "bytes", "time", "mean", "slowest" } },
};

/* Rows that say something: in the table of sizes most classes are empty. */
static bool is_empty(const struct shown *s, const struct rama_report_cell *c)
{
	for (unsigned k = 0; k < s->n; k++) {
		const struct rama_report_cell *x = &c[s->column[k]];

		if ((x->kind == RAMA_REPORT_CELL_INT && x->i != 0) ||
		    (x->kind == RAMA_REPORT_CELL_REAL && x->f != 0))
			return false;
	}
	return true;
}

/* row i as shown: of the ranks the slowest come first */
static bool row(const struct shown *s, const struct rama_report *r, size_t i,
		struct rama_report_cell *c)
{
	if (s->t == &rama_report_tables[RAMA_REPORT_TABLE_ranks] && r->n_slow > 0)
		i = r->slow[i < r->n_slow ? i : r->n_slow - 1];
	return s->t->row(r, i, c) && !is_empty(s, c);
}

static const char *text_of(const struct shown *s, unsigned k, const struct rama_report_cell *c,
			   char to[64])
{
	const struct rama_report_column *col = &s->t->columns[s->column[k]];
	bool bytes = strncmp(col->key, "bytes", 5) == 0 && col->unit == RAMA_REPORT_UNIT_FIGURE;

	return rama_report_cell_text(to, &c[s->column[k]],
				     bytes ? RAMA_REPORT_UNIT_BYTES : col->unit);
}

/* columns in which nothing stands but nothing and 0 are left out */
static void drop_blank(struct shown *s, const bool *filled)
{
	unsigned n = 1;

	for (unsigned k = 1; k < s->n; k++) {
		if (!filled[k])
			continue;
		s->column[n] = s->column[k];
		s->width[n++] = s->width[k];
	}
	s->n = n;
}

static void measure(struct shown *s, const struct rama_pen *p, const struct rama_report *r)
{
	struct rama_report_cell c[RAMA_REPORT_COLUMNS_MOST];
	bool filled[SHOWN_MOST] = { false };
	char to[64];
	size_t done = 0;

	for (unsigned k = 0; k < s->n; k++)
		s->width[k] = rama_pen_columns(p, s->t->columns[s->column[k]].header);
	for (size_t i = 0; i < s->rows && done < ROWS_MOST; i++) {
		if (!row(s, r, i, c))
			continue;
		done++;
		for (unsigned k = 0; k < s->n; k++) {
			const struct rama_report_cell *x = &c[s->column[k]];
			unsigned n = rama_pen_columns(p, text_of(s, k, c, to));

			s->width[k] = n > s->width[k] ? n : s->width[k];
			filled[k] |= !(x->kind == RAMA_REPORT_CELL_NONE ||
				       (x->kind == RAMA_REPORT_CELL_INT && x->i == 0) ||
				       (x->kind == RAMA_REPORT_CELL_REAL && x->f == 0));
		}
	}
	drop_blank(s, filled);
}

static unsigned total_width(const struct shown *s)
{
	unsigned n = 2 * s->n; /* gaps, and the indentation */

	for (unsigned k = 0; k < s->n; k++)
		n += s->width[k];
	return n;
}

/* columns go until the rest fits, the first being cut */
static void fit(struct shown *s, unsigned width)
{
	bool cuts = s->t->columns[s->column[0]].unit == RAMA_REPORT_UNIT_TEXT;
	unsigned least = cuts && s->width[0] > TEXT_LEAST ? TEXT_LEAST : s->width[0];

	while (s->n > 2 && total_width(s) - s->width[0] + least > width)
		s->n--;
	if (total_width(s) > width)
		s->width[0] = width > total_width(s) - s->width[0]
				      ? width - (total_width(s) - s->width[0])
				      : least;
}

static void put_row(struct rama_pen *p, const struct shown *s, const struct rama_report_cell *c)
{
	unsigned at = 2;
	char to[64];

	for (unsigned k = 0; k < s->n; k++) {
		const struct rama_report_column *col = &s->t->columns[s->column[k]];
		const char *text = c != NULL ? text_of(s, k, c, to) : col->header;

		rama_pen_to(p, at);
		if (col->unit == RAMA_REPORT_UNIT_TEXT)
			rama_pen_cut(p, text, s->width[k]);
		else
			rama_pen_right(p, text, at + s->width[k]);
		at += s->width[k] + 2;
	}
	rama_pen_line(p);
}

static const char *title_of(const struct rama_report_table *t)
{
	return t == &rama_report_tables[RAMA_REPORT_TABLE_ranks] ? "Slowest ranks" : t->title;
}

static void put_table(struct rama_pen *p, const struct rama_report *r, struct shown *s)
{
	struct rama_report_cell c[RAMA_REPORT_COLUMNS_MOST];
	size_t done = 0, left = 0;
	char n[RAMA_HUMAN];

	measure(s, p, r);
	fit(s, p->width);
	for (size_t i = 0; i < s->rows; i++) {
		if (!row(s, r, i, c))
			continue;
		if (done == 0) {
			rama_pen_line(p);
			rama_pen_style(p, "1");
			rama_pen_text(p, title_of(s->t));
			rama_pen_plain(p);
			rama_pen_line(p);
			rama_pen_style(p, "2");
			put_row(p, s, NULL);
			rama_pen_plain(p);
		}
		if (done++ < ROWS_MOST)
			put_row(p, s, c);
		else
			left++;
	}
	if (left > 0) {
		rama_pen_fmt(p, "  and %s more: --csv=%s", rama_human_count(n, (int64_t)left),
			     s->t->name);
		rama_pen_line(p);
	}
}

void rama_report_text_tables(struct rama_pen *p, const struct rama_report *r)
{
	for (size_t i = 0; i < sizeof(choice) / sizeof(choice[0]); i++) {
		struct shown s = { .t = &rama_report_tables[choice[i].table] };

		s.rows = s.t->rows(r);
		while (s.n < SHOWN_MOST && choice[i].columns[s.n] != NULL) {
			s.column[s.n] = rama_report_table_column(s.t, choice[i].columns[s.n]);
			s.n++;
		}
		put_table(p, r, &s);
	}
}
