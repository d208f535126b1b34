/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/form/cell.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/form/csv.h"
#include "base/human.h"
#include "base/when.h"

static bool is(const char *unit, const char *what)
{
	return unit != NULL && strcmp(unit, what) == 0;
}

/* a piece at a time: it may be a whole log */
static void put_hex(struct rama_out *o, const struct rama_cell *c)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < c->len; i++) {
		unsigned char byte = (unsigned char)c->text[i];

		rama_out_bytes(o, (char[]){ digit[byte >> 4], digit[byte & 15] }, 2);
	}
}

static const char *figure_text(char to[40], double v)
{
	if (fabs(v) < 0x1p53 && v == (double)(int64_t)v)
		*rama_put_i64(to, (int64_t)v) = '\0';
	else
		snprintf(to, 40, "%.9g", v);
	return to;
}

void rama_cell_figure_csv(struct rama_out *o, double v)
{
	char to[40];

	rama_out_text(o, figure_text(to, v));
}

void rama_cell_figure_json(struct rama_json *j, double v)
{
	char to[40];

	if (isfinite(v))
		rama_json_raw(j, figure_text(to, v));
	else
		rama_json_null(j);
}

void rama_cell_key_figure(struct rama_json *j, const char *key, double v)
{
	rama_json_key(j, key);
	rama_cell_figure_json(j, v);
}

static void exact_csv(struct rama_out *o, double v)
{
	struct rama_json j;

	if (!isfinite(v))
		return;
	rama_json_init(&j, o);
	rama_json_f64(&j, v); /* as few digits as are exact */
}

void rama_cell_csv(struct rama_out *o, const struct rama_cell *c, const char *unit)
{
	char when[RAMA_WHEN];

	switch (c->kind) {
	case RAMA_CELL_NONE:
		break;
	case RAMA_CELL_TEXT:
		rama_csv_bytes(o, c->text, c->len);
		break;
	case RAMA_CELL_BYTES:
		put_hex(o, c);
		break;
	case RAMA_CELL_ID:
		rama_out_u64(o, c->id);
		break;
	case RAMA_CELL_INT:
		if (is(unit, "when"))
			rama_out_text(o, rama_when_iso(when, c->i));
		else
			rama_out_i64(o, c->i);
		break;
	case RAMA_CELL_REAL:
		exact_csv(o, c->f);
		break;
	case RAMA_CELL_FIGURE:
		if (isfinite(c->f))
			rama_cell_figure_csv(o, c->f);
		break;
	case RAMA_CELL_FLAG:
		rama_out_char(o, c->flag ? '1' : '0');
		break;
	}
}

void rama_cell_json(struct rama_json *j, const struct rama_cell *c, const char *unit)
{
	char when[RAMA_WHEN];

	switch (c->kind) {
	case RAMA_CELL_NONE:
		rama_json_null(j);
		break;
	case RAMA_CELL_TEXT:
		rama_json_text(j, c->text, c->len);
		break;
	case RAMA_CELL_BYTES:
		rama_json_raw(j, "\"");
		put_hex(j->out, c);
		rama_out_char(j->out, '"');
		break;
	case RAMA_CELL_ID:
		rama_json_id(j, c->id);
		break;
	case RAMA_CELL_INT:
		if (is(unit, "when"))
			rama_json_string(j, rama_when_iso(when, c->i));
		else
			rama_json_i64(j, c->i);
		break;
	case RAMA_CELL_REAL:
		rama_json_f64(j, c->f);
		break;
	case RAMA_CELL_FIGURE:
		rama_cell_figure_json(j, c->f);
		break;
	case RAMA_CELL_FLAG:
		rama_json_bool(j, c->flag);
		break;
	}
}

/* ---- for people ------------------------------------------------------------------------------ */

static const char *number_text(char *to, double v, const char *unit)
{
	if (is(unit, "span") && v > -1000 && v < 1000)
		snprintf(to, RAMA_CELL_SHOWN, "%.0f ns", v);
	else if (is(unit, "span"))
		rama_human_seconds(to, v / 1e9);
	else if (is(unit, "seconds"))
		rama_human_seconds(to, v);
	else if (is(unit, "s") && v >= 60)
		rama_human_duration(to, v);
	else
		rama_human_value(to, unit, v);
	return to;
}

static const char *int_text(char *to, int64_t v, const char *unit)
{
	if (is(unit, "when"))
		return rama_when_text(to, v, 6);
	if (is(unit, "count"))
		return rama_human_count(to, v);
	if (unit != NULL && !is(unit, "id") && !is(unit, "text"))
		return number_text(to, (double)v, unit);
	snprintf(to, RAMA_CELL_SHOWN, "%" PRId64, v);
	return to;
}

const char *rama_cell_text(char to[RAMA_CELL_SHOWN], const struct rama_cell *c, const char *unit)
{
	_Static_assert(RAMA_CELL_SHOWN >= RAMA_HUMAN && RAMA_CELL_SHOWN >= RAMA_WHEN, "room");

	switch (c->kind) {
	case RAMA_CELL_NONE:
		break;
	case RAMA_CELL_TEXT:
		return c->text;
	case RAMA_CELL_BYTES:
		snprintf(to, RAMA_CELL_SHOWN, "(%zu bytes)", c->len);
		return to;
	case RAMA_CELL_ID:
		snprintf(to, RAMA_CELL_SHOWN, "%" PRIu64, c->id);
		return to;
	case RAMA_CELL_INT:
		return int_text(to, c->i, unit);
	case RAMA_CELL_REAL:
	case RAMA_CELL_FIGURE:
		if (unit != NULL)
			return number_text(to, c->f, unit);
		snprintf(to, RAMA_CELL_SHOWN, "%.6g", c->f);
		return to;
	case RAMA_CELL_FLAG:
		return c->flag ? "yes" : "no";
	}
	return "";
}
