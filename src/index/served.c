/* SPDX-License-Identifier: BSD-3-Clause */
/* served.c: the log of a daemon or server belongs to whoever runs it. What it did for one user is
 * his to see, and is made a log of its own. */
#include "index/served.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "logfile/served.h"

#define USERS 256	   /* of one server; who comes later sees nothing of it */
#define LARGEST (1u << 30) /* bytes of the log of one */

struct memory {
	unsigned char *bytes;
	size_t n, room;
};

static int to_memory(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	struct memory *m = ctx;

	if (off > LARGEST || n > LARGEST - off)
		return rama_err_set(e, RAMA_ELIMIT, "the log of one user is too large");
	if (!RAMA_GROW(m->bytes, m->room, (size_t)off + n))
		return rama_err_no_memory(e);
	if (off > m->n)
		memset(m->bytes + m->n, 0, (size_t)off - m->n);
	memcpy(m->bytes + off, bytes, n);
	m->n = m->n > (size_t)off + n ? m->n : (size_t)off + n;
	return 0;
}

static int64_t origin_of(const struct rama_log_job *j)
{
	return j->start_sec > 0 && j->start_sec < INT64_MAX / 2000000000
		       ? j->start_sec * 1000000000 + j->start_nsec
		       : 0;
}

static int64_t plus(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int take_user(struct rama_index_indexed *x, const struct rama_log_served *of,
		     struct rama_store_served *to, struct rama_index_users *users)
{
	struct memory m = { 0 };
	struct rama_log_sink sink = { .write = to_memory, .ctx = &m };
	struct rama_err e = { 0 };
	int rc = rama_log_served_write(&x->log, of, &sink, &e);
	unsigned char *bytes = rc == 0 ? rama_arena_alloc(&x->arena, m.n + 1) : NULL;

	if (rc == 0 && bytes == NULL)
		rc = RAMA_EMEMORY;
	if (rc == 0) {
		memcpy(bytes, m.bytes, m.n);
		*to = (struct rama_store_served){
			.uid = (int64_t)of->user - 1,
			.start_ns = plus(origin_of(&x->log.job), of->from),
			.end_ns = plus(origin_of(&x->log.job), of->to),
			.requests = of->requests,
			.bytes = bytes,
			.len = m.n,
		};
		to->user = rama_index_user_name(x, users, to->uid, &rc);
	}
	free(m.bytes);
	return rc;
}

int rama_index_served(struct rama_index_indexed *x, struct rama_index_users *users)
{
	struct rama_log_hush before = rama_log_set_hush(&x->log); /* its problems are known */
	struct rama_log_served *of = calloc(USERS, sizeof(*of));
	struct rama_store_served *to = NULL;
	size_t n = 0, taken = 0;
	int rc = of != NULL ? rama_log_served_users(&x->log, of, USERS, &n) : RAMA_EMEMORY;

	if (rc == RAMA_ECORRUPT)
		rc = 0; /* what can be read of it was */
	if (rc == 0 && n > 0 && (to = rama_arena_alloc(&x->arena, n * sizeof(*to))) == NULL)
		rc = RAMA_EMEMORY;
	for (size_t i = 0; rc == 0 && i < n; i++)
		if ((int64_t)of[i].user - 1 != x->log.job.uid)
			rc = take_user(x, &of[i], &to[taken++], users);
	x->row.served = to;
	x->row.n_served = rc == 0 ? taken : 0;
	free(of);
	rama_log_unhush(&x->log, before);
	return rc;
}
