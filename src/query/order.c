/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/siphash.h"
#include "query/sql.h"

/* ---- parts ----------------------------------------------------------------------------------- */

static struct rama_query_part *add(struct rama_query_order *o, const char *key)
{
	struct rama_query_part *p = &o->part[o->n++];

	p->from = "jobs j";
	p->number = "j.number";
	snprintf(p->key, sizeof(p->key), "%s", key);
	return p;
}

static void by_column(struct rama_query_order *o, const struct rama_query_metric *m)
{
	bool two = m->rank != NULL && strcmp(m->rank, m->sql) != 0;
	const char *key = two ? m->rank : m->sql;
	struct rama_query_part *p = add(o, "");

	snprintf(p->key, sizeof(p->key), "(%s)", key);
	snprintf(p->where, sizeof(p->where), "(%s) IS NOT NULL", key);
	if (two) {
		snprintf(p->rest, sizeof(p->rest), "(%s)", m->sql);
		snprintf(p->rest_where, sizeof(p->rest_where), "(%s) IS NULL", m->rank);
	}
	p = add(o, "");
	p->same = (struct rama_store_cell){ .type = RAMA_STORE_CELL_NULL };
	snprintf(p->where, sizeof(p->where), "(%s) IS NULL%s%s%s", key, two ? " AND (" : "",
		 two ? m->sql : "", two ? ") IS NULL" : "");
}

/* Figures that are not 0 have a row, and an index; those that are 0 have none; jobs without a
 * log have no figures. */
static void by_figure(struct rama_query_order *o, const struct rama_query_metric *m)
{
	static const char *const signs[] = { " > 0", " = 0", " < 0" };
	struct rama_query_part *p;

	for (unsigned i = 0; i < 3; i++) {
		const char *sign = signs[o->up ? 2 - i : i];

		if (sign[1] == '=') {
			p = add(o, "");
			p->same = rama_query_cell_real(0);
			snprintf(p->where, sizeof(p->where), "(%s) = 0", m->sql);
			continue;
		}
		p = add(o, "v.value");
		p->from = "figure_values v CROSS JOIN jobs j";
		p->number = "v.job";
		snprintf(p->where, sizeof(p->where),
			 "j.number = v.job AND j.logged > 0 AND v.ranked = 1 AND v.figure ="
			 " (SELECT n.number FROM figure_names n WHERE n.name = '%s')",
			 m->key);
		p->sign = sign;
	}
	p = add(o, "");
	p->same = (struct rama_store_cell){ .type = RAMA_STORE_CELL_NULL };
	snprintf(p->where, sizeof(p->where), "NOT (j.logged > 0)");
}

void rama_query_order_init(struct rama_query_order *o, const struct rama_query_jobs *q)
{
	*o = (struct rama_query_order){ .up = q->up };
	snprintf(o->key, sizeof(o->key), "(%s)", q->order.sql);
	if (q->order.kind == RAMA_QUERY_METRIC_FIGURE && rama_store_figure_ranked(q->order.key))
		by_figure(o, &q->order);
	else
		by_column(o, &q->order);
}

