/* SPDX-License-Identifier: BSD-3-Clause */
/* segments.c: a job that still runs, or left its segments behind. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "gather/gather.h"
#include "job/view.h"

#define ROOM 4096

/* a directory of our own, where nobody else can put links; path: of a file in it */
static int make_place(char path[ROOM], size_t *dir, struct rama_err *e)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(path, ROOM - 16, "%s/iorama-view-XXXXXX",
			 tmp != NULL && *tmp == '/' ? tmp : "/tmp");

	if (n < 0 || n >= ROOM - 16 || mkdtemp(path) == NULL)
		return rama_err_set(e, RAMA_EIO, "no temporary directory: %s", strerror(errno));
	*dir = (size_t)n;
	memcpy(path + n, "/job.darshan", 13);
	return 0;
}

/* The segments in a directory as one log, in a file that only its reader has. *unreadable:
 * segments that gave nothing. Close the file. */
static int leftover_open(struct rama_file *f, const char *dir, size_t *unreadable,
			 struct rama_err *e)
{
	struct rama_gather_options opt = { .jobid = -1 };
	struct rama_gather_result result = { 0 };
	struct rama_gather_list list = { 0 };
	char path[ROOM];
	size_t n = 0;
	int rc = rama_gather_find(&list, dir, e);

	if (rc == 0 && list.n == 0)
		rc = rama_err_set(e, RAMA_EMISSING,
				  "a directory without segments of a job; if it has logs, iorama "
				  "report --fleet and iorama index take them");
	if (rc == 0)
		rc = make_place(path, &n, e);
	if (rc == 0) {
		rc = rama_gather_job((const char *const *)list.path, list.n, path, &opt, &result,
				     e);
		if (rc == 0)
			rc = rama_file_open(f, path, e);
		unlink(path); /* the open file stays */
		path[n] = '\0';
		rmdir(path);
	}
	rama_gather_list_fini(&list);
	*unreadable = result.unreadable;
	return rc;
}

int rama_job_view_add_segments(struct rama_job_view *v, const char *dir, struct rama_err *e)
{
	struct rama_log_options opt = { 0 };
	struct rama_file file;
	struct rama_log log;
	size_t unreadable;
	int rc = leftover_open(&file, dir, &unreadable, e);

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
