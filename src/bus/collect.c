/* SPDX-License-Identifier: BSD-3-Clause */
/* collect.c: a batch of messages, put and committed, or not at all; and receipts. */
#include "bus/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "index/index.h"

int rama_bus_collect_store_open(struct rama_bus_collect_store *s, struct rama_err *e)
{
	int rc;

	if (s->store != NULL)
		return 0;
	rc = rama_store_open(&s->store, s->where, RAMA_STORE_WRITE | RAMA_STORE_CREATE, e);
	if (rc != 0) {
		char shown[256];

		s->store = NULL;
		rama_err_prefix(e, "%s", rama_bus_sink_shown(s->where, shown, sizeof shown));
	}
	return rc;
}

void rama_bus_collect_store_close(struct rama_bus_collect_store *s)
{
	if (s->store != NULL)
		rama_store_close(s->store);
	s->store = NULL;
	rama_arena_fini(&s->arena);
	rama_bus_order_fini(&s->order);
}

/* Is it the message, which no other attempt would make better? */
static bool is_damaged(int rc)
{
	return rc == RAMA_ECORRUPT || rc == RAMA_ETRUNC || rc == RAMA_EFORMAT ||
	       rc == RAMA_ELIMIT || rc == RAMA_EVERSION || rc == RAMA_EUSAGE;
}

static int put_bytes(struct rama_bus_collect_store *s, struct rama_bus_collected *c,
		     struct rama_err *e)
{
	struct rama_wire_message m = { 0 };
	int rc = rama_wire_message_decode(&m, c->bytes, c->len, &s->arena, e);

	c->events = c->stored = 0;
	if (rc == 0) {
		c->events = rama_wire_message_events(&m);
		rc = s->check != NULL ? s->check(s->ctx, c, &m, e) : 0;
	}
	if (rc == 0)
		rc = m.kind == RAMA_WIRE_MSG_LOG ? rama_index_log(s->store, &m.log, e)
						 : rama_store_put(s->store, &m, &c->stored, e);
	rama_arena_fini(&s->arena);
	return rc;
}

static int put_one(struct rama_bus_collect_store *s, struct rama_bus_collected *c,
		   struct rama_err *e)
{
	bool fetched = c->bytes == NULL && s->fetch != NULL;
	int rc = fetched ? s->fetch(s->ctx, c, e) : 0;

	c->fate = RAMA_BUS_FATE_STORED;
	if (rc == RAMA_EMISSING) {
		c->fate = RAMA_BUS_FATE_ABSENT;
		return 0;
	}
	if (rc == 0)
		rc = put_bytes(s, c, e);
	if (fetched)
		s->release(s->ctx, c);
	if (rc == 0 || !is_damaged(rc))
		return rc;
	c->fate = RAMA_BUS_FATE_REFUSED;
	s->refused(s->ctx, c, e->text);
	return 0;
}

static void count(struct rama_bus_collect_totals *t, const struct rama_bus_collected *c)
{
	if (c->fate == RAMA_BUS_FATE_STORED) {
		t->messages++;
		t->bytes += c->len;
		t->events += c->stored;
		t->repeated += c->events - c->stored;
	} else if (c->fate == RAMA_BUS_FATE_REFUSED) {
		t->refused++;
		t->refused_events += c->events;
	}
}

static const unsigned char *bytes_of(const void *batch, size_t i, size_t *len)
{
	const struct rama_bus_collected *c = batch;

	*len = c[i].len;
	return c[i].bytes;
}

int rama_bus_collect_put(struct rama_bus_collect_store *s, struct rama_bus_collected *c, size_t n,
			 struct rama_bus_collect_totals *t, struct rama_err *e)
{
	bool begun = false;
	int rc = rama_bus_collect_store_open(s, e);

	if (rc == 0)
		rc = rama_bus_order_make(&s->order, n, bytes_of, c, e);
	if (rc == 0)
		rc = rama_store_begin(s->store, e);
	begun = rc == 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = put_one(s, &c[s->order.key[i].place], e);
	if (rc == 0)
		rc = rama_store_commit(s->store, e);
	if (rc != 0) {
		for (size_t i = 0; i < n; i++)
			c[i].fate = RAMA_BUS_FATE_OPEN;
		if (begun)
			rama_store_rollback(s->store);
		rama_bus_collect_store_close(s);
		t->retries++;
		return e->code = RAMA_EIO;
	}
	for (size_t i = 0; i < n; i++)
		count(t, &c[i]);
	t->batches++;
	return 0;
}

/* ---- receipts -------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct rama_bus_receipt *x = a, *y = b;
	int c = strcmp(x->agent, y->agent);

	c = c != 0 ? c : strcmp(x->epoch, y->epoch);
	c = c != 0 ? c : (x->mark > y->mark) - (x->mark < y->mark);
	return c != 0 ? c : (x->number > y->number) - (x->number < y->number);
}

static bool same_text(const struct rama_bus_receipt *a, const struct rama_bus_receipt *b)
{
	return strcmp(a->agent, b->agent) == 0 && strcmp(a->epoch, b->epoch) == 0;
}

/* how many, from the first on, are one word */
static size_t word_of(const struct rama_bus_receipt *r, size_t n, char *to, size_t room)
{
	size_t k = 1;

	while (k < n && r->mark == 0 && r[k].mark == 0 && same_text(r, &r[k]) &&
	       r[k].number <= r[k - 1].number + 1)
		k++;
	if (r[k - 1].number > r->number)
		snprintf(to, room, " %llu-%llu", (unsigned long long)r->number,
			 (unsigned long long)r[k - 1].number);
	else
		snprintf(to, room, " %.1s%llu", r->mark != 0 ? &r->mark : "",
			 (unsigned long long)r->number);
	return k;
}

void rama_bus_receipts(struct rama_bus_receipt *r, size_t n, size_t room,
		       void (*say)(void *ctx, const char *agent, const char *text, size_t len),
		       void *ctx)
{
	char *text = malloc(room);
	size_t used = 0;

	if (text == NULL || n == 0) { /* they come again: agents ask when they hear nothing */
		free(text);
		return;
	}
	qsort(r, n, sizeof *r, compare);
	for (size_t i = 0, k; i < n; i += k) {
		char word[64];
		size_t len;

		k = word_of(&r[i], n - i, word, sizeof word);
		len = strlen(word);
		if (used == 0)
			used = (size_t)snprintf(text, room, "%s", r[i].epoch);
		memcpy(text + used, word, len);
		used += len;
		if (i + k == n || !same_text(&r[i], &r[i + k]) || used + 2 * sizeof word > room) {
			say(ctx, r[i].agent, text, used);
			used = 0;
		}
	}
	free(text);
}
