/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.c: processes of a job become ranks: those that their MPI gave them, or in the order of
 * start. */
#include <stdlib.h>
#include <string.h>

#include "gather/images.h"

static int no_memory(struct rama_gather_work *k)
{
	return rama_err_set(k->e, RAMA_EMEMORY, "out of memory");
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* the name of its file, wherever that is: packed or not, the order is the same */
static int by_name(const struct rama_gather_image *x, const struct rama_gather_image *y)
{
	const char *a = strrchr(x->path, '/'), *b = strrchr(y->path, '/');
	int rc = strcmp(a != NULL ? a + 1 : x->path, b != NULL ? b + 1 : y->path);

	return rc != 0 ? rc : strcmp(x->path, y->path);
}

/* processes together, programs of each in the order in which it ran them */
static int by_process(const void *a, const void *b)
{
	const struct rama_gather_image *x = a, *y = b;
	int rc = strcmp(x->host, y->host);

	if (rc == 0)
		rc = strcmp(x->boot, y->boot);
	if (rc == 0)
		rc = compare((uint64_t)x->pid, (uint64_t)y->pid);
	if (rc == 0)
		rc = compare(x->pid_start, y->pid_start);
	if (rc == 0)
		rc = compare(x->real0, y->real0);
	return rc != 0 ? rc : by_name(x, y);
}

static bool same_machine(const struct rama_gather_image *x, const struct rama_gather_image *y)
{
	return strcmp(x->host, y->host) == 0 && strcmp(x->boot, y->boot) == 0;
}

static bool same_process(const struct rama_gather_image *x, const struct rama_gather_image *y)
{
	return x->pid == y->pid && x->pid_start == y->pid_start && same_machine(x, y);
}

/* one process: the first of its images */
struct process {
	struct rama_gather_image *first;
	int64_t images;
	int64_t mpi, world; /* its rank in the MPI job, of so many; -1: it has none */
	size_t place;	    /* among all, by start */
};

static int by_start(const void *a, const void *b)
{
	const struct rama_gather_image *x = ((const struct process *)a)->first,
				       *y = ((const struct process *)b)->first;
	int rc = compare(x->start, y->start);

	if (rc == 0)
		rc = compare((uint64_t)x->pid, (uint64_t)y->pid);
	return rc != 0 ? rc : by_name(x, y);
}

static int by_rank(const void *a, const void *b)
{
	const struct rama_gather_image *x = a, *y = b;
	int rc = compare((uint64_t)x->process, (uint64_t)y->process);

	return rc != 0 ? rc : compare((uint64_t)x->number, (uint64_t)y->number);
}

/* an image that another followed was replaced by it, whatever it had time to say */
static void settle(struct rama_gather_work *k, const struct process *p, int64_t rank)
{
	for (int64_t i = 0; i < p->images; i++) {
		struct rama_gather_image *im = &p->first[i];

		im->process = rank;
		im->number = i;
		im->images = p->images;
		if (i + 1 < p->images) {
			im->ended = 2;
			im->unfinished = false;
		}
		k->result->unfinished += im->unfinished;
		if (im->gone && i + 1 == p->images)
			rama_log_unseen_add(&k->unseen, RAMA_UNSEEN_OTHER, 1, NULL);
	}
}

/* the one with that id on the same machine that started last before the child, or NULL */
static const struct process *parent_of(const struct process *all, size_t n,
				       const struct rama_gather_image *child)
{
	for (size_t i = n; i-- > 0;) {
		const struct rama_gather_image *x = all[i].first;

		if (x->pid == child->ppid && same_machine(x, child))
			return &all[i];
	}
	return NULL;
}

/* A worker that was ended by a signal while its parent went on and came to its own end: that is
 * how programs stop their workers, and nothing of what it did is missing. Ranks of MPI are no
 * workers, and a process that was stopped in the middle of counting says so itself (slots.c). */
static void see_stopped(struct rama_gather_work *k, struct process *p, const struct process *parent)
{
	struct rama_gather_image *last = &p->first[p->images - 1];

	if (last->ended != 0 || p->mpi >= 0 || parent == NULL ||
	    parent->first[parent->images - 1].ended != 1)
		return;
	last->ended = RAMA_GATHER_ENDED_STOPPED;
	last->unfinished = false;
	k->result->unfinished--;
}

/* A segment begins with the first call that is seen, which a forked process may make late: when
 * the process itself began is known in hundredths of a second since the machine was booted. When
 * that was follows from the segment that began soonest after its process. Images are sorted by
 * machine. */
static void find_starts(struct rama_gather_work *k)
{
	const uint64_t tick = 10000000;

	for (size_t i = 0, end; i < k->n; i = end) {
		uint64_t boot = UINT64_MAX;

		for (end = i; end < k->n && same_machine(&k->image[i], &k->image[end]); end++) {
			uint64_t up = k->image[end].pid_start * tick;

			if (k->image[end].real0 - up < boot)
				boot = k->image[end].real0 - up;
		}
		for (size_t j = i; j < end; j++)
			k->image[j].start = boot + k->image[j].pid_start * tick;
	}
}

static int by_mpi(const void *a, const void *b)
{
	const struct process *x = a, *y = b;
	int rc = compare((uint64_t)x->mpi, (uint64_t)y->mpi); /* -1 comes last */

	return rc != 0 ? rc : compare(x->place, y->place);
}

/* ranks of [0, world) that no process has; p: by MPI rank */
static int find_missing(struct rama_gather_work *k, const struct process *p, size_t n,
			int64_t world)
{
	int64_t next = 0;
	int rc = 0;

	for (size_t i = 0; i < n && p[i].mpi >= 0 && rc == 0; next = p[i++].mpi + 1)
		if (p[i].mpi > next)
			rc = rama_ranges_add(&k->missing, next, p[i].mpi - 1);
	if (rc == 0 && next < world)
		rc = rama_ranges_add(&k->missing, next, world - 1);
	return rc;
}

/* The MPI rank of each process, -1 if it has none; returns the size of the largest job. */
static int64_t find_mpi(struct process *p, size_t n)
{
	int64_t world = 0;

	for (size_t i = 0; i < n; i++) {
		p[i].place = i;
		p[i].mpi = -1;
		for (int64_t j = 0; j < p[i].images; j++) {
			const struct rama_gather_image *im = &p[i].first[j];

			if (im->mpi >= 0 && im->mpi < im->world && im->world <= RAMA_GATHER_RANKS) {
				p[i].mpi = im->mpi;
				p[i].world = im->world;
				world = im->world > world ? im->world : world;
			}
		}
	}
	return world;
}

/* Ranks of an MPI job are its own, also if some are missing; other processes follow. Where two
 * say that they are the same rank (several MPI jobs in one), all are numbered in the order of
 * start. p: by start. */
static int give_ranks(struct rama_gather_work *k, struct process *p, size_t n)
{
	int64_t world = find_mpi(p, n), next = world;
	bool clash = false;
	int rc = 0;

	qsort(p, n, sizeof(*p), by_mpi);
	for (size_t i = 1; i < n; i++)
		clash = clash || (p[i].mpi >= 0 && p[i].mpi == p[i - 1].mpi);
	for (size_t i = 0; i < n; i++) {
		int64_t rank = clash ? (int64_t)p[i].place : p[i].mpi >= 0 ? p[i].mpi : next++;

		settle(k, &p[i], rank);
	}
	if (!clash)
		rc = find_missing(k, p, n, world);
	k->result->nprocs = clash ? (int64_t)n : next;
	qsort(p, n, sizeof(*p), by_start);
	return rc == 0 ? 0 : no_memory(k);
}

/* Beside logs that ranks have made: ranks that are missing there take their places, all others
 * follow. */
static int give_places(struct rama_gather_work *k, struct process *p, size_t n)
{
	int64_t next = k->made.nprocs;

	find_mpi(p, n);
	for (size_t i = 0; i < n; i++) {
		int64_t rank =
			p[i].mpi < 0 ? -1 : rama_gather_made_place(&k->made, p[i].mpi, p[i].world);

		settle(k, &p[i], rank >= 0 ? rank : next++);
	}
	k->result->nprocs = next;
	return rama_gather_made_missing(&k->made, &k->missing) == 0 ? 0 : no_memory(k);
}

/* Ranks of the MPI job, or in the order of start. */
int rama_gather_rank(struct rama_gather_work *k)
{
	struct process *p = calloc(k->n + 1, sizeof(*p));
	size_t n = 0;
	int rc;

	if (p == NULL)
		return no_memory(k);
	qsort(k->image, k->n, sizeof(*k->image), by_process);
	find_starts(k);
	for (size_t i = 0; i < k->n; i++) {
		if (n == 0 || !same_process(p[n - 1].first, &k->image[i]))
			p[n++].first = &k->image[i];
		p[n - 1].images++;
	}
	qsort(p, n, sizeof(*p), by_start);
	rc = k->made.n > 0 ? give_places(k, p, n) : give_ranks(k, p, n);
	for (size_t r = 0; r < n; r++) {
		const struct process *parent = NULL;

		for (int64_t i = 0; i < p[r].images; i++) {
			parent = parent_of(p, r, &p[r].first[i]);
			p[r].first[i].parent = parent != NULL ? parent->first->process : -1;
		}
		see_stopped(k, &p[r], parent);
	}
	free(p);
	qsort(k->image, k->n, sizeof(*k->image), by_rank);
	return rc;
}
