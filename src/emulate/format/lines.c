/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/format/lines.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rama_emu_lines_init(struct rama_emu_lines *l, const char *bytes, size_t n)
{
	*l = (struct rama_emu_lines){ .rest = { bytes, n } };
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

struct rama_config_piece rama_emu_piece_trim(struct rama_config_piece p)
{
	while (p.n > 0 && blank(p.p[0]))
		p = (struct rama_config_piece){ p.p + 1, p.n - 1 };
	while (p.n > 0 && blank(p.p[p.n - 1]))
		p.n--;
	return p;
}

bool rama_emu_lines_next(struct rama_emu_lines *l, struct rama_config_piece *line)
{
	const char *end;
	size_t n;

	if (l->rest.n == 0)
		return false;
	end = memchr(l->rest.p, '\n', l->rest.n);
	n = end != NULL ? (size_t)(end - l->rest.p) : l->rest.n;
	*line = (struct rama_config_piece){ l->rest.p, n };
	n += end != NULL;
	l->rest = (struct rama_config_piece){ l->rest.p + n, l->rest.n - n };
	l->number++;
	for (size_t i = 0; i < line->n; i++) {
		if (line->p[i] == '#' && (i == 0 || blank(line->p[i - 1]))) {
			line->n = i;
			break;
		}
	}
	*line = rama_emu_piece_trim(*line);
	return true;
}

bool rama_emu_word_next(struct rama_config_piece *line, struct rama_config_piece *word)
{
	size_t n = 0;

	*line = rama_emu_piece_trim(*line);
	while (n < line->n && !blank(line->p[n]))
		n++;
	*word = (struct rama_config_piece){ line->p, n };
	*line = (struct rama_config_piece){ line->p + n, line->n - n };
	return n > 0;
}

int rama_emu_lines_error(const struct rama_emu_lines *l, struct rama_err *e, const char *fmt, ...)
{
	char text[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return rama_err_set(e, RAMA_EFORMAT, "line %lu: %s", l->number, text);
}

void rama_emu_skip_mark(const char **bytes, size_t *n)
{
	if (*n >= 3 && memcmp(*bytes, "\xef\xbb\xbf", 3) == 0) {
		*bytes += 3;
		*n -= 3;
	}
}

/* ---- numbers -------------------------------------------------------------------------------- */

static bool number_and_unit(struct rama_config_piece w, double *value,
			    struct rama_config_piece *unit)
{
	size_t n;

	w = rama_emu_piece_trim(w);
	n = rama_config_piece_number(w, value);
	if (n == 0 || !isfinite(*value) || *value < 0)
		return false;
	*unit = rama_emu_piece_trim((struct rama_config_piece){ w.p + n, w.n - n });
	return true;
}

bool rama_emu_word_number(struct rama_config_piece w, double *value)
{
	struct rama_config_piece unit;

	return number_and_unit(w, value, &unit) && unit.n == 0;
}

bool rama_emu_word_seconds(struct rama_config_piece w, double *seconds)
{
	static const struct {
		const char *name;
		double factor;
	} units[] = { { "", 1 },      { "s", 1 },    { "sec", 1 }, { "ms", 1e-3 }, { "us", 1e-6 },
		      { "µs", 1e-6 }, { "min", 60 }, { "m", 60 },  { "h", 3600 },  { "d", 86400 } };
	struct rama_config_piece unit;

	if (!number_and_unit(w, seconds, &unit))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (rama_config_piece_is(unit, units[i].name)) {
			*seconds *= units[i].factor;
			return true;
		}
	}
	return false;
}

bool rama_emu_word_size(struct rama_config_piece w, int64_t *bytes)
{
	char text[64];
	size_t n = 0;
	uint64_t size;

	w = rama_emu_piece_trim(w);
	for (size_t i = 0; i < w.n; i++) { /* "2 GiB" is 2GiB */
		if (blank(w.p[i]))
			continue;
		if (n == sizeof(text))
			return false;
		text[n++] = w.p[i];
	}
	if (!rama_config_piece_size((struct rama_config_piece){ text, n }, &size) ||
	    size > INT64_MAX)
		return false;
	*bytes = (int64_t)size;
	return true;
}
