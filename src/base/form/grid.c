/* SPDX-License-Identifier: BSD-3-Clause */
/* grid.c: rows of a table; CSV, Markdown and HTML. */
#include "base/form/grid.h"

#include <stdlib.h>

#include "base/form/cell.h"
#include "base/form/csv.h"
#include "base/grow.h"
#include "base/form/xml.h"

#define BARS_MOST 32 /* columns that may have them */

const char *const rama_tone_class[RAMA_TONES] = { "", "good", "warn", "bad", "dim", "bold" };

struct rama_grid_cell *rama_grid_row(struct rama_grid *g)
{
	struct rama_grid_cell *row;

	if (!RAMA_GROW(g->cells, g->room, (g->n_rows + 1) * g->n_columns))
		return NULL;
	row = &g->cells[g->n_rows++ * g->n_columns];
	for (unsigned i = 0; i < g->n_columns; i++)
		row[i] = (struct rama_grid_cell){ .value = NAN };
	return row;
}

void rama_grid_keep(struct rama_grid *g, struct rama_grid_column *columns, const bool *keep)
{
	unsigned n = 0;
	size_t at = 0;

	for (size_t i = 0; i < g->n_rows * g->n_columns; i++)
		if (keep[i % g->n_columns])
			g->cells[at++] = g->cells[i];
	for (unsigned c = 0; c < g->n_columns; c++)
		if (keep[c])
			columns[n++] = columns[c];
	g->n_columns = n;
}

void rama_grid_fini(struct rama_grid *g)
{
	free(g->cells);
	*g = (struct rama_grid){ 0 };
}

/* ---- CSV ------------------------------------------------------------------------------------- */

void rama_grid_csv(struct rama_out *o, const struct rama_grid *g)
{
	for (unsigned c = 0; c < g->n_columns; c++) {
		rama_out_text(o, c > 0 ? "," : "");
		rama_out_text(o, g->columns[c].key);
	}
	rama_out_char(o, '\n');
	for (size_t r = 0; r < g->n_rows; r++) {
		const struct rama_grid_cell *row = &g->cells[r * g->n_columns];

		for (unsigned c = 0; c < g->n_columns; c++) {
			rama_out_text(o, c > 0 ? "," : "");
			if (g->columns[c].unit != NULL && isfinite(row[c].value))
				rama_cell_figure_csv(o, row[c].value);
			else if (g->columns[c].unit == NULL && row[c].text != NULL)
				rama_csv_text(o, row[c].text);
		}
		rama_out_char(o, '\n');
	}
}

/* ---- Markdown -------------------------------------------------------------------------------- */

void rama_grid_markdown(struct rama_out *o, const struct rama_grid *g, rama_grid_mark *mark)
{
	for (unsigned c = 0; c < g->n_columns; c++) {
		rama_out_text(o, "| ");
		mark(o, g->columns[c].header);
		rama_out_char(o, ' ');
	}
	rama_out_text(o, "|\n");
	for (unsigned c = 0; c < g->n_columns; c++)
		rama_out_text(o, g->columns[c].unit != NULL ? "|---:" : "|---");
	rama_out_text(o, "|\n");
	for (size_t r = 0; r < g->n_rows; r++) {
		const struct rama_grid_cell *row = &g->cells[r * g->n_columns];

		for (unsigned c = 0; c < g->n_columns; c++) {
			const char *text = row[c].text != NULL ? row[c].text : "";
			bool strong = row[c].tone == RAMA_TONE_BOLD && text[0] != '\0';

			rama_out_text(o, strong ? "| **" : "| ");
			mark(o, text);
			rama_out_text(o, strong ? "** " : " ");
		}
		rama_out_text(o, "|\n");
	}
}

/* ---- HTML ------------------------------------------------------------------------------------ */

static const char *cell_class(const struct rama_grid_column *c)
{
	return c->unit != NULL ? "n" : c->wide ? "w" : "";
}

/* a row with a text in its first cell alone heads a group */
static bool heads_group(const struct rama_grid *s, const struct rama_grid_cell *row)
{
	for (unsigned c = 1; c < s->n_columns; c++)
		if (row[c].text != NULL)
			return false;
	return row[0].tone == RAMA_TONE_BOLD;
}

/* the longest bar of a column; 0: it has none */
static double most_of(const struct rama_grid *s, unsigned column)
{
	double most = 0;

	for (size_t r = 0; s->columns[column].bar && r < s->n_rows; r++)
		most = fmax(most, s->cells[r * s->n_columns + column].value); /* ignores NAN */
	return most;
}

static void html_cell(struct rama_out *o, const struct rama_grid *s, unsigned c,
		      const struct rama_grid_cell *cell, double most)
{
	rama_out_fmt(o, "<td class=\"%s%s %s\"", cell_class(&s->columns[c]), most > 0 ? " b" : "",
		     rama_tone_class[cell->tone]);
	if (most > 0)
		rama_out_fmt(o, " style=\"--p:%.1f%%\"",
			     cell->value > 0 ? 100 * cell->value / most : 0);
	if (isfinite(cell->value))
		rama_out_fmt(o, " data-v=\"%.9g\"", cell->value);
	rama_out_char(o, '>');
	rama_xml_text(o, cell->text != NULL ? cell->text : "", RAMA_XML_KEEP);
	rama_out_text(o, "</td>");
}

static void html_row(struct rama_out *o, const struct rama_grid *s,
		     const struct rama_grid_cell *row, const double *most)
{
	rama_out_text(o, "<tr>");
	if (heads_group(s, row)) {
		rama_out_fmt(o, "<td class=\"g\" colspan=\"%u\">", s->n_columns);
		rama_xml_text(o, row[0].text, RAMA_XML_KEEP);
		rama_out_text(o, "</td></tr>\n");
		return;
	}
	for (unsigned c = 0; c < s->n_columns; c++)
		html_cell(o, s, c, &row[c], c < BARS_MOST ? most[c] : 0);
	rama_out_text(o, "</tr>\n");
}

void rama_grid_html(struct rama_out *o, const struct rama_grid *g)
{
	double most[BARS_MOST];

	rama_out_text(o, "<table><thead><tr>");
	for (unsigned c = 0; c < g->n_columns; c++) {
		rama_out_fmt(o, "<th scope=\"col\" class=\"%s\">", cell_class(&g->columns[c]));
		rama_xml_text(o, g->columns[c].header, RAMA_XML_KEEP);
		rama_out_text(o, "</th>");
	}
	rama_out_text(o, "</tr></thead><tbody>\n");
	for (unsigned c = 0; c < BARS_MOST; c++)
		most[c] = c < g->n_columns ? most_of(g, c) : 0;
	for (size_t r = 0; r < g->n_rows; r++)
		html_row(o, g, &g->cells[r * g->n_columns], most);
	rama_out_text(o, "</tbody></table>");
}
