/* SPDX-License-Identifier: BSD-3-Clause */
/* svg_time.c: the timeline: bandwidth above, then rank x time of each layer, on one time axis. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "report/svg.h"

#define X0 116 /* of the time axis */
#define X1 880
#define ROWS_MOST 48
#define BINS_MOST 100
#define STRIPS_MOST 4
#define FLOW_HEIGHT 84
#define BANDS_MOST 4
#define TICKS_MOST 40

/* what is shown of the run: without its empty ends */
struct span {
	double from, to;
};

/* a heat map made small; each cell is its busiest rank and bin, so that one bright line stays */
struct grid {
	unsigned rows, bins;
	double cell[ROWS_MOST][BINS_MOST];
	double row[2][ROWS_MOST]; /* bytes of the row's busiest rank in all */
};

static double x_of(const struct span *s, double t)
{
	double x = X0 + (t - s->from) / (s->to - s->from) * (X1 - X0);

	return x < X0 ? X0 : x > X1 ? X1 : x;
}

static bool is_disk(enum rama_job_layer l)
{
	return l == RAMA_JOB_LAYER_POSIX || l == RAMA_JOB_LAYER_STDIO || l == RAMA_JOB_LAYER_DFS ||
	       l == RAMA_JOB_LAYER_DAOS;
}

static bool usable(const struct rama_job_view_heat *h)
{
	return h->rows > 0 && h->bins > 0 && h->width > 0;
}

static struct span span_of(const struct rama_job_view *v)
{
	struct span s = { .from = INFINITY, .to = 0 };
	double pad, width = 0;

	for (size_t i = 0; i < v->n_heats; i++) {
		const struct rama_job_view_heat *h = &v->heats[i];

		width = usable(h) ? fmax(width, h->width) : width;
		for (uint32_t b = 0; usable(h) && b < h->bins; b++) {
			if (!(h->bin_bytes[0][b] + h->bin_bytes[1][b] > 0))
				continue;
			s.from = fmin(s.from, b * h->width);
			s.to = fmax(s.to, (b + 1) * h->width);
		}
	}
	if (!(s.to > s.from))
		return (struct span){ 0, 0 };
	pad = 0.02 * (s.to - s.from);
	s.from = s.from < 0.05 * v->run_time + pad ? 0 : s.from - pad;
	s.to = s.to > 0.95 * v->run_time - pad ? fmax(v->run_time, s.to) : s.to + pad;
	/* whole bins, so that cells are bins where there is room for all */
	s.from = floor(s.from / width) * width;
	s.to = s.from + ceil((s.to - s.from) / width - 1e-6) * width;
	return s;
}

/* ---- bandwidth ------------------------------------------------------------------------------- */

#define FLOW_BINS 260

struct flow {
	double rate[2][FLOW_BINS]; /* bytes per second; 0 writes, 1 reads */
	double most;
};

/* bytes of a bin lie evenly in it; a run may be shorter than its first one */
static void add_flow(struct flow *f, const struct span *s, const struct rama_job_view_heat *h,
		     double run_time)
{
	double short_run = run_time > 0 && run_time < h->width ? run_time : h->width;
	double step = (s->to - s->from) / FLOW_BINS;

	for (uint32_t b = 0; b < h->bins; b++) {
		double length = b == 0 ? short_run : h->width;
		double t0 = b * h->width, t1 = t0 + length;
		int first = (int)floor((t0 - s->from) / step),
		    last = (int)floor((t1 - s->from) / step);

		if (!(h->bin_bytes[0][b] + h->bin_bytes[1][b] > 0))
			continue;
		for (int k = first < 0 ? 0 : first; k <= last && k < FLOW_BINS; k++) {
			double a = fmax(t0, s->from + k * step),
			       e = fmin(t1, s->from + (k + 1) * step);

			for (unsigned kind = 0; kind < 2 && e > a; kind++)
				f->rate[kind][k] += h->bin_bytes[kind][b] * (e - a) / length / step;
		}
	}
}

