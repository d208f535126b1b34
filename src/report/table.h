/* SPDX-License-Identifier: BSD-3-Clause */
/* table.h: the tables of a report: rows of tables.def, compiled. CSV, JSON, Markdown and the
 * tables of the terminal print the same cells. */
#ifndef RAMA_REPORT_TABLE_H
#define RAMA_REPORT_TABLE_H

#include "base/json.h"
#include "report/report.h"

/* what a column holds; decides how its cells are printed for people */
enum rama_report_unit {
	RAMA_REPORT_UNIT_TEXT,	 /* const char *, NULL: none */
	RAMA_REPORT_UNIT_ID,	 /* 64 bits, a string in JSON */
	RAMA_REPORT_UNIT_RANK,	 /* a number, negative: none */
	RAMA_REPORT_UNIT_NUMBER, /* a plain one; negative: none */
	RAMA_REPORT_UNIT_COUNT,	 /* of things */
	RAMA_REPORT_UNIT_BYTES,
	RAMA_REPORT_UNIT_SECONDS,
	RAMA_REPORT_UNIT_SHARE,
	RAMA_REPORT_UNIT_FIGURE, /* a double; not finite: none */
	RAMA_REPORT_UNIT_FLAG,
};

struct rama_report_cell {
	enum {
		RAMA_REPORT_CELL_NONE,
		RAMA_REPORT_CELL_TEXT,
		RAMA_REPORT_CELL_ID,
		RAMA_REPORT_CELL_INT,
		RAMA_REPORT_CELL_REAL,
		RAMA_REPORT_CELL_FLAG
	} kind;
	union {
		const char *text;
		uint64_t id;
		int64_t i;
		double f;
		bool flag;
	};
};

struct rama_report_column {
	const char *key;    /* in CSV and JSON */
	const char *header; /* for people */
	enum rama_report_unit unit;
};

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
	const struct rama_report_column *columns;
	unsigned n_columns;
	size_t (*rows)(const struct rama_report *r);
	/* fills n_columns cells; false: the row is empty and is left out */
	bool (*row)(const struct rama_report *r, size_t i, struct rama_report_cell *c);
};
extern const struct rama_report_table rama_report_tables[RAMA_REPORT_TABLES];
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
/* a number that does not need all its digits: whole ones exactly, others with nine; in JSON null
 * if not finite */
void rama_report_out_figure(struct rama_out *o, double v);
void rama_report_json_figure(struct rama_json *j, double v);
/* a cell as people read it; returns `to` or a text that lives as long as the report */
const char *rama_report_cell_text(char to[64], const struct rama_report_cell *c,
				  enum rama_report_unit unit);

#endif
