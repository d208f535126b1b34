/* SPDX-License-Identifier: BSD-3-Clause */
/* segments.c: a job that still runs, or left its segments behind. */
#include "job/leftover.h"
#include "job/view.h"

int rama_job_view_add_segments(struct rama_job_view *v, const char *dir, struct rama_err *e)
{
	struct rama_log_options opt = { 0 };
	struct rama_file file;
	struct rama_log log;
	size_t unreadable;
	int rc = rama_job_leftover_open(&file, dir, &unreadable, e);

	if (rc != 0)
		return rc;
	rc = rama_log_open(&log, &file.src, &opt, e);
	if (rc == 0) {
		rc = rama_job_view_add_log(v, &log, dir, e);
		v->problems += unreadable;
		rama_log_close(&log);
	}
	rama_file_close(&file);
	return rc;
}
