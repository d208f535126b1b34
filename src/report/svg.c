/* SPDX-License-Identifier: BSD-3-Clause */
/* svg.c: the report as one picture: verdict, bar of the run time, findings, timeline, sizes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/form/svg.h"
#include "report/form.h"
#include "report/svg.h"
#include "report/words.h"

#define FINDINGS_MOST 5
#define VERDICT_CHARS 86 /* of a line, in its size */
#define TITLE_CHARS 100

/* Light and dark; the ramp is viridis, without the end that is like the page. */
static const char style[] =
	".ir{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
	"Sans',sans-serif;font-variant-numeric:tabular-nums}\n"
	".ir-bg{fill:#fff;stroke:#dfe4ea}.ir-t{fill:#1a202c}.ir-d{fill:#5a6473}"
	".ir-s{fill:#5a6473;font-size:11px}\n"
	".ir-v{fill:#1a202c;font-size:18px;font-weight:600}.ir-h{fill:#1a202c;"
	"font-size:15px;font-weight:600}\n"
	".ir-r{fill:#2b6cb0}.ir-w{fill:#c05621}.ir-m{fill:#6b46c1}.ir-o{fill:#"
	"cbd2db}.ir-f{fill:#f1f4f7}\n"
	".ir-HIGH{fill:#c53030}.ir-WARN{fill:#8a5a12}.ir-INFO{fill:#5a6473}.ir-"
	"c{fill:#fff;font-size:11px;font-weight:600}\n"
	".ir-l{stroke:#dfe4ea;fill:none}.ir-b{fill:#c53030;opacity:.12}.ir-p{fill:#2f855a}.ir-k{"
	"fill:#c53030;font-size:11px;font-weight:600}\n";
static const char dark[] =
	".ir-bg{fill:#12161d;stroke:#2d3642}.ir-t,.ir-v,.ir-h{fill:#e4e8ee}.ir-d,.ir-s{fill:#"
	"9aa5b4}\n"
	".ir-r{fill:#63a4e8}.ir-w{fill:#ed8b4f}.ir-m{fill:#a78bfa}.ir-o{fill:#3d4756}.ir-f{fill:#"
	"1a2029}\n"
	".ir-l{stroke:#2d3642}.ir-p{fill:#68d391}.ir-b{fill:#fc8f8f;opacity:.16}.ir-k{fill:#fc8f8f;"
	"stroke:#12161d}\n";
static const char *const ramp[] = { "440154", "481a6c", "472f7d", "414487", "39568c", "31688e",
				    "2a788e", "23888e", "1f988b", "22a884", "35b779", "54c568",
				    "7ad151", "a5db36", "d2e21b", "fde725" };
#define LIGHT_SKIPS 2 /* levels of the ramp that would vanish on a white page */
#define DARK_SKIPS 3  /* levels of the ramp that would vanish on a dark page */

/* ---- words ----------------------------------------------------------------------------------- */

void rama_report_svg_text(struct rama_report_svg_page *g, double x, double y, const char *class,
			  const char *anchor, const char *s)
{
	char look[80];

	if (strcmp(anchor, "start") != 0)
		snprintf(look, sizeof(look), "class=\"%s\" text-anchor=\"%s\"", class, anchor);
	else
		snprintf(look, sizeof(look), "class=\"%s\"", class);
	rama_svg_text(g->o, x, y, look, s, RAMA_XML_MARK);
	rama_out_char(g->o, '\n');
}

void rama_report_svg_rect(struct rama_report_svg_page *g, double x, double y, double w, double h,
			  const char *class)
{
	char look[80];

	snprintf(look, sizeof(look), "class=\"%s\"", class);
	rama_svg_rect(g->o, x, y, w, h, look);
	rama_out_char(g->o, '\n');
}

