/* SPDX-License-Identifier: BSD-3-Clause */
/* merge.c: which ranks, which times, which names. */
#include "logfile/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ranges.h"
#include "logfile/cursor.h"
#include "logfile/unseen.h"

static bool earlier(const struct rama_log_job *x, const struct rama_log_job *y)
{
	return x->start_sec != y->start_sec ? x->start_sec < y->start_sec
					    : x->start_nsec < y->start_nsec;
}

static int by_start(const void *a, const void *b)
{
	const struct rama_log_job *x = &((const struct rama_log_merge_input *)a)->log->job,
				  *y = &((const struct rama_log_merge_input *)b)->log->job;

	return earlier(x, y) ? -1 : earlier(y, x);
}

static double seconds_between(const struct rama_log_job *from, const struct rama_log_job *to)
{
	return ((double)to->start_sec - (double)from->start_sec) +
	       ((double)to->start_nsec - (double)from->start_nsec) * 1e-9;
}

/* one walk over all records of a log: its ranks, and the last thing it knows of */
struct survey {
	struct rama_map *owner; /* rank -> input + 1 */
	double last;
	int64_t highest;
};

static void see_times(struct survey *s, const struct rama_core_record *r, double shift)
{
	for (unsigned i = 0; i < *r->schema->n_fields; i++) {
		const struct rama_tab_field *f = &r->schema->fields[i];

		if (rama_tab_field_is_timestamp(f) && r->w[f->word].f + shift > s->last)
			s->last = r->w[f->word].f + shift;
	}
}

/* who holds this rank? Two logs that both do cannot be of one job as they are */
static int see_rank(struct rama_log_merge *m, size_t at, struct survey *s, int64_t rank,
		    struct rama_err *e)
{
	const struct rama_log_merge_input *in = &m->in[at];
	uint64_t *owner;

	if (rank < 0 && in->log->job.nprocs > 1) {
		if (m->n_in == 1 || m->renumber)
			return 0;
		return rama_err_set(e, RAMA_ECORRUPT,
				    "%s holds shared records of a whole job; --renumber joins jobs",
				    in->path);
	}
	if (rank > INT32_MAX)
		return rama_err_set(e, RAMA_ECORRUPT, "%s holds rank %lld", in->path,
				    (long long)rank);
	if (rank < 0) /* a job of one process calls all its files shared */
		rank = 0;
	owner = rama_map_put(s->owner, (uint64_t)(rank + in->first_rank), NULL);
	if (owner == NULL)
		return rama_err_no_memory(e);
	if (*owner != 0 && *owner != at + 1)
		return rama_err_set(e, RAMA_ECORRUPT,
				    "%s and %s both hold rank %lld; --renumber gives new ranks",
				    m->in[*owner - 1].path, in->path, (long long)rank);
	*owner = at + 1;
	if (rank + in->first_rank > s->highest)
		s->highest = rank + in->first_rank;
	return 0;
}

static int survey_log(struct rama_log_merge *m, size_t at, struct survey *s, struct rama_err *e)
{
	struct rama_log_merge_input *in = &m->in[at];
	struct rama_log_hush before = rama_log_set_hush(in->log);
	int rc = 0;

	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN && rc == 0; id++) {
		struct rama_log_cursor c;
		struct rama_core_record *r;

		rc = rama_log_cursor_open(&c, in->log, id);
		while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
			see_times(s, r, in->shift);
			if (r->schema == r->mod->header) /* of the job, whoever wrote it */
				continue;
			rc = see_rank(m, at, s, r->w[RAMA_TAB_RANK].i, e);
			if (rc == 0)
				rc = 1;
		}
		if (rc < 0 && in->log->err.code == rc)
			rama_err_set(e, rc, "%s: %s", in->path, in->log->err.text);
		rama_log_cursor_close(&c);
	}
	rama_log_unhush(in->log, before);
	return rc;
}

/* A process that was killed left no end time: then the last thing it recorded is the end. */
static void set_end(struct rama_log_merge *m, double last)
{
	struct rama_log_job *j = &m->job;
	double end = (double)j->start_sec + (double)j->start_nsec * 1e-9 + last;

	for (size_t i = 0; i < m->n_in; i++) {
		const struct rama_log *log = m->in[i].log;
		int64_t nsec = log->minor < 41 ? 999999999 : log->job.end_nsec;

		if (log->job.end_sec > j->end_sec ||
		    (log->job.end_sec == j->end_sec && nsec > j->end_nsec)) {
			j->end_sec = log->job.end_sec;
			j->end_nsec = nsec;
		}
	}
	if ((double)j->end_sec + (double)j->end_nsec * 1e-9 < end && last < 1e9 && end < 0x1p62) {
		j->end_sec = (int64_t)end;
		j->end_nsec = (int64_t)((end - (double)j->end_sec) * 1e9);
	}
}

