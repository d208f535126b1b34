/* SPDX-License-Identifier: BSD-3-Clause */
/* layout.h: the shared-memory file of one observed process, as it lies in memory. Written by the
 * process itself, read by others while it changes. docs/format/segment.md tells it in words.
 *
 *   header | identity | state | control | records | lanes | events | rings
 *
 * Areas are found by the offsets in the header; the file is sparse. Records are chunks, each of
 * names or of slots of one kind, handed out one after the other; the header says which chunk is
 * what. All numbers in host order. */
#ifndef RAMA_SEGMENT_LAYOUT_H
#define RAMA_SEGMENT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/code/elf.h"
#include "core/heat.h"
#include "core/kind.h"

#define RAMA_SEG_MAGIC 0x0a1a616d61726f69ull /* "iorama\x1a\n" */
#define RAMA_SEG_VERSION 8
#define RAMA_SEG_PAGE 4096

enum rama_seg_area {
	RAMA_SEG_AREA_IDENTITY,
	RAMA_SEG_AREA_STATE,
	RAMA_SEG_AREA_CONTROL,
	RAMA_SEG_AREA_RECORDS,
	RAMA_SEG_AREA_LANES,
	RAMA_SEG_AREA_EVENTS,
	RAMA_SEG_AREA_RINGS,
	RAMA_SEG_AREAS
};

/* what records a process keeps of a file */
enum rama_seg_kind {
#define M(...)
#define K(id, symbol, name, newest, released, record, kind, ...) RAMA_SEG_KIND_##symbol = kind,
#include "table/modules.def"
	RAMA_SEG_KINDS = RAMA_TAB_KINDS
};

struct rama_seg_area_get {
	uint64_t off, len; /* bytes; off is a multiple of RAMA_SEG_PAGE */
	uint32_t item;	   /* bytes of one chunk, lane or event */
	uint32_t pad;
};

/* Chunks of the records area: a power of two of bytes, at least the first number; so large that
 * there are no more than the second */
#define RAMA_SEG_POOL_LEAST 8192
#define RAMA_SEG_POOL_CHUNKS 2048

/* what a chunk of it holds */
enum {
	RAMA_SEG_POOL_NOTHING, /* nobody has it yet */
	RAMA_SEG_POOL_NAMES,
	RAMA_SEG_POOL_SLOTS /* of kind 0; those of others follow */
};

struct rama_seg_header {
	uint64_t magic;
	uint32_t version;
	uint32_t areas; /* entries of `area` that are used */
	uint64_t size;	/* of the file */
	struct rama_seg_area_get area[32];
	uint32_t slot[16]; /* bytes of a slot, per kind */
	/* Per chunk of the records area: RAMA_SEG_POOL_... Those below state.pool_used are in
	 * use and never change. */
	uint8_t pool[RAMA_SEG_POOL_CHUNKS];
};

/* ---- identity: written once, before the state becomes RUNNING -------------------------------- */

enum rama_seg_clock_source { RAMA_SEG_CLOCK_MONOTONIC = 1, RAMA_SEG_CLOCK_TSC };

/* A tick counter and two moments at which it was compared with the system's clocks (ns). Times in
 * slots and events are ticks since tick0. */
struct rama_seg_ticks {
	uint32_t source;
	uint32_t pad;
	double hz;		      /* ticks per second as known at the start */
	uint64_t tick0, mono0, real0; /* start of the process's history */
	uint64_t tick1, mono1, real1; /* end; 0 if it never came */
};

/* identity.flags; KEEP_LAST: the MPI of the job reduces values that cannot be combined to those
 * of the last rank; UNKNOWN_MPI: the program has an MPI of no family that we know, and its calls
 * were not observed; LOGGED: its log was written, and the segment stays only until its live
 * events have been read: who reads them removes it; QUIET: the process has confined itself, and
 * from then on nothing was recorded: `why` of the state says how; OTHER_PIDS: its process has
 * another number outside the pid namespace it lives in, so that nobody there can tell whether it
 * lives; NO_PROCESS, NO_EXTRA: these modules of ours are switched off, the log has none of them;
 * FUSE_DAEMON: it answers requests of the kernel at /dev/fuse; FILE_SERVER: it serves files to
 * others; FOLLOWED: another process wrote this one, which was stopped at each of its calls;
 * SITES: its records tell which places in the program their bytes came from */
