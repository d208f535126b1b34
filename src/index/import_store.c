/* SPDX-License-Identifier: BSD-3-Clause */
/* import_store.c: files with events go into a store, in batches. */
#include "index/import_store.h"

#define BATCH 64 /* messages that are committed at a time */

static int commit(struct rama_index_import_store *im, struct rama_err *e)
{
	int rc = im->waiting > 0 ? rama_store_commit(im->store, e) : 0;

	im->batches += im->waiting > 0;
	im->waiting = 0;
	return rc;
}

static int take(void *ctx, const struct rama_wire_message *m, struct rama_err *e)
{
	struct rama_index_import_store *im = ctx;
	uint64_t stored = 0;
	int rc = im->stop(im->ctx)
			 ? rama_err_set(e, RAMA_ESTOPPED, "stopped; import it again for the rest")
			 : 0;

	if (rc == 0 && im->waiting == 0)
		rc = rama_store_begin(im->store, e);
	if (rc != 0)
		return rc;
	im->waiting++;
	rc = rama_store_put(im->store, m, &stored, e);
	if (rc != 0)
		return rc;
	im->messages++;
	im->events += stored;
	im->repeated += rama_wire_message_events(m) - stored;
	im->progress(im->ctx);
	return im->waiting >= BATCH ? commit(im, e) : 0;
}

static void tell(void *ctx, const char *line)
{
	struct rama_index_import_store *im = ctx;

	im->tell(im->ctx, line);
}

int rama_index_import_store(struct rama_index_import_store *im, const char *path,
			    struct rama_err *e)
{
	struct rama_index_import_options o = { .message = take, .tell = tell, .ctx = im };
	struct rama_index_import_totals t = { 0 };
	int rc = rama_index_import_file(path, &o, &t, e);

	im->refused += t.bad;
	if (rc == 0 || rc == RAMA_ECORRUPT || rc == RAMA_EFORMAT) {
		struct rama_err more = { 0 };
		int done = commit(im, &more);

		if (done != 0) {
			rc = done;
			*e = more;
		}
	} else if (im->waiting > 0) {
		rama_store_rollback(im->store);
		im->waiting = 0;
	}
	return rc;
}
