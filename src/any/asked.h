/* SPDX-License-Identifier: BSD-3-Clause */
/* asked.h: those who want to be followed, as they come: a thread of its own listens, since who
 * follows waits for those that are followed already. */
#ifndef RAMA_ANY_ASKED_H
#define RAMA_ANY_ASKED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/code/follow.h"

struct rama_any_asked {
	int listen, life; /* life: nobody can ask any more when its other end is closed */
	pthread_t follower;
	pthread_mutex_t lock;
	pthread_cond_t change;
	atomic_bool waits, over; /* there is one; there will be no more */
	struct rama_any_request {
		int fd; /* where the answer goes */
		unsigned what;
		pid_t pid, tid;
	} request;
};

/* Listens under this name; -1: it cannot. */
int rama_any_asked_listen(const char *name);
/* To be called by the thread that follows: it gets a signal when somebody asks. */
int rama_any_asked_start(struct rama_any_asked *a, int listen, int life);
/* The one that waits; false: there is none. */
bool rama_any_asked_take(struct rama_any_asked *a, struct rama_any_request *r);
void rama_any_asked_answer(struct rama_any_asked *a, const struct rama_any_request *r, bool yes);
/* until somebody asks, or nobody can any more */
void rama_any_asked_wait(struct rama_any_asked *a);

#endif
