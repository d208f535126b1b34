/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.h: directory trees, watched for logs that become complete: closed by their writer
 * or renamed into place. Directories that come later are watched too. Where the kernel cannot
 * tell (network file systems, no watches left, too much at once) the caller is asked to list the
 * trees again. */
#ifndef RAMA_INDEX_WATCH_H
#define RAMA_INDEX_WATCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct rama_index_watch;

/* tell: what is worth a line, each once */
int rama_index_watch_open(struct rama_index_watch **w,
			  void (*tell)(void *ctx, const char *path, const char *line), void *ctx,
			  struct rama_err *e);
void rama_index_watch_close(struct rama_index_watch *w);
/* A tree; what is listed after this call and what the watch tells later is all there is. */
int rama_index_watch_add(struct rama_index_watch *w, const char *root, struct rama_err *e);
/* Was the file written to a moment ago? Then it may not be complete: it is kept, and given by
 * rama_index_watch_wait when it has been still for a while or is closed. */
bool rama_index_watch_defer(struct rama_index_watch *w, const char *path);
/* Waits at most that long (-1: for ever) with these signals let in. *paths: n logs that are
 * complete, valid until the next call. *again: list the trees again. 0 or an error; nothing at
 * all if a signal came. */
int rama_index_watch_wait(struct rama_index_watch *w, int wait_ms, const sigset_t *let_in,
			  const char *const **paths, size_t *n, bool *again, struct rama_err *e);

#endif
