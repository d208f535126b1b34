/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/form/rows.h"

#include <stdlib.h>

#include "base/form/csv.h"
#include "base/err.h"
#include "base/form/pen.h"
#include "base/form/text.h"

#define KEPT 200  /* rows that say how wide columns are */
#define WIDEST 72 /* of a column that is not the last */
#define SHOWN 399 /* bytes of a text */
#define GAP 2

static int begin_text(struct rama_rows *r)
{
	r->kept.n_columns = r->n;
	r->width = calloc(r->n + 1, sizeof(*r->width));
	r->right = calloc(r->n + 1, sizeof(*r->right));
	if (r->width == NULL || r->right == NULL)
		return RAMA_EMEMORY;
	for (unsigned i = 0; i < r->n; i++)
		r->width[i] = rama_text_width(r->name[i]);
	return 0;
}

int rama_rows_begin(struct rama_rows *r, unsigned n, const char *const *name,
		    const char *const *unit)
{
	r->name = calloc(n + 1, sizeof(*r->name));
	r->cell = calloc(n + 1, sizeof(*r->cell));
	if (r->name == NULL || r->cell == NULL)
		return RAMA_EMEMORY;
	for (r->n = 0; r->n < n; r->n++) {
		r->name[r->n] = strdup(name[r->n]);
		if (r->name[r->n] == NULL)
			return RAMA_EMEMORY;
	}
	r->unit = unit;
	r->rows = 0;
	if (r->form == RAMA_ROWS_TEXT)
		return begin_text(r);
	if (r->form == RAMA_ROWS_JSON)
		rama_out_char(r->out, '[');
	for (unsigned i = 0; r->form == RAMA_ROWS_CSV && i <= n; i++) {
		rama_out_text(r->out, i == n ? "\n" : i > 0 ? "," : "");
		if (i < n)
			rama_csv_text(r->out, name[i]);
	}
	return 0;
}

static const char *unit_of(const struct rama_rows *r, unsigned i)
{
	return r->unit != NULL ? r->unit[i] : NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void put_cell(const struct rama_rows *r, unsigned i, const char *text)
{
	unsigned width = rama_text_width(text), room = r->width[i];
	bool last = i + 1 == r->n;

	for (unsigned k = width; r->right[i] && k < room; k++)
		rama_out_char(r->out, ' ');
	while (*text != '\0') /* what would do something to the terminal becomes '?' */
		text += rama_pen_char(r->out, text);
	for (unsigned k = r->right[i] ? room : width; !last && k < room + GAP; k++)
		rama_out_char(r->out, ' ');
	if (!last && width > room && (r->right[i] || width >= room + GAP))
		rama_out_char(r->out, ' ');
}

static void put_row(const struct rama_rows *r, const struct rama_grid_cell *row)
{
	for (unsigned i = 0; i < r->n; i++)
		put_cell(r, i, row != NULL ? row[i].text : r->name[i]);
	rama_out_char(r->out, '\n');
}

static void lay_out(struct rama_rows *r)
{
	put_row(r, NULL);
	for (size_t k = 0; k < r->kept.n_rows; k++)
		put_row(r, &r->kept.cells[k * r->n]);
	r->laid_out = true;
}

/* the texts of a row, which is kept if columns have no width yet */
static int add_text(struct rama_rows *r, const struct rama_cell *cell)
{
	struct rama_grid_cell *row;
	char to[RAMA_CELL_SHOWN];

	if (r->laid_out) { /* the last row is not needed any more */
		r->kept.n_rows = 0;
		rama_arena_fini(&r->arena);
	}
	row = rama_grid_row(&r->kept);
	for (unsigned i = 0; row != NULL && i < r->n; i++) {
		const char *text = cell[i].kind != RAMA_CELL_NONE
					   ? rama_cell_text(to, &cell[i], unit_of(r, i))
					   : "-";
		unsigned width;

		row[i].text = rama_arena_text(&r->arena, text, strnlen(text, SHOWN));
		if (row[i].text == NULL)
			return RAMA_EMEMORY;
		if (r->laid_out)
			continue;
		width = rama_text_width(row[i].text);
		width = width > WIDEST ? WIDEST : width;
		r->width[i] = width > r->width[i] ? width : r->width[i];
		if (cell[i].kind != RAMA_CELL_TEXT && cell[i].kind != RAMA_CELL_BYTES &&
		    cell[i].kind != RAMA_CELL_NONE)
			r->right[i] = true;
	}
	if (row == NULL)
		return RAMA_EMEMORY;
	if (r->laid_out)
		put_row(r, row);
	else if (r->kept.n_rows == KEPT)
		lay_out(r);
	return 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

int rama_rows_add(struct rama_rows *r, const struct rama_cell *cell)
{
	r->rows++;
	if (r->form == RAMA_ROWS_TEXT) {
		int rc = add_text(r, cell);

		return rc != 0 ? rc : r->out->error;
	}
	if (r->form == RAMA_ROWS_JSON) {
		rama_out_text(r->out, r->rows > 1 ? ",\n" : "\n");
		rama_json_init(&r->json, r->out);
		rama_json_open(&r->json, '{');
	}
	for (unsigned i = 0; i < r->n; i++) {
		if (r->form == RAMA_ROWS_CSV) {
			rama_out_text(r->out, i > 0 ? "," : "");
			rama_cell_csv(r->out, &cell[i], unit_of(r, i));
		} else {
			rama_json_key(&r->json, r->name[i]);
			rama_cell_json(&r->json, &cell[i], unit_of(r, i));
		}
	}
	if (r->form == RAMA_ROWS_JSON)
		rama_json_close(&r->json, '}');
	else
		rama_out_char(r->out, '\n');
	return r->out->error;
}

void rama_rows_end(struct rama_rows *r)
{
	if (r->form == RAMA_ROWS_JSON)
		rama_out_text(r->out, r->name != NULL ? "\n]\n" : "[]\n");
	else if (r->form == RAMA_ROWS_TEXT && r->width != NULL && !r->laid_out)
		lay_out(r);
	for (unsigned i = 0; r->name != NULL && i < r->n; i++)
		free(r->name[i]);
	free(r->name);
	free(r->cell);
	free(r->width);
	free(r->right);
	rama_grid_fini(&r->kept);
	rama_arena_fini(&r->arena);
	r->name = NULL;
	r->cell = NULL;
	r->width = NULL;
	r->right = NULL;
}