static void make_flow(struct flow *f, const struct span *s, const struct rama_job_view *v)
{
	bool disk = false;

	for (size_t i = 0; i < v->n_heats; i++)
		disk |= is_disk(v->heats[i].layer) && usable(&v->heats[i]);
	for (size_t i = 0; i < v->n_heats; i++)
		if (usable(&v->heats[i]) && (is_disk(v->heats[i].layer) || (!disk && i == 0)))
			add_flow(f, s, &v->heats[i], v->run_time);
	for (unsigned kind = 0; kind < 2; kind++)
		for (unsigned k = 0; k < FLOW_BINS; k++)
			f->most = fmax(f->most, f->rate[kind][k]);
}

/* steps above (reads) or below (writes) the line in the middle */
static void put_area(struct rama_report_svg_page *g, const struct flow *f, unsigned kind,
		     double middle)
{
	double unit = (double)(X1 - X0) / FLOW_BINS, high = FLOW_HEIGHT / 2.0 - 4,
	       sign = kind == 1 ? -1 : 1;

	rama_out_fmt(g->o, "<path class=\"%s\" d=\"M%d %.1f", kind == 1 ? "ir-r" : "ir-w", X0,
		     middle);
	for (unsigned k = 0; k < FLOW_BINS; k++) {
		double now = f->rate[kind][k], before = k > 0 ? f->rate[kind][k - 1] : 0;

		if (now != before)
			rama_out_fmt(g->o, "H%.1fV%.1f", X0 + k * unit,
				     middle + sign * high * now / f->most);
	}
	rama_out_fmt(g->o, "H%dV%.1fz\"/>\n", X1, middle);
}

/* findings that have a place in time, and do not last as long as the job: the next one from *at
 * on, or NULL */
static const struct rama_diag_finding *next_band(const struct rama_report_svg_page *g,
						 const struct span *s, size_t *at)
{
	while (*at < g->d->n_findings) {
		const struct rama_diag_finding *f = &g->d->findings[(*at)++];

		if (f->level >= RAMA_DIAG_LEVEL_WARN && isfinite(f->from) && isfinite(f->to) &&
		    f->to > f->from && f->to - f->from < 0.8 * (s->to - s->from))
			return f;
	}
	return NULL;
}

static void put_bands(struct rama_report_svg_page *g, const struct span *s, double top,
		      double height)
{
	const struct rama_diag_finding *f;
	unsigned n = 0;

	for (size_t at = 0; n < BANDS_MOST && (f = next_band(g, s, &at)) != NULL; n++)
		rama_report_svg_rect(g, x_of(s, f->from), top,
				     fmax(2, x_of(s, f->to) - x_of(s, f->from)), height, "ir-b");
}

static void put_band_names(struct rama_report_svg_page *g, const struct span *s, double top)
{
	const struct rama_diag_finding *f;
	unsigned n = 0;

	for (size_t at = 0; n < BANDS_MOST && (f = next_band(g, s, &at)) != NULL; n++)
		rama_report_svg_text(g, x_of(s, f->from) + 3, top + 12 + 12 * n, "ir-k", "start",
				     f->rule->id);
}

#define NAMED_MOST 5 /* phases that have a line of their own */
#define NAMED_HEIGHT 15

/* phases that the program named: a line each, above all else on the axis of time */
static void put_named(struct rama_report_svg_page *g, const struct span *s)
{
	const struct rama_job_view *v = g->v;
	char name[40];

	for (size_t i = 0; i < v->n_named && i < NAMED_MOST; i++) {
		const struct rama_job_view_named *p = &v->named[i];

		for (size_t k = 0; k < p->n_spans; k++) {
			double from = x_of(s, p->spans[k].start), to = x_of(s, p->spans[k].end);

			if (p->spans[k].end >= s->from && p->spans[k].start <= s->to)
				rama_report_svg_rect(g, from, g->y + 2, fmax(1, to - from),
						     NAMED_HEIGHT - 4, "ir-p");
		}
		snprintf(name, sizeof(name), "%.*s", 20, p->name);
		rama_report_svg_text(g, X0 - 8, g->y + 12, "ir-s", "end", name);
		g->y += NAMED_HEIGHT;
	}
	g->y += v->n_named > 0 ? 4 : 0;
}