enum {
	RAMA_SEG_STATIC = 1,
	RAMA_SEG_FORKED = 2,
	RAMA_SEG_BARE = 4,
	RAMA_SEG_KEEP_LAST = 8,
	RAMA_SEG_UNKNOWN_MPI = 16,
	RAMA_SEG_LOGGED = 32,
	RAMA_SEG_QUIET = 64,
	RAMA_SEG_OTHER_PIDS = 128,
	RAMA_SEG_NO_PROCESS = 256,
	RAMA_SEG_NO_EXTRA = 512,
	RAMA_SEG_FUSE_DAEMON = 1024,
	RAMA_SEG_FILE_SERVER = 2048,
	RAMA_SEG_FOLLOWED = 4096,
	RAMA_SEG_SITES = 8192
};
_Static_assert((RAMA_SEG_STATIC | RAMA_SEG_FORKED | RAMA_SEG_BARE | RAMA_SEG_KEEP_LAST |
		RAMA_SEG_UNKNOWN_MPI | RAMA_SEG_LOGGED | RAMA_SEG_QUIET | RAMA_SEG_OTHER_PIDS |
		RAMA_SEG_NO_PROCESS | RAMA_SEG_NO_EXTRA | RAMA_SEG_FUSE_DAEMON |
		RAMA_SEG_FILE_SERVER | RAMA_SEG_FOLLOWED | RAMA_SEG_SITES) == 16383,
	       "each flag is a bit of its own");

struct rama_seg_identity {
	struct rama_seg_ticks clock;
	int64_t jobid;
	int64_t rank, nprocs; /* -1, 0: not known */
	int64_t pid, ppid, uid;
	/* field 22 of /proc/PID/stat: tells the process from a later one of the same id */
	uint64_t pid_start;
	char boot[40];	/* boot id of the machine */
	uint32_t flags; /* RAMA_SEG_... */
	uint32_t trace; /* bit per module that is traced from the start: 1 << RAMA_JOB_LAYER_... */
	int64_t mem_align;
	double small_trigger, unaligned_trigger; /* DXT triggers; negative: none */
	char host[64];
	char job[64];	    /* name of the job's directory */
	char tag[64];	    /* stream its live events go to; "": the agent's own */
	char exe[1024];	    /* path of the program */
	char command[4096]; /* arguments joined by blanks */
	char mounts[8192];  /* "path\ttype\n" lines, in the order of the log */
	char batch[512];    /* what the batch system says of the job: lines of the log's metadata */
};

/* ---- state: written by the process -------------------------------------------------------- */

enum rama_seg_phase {
	RAMA_SEG_STARTING,
	RAMA_SEG_RUNNING,
	RAMA_SEG_FINISHING,
	RAMA_SEG_DONE,	   /* ended by itself */
	RAMA_SEG_REPLACED, /* another program took its place by exec */
	RAMA_SEG_OFF	   /* switched itself off; `why` says why */
};

/* The first ones have heat maps and traces in the log; all are in events. */
enum rama_seg_layer {
#define TRACED(layer, ...) RAMA_SEG_LAYER_##layer,
#include "table/layers.def"
	RAMA_SEG_LAYERS,
	RAMA_SEG_LAYERS_LAST = RAMA_SEG_LAYERS - 1,
#define EVENTS(layer, ...) RAMA_SEG_LAYER_##layer,
#include "table/layers.def"
	RAMA_SEG_EVENT_LAYERS
};

#define RAMA_SEG_REASONS 16
#define RAMA_SEG_UNSEEN_NAMES 6

/* what the system has counted of the process so far (getrusage) */
struct rama_seg_usage {
	uint64_t major_faults;	     /* page faults that had to wait for a disk */
	uint64_t user_us, system_us; /* time on a processor, microseconds */
};

