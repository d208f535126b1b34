/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of tables.def become, for each table, an array of columns and a function that fills a
 * row of cells. */
#include "report/table.h"

#include <math.h>
#include <string.h>

const char *const rama_report_size_label[RAMA_JOB_SIZE_BINS] = {
	"0–100 B", "100 B–1 KiB", "1–10 KiB",	"10–100 KiB",	 "100 KiB–1 MiB",
	"1–4 MiB", "4–10 MiB",	  "10–100 MiB", "100 MiB–1 GiB", "> 1 GiB"
};

static const char *const check_name[] = { [RAMA_DIAG_CHECK_NA] = "not_applicable",
					  [RAMA_DIAG_CHECK_PASSED] = "passed",
					  [RAMA_DIAG_CHECK_FOUND] = "found" };

/* ---- what rows need -------------------------------------------------------------------------- */

/* where a cell of the timeline stands in its heat map */
struct place {
	size_t row, bin, cell;
};

static size_t heat_cells(const struct rama_job_view *v)
{
	size_t n = 0;

	for (size_t h = 0; h < v->n_heats; h++)
		n += (size_t)v->heats[h].rows * v->heats[h].bins;
	return n;
}

/* NULL where nothing was moved */
static const struct rama_job_view_heat *heat_of(const struct rama_job_view *v, size_t i,
						struct place *at)
{
	for (size_t h = 0; h < v->n_heats; h++) {
		const struct rama_job_view_heat *x = &v->heats[h];
		size_t n = (size_t)x->rows * x->bins;

		if (i < n) {
			*at = (struct place){ i / x->bins, i % x->bins, i };
			return x->sum[0][i] > 0 || x->sum[1][i] > 0 ? x : NULL;
		}
		i -= n;
	}
	return NULL;
}

static double size_time(const struct rama_job_view *v, const struct rama_report_size *x, int kind)
{
	const struct rama_job_view_layer *l = &v->layer[x->layer];

	return l->sizes_exact ? l->size_time[kind][x->bin] : NAN;
}

/* the row of a group in the table of groups */
static int64_t group_place(const struct rama_report *r, uint32_t group)
{
	return group < r->view->n_groups ? r->group_row[group] : -1;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static struct rama_cell text_cell(const char *s)
{
	return s != NULL ? (struct rama_cell){ RAMA_CELL_TEXT, { { s, strlen(s) } } }
			 : (struct rama_cell){ .kind = RAMA_CELL_NONE };
}

static struct rama_cell int_cell(int64_t v)
{
	return (struct rama_cell){ RAMA_CELL_INT, { .i = v } };
}

static struct rama_cell known_cell(int64_t v)
{
	return v >= 0 ? int_cell(v) : (struct rama_cell){ .kind = RAMA_CELL_NONE };
}

static struct rama_cell real_cell(double v)
{
	return (struct rama_cell){ isfinite(v) ? RAMA_CELL_FIGURE : RAMA_CELL_NONE, { .f = v } };
}

/* what a column may hold: its value as a cell, and the unit that people read it in */
#define CELL_TEXT(v) text_cell(v) /* const char *, NULL: none */
#define UNIT_TEXT NULL
#define CELL_ID(v) ((struct rama_cell){ RAMA_CELL_ID, { .id = (v) } })
#define UNIT_ID "id"
#define CELL_RANK(v) known_cell(v) /* negative: none */
#define UNIT_RANK "id"
#define CELL_NUMBER(v) known_cell(v)
#define UNIT_NUMBER "id"
#define CELL_COUNT(v) int_cell((int64_t)(v))
#define UNIT_COUNT "count"
#define CELL_BYTES(v) int_cell(v)
#define UNIT_BYTES "bytes"
#define CELL_SECONDS(v) real_cell(v) /* not finite: none */
#define UNIT_SECONDS "seconds"
#define CELL_SHARE(v) real_cell(v)
#define UNIT_SHARE "share"
#define CELL_FIGURE(v) real_cell(v)
#define UNIT_FIGURE "figure"
#define CELL_FLAG(v) ((struct rama_cell){ RAMA_CELL_FLAG, { .flag = (v) } })
#define UNIT_FLAG "flag"

#define TABLE(name, ...) static const struct rama_grid_column name##_columns[] = {
#define COL(id, text, kind, value) { .key = #id, .header = text, .unit = UNIT_##kind },
#define END \
	}   \
	;
#include "report/tables.def"
#undef TABLE
#undef COL
#undef END

