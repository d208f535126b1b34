/* SPDX-License-Identifier: BSD-3-Clause */
/* svg.c: a picture of a workflow: tasks are boxes, data are ovals, what comes later is
 * further down. Nodes stand in levels; an arrow over several levels bends around those between;
 * each level is put into the order of its neighbours, then moved over their middle. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/form/svg.h"
#include "emulate/format/formats.h"
#include "emulate/graph/graph_walk.h"

#define BOX 116.0 /* width of a node */
#define TALL 30.0 /* its height */
#define BEND 14.0 /* width of a place where an arrow passes a level */
#define GAP 18.0  /* between nodes */
#define DOWN 72.0 /* from level to level */
#define MARGIN 28.0
#define BULGE 46.0 /* of arrows that go up again */
#define NAME 17	   /* letters of a name that fit */
#define SWEEPS 8
#define PLACES_MOST 400000 /* nodes and bends */

struct place {
	uint32_t level;
	double x, want; /* middle; where its neighbours would like it */
	bool bend;
};

struct link {
	uint32_t from, to; /* places of neighbouring levels, upper one first */
};

struct wish { /* for sorting */
	double want;
	uint32_t place;
};

struct picture {
	const struct rama_emu_graph *g;
	struct rama_emu_arrows a;
	struct place *place; /* nodes of the graph first, then bends */
	uint32_t n_places, room_places, n_levels;
	struct link *link;
	uint32_t n_links;
	/* by arrow: links of its way; n_arrows + 1. None: it goes up or sideways */
	uint32_t *first_link;
	uint32_t **row, *n_row; /* by level: places from left to right */
	struct wish *wish;	/* of one row */
	double middle;
};

/* ---- levels --------------------------------------------------------------------------------- */

static uint32_t arrow_from(const struct picture *p, uint32_t arrow)
{
	uint32_t low = 0, high = p->a.n_nodes;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (p->a.first[mid] <= arrow)
			low = mid;
		else
			high = mid;
	}
	return low;
}

static int find_levels(struct picture *p)
{
	uint32_t *level = calloc((size_t)p->a.n_nodes + 1, sizeof(*level));
	int rc = level != NULL ? rama_emu_graph_levels(p->g, level) : RAMA_EMEMORY;

	for (uint32_t i = 0; rc == 0 && i < p->a.n_nodes; i++) {
		p->place[i] = (struct place){ .level = level[i] };
		if (level[i] >= p->n_levels)
			p->n_levels = level[i] + 1;
	}
	p->n_places = p->a.n_nodes;
	free(level);
	return rc;
}

/* places that all arrows pass, with links from each to the next */
static int make_links(struct picture *p)
{
	uint32_t n_arrows = p->a.first[p->a.n_nodes];
	uint64_t links = 0;

	for (uint32_t i = 0; i < n_arrows; i++) {
		uint32_t top = p->place[arrow_from(p, i)].level,
			 low = p->place[p->a.arrow[i].to].level;

		links += low > top ? low - top : 0;
	}
	if (links > PLACES_MOST)
		return RAMA_ELIMIT;
	p->room_places = p->n_places + (uint32_t)links;
	p->place = reallocarray(p->place, (size_t)p->room_places + 1, sizeof(*p->place));
	p->link = calloc((size_t)links + 1, sizeof(*p->link));
	p->first_link = calloc((size_t)n_arrows + 1, sizeof(*p->first_link));
	if (p->place == NULL || p->link == NULL || p->first_link == NULL)
		return RAMA_EMEMORY;
	for (uint32_t i = 0; i < n_arrows; i++) {
		uint32_t at = arrow_from(p, i), to = p->a.arrow[i].to;

		p->first_link[i] = p->n_links;
		for (uint32_t l = p->place[at].level + 1; l <= p->place[to].level; l++) {
			uint32_t next = to;

			if (l < p->place[to].level) {
				next = p->n_places++;
				p->place[next] = (struct place){ .level = l, .bend = true };
			}
			p->link[p->n_links++] = (struct link){ at, next };
			at = next;
		}
	}
	p->first_link[n_arrows] = p->n_links;
	return 0;
}

/* ---- order and place ------------------------------------------------------------------------ */

static int by_want(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;

	return x->want < y->want ? -1 : x->want > y->want;
}

static void sort_row(struct picture *p, uint32_t level)
{
	uint32_t *row = p->row[level], n = p->n_row[level];

	for (uint32_t i = 0; i < n; i++)
		p->wish[i] = (struct wish){ p->place[row[i]].want, row[i] };
	qsort(p->wish, n, sizeof(*p->wish), by_want);
	for (uint32_t i = 0; i < n; i++)
		row[i] = p->wish[i].place;
}

static double half(const struct place *p)
{
	return (p->bend ? BEND : BOX) / 2;
}

