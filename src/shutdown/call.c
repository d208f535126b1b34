/* SPDX-License-Identifier: BSD-3-Clause */
/* call.c: who is there? Each rank reports to its parent in a binomial tree (its number
 * without the lowest bit) and waits to be called. If a child is silent, its own children are
 * asked instead, so that a rank that is not there costs nobody else. Rank 0 then tells everybody
 * who takes part. */
#include <stdlib.h>
#include <string.h>

#include "shutdown/rank.h"

/* Shares of the limit: how long a child may take to come, and what each level of the tree adds.
 * Everybody has been called at one half. */
#define ARRIVE 0.25
#define LEVELS 0.20
#define CALLED 0.50

enum { CALL_GO, CALL_ASK, CALL_OUT, CALL_FAIL };

/* a rank whose report is due */
struct due {
	int64_t rank;
	unsigned level; /* of its part of the tree */
	bool asked;
	double until, last;
};

struct call {
	struct rama_shutdown_shut *s;
	struct due *due;
	size_t n_due, room;
	int64_t *joined; /* ranks that reported here */
	size_t n_joined;
	unsigned height; /* of the whole tree */
};

static unsigned height_of(int64_t size)
{
	unsigned h = 0;

	while (h < RAMA_SHUTDOWN_SHUT_LEVELS && (int64_t)1 << h < size)
		h++;
	return h;
}

/* levels below a rank: as many as it has zeros at the end */
static unsigned levels_below(const struct call *c, int64_t rank)
{
	unsigned h = 0;

	if (rank == 0)
		return c->height;
	while (!(rank >> h & 1))
		h++;
	return h;
}

/* ---- reports --------------------------------------------------------------------------------- */

static bool earlier(const int64_t a[2], const int64_t b[2])
{
	return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1];
}

static void put_times(struct rama_shutdown_msg *m, const struct rama_shutdown_shut *s)
{
	for (unsigned i = 0; i < 2; i++)
		rama_shutdown_msg_u64(m, (uint64_t)s->start[i]);
	for (unsigned i = 0; i < 2; i++)
		rama_shutdown_msg_u64(m, (uint64_t)s->end[i]);
}

static void make_report(const struct rama_shutdown_shut *s, struct rama_shutdown_msg *m)
{
	put_times(m, s);
	rama_shutdown_msg_u64(m, s->partial);
	rama_shutdown_msg_put(m, s->version, sizeof(s->version));
	rama_shutdown_msg_put(m, &s->unseen, sizeof(s->unseen));
	rama_shutdown_ranges_put(m, &s->missing);
}

/* false: it makes no sense, as if none had come */
static bool take_report(struct rama_shutdown_shut *s, struct rama_shutdown_got *g)
{
	int64_t start[2], end[2];
	uint64_t partial;
	const void *version, *unseen;
	struct rama_log_unseen_sum more;

	for (unsigned i = 0; i < 2; i++)
		start[i] = (int64_t)rama_shutdown_got_u64(g);
	for (unsigned i = 0; i < 2; i++)
		end[i] = (int64_t)rama_shutdown_got_u64(g);
	partial = rama_shutdown_got_u64(g);
	version = rama_shutdown_got_take(g, sizeof(s->version));
	unseen = rama_shutdown_got_take(g, sizeof(more));
	if (g->bad || rama_shutdown_ranges_take(g, &s->missing, s->comm->size) != 0 || g->bad)
		return false;
	if (earlier(start, s->start))
		memcpy(s->start, start, sizeof(start));
	if (earlier(s->end, end))
		memcpy(s->end, end, sizeof(end));
	s->partial |= partial;
	memcpy(&more, unseen, sizeof(more));
	rama_log_unseen_join(&s->unseen, &more);
	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++) {
		uint64_t v;

		memcpy(&v, (const char *)version + i * sizeof(v), sizeof(v));
		s->version[i] = v > s->version[i] ? v : s->version[i];
	}
	return true;
}

/* the rank's own part of the report */
static void own_report(struct rama_shutdown_shut *s)
{
	s->start[0] = s->end[0] = INT64_MAX;
	if (s->own == NULL) {
		s->end[0] = INT64_MIN;
		return;
	}
	memcpy(s->start, (const char *)rama_shutdown_own_region(s->own, RAMA_LOG_REGION_JOB) + 8,
	       16);
	memcpy(s->end, (const char *)rama_shutdown_own_region(s->own, RAMA_LOG_REGION_JOB) + 24,
	       16);
	s->partial = s->own->partial;
	rama_log_unseen_read(&s->unseen,
			     (const char *)rama_shutdown_own_region(s->own, RAMA_LOG_REGION_JOB) +
				     56);
	for (unsigned i = 0; i < RAMA_TAB_MODULES; i++)
		s->version[i] = s->own->part[RAMA_LOG_REGION_MODULE + i].version;
}

/* ---- up -------------------------------------------------------------------------------------- */

