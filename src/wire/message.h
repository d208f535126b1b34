/* SPDX-License-Identifier: BSD-3-Clause */
/* message.h: everything an agent tells a store. Messages may come twice and in another order
 * than they were sent: each says by itself what it is about, and taking it in again changes
 * nothing.
 *
 * A job's key is "<uid>/<name of its directory of segments>" for jobs of `iorama run` and of
 * MPI, which may be on several hosts, the same and "@<host>" for others seen live;
 * "<uid>/<jobid>/<start second>/<hash of its bytes>" for logs; "<uid>/job-<job id>" for events
 * of a connector's files. wire/key.h says which letters it may have. */
#ifndef RAMA_WIRE_MESSAGE_H
#define RAMA_WIRE_MESSAGE_H

#include "base/arena.h"
#include "wire/block.h"

enum rama_wire_message_kind {
	RAMA_WIRE_MSG_PROCESS = 1, /* a process of a job: what it is, and how it goes on */
	RAMA_WIRE_MSG_NAMES,	   /* names of files */
	RAMA_WIRE_MSG_BLOCK,	   /* events */
	RAMA_WIRE_MSG_ACTIVITY,	   /* what they gained in a second: as agents once told it */
	RAMA_WIRE_MSG_SAMPLE,	   /* figures of a node */
	RAMA_WIRE_MSG_LOG,	   /* the log of a job, whole */
	RAMA_WIRE_MSG_LOSS,	   /* what an agent had to drop */
	RAMA_WIRE_MSG_COUNTERS,	   /* what the counters of a process stand at */
	RAMA_WIRE_MSG_FOCUS,	   /* between agents: who is slowest; no store takes it */
	RAMA_WIRE_MSG_MOMENT,	   /* what processes of a job are at on one node */
	RAMA_WIRE_MSG_KINDS
};

enum rama_wire_process_state {
	RAMA_WIRE_STATE_RUNNING = 1,
	RAMA_WIRE_STATE_ENDED,	  /* by itself */
	RAMA_WIRE_STATE_REPLACED, /* by exec */
	RAMA_WIRE_STATE_KILLED	  /* it is gone and did not say so */
};

struct rama_wire_msg_process {
	struct rama_wire_segment_key segment;
	/* grows with each message about this segment: an older one changes nothing */
	uint64_t version;
	const char *job;
	const char *user, *host, *exe, *command, *tag; /* never NULL */
	int64_t uid, jobid, pid, rank, nprocs;	       /* rank -1, nprocs 0: not known */
	int64_t start, end;			       /* ns since 1970; end 0: it runs */
	int64_t seen_at;			       /* ns since 1970, when this was true */
	uint32_t state;				       /* enum rama_wire_process_state */
	uint64_t made;	  /* events put into its lanes so far, all lanes */
	uint64_t dropped; /* events that found no room there: lost */
	uint64_t missed;  /* calls that were not observed at all */
	uint32_t lanes;
};

struct rama_wire_msg_name {
	uint64_t record;
	const char *path;
	uint32_t len;
};
struct rama_wire_msg_names {
	const char *job;
	uint32_t n;
	struct rama_wire_msg_name *name;
};

/* gains of one layer in [t - width, t) */
struct rama_wire_msg_gain {
	char layer[16];
	int64_t reads, writes, metas, bytes_read, bytes_written;
	int64_t read_ns, write_ns, meta_ns;
};
struct rama_wire_msg_activity {
	struct rama_wire_segment_key segment;
	const char *job;
	int64_t rank;
	int64_t t, width; /* ns */
	uint32_t n;
	struct rama_wire_msg_gain *gain;
};

/* What the counters of layers stand at, since the process began: who takes it in works out the
 * gains. So it does not matter which of these messages are lost with an agent that is killed,
 * come twice or late: the newest has it all. */
struct rama_wire_msg_counters {
	struct rama_wire_segment_key segment;
	uint64_t version; /* grows with each message about this segment, whoever sends it */
	const char *job;
	int64_t rank;
	int64_t t;     /* ns since 1970: when they were read */
	int64_t since; /* when they stood at 0 */
	uint32_t n;
	struct rama_wire_msg_gain *total; /* since then */
};

struct rama_wire_msg_figure {
	char metric[48]; /* "cpu.user", "disk.sda.read_bytes": rows of table/metrics.def */
	double value;
};
struct rama_wire_msg_sample {
	const char *host;
	int64_t t; /* ns */
	uint32_t n;
	struct rama_wire_msg_figure *figure;
};

struct rama_wire_msg_log {
	const char *job;  /* "" : made from the log */
	const char *name; /* of its file, or "" */
	const unsigned char *bytes;
	size_t len;
};

struct rama_wire_msg_loss {
	const char *agent; /* who lost it */
	uint64_t number;   /* of this report: grows by one with each of this agent */
	const char *job;
	const char *why; /* "the spool is full" */
	uint64_t events, messages;
};

/* What one agent tells the others once a second, where they choose together who makes events
 * (agent/focus/focus.h). It goes to no store and is not kept. */
