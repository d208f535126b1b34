/* SPDX-License-Identifier: BSD-3-Clause */
/* clickhouse.h: blocks in ClickHouse. url.c (which servers), rows.c (rows as
 * bytes), http.c (questions to servers), clickhouse.c (the six functions of blocks.h).
 * What servers answer is trusted as little as what anybody sends. */
#ifndef RAMA_STORE_CLICKHOUSE_CLICKHOUSE_H
#define RAMA_STORE_CLICKHOUSE_CLICKHOUSE_H

#include "base/out.h"
#include "store/blocks/blocks.h"

/* ---- url.c: clickhouse://USER@HOST:PORT,HOST…;HOST…/DATABASE ---- */

#define RAMA_STORE_CH_HOSTS 64
struct rama_store_ch_host {
	char name[128];
	uint16_t port;
	uint16_t shard;
};
struct rama_store_ch_url {
	struct rama_store_ch_host host[RAMA_STORE_CH_HOSTS]; /* in the order of shards */
	unsigned n_hosts, n_shards;
	bool tls;
	char user[64], database[64];
};
int rama_store_ch_url_parse(struct rama_store_ch_url *u, const char *text, struct rama_err *e);
/* copies of a shard's blocks */
unsigned rama_store_ch_copies(const struct rama_store_ch_url *u, unsigned shard);

/* ---- rows.c: rows as RowBinary has them ------------------------------------------ */

extern const char rama_store_ch_head_names[];  /* columns of a head, as they are asked for */
extern const char rama_store_ch_block_names[]; /* ... of a whole block */
extern const char rama_store_ch_second_names[];

/* month: the partition; put: when, ns */
void rama_store_ch_put_block(struct rama_out *o, const struct rama_store_kept *k, uint32_t month,
			     int64_t put);
void rama_store_ch_put_seconds(struct rama_out *o, const struct rama_store_kept *k, uint32_t month,
			       int64_t put);
/* Rows of heads, or of whole blocks (bodies point into the bytes). RAMA_ECORRUPT: they are none.
 * fn as in a walk; positive: enough. */
int rama_store_ch_rows(const unsigned char *bytes, size_t n, bool whole, rama_store_kept_fn fn,
		       void *ctx, struct rama_err *e);
/* integers of rows of n_v columns each, Int64 */
int rama_store_ch_ints(const unsigned char *bytes, size_t n, unsigned n_v,
		       int (*fn)(void *ctx, const int64_t *v), void *ctx, struct rama_err *e);
/* YYYYMM of a moment; 0: so far from now that a clock must have been wrong */
uint32_t rama_store_ch_month(int64_t ns, int64_t now);
/* its first moment, and that of the next one */
int64_t rama_store_ch_month_begin(uint32_t month);
int64_t rama_store_ch_month_end(uint32_t month);

/* text in a statement: in quotes */
void rama_store_ch_quote(struct rama_out *o, const char *text);

/* ---- http.c ---------------------------------------------------------------------- */

struct rama_store_ch_http;
int rama_store_ch_http_open(struct rama_store_ch_http **to, const struct rama_store_ch_url *u,
			    struct rama_err *e);
void rama_store_ch_http_close(struct rama_store_ch_http *h);

/* what a question is like */
struct rama_store_ch_question {
	const char *sql;
	const char *settings; /* &name=value…, "": none */
	const void *data;     /* rows of an INSERT, NULL: none */
	size_t n;
	int patience_ms;
	int again_ms; /* for so long all servers are asked again, while none answers */
};
/* Asks one server. The answer stays until the next question. RAMA_EIO: it may be answered later or
 * by another one; other errors: never. */
int rama_store_ch_ask_host(struct rama_store_ch_http *h, unsigned host,
			   const struct rama_store_ch_question *q, struct rama_err *e);
/* Asks the servers of a shard, one after the other until one answers; that one first the next
 * time. */
int rama_store_ch_ask(struct rama_store_ch_http *h, unsigned shard,
		      const struct rama_store_ch_question *q, struct rama_err *e);
const unsigned char *rama_store_ch_answer(const struct rama_store_ch_http *h, size_t *n);

#endif
