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

/* dir: where segments are, "" for the usual places (IORAMA_DIR). RAMA_EMISSING: no such job, or
 * (job >= 0 then) nothing that a report can be made of; the line says what there is. */
int rama_study_stored_get(struct rama_store *s, int64_t job, const char *dir,
			  struct rama_study_stored *to, struct rama_err *e);
/* All that a word names (query/job.h): one job, or the steps of one of a batch system, which are
 * the sources of one report. Errors as above; steps without a log are left out if others have
 * one. */
struct rama_study_stored_set {
	int64_t job; /* the first */
	struct rama_study_stored *it;
	struct rama_study_source *from;
	size_t n;
};
int rama_study_stored_set_find(struct rama_store *s, const char *word, const char *dir,
			       struct rama_study_stored_set *to, struct rama_err *e);
void rama_study_stored_set_fini(struct rama_study_stored_set *x);
void rama_study_stored_fini(struct rama_study_stored *x);
struct rama_study_source rama_study_stored_source(const struct rama_study_stored *x);

/* Jobs whose logs may be of daemons and servers that worked for this one: *jobs, to be freed. */
int rama_study_stored_beside(struct rama_store *s, int64_t job, int64_t **jobs, size_t *n,
			     struct rama_err *e);

/* What daemons and servers of others did for the user of this job about that time: *it, to be
 * freed, and each by rama_study_stored_fini(). */
int rama_study_stored_served(struct rama_store *s, int64_t job, struct rama_study_stored **it,
			     size_t *n, struct rama_err *e);

/* The logs of all jobs, in the order of their paths; *jobs: whose each is, to be freed. */
int rama_study_stored_logs(struct rama_store *s, struct rama_study_paths *paths, int64_t **jobs,
			   struct rama_err *e);

/* Of a job of this user that runs on this machine, by its key UID/NAME[@HOST]: the directory of
 * its segments, if it is there. dir: where it is, "" for the usual places. */
bool rama_study_stored_segments(const char *key, const char *dir, char path[PATH_MAX]);

#endif
