/* SPDX-License-Identifier: BSD-3-Clause */
/* thread.c: lanes of threads, the trace they write, and the short locks among them. */
#include <pthread.h>
#include <time.h>

#include "capture/runtime.h"

RAMA_TLS struct rama_thread rama_thread = { .live = RAMA_NO_LANE };
RAMA_TLS uint32_t rama_off;

/* ---- locks ----------------------------------------------------------------------------------------- */

/* A holder is only ever a few hundred instructions from letting go, but it may have lost its processor: wait
 * politely, for seconds, then give up rather than hold the application for ever. */
enum { SPINS = 200, YIELDS = 2000 };

void rama_rest(unsigned i)
{
	struct timespec nap = { .tv_nsec = 100000 };

	if (i < SPINS) {
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	} else if (i < YIELDS) {
		rama_sys3(SYS_sched_yield, 0, 0, 0);
	} else {
		rama_sys3(SYS_nanosleep, &nap, 0, 0);
	}
}

bool rama_lock(struct rama_thread *t, uint32_t *lock)
{
	for (unsigned i = 0; i < RAMA_PATIENCE; i++) {
		uint32_t is = __atomic_load_n(lock, __ATOMIC_RELAXED);
		if ((is & 1) == 0 &&
		    __atomic_compare_exchange_n(lock, &is, is + 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED)) {
			t->guard = lock;
			return true;
		}
		rama_rest(i);
	}
	return false;
}

void rama_unlock(struct rama_thread *t, uint32_t *lock)
{
	__atomic_store_n(lock, *lock + 1, __ATOMIC_RELEASE);
	t->guard = NULL;
}

/* ---- lanes ------------------------------------------------------------------------------------------- */

static pthread_key_t key;
static bool have_key;

static void leave(void *lane_of)
{
	struct rama_seg_lane *lane = lane_of;
	struct rama_thread *t = &rama_thread;

	if (t->lane == lane && t->live == *rama_live) {
		t->live = RAMA_NO_LANE;
		t->lane = NULL;
		t->chunk = NULL;
		__atomic_fetch_sub(&rama_run.state->threads_now, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&lane->owned, 0, __ATOMIC_RELEASE);
	}
}

void rama_threads_init(void)
{
	if (!have_key)
		have_key = pthread_key_create(&key, leave) == 0;
}

static struct rama_seg_lane *take_lane(void)
{
	struct rama_seg_state *s = rama_run.state;

	for (unsigned round = 0; round < 2; round++) {
		uint32_t used = __atomic_load_n(&s->lanes_used, __ATOMIC_ACQUIRE);
		for (uint32_t i = 0; i < used; i++) {
			uint32_t free_one = 0;
			if (__atomic_load_n(&rama_run.lanes[i].owned, __ATOMIC_RELAXED) == 0 &&
			    __atomic_compare_exchange_n(&rama_run.lanes[i].owned, &free_one, 1,
							false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
				return &rama_run.lanes[i];
		}
		while (used < rama_run.n_lanes &&
		       rama_populate(&rama_run.lanes[used], sizeof(struct rama_seg_lane))) {
			if (__atomic_compare_exchange_n(&s->lanes_used, &used, used + 1, false,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
				uint32_t free_one = 0;
				if (__atomic_compare_exchange_n(&rama_run.lanes[used].owned,
								&free_one, 1, false,
								__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
					return &rama_run.lanes[used];
			}
		}
	}
	return NULL;
}

bool rama_thread_join(void)
{
	struct rama_thread *t = &rama_thread;
	int saved = errno;
	struct rama_seg_lane *l = take_lane();

	*t = (struct rama_thread){ .live = RAMA_NO_LANE, .lane = l };
	if (!l) {
		__atomic_fetch_add(&rama_run.state->missed, 1, __ATOMIC_RELAXED);
		__atomic_fetch_or(&rama_run.state->partial,
				  1ull << RAMA_MOD_POSIX | 1ull << RAMA_MOD_STDIO,
				  __ATOMIC_RELAXED);
		return false;
	}
	l->thread = (uint64_t)pthread_self();
	l->tid = (uint32_t)rama_sys3(SYS_gettid, 0, 0, 0);
	l->chunk = 0;
	for (unsigned i = 0; i < RAMA_LAYERS; i++)
		if (l->heat[i].width == 0 && rama_run.heat)
			rama_heat_init(&l->heat[i], rama_run.heat_width);
	t->scratch = (char *)rama_run.scratch + (size_t)(l - rama_run.lanes) * RAMA_SCRATCH;
	t->queue = (struct rama_pending *)(t->scratch + 3 * 4096);
	uint32_t now = __atomic_add_fetch(&rama_run.state->threads_now, 1, __ATOMIC_RELAXED);
	if (now > rama_run.state->threads_most)
		rama_run.state->threads_most = now;
	if (have_key)
		pthread_setspecific(key, l);
	t->live = RAMA_LIVE + rama_run.generation;
	errno = saved;
	return true;
}

/* ---- trace --------------------------------------------------------------------------------------------- */

static struct rama_seg_chunk *new_chunk(struct rama_thread *t)
{
	struct rama_seg_state *s = rama_run.state;
	uint64_t i = __atomic_load_n(&s->chunks_used, __ATOMIC_RELAXED);

	do {
		if (i >= s->chunks_limit)
			return NULL;
	} while (!__atomic_compare_exchange_n(&s->chunks_used, &i, i + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	struct rama_seg_chunk *c = (struct rama_seg_chunk *)(rama_run.chunks + i * RAMA_SEG_CHUNK);
	if (!rama_populate(c, RAMA_SEG_CHUNK)) {
		s->chunks_limit = 0;
		return NULL;
	}
	c->thread = t->lane->thread;
	c->lane = (uint32_t)(t->lane - rama_run.lanes);
	t->lane->chunk = (uint32_t)i + 1;
	t->chunk = c;
	return c;
}

void rama_trace(struct rama_thread *t, enum rama_layer layer, uint32_t name,
		const struct rama_op *op)
{
	struct rama_seg_chunk *c = t->chunk;

	if (RAMA_UNLIKELY(!c || c->used >= RAMA_SEG_CHUNK_EVENTS)) {
		c = new_chunk(t);
		if (!c) {
			t->lane->lost++;
			return;
		}
	}
	uint32_t at = c->used;
	c->event[at] = (struct rama_event){
		.start = op->t0,
		.length = op->t1 - op->t0,
		.off = op->off,
		.bytes = op->bytes,
		.name = name,
		.layer = (uint8_t)layer,
		.kind = op->kind,
		.fn = op->fn,
		.call = t->nest ? t->nest->id : (uint32_t)++t->lane->calls,
		.parent = t->nest ? t->nest->outer : t->parent,
	};
	__atomic_store_n(&c->used, at + 1, __ATOMIC_RELEASE);
}
