/* SPDX-License-Identifier: BSD-3-Clause */
/* picture.c: what the layers of calls took, as bars; how servers were used over time. */
#include "path/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/form/svg.h"
#include "base/human.h"
#include "path/join.h"
#include "path/server.h"

#define LEFT 20
#define RIGHT (RAMA_PATH_PICTURE_WIDTH - 20)
#define SHOWN_MOST 24	/* calls with bars */
#define PARTS_MOST 64	/* parts of a bar of throughput */
#define SERVERS_MOST 40 /* rows of servers */
#define BINS 160
#define HEIGHT 150
#define LEVELS 5

const char rama_path_picture_style[] =
	".ip{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
	"font-variant-numeric:tabular-nums}\n"
	".ip-bg{fill:#fff;stroke:#dfe4ea}.ip-t{fill:#1a202c}.ip-s{fill:#5a6473;font-size:11px}"
	".ip-h{fill:#1a202c;font-size:15px;font-weight:600}\n"
	".ip-a{fill:#718096}.ip-c{fill:#2b6cb0}.ip-v{fill:#c05621}.ip-k{fill:#7b341e}"
	".ip-w{fill:#d69e2e}.ip-o{fill:#cbd2db}.ip-m{fill:#6b46c1}\n"
	".ip-l{stroke:#dfe4ea;fill:none}.ip-1{fill:#fbd9c3}.ip-2{fill:#f0a878}.ip-3{fill:#de7a3c}"
	".ip-4{fill:#c05621}.ip-5{fill:#7b341e}\n";
const char rama_path_picture_dark[] =
	".ip-bg{fill:#12161d;stroke:#2d3642}.ip-t,.ip-h{fill:#e4e8ee}.ip-s{fill:#9aa5b4}\n"
	".ip-a{fill:#8a97a8}.ip-c{fill:#63a4e8}.ip-v{fill:#ed8b4f}.ip-k{fill:#ffd0b0}"
	".ip-w{fill:#ecc94b}.ip-o{fill:#3d4756}.ip-m{fill:#a78bfa}\n"
	".ip-l{stroke:#2d3642}.ip-1{fill:#4a2d1c}.ip-2{fill:#7d451f}.ip-3{fill:#b8642a}"
	".ip-4{fill:#ed8b4f}.ip-5{fill:#ffd0b0}\n";

/* ---- words and bars ------------------------------------------------------------------------- */

static void text(struct rama_out *o, double x, double y, const char *class, const char *anchor,
		 const char *s)
{
	char look[64];

	snprintf(look, sizeof(look), "class=\"%s\" text-anchor=\"%s\"", class, anchor);
	rama_svg_text(o, x, y, look, s, RAMA_XML_MARK);
	rama_out_char(o, '\n');
}

/* with what it stands for, where a pointer rests on it */
static void bar(struct rama_out *o, double x, double y, double w, double h, const char *class,
		const char *tip)
{
	char look[32];

	if (!(w > 0 && h > 0))
		return;
	snprintf(look, sizeof(look), "class=\"%s\"", class);
	rama_out_text(o, "<g>");
	rama_svg_rect(o, x, y, w, h, look);
	rama_out_text(o, "<title>");
	rama_xml_text(o, tip, RAMA_XML_MARK);
	rama_out_text(o, "</title></g>\n");
}

static void line(struct rama_out *o, double x, double y, double w)
{
	rama_out_fmt(o, "<path class=\"ip-l\" d=\"M%.1f %.1fh%.1f\"/>\n", x, y, w);
}

static double legend(struct rama_out *o, double x, double y, const char *class, const char *what)
{
	char look[32];

	snprintf(look, sizeof(look), "class=\"%s\"", class);
	rama_svg_rect(o, x, y - 9, 10, 10, look);
	text(o, x + 15, y, "ip-s", "start", what);
	return x + 35 + 6.2 * (double)strlen(what);
}

static const char *seconds(char to[RAMA_HUMAN], int64_t ns)
{
	return rama_human_seconds(to, (double)ns * 1e-9);
}

/* ---- calls that are shown ------------------------------------------------------------------- */

struct shown {
	size_t call;
	int64_t took, client, server, disk;
	uint64_t subs, disks;
	/* in calls with requests, and outside of them */
	struct rama_path_gaps gaps;
	int64_t own;
};

struct list {
	struct shown at[SHOWN_MOST];
	size_t n, all;
	int64_t longest;
};

