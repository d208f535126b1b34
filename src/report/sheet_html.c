/* SPDX-License-Identifier: BSD-3-Clause */
/* sheet_html.c: papers as a page that needs nothing else, as Markdown and as CSV. */
#include <string.h>

#include "base/csv.h"
#include "base/xml.h"
#include "report/sheet.h"

#define BARS_MOST 32 /* columns that may have them */

/* ---- HTML ------------------------------------------------------------------------------------ */

static const char *const class_of[RAMA_REPORT_TONES] = { "", "good", "warn", "bad", "dim", "bold" };

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
	"@media(max-width:600px){main{padding:12px 12px 40px}h1{font-size:19px}th,td{padding:5px "
	"8px}td.w{min-width:12em}}\n"
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

static const char *cell_class(const struct rama_report_sheet_column *c)
{
	return c->unit != NULL ? "n" : c->wide ? "w" : "";
}

/* a row with a text in its first cell alone heads a group */
static bool heads_group(const struct rama_report_sheet *s, const struct rama_report_sheet_cell *row)
{
	for (unsigned c = 1; c < s->n_columns; c++)
		if (row[c].text != NULL)
			return false;
	return row[0].tone == RAMA_REPORT_TONE_BOLD;
}

/* the longest bar of a column; 0: it has none */
static double most_of(const struct rama_report_sheet *s, unsigned column)
{
	double most = 0;

	for (size_t r = 0; s->columns[column].bar && r < s->n_rows; r++)
		most = fmax(most, s->cells[r * s->n_columns + column].value); /* ignores NAN */
	return most;
}

static void html_cell(struct rama_out *o, const struct rama_report_sheet *s, unsigned c,
		      const struct rama_report_sheet_cell *cell, double most)
{
	rama_out_fmt(o, "<td class=\"%s%s %s\"", cell_class(&s->columns[c]), most > 0 ? " b" : "",
		     class_of[cell->tone]);
	if (most > 0)
		rama_out_fmt(o, " style=\"--p:%.1f%%\"",
			     cell->value > 0 ? 100 * cell->value / most : 0);
	if (isfinite(cell->value))
		rama_out_fmt(o, " data-v=\"%.9g\"", cell->value);
	rama_out_char(o, '>');
	rama_xml_text(o, cell->text != NULL ? cell->text : "", RAMA_XML_KEEP);
	rama_out_text(o, "</td>");
}

static void html_row(struct rama_out *o, const struct rama_report_sheet *s,
		     const struct rama_report_sheet_cell *row, const double *most)
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

static void html_sheet(struct rama_out *o, const struct rama_report_sheet *s)
{
	double most[BARS_MOST];

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
	rama_out_text(o, "\"><table><thead><tr>");
	for (unsigned c = 0; c < s->n_columns; c++) {
		rama_out_fmt(o, "<th scope=\"col\" class=\"%s\">", cell_class(&s->columns[c]));
		rama_xml_text(o, s->columns[c].header, RAMA_XML_KEEP);
		rama_out_text(o, "</th>");
	}
	rama_out_text(o, "</tr></thead><tbody>\n");
	for (unsigned c = 0; c < BARS_MOST; c++)
		most[c] = c < s->n_columns ? most_of(s, c) : 0;
	for (size_t r = 0; r < s->n_rows; r++)
		html_row(o, s, &s->cells[r * s->n_columns], most);
	rama_out_text(o, "</tbody></table></div>\n");
	if (s->more > 0 || s->more_uncounted)
		rama_out_fmt(o, "<p class=\"note\">and %s%u more</p>\n",
			     s->more_uncounted ? "more than " : "", s->more);
	if (s->note != NULL)
		put_p(o, "note", s->note);
	rama_out_text(o, "</section>\n");
}

