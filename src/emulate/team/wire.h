/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.h: internal to team*.c: messages on a socket. */
#ifndef RAMA_EMULATE_TEAM_WIRE_H
#define RAMA_EMULATE_TEAM_WIRE_H

#include <pthread.h>
#include <sys/types.h>

#include "emulate/team/team.h"

#define RAMA_EMU_FRAME_MAGIC 0x49524f31u
#define RAMA_EMU_FRAME_MOST ((uint64_t)1 << 30)
#define RAMA_EMU_SECRET 33 /* hexadecimal digits and a NUL */

/* kinds that the team itself uses */
enum {
	RAMA_EMU_KIND_HELLO = 0x40000000, /* rank, secret, host */
	RAMA_EMU_KIND_NODES, /* hosts of all ranks, one after the other with their NULs */
	RAMA_EMU_KIND_CLOCK, /* asked for and answered: the director's time */
	RAMA_EMU_KIND_BARRIER,
	RAMA_EMU_KIND_BCAST,
	RAMA_EMU_KIND_GATHER,
	RAMA_EMU_KIND_ABORT, /* struct rama_emu_abort */
	RAMA_EMU_KIND_BYE,
	RAMA_EMU_KIND_END, /* all have said it, or are dead */
};

/* why all stop */
struct rama_emu_abort {
	int32_t code;
	int32_t by; /* rank, or RAMA_EMU_TEAM_DIRECTOR */
	char text[sizeof(((struct rama_err *)0)->text)];
};

struct rama_emu_frame {
	uint32_t magic, kind;
	int32_t from, to;
	uint64_t n;
};

/* a message that waits to be taken or to be sent */
struct rama_emu_letter {
	struct rama_emu_letter *next;
	struct rama_emu_frame frame;
	char bytes[];
};

struct rama_emu_mail {
	struct rama_emu_letter *first, **last;
};
void rama_emu_mail_init(struct rama_emu_mail *m);
void rama_emu_mail_put(struct rama_emu_mail *m, struct rama_emu_letter *l);
struct rama_emu_letter *rama_emu_mail_take(struct rama_emu_mail *m); /* the first, or NULL */
struct rama_emu_letter *rama_emu_mail_pick(struct rama_emu_mail *m, struct rama_emu_letter **at);
void rama_emu_mail_fini(struct rama_emu_mail *m);
struct rama_emu_letter *rama_emu_letter_new(const struct rama_emu_frame *f, const void *bytes);

/* one socket: what came in so far, what is to go out */
struct rama_emu_wire {
	int fd; /* -1: closed */
	struct rama_emu_frame head;
	size_t head_got, got;
	struct rama_emu_letter *coming;
	struct rama_emu_mail out;
	size_t out_done; /* of the first letter that goes out, frame included */
	bool bye;
};
void rama_emu_wire_init(struct rama_emu_wire *w, int fd);
void rama_emu_wire_fini(struct rama_emu_wire *w);
/* Takes in what is there. 1: *l is a whole message; 0: nothing yet; negative: closed or broken. */
int rama_emu_wire_read(struct rama_emu_wire *w, struct rama_emu_letter **l);
/* Sends what can be sent now; 1: all is out, 0: some is left, negative: broken. */
int rama_emu_wire_write(struct rama_emu_wire *w);

/* the director: a thread on rank 0 */
struct rama_emu_director {
	pthread_t thread;
	bool running;
	int size;
	int listener; /* -1: none */
	char secret[RAMA_EMU_SECRET];
	struct rama_emu_wire *wire;  /* by rank */
	struct rama_emu_wire *guest; /* connected, but not yet known */
	size_t n_guests;
	char (*host)[256]; /* by rank */
	int joined, at_barrier, out, gone;
	struct rama_emu_team *team;
	rama_emu_team_handler *fn;
	void *ctx;
	pthread_mutex_t lock; /* of fn */
	bool aborted;
};
int rama_emu_director_start(struct rama_emu_director *d, struct rama_emu_team *t, int size,
			    struct rama_err *e);

struct rama_emu_team_state {
	struct rama_emu_wire wire;	    /* to the director */
	struct rama_emu_mail inbox;	    /* messages that nobody asked for yet */
	pthread_mutex_t in, out;	    /* of what comes and what goes: threads of a rank */
	struct rama_emu_director *director; /* rank 0 */
	pid_t *children;		    /* local: by rank */
	bool local, aborted, ending;
	int aborted_by;
	struct rama_err why; /* what the one that failed first said */
	char secret[RAMA_EMU_SECRET];
};

/* One more letter from the socket. 1: got it; 0: time is over. */
int rama_emu_team_fetch(struct rama_emu_team *t, struct rama_emu_letter **l, double until,
			struct rama_err *e);
/* Waits for a message of this kind; others are kept for who asks for them. */
int rama_emu_team_await(struct rama_emu_team *t, uint32_t kind, double until,
			struct rama_emu_letter **l, struct rama_err *e);
/* number of the signal that told this process to end, 0: none */
int rama_emu_team_signal(void);

#endif
