/* SPDX-License-Identifier: BSD-3-Clause */
/* cells.c: one cell of what a store answers, in each form. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/human.h"
#include "base/when.h"
#include "cli/rows.h"

static bool is(const char *unit, const char *what)
{
	return unit != NULL && strcmp(unit, what) == 0;
}

static void put_hex(char *to, const struct rama_store_cell *c)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < c->len; i++) {
		to[2 * i] = digit[(unsigned char)c->text[i] >> 4];
		to[2 * i + 1] = digit[(unsigned char)c->text[i] & 15];
	}
}

/* bytes as hexadecimal digits, a piece at a time */
static void hex(struct rama_out *out, const struct rama_store_cell *c)
{
	for (size_t at = 0; at < c->len; at += 1024) {
		struct rama_store_cell part = { .text = c->text + at,
						.len = c->len - at < 1024 ? c->len - at : 1024 };
		char digits[2048];

		put_hex(digits, &part);
		rama_out_bytes(out, digits, 2 * part.len);
	}
}

static void real(struct rama_out *out, double v)
{
	struct rama_json j;

	if (!isfinite(v))
		return;
	rama_json_init(&j, out);
	rama_json_f64(&j, v); /* as few digits as are exact */
}

void rama_cli_cell_csv(struct rama_out *out, const struct rama_store_cell *c, const char *unit)
{
	char text[RAMA_WHEN];

	switch (c->type) {
	case RAMA_STORE_CELL_INT:
		if (is(unit, "when"))
			rama_out_text(out, rama_when_iso(text, c->i));
		else if (is(unit, "record"))
			rama_out_u64(out, (uint64_t)c->i);
		else
			rama_out_i64(out, c->i);
		break;
	case RAMA_STORE_CELL_REAL:
		real(out, c->f);
		break;
	case RAMA_STORE_CELL_TEXT:
		rama_csv_bytes(out, c->text, c->len);
		break;
	case RAMA_STORE_CELL_BYTES:
		hex(out, c);
		break;
	default:
		break;
	}
}

void rama_cli_cell_json(struct rama_json *j, const struct rama_store_cell *c, const char *unit)
{
	char text[RAMA_WHEN];

	switch (c->type) {
	case RAMA_STORE_CELL_INT:
		if (is(unit, "when"))
			rama_json_string(j, rama_when_iso(text, c->i));
		else if (is(unit, "record"))
			rama_json_id(j, (uint64_t)c->i);
		else
			rama_json_i64(j, c->i);
		break;
	case RAMA_STORE_CELL_REAL:
		rama_json_f64(j, c->f);
		break;
	case RAMA_STORE_CELL_TEXT:
		rama_json_text(j, c->text, c->len);
		break;
	case RAMA_STORE_CELL_BYTES:
		rama_json_raw(j, "\"");
		hex(j->out, c);
		rama_out_char(j->out, '"');
		break;
	default:
		rama_json_null(j);
	}
}

/* a number in its unit */
static void number(char *to, double v, bool whole, const char *unit)
{
	char text[RAMA_HUMAN];

	if (unit == NULL && !whole)
		snprintf(to, RAMA_CLI_CELL_TEXT_MOST, "%.6g", v);
	else if (is(unit, "span") && v > -1000 && v < 1000)
		snprintf(to, RAMA_CLI_CELL_TEXT_MOST, "%.0f ns", v);
	else if (is(unit, "span"))
		snprintf(to, RAMA_CLI_CELL_TEXT_MOST, "%s", rama_human_seconds(text, v / 1e9));
	else if (is(unit, "s") && v >= 60)
		snprintf(to, RAMA_CLI_CELL_TEXT_MOST, "%s", rama_human_duration(text, v));
	else
		snprintf(to, RAMA_CLI_CELL_TEXT_MOST, "%s", rama_human_value(text, unit, v));
}

void rama_cli_cell_shown(char to[RAMA_CLI_CELL_TEXT_MOST], const struct rama_store_cell *c,
			 const char *unit)
{
	char text[RAMA_WHEN];

	if (c->type == RAMA_STORE_CELL_INT && is(unit, "when"))
		snprintf(to, RAMA_CLI_CELL_TEXT_MOST, "%s", rama_when_text(text, c->i, 6));
	else if (c->type == RAMA_STORE_CELL_INT && is(unit, "record"))
		snprintf(to, RAMA_CLI_CELL_TEXT_MOST, "%" PRIu64, (uint64_t)c->i);
	else if (c->type == RAMA_STORE_CELL_INT &&
		 (unit == NULL || is(unit, "id") || is(unit, "text")))
		snprintf(to, RAMA_CLI_CELL_TEXT_MOST, "%" PRId64, c->i);
	else if (c->type == RAMA_STORE_CELL_INT && is(unit, "count"))
		rama_human_count(to, c->i);
	else if (c->type == RAMA_STORE_CELL_INT)
		number(to, (double)c->i, true, unit);
	else if (c->type == RAMA_STORE_CELL_REAL)
		number(to, c->f, false, unit);
	else if (c->type == RAMA_STORE_CELL_TEXT)
		snprintf(to, RAMA_CLI_CELL_TEXT_MOST, "%.*s",
			 (int)(c->len < RAMA_CLI_CELL_TEXT_MOST ? c->len
								: RAMA_CLI_CELL_TEXT_MOST - 1),
			 c->text);
	else if (c->type == RAMA_STORE_CELL_BYTES)
		snprintf(to, RAMA_CLI_CELL_TEXT_MOST, "(%zu bytes)", c->len);
	else
		snprintf(to, RAMA_CLI_CELL_TEXT_MOST, "-");
}
