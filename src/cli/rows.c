/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/file.h"
#include "cli/input.h"
#include "base/pen.h"
#include "report/sheet.h"

#define KEPT 200  /* rows that say how wide columns are */
#define WIDEST 72 /* of a column that is not the last */
#define GAP 2

int rama_cli_rows_begin(struct rama_cli_rows *r, unsigned n, const char *const *name,
			const char *const *unit)
{
	r->name = calloc(n + 1, sizeof(*r->name));
	if (r->name == NULL)
		return RAMA_EMEMORY;
	for (r->n = 0; r->n < n; r->n++) {
		r->name[r->n] = strdup(name[r->n]);
		if (r->name[r->n] == NULL)
			return RAMA_EMEMORY;
	}
	r->unit = unit;
	r->rows = 0;
	if (r->form == RAMA_CLI_ROWS_JSON) {
		rama_out_char(r->out, '[');
	} else if (r->form == RAMA_CLI_ROWS_CSV) {
		for (unsigned i = 0; i < n; i++) {
			rama_out_text(r->out, i > 0 ? "," : "");
			rama_csv_text(r->out, name[i]);
		}
		rama_out_char(r->out, '\n');
	} else {
		r->cell = calloc((size_t)KEPT * n + 1, sizeof(*r->cell));
		r->width = calloc(n + 1, sizeof(*r->width));
		r->right = calloc(n + 1, sizeof(*r->right));
		if (r->cell == NULL || r->width == NULL || r->right == NULL)
			return RAMA_EMEMORY;
		for (unsigned i = 0; i < n; i++)
			r->width[i] = rama_text_width(name[i]);
	}
	return 0;
}

static const char *unit_of(const struct rama_cli_rows *r, unsigned i)
{
	return r->unit != NULL ? r->unit[i] : NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* characters that would do something to the terminal become '?' */
static void put_text(struct rama_out *o, const char *s)
{
	while (*s != '\0')
		s += rama_pen_char(o, s);
}

static void put_cell(const struct rama_cli_rows *r, unsigned i, const char *text)
{
	unsigned width = rama_text_width(text), room = r->width[i];
	bool last = i + 1 == r->n;

	for (unsigned k = width; r->right[i] && k < room; k++)
		rama_out_char(r->out, ' ');
	put_text(r->out, text);
	for (unsigned k = r->right[i] ? room : width; !last && k < room + GAP; k++)
		rama_out_char(r->out, ' ');
	if (!last && width > room && (r->right[i] || width >= room + GAP))
		rama_out_char(r->out, ' ');
}

static void lay_out(struct rama_cli_rows *r)
{
	for (unsigned i = 0; i < r->n; i++)
		put_cell(r, i, r->name[i]);
	rama_out_char(r->out, '\n');
	for (unsigned k = 0; k < r->kept; k++) {
		for (unsigned i = 0; i < r->n; i++)
			put_cell(r, i, r->cell[(size_t)k * r->n + i]);
		rama_out_char(r->out, '\n');
	}
	r->laid_out = true;
}

static int keep_row(struct rama_cli_rows *r, const struct rama_store_cell *cell)
{
	char text[RAMA_CLI_CELL_TEXT_MOST];

	for (unsigned i = 0; i < r->n; i++) {
		char **place = &r->cell[(size_t)r->kept * r->n + i];
		unsigned width;

		rama_cli_cell_shown(text, &cell[i], unit_of(r, i));
		*place = strdup(text);
		if (*place == NULL)
			return RAMA_EMEMORY;
		width = rama_text_width(text);
		width = width > WIDEST ? WIDEST : width;
		r->width[i] = width > r->width[i] ? width : r->width[i];
		if (cell[i].type == RAMA_STORE_CELL_INT || cell[i].type == RAMA_STORE_CELL_REAL)
			r->right[i] = true;
	}
	if (++r->kept == KEPT)
		lay_out(r);
	return 0;
}

static void print_row(struct rama_cli_rows *r, const struct rama_store_cell *cell)
{
	char text[RAMA_CLI_CELL_TEXT_MOST];

	for (unsigned i = 0; i < r->n; i++) {
		rama_cli_cell_shown(text, &cell[i], unit_of(r, i));
		put_cell(r, i, text);
	}
	rama_out_char(r->out, '\n');
}

/* ---- rows ------------------------------------------------------------------------------------ */

int rama_cli_rows_add(struct rama_cli_rows *r, const struct rama_store_cell *cell)
{
	r->rows++;
	if (r->form == RAMA_CLI_ROWS_TEXT) {
		if (!r->laid_out)
			return keep_row(r, cell);
		print_row(r, cell);
	} else if (r->form == RAMA_CLI_ROWS_CSV) {
		for (unsigned i = 0; i < r->n; i++) {
			if (i > 0)
				rama_out_char(r->out, ',');
			rama_cli_cell_csv(r->out, &cell[i], unit_of(r, i));
		}
		rama_out_char(r->out, '\n');
	} else {
		rama_out_text(r->out, r->rows > 1 ? ",\n" : "\n");
		rama_json_init(&r->json, r->out);
		rama_json_open(&r->json, '{');
		for (unsigned i = 0; i < r->n; i++) {
			rama_json_key(&r->json, r->name[i]);
			rama_cli_cell_json(&r->json, &cell[i], unit_of(r, i));
		}
		rama_json_close(&r->json, '}');
	}
	return r->out->error;
}

void rama_cli_rows_end(struct rama_cli_rows *r)
{
	if (r->form == RAMA_CLI_ROWS_JSON)
		rama_out_text(r->out, r->name != NULL ? "\n]\n" : "[]\n");
	else if (r->form == RAMA_CLI_ROWS_TEXT && r->width != NULL && !r->laid_out)
		lay_out(r);
	for (unsigned i = 0; r->name != NULL && i < r->n; i++)
		free(r->name[i]);
	for (size_t i = 0; r->cell != NULL && i < (size_t)KEPT * r->n; i++)
		free(r->cell[i]);
	free(r->name);
	free(r->cell);
	free(r->width);
	free(r->right);
	r->name = NULL;
	r->cell = NULL;
	r->width = NULL;
	r->right = NULL;
}

/* ---- standard output ------------------------------------------------------------------------- */

static int to_stdout(void *ctx, const char *bytes, size_t n)
{
	(void)ctx;
	return rama_fd_write(STDOUT_FILENO, bytes, n);
}

void rama_cli_stdout_begin(struct rama_out *out)
{
	rama_out_init(out, to_stdout, NULL);
}

int rama_cli_stdout_end(struct rama_out *out)
{
	int rc = rama_out_flush(out);

	rama_out_fini(out);
	if (rc == 0 || rc == RAMA_ESTOPPED) /* `| head` has seen enough */
		return 0;
	rama_cli_complain("standard output", "cannot be written: %s",
			  rc == RAMA_EIO ? strerror(errno) : rama_err_text(rc));
	return 4;
}
