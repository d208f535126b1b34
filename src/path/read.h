/* SPDX-License-Identifier: BSD-3-Clause */
/* read.h: the calls of logs. */
#ifndef RAMA_PATH_READ_H
#define RAMA_PATH_READ_H

#include "logfile/cursor.h"
#include "path/path.h"

/* Adds the calls of a log; rama_path_join() comes after the last. Of several logs the first says
 * when the job began and ended; the others may be those of daemons and servers. Names are those of
 * the logs, which must stay open. What is damaged is told by the log and left out. RAMA_EMISSING:
 * the log has no calls. `progress` may be NULL. */
int rama_path_read(struct rama_path *p, struct rama_log *log,
		   void (*progress)(void *ctx, const struct rama_log_cursor *c), void *ctx,
		   struct rama_err *e);

/* Is it the log of a daemon or server of a file system? */
bool rama_path_serves(struct rama_log *log);

#endif
