/* SPDX-License-Identifier: BSD-3-Clause */
/* postgres.h: what the parts of the PostgreSQL store share: postgres.c (connection,
 * transactions), run.c (statements), cells.c (values as they travel),
 * block.c (events), schema.c (tables).
 *
 * The connection is always in libpq's pipeline mode: a statement of a batch whose outcome nobody
 * waits for is sent and forgotten until the next one that has rows, or the commit; so a batch
 * costs few round trips. An error of such a statement comes to light there, and fails the batch,
 * as it would have anyway. */
#ifndef RAMA_STORE_POSTGRES_POSTGRES_H
#define RAMA_STORE_POSTGRES_POSTGRES_H

#include <libpq-fe.h>

#include "base/map.h"
#include "store/db.h"

/* types whose values travel as bytes, all others as text (PostgreSQL's pg_type.dat; they never
 * change) */
enum rama_store_pg_type {
	RAMA_STORE_PG_BOOL = 16,
	RAMA_STORE_PG_BYTEA = 17,
	RAMA_STORE_PG_NAME = 19,
	RAMA_STORE_PG_INT8 = 20,
	RAMA_STORE_PG_INT2 = 21,
	RAMA_STORE_PG_INT4 = 23,
	RAMA_STORE_PG_TEXT = 25,
	RAMA_STORE_PG_OID = 26,
	RAMA_STORE_PG_FLOAT4 = 700,
	RAMA_STORE_PG_FLOAT8 = 701,
	RAMA_STORE_PG_INT2S = 1005, /* arrays */
	RAMA_STORE_PG_INT4S = 1007,
	RAMA_STORE_PG_INT8S = 1016,
	RAMA_STORE_PG_VARCHAR = 1043,
	RAMA_STORE_PG_NUMERIC = 1700
};

struct rama_store_pg_statement {
	char *sql;	    /* a copy: the address may come again with another text */
	char name[24];	    /* there */
	bool ready, binary; /* known to this connection; its rows come as bytes */
	unsigned n_types;
	Oid *type; /* of its arguments; NULL: not asked */
};

/* rows of a statement that were read ahead because another statement came between */
struct rama_store_pg_rows {
	PGresult **kept;
	size_t n, at, room;
	bool whole; /* nothing more is on the wire */
};

/* a row of the table `calls` */
struct rama_store_pg_call {
	int64_t number;
	struct rama_wire_what what;
};

struct work;

struct rama_store_pg {
	PGconn *conn;
	char *where;
	unsigned flags;
	bool in_batch;	     /* between begin and commit or rollback */
	bool broken;	     /* the batch has failed: nothing but rollback helps */
	bool passing;	     /* of the last error: may pass */
	bool ended;	     /* the server has said that it ends this connection */
	struct rama_err why; /* of a batch that is broken */
	/* statements sent since the last end of a pipeline: nobody waits for them yet */
	unsigned unread;
	unsigned syncs;	      /* ends of pipelines that were asked for and did not come yet */
	unsigned connections; /* made so far */
	unsigned host;	      /* of several: the one that was good last */
	int limit_ms;	      /* of a statement; 0: none */
	struct rama_store_pg_rows *open; /* rows being read, or NULL */
	struct rama_map by_key;		 /* address of a text -> statement[] */
	struct rama_store_pg_statement **statement;
	unsigned n_statements;
	size_t room_statements;
	struct rama_store_pg_call *call; /* known calls */
	unsigned n_calls;
	size_t room_calls;
	struct work *work; /* of block.c */
};

/* ---- postgres.c */
/* Makes sure that there is a connection that seems to work. */
int rama_store_pg_connected(struct rama_store_pg *db, struct rama_err *e);
/* Error of a result, or of the connection if r is NULL: its text, its code, whether it may pass.
 * Fails the batch. */
int rama_store_pg_fail(struct rama_store_pg *db, const PGresult *r, struct rama_err *e);
/* by SQLSTATE; "": it never came to the server */
bool rama_store_pg_passing(const char *state);

/* ---- run.c */
int rama_store_pg_run(void *handle, const char *sql, int once, const struct rama_store_cell *args,
		      unsigned n_args, rama_store_row_fn fn, void *ctx, int64_t *changed,
		      struct rama_err *e);
/* Sends a statement, does not wait for it. */
int rama_store_pg_send(struct rama_store_pg *db, const char *sql, struct rama_err *e);
/* Waits for all that was sent; the first error of it. */
int rama_store_pg_settle(struct rama_store_pg *db, struct rama_err *e);
void rama_store_pg_forget_statements(struct rama_store_pg *db, bool for_good);

/* ---- cells.c: arguments as libpq takes them, rows as the store gives them */
struct rama_store_pg_args {
	unsigned n;
	const char **value;
	int *length, *format;
	Oid *type;
	char (*number)[32];
	char **text; /* texts that had to be changed */
};
int rama_store_pg_args_init(struct rama_store_pg_args *a, const struct rama_store_pg_statement *st,
			    const struct rama_store_cell *args, unsigned n, struct rama_err *e);
void rama_store_pg_args_fini(struct rama_store_pg_args *a);
/* A copy in which bytes that are not UTF-8 stand as \xHH; NULL: it is as it should be, or there
 * is no memory (*len is 0). */
char *rama_store_pg_clean(const char *text, size_t n, size_t *len);
bool rama_store_pg_binary(Oid type);
/* who wants rows */
struct rama_store_pg_reader {
	rama_store_row_fn fn;
	void *ctx;
};
int rama_store_pg_give(const PGresult *r, const struct rama_store_pg_reader *to,
		       struct rama_err *e);

/* ---- block.c */
extern const char rama_store_pg_block_sql[];
int rama_store_pg_put_block(void *handle, int64_t job, int64_t process, int64_t rank,
			    struct rama_wire_block *b, const unsigned char *bytes, size_t n,
			    struct rama_wire_block_packer *p, struct rama_err *e);
int rama_store_pg_get_block(void *handle, const struct rama_store_cell *cells, unsigned n,
			    struct rama_wire_block *b, struct rama_wire_block_packer *p,
			    struct rama_err *e);

void rama_store_pg_work_fini(struct rama_store_pg *db);

/* ---- schema.c */
extern const char *const *const rama_store_pg_schema[];

#endif