unsigned rama_query_order_part(const struct rama_query_order *o, const struct rama_store_cell *key)
{
	double v = key->type == RAMA_STORE_CELL_REAL ? key->f : (double)key->i;

	if (key->type == RAMA_STORE_CELL_NULL)
		return o->n - 1;
	if (o->n == 2)
		return 0;
	return v == 0 ? 1 : (v > 0) != o->up ? 0 : 2;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* of the order: a place in another one means nothing */
static uint32_t mark_of(const struct rama_query_jobs *q)
{
	static const struct rama_sipkey fixed = { 0x6f72646572206f66u, 0x206a6f6273000000u };
	char text[80];
	int n = snprintf(text, sizeof(text), "%c%s", q->up ? '+' : '-', q->order.key);

	return (uint32_t)rama_siphash(&fixed, text, (size_t)n);
}

const char *rama_query_place_text(struct rama_query_jobs *q, const struct rama_store_cell *key,
				  int64_t job)
{
	size_t room = 80 + (key->type == RAMA_STORE_CELL_TEXT ? 2 * key->len : 0);
	char *to = rama_arena_alloc(&q->arena, room), *at = to;
	uint64_t bits;

	if (to == NULL)
		return NULL;
	switch (key->type) {
	case RAMA_STORE_CELL_INT:
		at += snprintf(at, room, "i%" PRIx64, (uint64_t)key->i);
		break;
	case RAMA_STORE_CELL_REAL:
		memcpy(&bits, &key->f, sizeof(bits));
		at += snprintf(at, room, "r%" PRIx64, bits);
		break;
	case RAMA_STORE_CELL_TEXT:
		*at++ = 't';
		for (size_t i = 0; i < key->len; i++)
			at += snprintf(at, 3, "%02x", (unsigned char)key->text[i]);
		break;
	default:
		*at++ = 'n';
	}
	snprintf(at, room - (size_t)(at - to), ".%" PRIx64 ".%" PRIx32, (uint64_t)job, mark_of(q));
	return to;
}

/* hexadecimal digits up to a dot or the end */
static bool take_hex(const char **text, uint64_t *v)
{
	size_t n = strspn(*text, "0123456789abcdef");

	*v = strtoull(*text, NULL, 16);
	if (n == 0 || n > 16 || ((*text)[n] != '.' && (*text)[n] != '\0'))
		return false;
	*text += n + ((*text)[n] == '.');
	return true;
}

static bool take_text(struct rama_query_jobs *q, const char **text, struct rama_store_cell *key)
{
	size_t n = strspn(*text, "0123456789abcdef");
	char *to = rama_arena_alloc(&q->arena, n / 2 + 1);

	if (to == NULL || n % 2 != 0 || (*text)[n] != '.')
		return false;
	for (size_t i = 0; i < n; i += 2) {
		char two[3] = { (*text)[i], (*text)[i + 1], '\0' };

		to[i / 2] = (char)strtoul(two, NULL, 16);
	}
	to[n / 2] = '\0';
	*key = (struct rama_store_cell){ .type = RAMA_STORE_CELL_TEXT, .text = to, .len = n / 2 };
	*text += n + 1;
	return true;
}

static bool take_key(struct rama_query_jobs *q, const char **text, struct rama_store_cell *key)
{
	char type = **text;
	uint64_t v = 0;

	*text += type != '\0';
	if (type == 't')
		return take_text(q, text, key);
	if (type == 'n') {
		*key = (struct rama_store_cell){ .type = RAMA_STORE_CELL_NULL };
		*text += **text == '.';
		return true;
	}
	if ((type != 'i' && type != 'r') || !take_hex(text, &v))
		return false;
	*key = rama_query_cell_int((int64_t)v);
	if (type == 'r') {
		key->type = RAMA_STORE_CELL_REAL;
		memcpy(&key->f, &v, sizeof(v));
	}
	return true;
}

int rama_query_place_parse(struct rama_query_jobs *q, const char *text,
			   struct rama_query_place *place, struct rama_err *e)
{
	const char *at = text;
	uint64_t job, mark;
	bool is_text = strcmp(q->order.unit, "text") == 0;

	*place = (struct rama_query_place){ 0 };
	if (!take_key(q, &at, &place->key) || !take_hex(&at, &job) || !take_hex(&at, &mark) ||
	    *at != '\0' || mark != mark_of(q) ||
	    (place->key.type != RAMA_STORE_CELL_NULL &&
	     (place->key.type == RAMA_STORE_CELL_TEXT) != is_text))
		return rama_err_set(e, RAMA_EUSAGE, "'%.100s' is no place in a list in this order",
				    text);
	place->job = (int64_t)job;
	place->set = true;
	return 0;
}