#define TABLE(name, title, type, rows, address)                                            \
	static size_t name##_rows(const struct rama_report *r)                             \
	{                                                                                  \
		const struct rama_job_view *v = r->view;                                   \
		(void)v;                                                                   \
		return rows;                                                               \
	}                                                                                  \
	static bool name##_row(const struct rama_report *r, size_t i, struct rama_cell *c) \
	{                                                                                  \
		const struct rama_job_view *v = r->view;                                   \
		struct place at = { 0 };                                                   \
		const type *x = address;                                                   \
		(void)v, (void)at;                                                         \
		if (x == NULL)                                                             \
			return false;
#define COL(key, header, unit, value) *c++ = CELL_##unit(value);
#define END          \
	return true; \
	}
#include "report/tables.def"
#undef TABLE
#undef COL
#undef END

const struct rama_report_table rama_report_tables[RAMA_REPORT_TABLES] = {
#define TABLE(name, title, ...)                                               \
	{ #name,	  title,                                              \
	  name##_columns, sizeof(name##_columns) / sizeof(name##_columns[0]), \
	  name##_rows,	  name##_row },
#define COL(...)
#define END
#include "report/tables.def"
#undef TABLE
#undef COL
#undef END
};

#define TABLE(name, ...)                                                     \
	_Static_assert(sizeof(name##_columns) / sizeof(name##_columns[0]) <= \
			       RAMA_REPORT_COLUMNS_MOST,                     \
		       "more columns than a row has room for");
#define COL(...)
#define END
#include "report/tables.def"
#undef TABLE
#undef COL
#undef END

const struct rama_report_table *rama_report_table_find(const char *name)
{
	for (unsigned i = 0; i < RAMA_REPORT_TABLES; i++)
		if (strcmp(rama_report_tables[i].name, name) == 0)
			return &rama_report_tables[i];
	return NULL;
}

const char *rama_report_table_hint(const char *name, char to[RAMA_NEAREST_HINT])
{
	struct rama_nearest near = { .word = name };

	for (unsigned i = 0; i < RAMA_REPORT_TABLES; i++)
		rama_nearest_offer(&near, rama_report_tables[i].name);
	return near.name != NULL ? rama_nearest_hint(&near, to) : ";";
}

unsigned rama_report_table_column(const struct rama_report_table *t, const char *key)
{
	unsigned i = 0;

	while (i + 1 < t->n_columns && strcmp(t->columns[i].key, key) != 0)
		i++;
	return i;
}

/* ---- printing -------------------------------------------------------------------------------- */

void rama_report_table_json(struct rama_json *j, const struct rama_report_table *t,
			    const struct rama_report *r, size_t i)
{
	struct rama_cell c[RAMA_REPORT_COLUMNS_MOST];

	if (!t->row(r, i, c))
		return;
	for (unsigned k = 0; k < t->n_columns; k++) {
		rama_json_key(j, t->columns[k].key);
		rama_cell_json(j, &c[k], t->columns[k].unit);
	}
}

void rama_report_pick(struct rama_report_picked *p, const struct rama_report *r,
		      const struct rama_report_choice *c)
{
	unsigned n = 0;

	*p = (struct rama_report_picked){ .table = &rama_report_tables[c->table] };
	for (; n < RAMA_REPORT_CHOICE_MOST && c->columns[n] != NULL; n++) {
		p->at[n] = rama_report_table_column(p->table, c->columns[n]);
		p->column[n] = p->table->columns[p->at[n]];
		p->column[n].header = rama_job_view_say(r->view, p->column[n].header, p->said[n],
							sizeof(p->said[n]));
	}
	p->grid.title = rama_job_view_say(r->view, p->table->title,
					  p->said[RAMA_REPORT_CHOICE_MOST], sizeof(p->said[0]));
	p->grid.columns = p->column;
	p->grid.n_columns = n;
}

void rama_report_pick_row(struct rama_report_picked *p, const struct rama_cell *c)
{
	struct rama_grid_cell *row = rama_grid_row(&p->grid);
	char to[RAMA_CELL_SHOWN];

	p->failed = p->failed || row == NULL;
	for (unsigned k = 0; row != NULL && k < p->grid.n_columns; k++) {
		const struct rama_cell *x = &c[p->at[k]];
		const char *text = rama_cell_text(to, x, p->column[k].unit);

		if (x->kind == RAMA_CELL_NONE)
			continue;
		row[k].text = rama_arena_text(&p->arena, text, strlen(text));
		row[k].value = x->kind == RAMA_CELL_INT	     ? (double)x->i
			       : x->kind == RAMA_CELL_FIGURE ? x->f
							     : NAN;
		p->failed = p->failed || row[k].text == NULL;
	}
}

void rama_report_pick_fini(struct rama_report_picked *p)
{
	rama_grid_fini(&p->grid);
	rama_arena_fini(&p->arena);
}