static int slower(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	if (x->took != y->took)
		return x->took > y->took ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static int earlier(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	return x->call < y->call ? -1 : x->call > y->call;
}

/* POSIX calls below, and what those with requests were doing; no deeper than RAMA_PATH_DEPTH */
static void measure(const struct rama_path *p, size_t call, struct shown *s)
{
	const struct rama_path_call *c = &p->call[call];
	bool requests = false;
	struct rama_path_gaps g;

	for (size_t i = 0; i < c->n_subs; i++) {
		size_t sub = rama_path_sub(p, call, i);

		requests = requests || p->call[sub].layer == RAMA_PATH_LAYER_FUSE;
		if (p->call[sub].role == RAMA_PATH_ROLE_APPLICATION)
			measure(p, sub, s);
	}
	s->subs += c->layer == RAMA_PATH_LAYER_POSIX || c->layer == RAMA_PATH_LAYER_STDIO;
	if (!requests)
		return;
	rama_path_gaps(p, call, &g);
	s->gaps.before += g.before;
	s->gaps.inside += g.inside;
	s->gaps.between += g.between;
	s->gaps.after += g.after;
}

/* the server that was longest at work counts: the others were at work meanwhile */
static int measure_servers(const struct rama_path *p, struct shown *s)
{
	struct rama_path_servers v;
	int rc = rama_path_servers(p, s->call, &v);

	for (size_t i = 0; i < v.n; i++) {
		s->disks += v.server[i].disks;
		if (v.server[i].inside > s->server) {
			s->server = v.server[i].inside;
			s->disk = v.server[i].disk;
		}
	}
	rama_path_servers_fini(&v);
	return rc;
}

/* the slowest calls of the application, in the order in which they were made */
static int find_shown(const struct rama_path *p, const struct rama_path_ask *ask, struct list *l)
{
	struct shown *all = calloc(p->n_roots + 1, sizeof(*all));
	int rc = all != NULL ? 0 : RAMA_EMEMORY;

	*l = (struct list){ 0 };
	for (size_t i = 0; rc == 0 && i < p->n_roots; i++) {
		size_t call = p->root[i];

		if (p->call[call].role == RAMA_PATH_ROLE_APPLICATION &&
		    rama_path_wanted(p, call, ask))
			all[l->all++] =
				(struct shown){ .call = call,
						.took = p->call[call].end - p->call[call].start };
	}
	if (rc == 0)
		qsort(all, l->all, sizeof(*all), slower);
	l->n = l->all < SHOWN_MOST ? l->all : SHOWN_MOST;
	/* whose bar would not be seen would still have one of throughput, which hides all others */
	while (l->n > 1 && all[l->n - 1].took < all[0].took / HEIGHT)
		l->n--;
	for (size_t i = 0; rc == 0 && i < l->n; i++) {
		struct shown *s = &l->at[i];

		*s = all[i];
		measure(p, s->call, s);
		s->client = s->gaps.inside;
		s->own =
			s->took - s->gaps.before - s->gaps.inside - s->gaps.between - s->gaps.after;
		s->own = s->own > 0 ? s->own : 0;
		rc = measure_servers(p, s);
		l->longest = s->took > l->longest ? s->took : l->longest;
	}
	qsort(l->at, l->n, sizeof(*l->at), earlier);
	free(all);
	return rc;
}

/* "call 12, rank 0, pwrite: " and what follows */
static void tip_of(char *to, size_t room, const struct rama_path *p, size_t call, const char *what,
		   const char *value)
{
	snprintf(to, room, "call %zu, rank %lld, %.60s: %s %s", call + 1,
		 (long long)p->call[call].rank, p->call[call].op, what, value);
}

/* ---- bars of layers, as the paper's figure 5b ----------------------------------------------- */

static void layer_bars(const struct rama_path *p, const struct list *l, double base, double unit,
		       struct rama_out *o)
{
	char tip[256], n[2][RAMA_HUMAN], label[2 * RAMA_HUMAN + 8];

	for (size_t i = 0; i < l->n; i++) {
		const struct shown *s = &l->at[i];
		const struct {
			const char *class, *what;
			int64_t ns;
		} part[] = { { "ip-a", "the call itself", s->took },
			     { "ip-c", "in requests of the client", s->client },
			     { "ip-v", "in the server that took longest", s->server } };
		double x = LEFT + (double)i * unit + unit * 0.08, w = unit * 0.27;
		double at = base;

		for (unsigned k = 0; k < 3; k++) {
			double h = HEIGHT * (double)part[k].ns / (double)l->longest;

			tip_of(tip, sizeof(tip), p, s->call, part[k].what,
			       seconds(n[0], part[k].ns));
			bar(o, x + k * w, base - h, w - 1, h, part[k].class, tip);
			at = base - h;
		}
		tip_of(tip, sizeof(tip), p, s->call, "at its disk", seconds(n[0], s->disk));
		bar(o, x + 2 * w + w * 0.25, base - HEIGHT * (double)s->disk / (double)l->longest,
		    w * 0.5, HEIGHT * (double)s->disk / (double)l->longest, "ip-k", tip);
		if (s->server > 0) {
			snprintf(label, sizeof(label), "%s",
				 rama_human_count(n[0], (int64_t)s->subs));
			text(o, x + 2.5 * w, at - 4, "ip-s", "middle", label);
		}
		if (l->n <= 16 || i % 2 == 0) {
			snprintf(label, sizeof(label), "%zu", s->call + 1);
			text(o, x + 1.5 * w, base + 14, "ip-s", "middle", label);
		}
	}
}

static double draw_layers(const struct rama_path *p, const struct rama_path_ask *ask, double y,
			  struct rama_out *o)
{
	struct list l;
	char most[RAMA_HUMAN], line_text[120];
	double x;

	if (find_shown(p, ask, &l) != 0) {
		o->error = RAMA_EMEMORY;
		return 0;
	}
	if (l.n == 0 || l.longest == 0)
		return 0;
	x = legend(o, LEFT, y + 14, "ip-a", "the call itself");
	x = legend(o, x, y + 14, "ip-c", "client");
	x = legend(o, x, y + 14, "ip-v", "server, with the number of sub-calls");
	legend(o, x, y + 14, "ip-k", "its disk");
	snprintf(line_text, sizeof(line_text), "the longest %s%s", seconds(most, l.longest),
		 l.all > l.n ? "; the slowest calls only" : "");
	text(o, RIGHT, y + 14, "ip-s", "end", line_text);
	line(o, LEFT, y + 40.5 + HEIGHT, RIGHT - LEFT);
	layer_bars(p, &l, y + 40 + HEIGHT, (RIGHT - LEFT) / (double)(l.n < 6 ? 6 : l.n), o);
	return 40 + HEIGHT + 24;
}

/* ---- throughput, as the paper's figure 5c --------------------------------------------------- */

/* rates of the lowest calls of the application below one: each adds to the sum */
struct rates {
	double of[PARTS_MOST], sum;
	unsigned n;
};

static void add_rates(const struct rama_path *p, size_t call, struct rates *r)
{
	const struct rama_path_call *c = &p->call[call];
	bool lowest = true;

	for (size_t i = 0; i < c->n_subs; i++) {
		size_t sub = rama_path_sub(p, call, i);

		if (p->call[sub].role != RAMA_PATH_ROLE_APPLICATION)
			continue;
		lowest = false;
		add_rates(p, sub, r);
	}
	if (!lowest || c->bytes <= 0 || c->end == c->start)
		return;
	double rate = (double)c->bytes / ((double)(c->end - c->start) * 1e-9);

	r->sum += rate;
	r->of[r->n < PARTS_MOST ? r->n++ : PARTS_MOST - 1] += rate;
}

static double draw_rates(const struct rama_path *p, const struct rama_path_ask *ask, double y,
			 struct rama_out *o)
{
	struct rates *r = calloc(SHOWN_MOST, sizeof(*r));
	struct list l;
	double most = 0, unit, base = y + 36 + HEIGHT;
	char n[RAMA_HUMAN], tip[256];

	if (r == NULL || find_shown(p, ask, &l) != 0) {
		o->error = RAMA_EMEMORY;
		l.n = 0;
	}
	for (size_t i = 0; i < l.n; i++) {
		add_rates(p, l.at[i].call, &r[i]);
		most = r[i].sum > most ? r[i].sum : most;
	}
	unit = (RIGHT - LEFT) / (double)(l.n < 6 ? 6 : l.n);
	for (size_t i = 0; i < l.n && most > 0; i++) {
		double at = base;

		for (unsigned k = 0; k < r[i].n; k++) {
			double h = HEIGHT * r[i].of[k] / most;

			tip_of(tip, sizeof(tip), p, l.at[i].call, "a sub-call",
			       rama_human_rate(n, r[i].of[k]));
			at -= h;
			bar(o, LEFT + (double)i * unit + unit * 0.2, at, unit * 0.6,
			    h > 1.5 ? h - 1 : h, p->call[l.at[i].call].write ? "ip-v" : "ip-c",
			    tip);
		}
		snprintf(tip, sizeof(tip), "%zu", l.at[i].call + 1);
		if (l.n <= 16 || i % 2 == 0)
			text(o, LEFT + (double)i * unit + unit / 2, base + 14, "ip-s", "middle",
			     tip);
	}
	if (most > 0) {
		snprintf(tip, sizeof(tip), "at most %s", rama_human_rate(n, most));
		text(o, RIGHT, y + 14, "ip-s", "end", tip);
		legend(o, legend(o, LEFT, y + 14, "ip-v", "writes"), y + 14, "ip-c", "reads");
		line(o, LEFT, base + 0.5, RIGHT - LEFT);
	}
	free(r);
	return most > 0 ? 36 + HEIGHT + 24 : 0;
}

/* ---- gaps ----------------------------------------------------------------------------------- */

static double draw_gaps(const struct rama_path *p, const struct rama_path_ask *ask, double y,
			struct rama_out *o)
{
	static const char *const class[] = { "ip-o", "ip-w", "ip-c", "ip-m", "ip-a" },
				 *const what[] = { "outside of calls with requests",
						   "before the first request", "in requests",
						   "between requests", "after the last" };
	struct list l;
	char n[RAMA_HUMAN], tip[256];
	double at = y + 30, x = LEFT;
	size_t rows = 0;

	if (find_shown(p, ask, &l) != 0) {
		o->error = RAMA_EMEMORY;
		return 0;
	}
	for (size_t i = 0; i < l.n; i++) {
		const struct shown *s = &l.at[i];
		const int64_t part[] = { s->own, s->gaps.before, s->gaps.inside, s->gaps.between,
					 s->gaps.after };
		double from = LEFT + 90;

		if (s->gaps.inside == 0)
			continue;
		rows++;
		snprintf(tip, sizeof(tip), "call %zu", s->call + 1);
		text(o, LEFT + 80, at + 11, "ip-s", "end", tip);
		for (unsigned k = 0; k < 5; k++) {
			double w = (RIGHT - LEFT - 180) * (double)part[k] / (double)l.longest;

			tip_of(tip, sizeof(tip), p, s->call, what[k], seconds(n, part[k]));
			bar(o, from, at, w, 13, class[k], tip);
			from += w;
		}
		text(o, from + 6, at + 11, "ip-s", "start", seconds(n, s->took));
		at += 18;
	}
	if (rows == 0)
		return 0;
	for (unsigned k = 0; k < 5; k++)
		x = legend(o, x, y + 14, class[k], what[k]);
	return at - y + 8;
}

/* ---- servers and time ----------------------------------------------------------------------- */

struct busy {
	double share[SERVERS_MOST][BINS]; /* of each bin: time in which requests were under way */
	int64_t from, width;
};

static void add_busy(struct busy *b, size_t server, int64_t start, int64_t end)
{
	int64_t first = (start - b->from) / b->width, last = (end - b->from) / b->width;

	for (int64_t i = first < 0 ? 0 : first; i <= last && i < BINS; i++) {
		int64_t from = b->from + i * b->width, to = from + b->width;

		from = start > from ? start : from;
		to = end < to ? end : to;
		if (to > from)
			b->share[server][i] += (double)(to - from) / (double)b->width;
	}
}

static size_t server_index(const struct rama_path_servers *s, const char *name)
{
	for (size_t i = 0; i < s->n && i < SERVERS_MOST; i++)
		if (s->server[i].name == name)
			return i;
	return SERVERS_MOST;
}

/* the times in which requests were under way, in rows of servers */
static bool fill_busy(const struct rama_path *p, const struct rama_path_servers *s, struct busy *b)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < p->n; i++)
		if (p->call[i].layer == RAMA_PATH_LAYER_CLIENT) {
			first = p->call[i].start < first ? p->call[i].start : first;
			last = p->call[i].end > last ? p->call[i].end : last;
		}
	if (first >= last)
		return false;
	b->from = first;
	b->width = (last - first) / BINS + 1;
	for (size_t i = 0; i < p->n; i++) {
		size_t at = p->call[i].layer == RAMA_PATH_LAYER_CLIENT
				    ? server_index(s, p->call[i].peer)
				    : SERVERS_MOST;

		if (at < SERVERS_MOST)
			add_busy(b, at, p->call[i].start, p->call[i].end);
	}
	return true;
}

