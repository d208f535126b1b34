/* SPDX-License-Identifier: BSD-3-Clause */
/* one.h: one segment while it becomes a log; internal to gather. */
#ifndef RAMA_GATHER_ONE_H
#define RAMA_GATHER_ONE_H

#include "base/arena.h"
#include "core/extra.h"
#include "core/foreign/lustre.h"
#include "core/posix.h"
#include "gather/gather.h"

/* one name of the segment; ascending by number */
struct rama_gather_name {
	/* in the names area; RAMA_GATHER_NO_NAME: the catch-all, which has none there */
	uint64_t at;
	uint64_t id;
	uint32_t number;
	uint32_t slot[RAMA_SEG_KINDS];	 /* slot + 1 that is written; 0: none */
	uint32_t trace[RAMA_SEG_LAYERS]; /* index of its trace + 1; 0: none */
	bool used;			 /* some record is written under it */
	bool extra;			 /* its EXTRA record is not empty */
	bool untraced;			 /* a trigger says that its trace is not wanted */
};
#define RAMA_GATHER_NO_NAME UINT64_MAX
#define RAMA_GATHER_WORDS RAMA_CORE_LUSTRE_ROOM /* no record is larger */

/* segments of one file in one layer */
struct rama_gather_trace {
	struct rama_gather_name *name;
	uint8_t layer;
	uint64_t first;	   /* start of the first access */
	uint64_t count[2]; /* writes, reads still to be placed */
	uint64_t kept[2];  /* writes, reads that the record has */
	uint64_t at[2];	   /* next free places in the batch being written */
};

/* what a place in the program did with a file */
struct rama_gather_site {
	uint64_t file; /* record id */
	uint32_t site; /* number of its name; 0: not known */
	uint8_t layer; /* 0 POSIX, 1 STDIO */
	struct rama_core_moved moved[RAMA_CORE_TURNS];
};

struct rama_gather {
	struct rama_seg *s;
	const struct rama_gather_process *p;
	struct rama_log_writer *w;
	struct rama_err *e;
	uint64_t partial;
	bool damaged; /* every module may lack something */
	uint64_t has; /* bit per module that has records */
	struct rama_gather_name *names;
	size_t n_names, names_room;
	struct rama_gather_trace *traces; /* by layer, then in the order of first access */
	size_t n_traces, traces_room;
	struct rama_gather_site *sites; /* by site, file and layer */
	size_t n_sites, sites_room;
	uint64_t lost, missed, folded;
	uint64_t maps, mapped; /* file-backed mappings, and their bytes */
	struct rama_core_heat heat[RAMA_SEG_LAYERS];
	/* room for one of each thing that is read */
	union {
		struct rama_core_slot slot; /* of any kind */
		unsigned char room[RAMA_CORE_SLOT_MOST];
		struct rama_core_posix_file posix;
		struct rama_core_extra_file extra;
		struct rama_seg_lane lane;
		struct rama_seg_chunk chunk;
		struct rama_seg_name_get name;
		char mounts[sizeof(((struct rama_seg_identity *)0)->mounts)];
		union rama_core_word command[sizeof(((struct rama_seg_identity *)0)->command) / 8];
	} u;
	struct rama_core_extra_file extra;	       /* beside u.posix */
	union rama_core_word words[RAMA_GATHER_WORDS]; /* of one record */
	union rama_core_word more[RAMA_TAB_EXTRA__WORDS];
	struct rama_log_job job;
	char exe[sizeof(((struct rama_seg_identity *)0)->command)]; /* of the job */
};

/* NULL: the segment has no such name */
struct rama_gather_name *rama_gather_name_get(struct rama_gather *g, uint32_t number);

/* the log's own error, or what the segment's reader said */
int rama_gather_failed(struct rama_gather *g, int rc);
int rama_gather_no_memory(struct rama_gather *g);

int rama_gather_record(struct rama_gather *g, unsigned module, union rama_core_word *w);
/* a command line as the job has it: on one line */
void rama_gather_flat(char *to, size_t size, const char *command);
/* the id of a name that stands for no file */
uint64_t rama_gather_id(const char *name);

/* slots.c: which slots are written, and writing them */
int rama_gather_slots_find(struct rama_gather *g);
int rama_gather_slots_write(struct rama_gather *g, enum rama_seg_kind kind);

/* trace.c */
int rama_gather_trace_find(struct rama_gather *g);
int rama_gather_trace_write(struct rama_gather *g, enum rama_seg_layer layer);

/* calls.c */
void rama_gather_calls_see(struct rama_gather *g); /* the events in g->u.chunk */
int rama_gather_calls_write(struct rama_gather *g);
#define RAMA_GATHER_CALLS "CALLS"

/* sites.c: after slots_find */
int rama_gather_sites_find(struct rama_gather *g);
int rama_gather_sites_write(struct rama_gather *g);
#define RAMA_GATHER_NO_SITE "@" /* name of the place that is not known */

/* lanes.c: heat maps, losses, the process itself */
int rama_gather_lanes_find(struct rama_gather *g);
int rama_gather_heat_write(struct rama_gather *g);
int rama_gather_process_write(struct rama_gather *g);
extern const char *const rama_gather_heat_names[RAMA_SEG_LAYERS];
#define RAMA_GATHER_PROCESS "PROCESS"

/* rama_gather_one() with what the log does not say */
struct rama_gather_losses {
	uint64_t lost, missed, folded;
};
int rama_gather_segment(struct rama_seg *s, const struct rama_gather_process *p,
			struct rama_log_writer *w, uint64_t *partial,
			struct rama_gather_losses *losses, struct rama_err *e);

/* calls that made no event because an agent chose others */
static inline uint64_t rama_gather_left_out(const struct rama_seg *s)
{
	return (uint64_t)s->control.left_out[1] << 32 | s->control.left_out[0];
}

#endif
