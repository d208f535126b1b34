/* SPDX-License-Identifier: BSD-3-Clause */
/* grid_text.c: tables on terminals and in pipes. */
#include <string.h>

#include "base/form/grid.h"
#include "base/form/pen.h"
#include "base/form/text.h"

#define WIDE_LEAST 12 /* a name shorter than this says nothing */
#define WIDE_GOOD 30  /* columns are dropped before names get shorter than this */
#define GAP 2

struct printer {
	struct rama_out *o;
	const struct rama_grid_style *style;
};

static const char *const colour[RAMA_TONES] = { "",	    "\033[32m", "\033[33m",
						"\033[31m", "\033[2m",	"\033[1m" };

static void put_char(const struct printer *p, const char *s, unsigned len)
{
	if (p->style->utf8 || len == 1)
		rama_out_bytes(p->o, s, len);
	else
		rama_out_text(p->o, rama_text_ascii(s, len));
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

static unsigned width_of(const struct rama_grid_style *style, const char *s)
{
	struct rama_pen pen = { .utf8 = style->utf8 };

	return style->pen ? rama_pen_columns(&pen, s) : rama_text_width(s);
}

static void blanks(const struct printer *p, unsigned n)
{
	while (n-- > 0)
		rama_out_char(p->o, ' ');
}

static void tone(const struct printer *p, enum rama_tone t)
{
	if (p->style->colour && t != RAMA_TONE_PLAIN)
		rama_out_text(p->o, colour[t]);
}

static void end_tone(const struct printer *p, enum rama_tone t)
{
	if (p->style->colour && t != RAMA_TONE_PLAIN)
		rama_out_text(p->o, "\033[0m");
}

/* ---- sentences ------------------------------------------------------------------------------- */

void rama_grid_put_line(struct rama_out *o, const struct rama_grid_style *style, const char *s,
			enum rama_tone meant, unsigned at, unsigned indent)
{
	struct printer print = { .o = o, .style = style }, *p = &print;

	tone(p, meant);
	while (*s != '\0') {
		unsigned gap = (unsigned)strspn(s, " "), n = 0;
		size_t bytes = strcspn(s + gap, " ");

		s += gap;
		for (size_t i = 0; i < bytes; i++)
			n += ((unsigned char)s[i] & 0xc0) != 0x80;
		if (at > indent && at + gap + n > style->width) {
			rama_out_char(p->o, '\n');
			at = 0;
			gap = indent;
		}
		blanks(p, n > 0 ? gap : 0);
		put_some(p, s, n);
		at += gap + n;
		s += bytes;
	}
	end_tone(p, meant);
	rama_out_char(o, '\n');
}

/* ---- tables ---------------------------------------------------------------------------------- */

static unsigned total_width(const struct rama_grid_layout *l)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < l->n; i++)
		sum += l->shown[i] ? l->width[i] + GAP : 0;
	return sum;
}

static void natural_widths(struct rama_grid_layout *l, const struct rama_grid *s,
			   const struct rama_grid_style *style)
{
	l->n = s->n_columns < RAMA_GRID_COLUMNS ? s->n_columns : RAMA_GRID_COLUMNS;
	for (unsigned c = 0; c < l->n; c++) {
		l->width[c] = width_of(style, s->columns[c].header);
		l->shown[c] = true;
		for (size_t r = 0; r < s->n_rows; r++) {
			const char *text = s->cells[r * s->n_columns + c].text;
			unsigned w = text != NULL ? width_of(style, text) : 0;

			l->width[c] = w > l->width[c] ? w : l->width[c];
		}
	}
}

/* the column that goes next on a narrow terminal; n: none */
static unsigned dropped_next(const struct rama_grid_layout *l, const struct rama_grid *s)
{
	unsigned found = l->n;

	for (unsigned c = 0; c < l->n; c++)
		if (l->shown[c] && s->columns[c].drop > 0 &&
		    (found == l->n || s->columns[c].drop > s->columns[found].drop))
			found = c;
	return found;
}

/* columns that belong together go together */
static void drop(struct rama_grid_layout *l, const struct rama_grid *s, unsigned group)
{
	for (unsigned c = 0; c < l->n; c++)
		if (s->columns[c].drop == group)
			l->shown[c] = false;
}

/* what the table needs if its names are cut to `least` */
static unsigned least_width(const struct rama_grid_layout *l, const struct rama_grid *s,
			    unsigned least)
{
	unsigned sum = total_width(l);

	for (unsigned c = 0; c < l->n; c++)
		if (l->shown[c] && s->columns[c].wide && l->width[c] > least)
			sum -= l->width[c] - least;
	return sum;
}

