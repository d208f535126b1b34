/* SPDX-License-Identifier: BSD-3-Clause */
/* svg.c: a Gantt chart: a row for each rank, time from left to right. What happened is
 * added up in cells of half a pixel, and each cell shows what took most of it: the picture stays
 * small however many requests there were. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/form/svg.h"
#include "emulate/output/output.h"

#define WIDTH 1100
#define LEFT 76
#define RIGHT 24
#define TOP 84
#define CELLS (2 * (WIDTH - LEFT - RIGHT))
#define ROWS_MOST 256
#define LABELLED 32 /* rows that are high enough for names of tasks */
#define LETTER 5.6  /* width of one, in names of tasks */

enum kind { READ, WRITE, META, COMPUTE, WAIT, KINDS };

static const struct {
	const char *name, *look;
	double weight; /* I/O shows, even beside something that lasts a little longer */
} kinds[KINDS] = { { "read", "fill=\"#2b6cb0\"", 4 },
		   { "write", "fill=\"#c05621\"", 4 },
		   { "open, sync", "fill=\"#6b46c1\"", 4 },
		   { "compute", "fill=\"#2f855a\"", 1 },
		   { "wait", "fill=\"#718096\" opacity=\".35\"", 0.5 } };

static enum kind kind_of(uint8_t what)
{
	switch (what) {
	case RAMA_EMU_DO_READ:
		return READ;
	case RAMA_EMU_DO_WRITE:
		return WRITE;
	case RAMA_EMU_DO_OPEN:
	case RAMA_EMU_DO_CLOSE:
	case RAMA_EMU_DO_SYNC:
	case RAMA_EMU_DO_READY:
	case RAMA_EMU_DO_REMOVE:
		return META;
	case RAMA_EMU_DO_COMPUTE:
		return COMPUTE;
	case RAMA_EMU_DO_WAIT:
	case RAMA_EMU_DO_BARRIER:
	case RAMA_EMU_DO_CALL:
		return WAIT;
	default:
		return KINDS;
	}
}

struct chart {
	const struct rama_emu_result *r;
	const struct rama_emu_emulation *m;
	struct rama_out *out;
	uint32_t each, rows;	   /* ranks of a row */
	double scale;		   /* pixels per second */
	double height, bar, label; /* of a row, of the bar in it, of the names above the bar */
	float *cell;		   /* rows x CELLS x KINDS: seconds */
};

static double x_of(const struct chart *c, double time)
{
	return (time - c->r->total.first) * c->scale;
}

static double y_of(const struct chart *c, uint32_t row)
{
	return TOP + row * c->height;
}

/* ---- frame ---------------------------------------------------------------------------------- */

static void put_head(const struct chart *c)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN], d[RAMA_HUMAN];
	double bottom = y_of(c, c->rows);

	rama_out_fmt(c->out,
		     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		     "viewBox=\"0 0 %d %.0f\" "
		     "font-family=\"system-ui,sans-serif\" font-size=\"12\" fill=\"#2d3748\">\n"
		     "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		     "<text x=\"%d\" y=\"26\" font-size=\"16\" font-weight=\"600\">",
		     WIDTH, bottom + 34, WIDTH, bottom + 34, LEFT);
	rama_xml_text(c->out, c->m->graph != NULL ? c->m->graph->name : c->m->cfg->mode,
		      RAMA_XML_BLANK);
	rama_out_fmt(c->out,
		     "<tspan font-weight=\"400\" font-size=\"13\" dx=\"12\">%s, read %s, written "
		     "%s</tspan></text>\n",
		     rama_human_seconds(a, c->r->seconds),
		     rama_human_bytes(b, (double)c->r->total.bytes_read),
		     rama_human_bytes(d, (double)c->r->total.bytes_written));
	for (int i = 0; i < KINDS; i++) {
		char look[80];

		snprintf(look, sizeof(look), "rx=\"2\" %s", kinds[i].look);
		rama_svg_rect(c->out, LEFT + 104 * i, 44, 12, 12, look);
		rama_svg_text(c->out, LEFT + 104 * i + 18, 54, "", kinds[i].name, RAMA_XML_BLANK);
		rama_out_char(c->out, '\n');
	}
}

/* the time axis: at most eight steps of 1, 2 or 5 */
static void put_axis(const struct chart *c, double seconds)
{
	double step = pow(10, floor(log10(seconds / 8))), bottom = y_of(c, c->rows);
	char a[RAMA_HUMAN];

	if (seconds / step > 8)
		step *= seconds / step > 40 ? 10 : seconds / step > 16 ? 5 : 2;
	for (int i = 0; i * step <= seconds * 1.0001; i++) {
		double x = LEFT + i * step * c->scale;

		rama_out_fmt(c->out, "<path d=\"M%.1f %d V%.1f\" stroke=\"#e2e8f0\"/>", x, TOP - 4,
			     bottom);
		rama_svg_text(c->out, x, bottom + 18, "text-anchor=\"middle\" fill=\"#4a5568\"",
			      i == 0 ? "0" : rama_human_seconds(a, i * step), RAMA_XML_BLANK);
		rama_out_char(c->out, '\n');
	}
}

static void put_rows(const struct chart *c)
{
	uint32_t every = (uint32_t)ceil(14 / c->height); /* numbers do not overlap */

	for (uint32_t i = 0; i < c->rows; i++) {
		char rank[32];

		rama_svg_rect(c->out, LEFT, y_of(c, i) + c->label, WIDTH - LEFT - RIGHT, c->bar,
			      "fill=\"#f7fafc\"");
		rama_out_char(c->out, '\n');
		if (i % every != 0)
			continue;
		snprintf(rank, sizeof(rank), "rank %u", i * c->each);
		rama_svg_text(c->out, LEFT - 10, y_of(c, i) + c->label + c->bar / 2 + 4,
			      "text-anchor=\"end\" fill=\"#4a5568\"", rank, RAMA_XML_BLANK);
		rama_out_char(c->out, '\n');
	}
}

