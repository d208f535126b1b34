/* SPDX-License-Identifier: BSD-3-Clause */
/* anon.h: names, ids, hosts, user and job replaced by keyed hashes. The same key gives the same
 * hashes in every log. Kept: mount points, file suffixes, names that say nothing of a user. */
#ifndef RAMA_LOGFILE_ANON_H
#define RAMA_LOGFILE_ANON_H

#include "base/siphash.h"
#include "core/record.h"
#include "logfile/log.h"

struct rama_log_anon {
	struct rama_sipkey key;
	const struct rama_log *log;
};

#define RAMA_LOG_ANON_NAME 4200 /* room for the longest new name */

/* returns the length of the new name */
size_t rama_log_anon_name(const struct rama_log_anon *a, const char *name,
			  char to[RAMA_LOG_ANON_NAME]);
/* The new id is the hash of the new name, as ids are, so that it tells no more than the name. */
uint64_t rama_log_anon_id(const struct rama_log_anon *a, uint64_t id);
void rama_log_anon_record(const struct rama_log_anon *a, struct rama_core_record *r);
/* exe: room for the new command line, which job->exe then is */
void rama_log_anon_job(const struct rama_log_anon *a, struct rama_log_job *job, char exe[64]);

#endif