/* kept in the order in which they are due */
static int expect(struct call *c, const struct due *d)
{
	size_t at = c->n_due;

	if (c->n_due == c->room) {
		size_t room = c->room == 0 ? 64 : 2 * c->room;
		struct due *more = realloc(c->due, room * sizeof(*more));
		int64_t *ranks = realloc(c->joined, room * sizeof(*ranks));

		c->due = more != NULL ? more : c->due;
		c->joined = ranks != NULL ? ranks : c->joined;
		if (more == NULL || ranks == NULL)
			return rama_shutdown_shut_no_memory(c->s);
		c->room = room;
	}
	for (; at > 0 && c->due[at - 1].until > d->until; at--)
		c->due[at] = c->due[at - 1];
	c->due[at] = *d;
	c->n_due++;
	return 0;
}

static void send_call(struct rama_shutdown_shut *s, int64_t to, uint64_t kind)
{
	struct rama_shutdown_msg m = { 0 };

	rama_shutdown_msg_u64(&m, kind);
	rama_shutdown_shut_send(s, to, RAMA_SHUTDOWN_TAG_CALL, &m);
	rama_shutdown_msg_fini(&m);
}

/* A rank is not there: it is told so in case it comes later, and its children are asked. They
 * have waited for their parent, so their answers come soon. */
static int adopt(struct call *c, struct due gone)
{
	double until = gone.until + (gone.last - gone.until) / (gone.level + 1);
	int rc = 0;

	send_call(c->s, gone.rank, CALL_OUT);
	if (rama_ranges_add(&c->s->missing, gone.rank, gone.rank) != 0)
		return rama_shutdown_shut_no_memory(c->s);
	for (unsigned k = 0; k < gone.level && rc == 0; k++) {
		struct due d = { gone.rank + ((int64_t)1 << k), k, true, until, gone.last };

		if (d.rank >= c->s->comm->size)
			break;
		send_call(c->s, d.rank, CALL_ASK);
		rc = expect(c, &d);
	}
	return rc;
}

static int collect(struct call *c)
{
	struct rama_shutdown_shut *s = c->s;
	double limit = s->opt.limit, slot = limit * LEVELS / (c->height + 1);
	int rc = 0;

	for (unsigned k = 0; k < levels_below(c, s->comm->rank) && rc == 0; k++) {
		double first = s->begin + limit * ARRIVE + slot * k;
		struct due d = { s->comm->rank + ((int64_t)1 << k), k, false, first + slot / 2,
				 first + slot };

		if (d.rank < s->comm->size)
			rc = expect(c, &d);
	}
	for (size_t i = 0; i < c->n_due && rc == 0; i++) {
		struct due d = c->due[i];
		struct rama_shutdown_got g = { 0 };

		if (rama_shutdown_shut_recv(
			    s, d.rank, d.asked ? RAMA_SHUTDOWN_TAG_AGAIN : RAMA_SHUTDOWN_TAG_HERE,
			    &g, d.until) == 0 &&
		    take_report(s, &g))
			c->joined[c->n_joined++] = d.rank;
		else
			rc = adopt(c, d);
		rama_shutdown_got_fini(&g);
	}
	return rc;
}

/* ---- down ------------------------------------------------------------------------------------ */

static void make_go(const struct rama_shutdown_shut *s, struct rama_shutdown_msg *m)
{
	rama_shutdown_msg_u64(m, CALL_GO);
	rama_shutdown_msg_f64(m, s->budget);
	put_times(m, s);
	rama_shutdown_msg_u64(m, s->writers);
	rama_shutdown_msg_u64(m, s->file.mark);
	rama_shutdown_msg_put(m, s->file.path, sizeof(s->file.path));
	rama_shutdown_ranges_put(m, &s->missing);
}

static int take_go(struct rama_shutdown_shut *s, struct rama_shutdown_got *g)
{
	const char *path;

	s->missing.n = 0;
	s->budget = rama_shutdown_got_f64(g);
	for (unsigned i = 0; i < 2; i++)
		s->start[i] = (int64_t)rama_shutdown_got_u64(g);
	for (unsigned i = 0; i < 2; i++)
		s->end[i] = (int64_t)rama_shutdown_got_u64(g);
	s->writers = (unsigned)rama_shutdown_got_u64(g);
	s->file.mark = rama_shutdown_got_u64(g);
	path = rama_shutdown_got_take(g, sizeof(s->file.path));
	if (path != NULL)
		memcpy(s->file.path, path, sizeof(s->file.path) - 1);
	if (rama_shutdown_ranges_take(g, &s->missing, s->comm->size) != 0)
		return rama_shutdown_shut_no_memory(s);
	if (g->bad || !(s->budget <= s->opt.limit) || s->writers == 0)
		return rama_err_set(s->e, RAMA_ECORRUPT, "the call of rank 0 is damaged");
	return 0;
}

