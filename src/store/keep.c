/* SPDX-License-Identifier: BSD-3-Clause */
/* keep.c: how long a store keeps what, as a setting of its own, and what is older goes: events
 * first, then sums by second (those by minute stay), at last the job; samples of nodes by
 * themselves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/when.h"
#include "store/handle.h"

#define SECOND 1000000000ll
#define DAY (86400 * SECOND)

static const char *const names[RAMA_STORE_KEEPS] = { "events", "series", "samples", "jobs" };

/* ---- the setting ----------------------------------------------------------------------------- */

static int read_span(struct rama_store_keep *k, const char *word, size_t name, struct rama_err *e)
{
	const char *text = strchr(word, '=') + 1;
	int64_t *span = &k->span[name];

	if (strcmp(text, "forever") == 0)
		*span = RAMA_STORE_FOREVER;
	else if (!rama_when_span(text, span) || *span < SECOND)
		return rama_err_set(e, RAMA_EUSAGE,
				    "%s: it is a span such as 30d or 2y, or forever", word);
	return 0;
}

static int read_word(struct rama_store_keep *k, const char *word, bool *seen, struct rama_err *e)
{
	const char *equals = strchr(word, '=');
	size_t i = 0, len = equals != NULL ? (size_t)(equals - word) : 0;

	while (i < RAMA_STORE_KEEPS &&
	       (strlen(names[i]) != len || strncmp(names[i], word, len) != 0))
		i++;
	if (i == RAMA_STORE_KEEPS)
		return rama_err_set(e, RAMA_EUSAGE,
				    "%s: it is events=, series=, samples= or jobs=, and a span",
				    word);
	if (seen[i])
		return rama_err_set(e, RAMA_EUSAGE, "%s= is there twice", names[i]);
	seen[i] = true;
	return read_span(k, word, i, e);
}

/* what is more goes first: nothing is kept of a job that is gone */
static int agree(const struct rama_store_keep *k, struct rama_err *e)
{
	static const struct {
		enum rama_store_keep_what less, more;
	} order[] = { { RAMA_STORE_KEEP_EVENTS, RAMA_STORE_KEEP_SERIES },
		      { RAMA_STORE_KEEP_EVENTS, RAMA_STORE_KEEP_JOBS },
		      { RAMA_STORE_KEEP_SERIES, RAMA_STORE_KEEP_JOBS } };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		int64_t less = k->span[order[i].less], more = k->span[order[i].more];

		if (less != RAMA_STORE_FOREVER && less > more)
			return rama_err_set(e, RAMA_EUSAGE, "%s cannot be kept for longer than %s",
					    names[order[i].less], names[order[i].more]);
	}
	return 0;
}

int rama_store_keep_read(struct rama_store_keep *k, const char *const *word, size_t n,
			 struct rama_err *e)
{
	bool seen[RAMA_STORE_KEEPS] = { false };
	int rc = n > 0 ? 0 : rama_err_set(e, RAMA_EUSAGE, "nothing is said of what to keep");

	for (size_t i = 0; i < RAMA_STORE_KEEPS; i++)
		k->span[i] = RAMA_STORE_FOREVER;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = read_word(k, word[i], seen, e);
	return rc == 0 ? agree(k, e) : rc;
}

static void span_text(char *to, size_t room, int64_t span)
{
	static const struct {
		char name;
		int64_t ns;
	} units[] = { { 'y', 365 * DAY }, { 'd', DAY }, { 'h', 3600 * SECOND }, { 's', SECOND } };
	size_t i = 0;

	while (i < 3 && span % units[i].ns != 0)
		i++;
	if (span == RAMA_STORE_FOREVER)
		snprintf(to, room, "forever");
	else
		snprintf(to, room, "%lld%c", (long long)(span / units[i].ns), units[i].name);
}

char *rama_store_keep_text(char to[RAMA_STORE_KEEP_TEXT], const struct rama_store_keep *k)
{
	size_t n = 0;

	for (size_t i = 0; i < RAMA_STORE_KEEPS; i++) {
		char span[32];

		span_text(span, sizeof(span), k->span[i]);
		n += (size_t)snprintf(to + n, RAMA_STORE_KEEP_TEXT - n, "%s%s=%s", i > 0 ? " " : "",
				      names[i], span);
	}
	return to;
}

int rama_store_keep_set(struct rama_store *s, const struct rama_store_keep *k, struct rama_err *e)
{
	static const char set[] = "INSERT INTO meta (key, value) VALUES ('keep', $1)"
				  " ON CONFLICT (key) DO UPDATE SET value = excluded.value";
	static const char forget[] = "DELETE FROM meta WHERE key = 'keep'";
	char text[RAMA_STORE_KEEP_TEXT];

	if (k == NULL)
		return rama_store_do(s, forget, NULL, 0, e);
	return rama_store_do(s, set, ARGS(rama_store_cell_t(rama_store_keep_text(text, k))), e);
}

static int take_text(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	if (row->cell[0].type == RAMA_STORE_CELL_TEXT)
		snprintf(ctx, RAMA_STORE_KEEP_TEXT, "%s", row->cell[0].text);
	return 1;
}