static void put_flow(struct rama_report_svg_page *g, const struct span *s)
{
	struct flow f = { .most = 0 };
	double middle = g->y + FLOW_HEIGHT / 2.0;
	char n[RAMA_HUMAN];

	make_flow(&f, s, g->v);
	rama_report_svg_rect(g, X0, g->y, X1 - X0, FLOW_HEIGHT, "ir-f");
	put_bands(g, s, g->y, FLOW_HEIGHT);
	if (f.most > 0) {
		put_area(g, &f, 1, middle);
		put_area(g, &f, 0, middle);
	}
	put_band_names(g, s, g->y);
	rama_report_svg_text(g, X1 + 8, g->y + 12, "ir-s", "start", "at most");
	rama_report_svg_text(g, X1 + 8, g->y + 27, "ir-s", "start", rama_human_rate(n, f.most));
	rama_report_svg_text(g, X0 - 8, g->y + 24, "ir-d", "end", "read");
	rama_report_svg_text(g, X0 - 8, g->y + FLOW_HEIGHT - 16, "ir-d", "end", "written");
	g->y += FLOW_HEIGHT;
}

/* ---- rank x time ----------------------------------------------------------------------------- */

/* one bin of a row into all cells that it overlaps */
static void add_cell(struct grid *grid, double *row, double bytes, double from, double to)
{
	int first = (int)floor(from + 1e-6), last = (int)ceil(to - 1e-6);

	for (int k = first < 0 ? 0 : first; k < last && k < (int)grid->bins; k++)
		row[k] = fmax(row[k], bytes);
}

static void make_grid(struct grid *grid, const struct rama_job_view_heat *h, const struct span *s)
{
	double step;

	memset(grid, 0, sizeof(*grid));
	grid->rows = h->rows < ROWS_MOST ? h->rows : ROWS_MOST;
	grid->bins = (unsigned)fmin(BINS_MOST, fmax(1, ceil((s->to - s->from) / h->width - 1e-6)));
	step = (s->to - s->from) / grid->bins;
	for (uint32_t r = 0; r < h->rows; r++) {
		unsigned row = (unsigned)((uint64_t)r * grid->rows / h->rows);

		for (uint32_t b = 0; b < h->bins; b++) {
			size_t at = (size_t)r * h->bins + b;
			double bytes = h->max[0][at] + h->max[1][at];

			if (bytes > 0)
				add_cell(grid, grid->cell[row], bytes,
					 (b * h->width - s->from) / step,
					 ((b + 1) * h->width - s->from) / step);
		}
		for (int64_t rank = h->first[r]; rank < h->first[r + 1]; rank++)
			for (unsigned kind = 0; kind < 2; kind++)
				grid->row[kind][row] =
					fmax(grid->row[kind][row], h->rank_bytes[kind][rank]);
	}
}

struct scale {
	double least, most; /* of cells above zero, over all strips */
};

static int level_of(const struct scale *s, double v)
{
	double t;

	if (!(v > 0))
		return -1;
	t = s->most > s->least ? log(v / s->least) / log(s->most / s->least) : 1;
	return t >= 1 ? RAMA_REPORT_SVG_LEVELS - 1 : t <= 0 ? 0 : (int)(t * RAMA_REPORT_SVG_LEVELS);
}

