/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/jobs_metric.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/when.h"
#include "config/text.h"
#include "live/index.h"

struct column {
	const char *key, *header, *unit;
	unsigned shown;
	const char *sql, *doc;
};
static const struct column columns[] = {
#define COLUMN(key, header, unit, shown, sql, doc) { #key, header, #unit, shown, sql, doc },
#include "cli/jobs_columns.def"
#undef COLUMN
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

static bool same(const char *known, const char *name, size_t len)
{
	return strlen(known) == len && memcmp(known, name, len) == 0;
}

bool rama_metric_column(unsigned i, struct rama_metric *m)
{
	if (i >= N_COLUMNS)
		return false;
	*m = (struct rama_metric){ .key = columns[i].key,
				   .header = columns[i].header,
				   .unit = columns[i].unit,
				   .shown = columns[i].shown,
				   .doc = columns[i].doc };
	snprintf(m->sql, sizeof(m->sql), "%s", columns[i].sql);
	return true;
}

/* Figures that are 0 have no row; jobs without a log have none at all. */
static bool figure(struct rama_metric *m, const char *name, const char *unit, const char *doc)
{
	*m = (struct rama_metric){
		.key = name, .header = name, .unit = unit, .shown = 1, .doc = doc
	};
	snprintf(m->sql, sizeof(m->sql),
		 "CASE WHEN j.logged > 0 THEN coalesce((SELECT v.value FROM figure_values v JOIN "
		 "figure_names n"
		 " ON n.number = v.figure WHERE n.name = '%s' AND v.job = j.number), 0) END",
		 name);
	return true;
}

static bool find_figure(const char *name, size_t len, struct rama_metric *m)
{
	for (unsigned i = 0; i < rama_n_facts; i++)
		if (same(rama_fact_info[i].name, name, len))
			return figure(m, rama_fact_info[i].name, rama_fact_info[i].unit,
				      rama_fact_info[i].doc);
	for (unsigned i = 0; i < rama_n_index_figures; i++)
		if (same(rama_index_figures[i].name, name, len))
			return figure(m, rama_index_figures[i].name, rama_index_figures[i].unit,
				      rama_index_figures[i].doc);
	return false;
}

/* how the records of a job become one figure */
static const char *reduction(const struct rama_field *f)
{
	switch (f->reduce) {
	case RAMA_MAX:
	case RAMA_LEAD_READ:
	case RAMA_LEAD_WRITE:
		return "max(c.%s)";
	case RAMA_MIN_NZ:
		return "min(nullif(c.%s, 0))";
	default:
		return "sum(c.%s)";
	}
}

static bool counter(const struct rama_module *mod, const struct rama_field *f,
		    struct rama_metric *m)
{
	char table[40], column[64], value[96];

	if (!rama_store_table_name(mod, table, sizeof(table)) ||
	    !rama_store_column_name(f, column, sizeof(column)))
		return false;
	*m = (struct rama_metric){ .key = f->name,
				   .header = f->name,
				   .unit = f->type == RAMA_F64		      ? "s"
					   : strstr(f->name, "BYTES") != NULL ? "bytes"
									      : "count",
				   .shown = 1,
				   .doc = f->doc };
	snprintf(value, sizeof(value), reduction(f), column);
	snprintf(m->sql, sizeof(m->sql),
		 "(SELECT CAST(%s AS DOUBLE PRECISION) FROM %s c WHERE c.job = j.number)", value,
		 table);
	return true;
}

static bool find_counter(const char *name, size_t len, struct rama_metric *m)
{
	for (unsigned id = 0; id < RAMA_MODULES_KNOWN; id++) {
		const struct rama_module *mod = rama_module_get(id);

		for (unsigned i = 0; mod != NULL && i < *mod->record->n_fields; i++) {
			const struct rama_field *f = &mod->record->fields[i];

			if (strlen(f->name) == len && strncasecmp(f->name, name, len) == 0 &&
			    f->words == 1)
				return counter(mod, f, m);
		}
	}
	return false;
}

bool rama_metric_find(const char *name, size_t len, struct rama_metric *m)
{
	for (unsigned i = 0; i < N_COLUMNS; i++)
		if (same(columns[i].key, name, len))
			return rama_metric_column(i, m);
	return find_figure(name, len, m) || find_counter(name, len, m);
}

/* ---- comparing ------------------------------------------------------------------------------------ */

static const char *const operators[] = { "<=", ">=", "!=", "<>", "==", "<", ">", "=" };

static bool number(const char *text, double *v)
{
	char *end;

	*v = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*v) && strpbrk(text, "xXnN") == NULL;
}