void rama_report_paper_html(const struct rama_report_paper *p, struct rama_out *o)
{
	rama_out_text(o, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
			 "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
			 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
			 "'none'; style-src "
			 "'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
	rama_xml_text(o, p->title, RAMA_XML_KEEP);
	rama_out_text(o, "</title>\n<style>\n");
	rama_out_text(o, style);
	rama_out_text(o, "</style></head>\n<body><main>\n");
	for (unsigned i = 0; i < p->n_head; i++)
		put_p(o, class_of[p->head[i].tone], p->head[i].text);
	rama_out_fmt(o, "<h1 class=\"verdict %s\">", class_of[p->tone]);
	rama_xml_text(o, p->verdict != NULL ? p->verdict : p->title, RAMA_XML_KEEP);
	rama_out_text(o, "</h1>\n");
	for (unsigned i = 0; i < p->n_sheets; i++)
		html_sheet(o, &p->sheets[i]);
	for (unsigned i = 0; i < p->n_foot; i++)
		put_p(o, class_of[p->foot[i].tone], p->foot[i].text);
	rama_out_text(o, "<p class=\"note\">iorama " IORAMA_BUILD_VERSION "</p>\n</main><script>");
	rama_out_text(o, script);
	rama_out_text(o, "</script></body></html>\n");
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

static void mark_row(struct rama_out *o, const struct rama_report_sheet *s,
		     const struct rama_report_sheet_cell *row)
{
	for (unsigned c = 0; c < s->n_columns; c++) {
		const char *text = row[c].text != NULL ? row[c].text : "";
		bool strong = row[c].tone == RAMA_REPORT_TONE_BOLD && text[0] != '\0';

		mark_line(o, strong ? "| **" : "| ", text, strong ? "** " : " ");
	}
	rama_out_text(o, "|\n");
}

static void mark_sheet(struct rama_out *o, const struct rama_report_sheet *s)
{
	if (s->data || (s->n_rows == 0 && s->none == NULL))
		return;
	mark_line(o, "\n## ", s->title, "\n\n");
	if (s->n_rows == 0) {
		mark_line(o, "", s->none, "\n");
		return;
	}
	for (unsigned c = 0; c < s->n_columns; c++)
		mark_line(o, "| ", s->columns[c].header, " ");
	rama_out_text(o, "|\n");
	for (unsigned c = 0; c < s->n_columns; c++)
		rama_out_text(o, s->columns[c].unit != NULL ? "|---:" : "|---");
	rama_out_text(o, "|\n");
	for (size_t r = 0; r < s->n_rows; r++)
		mark_row(o, s, &s->cells[r * s->n_columns]);
	if (s->more > 0 || s->more_uncounted)
		rama_out_fmt(o, "\nand %s%u more\n", s->more_uncounted ? "more than " : "",
			     s->more);
	if (s->note != NULL)
		mark_line(o, "\n", s->note, "\n");
}

void rama_report_paper_markdown(const struct rama_report_paper *p, struct rama_out *o)
{
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

/* ---- CSV ------------------------------------------------------------------------------------- */

/* the shortest number that reads back the same, whole numbers without an exponent */
static void number(struct rama_out *o, double v)
{
	if (v == floor(v) && fabs(v) < 9e15)
		rama_out_i64(o, (int64_t)v);
	else
		rama_out_fmt(o, "%.9g", v);
}

void rama_report_sheet_csv(const struct rama_report_sheet *s, struct rama_out *o)
{
	for (unsigned c = 0; c < s->n_columns; c++) {
		rama_out_text(o, c > 0 ? "," : "");
		rama_out_text(o, s->columns[c].key);
	}
	rama_out_char(o, '\n');
	for (size_t r = 0; r < s->n_rows; r++) {
		const struct rama_report_sheet_cell *row = &s->cells[r * s->n_columns];

		for (unsigned c = 0; c < s->n_columns; c++) {
			rama_out_text(o, c > 0 ? "," : "");
			if (s->columns[c].unit != NULL && isfinite(row[c].value))
				number(o, row[c].value);
			else if (s->columns[c].unit == NULL && row[c].text != NULL)
				rama_csv_text(o, row[c].text);
		}
		rama_out_char(o, '\n');
	}
}
