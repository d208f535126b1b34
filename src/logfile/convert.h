/* SPDX-License-Identifier: BSD-3-Clause */
/* convert.h: a log becomes another one: only some of its records, with names hidden, or in the form
 * of a released Darshan. */
#ifndef RAMA_LOGFILE_CONVERT_H
#define RAMA_LOGFILE_CONVERT_H

#include "base/map.h"
#include "logfile/anon.h"
#include "logfile/cursor.h"
#include "logfile/writer.h"

struct rama_log_convert {
	struct rama_log *log;
	struct rama_log_writer *to;
	uint64_t modules;		  /* bit per module; 0: all */
	const struct rama_log_anon *anon; /* hides names; NULL: they stay */
	bool released;			  /* nothing that a released Darshan does not know */
	/* Which records stay; name NULL: it has none. NULL: all do, and modules is 0. */
	bool (*keep)(void *ctx, const struct rama_core_record *r, const char *name);
	/* may change what the new log says of the job; not 0 ends it with RAMA_EUSAGE */
	int (*edit)(void *ctx, struct rama_log_job *job);
	/* what is worth knowing; how far it is. NULL: not wanted */
	void (*note)(void *ctx, const char *line);
	void (*progress)(void *ctx, const struct rama_log_cursor *c);
	void *ctx;
	struct rama_map used; /* within: ids that kept records name */
};

/* Writes all but the header (rama_log_writer_finish() is the caller's). *partial: its flags. 0, or
 * an error whose words are in to->err or log->err, if there are any. */
int rama_log_convert(struct rama_log_convert *c, uint64_t *partial);

#endif