struct rama_wire_msg_focus_one {
	uint64_t id; /* 0: there is none */
	uint64_t ns; /* mean of a call; 0: not known */
	int64_t pid, rank;
};
struct rama_wire_msg_focus_group {
	const char *job;		     /* key, or "servers", "daemons" */
	uint64_t processes, left_out;	     /* of this agent */
	struct rama_wire_msg_focus_one slow, /* the slowest that it has */
		chosen;			     /* that makes events, if it is one of its own */
	bool decides;			     /* then the rest says what is decided, else it is 0 */
	struct rama_wire_msg_focus_one at;
	const char *host;	/* of `at` */
	uint64_t all, all_left; /* processes, and calls that made no event, of all agents */
	uint64_t switches;
};
struct rama_wire_msg_focus {
	const char *agent, *host;
	uint32_t n;
	struct rama_wire_msg_focus_group *group;
};

/* What processes of a job are at on one node, at one moment: those that did anything since the
 * moment before or are in a call, and the files that move. Of each node the newest is kept. */
enum rama_wire_class {
	RAMA_WIRE_CLASS_READ = 1,
	RAMA_WIRE_CLASS_WRITE,
	RAMA_WIRE_CLASS_META,
	RAMA_WIRE_CLASSES
};
struct rama_wire_msg_call { /* that is at work */
	const char *fn;	    /* "pwrite64" */
	uint32_t class;	    /* enum rama_wire_class */
	uint64_t tid;
	int64_t since;	  /* ns before t */
	const char *file; /* may be cut at its front; "": not known */
};
struct rama_wire_msg_at {
	struct rama_wire_segment_key segment;
	int64_t rank, pid;
	uint64_t threads, files;
	uint32_t wait;	 /* enum rama_wire_class: what took most of the time; 0: it computes */
	uint64_t share;	 /* millionths of a thread's time that went into files, at most 1000000 */
	int64_t longest; /* ns: of its reads and writes so far */
	struct rama_wire_msg_gain gain; /* of the layers next to the system; its layer is "" */
	uint64_t calls;			/* at work */
	uint32_t n;
	struct rama_wire_msg_call *call; /* the longest of them */
};
struct rama_wire_msg_moved { /* a file */
	uint64_t record, processes;
	const char *name;
	int64_t longest;
	struct rama_wire_msg_gain gain, total; /* their layers are "" */
};
struct rama_wire_msg_moment {
	const char *host, *job;
	int64_t t, width;   /* ns: since the moment before */
	uint64_t processes; /* of the job that run there; those that are not told of compute */
	uint32_t n, n_files;
	struct rama_wire_msg_at *at;	  /* those that are longest in a call first */
	struct rama_wire_msg_moved *file; /* those that move most first */
};

struct rama_wire_message {
	enum rama_wire_message_kind kind;
	union {
		struct rama_wire_msg_process process;
		struct rama_wire_msg_names names;
		struct {
			const unsigned char *bytes; /* a packed block */
			size_t len;
		} block;
		struct rama_wire_msg_activity activity;
		struct rama_wire_msg_sample sample;
		struct rama_wire_msg_log log;
		struct rama_wire_msg_loss loss;
		struct rama_wire_msg_counters counters;
		struct rama_wire_msg_focus focus;
		struct rama_wire_msg_moment moment;
	};
};

#define RAMA_WIRE_MESSAGE_MOST (64u << 20) /* bytes of one; a log may be large */
#define RAMA_WIRE_MSG_TEXT 65535	   /* bytes of a text: path, command */
#define RAMA_WIRE_MSG_WORD 255		   /* and of a short one: user, host, tag, agent, why */
#define RAMA_WIRE_MSG_NAMES_MOST 65536	   /* parts of one message: names, ... */
#define RAMA_WIRE_MSG_GAINS 64
#define RAMA_WIRE_MSG_FIGURES 65536
#define RAMA_WIRE_MSG_GROUPS 4096
#define RAMA_WIRE_MSG_ATS 1024 /* of a moment: processes, calls of one of them, files */
#define RAMA_WIRE_MSG_CALLS 8
#define RAMA_WIRE_MSG_MOVED 64

/* Bytes of a message, appended to *buf, which grows (realloc). 0 or a negative error. */
struct rama_wire_bytes {
	unsigned char *b;
	size_t n, room;
};
int rama_wire_message_encode(const struct rama_wire_message *m, struct rama_wire_bytes *to,
			     struct rama_err *e);
/* Trusts nothing. Texts and arrays lie in the arena or in `bytes`. A block's inside is not
 * looked at. */
int rama_wire_message_decode(struct rama_wire_message *m, const unsigned char *bytes, size_t n,
			     struct rama_arena *a, struct rama_err *e);
void rama_wire_bytes_fini(struct rama_wire_bytes *b);

const char *rama_wire_message_name(enum rama_wire_message_kind kind); /* "process", "names", ... */
/* the job of a message, "" for samples; for blocks it reads the head */
int rama_wire_message_job(const struct rama_wire_message *m, char job[RAMA_WIRE_JOB]);
/* how many events a message holds (0 for all but blocks) */
uint64_t rama_wire_message_events(const struct rama_wire_message *m);

#endif
