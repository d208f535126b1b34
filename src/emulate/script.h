/* SPDX-License-Identifier: BSD-3-Clause */
/* script.h: what a rank does, written down by a mode: single steps, and walks over files that
 * become one step for each request when their turn comes. When a script is at its end the mode
 * is asked for more. */
#ifndef RAMA_EMULATE_SCRIPT_H
#define RAMA_EMULATE_SCRIPT_H

#include "emulate/graph/graph.h"
#include "emulate/work.h"

/* how long a phase may last; of one rank */
struct rama_emu_limit {
	double seconds; /* 0: there is none */
	bool wear_out;	/* then each makes as many requests as any had made */
	struct rama_emu_team *team;
	double began;	     /* the first request; 0: there was none */
	uint64_t done;	     /* requests so far */
	uint64_t then, most; /* ... when time was over, or all was done; of any rank */
	bool over, agreed;
};
/* Is time over? To be asked before each request, which is then counted. */
bool rama_emu_limit_over(struct rama_emu_limit *l);
/* After that: are there requests left all the same? */
bool rama_emu_limit_goes_on(const struct rama_emu_limit *l);
/* A call of a step (RAMA_EMU_DO_CALL): all ranks find out how many the fastest made. Once, at
 * the latest at the end of the phase; ctx is the limit. */
int rama_emu_limit_agree(void *ctx, struct rama_emu_step *s, struct rama_err *e);

/* sizes of requests that are drawn by lot */
#define RAMA_EMU_SPLIT_MOST 16
struct rama_emu_split {
	unsigned n;
	int64_t size[RAMA_EMU_SPLIT_MOST], largest;
	double below[RAMA_EMU_SPLIT_MOST]; /* a number drawn from 0 to 1 means the first above it */
};

/* a stretch that several requests of drawn sizes fill, from its start */
struct rama_emu_cell {
	uint64_t at; /* its number */
	int64_t done;
	uint32_t drawn;
};
#define RAMA_EMU_CELLS 16 /* at a time, in a random order */

/* requests over a file: which of them are of this part, in which order */
struct rama_emu_walk {
	int64_t size; /* bytes that are walked over, from offset `from` on */
	int64_t from;
	int64_t request; /* bytes of one; the last may be shorter */
	enum rama_emu_order order;
	uint32_t part,
		parts;	/* requests are dealt out: pieces of neighbours, or (strided) one by one */
	uint64_t seed;	/* of a random order */
	uint64_t limit; /* so many requests at most; 0: all of them */
	/* requests are of these sizes, and `request` is the length of a cell; NULL: all are of
	 * that one */
	const struct rama_emu_split *split;
	/* as many for every part: empty ones follow, so that collective calls stay in step */
	bool even;
	/* how far it is */
	uint64_t at, first, step, count, calls;
	uint64_t mask; /* random: numbers are drawn below this power of two */
	struct rama_emu_cell cell[RAMA_EMU_CELLS]; /* of a split */
	uint32_t cells;
	uint64_t drawn;
};
/* ready to be walked: after the fields above `how far` are set */
void rama_emu_walk_start(struct rama_emu_walk *w);
bool rama_emu_walk_next(struct rama_emu_walk *w, int64_t *offset, int64_t *length);
/* bytes that the whole walk moves */
int64_t rama_emu_walk_bytes(const struct rama_emu_walk *w);

struct rama_emu_line {
	struct rama_emu_step step;
	bool walks;
	struct rama_emu_walk walk;
	bool sync;		      /* after every write */
	uint64_t mixed;		      /* requests that were drawn */
	double reads;		      /* part of the requests of a write that are reads instead */
	struct rama_emu_limit *limit; /* NULL: as long as it takes */
};

struct rama_emu_script {
	struct rama_emu_line *lines;
	size_t n, room, at;
	bool between; /* a request was handed out: its sync is next */
	/* asked at the end: 1 when more lines were added (rama_emu_script_clear() first drops
	 * the old ones), 0: that was all */
	int (*more)(struct rama_emu_script *s, void *ctx, struct rama_err *e);
	void *ctx;
	int error; /* RAMA_EMEMORY once a line did not fit */
};

void rama_emu_script_init(struct rama_emu_script *s);
void rama_emu_script_fini(struct rama_emu_script *s);
void rama_emu_script_clear(struct rama_emu_script *s);
struct rama_emu_stream rama_emu_script_stream(struct rama_emu_script *s);

/* one line each; trouble is kept in s->error and told when the script is read */
struct rama_emu_step *rama_emu_script_step(struct rama_emu_script *s, enum rama_emu_do what,
					   struct rama_emu_unit *unit);
void rama_emu_script_open(struct rama_emu_script *s, struct rama_emu_unit *unit, int flags);
void rama_emu_script_move(struct rama_emu_script *s, enum rama_emu_do what,
			  struct rama_emu_unit *unit, const struct rama_emu_walk *walk, bool sync);
/* what the move added last is more than that: some of it reads, it has a limit */
void rama_emu_script_mix(struct rama_emu_script *s, double reads, struct rama_emu_limit *limit);
void rama_emu_script_compute(struct rama_emu_script *s, double seconds, double cores);
void rama_emu_script_begin(struct rama_emu_script *s, uint32_t task, uint32_t iteration);

#endif