static void shrink_wide(struct rama_grid_layout *l, const struct rama_grid *s, unsigned width,
			unsigned least)
{
	for (unsigned i = 0; i < l->n; i++) {
		unsigned c = l->n - 1 - i, sum = total_width(l), *w = &l->width[c];

		if (sum <= width || !l->shown[c] || !s->columns[c].wide || *w <= least)
			continue;
		*w -= sum - width < *w - least ? sum - width : *w - least;
	}
}

/* Names give way first, but not below what is readable; then columns go, then names give way
 * again. */
void rama_grid_fit(struct rama_grid_layout *l, const struct rama_grid *s,
		   const struct rama_grid_style *style, unsigned good)
{
	natural_widths(l, s, style);
	while (least_width(l, s, good) > style->width) {
		unsigned c = dropped_next(l, s);

		if (c == l->n)
			break;
		drop(l, s, s->columns[c].drop);
	}
	shrink_wide(l, s, style->width, good);
	shrink_wide(l, s, style->width, WIDE_LEAST);
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
	struct rama_pen pen = { .o = p->o, .utf8 = p->style->utf8 };
	unsigned have = width_of(p->style, s), pad = have < width ? width - have : 0;

	if (right)
		blanks(p, pad);
	if (p->style->pen)
		rama_pen_cut(&pen, s, width);
	else if (have > width)
		put_cut(p, s, have, width);
	else
		put_some(p, s, have);
	if (!right && !last)
		blanks(p, pad);
}

static const char *text_of(const struct rama_grid *s, const struct rama_grid_cell *row, unsigned c)
{
	const char *text = row == NULL ? s->columns[c].header : row[c].text;

	return text != NULL ? text : "";
}

/* nothing is written behind the last text */
static unsigned last_of(const struct printer *p, const struct rama_grid_layout *l,
			const struct rama_grid *s, const struct rama_grid_cell *row)
{
	unsigned last = 0;

	for (unsigned c = 0; c < l->n; c++)
		if (l->shown[c] && (p->style->pen || text_of(s, row, c)[0] != '\0'))
			last = c;
	return last;
}

void rama_grid_put_row(struct rama_out *o, const struct rama_grid *s,
		       const struct rama_grid_layout *l, const struct rama_grid_style *style,
		       const struct rama_grid_cell *row)
{
	struct printer p = { .o = o, .style = style };
	unsigned last = last_of(&p, l, s, row);

	for (unsigned c = 0; c <= last; c++) {
		enum rama_tone t = row == NULL ? RAMA_TONE_DIM : row[c].tone;

		if (!l->shown[c])
			continue;
		blanks(&p, GAP);
		tone(&p, t);
		put_cell(&p, text_of(s, row, c), l->width[c], s->columns[c].unit != NULL,
			 c == last);
		end_tone(&p, t);
	}
	rama_out_char(o, '\n');
}

static bool has_headers(const struct rama_grid *s, const struct rama_grid_layout *l)
{
	for (unsigned c = 0; c < l->n; c++)
		if (s->columns[c].header[0] != '\0')
			return true;
	return false;
}

void rama_grid_text(struct rama_out *o, const struct rama_grid *s,
		    const struct rama_grid_style *style)
{
	struct printer p = { .o = o, .style = style };
	struct rama_grid_layout l;

	if (s->data || (s->n_rows == 0 && s->none == NULL))
		return;
	if (s->title != NULL) {
		rama_out_char(o, '\n');
		rama_grid_put_line(o, style, s->title, RAMA_TONE_BOLD, 0, 0);
	}
	if (s->n_rows == 0) {
		blanks(&p, GAP);
		rama_grid_put_line(o, style, s->none, RAMA_TONE_DIM, GAP, GAP);
		return;
	}
	rama_grid_fit(&l, s, style, WIDE_GOOD);
	if (has_headers(s, &l))
		rama_grid_put_row(o, s, &l, style, NULL);
	for (size_t r = 0; r < s->n_rows; r++)
		rama_grid_put_row(o, s, &l, style, &s->cells[r * s->n_columns]);
	if (s->more > 0 || s->more_uncounted)
		rama_out_fmt(o, "  and %s%u more\n", s->more_uncounted ? "more than " : "",
			     s->more);
	if (s->note != NULL) {
		blanks(&p, GAP);
		rama_grid_put_line(o, style, s->note, RAMA_TONE_DIM, GAP, GAP);
	}
}
