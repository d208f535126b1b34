/* SPDX-License-Identifier: BSD-3-Clause */
/* meta.h: the metadata of a log, "key=value" lines in 1 KiB: found, added, replaced. Used at the
 * end of observed processes, too: no stdio. */
#ifndef RAMA_LOGFILE_META_H
#define RAMA_LOGFILE_META_H

#include <stddef.h>

/* what a batch system says of the job: table/batch.def */
enum rama_log_batch {
#define B(symbol, ...) RAMA_LOG_BATCH_##symbol,
#include "table/batch.def"
#undef B
	RAMA_LOG_BATCH_WORDS
};

#define RAMA_LOG_BATCH_ROOM 512

/* "iorama_step=" and so on */
extern const char *const rama_log_batch_keys[RAMA_LOG_BATCH_WORDS];

/* The value of the first line with this key (which ends with =), and its length; NULL: there is no
 * such line. */
const char *rama_log_meta_get(const char *metadata, const char *key, size_t *len);
/* Adds lines, each of them if there is room for all of it; `room` counts the NUL. */
void rama_log_meta_add(char *metadata, size_t room, const char *lines);
/* The line with this key becomes `text`; "": there is none. */
void rama_log_meta_set(char *metadata, size_t room, const char *key, const char *text);

/* What a batch system says of several processes or logs of a job, one after the other; `to` is ""
 * before the first. What they do not agree upon stands there without a value, until _done. */
void rama_log_batch_join(char to[RAMA_LOG_BATCH_ROOM], const char *metadata);
void rama_log_batch_done(char to[RAMA_LOG_BATCH_ROOM]);

#endif
