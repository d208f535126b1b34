/* SPDX-License-Identifier: BSD-3-Clause */
/* read.c: jobs found by what people call them, their logs, their events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/parts.h"
#include "store/walk.h"

int rama_store_events(struct rama_store *s, const struct rama_store_event_filter *f,
		      rama_store_event_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_stored_event ev;
	struct rama_store_event_walk *w = NULL;
	int rc = rama_store_event_walk_open(&w, s->ops, s->db, f, e);

	while (rc == 0 && (rc = rama_store_event_walk_next(w, &ev, e)) > 0)
		rc = fn(ctx, &ev, e);
	rama_store_event_walk_close(w);
	return rc < 0 ? rc : 0;
}

/* all digits: a number of the store, else of the batch system */
static bool number_of(const char *word, int64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoll(word, &end, 10);
	return word[0] >= '0' && word[0] <= '9' && *end == '\0' && errno == 0;
}

int rama_store_find_job(struct rama_store *s, const char *word, int64_t *job, struct rama_err *e)
{
	static const char last[] = "SELECT number FROM jobs WHERE start_ns IS NOT NULL ORDER BY "
				   "start_ns DESC, number DESC LIMIT 1";
	static const char by_key[] = "SELECT number FROM jobs WHERE key = $1";
	static const char by_number[] = "SELECT number FROM jobs WHERE number = $1";
	static const char by_jobid[] = "SELECT number FROM jobs WHERE jobid = $1 ORDER BY start_ns "
				       "DESC, number DESC LIMIT 1";
	int64_t v;
	int rc = 0;

	if (strcmp(word, "last") == 0) {
		rc = rama_store_ints(s, last, NULL, 0, job, 1, e);
		if (rc == 0)
			return rama_err_set(e, RAMA_EMISSING, "the store has no jobs yet");
	} else if (number_of(word, &v)) {
		rc = rama_store_ints(s, by_number, ARGS(I(v)), job, 1, e);
		if (rc == 0)
			rc = rama_store_ints(s, by_jobid, ARGS(I(v)), job, 1, e);
	} else if (rama_store_utf8_clean(word, strlen(word))) {
		rc = rama_store_ints(s, by_key, ARGS(rama_store_cell_t(word)), job, 1, e);
	}
	if (rc == 0)
		return rama_err_set(e, RAMA_EMISSING,
				    "no job %.200s in the store; iorama jobs lists them", word);
	return rc < 0 ? rc : 0;
}

struct bytes {
	unsigned char *b;
	size_t n;
};

static int take_bytes(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *c = &row->cell[0];
	struct bytes *to = ctx;

	if (c->type != RAMA_STORE_CELL_BYTES)
		return 1;
	to->b = malloc(c->len + 1);
	if (to->b == NULL)
		return rama_err_no_memory(e);
	memcpy(to->b, c->text, c->len);
	to->n = c->len;
	return 1;
}

int rama_store_log_bytes(struct rama_store *s, int64_t job, unsigned char **bytes, size_t *n,
			 struct rama_err *e)
{
	static const char sql[] = "SELECT body FROM logs WHERE job = $1";
	struct bytes to = { 0 };
	int rc = rama_store_rows(s, sql, ARGS(I(job)), take_bytes, &to, e);

	if (rc == 0 && to.b == NULL)
		return rama_err_set(e, RAMA_EMISSING, "the store has no log of job %lld",
				    (long long)job);
	*bytes = to.b;
	*n = to.n;
	return rc;
}