/* a call came: 1 to wait on */
static int answer(struct rama_shutdown_shut *s, int64_t from, struct rama_shutdown_got *g)
{
	struct rama_shutdown_msg m = { 0 };
	int rc;

	switch (rama_shutdown_got_u64(g)) {
	case CALL_GO:
		return take_go(s, g);
	case CALL_ASK:
		make_report(s, &m);
		rama_shutdown_shut_send(s, from, RAMA_SHUTDOWN_TAG_AGAIN, &m);
		rama_shutdown_msg_fini(&m);
		return 1;
	case CALL_OUT:
		return rama_err_set(s->e, RAMA_EMISSING, "this rank came too late");
	default:
		rc = (int)(int64_t)rama_shutdown_got_u64(g);
		return rama_err_set(s->e, rc > RAMA_E_FIRST && rc < 0 ? rc : RAMA_EIO,
				    "rank 0 is not there, or cannot write the log");
	}
}

/* Looks at the parent, and now and then at those above it, who speak if the parent is not there. */
static int wait_for_call(struct rama_shutdown_shut *s)
{
	double until = s->begin + s->opt.limit * CALLED;
	int64_t parent = s->comm->rank & (s->comm->rank - 1);
	int rc = 1;

	while (rc > 0 && s->comm->now(s->comm->ctx) < until) {
		double soon = s->comm->now(s->comm->ctx) + s->opt.limit * RAMA_SHUTDOWN_SHUT_LOOK;
		struct rama_shutdown_got g = { 0 };
		int64_t from = parent;

		soon = soon < until ? soon : until;
		rc = rama_shutdown_shut_recv(s, from, RAMA_SHUTDOWN_TAG_CALL, &g, soon);
		while (rc != 0 && from > 0) {
			from &= from - 1;
			rc = rama_shutdown_shut_recv(s, from, RAMA_SHUTDOWN_TAG_CALL, &g, 0);
		}
		rc = rc == 0 ? answer(s, from, &g) : 1;
		rama_shutdown_got_fini(&g);
	}
	return rc <= 0 ? rc : rama_err_set(s->e, RAMA_EMISSING, "rank 0 did not answer");
}

static int lead(struct rama_shutdown_shut *s)
{
	int rc = s->own == NULL
			 ? rama_err_set(s->e, RAMA_EMISSING, "rank 0 has no records to begin with")
			 : s->opt.file.create(s->opt.file.ctx, &s->file, s->e);

	s->file_open = rc == 0;
	s->budget = s->opt.limit * (1 - CALLED);
	s->writers = s->opt.writers;
	return rc;
}

static void pass_on(struct call *c, int rc)
{
	struct rama_shutdown_msg m = { 0 };

	if (rc == 0) {
		make_go(c->s, &m);
	} else {
		rama_shutdown_msg_u64(&m, CALL_FAIL);
		rama_shutdown_msg_u64(&m, (uint64_t)(int64_t)rc);
	}
	for (size_t i = c->n_joined; i-- > 0;) /* the largest part of the tree first */
		rama_shutdown_shut_send(c->s, c->joined[i], RAMA_SHUTDOWN_TAG_CALL, &m);
	rama_shutdown_msg_fini(&m);
}

/* the place of this rank among those that answered */
static int take_part(struct rama_shutdown_shut *s)
{
	s->from = s->comm->now(s->comm->ctx);
	for (size_t i = 0; i < s->missing.n; i++)
		if (rama_ranges_add(&s->out, s->missing.r[i][0], s->missing.r[i][1]) != 0)
			return rama_shutdown_shut_no_memory(s);
	s->count = s->comm->size - rama_ranges_count(&s->out);
	s->index = s->comm->rank;
	for (size_t i = 0; i < s->out.n && s->out.r[i][0] < s->comm->rank; i++)
		s->index -= s->out.r[i][1] - s->out.r[i][0] + 1;
	if (rama_ranges_has(&s->out, s->comm->rank))
		return rama_err_set(s->e, RAMA_EMISSING, "this rank has no records");
	return 0;
}

int rama_shutdown_shut_call(struct rama_shutdown_shut *s)
{
	struct call c = { .s = s, .height = height_of(s->comm->size) };
	int rc;

	own_report(s);
	if (s->own == NULL && rama_ranges_add(&s->missing, s->comm->rank, s->comm->rank) != 0)
		return rama_shutdown_shut_no_memory(s);
	rc = collect(&c);
	if (rc == 0 && s->comm->rank == 0) {
		rc = lead(s);
	} else if (rc == 0) {
		struct rama_shutdown_msg m = { 0 };

		make_report(s, &m);
		rama_shutdown_shut_send(s, s->comm->rank & (s->comm->rank - 1),
					RAMA_SHUTDOWN_TAG_HERE, &m);
		rama_shutdown_msg_fini(&m);
		rc = wait_for_call(s);
	}
	pass_on(&c, rc);
	if (rc == 0)
		rc = take_part(s);
	free(c.due);
	free(c.joined);
	return rc;
}

double rama_shutdown_shut_offset(const struct rama_shutdown_shut *s)
{
	int64_t own[2];

	memcpy(own, (const char *)rama_shutdown_own_region(s->own, RAMA_LOG_REGION_JOB) + 8,
	       sizeof(own));
	return ((double)own[0] - (double)s->start[0]) +
	       ((double)own[1] - (double)s->start[1]) * 1e-9;
}
