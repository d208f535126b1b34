/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/paper.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/human.h"
#include "base/form/text.h"
#include "base/form/xml.h"
#include "report/form.h"

#define CELLS_MOST 64 /* columns of a table */

void rama_report_paper_fini(struct rama_report_paper *p)
{
	for (unsigned i = 0; i < p->n_sheets; i++)
		rama_grid_fini(&p->sheets[i]);
	rama_arena_fini(&p->arena);
	*p = (struct rama_report_paper){ 0 };
}

const char *rama_report_paper_fmt(struct rama_report_paper *p, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	text = n >= 0 ? rama_arena_alloc(&p->arena, (size_t)n + 1) : NULL;
	if (text == NULL) {
		p->failed = true;
		return "";
	}
	va_start(ap, fmt);
	vsnprintf(text, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return text;
}

const char *rama_report_paper_text(struct rama_report_paper *p, const char *s)
{
	size_t n = strlen(s), used = 0;
	char *to = rama_arena_alloc(&p->arena, 3 * n + 1);

	if (to == NULL) {
		p->failed = true;
		return "";
	}
	for (size_t i = 0; i < n;) {
		unsigned len = rama_text_sound(s + i);

		if (len > 0) {
			memcpy(to + used, s + i, len);
			used += len;
			i += len;
		} else {
			memcpy(to + used, "\xef\xbf\xbd", 3);
			used += 3;
			i++;
		}
	}
	to[used] = '\0';
	return to;
}

const char *rama_report_date_text(char to[RAMA_REPORT_DATE], int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;
	char rest[48];

	to[0] = '\0';
	if (seconds > 0 && gmtime_r(&t, &tm) != NULL &&
	    strftime(rest, sizeof(rest), "%b %Y %H:%M UTC", &tm) > 0)
		snprintf(to, RAMA_REPORT_DATE, " · %d %s", tm.tm_mday, rest);
	return to;
}

static void add_line(struct rama_report_line *lines, unsigned *n, struct rama_report_line line)
{
	if (*n < RAMA_REPORT_PAPER_LINES)
		lines[(*n)++] = line;
}

void rama_report_paper_head(struct rama_report_paper *p, enum rama_tone tone, const char *text)
{
	add_line(p->head, &p->n_head, (struct rama_report_line){ text, tone });
}

void rama_report_paper_foot(struct rama_report_paper *p, enum rama_tone tone, const char *text)
{
	add_line(p->foot, &p->n_foot, (struct rama_report_line){ text, tone });
}

struct rama_grid *rama_report_paper_sheet(struct rama_report_paper *p, const char *key,
					  const char *title, const struct rama_grid_column *columns,
					  unsigned n_columns)
{
	/* the number of sheets is known when a paper is written down: the last one takes what is
	 * too much */
	struct rama_grid *s =
		&p->sheets[p->n_sheets < RAMA_REPORT_PAPER_SHEETS ? p->n_sheets++
								  : RAMA_REPORT_PAPER_SHEETS - 1];

	rama_grid_fini(s);
	*s = (struct rama_grid){
		.key = key, .title = title, .columns = columns, .n_columns = n_columns
	};
	return s;
}

struct rama_grid_cell *rama_report_paper_row(struct rama_report_paper *p, struct rama_grid *s)
{
	static struct rama_grid_cell nobody[CELLS_MOST];
	struct rama_grid_cell *row = rama_grid_row(s);

	p->failed = p->failed || row == NULL;
	return row != NULL ? row : nobody;
}

const struct rama_grid *rama_report_paper_find(const struct rama_report_paper *p, const char *key)
{
	for (unsigned i = 0; i < p->n_sheets; i++)
		if (strcmp(p->sheets[i].key, key) == 0)
			return &p->sheets[i];
	return NULL;
}

struct rama_grid_cell rama_report_paper_value(struct rama_report_paper *p, const char *unit,
					      double value)
{
	char text[RAMA_HUMAN];

	if (!isfinite(value))
		return (struct rama_grid_cell){ .text = "–", .value = NAN, .tone = RAMA_TONE_DIM };
	return (struct rama_grid_cell){ .text = rama_report_paper_fmt(
						p, "%s", rama_human_value(text, unit, value)),
					.value = value };
}

/* ---- text ------------------------------------------------------------------------------------ */

void rama_report_paper_print(const struct rama_report_paper *paper, struct rama_out *o,
			     const struct rama_grid_style *style)
{
	for (unsigned i = 0; i < paper->n_head; i++)
		rama_grid_put_line(o, style, paper->head[i].text, paper->head[i].tone, 0, 3);
	if (paper->verdict != NULL)
		rama_grid_put_line(o, style, paper->verdict, RAMA_TONE_BOLD, 0, 0);
	for (unsigned i = 0; i < paper->n_sheets; i++)
		rama_grid_text(o, &paper->sheets[i], style);
	if (paper->n_foot > 0)
		rama_out_char(o, '\n');
	for (unsigned i = 0; i < paper->n_foot; i++)
		rama_grid_put_line(o, style, paper->foot[i].text, paper->foot[i].tone, 0, 3);
}

/* ---- HTML ------------------------------------------------------------------------------------ */

/* colours have a contrast of 4.5 and more on their ground, in light and in dark */
static const char style[] =
	":root{color-scheme:light "
	"dark;--bg:#fff;--fg:#1a202c;--dim:#5a6473;--line:#dfe4ea;--card:#f6f8fa;--good:#276749;"
	"--warn:#8a5a12;--bad:#c53030;--bar:#f3d3cf}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#12161d;--fg:#e4e8ee;--dim:#9aa5b4;--line:#"
	"2d3642;--card:#1a2029;"
	"--good:#68d391;--warn:#ecc15b;--bad:#fc8f8f;--bar:#5b2c2c}}\n"
	"*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);"
	"font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n"
	"main{max-width:1200px;margin:0 auto;padding:20px 24px "
	"60px}h1{font-size:22px;line-height:1.35;margin:14px 0 6px;"
	"overflow-wrap:anywhere}h2{font-size:16px;margin:34px 0 6px}p{margin:4px "
	"0;overflow-wrap:anywhere}\n"
	".verdict{border-left:5px solid var(--dim);padding:2px 0 2px "
	"14px}.verdict.good{border-color:var(--good)}"
	".verdict.bad{border-color:var(--bad)}.verdict.warn{border-color:var(--warn)}\n"
	".good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}.dim,.note{color:"
	"var(--dim)}.bold{font-weight:600}"
	".verdict{color:var(--fg)!important}.note{font-size:13px}\n"
	".t{overflow-x:auto;border:1px solid var(--line);border-radius:8px;background:var(--card)}"
	"table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-"
	"nums}\n"
	"th,td{padding:5px 12px;text-align:left;white-space:nowrap;border-top:1px solid "
	"var(--line)}thead th{border-top:0;"
	"color:var(--dim);font-weight:600}td.n,th.n{text-align:right}td.w{white-space:normal;min-"
	"width:16em;"
	"overflow-wrap:anywhere}td.g{font-weight:600;color:var(--dim);padding-top:14px}\n"
	"th button{all:unset;cursor:pointer}th button:focus-visible{outline:2px solid "
	"var(--fg);outline-offset:2px}"
	"th[aria-sort=ascending] button::after{content:' \\2191'}th[aria-sort=descending] "
	"button::after{content:' \\2193'}\n"
	"td.b{background:linear-gradient(to left,var(--bar) var(--p),transparent var(--p))}\n"
	"tbody tr:hover{background:color-mix(in srgb,var(--line) 45%,transparent)}\n"
	"@media(max-width:900px){thead th{white-space:normal;vertical-align:bottom}"
	"td.w{min-width:10em}}\n"
	"@media(max-width:600px){main{padding:12px 12px 40px}h1{font-size:19px}th,td{padding:5px "
	"8px}}\n"
	"@media "
	"print{body{background:#fff;color:#000}.t{border:0;background:none;overflow:visible}h2{"
	"break-after:avoid}"
	"tr{break-inside:avoid}}\n";

/* a click on a header sorts its table by the plain values; groups of rows (td.g) stay as they
 * are */
static const char script[] =
	"for(const t of document.querySelectorAll('table')){if(t.querySelector('td.g'))continue;"
	"t.querySelectorAll('thead th').forEach((h,i)=>{const "
	"b=document.createElement('button');b.type='button';"
	"b.append(...h.childNodes);h.append(b);b.onclick=()=>{const "
	"up=h.getAttribute('aria-sort')==='descending';"
	"t.querySelectorAll('thead th').forEach(x=>x.removeAttribute('aria-sort'));"
	"h.setAttribute('aria-sort',up?'ascending':'descending');const k=r=>{const "
	"c=r.cells[i],v=c.dataset.v;"
	"return v===undefined?c.textContent:+v},o=t.tBodies[0],r=[...o.rows];"
	"r.sort((x,y)=>{const a=k(x),c=k(y),d=typeof a==='number'&&typeof "
	"c==='number'?a-c:String(a).localeCompare(String(c));"
	"return up?d:-d});o.append(...r)}})}";

static void put_p(struct rama_out *o, const char *class, const char *text)
{
	rama_out_fmt(o, "<p class=\"%s\">", class);
	rama_xml_text(o, text, RAMA_XML_KEEP);
	rama_out_text(o, "</p>\n");
}

static void put_more(struct rama_out *o, const struct rama_grid *s, const char *before,
		     const char *after)
{
	if (s->more > 0 || s->more_uncounted)
		rama_out_fmt(o, "%sand %s%u more%s\n", before,
			     s->more_uncounted ? "more than " : "", s->more, after);
}

static void html_sheet(struct rama_out *o, const struct rama_grid *s)
{
	if (s->data || (s->n_rows == 0 && s->none == NULL))
		return;
	rama_out_fmt(o, "<section aria-labelledby=\"%s\"><h2 id=\"%s\">", s->key, s->key);
	rama_xml_text(o, s->title, RAMA_XML_KEEP);
	rama_out_text(o, "</h2>\n");
	if (s->n_rows == 0) {
		put_p(o, "dim", s->none);
		rama_out_text(o, "</section>\n");
		return;
	}
	rama_out_text(o, "<div class=\"t\" tabindex=\"0\" role=\"region\" aria-label=\"");
	rama_xml_text(o, s->title, RAMA_XML_KEEP);
	rama_out_text(o, "\">");
	rama_grid_html(o, s);
	rama_out_text(o, "</div>\n");
	put_more(o, s, "<p class=\"note\">", "</p>");
	if (s->note != NULL)
		put_p(o, "note", s->note);
	rama_out_text(o, "</section>\n");
}

void rama_report_paper_html(struct rama_out *o, const struct rama_report_paper *p,
			    const struct rama_report_ask *a)
{
	rama_out_text(o, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
			 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
			 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
			 "'none'; style-src 'unsafe-inline'");
	rama_out_text(o, a->mail ? "\">\n<title>" : "; script-src 'unsafe-inline'\">\n<title>");
	rama_xml_text(o, p->title, RAMA_XML_KEEP);
	rama_out_text(o, "</title>\n<style>\n");
	rama_out_text(o, style);
	rama_out_text(o, "</style></head>\n<body><main>\n");
	for (unsigned i = 0; i < p->n_head; i++)
		put_p(o, rama_tone_class[p->head[i].tone], p->head[i].text);
	rama_out_fmt(o, "<h1 class=\"verdict %s\">", rama_tone_class[p->tone]);
	rama_xml_text(o, p->verdict != NULL ? p->verdict : p->title, RAMA_XML_KEEP);
	rama_out_text(o, "</h1>\n");
	for (unsigned i = 0; i < p->n_sheets; i++)
		html_sheet(o, &p->sheets[i]);
	for (unsigned i = 0; i < p->n_foot; i++)
		put_p(o, rama_tone_class[p->foot[i].tone], p->foot[i].text);
	rama_out_text(o, "<p class=\"note\">iorama " IORAMA_BUILD_VERSION "</p>\n</main>");
	if (!a->mail) {
		rama_out_text(o, "<script>");
		rama_out_text(o, script);
		rama_out_text(o, "</script>");
	}
	rama_out_text(o, "</body></html>\n");
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* characters that would mean something else there */
static void mark(struct rama_out *o, const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '<') {
			rama_out_text(o, "&lt;");
			continue;
		}
		if (strchr("\\|*_`#[]", *s) != NULL)
			rama_out_char(o, '\\');
		rama_out_char(o, *s);
	}
}

