/* SPDX-License-Identifier: BSD-3-Clause */
/* stored.h: what a store has of a job, for those who would read its log: the log as it was kept, the file it came from,
 * or the segments of a job that still runs here. */
#ifndef RAMA_CLI_STORED_H
#define RAMA_CLI_STORED_H

#include <limits.h>

#include "base/out.h"
#include "cli/study.h"
#include "cli/terminal.h"

struct rama_store;

struct rama_stored {
	int64_t job;
	char path[PATH_MAX];  /* of the log or of the directory of segments; else the job's key */
	unsigned char *bytes; /* of the log; NULL: read it from the path */
	size_t len;
};

/* The store that an option --store[=WHERE] names, or the usual one, to be read; 0, or the exit status after the reason
 * was printed. */
int rama_stored_open(struct rama_store **s, const struct rama_opts *o, enum rama_option_id option);
void rama_stored_close(struct rama_store *s);

/* word: as rama_store_find_job() takes it. RAMA_EMISSING: no such job, or (job >= 0 then) nothing that a report can be
 * made of; the line says what there is. */
int rama_stored_find(struct rama_store *s, const char *word, struct rama_stored *to,
		     struct rama_err *e);
int rama_stored_get(struct rama_store *s, int64_t job, struct rama_stored *to, struct rama_err *e);
void rama_stored_fini(struct rama_stored *x);
/* a job without a log: what the store has of it instead, for people */
int rama_stored_tell(struct rama_store *s, int64_t job, const struct rama_terminal *t, bool all,
		     struct rama_out *out, struct rama_err *e);
struct rama_study_source rama_stored_source(const struct rama_stored *x);

#endif