/* one path for each colour: runs of cells as strokes, in units of cells */
static void put_level(struct rama_report_svg_page *g, const struct grid *grid,
		      const struct scale *s, int level)
{
	bool any = false;

	for (unsigned r = 0; r < grid->rows; r++) {
		for (unsigned b = 0; b < grid->bins; b++) {
			unsigned from = b;

			while (b < grid->bins && level_of(s, grid->cell[r][b]) == level)
				b++;
			if (b == from)
				continue;
			if (!any)
				rama_out_fmt(g->o, "<path class=\"ir-h%d\" d=\"", level);
			rama_out_fmt(g->o, "M%u %u.5h%u", from, r, b - from);
			any = true;
		}
	}
	if (any)
		rama_out_text(g->o, "\"/>");
}

static void put_rank_bars(struct rama_report_svg_page *g, const struct grid *grid, double height)
{
	double unit = height / grid->rows, most = 0;

	for (unsigned r = 0; r < grid->rows; r++)
		most = fmax(most, grid->row[0][r] + grid->row[1][r]);
	rama_out_text(g->o, "<g shape-rendering=\"crispEdges\">");
	for (unsigned r = 0; r < grid->rows && most > 0; r++) {
		double w = 92 * grid->row[0][r] / most, x = 92 * grid->row[1][r] / most,
		       thick = unit > 3 ? unit - 1 : unit;

		if (w > 0)
			rama_report_svg_rect(g, X1 + 8, g->y + r * unit, w, thick, "ir-w");
		if (x > 0)
			rama_report_svg_rect(g, X1 + 8 + w, g->y + r * unit, x, thick, "ir-r");
	}
	rama_out_text(g->o, "</g>\n");
}

/* where few ranks do anything, there is little to see */
static double height_of(const struct grid *grid)
{
	unsigned busy = 0;

	for (unsigned r = 0; r < grid->rows; r++)
		busy += grid->row[0][r] + grid->row[1][r] > 0;
	return busy * 16 <= grid->rows ? 48 : fmin(112, fmax(36, 8.0 * grid->rows));
}

static void put_strip(struct rama_report_svg_page *g, const struct rama_job_view_heat *h,
		      const struct grid *grid, const struct scale *s)
{
	double height = height_of(grid);
	char n[RAMA_HUMAN], line[RAMA_HUMAN + 16];

	rama_report_svg_rect(g, X0, g->y, X1 - X0, height, "ir-f");
	rama_out_fmt(g->o,
		     "<g transform=\"translate(%d %.1f) scale(%.4f %.4f)\" "
		     "shape-rendering=\"crispEdges\">",
		     X0, g->y, (double)(X1 - X0) / grid->bins, height / grid->rows);
	for (int level = 0; level < RAMA_REPORT_SVG_LEVELS; level++)
		put_level(g, grid, s, level);
	rama_out_text(g->o, "</g>\n");
	rama_report_svg_text(g, X0 - 8, g->y + 13, "ir-t", "end",
			     rama_job_layer_info[h->layer].label);
	if (g->v->nprocs > 1)
		snprintf(line, sizeof(line), "%s 0–%s", g->v->processes ? "processes" : "ranks",
			 rama_human_count(n, g->v->nprocs - 1));
	else
		snprintf(line, sizeof(line), "%s 0", g->v->processes ? "process" : "rank");
	rama_report_svg_text(g, X0 - 8, g->y + 27, "ir-s", "end", line);
	put_rank_bars(g, grid, height);
	g->y += height + 5;
}

/* ---- axis and legend ------------------------------------------------------------------------- */

static double nice_step(double range)
{
	double step = pow(10, floor(log10(range / 5)));

	return range / step > 25 ? 5 * step : range / step > 10 ? 2 * step : step;
}

static void put_axis(struct rama_report_svg_page *g, const struct span *s)
{
	double step = nice_step(s->to - s->from), first = ceil(s->from / step);

	for (int k = 0; k < TICKS_MOST && (first + k) * step <= s->to + step * 1e-6; k++) {
		double t = (first + k) * step;
		char line[40];
		double x = x_of(s, t);

		rama_out_fmt(g->o, "<path class=\"ir-l\" d=\"M%.1f %.1fv5\"/>\n", x, g->y);
		snprintf(line, sizeof(line), "%g s", t);
		rama_report_svg_text(g, x, g->y + 17, "ir-s", "middle", line);
	}
	g->y += 22;
}

