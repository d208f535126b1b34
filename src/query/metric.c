/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/metric.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/nearest.h"
#include "base/when.h"
#include "config/text.h"
#include "diagnose/diagnose.h"

struct column {
	const char *key, *header, *unit;
	unsigned shown;
	const char *sql, *rank, *doc;
};
static const struct column columns[] = {
#define COLUMN(key, header, unit, shown, sql, doc) { #key, header, #unit, shown, sql, NULL, doc },
#define RANKED(key, header, unit, shown, sql, rank, doc) \
	{ #key, header, #unit, shown, sql, rank, doc },
#include "query/columns.def"
#undef COLUMN
#undef RANKED
};
#define N_COLUMNS (sizeof(columns) / sizeof(*columns))

const struct rama_query_figure rama_query_figures[] = {
#define FIGURE(name, unit, value, doc) { #name, #unit, doc },
#include "query/figures.def"
#undef FIGURE
};
const unsigned rama_query_n_figures = sizeof(rama_query_figures) / sizeof(*rama_query_figures);

static bool same(const char *known, const char *name, size_t len)
{
	return strlen(known) == len && memcmp(known, name, len) == 0;
}

bool rama_query_metric_column(unsigned i, struct rama_query_metric *m)
{
	if (i >= N_COLUMNS)
		return false;
	*m = (struct rama_query_metric){ .kind = RAMA_QUERY_METRIC_COLUMN,
					 .key = columns[i].key,
					 .header = columns[i].header,
					 .unit = columns[i].unit,
					 .shown = columns[i].shown,
					 .doc = columns[i].doc,
					 .rank = columns[i].rank };
	snprintf(m->sql, sizeof(m->sql), "%s", columns[i].sql);
	return true;
}

/* Figures that are 0 have no row; jobs without a log have none at all. */
static bool figure(struct rama_query_metric *m, const char *name, const char *unit, const char *doc)
{
	*m = (struct rama_query_metric){ .kind = RAMA_QUERY_METRIC_FIGURE,
					 .key = name,
					 .header = name,
					 .unit = unit,
					 .shown = 1,
					 .doc = doc };
	snprintf(m->sql, sizeof(m->sql),
		 "CASE WHEN j.logged > 0 THEN coalesce((SELECT v.value FROM figure_values v WHERE"
		 " v.job = j.number AND v.figure = (SELECT n.number FROM figure_names n WHERE"
		 " n.name = '%s')), 0) END",
		 name);
	return true;
}

static bool find_figure(const char *name, size_t len, struct rama_query_metric *m)
{
	for (unsigned i = 0; i < rama_diag_n_facts; i++)
		if (same(rama_diag_fact_info[i].name, name, len))
			return figure(m, rama_diag_fact_info[i].name, rama_diag_fact_info[i].unit,
				      rama_diag_fact_info[i].doc);
	for (unsigned i = 0; i < rama_query_n_figures; i++)
		if (same(rama_query_figures[i].name, name, len))
			return figure(m, rama_query_figures[i].name, rama_query_figures[i].unit,
				      rama_query_figures[i].doc);
	return false;
}

/* how the records of a job become one figure */
static const char *reduction(const struct rama_tab_field *f)
{
	switch (f->reduce) {
	case RAMA_TAB_MAX:
	case RAMA_TAB_LEAD_READ:
	case RAMA_TAB_LEAD_WRITE:
		return "max(c.%s)";
	case RAMA_TAB_MIN_NZ:
		return "min(nullif(c.%s, 0))";
	default:
		return "sum(c.%s)";
	}
}

static bool counter(const struct rama_tab_module *mod, const struct rama_tab_field *f,
		    struct rama_query_metric *m)
{
	char table[40], column[64], value[96];

	if (!rama_store_table_name(mod, table, sizeof(table)) ||
	    !rama_store_column_name(f, column, sizeof(column)))
		return false;
	*m = (struct rama_query_metric){ .kind = RAMA_QUERY_METRIC_COUNTER,
					 .key = f->name,
					 .header = f->name,
					 .unit = f->type == RAMA_TAB_F64	    ? "s"
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

static bool find_counter(const char *name, size_t len, struct rama_query_metric *m)
{
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		const struct rama_tab_module *mod = rama_tab_module_get(id);

		for (unsigned i = 0; mod != NULL && i < *mod->record->n_fields; i++) {
			const struct rama_tab_field *f = &mod->record->fields[i];

			if (strlen(f->name) == len && strncasecmp(f->name, name, len) == 0 &&
			    f->words == 1)
				return counter(mod, f, m);
		}
	}
	return false;
}

bool rama_query_metric_find(const char *name, size_t len, struct rama_query_metric *m)
{
	for (unsigned i = 0; i < N_COLUMNS; i++)
		if (same(columns[i].key, name, len))
			return rama_query_metric_column(i, m);
	return find_figure(name, len, m) || find_counter(name, len, m);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool number(const char *text, double *v)
{
	char *end;

	*v = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*v) && strpbrk(text, "xXnN") == NULL;
}

/* a value in the unit of the metric */
static bool value_of(const struct rama_query_metric *m, const char *text, double *v)
{
	size_t n = strlen(text);
	char plain[40];
	uint64_t bytes;
	int64_t ns;

	if (number(text, v))
		return true;
	if (n > 1 && n < sizeof(plain) && text[n - 1] == '%') {
		for (n--; n > 1 && text[n - 1] == ' ';) /* 20 % */
			n--;
		snprintf(plain, sizeof(plain), "%.*s", (int)n, text);
		*v = number(plain, v) ? *v / 100 : NAN;
		return !isnan(*v);
	}
	if (strncmp(m->unit, "bytes", 5) == 0 &&
	    rama_config_piece_size((struct rama_config_piece){ text, n }, &bytes)) {
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

/* the operator that a text begins with, as SQL has it; *len: how long it is there. NULL: none */
static const char *operator_of(const char *text, size_t *len)
{
	static const struct {
		const char *text, *sql;
	} operators[] = { { "<=", "<=" }, { ">=", ">=" }, { "!=", "<>" }, { "<>", "<>" },
			  { "==", "=" },  { "<", "<" },	  { ">", ">" },	  { "=", "=" } };

	for (unsigned i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		*len = strlen(operators[i].text);
		if (strncmp(text, operators[i].text, *len) == 0)
			return operators[i].sql;
	}
	return NULL;
}

int rama_query_metric_unknown(const char *name, size_t len, struct rama_err *e)
{
	struct rama_query_metric other;
	char word[64], hint[RAMA_NEAREST_HINT];
	struct rama_nearest near = { .word = word };

	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	for (unsigned i = 0; rama_query_metric_column(i, &other); i++)
		rama_nearest_offer(&near, other.key);
	for (unsigned i = 0; i < rama_query_n_figures; i++)
		rama_nearest_offer(&near, rama_query_figures[i].name);
	return rama_err_set(e, RAMA_EUSAGE,
			    "there is no column or figure '%s'%s `iorama jobs --columns help` "
			    "lists them",
			    word, near.name != NULL ? rama_nearest_hint(&near, hint) : ";");
}

int rama_query_comparison_parse(struct rama_query_comparison *c, const char *text,
				struct rama_err *e)
{
	const char *name = text + strspn(text, " "), *value;
	size_t len = 0, wide = 0;

	*c = (struct rama_query_comparison){ 0 };
	while (isalnum((unsigned char)name[len]) || name[len] == '_')
		len++;
	value = name + len + strspn(name + len, " ");
	c->op = operator_of(value, &wide);
	if (len == 0 || c->op == NULL)
		return rama_err_set(
			e, RAMA_EUSAGE,
			"--where is a figure, one of < <= = >= > != and a value, not '%s'", text);
	value += wide + strspn(value + wide, " ");
	if (!rama_query_metric_find(name, len, &c->m))
		return rama_query_metric_unknown(name, len, e);
	if (strcmp(c->m.unit, "text") == 0) {
		c->text = value;
		return strcmp(c->op, "=") == 0 || strcmp(c->op, "<>") == 0
			       ? 0
			       : rama_err_set(e, RAMA_EUSAGE,
					      "%s is text: it is = or != to something", c->m.key);
	}
	return value_of(&c->m, value, &c->value)
		       ? 0
		       : rama_err_set(e, RAMA_EUSAGE, "'%s' is no value for %s", value, c->m.key);
}
