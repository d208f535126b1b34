/* SPDX-License-Identifier: BSD-3-Clause */
/* unseen.h: programs of a job that could not be observed, counted by reason, and the line of a
 * log's metadata that tells of them: iorama_unseen=static:2:busybox,tool;libc:1:prog. Pure,
 * without stdio: it is made inside of observed processes, too. */
#ifndef RAMA_LOGFILE_UNSEEN_H
#define RAMA_LOGFILE_UNSEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/code/elf.h"

#define RAMA_LOG_META_UNSEEN "iorama_unseen="
#define RAMA_LOG_UNSEEN_NAMES 8
#define RAMA_LOG_UNSEEN_LINE 512 /* bytes of the line, with its newline and NUL */

struct rama_log_unseen_sum {
	int64_t n[RAMA_UNSEEN_REASONS]; /* the first is not used */
	struct {
		uint32_t why; /* 0: none */
		char name[28];
	} program[RAMA_LOG_UNSEEN_NAMES]; /* the first that were told */
};

/* name: a path, or NULL; characters that a line cannot hold become question marks */
void rama_log_unseen_add(struct rama_log_unseen_sum *s, enum rama_unseen why, int64_t n,
			 const char *name);
/* a name alone, if there is room */
void rama_log_unseen_name(struct rama_log_unseen_sum *s, enum rama_unseen why, const char *name);
void rama_log_unseen_join(struct rama_log_unseen_sum *s, const struct rama_log_unseen_sum *more);
/* what the metadata of a log tell, added; what makes no sense is left out */
void rama_log_unseen_read(struct rama_log_unseen_sum *s, const char *metadata);
int64_t rama_log_unseen_total(const struct rama_log_unseen_sum *s);

/* The line, with newline; "" if there is nothing to tell. */
void rama_log_unseen_line(const struct rama_log_unseen_sum *s, char to[RAMA_LOG_UNSEEN_LINE]);
/* Takes the line out of metadata, and puts this one there if it has room. size: of metadata */
void rama_log_unseen_replace(const struct rama_log_unseen_sum *s, char *metadata, size_t size);
/* for people: "2 statically linked (busybox, tool), 1 for another C library (prog)" */
void rama_log_unseen_text(const struct rama_log_unseen_sum *s, char *to, size_t size);

#endif