struct rama_seg_state {
	uint32_t phase;
	uint32_t beat;	     /* grows with every slot, name, lane and chunk that is handed out */
	uint64_t names_used; /* where the last name ends: a place in the records area */
	uint32_t slots_used[16]; /* per kind */
	uint32_t lanes_used;
	uint32_t threads_now, threads_most;
	uint32_t pool_used;    /* chunks of the records area that were handed out */
	uint64_t chunks_used;  /* of the events area */
	uint64_t chunks_limit; /* no more than these may be used */
	uint64_t rings_used;   /* bytes of the rings area */
	uint64_t rings_limit;  /* no more than these may be used */
	uint64_t folded[16];   /* opens of files that went into the catch-all record, per kind */
	uint64_t partial;      /* bit per module of the log that lacks data */
	uint64_t missed;       /* calls that could not be counted (those of lanes come on top) */
	uint64_t registered;   /* bit per module of the log that saw a call */
	char why[96];
	/* Programs that could not be observed, started by this process or its children: how many
	 * for each reason (enum rama_unseen), and the names of the first of them. unseen_self:
	 * this process went on as such a program. */
	uint32_t unseen[RAMA_SEG_REASONS];
	uint32_t unseen_self;
	uint32_t unseen_names; /* places that were taken, or asked for */
	struct {
		uint32_t reason; /* 0: being written */
		char name[28];
	} unseen_name[RAMA_SEG_UNSEEN_NAMES];
	/* of a FUSE daemon or file server: requests that came, but nothing is known of; and what of
	 * its own code is observed, or why not, for people: "" where there is nothing to say */
	uint64_t requests_unseen;
	char hooks[104];
	/* requests of others that it did while an agent chose who makes events, and how long they
	 * took, in ticks: from request to answer, added up */
	uint64_t requests, requests_ticks;
	/* io_uring: operations that were counted, calls that submitted reads or writes, how many
	 * of these were under way after each such call, added up and at most; and operations that
	 * went by unseen */
	uint64_t uring_ops, uring_submits, uring_depth_sum, uring_depth_max, uring_missed;
	/* when its history began, and when it ended; usage_known: so many of both are there */
	struct rama_seg_usage usage[2];
	uint32_t usage_known, pad;
};
_Static_assert(RAMA_UNSEEN_REASONS <= RAMA_SEG_REASONS, "there is a place for each");

/* ---- control: words that others may write -------------------------------------------------- */

enum rama_seg_focus { RAMA_SEG_FOCUS_NONE, RAMA_SEG_FOCUS_SUMS, RAMA_SEG_FOCUS_CHOSEN };

#define RAMA_SEG_LANES 1024 /* threads that can be observed at one time */

/* its place in control->reserved: what an agent calls the process, from 1 on */
#define RAMA_SEG_KEPT_ORDER 0

struct rama_seg_control {
	uint32_t trace;	 /* bit per layer */
	uint32_t live;	 /* bit per layer of enum rama_seg_layer */
	uint32_t reader; /* process id of the agent that reads the rings; 0: none yet */
	uint32_t beat;	 /* of that agent: grows while it is at work */
	/* an agent's, for the next one; 2 and 3: agent/drain_tell.c */
	uint32_t reserved[4];
	/* Not 0: an agent chooses who makes events (enum rama_seg_focus); when it is gone, `trace`
	 * and `live` become what they were before it came: here. */
	uint32_t focus;
	uint32_t asked_trace, asked_live;
	uint32_t left_out[2]; /* calls that made no event because of that, low half first */
	/* Not 0: `live` was lent: from this second of CLOCK_MONOTONIC on it is 0 again (with an
	 * agent that chooses: `asked_live`), by whom lent it, or else by the agent. */
	uint32_t live_until;
	uint32_t more; /* zero */
	uint32_t read; /* not 0: the agent has read all of it, and the file may go */
	/* per lane: live events below this number are in the reader's spool, and their place may
	 * be used again. Written by the reader only, and only upwards */
	uint64_t taken[RAMA_SEG_LANES];
};

/* ---- names: append-only ------------------------------------------------------------------- */

/* A name's number is its place in the records area divided by 8, plus 1. In a chunk entries
 * follow each other, padded to 8 bytes; one that does not fit begins the next chunk of names,
 * and what is left of the chunk stays zero. Those before names_used are complete. */
struct rama_seg_name {
	uint64_t id;
	uint32_t len;	 /* of the text, without the NUL that follows it */
	uint32_t number; /* its own */
	uint32_t slot
		/* per kind: chunk of its slot times slots of a chunk, plus place in it, plus 1;
		 * 0: none */
		[14];
	char text[];
};

/* ---- slots: core/kind.h; each begins with struct rama_core_slot ------------------------------ */

_Static_assert(RAMA_SEG_KINDS <= 14, "kinds fit the arrays of header, state and names");
_Static_assert(sizeof(struct rama_seg_name) == offsetof(struct rama_seg_name, text),
	       "no gap before the text");

/* slot 0 of each kind is the catch-all record for files beyond the limit */
#define RAMA_SEG_CATCHALL "<OTHERS>"

/* ---- rings: live events, read and given back while the process runs
 * -------------------------------
 *
 * A lane begins with a ring of RAMA_SEG_RING_FIRST events; when its reader does not keep up it
 * gets another one of twice the size, as long as the area has room, and goes on there; what is
 * in the old one stays until it was read. Event number n of the ring of level k (from
 * ring[k].from on) is at place n % (RAMA_SEG_RING_FIRST << k). No room: the event is dropped and
 * counted. */

#define RAMA_SEG_RING_LEVELS 11
#define RAMA_SEG_RING_FIRST 1024u /* events */

/* ---- lanes: one per thread at a time --------------------------------------------------------- */

#define RAMA_SEG_OWNERS 16

