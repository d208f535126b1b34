/* SPDX-License-Identifier: BSD-3-Clause */
/* slot.h: a slot is locked, changed and let go, and what was done is told: for record.c and
 * quick.c, in each of which it is part of the caller. */
#ifndef RAMA_CAPTURE_SLOT_H
#define RAMA_CAPTURE_SLOT_H

#include "capture/events.h"
#include "capture/runtime.h"

#pragma GCC visibility push(hidden)

/* somebody else has it: waits, for a while */
bool rama_cap_slot_lock_slow(struct rama_cap_thread *t, uint32_t *seq, uint8_t *stuck);
/* false: it is not to be had, and the call was counted as missed */
static inline bool rama_cap_slot_lock(struct rama_cap_thread *t, uint32_t *seq, uint8_t *stuck)
{
	uint32_t is = __atomic_load_n(seq, __ATOMIC_RELAXED);

	t->held_at = is | 1; /* if it is ours: rama_cap_lock() says why it is noted first */
	atomic_signal_fence(memory_order_seq_cst);
	t->held = seq;
	atomic_signal_fence(memory_order_seq_cst);
	if (RAMA_CAP_LIKELY((is & 1) == 0 &&
			    __atomic_compare_exchange_n(seq, &is, is + 1, false, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED)))
		return true;
	t->held = NULL;
	if (rama_cap_slot_lock_slow(t, seq, stuck))
		return true;
	rama_cap_missed(t);
	return false;
}

static inline void rama_cap_slot_unlock(struct rama_cap_thread *t, uint32_t *seq)
{
	/* a jump may have let it go for us, and another thread may have it now */
	if (RAMA_CAP_LIKELY(t->held == seq && *seq == t->held_at))
		__atomic_store_n(seq, t->held_at + 1, __ATOMIC_RELEASE);
	t->held = NULL;
}

/* heat and events of a read or write that succeeded */
static inline void rama_cap_tell(struct rama_cap_thread *t, enum rama_seg_layer layer,
				 uint32_t name, const struct rama_core_op *op, bool is_read)
{
	rama_core_heat_add(&t->lane->heat[layer], is_read, op->bytes, op->t0, op->t1);
	if (rama_cap_eventful(layer))
		rama_cap_access(t, layer, name, op);
}

#pragma GCC visibility pop
#endif
