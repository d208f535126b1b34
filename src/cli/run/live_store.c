/* SPDX-License-Identifier: BSD-3-Clause */
/* run_live_store.c: the log of a live job goes into its store. Apart: names of job/ and segment/
 * do not meet. */
#include <limits.h>
#include <stdlib.h>

#include "cli/run/live_segs.h"
#include "index/index.h"

int rama_cli_run_live_put_log(const char *store, const char *key, const char *log,
			      struct rama_err *e)
{
	struct rama_store *s;
	char real[PATH_MAX];
	int rc = rama_store_open(&s, store, RAMA_STORE_WRITE | RAMA_STORE_CREATE, e);

	if (rc != 0)
		return rc;
	rc = rama_store_begin(s, e);
	if (rc == 0)
		rc = rama_index_path(s, realpath(log, real) != NULL ? real : log, key, e);
	if (rc == 0)
		rc = rama_store_commit(s, e);
	if (rc != 0)
		rama_store_rollback(s);
	rama_store_close(s);
	return rc;
}
