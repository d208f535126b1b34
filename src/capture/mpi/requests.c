/* SPDX-License-Identifier: BSD-3-Clause */
/* requests.c: nonblocking and split calls of MPI-IO that are under way. An MPI does their work when
 * it comes to it: in the call itself, by asynchronous I/O, or in any later call in which it makes
 * progress. So what is done for a file in no other call of ours is part of the one that asked for
 * it: the request on the same file whose bytes it touches, else the oldest one there, since a
 * collective call writes the bytes of other ranks, too.
 *
 * The table is small and has no lock: a place is its writer's from the change of `key` to BUSY
 * until the next one. Ids belong to a lane, so other threads only end requests, they use none. */
#include "capture/events.h"
#include "capture/mpi/mpi.h"

enum { PLACES = 256 };
#define BUSY 1u /* no handle, and no file, is this */

static struct {
	uintptr_t key;	/* the request, or the file of a split call; 0: free */
	uint64_t order; /* when it began, among all */
	const struct rama_seg_lane *lane;
	int64_t off, bytes;
	uint32_t generation, id, name;
	uint32_t split;
} table[PLACES];
static uint64_t begun;
uint32_t rama_cap_requests;

static void set_free(unsigned at, uintptr_t key)
{
	if (key > BUSY && __atomic_compare_exchange_n(&table[at].key, &key, 0, false,
						      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		__atomic_fetch_sub(&rama_cap_requests, 1, __ATOMIC_RELAXED);
}

static int find(uintptr_t key, bool split)
{
	for (unsigned i = 0; i < PLACES; i++)
		if (__atomic_load_n(&table[i].key, __ATOMIC_ACQUIRE) == key &&
		    (table[i].split != 0) == split)
			return (int)i;
	return -1;
}

static int take_place(void)
{
	for (unsigned i = 0; i < PLACES; i++) {
		uintptr_t is = 0;

		if (__atomic_compare_exchange_n(&table[i].key, &is, BUSY, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			__atomic_fetch_add(&rama_cap_requests, 1, __ATOMIC_RELAXED);
			return (int)i;
		}
	}
	return -1;
}

void rama_cap_mpi_request_add(const struct rama_cap_mpi_call *c)
{
	const struct rama_cap_thread *t = &rama_cap_thread;
	bool split = c->op.how == RAMA_CORE_MPI_SPLIT;
	uintptr_t key;
	int at;

	if ((!split && (c->op.how != RAMA_CORE_MPI_NB || !c->request)) || !c->nest.id ||
	    !rama_cap_eventful(RAMA_SEG_LAYER_POSIX) || !rama_cap_mpi.family)
		return;
	key = split ? c->fh : rama_cap_mpi_load(c->request);
	if (!split && key == RAMA_CAP_MPI(REQUEST_NULL))
		return; /* done already */
	/* one of that name was ended where we could not see it */
	at = find(key, split);
	if (at >= 0)
		set_free((unsigned)at, key);
	at = take_place();
	if (at < 0)
		return;
	table[at].order = __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
	table[at].lane = t->lane;
	table[at].generation = rama_cap_run.generation;
	table[at].id = c->nest.id;
	table[at].name = c->record->name;
	table[at].off = c->op.off;
	table[at].bytes = c->op.bytes;
	table[at].split = split;
	__atomic_store_n(&table[at].key, key, __ATOMIC_RELEASE);
}

static bool is_ours(unsigned i)
{
	return __atomic_load_n(&table[i].key, __ATOMIC_ACQUIRE) > BUSY &&
	       table[i].lane == rama_cap_thread.lane &&
	       table[i].generation == rama_cap_run.generation;
}

uint32_t rama_cap_request_of(uint32_t name, int64_t off, int64_t bytes)
{
	uint64_t oldest = UINT64_MAX, touched = UINT64_MAX;
	uint32_t any = 0, best = 0;

	for (unsigned i = 0; i < PLACES && name; i++) {
		if (!is_ours(i) || table[i].name != name)
			continue;
		if (table[i].order < oldest) {
			oldest = table[i].order;
			any = table[i].id;
		}
		if (table[i].off >= 0 && off < table[i].off + table[i].bytes &&
		    table[i].off < off + bytes && table[i].order < touched) {
			touched = table[i].order;
			best = table[i].id;
		}
	}
	return best ? best : any;
}

/* ---- ends ------------------------------------------------------------------------------------ */

void rama_cap_mpi_split_resume(const struct rama_cap_mpi_call *c)
{
	int at = c->on && rama_cap_requests ? find(c->fh, true) : -1;

	if (at >= 0 && is_ours((unsigned)at))
		rama_cap_thread.parent = table[at].id; /* rama_cap_mpi_leave() sets it back */
}

void rama_cap_mpi_split_end(const struct rama_cap_mpi_call *c)
{
	int at = rama_cap_requests ? find(c->fh, true) : -1;

	if (at >= 0)
		set_free((unsigned)at, c->fh);
}

static uintptr_t request_at(const struct rama_cap_mpi_wait *w, int32_t i)
{
	return rama_cap_mpi_load(w->requests + (size_t)i * rama_cap_mpi.family->handle);
}

void rama_cap_mpi_wait_begin(struct rama_cap_mpi_wait *w, const void *requests, int n)
{
	uint32_t left = rama_cap_requests;

	w->requests = requests;
	w->n = 0;
	for (int i = 0; requests && left > 0 && i < n && w->n < RAMA_CAP_MPI_WAITED; i++) {
		uintptr_t key = request_at(w, i);
		int at = key == RAMA_CAP_MPI(REQUEST_NULL) ? -1 : find(key, false);

		if (at < 0)
			continue;
		w->one[w->n].place = (uint32_t)at;
		w->one[w->n++].index = i;
		left--;
	}
}

/* A request that has ended is no more; its place may have a new one of another thread by now, which
 * is then not known. */
void rama_cap_mpi_wait_end(struct rama_cap_mpi_wait *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		unsigned at = w->one[i].place;

		if (request_at(w, w->one[i].index) == RAMA_CAP_MPI(REQUEST_NULL))
			set_free(at, __atomic_load_n(&table[at].key, __ATOMIC_RELAXED));
	}
}
