/* SPDX-License-Identifier: BSD-3-Clause */
/* trees.h: all logs of directories and lists into the store, once or as they come. */
#ifndef RAMA_INDEX_TREES_H
#define RAMA_INDEX_TREES_H

#include <signal.h>

#include "index/run.h"
#include "index/watch.h"

struct rama_index_trees {
	struct rama_index_run run; /* its callbacks are the caller's */
	/* a line about a tree that cannot be read; and what is worth knowing of watching; ctx is
	 * that of `run` */
	void (*problem)(void *ctx, const char *path, const char *line);
	void (*note)(void *ctx, const char *path, const char *line);
	/* before a pass over so many logs, and after it; may be NULL */
	void (*pass)(void *ctx, size_t logs);
	void (*passed)(void *ctx);

	char **roots; /* absolute */
	size_t n_roots;
	size_t unread; /* roots, directories and files that could not be read: each was told */
	bool in_store; /* an error was the store's */
	struct rama_index_watch *watch;
};

/* Directories, lists (@FILE) and logs, wherever they are named from. */
int rama_index_trees_open(struct rama_index_trees *t, const char *const *args, size_t n, bool watch,
			  struct rama_err *e);
/* All there is. With a watch, what is still being written waits. */
int rama_index_trees_put(struct rama_index_trees *t, struct rama_err *e);
/* From now on, until t->run.stop says so; signals are let in while it waits. */
int rama_index_trees_watch(struct rama_index_trees *t, const sigset_t *let_in, struct rama_err *e);
void rama_index_trees_close(struct rama_index_trees *t);

#endif
