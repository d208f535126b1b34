/* SPDX-License-Identifier: BSD-3-Clause */
/* import.h: files with events become messages: our own lines of JSON and CSV, and those of the
 * connector in both dialects (docs/format/connector.md). Line by line, with bounded memory.
 * Importing a file again, also after it grew, gives the same segments and sequence numbers, so
 * that a store takes in only what is new. */
#ifndef RAMA_INDEX_IMPORT_H
#define RAMA_INDEX_IMPORT_H

#include "wire/message.h"

struct rama_index_import_options {
	/* Takes each message; a negative return ends the import with it. PROCESS and NAMES come
	 * before the blocks they are for. */
	int (*message)(void *ctx, const struct rama_wire_message *m, struct rama_err *e);
	/* one line about something that is wrong: "FILE:LINE: ..."; may be NULL */
	void (*tell)(void *ctx, const char *line);
	void *ctx;
};

struct rama_index_import_totals {
	uint64_t lines, events, messages;
	uint64_t bad; /* lines that could not be used: told, and left out */
};

/* "-": standard input. RAMA_ECORRUPT with a line that says how many, if some lines were bad: all
 * others have been taken. RAMA_EFORMAT: it is no such file. */
int rama_index_import_file(const char *path, const struct rama_index_import_options *o,
			   struct rama_index_import_totals *t, struct rama_err *e);

/* The same from anywhere. read: up to n bytes; 0: the end; negative: an error. */
struct rama_index_import_source {
	const char *name; /* for what is told */
	int64_t (*read)(void *from, void *to, size_t n, struct rama_err *e);
	void *from;
};
int rama_index_import(const struct rama_index_import_source *s,
		      const struct rama_index_import_options *o, struct rama_index_import_totals *t,
		      struct rama_err *e);

#endif
