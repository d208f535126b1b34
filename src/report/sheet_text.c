/* SPDX-License-Identifier: BSD-3-Clause */
/* sheet_text.c: papers on terminals and in pipes. */
#include <string.h>

#include "report/sheet.h"

#define COLUMNS_MOST 32
#define WIDE_LEAST 12 /* a name shorter than this says nothing */
#define WIDE_GOOD 30  /* columns are dropped before names get shorter than this */
#define GAP 2

struct printer {
	struct rama_out *o;
	const struct rama_report_paper_style *style;
};

static const char *const colour[RAMA_REPORT_TONES] = { "",	   "\033[32m", "\033[33m",
						       "\033[31m", "\033[2m",  "\033[1m" };

/* what a terminal without UTF-8 shows instead */
static const char *const plain[][2] = { { "–", "-" }, { "−", "-" },  { "→", "->" },
					{ "×", "x" }, { "µ", "u" },  { "·", "-" },
					{ "…", "~" }, { "≤", "<=" }, { "\xef\xbf\xbd", "?" } };

static void put_char(const struct printer *p, const char *s, unsigned len)
{
	if (p->style->utf8 || len == 1) {
		rama_out_bytes(p->o, s, len);
		return;
	}
	for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		if (strlen(plain[i][0]) == len && memcmp(plain[i][0], s, len) == 0) {
			rama_out_text(p->o, plain[i][1]);
			return;
		}
	}
	rama_out_char(p->o, '?');
}