static double busy_rows(const struct rama_path_servers *s, const struct busy *b, double y,
			struct rama_out *o)
{
	double wide = (RIGHT - LEFT - 150.0) / BINS, most = 0;
	size_t rows = s->n < SERVERS_MOST ? s->n : SERVERS_MOST;
	char tip[256], class[8], n[RAMA_HUMAN];

	for (size_t i = 0; i < rows; i++)
		for (unsigned k = 0; k < BINS; k++)
			most = b->share[i][k] > most ? b->share[i][k] : most;
	for (size_t i = 0; i < rows && most > 0; i++) {
		snprintf(tip, sizeof(tip), "%.*s",
			 (int)(rama_path_server_len(s->server[i].name) < 22
				       ? rama_path_server_len(s->server[i].name)
				       : 22),
			 s->server[i].name);
		text(o, LEFT + 140, y + 14, "ip-s", "end", tip);
		for (unsigned k = 0; k < BINS; k++) {
			int level = (int)(b->share[i][k] / most * LEVELS + 0.999);

			if (level < 1)
				continue;
			snprintf(class, sizeof(class), "ip-%d", level < LEVELS ? level : LEVELS);
			snprintf(tip, sizeof(tip), "%.60s at %s: %.2f requests under way",
				 s->server[i].name, seconds(n, b->from + k * b->width),
				 b->share[i][k]);
			bar(o, LEFT + 150 + k * wide, y, wide + 0.2, 18, class, tip);
		}
		y += 21;
	}
	return most;
}

