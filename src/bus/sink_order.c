/* SPDX-License-Identifier: BSD-3-Clause */
#include "bus/sink_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	const struct rama_bus_order_key *x = a, *y = b;
	int c = strcmp(x->job, y->job);

	c = c != 0 ? c : memcmp(&x->segment, &y->segment, sizeof x->segment);
	return c != 0 ? c : (x->place > y->place) - (x->place < y->place);
}

/* What is damaged, or of no job, has an empty key: it comes first, and is judged when it is put. */
static void fill_key(struct rama_bus_order *o, struct rama_bus_order_key *k,
		     const unsigned char *bytes, size_t n)
{
	struct rama_wire_message m = { 0 };

	if (bytes == NULL || rama_wire_message_decode(&m, bytes, n, &o->arena, NULL) != 0 ||
	    rama_wire_message_job(&m, k->job) != 0) {
		k->job[0] = '\0';
	} else if (m.kind == RAMA_WIRE_MSG_PROCESS) {
		k->segment = m.process.segment;
	} else if (m.kind == RAMA_WIRE_MSG_ACTIVITY) {
		k->segment = m.activity.segment;
	} else if (m.kind == RAMA_WIRE_MSG_COUNTERS) {
		k->segment = m.counters.segment;
	} else if (m.kind == RAMA_WIRE_MSG_BLOCK &&
		   rama_wire_block_head(o->head, m.block.bytes, m.block.len, NULL) == 0) {
		k->segment = o->head->segment;
	}
	rama_arena_fini(&o->arena);
}

int rama_bus_order_make(struct rama_bus_order *o, size_t n,
			const unsigned char *(*get)(const void *batch, size_t i, size_t *len),
			const void *batch, struct rama_err *e)
{
	if (o->head == NULL)
		o->head = malloc(sizeof *o->head);
	if (n > o->room) {
		struct rama_bus_order_key *more = realloc(o->key, n * sizeof *more);

		o->key = more != NULL ? more : o->key;
		o->room = more != NULL ? n : o->room;
	}
	if (o->head == NULL || o->room < n)
		return rama_err_set(e, RAMA_EMEMORY, "%s", rama_err_text(RAMA_EMEMORY));
	for (size_t i = 0; i < n; i++) {
		size_t len = 0;
		const unsigned char *bytes = get(batch, i, &len);

		memset(&o->key[i], 0, sizeof o->key[i]);
		o->key[i].place = i;
		fill_key(o, &o->key[i], bytes, len);
	}
	qsort(o->key, n, sizeof *o->key, compare);
	return 0;
}

void rama_bus_order_fini(struct rama_bus_order *o)
{
	free(o->key);
	free(o->head);
	rama_arena_fini(&o->arena);
	memset(o, 0, sizeof *o);
}
