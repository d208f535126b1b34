/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.h: a parallel job in one process: ranks are threads, messages are queues in memory.
 * Ranks can come late, die, or send nonsense. Time can be real, or a clock that stands still
 * while any rank works and jumps ahead when all of them wait: then waiting costs nothing, and a
 * busy machine changes nothing. Used by tests and by bench/shutdown; knows nothing of either. */
#ifndef RAMA_TESTS_THREADS_H
#define RAMA_TESTS_THREADS_H

#include <pthread.h>

#include "shutdown/shutdown.h"

struct letter;
struct world;

struct seat {
	struct world *world;
	int64_t rank;
	pthread_cond_t came;
	struct letter *first, **last; /* not read yet, in the order in which they came */
	/* what it waits for */
	bool waits;
	int64_t from;
	int tag;
	double until;
	/* what is wrong with the rank */
	double late;  /* seconds before it begins */
	int dies_at;  /* it dies when it would send with this tag; -1: never */
	int spare;    /* ... after so many of them */
	int64_t left; /* messages before it dies; -1: any number */
	bool dead;
	unsigned garbles; /* each how many-th message is damaged; 0: none */
	/* counted */
	uint64_t sent, bytes;
	/* what it does */
	int (*run)(const struct rama_shutdown_comm *comm, void *arg);
	void *arg;
	int rc;
	double took;
};

struct world {
	int64_t size;
	struct seat *seat;
	pthread_mutex_t lock;
	size_t eager; /* larger messages keep their sender until they are taken; 0: none does */
	bool real;    /* time */
	double clock; /* if it is not */
	int64_t busy; /* ranks that do not wait */
};

void world_init(struct world *w, int64_t size);
struct rama_shutdown_comm world_comm(struct world *w, int64_t rank);
/* all ranks as threads, until all have ended; a rank that is dead from the start does not run */
void world_run(struct world *w, int (*run)(const struct rama_shutdown_comm *comm, void *arg),
	       void *arg, size_t arg_size);
void world_fini(struct world *w);
double world_now(void); /* real time */

#endif
