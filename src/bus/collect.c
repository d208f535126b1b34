/* SPDX-License-Identifier: BSD-3-Clause */
/* collect.c: a batch of messages, put and committed, or not at all; and receipts. */
#include "bus/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rama_bus_collect_store_open(struct rama_bus_collect_store *s, struct rama_err *e)
{
	return s->store != NULL ? 0 : rama_bus_put_open(&s->store, s->where, e);
}

void rama_bus_collect_store_close(struct rama_bus_collect_store *s)
{
	if (s->store != NULL)
		rama_store_close(s->store);
	s->store = NULL;
	rama_bus_put_fini(&s->put);
}

struct checked {
	struct rama_bus_collect_store *s;
	struct rama_bus_collected *c;
};

static int check(void *ctx, struct rama_wire_message *m, struct rama_err *e)
{
	struct checked *k = ctx;

	return k->s->check != NULL ? k->s->check(k->s->ctx, k->c, m, e) : 0;
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
		rc = rama_bus_put_message(s->store, c->bytes, c->len, check,
					  &(struct checked){ s, c }, &c->events, &c->stored, e);
	if (fetched)
		s->release(s->ctx, c);
	if (rc == 0 || !rama_bus_put_damaged(rc))
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
		rc = rama_bus_put_order(&s->put, n, bytes_of, c, e);
	if (rc == 0)
		rc = rama_store_begin(s->store, e);
	begun = rc == 0;
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = put_one(s, &c[s->put.key[i].place], e);
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