static unsigned char_length(const char *s)
{
	unsigned n = 1;

	while (((unsigned char)s[n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* at most n characters */
static const char *put_some(const struct printer *p, const char *s, unsigned n)
{
	for (; *s != '\0' && n > 0; n--) {
		unsigned len = char_length(s);

		put_char(p, s, len);
		s += len;
	}
	return s;
}

static void blanks(const struct printer *p, unsigned n)
{
	while (n-- > 0)
		rama_out_char(p->o, ' ');
}

static void tone(const struct printer *p, enum rama_report_tone t)
{
	if (p->style->colour && t != RAMA_REPORT_TONE_PLAIN)
		rama_out_text(p->o, colour[t]);
}

static void end_tone(const struct printer *p, enum rama_report_tone t)
{
	if (p->style->colour && t != RAMA_REPORT_TONE_PLAIN)
		rama_out_text(p->o, "\033[0m");
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* wrapped between words; the line is filled up to `at` already, further ones are indented */
static void put_line(const struct printer *p, const char *s, enum rama_report_tone t, unsigned at,
		     unsigned indent)
{
	unsigned width = p->style->width;

	tone(p, t);
	while (*s != '\0') {
		unsigned gap = (unsigned)strspn(s, " "), n = 0;
		size_t bytes = strcspn(s + gap, " ");

		s += gap;
		for (size_t i = 0; i < bytes; i++)
			n += ((unsigned char)s[i] & 0xc0) != 0x80;
		if (at > indent && at + gap + n > width) {
			rama_out_char(p->o, '\n');
			at = 0;
			gap = indent;
		}
		blanks(p, n > 0 ? gap : 0);
		put_some(p, s, n);
		at += gap + n;
		s += bytes;
	}
	end_tone(p, t);
	rama_out_char(p->o, '\n');
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct layout {
	unsigned width[COLUMNS_MOST];
	bool shown[COLUMNS_MOST];
};

static unsigned total_width(const struct layout *l, unsigned n)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += l->shown[i] ? l->width[i] + GAP : 0;
	return sum;
}

static void natural_widths(struct layout *l, const struct rama_report_sheet *s, unsigned n)
{
	for (unsigned c = 0; c < n; c++) {
		l->width[c] = rama_text_width(s->columns[c].header);
		l->shown[c] = true;
		for (size_t r = 0; r < s->n_rows; r++) {
			const char *text = s->cells[r * s->n_columns + c].text;
			unsigned w = text != NULL ? rama_text_width(text) : 0;

			l->width[c] = w > l->width[c] ? w : l->width[c];
		}
	}
}

/* the column that goes next on a narrow terminal; n: none */
static unsigned dropped_next(const struct layout *l, const struct rama_report_sheet *s, unsigned n)
{
	unsigned found = n;

	for (unsigned c = 0; c < n; c++)
		if (l->shown[c] && s->columns[c].drop > 0 &&
		    (found == n || s->columns[c].drop > s->columns[found].drop))
			found = c;
	return found;
}

/* columns that belong together go together */
static void drop(struct layout *l, const struct rama_report_sheet *s, unsigned n, unsigned group)
{
	for (unsigned c = 0; c < n; c++)
		if (s->columns[c].drop == group)
			l->shown[c] = false;
}

/* what the table needs if its names are cut to `least` */
static unsigned least_width(const struct layout *l, const struct rama_report_sheet *s, unsigned n,
			    unsigned least)
{
	unsigned sum = total_width(l, n);

	for (unsigned c = 0; c < n; c++)
		if (l->shown[c] && s->columns[c].wide && l->width[c] > least)
			sum -= l->width[c] - least;
	return sum;
}

static void shrink_wide(struct layout *l, const struct rama_report_sheet *s, unsigned n,
			unsigned width, unsigned least)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned c = n - 1 - i, sum = total_width(l, n), *w = &l->width[c];

		if (sum <= width || !l->shown[c] || !s->columns[c].wide || *w <= least)
			continue;
		*w -= sum - width < *w - least ? sum - width : *w - least;
	}
}

/* Names give way first, but not below what is readable; then columns go, then names give way
 * again. */
static void fit(struct layout *l, const struct rama_report_sheet *s, unsigned n, unsigned width)
{
	natural_widths(l, s, n);
	while (least_width(l, s, n, WIDE_GOOD) > width) {
		unsigned c = dropped_next(l, s, n);

		if (c == n)
			break;
		drop(l, s, n, s->columns[c].drop);
	}
	shrink_wide(l, s, n, width, WIDE_GOOD);
	shrink_wide(l, s, n, width, WIDE_LEAST);
}

/* cut in the middle, as the ends of names tell most */
static void put_cut(const struct printer *p, const char *s, unsigned have, unsigned width)
{
	unsigned left = (width - 1) / 2;
	const char *rest = put_some(p, s, left);

	put_char(p, "…", strlen("…"));
	for (unsigned skip = have - left - (width - 1 - left); skip > 0; skip--)
		rest += char_length(rest);
	put_some(p, rest, width - 1 - left);
}

static void put_cell(const struct printer *p, const char *s, unsigned width, bool right, bool last)
{
	unsigned have = rama_text_width(s), pad = have < width ? width - have : 0;

	if (right)
		blanks(p, pad);
	if (have > width)
		put_cut(p, s, have, width);
	else
		put_some(p, s, have);
	if (!right && !last)
		blanks(p, pad);
}

static unsigned last_shown(const struct layout *l, const struct rama_report_sheet *s,
			   const struct rama_report_sheet_cell *row, unsigned n)
{
	unsigned last = 0;

	for (unsigned c = 0; c < n; c++) {
		const char *text = row == NULL ? s->columns[c].header : row[c].text;

		if (l->shown[c] && text != NULL && text[0] != '\0')
			last = c;
	}
	return last;
}

static void put_row(const struct printer *p, const struct layout *l,
		    const struct rama_report_sheet *s, unsigned n,
		    const struct rama_report_sheet_cell *row)
{
	unsigned last = last_shown(l, s, row, n);

	for (unsigned c = 0; c <= last; c++) {
		const char *text = row == NULL ? s->columns[c].header : row[c].text;
		enum rama_report_tone t = row == NULL ? RAMA_REPORT_TONE_DIM : row[c].tone;

		if (!l->shown[c])
			continue;
		blanks(p, GAP);
		tone(p, t);
		put_cell(p, text != NULL ? text : "", l->width[c], s->columns[c].unit != NULL,
			 c == last);
		end_tone(p, t);
	}
	rama_out_char(p->o, '\n');
}

static bool has_headers(const struct rama_report_sheet *s, unsigned n)
{
	for (unsigned c = 0; c < n; c++)
		if (s->columns[c].header[0] != '\0')
			return true;
	return false;
}

static void put_sheet(const struct printer *p, const struct rama_report_sheet *s)
{
	struct layout l = { .width = { 0 } };
	unsigned n = s->n_columns < COLUMNS_MOST ? s->n_columns : COLUMNS_MOST;

	if (s->data || (s->n_rows == 0 && s->none == NULL))
		return;
	if (s->title != NULL) {
		rama_out_char(p->o, '\n');
		put_line(p, s->title, RAMA_REPORT_TONE_BOLD, 0, 0);
	}
	if (s->n_rows == 0) {
		blanks(p, GAP);
		put_line(p, s->none, RAMA_REPORT_TONE_DIM, GAP, GAP);
		return;
	}
	fit(&l, s, n, p->style->width);
	if (has_headers(s, n))
		put_row(p, &l, s, n, NULL);
	for (size_t r = 0; r < s->n_rows; r++)
		put_row(p, &l, s, n, &s->cells[r * s->n_columns]);
	if (s->more > 0 || s->more_uncounted)
		rama_out_fmt(p->o, "  and %s%u more\n", s->more_uncounted ? "more than " : "",
			     s->more);
	if (s->note != NULL) {
		blanks(p, GAP);
		put_line(p, s->note, RAMA_REPORT_TONE_DIM, GAP, GAP);
	}
}

void rama_report_paper_print(const struct rama_report_paper *paper, struct rama_out *o,
			     const struct rama_report_paper_style *style)
{
	struct printer p = { .o = o, .style = style };

	for (unsigned i = 0; i < paper->n_head; i++)
		put_line(&p, paper->head[i].text, paper->head[i].tone, 0, 3);
	if (paper->verdict != NULL)
		put_line(&p, paper->verdict, RAMA_REPORT_TONE_BOLD, 0, 0);
	for (unsigned i = 0; i < paper->n_sheets; i++)
		put_sheet(&p, &paper->sheets[i]);
	if (paper->n_foot > 0)
		rama_out_char(o, '\n');
	for (unsigned i = 0; i < paper->n_foot; i++)
		put_line(&p, paper->foot[i].text, paper->foot[i].tone, 0, 3);
}