static int make_rows(struct picture *p)
{
	p->row = calloc((size_t)p->n_levels + 1, sizeof(*p->row));
	p->n_row = calloc((size_t)p->n_levels + 1, sizeof(*p->n_row));
	p->wish = calloc((size_t)p->n_places + 1, sizeof(*p->wish));
	if (p->row == NULL || p->n_row == NULL || p->wish == NULL)
		return RAMA_EMEMORY;
	for (uint32_t i = 0; i < p->n_places; i++)
		p->n_row[p->place[i].level]++;
	for (uint32_t l = 0; l < p->n_levels; l++) {
		p->row[l] = calloc((size_t)p->n_row[l] + 1, sizeof(*p->row[l]));
		if (p->row[l] == NULL)
			return RAMA_EMEMORY;
		p->n_row[l] = 0;
	}
	for (uint32_t i = 0; i < p->n_places; i++)
		p->row[p->place[i].level][p->n_row[p->place[i].level]++] = i;
	return 0;
}

/* the middle of the neighbours above (or below), for every place that has any */
static int find_wants(struct picture *p, bool above)
{
	uint32_t *n = calloc((size_t)p->n_places + 1, sizeof(*n));

	if (n == NULL)
		return RAMA_EMEMORY;
	for (uint32_t i = 0; i < p->n_places; i++)
		p->place[i].want = 0;
	for (uint32_t i = 0; i < p->n_links; i++) {
		uint32_t me = above ? p->link[i].to : p->link[i].from;

		p->place[me].want += p->place[above ? p->link[i].from : p->link[i].to].x;
		n[me]++;
	}
	for (uint32_t i = 0; i < p->n_places; i++)
		p->place[i].want = n[i] > 0 ? p->place[i].want / n[i] : p->place[i].x;
	free(n);
	return 0;
}

/* as near as may be to where each would like to be, none upon another */
static void settle(struct picture *p, uint32_t level, bool sort)
{
	uint32_t *row = p->row[level], n = p->n_row[level];
	double off = 0;

	if (sort)
		sort_row(p, level);
	for (uint32_t i = 0; i < n; i++) {
		struct place *x = &p->place[row[i]], *left = i > 0 ? &p->place[row[i - 1]] : NULL;

		x->x = x->want;
		if (left != NULL)
			x->x = fmax(x->x, left->x + half(left) + GAP + half(x));
		off += x->x - x->want;
	}
	for (uint32_t i = 0; i < n; i++)
		p->place[row[i]].x -= off / n;
}

static int arrange(struct picture *p)
{
	int rc = make_rows(p);

	for (uint32_t i = 0; rc == 0 && i < p->n_places; i++)
		p->place[i].want = 0;
	for (uint32_t l = 0; rc == 0 && l < p->n_levels; l++)
		settle(p, l, false);
	for (int sweep = 0; rc == 0 && sweep < 2 * SWEEPS; sweep++) {
		bool down = sweep % 2 == 0;

		for (uint32_t k = 0; rc == 0 && k < p->n_levels; k++) {
			if (k == 0 || p->n_levels <= 64 ||
			    k % 8 == 0) /* wants of deep graphs may be a little old */
				rc = find_wants(p, down);
			settle(p, down ? k : p->n_levels - 1 - k, sweep < SWEEPS);
		}
	}
	return rc;
}

/* ---- drawing -------------------------------------------------------------------------------- */

static double y_of(const struct place *p)
{
	return MARGIN + 30 + p->level * DOWN + TALL / 2;
}

static void put_arrow(const struct picture *p, struct rama_out *out, uint32_t i)
{
	uint32_t edge = p->a.arrow[i].edge, first = p->first_link[i], last = p->first_link[i + 1];
	bool back = first == last;
	const struct place *from = &p->place[arrow_from(p, i)], *to = &p->place[p->a.arrow[i].to];

	rama_out_fmt(out, "<path fill=\"none\" stroke=\"%s\"%s marker-end=\"url(#%s)\" d=\"",
		     back || rama_emu_arrow_feedback(p->g, edge) ? "#c53030" : "#4a5568",
		     rama_emu_arrow_strict(p->g, edge) ? "" : " stroke-dasharray=\"5 4\"",
		     back || rama_emu_arrow_feedback(p->g, edge) ? "r" : "k");
	if (back) { /* up again: out at the nearer side and around */
		double way = to->x < p->middle ? -1 : 1;
		double far = way * (fmax(way * from->x, way * to->x) + BOX / 2 + BULGE +
				    6 * fabs((double)from->level - to->level));

		rama_out_fmt(out, "M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f",
			     from->x + way * BOX / 2, y_of(from), far, y_of(from), far, y_of(to),
			     to->x + way * (BOX / 2 + 3), y_of(to));
	}
	for (uint32_t k = first; k < last; k++) {
		const struct place *a = &p->place[p->link[k].from], *b = &p->place[p->link[k].to];
		double top = y_of(a) + (a->bend ? 0 : TALL / 2),
		       low = y_of(b) - (b->bend ? 0 : TALL / 2 + 3);
		double mid = (top + low) / 2;

		if (k == first)
			rama_out_fmt(out, "M%.1f %.1f", a->x, top);
		rama_out_fmt(out, " C%.1f %.1f %.1f %.1f %.1f %.1f", a->x, mid, b->x, mid, b->x,
			     low);
	}
	rama_out_text(out, "\"/>\n");
}

