/* SPDX-License-Identifier: BSD-3-Clause */
/* index.h: a log becomes rows of the store: its counters, what is derived from them, what was
 * found. Reading and diagnosing one is the work of any thread; putting it is that of the thread
 * that has the store. */
#ifndef RAMA_INDEX_INDEX_H
#define RAMA_INDEX_INDEX_H

#include "base/file.h"
#include "diagnose/diagnose.h"
#include "store/store.h"

/* Logs up to this size are kept as they are, so that `report --store` needs nothing else; larger
 * ones stay where they are. */
#define RAMA_INDEX_KEPT RAMA_WIRE_MESSAGE_MOST

/* names of users that were asked for before; of one thread */
#define RAMA_INDEX_USERS 16
struct rama_index_users {
	struct rama_index_user {
		bool known;
		int64_t uid;
		char name[48];
	} user[RAMA_INDEX_USERS];
};

struct rama_index_options {
	const struct rama_diag_profile *profile; /* limits of the rules */
	bool no_logs;				 /* the logs themselves are not kept */
	struct rama_index_users *users;		 /* NULL: none */
};

/* a log, read and diagnosed. Must not move. */
struct rama_index_indexed {
	struct rama_store_log row; /* what the store is given */
	struct rama_log log;
	bool opened;
	struct rama_file file;	   /* of a log that is too large for memory */
	struct rama_source memory; /* of others */
	unsigned char *bytes;	   /* owned; NULL: they are the caller's, or in the file */
	struct rama_arena arena;
	char key[RAMA_WIRE_JOB];
	/* the first thing that could not be read of it; code 0: it is whole */
	struct rama_err problem;
};

/* key NULL or "": made from the log. path: its name in the store. 0, or what makes it useless;
 * fini in any case. */
int rama_index_indexed_file(struct rama_index_indexed *x, const char *path, const char *key,
			    const struct rama_index_options *opt, struct rama_err *e);
int rama_index_indexed_put(struct rama_store *s, struct rama_index_indexed *x, struct rama_err *e);
void rama_index_indexed_fini(struct rama_index_indexed *x);

/* Both between begin and commit of the store, with the limits that hold without a profile. A log
 * with damage is put as far as it can be read. */
int rama_index_log(struct rama_store *s, const struct rama_wire_msg_log *m, struct rama_err *e);
/* the job whose log has the same bytes as this file; RAMA_EMISSING: there is none */
int rama_index_find(struct rama_store *s, const char *path, int64_t *job, struct rama_err *e);
int rama_index_path(struct rama_store *s, const char *path, const char *key, struct rama_err *e);

#endif