static void put_legend(struct rama_report_svg_page *g, const struct scale *s, double width)
{
	char n[2][RAMA_HUMAN], line[160];

	g->y += 6;
	for (int i = 0; i < RAMA_REPORT_SVG_LEVELS; i++) {
		char class[16];

		snprintf(class, sizeof(class), "ir-h%d", i);
		rama_report_svg_rect(g, X0 + 9.0 * i, g->y, 9, 10, class);
	}
	snprintf(line, sizeof(line), "%s to %s by the busiest %s of a cell in %.3g s, logarithmic",
		 rama_human_bytes(n[0], s->least), rama_human_bytes(n[1], s->most),
		 g->v->processes ? "process" : "rank", width);
	rama_report_svg_text(g, X0 + 9.0 * RAMA_REPORT_SVG_LEVELS + 10, g->y + 9, "ir-s", "start",
			     line);
	g->y += 12;
}

static void put_cuts(struct rama_report_svg_page *g, const struct span *s)
{
	char line[120], n[RAMA_HUMAN];

	if (s->from > 0) {
		snprintf(line, sizeof(line), "‹ nothing in the first %s",
			 rama_human_seconds(n, s->from));
		rama_report_svg_text(g, X0 + 4, g->y - 4, "ir-s", "start", line);
	}
	if (s->to < g->v->run_time * 0.999) {
		snprintf(line, sizeof(line), "nothing in the last %s ›",
			 rama_human_seconds(n, g->v->run_time - s->to));
		rama_report_svg_text(g, X1 - 4, g->y - 4, "ir-s", "end", line);
	}
	if (s->from > 0 || s->to < g->v->run_time * 0.999)
		g->y += 2;
}

/* the heat maps that are drawn: those with data, the layers of the program first */
static unsigned choose(const struct rama_job_view *v,
		       const struct rama_job_view_heat *chosen[STRIPS_MOST])
{
	unsigned n = 0;

	for (size_t i = 0; i < v->n_heats && n < STRIPS_MOST; i++) {
		double sum = 0;

		for (uint32_t b = 0; usable(&v->heats[i]) && b < v->heats[i].bins; b++)
			sum += v->heats[i].bin_bytes[0][b] + v->heats[i].bin_bytes[1][b];
		if (sum > 0)
			chosen[n++] = &v->heats[i];
	}
	return n;
}

void rama_report_svg_timeline(struct rama_report_svg_page *g)
{
	struct span s = span_of(g->v);
	struct scale scale = { INFINITY, 0 };
	const struct rama_job_view_heat *heat[STRIPS_MOST];
	struct grid grid;
	char title[200];
	unsigned n = choose(g->v, heat);

	if (!(s.to > s.from) || n == 0)
		return;
	rama_report_svg_title(
		g, "Timeline",
		rama_job_view_say(g->v,
				  "above: bytes per second, reads up, writes down; below: each "
				  "rank over time, and what each moved in all",
				  title, sizeof(title)));
	g->y += 12;
	put_cuts(g, &s);
	for (unsigned i = 0; i < n; i++) {
		make_grid(&grid, heat[i], &s);
		for (unsigned r = 0; r < grid.rows; r++) {
			for (unsigned b = 0; b < grid.bins; b++) {
				if (!(grid.cell[r][b] > 0))
					continue;
				scale.least = fmin(scale.least, grid.cell[r][b]);
				scale.most = fmax(scale.most, grid.cell[r][b]);
			}
		}
	}
	put_named(g, &s);
	put_flow(g, &s);
	g->y += 5;
	for (unsigned i = 0; i < n; i++) {
		make_grid(&grid, heat[i], &s);
		put_strip(g, heat[i], &grid, &scale);
	}
	put_axis(g, &s);
	if (scale.most > 0)
		put_legend(g, &scale, heat[0]->width);
}
