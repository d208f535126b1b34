/* SPDX-License-Identifier: BSD-3-Clause */
/* import_store.h: files with events go into a store, in batches. */
#ifndef RAMA_INDEX_IMPORT_STORE_H
#define RAMA_INDEX_IMPORT_STORE_H

#include "index/import.h"
#include "store/store.h"

struct rama_index_import_store {
	struct rama_store *store;
	void (*tell)(void *ctx, const char *line); /* what is wrong with a line of a file */
	void (*progress)(void *ctx);		   /* after each message */
	bool (*stop)(void *ctx);		   /* asked before each */
	void *ctx;
	/* counted, over all files */
	uint64_t messages, events, repeated, refused, batches;
	unsigned waiting; /* messages since the last commit */
};

/* One file. 0 or an error, as rama_index_import_file(); what was good of a bad file is stored. */
int rama_index_import_store(struct rama_index_import_store *im, const char *path,
			    struct rama_err *e);

#endif