static double draw_servers(const struct rama_path *p, const struct rama_path_ask *ask, double y,
			   struct rama_out *o)
{
	struct busy *b = calloc(1, sizeof(*b));
	struct rama_path_servers s = { 0 };
	char from[RAMA_HUMAN], most[80];
	double height = 0, top;

	(void)ask;
	if (b == NULL || rama_path_servers(p, RAMA_PATH_NONE, &s) != 0) {
		o->error = RAMA_EMEMORY;
	} else if (s.n > 0 && fill_busy(p, &s, b)) {
		height = 26 + 21 * (double)(s.n < SERVERS_MOST ? s.n : SERVERS_MOST);
		top = busy_rows(&s, b, y + 22, o);
		snprintf(most, sizeof(most), "darkest or brightest: %.1f requests under way", top);
		text(o, RIGHT, y + 14, "ip-s", "end", most);
		text(o, LEFT + 150, y + height + 12, "ip-s", "start", seconds(from, b->from));
		text(o, RIGHT, y + height + 12, "ip-s", "end",
		     seconds(from, b->from + BINS * b->width));
		height += 24;
	}
	free(b);
	rama_path_servers_fini(&s);
	return height;
}

const struct rama_path_picture rama_path_pictures[RAMA_PATH_PICTURES] = {
	{ "layers", "What each layer took",
	  "the slowest calls, in order of time; by number of call", draw_layers },
	{ "rates", "Throughput",
	  "of the same calls; that of sub-calls adds up, as each of them had it", draw_rates },
	{ "gaps", "Where calls waited", "requests, and the time before, between and after them",
	  draw_gaps },
	{ "servers", "Servers over time", "how many requests each had under way", draw_servers },
};