void rama_report_svg_title(struct rama_report_svg_page *g, const char *title, const char *note)
{
	g->y += 30;
	rama_report_svg_text(g, RAMA_REPORT_SVG_LEFT, g->y, "ir-h", "start", title);
	g->y += 16;
	rama_report_svg_text(g, RAMA_REPORT_SVG_LEFT, g->y, "ir-s", "start", note);
	g->y += 8;
}

/* the first n characters at most, ending at a word if it can; returns the rest */
static const char *cut_line(char *to, size_t room, const char *s, unsigned n)
{
	const char *end = s, *word = NULL;

	for (; *end != '\0' && n > 0; n--) {
		if (*end == ' ')
			word = end;
		end++;
		while (((unsigned char)*end & 0xc0) == 0x80)
			end++;
	}
	if (*end != '\0' && word != NULL)
		end = word;
	snprintf(to, room, "%.*s", (int)(end - s), s);
	while (*end == ' ')
		end++;
	return end;
}

/* ---- the upper part -------------------------------------------------------------------------- */

static void put_head(struct rama_report_svg_page *g)
{
	const struct rama_job_view *v = g->v;
	char line[800], n[RAMA_HUMAN], who[RAMA_REPORT_WHO], date[RAMA_REPORT_DATE];

	rama_report_date_text(date, v->start_sec);
	snprintf(line, sizeof(line), "%.200s · job %lld · %s%s · %s", v->name, (long long)v->jobid,
		 rama_report_words_who(v, who), date, rama_human_duration(n, v->run_time));
	g->y = 30;
	rama_report_svg_text(g, RAMA_REPORT_SVG_LEFT, g->y, "ir-d", "start", line);
	rama_report_svg_text(g, RAMA_REPORT_SVG_RIGHT, g->y, "ir-s", "end",
			     "iorama " IORAMA_BUILD_VERSION);
	for (size_t i = 0; i < g->d->n_banner && i < 3; i++) {
		g->y += 20;
		rama_report_svg_text(g, RAMA_REPORT_SVG_LEFT, g->y, "ir-k", "start",
				     g->d->banner[i]);
	}
}

void rama_report_svg_verdict(struct rama_report_svg_page *g, const char *rest)
{
	char line[600];

	g->y += 6;
	for (unsigned i = 0; i < 4 && *rest != '\0'; i++) {
		rest = cut_line(line, sizeof(line), rest, VERDICT_CHARS);
		g->y += 25;
		rama_report_svg_text(g, RAMA_REPORT_SVG_LEFT, g->y, "ir-v", "start", line);
	}
}

static void put_bar(struct rama_report_svg_page *g)
{
	const struct {
		const char *name, *class;
		double share;
	} part[] = { { "read", "ir-r", g->d->read_share },
		     { "write", "ir-w", g->d->write_share },
		     { "metadata", "ir-m", g->d->meta_share },
		     { "other", "ir-o", g->d->other_share } };
	double x = RAMA_REPORT_SVG_LEFT, at = RAMA_REPORT_SVG_LEFT,
	       wide = RAMA_REPORT_SVG_RIGHT - RAMA_REPORT_SVG_LEFT;

	g->y += 14;
	rama_report_svg_rect(g, RAMA_REPORT_SVG_LEFT, g->y, wide, 14, "ir-f");
	for (unsigned i = 0; i < 4; i++) {
		double share = part[i].share > 0 ? part[i].share : 0;
		char n[RAMA_HUMAN], label[80];

		if (x + share * wide > RAMA_REPORT_SVG_RIGHT + 0.5)
			share = (RAMA_REPORT_SVG_RIGHT - x) / wide;
		if (share > 0)
			rama_report_svg_rect(g, x, g->y, share * wide, 14, part[i].class);
		x += share * wide;
		rama_report_svg_rect(g, at, g->y + 22, 10, 10, part[i].class);
		snprintf(label, sizeof(label), "%s %s", part[i].name,
			 rama_human_share(n, part[i].share));
		rama_report_svg_text(g, at + 15, g->y + 31, "ir-d", "start", label);
		at += 150;
	}
	g->y += 34;
}

