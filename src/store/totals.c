/* SPDX-License-Identifier: BSD-3-Clause */
/* totals.c: counters of all that ever came into the store, for those who ask often (Prometheus): a
 * few rows, however many jobs there are. They only grow: what is pruned counts all the same. Each
 * row is there several times, in parts, so that writers seldom wait for each other. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "store/handle.h"

#define PARTS 16

void rama_store_totals_clear(struct rama_store_totals *t)
{
	t->n = 0;
}

void rama_store_totals_fini(struct rama_store_totals *t)
{
	free(t->row);
	*t = (struct rama_store_totals){ 0 };
}

int rama_store_totals_add(struct rama_store *s, const char *name, const char *a, const char *b,
			  int64_t value)
{
	struct rama_store_totals *t = &s->batch.totals;
	struct rama_store_total *to = NULL;

	if (value == 0)
		return 0;
	for (size_t i = 0; to == NULL && i < t->n; i++)
		if (strcmp(t->row[i].name, name) == 0 && strcmp(t->row[i].a, a) == 0 &&
		    strcmp(t->row[i].b, b) == 0)
			to = &t->row[i];
	if (to == NULL) {
		if (!RAMA_GROW(t->row, t->room, t->n + 1))
			return RAMA_EMEMORY;
		to = &t->row[t->n++];
		*to = (struct rama_store_total){ .name = name };
		memcpy(to->a, a, strnlen(a, sizeof(to->a) - 1));
		memcpy(to->b, b, strnlen(b, sizeof(to->b) - 1));
	}
	to->value = value < 0 ? to->value + value : rama_store_sum(to->value, value);
	return 0;
}

/* one order for all writers, so that none waits for another in a circle */
static int in_order(const void *x, const void *y)
{
	const struct rama_store_total *p = x, *q = y;
	int n = strcmp(p->name, q->name);

	n = n != 0 ? n : strcmp(p->a, q->a);
	return n != 0 ? n : strcmp(p->b, q->b);
}

int rama_store_totals_flush(struct rama_store *s, struct rama_err *e)
{
	static const char sql[] =
		"INSERT INTO totals AS t (part, name, a, b, value) VALUES ($1, $2, $3, $4, $5)"
		" ON CONFLICT (part, name, a, b) DO UPDATE SET value = CASE WHEN t.value > $6 -"
		" excluded.value THEN $6 ELSE t.value + excluded.value END";
	struct rama_store_totals *t = &s->batch.totals;
	int rc = 0;

	if (t->n > 1)
		qsort(t->row, t->n, sizeof(t->row[0]), in_order);
	for (size_t i = 0; rc == 0 && i < t->n; i++)
		if (t->row[i].value != 0)
			rc = rama_store_do(
				s, sql,
				ARGS(I(getpid() % PARTS), rama_store_cell_t(t->row[i].name),
				     rama_store_cell_t(t->row[i].a), rama_store_cell_t(t->row[i].b),
				     I(t->row[i].value), I(RAMA_STORE_SUM_MOST)),
				e);
	rama_store_totals_clear(t);
	return rc;
}

/* what an older store has of it; the rest begins with the next message */
int rama_store_totals_fill(struct rama_store *s, struct rama_err *e)
{
	static const char *const fill[] = {
		"INSERT INTO totals (part, name, a, b, value) SELECT 0, 'findings', rule, level,"
		" count(*) FROM findings WHERE level IN ('HIGH', 'WARN', 'INFO') GROUP BY rule, "
		"level",
		"INSERT INTO totals (part, name, a, b, value) SELECT 0, 'events', 'stored', '',"
		" CAST(coalesce(sum(events), 0) AS BIGINT) FROM jobs",
		"INSERT INTO totals (part, name, a, b, value) SELECT 0, 'events', 'lost', '',"
		" CAST(coalesce(sum(lost), 0) AS BIGINT) FROM jobs",
		"INSERT INTO totals (part, name, a, b, value) SELECT 0, 'calls', layer, kind,"
		" CAST(sum(ops) AS BIGINT) FROM series_hour GROUP BY layer, kind",
		"INSERT INTO totals (part, name, a, b, value) SELECT 0, 'bytes', layer, kind,"
		" CAST(sum(bytes) AS BIGINT) FROM series_hour GROUP BY layer, kind",
		"INSERT INTO totals (part, name, a, b, value) SELECT 0, 'ns', layer, kind,"
		" CAST(sum(ns) AS BIGINT) FROM series_hour GROUP BY layer, kind",
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(fill) / sizeof(fill[0]); i++)
		rc = rama_store_do(s, fill[i], NULL, 0, e);
	return rc;
}