/* a value in the unit of the metric */
static bool value_of(const struct rama_metric *m, const char *text, double *v)
{
	size_t n = strlen(text);
	char plain[40];
	uint64_t bytes;
	int64_t ns;

	if (number(text, v))
		return true;
	if (n > 1 && n < sizeof(plain) && text[n - 1] == '%') {
		snprintf(plain, sizeof(plain), "%.*s", (int)(n - 1), text);
		*v = number(plain, v) ? *v / 100 : NAN;
		return !isnan(*v);
	}
	if (strncmp(m->unit, "bytes", 5) == 0 &&
	    rama_piece_size((struct rama_piece){ text, n }, &bytes)) {
		*v = (double)bytes;
		return true;
	}
	if (strcmp(m->unit, "s") == 0 && rama_when_span(text, &ns)) {
		*v = (double)ns / 1e9;
		return true;
	}
	if (strcmp(m->unit, "when") == 0 &&
	    rama_when(text, (int64_t)time(NULL) * 1000000000, 0, &ns)) {
		*v = (double)ns;
		return true;
	}
	return false;
}

void rama_metric_compare(const struct rama_opts *o, const char *text, char *sql, size_t room,
			 unsigned n, struct rama_cell *arg)
{
	const char *name = text + strspn(text, " "), *value, *op = NULL;
	size_t len = 0, at, have = strlen(sql);
	struct rama_metric m;
	double v;

	while (isalnum((unsigned char)name[len]) || name[len] == '_')
		len++;
	value = name + len + strspn(name + len, " ");
	for (unsigned i = 0; op == NULL && i < sizeof(operators) / sizeof(*operators); i++)
		if (strncmp(value, operators[i], strlen(operators[i])) == 0)
			op = operators[i];
	if (len == 0 || op == NULL)
		rama_opts_usage(o,
				"--where is a figure, one of < <= = >= > != and a value, not '%s'",
				text);
	value += strlen(op) + strspn(value + strlen(op), " ");
	if (!rama_metric_find(name, len, &m))
		rama_opts_usage(
			o, "no figure is called '%.*s'; `iorama jobs --columns help` lists them",
			(int)len, name);
	if (strcmp(op, "==") == 0)
		op = "=";
	if (strcmp(op, "!=") == 0)
		op = "<>";
	if (strcmp(m.unit, "text") == 0) {
		*arg = (struct rama_cell){ .type = RAMA_CELL_TEXT,
					   .text = value,
					   .len = strlen(value) };
		if (strcmp(op, "=") != 0 && strcmp(op, "<>") != 0)
			rama_opts_usage(o, "%s is text: it is = or != to something", m.key);
		at = (size_t)snprintf(sql + have, room - have, " AND coalesce(%s, '') %s $%u",
				      m.sql, op, n);
	} else {
		if (!value_of(&m, value, &v))
			rama_opts_usage(o, "'%s' is no value for %s", value, m.key);
		*arg = (struct rama_cell){ .type = RAMA_CELL_REAL, .f = v };
		at = (size_t)snprintf(sql + have, room - have,
				      " AND CAST(%s AS DOUBLE PRECISION) %s $%u", m.sql, op, n);
	}
	if (at >= room - have)
		rama_opts_usage(o, "too many conditions");
}
