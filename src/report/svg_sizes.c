/* SPDX-License-Identifier: BSD-3-Clause */
/* svg_sizes.c: how large requests are: calls and bytes in each class of sizes, side by side. */
#include <math.h>
#include <stdio.h>

#include "base/human.h"
#include "report/svg_parts.h"

#define HEIGHT 110
#define PANEL 460

static const char *const class_label[RAMA_JOB_SIZE_BINS] = { "100", "1K",  "10K",  "100K", "1M",
							     "4M",  "10M", "100M", "1G",   "more" };

/* the layer whose sizes are shown: the highest one that has them */
static const struct rama_job_view_layer *choose(const struct rama_job_view *v, const char **name)
{
	for (unsigned i = 0; i < RAMA_JOB_LAYERS; i++) {
		double sum = 0;

		for (unsigned b = 0;
		     v->layer[i].used && v->layer[i].sizes && b < RAMA_JOB_SIZE_BINS; b++)
			sum += (double)v->layer[i].size_count[0][b] +
			       (double)v->layer[i].size_count[1][b];
		if (sum > 0) {
			*name = rama_job_layer_info[i].label;
			return &v->layer[i];
		}
	}
	return NULL;
}

struct panel {
	double value[2][RAMA_JOB_SIZE_BINS];
	double most, least; /* above zero */
	bool log;
};

static void measure(struct panel *p)
{
	p->most = 0;
	p->least = INFINITY;
	for (unsigned kind = 0; kind < 2; kind++) {
		for (unsigned b = 0; b < RAMA_JOB_SIZE_BINS; b++) {
			if (!(p->value[kind][b] > 0))
				continue;
			p->most = fmax(p->most, p->value[kind][b]);
			p->least = fmin(p->least, p->value[kind][b]);
		}
	}
	p->log = p->most > 200 * p->least;
}

/* the smallest bar above zero still shows */
static double height_of(const struct panel *p, double v)
{
	if (!(v > 0))
		return 0;
	if (p->log)
		return HEIGHT * (0.08 + 0.92 * log(v / p->least) / log(p->most / p->least));
	return fmax(2, HEIGHT * v / p->most);
}

static void put_panel(struct rama_report_svg_page *g, const struct panel *p, double x,
		      const char *what, bool bytes)
{
	double unit = (PANEL - 20.0) / RAMA_JOB_SIZE_BINS, base = g->y + 18 + HEIGHT;
	char n[RAMA_HUMAN], line[160];

	snprintf(line, sizeof(line), "%s, at most %s%s", what,
		 bytes ? rama_human_bytes(n, p->most) : rama_human_value(n, "count", p->most),
		 p->log ? ", logarithmic" : "");
	rama_report_svg_text(g, x, g->y + 8, "ir-d", "start", line);
	rama_out_fmt(g->o, "<path class=\"ir-l\" d=\"M%.1f %.1fh%d\"/>\n", x, base + 0.5,
		     PANEL - 20);
	for (unsigned b = 0; b < RAMA_JOB_SIZE_BINS; b++) {
		double at = x + b * unit;

		for (unsigned kind = 0; kind < 2; kind++) {
			double h = height_of(p, p->value[1 - kind][b]);

			if (h > 0)
				rama_report_svg_rect(g, at + 3 + kind * (unit / 2 - 3), base - h,
						     unit / 2 - 4, h, kind == 0 ? "ir-r" : "ir-w");
		}
		rama_report_svg_text(g, at + unit - 2, base + 14, "ir-s", "middle", class_label[b]);
	}
}

void rama_report_svg_sizes(struct rama_report_svg_page *g)
{
	const char *name = NULL;
	const struct rama_job_view_layer *l = choose(g->v, &name);
	struct panel calls, bytes;
	char title[120];

	if (l == NULL)
		return;
	for (unsigned kind = 0; kind < 2; kind++) {
		for (unsigned b = 0; b < RAMA_JOB_SIZE_BINS; b++) {
			calls.value[kind][b] = (double)l->size_count[kind][b];
			bytes.value[kind][b] = l->size_bytes[kind][b];
		}
	}
	measure(&calls);
	measure(&bytes);
	snprintf(title, sizeof(title), "Request sizes, %s", name);
	rama_report_svg_title(g, title,
			      l->sizes_exact
				      ? "reads blue, writes orange; a class ends at its label "
					"(bytes, KiB, MiB, GiB)"
				      : "reads blue, writes orange; a class ends at its label "
					"(bytes, KiB, MiB, GiB); "
					"bytes are estimated from the most frequent sizes");
	g->y += 6;
	put_panel(g, &calls, RAMA_REPORT_SVG_LEFT, "calls", false);
	put_panel(g, &bytes, RAMA_REPORT_SVG_LEFT + PANEL + 40, "bytes", true);
	g->y += 18 + HEIGHT + 18;
}