static void put_numbers(struct rama_report_svg_page *g)
{
	const struct rama_job_view *v = g->v;
	char line[400], n[5][RAMA_HUMAN], ranks[2 * RAMA_HUMAN + 40] = "";

	if (v->active_ranks >= 0 && v->nprocs > 1 && !v->processes)
		snprintf(ranks, sizeof(ranks), " · %s of %s ranks move data",
			 rama_human_count(n[0], v->active_ranks),
			 rama_human_count(n[1], v->nprocs));
	rama_human_bytes(n[0], (double)v->disk.bytes_read);
	rama_human_bytes(n[1], (double)v->disk.bytes_written);
	rama_human_rate(n[2], v->rate);
	rama_human_count(n[3], (int64_t)v->n_real);
	snprintf(line, sizeof(line), "read %s · written %s · %s · %s file%s%s", n[0], n[1], n[2],
		 n[3], v->n_real == 1 ? "" : "s", ranks);
	g->y += 22;
	rama_report_svg_text(g, RAMA_REPORT_SVG_LEFT, g->y, "ir-t", "start", line);
	g->y += 8;
}

void rama_report_svg_line(struct rama_report_svg_page *g, double x, const char *text)
{
	char line[600];

	if (*cut_line(line, sizeof(line) - 4, text, TITLE_CHARS) != '\0')
		memcpy(line + strlen(line), "…", sizeof("…"));
	rama_report_svg_text(g, x, g->y, "ir-t", "start", line);
}

static void put_finding(struct rama_report_svg_page *g, const struct rama_diag_finding *f,
			double most)
{
	char n[RAMA_HUMAN], class[16];
	const char *level = rama_diag_level_name[f->level];

	g->y += 25;
	snprintf(class, sizeof(class), "ir-%s", level);
	rama_report_svg_text(g, 90, g->y, "ir-t", "end", rama_human_seconds(n, f->cost));
	if (most > 0)
		rama_report_svg_rect(g, 98, g->y - 11, 70 * f->cost / most, 13, class);
	rama_report_svg_rect(g, 178, g->y - 12, 44, 16, class);
	rama_report_svg_text(g, 200, g->y, "ir-c", "middle", level);
	rama_report_svg_line(g, 232, f->title);
	rama_report_svg_text(g, RAMA_REPORT_SVG_RIGHT, g->y, "ir-s", "end", f->rule->id);
}

static void put_findings(struct rama_report_svg_page *g)
{
	size_t n = 0;
	double most = 0;
	char line[80];

	for (size_t i = 0; i < g->d->n_findings; i++)
		if (g->d->findings[i].level >= RAMA_DIAG_LEVEL_WARN &&
		    g->d->findings[i].cost > most)
			most = g->d->findings[i].cost;
	for (size_t i = 0; i < g->d->n_findings && n < FINDINGS_MOST; i++) {
		if (g->d->findings[i].level < RAMA_DIAG_LEVEL_WARN)
			continue;
		put_finding(g, &g->d->findings[i], most);
		n++;
	}
	if (g->d->n_high + g->d->n_warn > n) {
		g->y += 20;
		snprintf(line, sizeof(line), "and %zu more", g->d->n_high + g->d->n_warn - n);
		rama_report_svg_text(g, 232, g->y, "ir-s", "start", line);
	}
	g->y += 6;
}

/* ---- sizes of requests: calls and bytes in each class, side by side -------------------------- */

#define HEIGHT 110
#define PANEL 460

static const char *const class_label[RAMA_JOB_SIZE_BINS] = { "100", "1K",  "10K",  "100K", "1M",
							     "4M",  "10M", "100M", "1G",   "more" };

/* the layer whose sizes are shown: the highest one that has them */
static const struct rama_job_view_layer *sized_layer(const struct rama_job_view *v,
						     const char **name)
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