struct rama_seg_lane {
	uint64_t thread; /* pthread_self() of its owner */
	uint32_t tid;
	uint32_t owned;	 /* 0: free */
	uint64_t calls;	 /* the last call id given */
	uint64_t lost;	 /* events dropped */
	uint64_t missed; /* calls not counted */
	uint32_t chunk;	 /* chunk being filled + 1 */
	uint32_t pad;
	/* the call that is at work: when it began (the counter itself), 0: none; and what it is */
	uint64_t doing_since;
	union {
		uint64_t doing; /* both at once: RAMA_SEG_DOING */
		struct {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
			uint32_t doing_fd, doing_fn;
#else
			uint32_t doing_fn; /* enum rama_tab_fn */
			/* descriptor + 1; 0: it has none, or is of a layer above */
			uint32_t doing_fd;
#endif
		};
	};
	/* live events: a ring that grows, see "rings" */
	uint64_t made;	  /* events that were put into it: number of the next one (release) */
	uint64_t dropped; /* events that found no room */
	uint32_t level;	  /* ring in use + 1; 0: none yet (release) */
	/* threads that made events in it, or are about to; the last RAMA_SEG_OWNERS are in
	 * `owner` */
	uint32_t owners;
	struct {
		uint64_t from; /* its first event */
		uint32_t tid, pad;
	} owner[RAMA_SEG_OWNERS];
	struct {
		uint64_t from; /* number of its first event */
		uint64_t at;   /* where it lies in the rings area, bytes */
	} ring[RAMA_SEG_RING_LEVELS];
	struct rama_core_heat heat[RAMA_SEG_LAYERS];
};

/* function, and descriptor + 1 of calls that have one */
#define RAMA_SEG_DOING(fn, fd) ((uint64_t)(fn) | (uint64_t)(uint32_t)((fd) + 1) << 32)

/* ---- events: chunks, each filled by one thread ----------------------------------------------- */

#define RAMA_SEG_CHUNK 16384

struct rama_seg_event {
	uint64_t start;	 /* ticks */
	uint64_t length; /* duration in ticks */
	int64_t off, bytes;
	uint32_t name;
	/* enum rama_seg_layer; RAMA_SEG_EVENT_FAILED added: the call failed (live events only) */
	uint8_t layer;
	uint8_t kind; /* enum rama_tab_opkind */
	uint16_t fn;
	uint32_t call, parent; /* call ids of this lane; parent 0: none */
};

#define RAMA_SEG_EVENT_FAILED 0x80

/* What a request of the layers FUSE, CLIENT and SERVER has beside its event: it takes the place of
 * the next one in the same chunk. `layer` tells it from an event. Live events have none. */
struct rama_seg_link {
	/* the thread of the application that it is done for, as the kernel numbers it; 0: not
	 * known */
	uint64_t tid;
	uint64_t unique; /* number of the request in its process */
	uint64_t object; /* the file's id, hashed: the same at client and server; 0: not known */
	/* FUSE: `unique` of the requests to servers that it became; CLIENT, SERVER: what was sent
	 * along with the request; 0: nothing */
	uint64_t mark;
	uint32_t peer;	/* name of the other side; 0: not known */
	uint8_t layer;	/* RAMA_SEG_EVENT_LINK */
	uint8_t pad[3]; /* zero */
	uint32_t call;	/* that of the event */
	uint32_t user;	/* number of the user whose thread it is, plus 1; 0: not known */
};

#define RAMA_SEG_EVENT_LINK 0x7f

struct rama_seg_chunk {
	uint64_t thread;
	uint32_t lane;
	uint32_t used; /* events that are complete; stored with release */
	uint32_t tid;  /* of the thread, as the kernel numbers it */
	uint32_t pad;
	struct rama_seg_event event[(RAMA_SEG_CHUNK - 24) / sizeof(struct rama_seg_event)];
};
#define RAMA_SEG_CHUNK_EVENTS ((RAMA_SEG_CHUNK - 24) / sizeof(struct rama_seg_event))

_Static_assert(sizeof(struct rama_seg_event) == 48, "an event has 48 bytes");
_Static_assert(sizeof(struct rama_seg_link) == sizeof(struct rama_seg_event) &&
		       offsetof(struct rama_seg_link, layer) ==
			       offsetof(struct rama_seg_event, layer),
	       "a link takes the place of an event, and can be told from one");
_Static_assert(sizeof(struct rama_seg_chunk) <= RAMA_SEG_CHUNK, "a chunk fits");
_Static_assert(sizeof(struct rama_seg_header) <= RAMA_SEG_PAGE, "the header fits a page");

#endif