static void sum_unseen(struct rama_log_merge *m)
{
	struct rama_log_unseen_sum sum = { 0 };

	for (size_t i = 0; i < m->n_in; i++)
		rama_log_unseen_read(&sum, m->in[i].log->job.metadata);
	rama_log_unseen_replace(&sum, m->job.metadata, sizeof(m->job.metadata));
}

/* the step, say, of logs of one step; none where they are of several */
static void join_batch(struct rama_log_merge *m)
{
	m->batch[0] = '\0';
	for (size_t i = 0; i < m->n_in; i++)
		rama_log_batch_join(m->batch, m->in[i].log->job.metadata);
	rama_log_batch_done(m->batch);
	for (unsigned i = 0; i < RAMA_LOG_BATCH_WORDS; i++)
		rama_log_meta_set(m->job.metadata, sizeof(m->job.metadata), rama_log_batch_keys[i],
				  "");
	rama_log_meta_add(m->job.metadata, sizeof(m->job.metadata), m->batch);
}

/* ---- what logs say of ranks that they lack --------------------------------------------------- */

#define LACKS_MOST (1 << 20) /* ranks looked at one by one; a log may say any number */

/* "": there is no such line */
static const char *line_of(const char *metadata, const char *key)
{
	size_t len;
	const char *value = rama_log_meta_get(metadata, key, &len);

	return value != NULL ? value : "";
}

/* Ranks first-last that no log holds: others may have been found since one of them was written. */
static int add_lacking(struct rama_ranges *r, const struct rama_map *owner, int64_t first,
		       int64_t last)
{
	int rc = 0;

	if (last - first >= LACKS_MOST)
		return rama_ranges_add(r, first, last);
	for (int64_t i = first; i <= last && rc == 0; i++)
		if (rama_map_get(owner, (uint64_t)i) == NULL)
			rc = rama_ranges_add(r, i, i);
	return rc;
}

/* "3,7-9" */
static int read_lacking(struct rama_ranges *r, const struct rama_map *owner,
			const struct rama_log_merge_input *in)
{
	const char *p = line_of(in->log->job.metadata, RAMA_LOG_META_MISSING);
	int rc = 0;

	while (*p >= '0' && *p <= '9' && rc == 0) {
		char *end;
		int64_t first = strtoll(p, &end, 10), last = first;

		if (*end == '-')
			last = strtoll(end + 1, &end, 10);
		if (first > INT32_MAX || last > INT32_MAX)
			break;
		rc = add_lacking(r, owner, first + in->first_rank, last + in->first_rank);
		p = *end == ',' ? end + 1 : end;
	}
	return rc;
}

static int join_lacking(struct rama_log_merge *m, const struct rama_map *owner, struct rama_err *e)
{
	struct rama_ranges lacking = { 0 };
	int64_t unfinished = 0;
	char text[256] = "";
	int rc = 0;

	for (size_t i = 0; i < m->n_in && rc == 0; i++) {
		int64_t n = strtoll(line_of(m->in[i].log->job.metadata, RAMA_LOG_META_UNFINISHED),
				    NULL, 10);

		rc = read_lacking(&lacking, owner, &m->in[i]);
		unfinished += n > 0 && n <= INT32_MAX ? n : 0;
	}
	if (lacking.n > 0)
		rama_ranges_text(&lacking, text, sizeof(text));
	rama_log_meta_set(m->job.metadata, sizeof(m->job.metadata), RAMA_LOG_META_MISSING, text);
	text[0] = '\0';
	if (unfinished > 0)
		snprintf(text, sizeof(text), "%lld", (long long)unfinished);
	rama_log_meta_set(m->job.metadata, sizeof(m->job.metadata), RAMA_LOG_META_UNFINISHED, text);
	free(lacking.r);
	return rc == 0 ? 0 : rama_err_no_memory(e);
}

