/* SPDX-License-Identifier: BSD-3-Clause */
/* path.c: a log that has calls of a file system's daemons and servers tells what they did for the
 * job. Of all others calls are only counted. */
#include "job/work.h"
#include "path/facts.h"
#include "path/read.h"

/* reads all records; *below: some are of daemons or servers */
static int count_calls(struct rama_job_view *v, bool *below)
{
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&c, v->work->log, RAMA_TAB_MOD_CALLS);

	while (rc > 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		v->work->records[RAMA_TAB_MOD_CALLS]++;
		*below = *below || r->w[RAMA_TAB_CALLS_ROLE].i > 0;
	}
	rama_log_cursor_close(&c);
	return rc;
}

int rama_job_view_path(struct rama_job_view *v)
{
	struct rama_path p = { 0 };
	struct rama_path_facts *f;
	struct rama_err e = { 0 };
	bool below = false;
	int rc = count_calls(v, &below);

	if (rc != 0 || !below || v->path != NULL)
		return rc;
	f = rama_arena_alloc(&v->arena, sizeof(*f));
	rc = f == NULL ? RAMA_EMEMORY : rama_path_read(&p, v->work->log, NULL, NULL, &e);
	if (rc == 0)
		rc = rama_path_join(&p, p.end);
	if (rc == 0)
		rc = rama_path_facts_make(f, &p, &v->arena);
	if (rc == 0)
		v->path = f;
	rama_path_fini(&p);
	return rc;
}
