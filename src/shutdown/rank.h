/* SPDX-License-Identifier: BSD-3-Clause */
/* rank.h: a rank while the job ends; internal to this folder. */
#ifndef RAMA_SHUTDOWN_RANK_H
#define RAMA_SHUTDOWN_RANK_H

#include "base/ranges.h"
#include "shutdown/shutdown.h"

enum {
	RAMA_SHUTDOWN_TAG_HERE,	   /* up: who is there, when the job began and ended */
	RAMA_SHUTDOWN_TAG_CALL,	   /* down: what struct rama_shutdown_shut's `call` messages say */
	RAMA_SHUTDOWN_TAG_AGAIN,   /* HERE, to whoever asked for it */
	RAMA_SHUTDOWN_TAG_IDS,	   /* up: files and names */
	RAMA_SHUTDOWN_TAG_SHARED,  /* down: files that all have, names that others write */
	RAMA_SHUTDOWN_TAG_RECORDS, /* up: records of shared files */
	RAMA_SHUTDOWN_TAG_SIZES,   /* up: bytes of each region */
	RAMA_SHUTDOWN_TAG_PLACES,  /* down: where they go */
	RAMA_SHUTDOWN_TAG_NEXT,	   /* writer to rank: send now */
	RAMA_SHUTDOWN_TAG_PIECES,  /* rank to writer */
	RAMA_SHUTDOWN_TAG_WRITTEN, /* writer to rank 0 */
	RAMA_SHUTDOWN_TAG_END,	   /* down: how it ended */
};

#define RAMA_SHUTDOWN_SHUT_LEVELS 40 /* more than any tree has */
#define RAMA_SHUTDOWN_SHUT_LOOK \
	0.0003 /* of the limit, between looks at ranks further up: 9 ms of 30 s */
#define RAMA_SHUTDOWN_SHUT_WRITERS 64 /* no more than these, whatever is asked for */

/* ---- messages: message.c ------------------------------------------------------------ */

struct rama_shutdown_msg {
	unsigned char *bytes;
	size_t n, room;
	bool failed; /* no memory */
};
void rama_shutdown_msg_put(struct rama_shutdown_msg *m, const void *bytes, size_t n);
void rama_shutdown_msg_u64(struct rama_shutdown_msg *m, uint64_t v);
void rama_shutdown_msg_f64(struct rama_shutdown_msg *m, double v);
void rama_shutdown_msg_fini(struct rama_shutdown_msg *m);

/* One that came. No length in it is trusted: what is not there reads as 0 and sets `bad`. */
struct rama_shutdown_got {
	void *bytes; /* to be freed */
	size_t n, at;
	bool bad;
};
/* NULL: not that many are left */
const void *rama_shutdown_got_take(struct rama_shutdown_got *g, size_t n);
uint64_t rama_shutdown_got_u64(struct rama_shutdown_got *g);
double rama_shutdown_got_f64(struct rama_shutdown_got *g);
/* a count of things that take at least `size` bytes each */
size_t rama_shutdown_got_count(struct rama_shutdown_got *g, size_t size);
void rama_shutdown_got_fini(struct rama_shutdown_got *g);

void rama_shutdown_ranges_put(struct rama_shutdown_msg *m, const struct rama_ranges *s);
int rama_shutdown_ranges_take(struct rama_shutdown_got *g, struct rama_ranges *s, int64_t size);

/* ids, ascending, each once */
struct rama_shutdown_ids {
	uint64_t *id;
	size_t n;
};
void rama_shutdown_ids_sort(struct rama_shutdown_ids *s);
void rama_shutdown_ids_put(struct rama_shutdown_msg *m, const struct rama_shutdown_ids *s);
int rama_shutdown_ids_take(struct rama_shutdown_got *g, struct rama_shutdown_ids *s);
bool rama_shutdown_ids_has(const struct rama_shutdown_ids *s, uint64_t id);
void rama_shutdown_ids_intersect(struct rama_shutdown_ids *s, const struct rama_shutdown_ids *with);
/* s takes in what `more` has beyond it; *both: what both have. Not more than `most` in s. */
int rama_shutdown_ids_join(struct rama_shutdown_ids *s, const struct rama_shutdown_ids *more,
			   struct rama_shutdown_ids *both, size_t most);
void rama_shutdown_ids_fini(struct rama_shutdown_ids *s);

/* ---- the rank -------------------------------------------------------------------------------- */

/* a record of a module whose files can be shared */
struct rama_shutdown_shut_ref {
	uint64_t id;
	union rama_core_word *w;
};

struct rama_shutdown_shut_piece {
	unsigned char *bytes;
	size_t n, room;
};