int rama_log_merge_plan(struct rama_log_merge *m, struct rama_err *e)
{
	struct rama_map owner = { 0 };
	struct survey s = { .owner = &owner, .highest = -1 };
	int64_t most = 0, sum = 0;
	int rc = 0;

	if (!m->images)
		qsort(m->in, m->n_in, sizeof(*m->in), by_start);
	m->job = m->in[0].log->job;
	sum_unseen(m);
	join_batch(m);
	m->job.end_sec = m->job.end_nsec = 0;
	for (size_t i = 1; i < m->n_in; i++) { /* images are not sorted by their start */
		const struct rama_log_job *j = &m->in[i].log->job;

		if (earlier(j, &m->job)) {
			m->job.start_sec = j->start_sec;
			m->job.start_nsec = j->start_nsec;
		}
	}
	for (size_t i = 0; i < m->n_in; i++) {
		int64_t n = m->in[i].log->job.nprocs;

		if (n < 1 || n > INT32_MAX)
			return rama_err_set(e, RAMA_ECORRUPT, "%s: %lld processes", m->in[i].path,
					    (long long)n);
		if (!m->images) /* else the caller knows */
			m->in[i].first_rank = m->renumber ? sum : 0;
		m->in[i].shift = seconds_between(&m->job, &m->in[i].log->job);
		sum += n;
		most = n > most ? n : most;
	}
	for (size_t i = 0; i < m->n_in && rc == 0 && !m->images; i++)
		rc = survey_log(m, i, &s, e);
	if (rc == 0 && !m->images)
		rc = join_lacking(m, &owner, e);
	m->nprocs = m->renumber ? sum : most > s.highest + 1 ? most : s.highest + 1;
	m->job.nprocs = m->nprocs;
	set_end(m, s.last);
	rama_map_fini(&owner);
	return rc;
}

static int write_names(struct rama_log_merge *m, struct rama_log_writer *w, struct rama_err *e)
{
	struct rama_map seen = { 0 };
	int rc = 0;

	for (size_t i = 0; i < m->n_in && rc == 0; i++) {
		const struct rama_log *log = m->in[i].log;

		for (size_t k = 0; k < log->n_names && rc == 0; k++) {
			const struct rama_log_name *n = &log->names[k];
			uint64_t *len = rama_map_put(&seen, n->id,
						     NULL); /* 1 + length of the name written */

			if (len == NULL)
				rc = rama_err_no_memory(e);
			else if (*len > 1 || (*len == 1 && n->len == 0))
				continue;
			else if ((rc = rama_log_writer_name(w, n->id, n->text, n->len)) != 0)
				*e = w->err;
			else
				*len = 1 + n->len;
		}
	}
	rama_map_fini(&seen);
	return rc;
}

/* mounts of all hosts, each once; the order of the file, which decides between equal lengths */
static size_t join_mounts(const struct rama_log_merge *m, struct rama_log_mount *to, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n_in; i++) {
		for (size_t k = 0; k < m->in[i].log->n_mounts && n < room; k++) {
			const struct rama_log_mount *x = &m->in[i].log->mounts[k];
			size_t at = 0;

			while (at < n && (strcmp(to[at].path, x->path) != 0 ||
					  strcmp(to[at].type, x->type) != 0))
				at++;
			if (at == n)
				to[n++] = *x;
		}
	}
	return n;
}

/* sections of an annex that nobody here knows cannot be joined either */
static void tell_dropped(struct rama_log *log)
{
	for (unsigned i = 0; i < log->annex.n; i++) {
		const struct rama_log_section *s = &log->annex.section[i];

		if (!rama_log_section_known(log, s))
			rama_log_note_section(log, s, "left out");
	}
}

int rama_log_merge_write(struct rama_log_merge *m, struct rama_log_writer *w, uint64_t *partial,
			 struct rama_err *e)
{
	struct rama_log_mount mounts[256];
	int rc = rama_log_writer_job(w, &m->job, mounts,
				     join_mounts(m, mounts, sizeof(mounts) / sizeof(mounts[0])));

	if (rc != 0)
		*e = w->err;
	else
		rc = write_names(m, w, e);
	*partial = 0;
	for (size_t i = 0; i < m->n_in; i++)
		tell_dropped(m->in[i].log);
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN && rc == 0; id++) {
		const struct rama_tab_module *mod = rama_tab_module_get(id);
		bool used = false;

		for (size_t i = 0; mod != NULL && i < m->n_in; i++) {
			used = used || m->in[i].log->part[id].version > 0;
			*partial |= m->in[i].log->partial & 1ull << id;
		}
		if (used)
			rc = rama_log_merge_module(m, w, mod, e);
	}
	return rc;
}
