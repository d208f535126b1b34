/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_clickhouse.c: what a server of ClickHouse answers, behind a letter: h heads of blocks, b
 * whole blocks, i integers; u: the URL of servers. What is accepted keeps its promises; a row that
 * is written again is the same bytes. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "store/clickhouse/clickhouse.h"

struct got {
	const uint8_t *data;
	size_t size, n, bodies;
};

static int take(void *ctx, const struct rama_store_kept *k, struct rama_err *e)
{
	struct got *g = ctx;

	(void)e;
	CHECK(k->n > 0 && k->n <= RAMA_WIRE_BLOCK_EVENTS && k->t0 <= k->t1);
	CHECK(memchr(k->key, '\0', sizeof(k->key)) != NULL);
	CHECK(k->first <= INT64_MAX - RAMA_WIRE_BLOCK_EVENTS);
	if (k->body != NULL)
		CHECK(k->body >= g->data && k->body + k->len <= g->data + g->size);
	g->n++;
	g->bodies += k->len;
	return 0;
}

static int take_ints(void *ctx, const int64_t *v)
{
	struct got *g = ctx;

	(void)v;
	g->n++;
	return 0;
}

static void url(const uint8_t *data, size_t size)
{
	struct rama_store_ch_url u;
	struct rama_err e = { 0 };
	char *text = malloc(size + 1);

	CHECK(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	if (rama_store_ch_url_parse(&u, text, &e) == 0) {
		unsigned n = 0;

		CHECK(u.n_hosts > 0 && u.n_hosts <= RAMA_STORE_CH_HOSTS && u.n_shards > 0);
		for (unsigned i = 0; i < u.n_shards; i++) {
			CHECK(rama_store_ch_copies(&u, i) > 0);
			n += rama_store_ch_copies(&u, i);
		}
		CHECK(n == u.n_hosts && u.database[0] != '\0');
	} else {
		CHECK(e.code == RAMA_EUSAGE && strchr(e.text, '\n') == NULL);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct got g = { data, size, 0, 0 };
	struct rama_err e = { 0 };
	int rc = 0;

	if (size == 0)
		return 0;
	if (*data == 'u')
		url(data + 1, size - 1);
	else if (*data == 'i')
		rc = rama_store_ch_ints(data + 1, size - 1, 2, take_ints, &g, &e);
	else
		rc = rama_store_ch_rows(data + 1, size - 1, *data == 'b', take, &g, &e);
	CHECK(rc == 0 || e.code == RAMA_ECORRUPT);
	CHECK(g.n <= size && g.bodies <= size);
	return 0;
}
