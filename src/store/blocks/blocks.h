/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.h: where the blocks of events lie, behind six functions. There are two such places: the
 * tables of the store itself (sql.c), which know jobs and processes by number, and
 * ClickHouse (clickhouse.c), which knows them by their keys and is no part of a transaction: what
 * is put there may come again, and is known by (segment, lane, sequence). */
#ifndef RAMA_STORE_BLOCKS_BLOCKS_H
#define RAMA_STORE_BLOCKS_BLOCKS_H

#include "store/db.h"

/* what calls of a layer and kind of a block did in a second */
struct rama_store_second {
	const char *layer, *kind;
	int64_t second, ops, failed, bytes, ns, longest;
};

/* a block as it is kept */
struct rama_store_kept {
	int64_t number, job, process; /* in the tables; elsewhere 0: the keys tell */
	char key[RAMA_WIRE_JOB];      /* of the job */
	struct rama_wire_segment_key segment;
	int64_t rank, t0, t1;
	int64_t put_rank; /* under which it lies elsewhere; the process may have another one now */
	uint64_t first, lost;
	uint32_t lane, tid, n;
	struct rama_wire_block *block; /* put into tables: its events */
	const unsigned char *body;     /* packed; put into tables: NULL: `block` is to be packed */
	size_t len;
	const struct rama_store_second *second; /* put elsewhere: its sums */
	unsigned n_seconds;
};
/* Negative: an error that ends the walk; positive: enough; 0: go on. */
typedef int (*rama_store_kept_fn)(void *ctx, const struct rama_store_kept *k, struct rama_err *e);

#define RAMA_STORE_RANK_ANY INT64_MIN

/* Under which key and rank blocks were put. A process may have had others then than now. */
struct rama_store_lie {
	char key[RAMA_WIRE_JOB];
	int64_t rank; /* RAMA_STORE_RANK_ANY: any */
	bool of_one;  /* only blocks of this process */
	struct rama_wire_segment_key segment;
};
#define RAMA_STORE_LIES 64 /* at most */

/* Which blocks, in which order. Their heads come; with `only`: just these, with what is in them,
 * in `block` unless that is NULL, else packed. */
struct rama_store_ask {
	int64_t job;	  /* number, -1: all */
	int64_t rank;	  /* RAMA_STORE_RANK_ANY: all */
	uint64_t record;  /* others may be left out; 0: all */
	int64_t from, to; /* from <= t0 < to; in the order of t0 */
	/* the same, where keys tell: under these; none: all */
	const struct rama_store_lie *lie;
	unsigned n_lies;
	/* those of a process, in the order of lanes and first events; 0: as above */
	int64_t process;
	const struct rama_store_kept *after; /* NULL: from the beginning; else behind this one */
	unsigned limit;
	const struct rama_store_kept *only;
	unsigned n_only;
	struct rama_wire_block *block;
};

struct rama_store_block_counts {
	int64_t blocks, events, bytes;
};

/* a job whose blocks are no longer wanted */
struct rama_store_gone {
	int64_t job; /* number, in the tables */
	char key[RAMA_WIRE_JOB];
	int64_t end, at; /* when it ended; when it was removed: what was put later stays */
	bool done;	 /* set: they are away; else to be asked for once more, later */
};

struct rama_store_block_ops {
	const char *name;
	/* all are there for good when this returns */
	int (*put)(void *h, const struct rama_store_kept *k, size_t n, struct rama_err *e);
	int (*walk)(void *h, const struct rama_store_ask *ask, rama_store_kept_fn fn, void *ctx,
		    struct rama_err *e);
	/* since: jobs that stay have no event before */
	int (*remove)(void *h, struct rama_store_gone *gone, size_t n, int64_t since,
		      struct rama_err *e);
	int (*count)(void *h, struct rama_store_block_counts *c, struct rama_err *e);
	/* what is wrong with the place itself: how many lines went to `flaw`, or negative */
	int64_t (*check)(void *h, void (*flaw)(void *ctx, const char *line), void *ctx,
			 struct rama_err *e);
	void (*close)(void *h);
};

/* a place: which one, and its handle */
struct rama_store_place {
	const struct rama_store_block_ops *ops;
	void *h;
};

/* the tables of a database */
struct rama_store_near {
	const struct rama_store_db_ops *ops;
	void *db;
	struct rama_wire_block_packer *packer;
};
extern const struct rama_store_block_ops rama_store_blocks_sql;

/* ClickHouse. url: clickhouse://HOST:PORT,…/DATABASE. Speaks to nobody yet. */
int rama_store_clickhouse_open(void **h, const char *url, struct rama_err *e);
/* makes the tables that are not there */
int rama_store_clickhouse_make(void *h, struct rama_err *e);
extern const struct rama_store_block_ops rama_store_blocks_clickhouse;

#endif