/* the beginning and the end of a name that is too long */
static void cut_label(char text[NAME + 8], const char *name)
{
	size_t n = strlen(name);

	if (n <= NAME)
		snprintf(text, NAME + 8, "%s", name);
	else
		snprintf(text, NAME + 8, "%.*s..%s", NAME / 2, name, name + n - NAME / 2);
	for (char *c = text; n > NAME && *c != '\0'; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '_'; /* letters of several bytes may have been cut */
}

static void put_node(const struct picture *p, struct rama_out *out, uint32_t i)
{
	const struct place *x = &p->place[i];
	const char *id = rama_emu_node_id(p->g, i);
	bool task = i < p->g->n_tasks;
	char label[NAME + 8];

	rama_out_fmt(out,
		     "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" rx=\"%d\" "
		     "fill=\"%s\" stroke=\"%s\"><title>",
		     x->x - BOX / 2, y_of(x) - TALL / 2, BOX, TALL, task ? 4 : 15,
		     task ? "#ebf4ff" : "#fffaf0", task ? "#2b6cb0" : "#c05621");
	rama_xml_text(out, id, RAMA_XML_BLANK);
	rama_out_text(out, "</title></rect>");
	cut_label(label, id);
	rama_svg_text(out, x->x, y_of(x) + 4, "text-anchor=\"middle\"", label, RAMA_XML_BLANK);
	rama_out_char(out, '\n');
}

static bool goes_up(const struct picture *p)
{
	uint32_t n = p->a.first[p->a.n_nodes], i = 0;

	while (i < n && p->first_link[i] < p->first_link[i + 1])
		i++;
	return i < n;
}

static void draw(struct picture *p, struct rama_out *out)
{
	double left = INFINITY, right = -INFINITY, bottom = MARGIN * 2 + 30 + p->n_levels * DOWN;

	for (uint32_t i = 0; i < p->n_places; i++) {
		left = fmin(left, p->place[i].x - half(&p->place[i]));
		right = fmax(right, p->place[i].x + half(&p->place[i]));
	}
	p->middle = (left + right) / 2;
	left -= MARGIN + (goes_up(p) ? BULGE + 3.0 * p->n_levels : 0);
	right += MARGIN + (goes_up(p) ? BULGE + 3.0 * p->n_levels : 0);
	rama_out_fmt(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"%.1f 0 %.1f %.1f\" "
		"font-family=\"system-ui,sans-serif\" font-size=\"11\" fill=\"#2d3748\">\n<defs>",
		right - left, bottom, left, right - left, bottom);
	for (int i = 0; i < 2; i++)
		rama_out_fmt(out,
			     "<marker id=\"%s\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
			     "markerWidth=\"7\" markerHeight=\"7\" "
			     "orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"%s\"/></marker>",
			     i == 0 ? "k" : "r", i == 0 ? "#4a5568" : "#c53030");
	rama_out_fmt(out,
		     "</defs>\n<rect x=\"%.1f\" width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		     "<text x=\"%.1f\" y=\"26\" font-size=\"16\" font-weight=\"600\">",
		     left, left + MARGIN);
	rama_xml_text(out, p->g->name, RAMA_XML_BLANK);
	rama_out_fmt(out,
		     "<tspan font-weight=\"400\" font-size=\"12\" dx=\"12\">%u tasks, %u data "
		     "units</tspan></text>\n",
		     p->g->n_tasks, p->g->n_data);
	for (uint32_t i = 0; i < p->a.first[p->a.n_nodes]; i++)
		put_arrow(p, out, i);
	for (uint32_t i = 0; i < p->a.n_nodes; i++)
		put_node(p, out, i);
	rama_out_text(out, "</svg>\n");
}

int rama_emu_write_svg(const struct rama_emu_graph *g, struct rama_out *out, struct rama_err *e)
{
	struct picture p = { .g = g };
	int rc;

	if ((uint64_t)g->n_tasks + g->n_data > RAMA_EMU_PICTURE)
		return rama_err_set(
			e, RAMA_ELIMIT,
			"%u tasks and %u data units are too many for a picture: write dot",
			g->n_tasks, g->n_data);
	rc = rama_emu_arrows_make(&p.a, g);
	p.place = calloc((size_t)p.a.n_nodes + 1, sizeof(*p.place));
	if (rc == 0)
		rc = p.place != NULL ? find_levels(&p) : RAMA_EMEMORY;
	if (rc == 0)
		rc = make_links(&p);
	if (rc == 0)
		rc = arrange(&p);
	if (rc == 0)
		draw(&p, out);
	rama_emu_arrows_fini(&p.a);
	for (uint32_t l = 0; p.row != NULL && l < p.n_levels; l++)
		free(p.row[l]);
	free(p.row);
	free(p.n_row);
	free(p.wish);
	free(p.place);
	free(p.link);
	free(p.first_link);
	if (rc != 0)
		return rama_err_set(e, rc, "no picture: %s", rama_err_text(rc));
	return out->error;
}