/* ---- all in one ----------------------------------------------------------------------------- */

int rama_path_print_svg(const struct rama_path *p, const struct rama_path_ask *ask,
			struct rama_out *out)
{
	struct rama_out body, one;
	double y = 10;
	int rc;

	rama_out_init(&body, NULL, NULL); /* the height is known last */
	for (unsigned i = 0; i < RAMA_PATH_PICTURES; i++) {
		const struct rama_path_picture *k = &rama_path_pictures[i];
		double height;

		rama_out_init(&one, NULL, NULL);
		height = k->draw(p, ask, y + 40, &one);
		if (height > 0) {
			text(&body, LEFT, y + 20, "ip-h", "start", k->title);
			text(&body, LEFT, y + 36, "ip-s", "start", k->note);
			rama_out_bytes(&body, one.buf, one.used);
			y += 40 + height + 14;
		}
		if (one.error != 0)
			body.error = one.error;
		rama_out_fini(&one);
	}
	rama_out_fmt(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ip\" viewBox=\"0 0 %d %.0f\" "
		"width=\"%d\" height=\"%.0f\" role=\"img\">\n<title>where the time of calls "
		"went</title>\n<style>\n%s@media(prefers-color-scheme:dark){%s}\n</style>\n"
		"<rect x=\".5\" y=\".5\" width=\"%d\" height=\"%.0f\" rx=\"8\" "
		"class=\"ip-bg\"/>\n",
		RAMA_PATH_PICTURE_WIDTH, y, RAMA_PATH_PICTURE_WIDTH, y, rama_path_picture_style,
		rama_path_picture_dark, RAMA_PATH_PICTURE_WIDTH - 1, y - 1);
	rama_out_bytes(out, body.buf, body.used);
	rama_out_text(out, "</svg>\n");
	rc = body.error;
	rama_out_fini(&body);
	return rc;
}