static void mark_line(struct rama_out *o, const char *before, const char *s, const char *after)
{
	rama_out_text(o, before);
	mark(o, s);
	rama_out_text(o, after);
}

static void mark_sheet(struct rama_out *o, const struct rama_grid *s)
{
	if (s->data || (s->n_rows == 0 && s->none == NULL))
		return;
	mark_line(o, "\n## ", s->title, "\n\n");
	if (s->n_rows == 0) {
		mark_line(o, "", s->none, "\n");
		return;
	}
	rama_grid_markdown(o, s, mark);
	put_more(o, s, "\n", "");
	if (s->note != NULL)
		mark_line(o, "\n", s->note, "\n");
}

void rama_report_paper_markdown(struct rama_out *o, const struct rama_report_paper *p,
				const struct rama_report_ask *a)
{
	(void)a;
	mark_line(o, "# ", p->title, "\n\n");
	if (p->verdict != NULL)
		mark_line(o, "**", p->verdict, "**\n\n");
	for (unsigned i = 0; i < p->n_head; i++)
		mark_line(o, "* ", p->head[i].text, "\n");
	for (unsigned i = 0; i < p->n_sheets; i++)
		mark_sheet(o, &p->sheets[i]);
	if (p->n_foot > 0)
		rama_out_char(o, '\n');
	for (unsigned i = 0; i < p->n_foot; i++)
		mark_line(o, "* ", p->foot[i].text, "\n");
}
