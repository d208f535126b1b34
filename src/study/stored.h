/* SPDX-License-Identifier: BSD-3-Clause */
/* stored.h: what a store has of a job, for those who would read its log: the log as it was kept,
 * the file it came from, or the segments of a job that still runs here; and the logs of all
 * jobs. */
#ifndef RAMA_STUDY_STORED_H
#define RAMA_STUDY_STORED_H

#include <limits.h>

#include "study/paths.h"
#include "study/study.h"

struct rama_store;

struct rama_study_stored {
	int64_t job;
	char path[PATH_MAX];  /* of the log or of the directory of segments; else the job's key */
	unsigned char *bytes; /* of the log; NULL: read it from the path */
	size_t len;
};

/* word: as rama_store_find_job() takes it. dir: where segments are, "" for the usual places
 * (IORAMA_DIR). RAMA_EMISSING: no such job, or (job >= 0 then) nothing that a report can be made
 * of; the line says what there is. */
int rama_study_stored_find(struct rama_store *s, const char *word, const char *dir,
			   struct rama_study_stored *to, struct rama_err *e);
int rama_study_stored_get(struct rama_store *s, int64_t job, const char *dir,
			  struct rama_study_stored *to, struct rama_err *e);
void rama_study_stored_fini(struct rama_study_stored *x);
struct rama_study_source rama_study_stored_source(const struct rama_study_stored *x);

/* The logs of all jobs, in the order of their paths; *jobs: whose each is, to be freed. */
int rama_study_stored_logs(struct rama_store *s, struct rama_study_paths *paths, int64_t **jobs,
			   struct rama_err *e);

/* Of a job of this user that runs on this machine, by its key UID/NAME[@HOST]: the directory of
 * its segments, if it is there. dir: where it is, "" for the usual places. */
bool rama_study_stored_segments(const char *key, const char *dir, char path[PATH_MAX]);

#endif