struct rama_shutdown_shut {
	const struct rama_shutdown_comm *comm;
	struct rama_shutdown_own *own;
	struct rama_shutdown_options opt;
	struct rama_shutdown_result *result;
	struct rama_err *e;
	/* time */
	double begin;  /* of this rank */
	double from;   /* when everybody was told who is there */
	double budget; /* seconds from there on */
	/* who */
	struct rama_ranges out;	    /* did not answer the call: no part of the tree */
	struct rama_ranges missing; /* and those that fell silent later */
	int64_t index, count;	    /* of this rank among those that answered */
	uint64_t gone;		    /* bit per child that fell silent */
	/* the job */
	int64_t start[2], end[2]; /* seconds, ns */
	uint64_t partial;
	struct rama_log_unseen_sum unseen; /* of this rank and those below it */
	uint64_t version[RAMA_TAB_MODULES];
	double heat_width, heat_end;
	/* files */
	/* by id, of modules that can be shared */
	struct rama_shutdown_shut_ref *ref[RAMA_TAB_MODULES];
	size_t n_ref[RAMA_TAB_MODULES];
	struct rama_shutdown_ids shared[RAMA_TAB_MODULES];
	struct rama_shutdown_ids names;	   /* of this rank and those below it */
	struct rama_shutdown_ids not_mine; /* names that a lower rank writes */
	struct rama_shutdown_ids not_theirs[RAMA_SHUTDOWN_SHUT_LEVELS];
	/* pieces */
	struct rama_log_packer packer;
	bool packing;
	unsigned char *plain;
	size_t plain_n;
	unsigned region; /* of `plain` */
	struct rama_shutdown_shut_piece piece[RAMA_LOG_REGIONS];
	/* bytes of each child's part of the tree */
	uint64_t below[RAMA_SHUTDOWN_SHUT_LEVELS][RAMA_LOG_REGIONS];
	/* own pieces; rank 0: end of regions */
	uint64_t place[RAMA_LOG_REGIONS], stop[RAMA_LOG_REGIONS];
	/* the file */
	struct rama_shutdown_place file;
	bool file_open;
	unsigned writers;
	bool alone; /* some writer cannot reach the file */
};

/* phases after the call; each has a share of the budget */
enum rama_shutdown_shut_phase {
	RAMA_SHUTDOWN_SHUT_IDS,
	RAMA_SHUTDOWN_SHUT_RECORDS,
	RAMA_SHUTDOWN_SHUT_SIZES,
	RAMA_SHUTDOWN_SHUT_PIECES,
	RAMA_SHUTDOWN_SHUT_END
};

int rama_shutdown_shut_no_memory(struct rama_shutdown_shut *s);
int rama_shutdown_shut_send(struct rama_shutdown_shut *s, int64_t to, int tag,
			    const struct rama_shutdown_msg *m);
/* waits until that moment of comm->now() */
int rama_shutdown_shut_recv(struct rama_shutdown_shut *s, int64_t from, int tag,
			    struct rama_shutdown_got *g, double until);

/* own.c */
const void *rama_shutdown_own_region(const struct rama_shutdown_own *o, unsigned region);
/* The next record of a module: *at = 0 at first. Bytes of all of it, 0 at the end. */
size_t rama_shutdown_own_next(const struct rama_shutdown_own *o, unsigned module, size_t *at,
			      union rama_core_word **w);
/* the next name, with its id and NUL: the same */
size_t rama_shutdown_own_next_name(const struct rama_shutdown_own *o, size_t *at,
				   const unsigned char **name);
bool rama_shutdown_shut_reduces(const struct rama_tab_module *mod);
bool rama_shutdown_shut_shares(const struct rama_tab_module *mod);
/* moves all times by `shift` seconds */
void rama_shutdown_own_shift(struct rama_shutdown_own *o, double shift);
int rama_shutdown_shut_find(struct rama_shutdown_shut *s); /* fills ref, shared, names */
union rama_core_word *rama_shutdown_shut_ref_get(const struct rama_shutdown_shut *s,
						 unsigned module, uint64_t id);
void rama_shutdown_shut_heat_measure(struct rama_shutdown_shut *s, double shift);
int rama_shutdown_shut_heat_pack(struct rama_shutdown_shut *s);

/* call.c: who is there? Returns with the tree, the job's start and end and the file
 * known. */
int rama_shutdown_shut_call(struct rama_shutdown_shut *s);
/* own start after the job's, in seconds */
double rama_shutdown_shut_offset(const struct rama_shutdown_shut *s);

/* tree.c */
int64_t rama_shutdown_shut_rank(const struct rama_shutdown_shut *s, int64_t index);
/* rank; -1: this is rank 0 */
int64_t rama_shutdown_shut_parent(const struct rama_shutdown_shut *s);
/* child number `level`: its index, or -1 if there is none, or it fell silent */
int64_t rama_shutdown_shut_child(const struct rama_shutdown_shut *s, unsigned level);
void rama_shutdown_shut_lose(struct rama_shutdown_shut *s, unsigned level);
double rama_shutdown_shut_until(const struct rama_shutdown_shut *s,
				enum rama_shutdown_shut_phase phase, unsigned level);
double rama_shutdown_shut_over(const struct rama_shutdown_shut *s,
			       enum rama_shutdown_shut_phase phase);
int rama_shutdown_shut_share(struct rama_shutdown_shut *s);
int rama_shutdown_shut_reduce(struct rama_shutdown_shut *s);
int rama_shutdown_shut_measure(struct rama_shutdown_shut *s);

/* pack.c */
int rama_shutdown_shut_add(struct rama_shutdown_shut *s, unsigned region, const void *bytes,
			   size_t n);
int rama_shutdown_shut_pack(struct rama_shutdown_shut *s);
/* rank 0: makes the job's piece, of the same size each time */
int rama_shutdown_shut_job(struct rama_shutdown_shut *s);
/* A stream of n bytes that holds nothing, at the place of one that did not come; *crc goes on
 * over it. */
int rama_shutdown_shut_fill(struct rama_shutdown_shut *s, uint64_t off, uint64_t n, uint32_t *crc);

/* write.c: sends or writes the pieces; returns what became of the log */
int rama_shutdown_shut_write(struct rama_shutdown_shut *s);

#endif
