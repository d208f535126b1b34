/* SPDX-License-Identifier: BSD-3-Clause */
/* made.c: logs that the ranks of a job have made themselves, since they were not all on one
 * machine. What is left here, segments of other processes and of ranks that did not come along,
 * is joined with them. */
#include "gather/made.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(struct rama_err *e)
{
	return rama_err_set(e, RAMA_EMEMORY, "out of memory");
}

/* "3,7-9" of the metadata; what makes no sense there is left out */
static int read_missing(struct rama_gather_made_log *l, struct rama_err *e)
{
	const char *p = strstr(l->log.job.metadata, RAMA_LOG_META_MISSING);
	char *end;

	for (p = p != NULL ? p + strlen(RAMA_LOG_META_MISSING) : ""; *p >= '0' && *p <= '9';
	     p = end) {
		long long first = strtoll(p, &end, 10), last = first;

		if (*end == '-')
			last = strtoll(end + 1, &end, 10);
		if (first > last || last >= l->log.job.nprocs)
			return 0;
		if (rama_ranges_add(&l->missing, first, last) != 0)
			return no_memory(e);
		end += *end == ',';
	}
	return 0;
}

static int open_log(struct rama_gather_made_log *l, struct rama_err *e)
{
	int rc = rama_file_open(&l->file, l->path, e);

	if (rc != 0)
		return rc;
	rc = rama_log_open(&l->log, &l->file.src, NULL, e);
	if (rc != 0) {
		rama_file_close(&l->file);
		return rc;
	}
	l->open = true;
	if (l->log.job.nprocs < 1 || l->log.job.nprocs > RAMA_GATHER_RANKS)
		return rama_err_set(e, RAMA_ECORRUPT, "%lld processes",
				    (long long)l->log.job.nprocs);
	return read_missing(l, e);
}

int rama_gather_made_open(struct rama_gather_made *m, const char *const *paths, size_t n,
			  struct rama_err *e)
{
	int rc = 0;

	*m = (struct rama_gather_made){ .log = calloc(n + 1, sizeof(*m->log)) };
	if (m->log == NULL)
		return no_memory(e);
	for (; m->n < n && rc == 0; m->n++) {
		struct rama_gather_made_log *l = &m->log[m->n];

		l->path = paths[m->n];
		l->first = m->nprocs;
		rc = open_log(l, e);
		if (rc != 0)
			rama_err_prefix(e, "%s", l->path);
		else
			m->nprocs += l->log.job.nprocs;
	}
	return rc;
}

int64_t rama_gather_made_place(struct rama_gather_made *m, int64_t rank, int64_t world)
{
	for (size_t i = 0; i < m->n; i++) {
		struct rama_gather_made_log *l = &m->log[i];

		if (l->log.job.nprocs == world && rama_ranges_has(&l->missing, rank) &&
		    !rama_ranges_has(&l->found, rank) &&
		    rama_ranges_add(&l->found, rank, rank) == 0)
			return l->first + rank;
	}
	return -1;
}

int rama_gather_made_missing(const struct rama_gather_made *m, struct rama_ranges *to)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct rama_gather_made_log *l = &m->log[i];

		for (size_t k = 0; k < l->missing.n; k++)
			for (int64_t r = l->missing.r[k][0]; r <= l->missing.r[k][1]; r++)
				if (!rama_ranges_has(&l->found, r) &&
				    rama_ranges_add(to, l->first + r, l->first + r) != 0)
					return RAMA_EMEMORY;
	}
	return 0;
}

void rama_gather_made_close(struct rama_gather_made *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->log[i].missing.r);
		free(m->log[i].found.r);
		if (m->log[i].open) {
			rama_log_close(&m->log[i].log);
			rama_file_close(&m->log[i].file);
		}
	}
	free(m->log);
	*m = (struct rama_gather_made){ 0 };
}
