/* SPDX-License-Identifier: BSD-3-Clause */
/* path.h: calls of a job, joined: which call was part of which, what each layer took of it, and the
 * path of what was waited for. Pure: calls are given, figures come back, nothing is printed. Times
 * are whole nanoseconds, so that parts add up exactly. */
#ifndef RAMA_PATH_PATH_H
#define RAMA_PATH_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"

#define RAMA_PATH_NONE SIZE_MAX
#define RAMA_PATH_DEPTH 16 /* calls inside each other; no real one has more than six */

enum rama_path_layer {
#define TRACED(layer, ...) RAMA_PATH_LAYER_##layer,
#define EVENTS(layer, ...) RAMA_PATH_LAYER_##layer,
#include "table/layers.def"
	RAMA_PATH_LAYER_DISK, /* reads and writes of processes that serve others */
	RAMA_PATH_LAYERS
};
const char *rama_path_layer_name(uint8_t layer);

/* how sure it is that a call was part of another: rows of table/links.def */
enum rama_path_link {
#define LINK(symbol, ...) RAMA_PATH_LINK_##symbol,
#include "table/links.def"
	RAMA_PATH_LINKS
};
const char *rama_path_link_name(enum rama_path_link link);
/* did the other call wait for it? */
static inline bool rama_path_awaited(enum rama_path_link link)
{
	return link != RAMA_PATH_LINK_NONE && link != RAMA_PATH_LINK_LATER &&
	       link != RAMA_PATH_LINK_AHEAD;
}

/* what a process is */
enum rama_path_role { RAMA_PATH_ROLE_APPLICATION, RAMA_PATH_ROLE_FUSE, RAMA_PATH_ROLE_SERVER };

/* In this order since memory is slow: most walks over all calls look at the first eight words only,
 * those that link clients and servers at the eight after them. */
struct rama_path_call {
	/* given: ns since the start of the job; end is not before start */
	int64_t start, end;
	/* found by rama_path_join() */
	size_t parent; /* RAMA_PATH_NONE */
	enum rama_path_link link;
	/* given: what it did */
	uint8_t layer;
	uint8_t kind; /* RAMA_TAB_OP_... */
	uint8_t role; /* of its process: RAMA_PATH_ROLE_... */
	bool write;
	/* given: where it was made */
	const char *host; /* "": not known */
	int64_t pid;
	/* given: links of requests name the thread, 0: it is not known; and the thread of the
	 * application that a request was done for */
	uint64_t kernel_tid, tid;

	/* given of requests at daemons and servers, as `tid`, zero and "" of all others: its number
	 * in its process, the file (the same at client and server), the number that it became or
	 * took along (see logfile/calls.h), the other side: CLIENT "NAME host:port", SERVER
	 * "HOST:PID:NAME" of the client. 0, "": not known */
	uint64_t unique, object, mark;
	const char *peer;
	uint64_t user; /* of the thread, plus 1; 0: not known */
	uint64_t pair; /* internal: of client and server, the same at both; 0: none */
	int64_t off, bytes;

	/* given: ids are unique within program and lane; parent_id 0: of none */
	uint64_t program, lane;
	int64_t rank;
	uint32_t id, parent_id;
	uint64_t file_id, thread;
	const char *mount; /* the FUSE mount that its file is on; NULL: none */
	const char *file;

	const char *op;
	/* found by rama_path_join() */
	size_t first, n_subs; /* its sub-calls: rama_path_sub(), by start */
	unsigned depth;
	uint32_t also; /* further calls that it did something for: it joined what they wrote */
	bool placed;   /* of another host: when it began is a guess, how long it took is not */
	bool cached;   /* a read from a FUSE mount that made no request: from the page cache */
};

/* What is known of calls that are not of the job: no names. */
struct rama_path_load {
	uint8_t layer;
	const char *server; /* "" of none */
	uint64_t count;
	int64_t bytes, time; /* time: added over calls, ns */
};

struct rama_path {
	struct rama_path_call *call; /* joined: by start */
	size_t n, room;
	/* internal, joined: the layer of each, beside them, for walks over those of some layers */
	uint8_t *layer;
	/* internal, joined: the next of each collective call, NULL: there are none */
	uint32_t *together;
	size_t *sub;  /* sub-calls of all calls; those of one follow each other */
	size_t *root; /* calls that are part of none, by start */
	size_t n_roots;
	int64_t end; /* of the job, ns since its start: at least that of its last call */
	struct rama_path_load *load; /* by layer and server */
	size_t n_loads, load_room;
	bool below;   /* there are calls of a file system's processes */
	bool partial; /* given: some calls were lost, so that less is certain */
	struct rama_arena arena;
	/* internal: names of operations by their hash; mounts by file id; logs that were read, and
	 * when the first began, in ns since 1970 */
	struct rama_map texts, mounts;
	size_t n_logs;
	int64_t origin;
	int64_t uid;	   /* given: of the job; -1: not known */
	uint64_t left_out; /* given: calls that are not in the logs, since agents chose others */
};

/* A copy is added; `file` and `mount` must live as long as the path; the operation, peer and host
 * (NULL: "") are copied. RAMA_EMEMORY. */
int rama_path_add(struct rama_path *p, const struct rama_path_call *c, size_t op_len);
/* Load that others made: sums of calls that are not of the job. RAMA_EMEMORY. */
int rama_path_add_load(struct rama_path *p, const struct rama_path_load *l);
/* Sorts and links, within processes by what threads called, and between them by what requests
 * carry anyway: join.c. What is not certain is not linked. `end`: of the job; later if a call ends
 * later. RAMA_EMEMORY. */
int rama_path_join(struct rama_path *p, int64_t end);
void rama_path_fini(struct rama_path *p);

static inline size_t rama_path_sub(const struct rama_path *p, size_t call, size_t i)
{
	return p->sub[p->call[call].first + i];
}

/* ---- figures of a call ---------------------------------------------------------------------- */

/* Time of a call in which none of its sub-calls was at work; with the time in them (each moment
 * counted once) they add up to its duration. Those that are `later` do not count. */
struct rama_path_gaps {
	int64_t before, inside, between, after;
};
void rama_path_gaps(const struct rama_path *p, size_t call, struct rama_path_gaps *to);

/* What a layer did for a call: the slowest of its calls counts as its latency, the sum of their
 * throughputs as its throughput. */
struct rama_path_sum {
	uint64_t count;
	int64_t longest, sum; /* ns */
	int64_t bytes;
	double rate; /* bytes per second */
};
/* of a call and all below it; RAMA_PATH_NONE: of the whole job */
void rama_path_layers(const struct rama_path *p, size_t call,
		      struct rama_path_sum to[RAMA_PATH_LAYERS]);

/* ---- the critical path ---------------------------------------------------------------------- */

/* Time that a call itself took; RAMA_PATH_NONE: no call at all. */
struct rama_path_piece {
	size_t call;
	int64_t from, to;
};

struct rama_path_pieces {
	struct rama_path_piece *piece; /* in order of time, without gaps */
	size_t n, room;
};

/* What was waited for, looked at from its end: before that, the sub-call that ended last, and so
 * on in it. Of a collective call of MPI-IO sub-calls of all its ranks count, as far as they are on
 * one host. Pieces cover the call without gap or overlap. RAMA_PATH_NONE: of the whole job, from
 * its start to its end. RAMA_EMEMORY. */
int rama_path_critical(const struct rama_path *p, size_t call, struct rama_path_pieces *to);
void rama_path_pieces_fini(struct rama_path_pieces *k);

#endif
