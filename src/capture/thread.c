/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.c: lanes of threads, and the short locks among them. */
#include <pthread.h>
#include <time.h>

#include "capture/runtime.h"

RAMA_CAP_TLS struct rama_cap_thread rama_cap_thread = { .live = RAMA_CAP_NO_LANE };
RAMA_CAP_TLS uint32_t rama_cap_off;

/* ---- locks ----------------------------------------------------------------------------------- */

/* A holder is only ever a few hundred instructions from letting go, but it may have lost its
 * processor: wait politely, for seconds, then give up rather than hold the application for ever. */
enum { SPINS = 200, YIELDS = 2000 };

void rama_cap_rest(unsigned i)
{
	struct timespec nap = { .tv_nsec = 100000 };

	if (i < SPINS) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	} else if (i < YIELDS) {
		rama_cap_sys3(SYS_sched_yield, 0, 0, 0);
	} else {
		rama_cap_sys3(SYS_nanosleep, &nap, 0, 0);
	}
}

/* Locks whose holders are gone: the seconds are waited once, not by every call. */
enum { DEAD = 8 };
static struct {
	uint32_t *lock, at;
} dead[DEAD];

static unsigned place_of(const uint32_t *lock)
{
	return (unsigned)((uintptr_t)lock / sizeof(*lock)) % DEAD;
}

/* A jump may come at any instruction: it must find what to let go, and never what another thread
 * holds. So the lock is noted before it is taken, with the value that it has while it is ours. */
bool rama_cap_lock(struct rama_cap_thread *t, uint32_t *lock)
{
	uint32_t is = __atomic_load_n(lock, __ATOMIC_RELAXED);

	if (dead[place_of(lock)].lock == lock && dead[place_of(lock)].at == is && is & 1)
		return false;
	for (unsigned i = 0; i < RAMA_CAP_PATIENCE; i++) {
		is = __atomic_load_n(lock, __ATOMIC_RELAXED);
		if ((is & 1) == 0) {
			t->guard_at = is + 1;
			atomic_signal_fence(memory_order_seq_cst);
			t->guard = lock;
			atomic_signal_fence(memory_order_seq_cst);
			if (__atomic_compare_exchange_n(lock, &is, is + 1, false, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED))
				return true;
			t->guard = NULL;
		}
		rama_cap_rest(i);
	}
	dead[place_of(lock)].at = is;
	dead[place_of(lock)].lock = lock;
	return false;
}

