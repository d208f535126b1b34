/* SPDX-License-Identifier: BSD-3-Clause */
/* import_stream.h: what the files of the importer share. */
#ifndef RAMA_INDEX_IMPORT_STREAM_H
#define RAMA_INDEX_IMPORT_STREAM_H

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "index/import.h"

#define RAMA_INDEX_IMPORT_LINE (4u << 20) /* bytes of a line, at most */
#define RAMA_INDEX_IMPORT_STREAMS 65536	  /* processes in one file, at most */
#define RAMA_INDEX_IMPORT_WAITING 262144  /* events that wait for their block, of all streams */
#define RAMA_INDEX_IMPORT_SEGS 65536	  /* accesses in one message */
#define RAMA_INDEX_IMPORT_COLUMNS 64	  /* of CSV */
#define RAMA_INDEX_IMPORT_TOLD 20	  /* bad lines told one by one */
#define RAMA_INDEX_IMPORT_NAMES 8388608	  /* different (job, record) of which a name was given */

/* why a line is bad */
struct rama_index_import_bad {
	char why[160];
};

/* ---- import_stream.c: events of one lane of one process -------------------------------------- */

struct rama_index_import_stream {
	struct rama_wire_segment_key segment;
	uint32_t lane;
	char job[RAMA_WIRE_JOB];
	struct rama_index_import_stream *next; /* of the same hash */
	uint64_t hash, first, lost;
	int64_t rank;
	uint32_t tid, n, n_whats;
	size_t room, room_whats;
	struct rama_wire_event *event;
	struct rama_wire_what *what;
	/* of the process; texts are owned, NULL: not known */
	bool made_up; /* its PROCESS message comes from us, at the end */
	char *host, *exe;
	int64_t uid, jobid, start, end;
	uint64_t count;
};

/* An event and all that is known with it. Texts are borrowed. */
struct rama_index_import_event {
	const struct rama_wire_segment_key *segment; /* NULL: from who made it */
	const char *job;			     /* likewise */
	const char *host, *exe, *path;		     /* NULL: not told */
	size_t path_len;
	int64_t uid, jobid, rank;
	uint32_t lane, tid;
	bool has_seq;
	uint64_t seq, lost;
	struct rama_wire_what what;
	struct rama_wire_event ev;
};

struct rama_index_import {
	const struct rama_index_import_source *src;
	const struct rama_index_import_options *opt;
	struct rama_index_import_totals *t;
	struct rama_err *e;
	uint64_t line;	   /* number of the line at hand */
	uint64_t identity; /* of the file: hash of its first line with an event */
	bool has_identity;
	struct rama_index_import_stream **stream;
	size_t n_streams, room_streams;
	struct rama_map find;  /* hash -> address of the first stream of it */
	struct rama_map named; /* hash of (job, record): told already */
	struct rama_map told;  /* hash of segments of which a PROCESS message was given */
	struct rama_index_import_stream *last;
	uint64_t waiting; /* events */
	struct rama_wire_block *block;
	unsigned char *packed;
	size_t packed_room;
	struct rama_wire_block_packer packer;
	bool begun, csv; /* what it is is known; it is CSV, and has the columns below */
	short column[RAMA_INDEX_IMPORT_COLUMNS]; /* what each is */
	unsigned n_columns;
	bool own;    /* columns of our own dialect */
	char *clean; /* of a line: what the JSON reader gets */
	size_t clean_room;
};

/* 0; positive: the line is bad, *bad says why; negative: the import is over */
int rama_index_import_event(struct rama_index_import *im, const struct rama_index_import_event *x,
			    struct rama_index_import_bad *bad);
int rama_index_import_message(struct rama_index_import *im, const struct rama_wire_message *m);
/* the process of this segment has a message of its own */
int rama_index_import_told(struct rama_index_import *im, const struct rama_wire_segment_key *k);
/* all that waits, and the last words about each process */
int rama_index_import_finish(struct rama_index_import *im);
void rama_index_import_fini(struct rama_index_import *im);
/* what tells this file from others: its first line with an event */
void rama_index_import_identify(struct rama_index_import *im, const char *line, size_t n);
uint64_t rama_index_import_hash(const void *bytes, size_t n, unsigned salt);

/* fields of a connector's message into an event; what both JSON and CSV need */
bool rama_index_import_what(struct rama_wire_what *w, const char *layer, const char *op,
			    const char *fn);
/* seconds with microseconds that mean something -> ns; false: not possible */
bool rama_index_import_seconds(double s, int64_t *ns);
/* off and len of calls that have none are written as anything */
void rama_index_import_places(struct rama_index_import_event *x);
bool rama_index_import_segment(const char *hex, struct rama_wire_segment_key *k);
/* bytes of a path given in hex, malloc'ed; NULL: it is none */
char *rama_index_import_unhex(const char *hex, size_t *n);

/* ---- import_json.c, import_csv.c: one line each. Return as rama_index_import_event. ---------- */
int rama_index_import_json(struct rama_index_import *im, const char *line, size_t n,
			   struct rama_index_import_bad *bad);
/* a header: true, and the columns are known */
bool rama_index_import_csv_header(struct rama_index_import *im, const char *line, size_t n);
/* *more: the line ends inside quotes: come again with the next one added */
int rama_index_import_csv(struct rama_index_import *im, const char *line, size_t n, bool *more,
			  struct rama_index_import_bad *bad);

#endif
