/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of tables.def become, for each table, an array of columns and a function that fills a
 * row of cells. */
#include "report/table.h"

#include <math.h>
#include <string.h>

#include "base/human.h"

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

static struct rama_report_cell text_cell(const char *s)
{
	return (struct rama_report_cell){ s != NULL ? RAMA_REPORT_CELL_TEXT : RAMA_REPORT_CELL_NONE,
					  { .text = s } };
}

static struct rama_report_cell int_cell(int64_t v)
{
	return (struct rama_report_cell){ RAMA_REPORT_CELL_INT, { .i = v } };
}

static struct rama_report_cell known_cell(int64_t v)
{
	return v >= 0 ? int_cell(v) : (struct rama_report_cell){ .kind = RAMA_REPORT_CELL_NONE };
}

static struct rama_report_cell real_cell(double v)
{
	return (struct rama_report_cell){ isfinite(v) ? RAMA_REPORT_CELL_REAL
						      : RAMA_REPORT_CELL_NONE,
					  { .f = v } };
}

#define CELL_TEXT(v) text_cell(v)
#define CELL_ID(v) ((struct rama_report_cell){ RAMA_REPORT_CELL_ID, { .id = (v) } })
#define CELL_RANK(v) known_cell(v)
#define CELL_NUMBER(v) known_cell(v)
#define CELL_COUNT(v) int_cell((int64_t)(v))
#define CELL_BYTES(v) int_cell(v)
#define CELL_SECONDS(v) real_cell(v)
#define CELL_SHARE(v) real_cell(v)
#define CELL_FIGURE(v) real_cell(v)
#define CELL_FLAG(v) ((struct rama_report_cell){ RAMA_REPORT_CELL_FLAG, { .flag = (v) } })

#define TABLE(name, ...) static const struct rama_report_column name##_columns[] = {
#define COL(key, header, unit, value) { #key, header, RAMA_REPORT_UNIT_##unit },
#define END \
	}   \
	;
#include "report/tables.def"
#undef TABLE
#undef COL
#undef END

#define TABLE(name, title, type, rows, address)                                                   \
	static size_t name##_rows(const struct rama_report *r)                                    \
	{                                                                                         \
		const struct rama_job_view *v = r->view;                                          \
		(void)v;                                                                          \
		return rows;                                                                      \
	}                                                                                         \
	static bool name##_row(const struct rama_report *r, size_t i, struct rama_report_cell *c) \
	{                                                                                         \
		const struct rama_job_view *v = r->view;                                          \
		struct place at = { 0 };                                                          \
		const type *x = address;                                                          \
		(void)v, (void)at;                                                                \
		if (x == NULL)                                                                    \
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

unsigned rama_report_table_column(const struct rama_report_table *t, const char *key)
{
	unsigned i = 0;

	while (i + 1 < t->n_columns && strcmp(t->columns[i].key, key) != 0)
		i++;
	return i;
}

/* ---- printing -------------------------------------------------------------------------------- */

static const char *figure_text(char to[40], double v)
{
	if (fabs(v) < 0x1p53 && v == (double)(int64_t)v)
		*rama_put_i64(to, (int64_t)v) = '\0';
	else
		snprintf(to, 40, "%.9g", v);
	return to;
}

void rama_report_out_figure(struct rama_out *o, double v)
{
	char to[40];

	rama_out_text(o, figure_text(to, v));
}

void rama_report_json_figure(struct rama_json *j, double v)
{
	char to[40];

	if (isfinite(v))
		rama_json_raw(j, figure_text(to, v));
	else
		rama_json_null(j);
}

static void json_cell(struct rama_json *j, const struct rama_report_cell *c)
{
	switch (c->kind) {
	case RAMA_REPORT_CELL_NONE:
		rama_json_null(j);
		break;
	case RAMA_REPORT_CELL_TEXT:
		rama_json_string(j, c->text);
		break;
	case RAMA_REPORT_CELL_ID:
		rama_json_id(j, c->id);
		break;
	case RAMA_REPORT_CELL_INT:
		rama_json_i64(j, c->i);
		break;
	case RAMA_REPORT_CELL_REAL:
		rama_report_json_figure(j, c->f);
		break;
	case RAMA_REPORT_CELL_FLAG:
		rama_json_bool(j, c->flag);
		break;
	}
}

void rama_report_table_json(struct rama_json *j, const struct rama_report_table *t,
			    const struct rama_report *r, size_t i)
{
	struct rama_report_cell c[RAMA_REPORT_COLUMNS_MOST];

	if (!t->row(r, i, c))
		return;
	for (unsigned k = 0; k < t->n_columns; k++) {
		rama_json_key(j, t->columns[k].key);
		json_cell(j, &c[k]);
	}
}

const char *rama_report_cell_text(char to[64], const struct rama_report_cell *c,
				  enum rama_report_unit unit)
{
	double v = c->kind == RAMA_REPORT_CELL_REAL ? c->f : (double)c->i;

	if (c->kind == RAMA_REPORT_CELL_NONE)
		return "";
	switch (unit) {
	case RAMA_REPORT_UNIT_TEXT:
		return c->text;
	case RAMA_REPORT_UNIT_ID:
		snprintf(to, 64, "%llu", (unsigned long long)c->id);
		return to;
	case RAMA_REPORT_UNIT_RANK:
	case RAMA_REPORT_UNIT_NUMBER:
		snprintf(to, 64, "%lld", (long long)c->i);
		return to;
	case RAMA_REPORT_UNIT_COUNT:
		return rama_human_count(to, c->i);
	case RAMA_REPORT_UNIT_BYTES:
		return rama_human_bytes(to, v);
	case RAMA_REPORT_UNIT_SECONDS:
		return rama_human_seconds(to, v);
	case RAMA_REPORT_UNIT_SHARE:
		return rama_human_share(to, v);
	case RAMA_REPORT_UNIT_FIGURE:
		return rama_human_value(to, "count", v);
	case RAMA_REPORT_UNIT_FLAG:
		return c->flag ? "yes" : "no";
	}
	return "";
}
