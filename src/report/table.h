/* SPDX-License-Identifier: BSD-3-Clause */
/* table.h: the tables of a report: rows of tables.def, compiled. CSV, JSON, Markdown and the
 * tables of the terminal print the same cells. */
#ifndef RAMA_REPORT_TABLE_H
#define RAMA_REPORT_TABLE_H

#include "base/nearest.h"
#include "base/form/cell.h"
#include "base/form/grid.h"
#include "report/report.h"

enum rama_report_table_id {
#define TABLE(name, ...) RAMA_REPORT_TABLE_##name,
#define COL(...)
#define END
#include "report/tables.def"
#undef TABLE
#undef COL
#undef END
	RAMA_REPORT_TABLES
};
#define RAMA_REPORT_COLUMNS_MOST 24

struct rama_report_table {
	const char *name, *title;
	const struct rama_grid_column *columns; /* units: base/form/cell.h; NULL: text */
	unsigned n_columns;
	size_t (*rows)(const struct rama_report *r);
	/* fills n_columns cells; false: the row is empty and is left out */
	bool (*row)(const struct rama_report *r, size_t i, struct rama_cell *c);
};
extern const struct rama_report_table rama_report_tables[RAMA_REPORT_TABLES];
/* "; did you mean NAME?" for the middle of a message, or ";" */
const char *rama_report_table_hint(const char *name, char to[RAMA_NEAREST_HINT]);
/* NULL: none */
const struct rama_report_table *rama_report_table_find(const char *name);
/* of one that is there */
unsigned rama_report_table_column(const struct rama_report_table *t, const char *key);

/* counts of damaged logs may be beyond what a signed number holds */
static inline int64_t rama_report_count(uint64_t n)
{
	return n < INT64_MAX ? (int64_t)n : INT64_MAX;
}

/* the labels of the ten size classes */
extern const char *const rama_report_size_label[RAMA_JOB_SIZE_BINS];

/* members of an object that is open */
void rama_report_table_json(struct rama_json *j, const struct rama_report_table *t,
			    const struct rama_report *r, size_t i);

/* some columns of a table as a grid for people, cells as texts */
#define RAMA_REPORT_CHOICE_MOST 10
struct rama_report_choice {
	enum rama_report_table_id table;
	const char *columns[RAMA_REPORT_CHOICE_MOST]; /* keys */
};
struct rama_report_picked {
	const struct rama_report_table *table;
	unsigned at[RAMA_REPORT_CHOICE_MOST]; /* in the table */
	struct rama_grid_column column[RAMA_REPORT_CHOICE_MOST];
	char said[RAMA_REPORT_CHOICE_MOST + 1][48]; /* words of heads that are about ranks */
	struct rama_grid grid;
	struct rama_arena arena; /* of texts */
	bool failed;		 /* no memory: rows are missing */
};
void rama_report_pick(struct rama_report_picked *p, const struct rama_report *r,
		      const struct rama_report_choice *c);
void rama_report_pick_row(struct rama_report_picked *p, const struct rama_cell *c);
void rama_report_pick_fini(struct rama_report_picked *p);

#endif
