/* SPDX-License-Identifier: BSD-3-Clause */
/* known.h: what the files of this room share. */
#ifndef RAMA_LOOK_KNOWN_H
#define RAMA_LOOK_KNOWN_H

#include "base/map.h"
#include "core/stdio.h"
#include "look/find.h"
#include "look/look.h"
#include "segment/ring.h"

#define RAMA_LOOK_SLOTS 4096	  /* of a kind that one look compares, the others the next ones */
#define RAMA_LOOK_PROCESSES 65536 /* more are not looked at */
#define RAMA_LOOK_SECOND 1000000000ull

/* ---- figures of a slot: io.c ----------------------------------------------------------------- */

bool rama_look_has_figures(unsigned kind); /* rows of job/io.def */
bool rama_look_is_disk(unsigned kind);	   /* it counts what reaches the system */
bool rama_look_is_file(unsigned kind);	   /* its records are files, not parts of them */

/* Figures of the record at w. longest: of its reads and writes, seconds. */
void rama_look_io_read(unsigned kind, const unsigned char *w, double tick, struct rama_look_io *io,
		       double *longest);
void rama_look_io_gain(struct rama_look_io *gain, const struct rama_look_io *now,
		       const struct rama_look_io *before);
enum rama_look_class rama_look_class(unsigned fn);

/* ---- a segment: seg.c ------------------------------------------------------------------------ */

struct rama_look_slot {
	uint64_t id; /* of its record */
	uint32_t seq, name;
	struct rama_look_io io;
	double longest;
};

struct rama_look_touched { /* a slot that gained something in this look */
	uint8_t kind;
	uint32_t slot;
	struct rama_look_io gain;
};

struct rama_look_lane {
	uint64_t since, doing;
	bool known, file;
	char name[160];
};

struct rama_look_now {
	uint64_t tick[3], mono, real; /* tick: by enum rama_seg_clock_source */
};

struct rama_look_seg {
	struct rama_seg_mapped map;
	bool open;
	struct rama_look_slot *slot[RAMA_SEG_KINDS];
	uint32_t n_slots[RAMA_SEG_KINDS], next[RAMA_SEG_KINDS];
	struct rama_look_touched *touched;
	size_t n_touched, room_touched;
	struct rama_look_lane *lane;
	uint32_t n_lanes;
	double in_flight[4]; /* seconds of calls at work, by class */
	double before[4];    /* the same at the look before */
	bool moved;	     /* something changed since the look before */
};

/* Reads all that changed. first: nothing of it is a gain. `p` gets its figures. */
int rama_look_seg_read(struct rama_look_process *p, const struct rama_look_now *now,
		       double interval, bool first, const char *proc, struct rama_err *e);
/* Name of a file by its number, in `to`; "" if there is none. */
void rama_look_seg_name(struct rama_look_seg *g, uint32_t number, char *to, size_t room);
void rama_look_seg_close(struct rama_look_seg *g);

/* ---- what is known from look to look: look.c, jobs.c ----------------------------------------- */

/* a segment that was found: its process, and where it is kept */
struct rama_look_found {
	struct rama_look_process p; /* first: the job's list points here */
	struct rama_look_seg seg;
	struct rama_look_find_id id;
	uint64_t pid_start;
	struct rama_look_job *job;
	bool there;    /* has a name still */
	bool bad;      /* cannot be read */
	bool closed;   /* was added to what is gone; only its id is remembered */
	bool fresh;    /* seen for the first time in this look */
	uint32_t beat; /* of its agent */
	uint64_t order;
	uint64_t ended_at; /* monotonic, ns; 0: it runs */
};

/* what a job had in processes that are no longer looked at */
struct rama_look_past {
	struct rama_look_io total, layer[RAMA_LOOK_LAYERS];
	double longest;
	struct rama_look_live live;
	struct rama_look_find_id id;
	uint64_t next_order;
	uint64_t ended_at;
	bool there;  /* its directory is */
	bool ran;    /* was seen running */
	size_t uses; /* segments that are known of it */
	size_t room;
};

struct rama_look_state_all {
	struct rama_look_options o;
	char **dir;
	char boot[64];
	struct rama_look_found **found;
	size_t n, room;
	struct rama_look_job **jobs; /* all, also those that are not shown */
	size_t n_jobs, room_jobs;
	struct rama_map by_id, job_by_id; /* hash of an id -> place + 1 */
	uint64_t last_mono, last_real, number;
	struct rama_look_now now;
};

static inline bool rama_look_runs(const struct rama_look_process *p)
{
	return p->state == RAMA_LOOK_RUNNING || p->state == RAMA_LOOK_OFF;
}

/* All jobs, of the processes as they were read. 0 or RAMA_EMEMORY. */
int rama_look_jobs(struct rama_look *l);
void rama_look_job_free(struct rama_look_job *j);

#endif