/* ---- what happened -------------------------------------------------------------------------- */

static void add_span(struct chart *c, const struct rama_emu_span *s)
{
	enum kind kind = kind_of(s->what);
	double from = 2 * x_of(c, s->start), to = 2 * x_of(c, s->end);
	float *row = c->cell + (size_t)(s->rank / c->each) * CELLS * KINDS;

	if (kind == KINDS || s->rank >= c->r->n_ranks)
		return;
	from = fmin(fmax(from, 0), CELLS - 1e-6);
	to = fmin(fmax(to, from), CELLS - 1e-6);
	for (size_t i = (size_t)from; i <= (size_t)to; i++) {
		double part = fmin(to, (double)i + 1) - fmax(from, (double)i);

		row[i * KINDS + kind] += (float)(fmax(part, 1e-6) * kinds[kind].weight);
	}
}

static int strongest(const float *cell)
{
	int best = KINDS;

	for (int k = 0; k < KINDS; k++)
		if (cell[k] > 0 && (best == KINDS || cell[k] > cell[best]))
			best = k;
	return best;
}

static void put_bars(const struct chart *c, uint32_t row)
{
	const float *cell = c->cell + (size_t)row * CELLS * KINDS;
	double y = y_of(c, row) + c->label;

	for (size_t i = 0, end; i < CELLS; i = end) {
		int kind = strongest(cell + i * KINDS);

		for (end = i + 1; end < CELLS && strongest(cell + end * KINDS) == kind;)
			end++;
		if (kind == KINDS)
			continue;
		rama_svg_rect(c->out, LEFT + (double)i / 2, y, (double)(end - i) / 2, c->bar,
			      kinds[kind].look);
		rama_out_char(c->out, '\n');
	}
}

/* ---- names of tasks ------------------------------------------------------------------------- */

struct name {
	uint32_t task, iteration;
	double from, to;
};

static void put_name(const struct chart *c, uint32_t rank, const struct name *n)
{
	const struct rama_emu_graph *g = c->m->graph;
	double x = LEFT + x_of(c, n->from), width = x_of(c, n->to) - x_of(c, n->from);
	size_t fit = (size_t)(fmax(width - 4, 0) / LETTER), len;
	char text[64];

	if (n->task >= g->n_tasks || n->to <= n->from)
		return;
	rama_out_fmt(c->out,
		     "<path d=\"M%.1f %.1f v%.1f\" stroke=\"#2d3748\" stroke-width=\".8\"/>", x,
		     y_of(c, rank) + 2, c->height - 4);
	len = strlen(g->tasks[n->task].id);
	if (fit >= (len < 3 ? len : 3)) {
		size_t keep = fit < sizeof(text) - 1 ? fit : sizeof(text) - 1;

		keep = len < keep ? len : keep;
		memcpy(text, g->tasks[n->task].id, keep);
		text[keep] = '\0';
		rama_svg_text(c->out, x + 3, y_of(c, rank) + c->label - 3, "font-size=\"10\"", text,
			      RAMA_XML_BLANK);
	}
	rama_out_char(c->out, '\n');
}

static void put_names(const struct chart *c)
{
	struct name *now = calloc((size_t)c->r->n_ranks + 1, sizeof(*now));

	for (size_t i = 0; now != NULL && i < c->r->n_spans; i++) {
		const struct rama_emu_span *s = &c->r->spans[i];
		struct name *n = &now[s->rank];

		if (s->task == RAMA_EMU_NONE_YET)
			continue; /* waits between tasks */
		if (n->to == 0 || n->task != s->task || n->iteration != s->iteration) {
			put_name(c, s->rank, n);
			*n = (struct name){ s->task, s->iteration, s->start, s->end };
		}
		n->to = fmax(n->to, s->end);
	}
	for (uint32_t i = 0; now != NULL && i < c->r->n_ranks; i++)
		put_name(c, i, &now[i]);
	free(now);
}

void rama_emu_result_svg(const struct rama_emu_result *r, const struct rama_emu_emulation *m,
			 struct rama_out *out)
{
	double seconds = r->seconds > 0 ? r->seconds : 1e-6;
	struct chart c = { .r = r, .m = m, .out = out };
	bool names = m->graph != NULL && r->n_ranks <= LABELLED;

	c.each = (r->n_ranks + ROWS_MOST - 1) / ROWS_MOST;
	c.each = c.each > 0 ? c.each : 1;
	c.rows = (r->n_ranks + c.each - 1) / c.each;
	c.scale = (WIDTH - LEFT - RIGHT) / seconds;
	c.label = names ? 14 : 0;
	c.bar = r->n_ranks <= LABELLED ? 16 : fmax(3, 512.0 / c.rows);
	c.height = c.label + c.bar + (c.bar > 6 ? 6 : 1);
	c.cell = calloc((size_t)c.rows * CELLS * KINDS + 1, sizeof(*c.cell));
	put_head(&c);
	put_rows(&c);
	put_axis(&c, seconds);
	for (size_t i = 0; c.cell != NULL && i < r->n_spans; i++)
		add_span(&c, &r->spans[i]);
	for (uint32_t i = 0; c.cell != NULL && i < c.rows; i++)
		put_bars(&c, i);
	if (names)
		put_names(&c);
	rama_out_text(out, "</svg>\n");
	if (c.cell == NULL)
		out->error = RAMA_EMEMORY;
	free(c.cell);
}