void rama_cap_unlock(struct rama_cap_thread *t, uint32_t *lock)
{
	if (t->guard == lock && *lock == t->guard_at)
		__atomic_store_n(lock, t->guard_at + 1, __ATOMIC_RELEASE);
	t->guard = NULL;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

static pthread_key_t key;
static bool have_key;

static void leave(void *lane_of)
{
	struct rama_seg_lane *lane = lane_of;
	struct rama_cap_thread *t = &rama_cap_thread;

	if (t->lane == lane && t->live == *rama_cap_live) {
		t->live = RAMA_CAP_NO_LANE;
		t->lane = NULL;
		t->chunk = NULL;
		t->ring_end = 0;
		__atomic_store_n(&lane->doing_since, 0, __ATOMIC_RELAXED); /* canceled in a call */
		__atomic_fetch_sub(&rama_cap_run.state->threads_now, 1, __ATOMIC_RELAXED);
		/* `owned` last: the next thread goes on with the numbers of this one */
		__atomic_store_n(&lane->owned, 0, __ATOMIC_RELEASE);
	}
}

void rama_cap_threads_init(void)
{
	if (!have_key)
		have_key = pthread_key_create(&key, leave) == 0;
}

/* Live events that were not read yet need to be told apart by their threads: a lane remembers
 * only so many. */
static bool knows_owners(const struct rama_seg_lane *l, uint32_t i)
{
	uint64_t taken = __atomic_load_n(&rama_cap_run.control->taken[i], __ATOMIC_RELAXED);
	uint32_t n = __atomic_load_n(&l->owners, __ATOMIC_RELAXED);

	/* the oldest would be forgotten: all of its events are read if those of the next one
	 * begin below `taken` */
	return n < RAMA_SEG_OWNERS || __atomic_load_n(&l->owner[(n + 1) % RAMA_SEG_OWNERS].from,
						      __ATOMIC_RELAXED) <= taken;
}

static void note_owner(struct rama_seg_lane *l)
{
	uint32_t n = l->owners;

	/* one that made no events is nobody's business */
	if (n > 0 && l->owner[(n - 1) % RAMA_SEG_OWNERS].from == l->made)
		n--;
	__atomic_store_n(&l->owner[n % RAMA_SEG_OWNERS].tid, l->tid, __ATOMIC_RELAXED);
	__atomic_store_n(&l->owner[n % RAMA_SEG_OWNERS].from, l->made, __ATOMIC_RELAXED);
	__atomic_store_n(&l->owners, n + 1, __ATOMIC_RELEASE);
}

static bool take(struct rama_seg_lane *l)
{
	uint32_t free_one = 0;

	return l && __atomic_load_n(&l->owned, __ATOMIC_RELAXED) == 0 &&
	       __atomic_compare_exchange_n(&l->owned, &free_one, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* its number, or -1 */
static int64_t take_lane(void)
{
	struct rama_seg_state *s = rama_cap_run.state;

	for (unsigned round = 0; round < 2; round++) {
		uint32_t used = __atomic_load_n(&s->lanes_used, __ATOMIC_ACQUIRE);
		struct rama_seg_lane *l;
		for (uint32_t i = 0; i < used; i++) {
			l = rama_cap_memory_lane(i, true);
			if (l && (round > 0 || knows_owners(l, i)) && take(l))
				return i;
		}
		while (used < rama_cap_run.n_lanes && (l = rama_cap_memory_lane(used, true)) &&
		       rama_cap_memory_fill(l, sizeof(*l))) {
			uint32_t i = used;
			if (__atomic_compare_exchange_n(&s->lanes_used, &used, i + 1, false,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
				if (take(l))
					return i;
				used = i + 1;
			}
		}
	}
	return -1;
}

/* a lane and what belongs to it; NULL: there is no room */
static struct rama_seg_lane *find_lane(uint32_t *number)
{
	int64_t i = take_lane();
	struct rama_seg_lane *l = i >= 0 ? rama_cap_memory_lane((uint32_t)i, false) : NULL;

	if (l && !rama_cap_memory_scratch((uint32_t)i, RAMA_CAP_SCRATCH)) {
		__atomic_store_n(&l->owned, 0, __ATOMIC_RELEASE);
		l = NULL;
	}
	*number = (uint32_t)i;
	return l;
}

bool rama_cap_thread_join(void)
{
	struct rama_cap_thread *t = &rama_cap_thread;
	int saved = errno;
	uint32_t number;
	struct rama_seg_lane *l = find_lane(&number);

	*t = (struct rama_cap_thread){ .live = RAMA_CAP_NO_LANE, .lane = l, .lane_number = number };
	if (!l) {
		__atomic_fetch_add(&rama_cap_run.state->missed, 1, __ATOMIC_RELAXED);
		__atomic_fetch_or(&rama_cap_run.state->partial,
				  1ull << RAMA_TAB_MOD_POSIX | 1ull << RAMA_TAB_MOD_STDIO,
				  __ATOMIC_RELAXED);
		return false;
	}
	l->thread = (uint64_t)pthread_self();
	l->tid = (uint32_t)rama_cap_sys3(SYS_gettid, 0, 0, 0);
	l->chunk = 0;
	l->doing_since = 0;
	note_owner(l);
	for (unsigned i = 0; i < RAMA_SEG_LAYERS; i++)
		if (l->heat[i].width == 0 && rama_cap_run.heat)
			rama_core_heat_init(&l->heat[i], rama_cap_run.heat_width);
	t->scratch = rama_cap_memory_scratch(number, RAMA_CAP_SCRATCH);
	t->queue = (struct rama_cap_pending *)(t->scratch + 3 * 4096);
	uint32_t now = __atomic_add_fetch(&rama_cap_run.state->threads_now, 1, __ATOMIC_RELAXED);
	if (now > rama_cap_run.state->threads_most)
		rama_cap_run.state->threads_most = now;
	if (have_key)
		pthread_setspecific(key, l);
	/* last: from here on handlers of this thread record, and use all of the above */
	t->live = RAMA_CAP_LIVE + rama_cap_run.generation;
	errno = saved;
	return true;
}
