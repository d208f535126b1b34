/* SPDX-License-Identifier: BSD-3-Clause */
/* cursor.h: the records of one module, one after the other, each in the newest layout whatever the
 * version and byte order in the file. Memory does not grow with the number of records. */
#ifndef RAMA_LOGFILE_CURSOR_H
#define RAMA_LOGFILE_CURSOR_H

#include "core/record.h"
#include "logfile/log.h"
#include "logfile/region.h"

/* how the words of a stored version become those of the newest */
struct rama_log_layout {
	const struct rama_tab_schema *schema;
	unsigned words; /* stored, base included */
	uint16_t *to;	/* stored word -> word of the newest layout, or RAMA_TAB_NO_WORD */
	uint8_t *order; /* stored word -> enum of cursor.c: what byte order does to it */
	bool same;	/* nothing to move or swap */
	union rama_core_word *blank; /* newest record with all missing values filled in */
};

struct rama_log_cursor {
	struct rama_log *log;
	const struct rama_tab_module *mod;
	unsigned version;
	struct rama_log_region region;
	bool open, done;
	struct rama_log_layout layout, header; /* header: of modules that have one */
	union rama_core_word *stored, *words;
	union rama_core_word *array[2];
	size_t array_room[2]; /* words */
	struct rama_core_record rec;
	uint64_t index;	  /* records handed out or skipped */
	uint64_t dropped; /* POSIX version 1: records that mix stream and descriptor I/O */
	uint64_t segments_left[2];
	unsigned segment_words; /* stored */
	struct {		/* thread ids of a trace that are in the annex */
		struct rama_log_region region;
		bool open;
		uint64_t left;	 /* segments of the record that no run was read for */
		uint64_t run;	 /* segments left of the one being used */
		uint64_t thread; /* its thread */
	} threads;
	struct {
		bool known;
		int64_t bins;
		double width;
	} first_heatmap;
};

/* 1: ready; 0: the module has no data that can be read; negative: strict log, see log->err.
 * Close in any case. */
int rama_log_cursor_open(struct rama_log_cursor *c, struct rama_log *log, unsigned module);
/* 1: *r is the next record, valid until the next call; 0: no more; negative as above */
int rama_log_cursor_next(struct rama_log_cursor *c, struct rama_core_record **r);
/* Of a trace record: up to max segments, writes first, then reads, never both in one answer.
 * Returns how many (0: no more of this record); *kind: 0 writes, 1 reads; negative as above. */
int rama_log_cursor_segments(struct rama_log_cursor *c,
			     union rama_core_word (*seg)[RAMA_TAB_SEG_WORDS], int max,
			     unsigned *kind);
/* do the segments handed out say which thread it was? No longer, once ids from the annex do not
 * fit */
bool rama_log_cursor_has_threads(const struct rama_log_cursor *c);
void rama_log_cursor_close(struct rama_log_cursor *c);

/* The last trace record of a log that was cut has fewer segments than it says. Whoever copies it
 * has to know before: the number of that record (cursor's index after reading it; 0: none is
 * short) and the segments it really has. Tells no problems. */
struct rama_log_short_trace {
	uint64_t record, count[2];
};
int rama_log_short_trace_find(struct rama_log_short_trace *s, struct rama_log *log,
			      unsigned module);
/* after rama_log_cursor_next(): puts the right counts into the record */
void rama_log_short_trace_apply(const struct rama_log_short_trace *s,
				const struct rama_log_cursor *c, struct rama_core_record *r);

/* upgrade.c: module's own corrections of a record just read; 1 keep, 0 drop it, negative error */
int rama_log_cursor_upgrade(struct rama_log_cursor *c);
/* room for n words in array k, growing as data arrives */
int rama_log_cursor_array(struct rama_log_cursor *c, unsigned k, uint64_t words);
/* word of the stored record by its name, for fields that the newest layout lacks */
union rama_core_word rama_log_cursor_stored(const struct rama_log_cursor *c, const char *name);
/* tells that the record being read is bad; 0 or, if strict, the code */
int rama_log_cursor_bad(struct rama_log_cursor *c, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
