/* SPDX-License-Identifier: BSD-3-Clause */
/* stats.c: how much there is. */
#include <stdio.h>
#include <string.h>

#include "store/parts.h"

static int count_records(struct rama_store *s, int64_t *n, struct rama_err *e)
{
	int rc = 0;

	for (unsigned id = 0; rc == 0 && id < RAMA_TAB_MODULES_KNOWN; id++) {
		int64_t rows = 0;

		if (s->table[id].count != NULL)
			rc = rama_store_ints(s, s->table[id].count, NULL, 0, &rows, 1, e);
		rc = rc < 0 ? rc : 0;
		*n += rows;
	}
	return rc;
}

int rama_store_stats(struct rama_store *s, struct rama_store_counts *c, struct rama_err *e)
{
	static const char jobs[] = "SELECT count(*), CAST(sum(events) AS BIGINT), CAST(sum(lost) "
				   "AS BIGINT), min(start_ns),"
				   " max(end_ns) FROM jobs WHERE processes > 0 OR logged > 0";
	static const char *const counts[] = {
		"SELECT count(*) FROM processes",
		"SELECT count(*) FROM files",
		"SELECT count(*) FROM findings",
		"SELECT count(*) FROM sample_values",
		"SELECT count(*) FROM blocks",
		"SELECT count(*) FROM logs",
		"SELECT CAST(sum(n) AS BIGINT) FROM blocks",
	};
	int64_t v[5] = { 0 };
	int64_t *const to[] = { &c->processes, &c->files, &c->findings, &c->samples,
				&c->blocks,    &c->logs,  &c->events };
	int rc;

	*c = (struct rama_store_counts){ 0 };
	rc = rama_store_ints(s, jobs, NULL, 0, v, 5, e);
	c->jobs = v[0], c->lost = v[2], c->first = v[3], c->last = v[4];
	for (size_t i = 0; rc >= 0 && i < sizeof(to) / sizeof(to[0]); i++)
		rc = rama_store_ints(s, counts[i], NULL, 0, to[i], 1, e);
	if (rc >= 0)
		rc = count_records(s, &c->records, e);
	if (rc >= 0)
		rc = s->ops->version(s->db, &c->schema, e);
	c->bytes = s->ops->size(s->db);
	return rc < 0 ? rc : 0;
}