int rama_store_keep_get(struct rama_store *s, struct rama_store_keep *k, struct rama_err *e)
{
	static const char get[] = "SELECT value FROM meta WHERE key = 'keep'";
	char text[RAMA_STORE_KEEP_TEXT] = "", *rest = NULL;
	const char *word[RAMA_STORE_KEEPS + 1];
	size_t n = 0;
	int rc = rama_store_rows(s, get, NULL, 0, take_text, text, e);

	if (rc < 0 || text[0] == '\0')
		return rc < 0 ? rc : 0;
	for (char *w = strtok_r(text, " ", &rest); w != NULL && n <= RAMA_STORE_KEEPS;
	     w = strtok_r(NULL, " ", &rest))
		word[n++] = w;
	rc = rama_store_keep_read(k, word, n, e);
	return rc == 0 ? 1
		       : rama_err_set(e, RAMA_ECORRUPT, "the setting of the store: %s", e->text);
}

/* ---- what is older goes ---------------------------------------------------------------------- */

/* Jobs that ended in [$2, $1) and still have what is to go. */
#define ENDED "FROM jobs WHERE end_ns < $1 AND end_ns >= $2 AND state <> 'running'"
#define OF_EVENTS ENDED " AND pruned = 0 AND processes > 0"
#define OF_SERIES ENDED " AND pruned < 2 AND processes > 0"
#define OF_SAMPLES                                                                       \
	"FROM sample_values WHERE series IN (SELECT number FROM sample_series) AND t_ns" \
	" < $1 AND t_ns >= $2"
static const struct {
	const char *count, *list;
} old[RAMA_STORE_KEEPS] = {
	[RAMA_STORE_KEEP_EVENTS] = { "SELECT count(*) " OF_EVENTS,
				     "SELECT number " OF_EVENTS " ORDER BY number" },
	[RAMA_STORE_KEEP_SERIES] = { "SELECT count(*) " OF_SERIES,
				     "SELECT number " OF_SERIES " ORDER BY number" },
	[RAMA_STORE_KEEP_SAMPLES] = { "SELECT count(*) " OF_SAMPLES, NULL },
	[RAMA_STORE_KEEP_JOBS] = { "SELECT count(*) " ENDED,
				   "SELECT number " ENDED " ORDER BY number" },
};

/* Sums of these jobs by second and ten seconds go; those by minute and hour stay. */
static int coarsen(struct rama_store *s, const int64_t *job, size_t n, struct rama_err *e)
{
	static const char *const sql[] = {
		"DELETE FROM series WHERE job = $1",
		"DELETE FROM series_ten WHERE job = $1",
		"UPDATE jobs SET pruned = 2 WHERE number = $1",
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n;) {
		rc = rama_store_begin(s, e);
		if (rc != 0)
			return rc;
		for (size_t k = 0; rc == 0 && i < n && k < RAMA_STORE_TOGETHER; k++, i++)
			for (size_t q = 0; rc == 0 && q < sizeof(sql) / sizeof(sql[0]); q++)
				rc = rama_store_do(s, sql[q], ARGS(I(job[i])), e);
		if (rc == 0)
			rc = rama_store_commit(s, e);
		if (rc != 0)
			rama_store_rollback(s);
	}
	return rc;
}

/* from: of jobs that ended before it all has gone already */
static int remove_old(struct rama_store *s, enum rama_store_keep_what what, int64_t before,
		      int64_t from, int64_t *n, struct rama_err *e)
{
	struct rama_store_list l = { 0 };
	int rc;

	if (what == RAMA_STORE_KEEP_SAMPLES)
		return rama_store_samples_remove(s, before, n, e);
	rc = rama_store_list(s, old[what].list, ARGS(I(before), I(from)), &l, e);
	if (rc == 0 && what == RAMA_STORE_KEEP_SERIES)
		rc = coarsen(s, l.number, l.n, e);
	else if (rc == 0)
		rc = rama_store_jobs_remove(s, l.number, l.n, what == RAMA_STORE_KEEP_EVENTS, e);
	*n = rc == 0 ? (int64_t)l.n : 0;
	free(l.number);
	return rc;
}

/* the moment before which it goes; a span that is longer than time is for ever */
static int64_t moment_of(const struct rama_store_keep *k, size_t what, int64_t now)
{
	return k->span[what] >= now ? INT64_MIN : now - k->span[what];
}

int rama_store_keep_apply(struct rama_store *s, const struct rama_store_keep *k, bool dry,
			  struct rama_store_keep_gone *gone, struct rama_err *e)
{
	/* what goes with its job, or with its sums, is not looked at by itself */
	static const enum rama_store_keep_what order[RAMA_STORE_KEEPS] = {
		RAMA_STORE_KEEP_JOBS, RAMA_STORE_KEEP_EVENTS, RAMA_STORE_KEEP_SERIES,
		RAMA_STORE_KEEP_SAMPLES
	};
	int64_t now = rama_store_now(s), jobs = moment_of(k, RAMA_STORE_KEEP_JOBS, now), all = 0;
	int rc = dry ? 0 : rama_store_reap(s, now, e);

	*gone = (struct rama_store_keep_gone){ { 0 } };
	for (size_t i = 0; rc == 0 && i < RAMA_STORE_KEEPS; i++) {
		enum rama_store_keep_what w = order[i];
		int64_t before = moment_of(k, w, now);
		bool apart = w == RAMA_STORE_KEEP_JOBS || w == RAMA_STORE_KEEP_SAMPLES;
		int64_t from = apart ? INT64_MIN : jobs;

		if (before == INT64_MIN)
			continue;
		if (dry)
			rc = rama_store_ints(s, old[w].count, ARGS(I(before), I(from)), &gone->n[w],
					     1, e);
		else
			rc = remove_old(s, w, before, from, &gone->n[w], e);
		rc = rc < 0 ? rc : 0;
		all += gone->n[w];
	}
	return rc == 0 && !dry && all > 0 ? s->ops->shrink(s->db, e) : rc;
}