static void put_sizes(struct rama_report_svg_page *g)
{
	const char *name = NULL;
	const struct rama_job_view_layer *l = sized_layer(g->v, &name);
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

/* ---- the document ---------------------------------------------------------------------------- */

/* On white, more is darker, as on the page: the bright end of the ramp would vanish. */
static const char *light_level(unsigned i)
{
	return ramp[(RAMA_REPORT_SVG_LEVELS - 1 - i) * (RAMA_REPORT_SVG_LEVELS - LIGHT_SKIPS) /
		    RAMA_REPORT_SVG_LEVELS];
}

struct rama_report_svg_look rama_report_svg_look(const char *class, size_t n)
{
	struct rama_report_svg_look l = { .size = 13 };
	char want[24], *end;
	const char *at;

	snprintf(want, sizeof(want), ".%.*s{", (int)(n < 20 ? n : 20), class);
	if (n > 4 && memcmp(class, "ir-h", 4) == 0) {
		unsigned long level = strtoul(class + 4, &end, 10);

		at = light_level(level < RAMA_REPORT_SVG_LEVELS ? (unsigned)level : 0);
		l.colour = (uint32_t)strtoul(at, NULL, 16);
		return l;
	}
	at = strstr(style, want);
	for (const char *stop = at != NULL ? strchr(at, '}') : NULL; at < stop; at++) {
		if (strncmp(at, "fill:#", 6) == 0 || strncmp(at, "stroke:#", 8) == 0) {
			const char *hex = strchr(at, '#') + 1;
			uint32_t rgb = (uint32_t)strtoul(hex, &end, 16);

			l.stroke = l.stroke || *at == 's';
			l.colour = end - hex == 3 ? (rgb & 0xf00) * 0x1100 + (rgb & 0xf0) * 0x110 +
							    (rgb & 0xf) * 0x11
						  : rgb;
			at = end - 1;
		} else if (strncmp(at, "font-size:", 10) == 0) {
			l.size = strtod(at + 10, NULL);
		}
		l.bold = l.bold || strncmp(at, "font-weight:600", 15) == 0;
		l.faint = l.faint || strncmp(at, "opacity:", 8) == 0;
	}
	return l;
}

static void put_style(struct rama_out *o, bool both)
{
	rama_out_text(o, "<style>\n");
	rama_out_text(o, style);
	for (unsigned i = 0; i < RAMA_REPORT_SVG_LEVELS; i++)
		rama_out_fmt(o, ".ir-h%u{stroke:#%s;fill:#%s}", i, light_level(i), light_level(i));
	if (!both) {
		rama_out_text(o, "\n</style>\n");
		return;
	}
	rama_out_text(o, "\n@media(prefers-color-scheme:dark){");
	rama_out_text(o, dark);
	for (unsigned i = 0; i < RAMA_REPORT_SVG_LEVELS; i++) {
		unsigned k = DARK_SKIPS +
			     i * (RAMA_REPORT_SVG_LEVELS - DARK_SKIPS) / RAMA_REPORT_SVG_LEVELS;

		rama_out_fmt(o, ".ir-h%u{stroke:#%s;fill:#%s}", i, ramp[k], ramp[k]);
	}
	rama_out_text(o, "}\n</style>\n");
}

/* what a picture may have, by the words of --figure */
enum { HEAD = 1, FINDINGS = 2, TIMELINE = 4, SIZES = 8, ALL = 15 };
static const struct {
	const char *word;
	unsigned is;
} parts[] = { { "head", HEAD },
	      { "findings", FINDINGS },
	      { "timeline", TIMELINE },
	      { "sizes", SIZES },
	      { "all", ALL } };

/* 0: it has a word that is none of them */
static unsigned parts_of(const char *list)
{
	unsigned all = 0;

	for (size_t n; *list != '\0'; list += n + (list[n] == ',')) {
		unsigned one = 0;

		n = strcspn(list, ",");
		for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
			if (strlen(parts[i].word) == n && memcmp(list, parts[i].word, n) == 0)
				one = parts[i].is;
		if (one == 0)
			return 0;
		all |= one;
	}
	return all;
}

bool rama_report_figure_known(const char *list)
{
	return parts_of(list) != 0;
}

static void put_parts(struct rama_report_svg_page *g, unsigned which)
{
	if (which & HEAD) {
		put_head(g);
		rama_report_svg_verdict(g, g->d->verdict);
		put_bar(g);
		put_numbers(g);
	}
	if (which & FINDINGS)
		put_findings(g);
	if (which & TIMELINE)
		rama_report_svg_timeline(g);
	if (which & SIZES)
		put_sizes(g);
	g->y += 20;
}

static void put_document(struct rama_out *o, const struct rama_out *body, double height,
			 const char *title, bool both)
{
	rama_out_fmt(o,
		     "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ir\" viewBox=\"0 0 %d "
		     "%.0f\" width=\"%d\" height=\"%.0f\" "
		     "role=\"img\" style=\"max-width:100%%;height:auto\">\n<title>",
		     RAMA_REPORT_SVG_WIDTH, height, RAMA_REPORT_SVG_WIDTH, height);
	rama_xml_text(o, title, RAMA_XML_MARK);
	rama_out_text(o, "</title>\n");
	put_style(o, both);
	if (both)
		rama_out_fmt(o,
			     "<rect x=\".5\" y=\".5\" width=\"%d\" height=\"%.0f\" rx=\"8\" "
			     "class=\"ir-bg\"/>\n",
			     RAMA_REPORT_SVG_WIDTH - 1, height - 1);
	rama_out_bytes(o, body->buf, body->used);
	rama_out_text(o, "</svg>\n");
}

void rama_report_svg_finish(struct rama_out *o, struct rama_out *body, double height,
			    const char *title, bool both, enum rama_report_file file)
{
	if (file == RAMA_REPORT_FILE_pdf)
		rama_report_pdf(o, body->buf, body->used, RAMA_REPORT_SVG_WIDTH, height);
	else if (file == RAMA_REPORT_FILE_png)
		rama_report_png(o, body->buf, body->used, RAMA_REPORT_SVG_WIDTH, height);
	else
		put_document(o, body, height, title, both);
	if (body->error != 0 && o->error == 0)
		o->error = body->error;
	rama_out_fini(body);
}

static void draw(struct rama_out *o, const struct rama_report *r, unsigned which, bool both,
		 enum rama_report_file file)
{
	struct rama_out body;
	struct rama_report_svg_page g = { .o = &body, .v = r->view, .d = r->diagnosis };

	rama_out_init(&body, NULL, NULL); /* the height is known last */
	put_parts(&g, which);
	rama_report_svg_finish(o, &body, g.y, g.d->verdict, both, file);
}

void rama_report_svg(struct rama_out *o, const struct rama_report *r)
{
	draw(o, r, ALL, true, RAMA_REPORT_FILE_svg);
}

static void figure(struct rama_out *o, const struct rama_report *r, const struct rama_report_ask *a)
{
	draw(o, r, parts_of(a->figures != NULL ? a->figures : "all"), false, a->file);
}

const struct rama_report_form rama_report_form_figure = { .suffix = ".svg",
							  .report = figure,
							  .diff = rama_report_diff_figure,
							  .spread = rama_report_spread_figure };

static void svg(struct rama_out *o, const struct rama_report *r, const struct rama_report_ask *a)
{
	(void)a;
	rama_report_svg(o, r);
}

const struct rama_report_form rama_report_form_svg = { .suffix = ".svg",
						       .file = true,
						       .report = svg,
						       .diff = rama_report_diff_svg,
						       .spread = rama_report_spread_svg };
