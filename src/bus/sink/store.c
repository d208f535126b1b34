/* SPDX-License-Identifier: BSD-3-Clause */
/* store.c: messages go into a store of this machine, or one that this machine reaches. What
 * was put since the last sync is one batch, committed by it. When the store cannot be used for a
 * while, the batch is given up and asked for again. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"
#include "bus/put.h"
#include "bus/sink/sink.h"

#define REAP_EVERY 10000   /* ms between two looks for processes that are lost */
#define LONGEST_PAUSE 5000 /* ms between two attempts to open it again */

struct rama_bus_sink {
	struct rama_bus_sink_options o;
	char *where;
	struct rama_store *store; /* NULL: not open now */
	struct rama_bus_put put;
	struct rama_bus_sink_totals done, batch; /* committed; taken since then */
	uint64_t committed, taken;		 /* numbers of parcels */
	bool started;				 /* it was given something */
	bool begun;				 /* a batch is open in the store */
	bool failed;				 /* parcels after `committed` have to come again */
	bool troubled;				 /* told that it cannot be used */
	int64_t not_before, pause;		 /* ms */
	int64_t reaped;				 /* ms */
};

/* Does it exist, so that it was all right once? Servers always count as such. */
static bool may_come_back(const char *where)
{
	return strstr(where, "://") != NULL || access(where, F_OK) == 0;
}

static int store_open(struct rama_bus_sink **to, const struct rama_bus_sink_options *o,
		      struct rama_err *e)
{
	struct rama_bus_sink *s = calloc(1, sizeof *s);
	int rc;

	if (s == NULL || (s->where = strdup(o->where)) == NULL) {
		free(s);
		return rama_err_no_memory(e);
	}
	s->o = *o;
	s->o.where = s->where;
	rc = rama_bus_put_open(&s->store, s->where, e);
	if (rc != 0) {
		if (rc != RAMA_EIO || !may_come_back(s->where)) {
			free(s->where);
			free(s);
			return rc;
		}
		rama_bus_sink_tell(&s->o, "store: %s; events wait in the spool", e->text);
		s->troubled = true;
	}
	*to = s;
	return 0;
}

/* Gives the batch up: all of it is to be put again, after a pause that grows. */
static int give_up(struct rama_bus_sink *s, struct rama_err *e)
{
	if (!s->troubled)
		rama_bus_sink_tell(&s->o, "store: %s; events wait in the spool", e->text);
	s->troubled = true;
	if (s->begun)
		rama_store_rollback(s->store);
	if (s->store != NULL)
		rama_store_close(s->store);
	s->store = NULL;
	s->begun = false;
	s->failed |= s->taken > s->committed;
	s->taken = s->committed;
	memset(&s->batch, 0, sizeof s->batch);
	s->pause = s->pause == 0 ? 100 : s->pause < LONGEST_PAUSE ? s->pause * 2 : LONGEST_PAUSE;
	s->not_before = rama_now_ms() + s->pause;
	e->code = RAMA_EIO;
	return RAMA_EIO;
}

static int begin(struct rama_bus_sink *s, struct rama_err *e)
{
	if (s->begun)
		return 0;
	if (s->store == NULL) {
		if (rama_now_ms() < s->not_before)
			return rama_err_set(e, RAMA_EIO, "the store is not there yet");
		if (rama_bus_put_open(&s->store, s->where, e) != 0)
			return give_up(s, e);
	}
	if (rama_store_begin(s->store, e) != 0)
		return give_up(s, e);
	s->begun = true;
	return 0;
}

static int take(struct rama_bus_sink *s, const struct rama_bus_parcel *p, struct rama_err *e)
{
	uint64_t stored, events;
	int rc = rama_bus_put_message(s->store, p->bytes, p->len, NULL, NULL, &events, &stored, e);

	if (rc != 0 && !rama_bus_put_damaged(rc))
		return rc;
	if (rc != 0) {
		s->batch.refused++;
		s->batch.refused_events += events;
		rama_bus_sink_tell(&s->o, "message %llu: %s; left out",
				   (unsigned long long)p->number, e->text);
	} else {
		s->batch.messages++;
		s->batch.events += stored;
		s->batch.repeated += events - stored;
	}
	return 0;
}

static const unsigned char *bytes_of(const void *batch, size_t i, size_t *len)
{
	const struct rama_bus_parcel *p = batch;

	*len = p[i].len;
	return p[i].bytes;
}

static int64_t store_put(struct rama_bus_sink *s, const struct rama_bus_parcel *p, size_t n,
			 struct rama_err *e)
{
	if (n == 0)
		return 0;
	if (!s->started) /* those before it were committed by another agent of this spool */
		s->committed = s->taken = p->number - 1;
	s->started = true;
	if (s->failed && p->number > s->committed + 1)
		return rama_err_set(e, RAMA_EIO,
				    "the store was gone: earlier messages have to come again");
	if (begin(s, e) != 0)
		return RAMA_EIO;
	s->failed = false;
	if (rama_bus_put_order(&s->put, n, bytes_of, p, e) != 0)
		return give_up(s, e);
	for (size_t i = 0; i < n; i++) {
		const struct rama_bus_parcel *q = &p[s->put.key[i].place];
		int rc = q->number > s->taken
				 ? take(s, q, e)
				 : 0; /* others are in this batch already, or in one before */

		if (rc != 0) {
			s->taken = q->number; /* so that it is asked for again */
			return give_up(s, e);
		}
	}
	if (p[n - 1].number > s->taken)
		s->taken = p[n - 1].number;
	return (int64_t)n;
}

static void add_totals(struct rama_bus_sink_totals *to, const struct rama_bus_sink_totals *t)
{
	to->messages += t->messages;
	to->events += t->events;
	to->repeated += t->repeated;
	to->refused += t->refused;
	to->refused_events += t->refused_events;
}

/* Nobody is missed if it fails: it is tried again. */
static void reap(struct rama_bus_sink *s)
{
	struct rama_err e = { 0 };

	if (s->store == NULL || rama_now_ms() - s->reaped < REAP_EVERY)
		return;
	s->reaped = rama_now_ms();
	rama_store_reap(s->store, rama_store_now(s->store), &e);
}

static int store_sync(struct rama_bus_sink *s, int wait_ms, uint64_t *committed, uint64_t *again,
		      struct rama_err *e)
{
	(void)wait_ms; /* a commit takes what it takes */
	*again = UINT64_MAX;
	if (s->begun) {
		if (rama_store_commit(s->store, e) != 0) {
			give_up(s, e);
		} else {
			s->begun = false;
			add_totals(&s->done, &s->batch);
			memset(&s->batch, 0, sizeof s->batch);
			s->committed = s->taken;
			s->pause = 0;
			if (s->troubled)
				rama_bus_sink_tell(&s->o, "store: it is back");
			s->troubled = false;
			reap(s);
		}
	}
	if (s->failed)
		*again = s->committed + 1;
	*committed = s->committed;
	return 0;
}

static void store_totals(const struct rama_bus_sink *s, struct rama_bus_sink_totals *t)
{
	*t = s->done;
}

static void store_close(struct rama_bus_sink *s)
{
	if (s == NULL)
		return;
	if (s->begun)
		rama_store_rollback(s->store);
	if (s->store != NULL)
		rama_store_close(s->store);
	rama_bus_put_fini(&s->put);
	free(s->where);
	free(s);
}

const struct rama_bus_sink_ops rama_bus_sink_store = { "store",	   store_open,	 store_put,
						       store_sync, store_totals, store_close };
