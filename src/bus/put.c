/* SPDX-License-Identifier: BSD-3-Clause */
#include "bus/put.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "bus/sink/sink.h"
#include "index/index.h"

int rama_bus_put_open(struct rama_store **s, const char *where, struct rama_err *e)
{
	int rc = rama_store_open(s, where, RAMA_STORE_WRITE | RAMA_STORE_CREATE, e);

	if (rc != 0) {
		char shown[256];

		*s = NULL;
		rama_err_prefix(e, "%s", rama_bus_sink_shown(where, shown, sizeof shown));
	}
	return rc;
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct rama_bus_put_key *x = a, *y = b;
	int c = strcmp(x->job, y->job);

	c = c != 0 ? c : memcmp(&x->segment, &y->segment, sizeof x->segment);
	return c != 0 ? c : (x->place > y->place) - (x->place < y->place);
}

int rama_bus_put_order(struct rama_bus_put *p, size_t n,
		       const unsigned char *(*get)(const void *batch, size_t i, size_t *len),
		       const void *batch, struct rama_err *e)
{
	if (!RAMA_GROW(p->key, p->room, n))
		return rama_err_no_memory(e);
	for (size_t i = 0; i < n; i++) {
		struct rama_wire_message_head h = { 0 };
		size_t len = 0;
		const unsigned char *bytes = get(batch, i, &len);

		/* What is damaged, or of no job, has an empty key: it comes first, and is judged
		 * when it is put. */
		if (bytes != NULL)
			rama_wire_message_peek(&h, bytes, len, NULL);
		p->key[i] = (struct rama_bus_put_key){ .segment = h.segment, .place = i };
		memcpy(p->key[i].job, h.job, sizeof h.job);
	}
	qsort(p->key, n, sizeof *p->key, compare);
	return 0;
}

void rama_bus_put_fini(struct rama_bus_put *p)
{
	free(p->key);
	memset(p, 0, sizeof *p);
}

/* ---- one message ----------------------------------------------------------------------------- */

bool rama_bus_put_damaged(int rc)
{
	return rc == RAMA_ECORRUPT || rc == RAMA_ETRUNC || rc == RAMA_EFORMAT ||
	       rc == RAMA_ELIMIT || rc == RAMA_EVERSION || rc == RAMA_EUSAGE;
}

int rama_bus_put_message(struct rama_store *s, const unsigned char *bytes, size_t len,
			 int (*check)(void *ctx, struct rama_wire_message *m, struct rama_err *e),
			 void *ctx, uint64_t *events, uint64_t *stored, struct rama_err *e)
{
	struct rama_wire_message m = { 0 };
	struct rama_arena arena = { 0 };
	int rc = rama_wire_message_decode(&m, bytes, len, &arena, e);

	*events = *stored = 0;
	if (rc == 0) {
		*events = rama_wire_message_events(&m);
		rc = check != NULL ? check(ctx, &m, e) : 0;
	}
	if (rc == 0)
		rc = m.kind == RAMA_WIRE_MSG_LOG ? rama_index_log(s, &m.log, e)
						 : rama_store_put(s, &m, stored, e);
	rama_arena_fini(&arena);
	return rc;
}
