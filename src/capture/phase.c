/* SPDX-License-Identifier: BSD-3-Clause */
/* phase.c: phases that the program names: include/iorama/phase.h. The two functions are found by
 * their names where this library is loaded, and by nobody where it is not. */
#include "capture/record.h"
#include "capture/runtime.h"
#include "core/phase.h"
#include "iorama/phase.h"

#define NAME_MOST 255

/* bytes that all threads have moved so far, of what heat maps have: they are the only sums there
 * are over all files, and each thread's own */
static void moved(int64_t to[2])
{
	uint32_t lanes = __atomic_load_n(&rama_cap_run.state->lanes_used, __ATOMIC_ACQUIRE);

	to[0] = to[1] = 0;
	for (uint32_t i = 0; i < lanes && i < rama_cap_run.n_lanes; i++) {
		const struct rama_seg_lane *l = rama_cap_memory_lane(i, false);

		for (unsigned k = 0; l && k < 2; k++)
			for (unsigned b = 0; b < RAMA_CORE_HEAT_BINS; b++)
				to[k] += l->heat[RAMA_SEG_LAYER_POSIX].bytes[k][b] +
					 l->heat[RAMA_SEG_LAYER_STDIO].bytes[k][b];
	}
}

/* a call of these, as an operation on a record of that name */
static void mark(const char *name, enum rama_tab_opkind kind)
{
	size_t len = name ? strnlen(name, NAME_MOST) : 0;
	struct rama_cap_visit v;

	if (len == 0 || !rama_cap_enter(&v))
		return;
	uint64_t now = rama_cap_ticks() - rama_cap_run.tick0;
	int64_t bytes[2];

	moved(bytes);
	struct rama_core_op op = {
		.kind = kind, .ok = true, .bytes = bytes[0], .off = bytes[1], .t0 = now, .t1 = now
	};
	/* an end makes nothing that was not begun */
	struct rama_seg_name *n = rama_cap_name(v.t, name, len, kind == RAMA_TAB_OP_OPEN);
	void *slot = n && (kind == RAMA_TAB_OP_OPEN || n->slot[RAMA_SEG_KIND_PHASE])
			     ? rama_cap_slot_of(v.t, n, RAMA_SEG_KIND_PHASE)
			     : NULL;

	if (slot)
		rama_cap_do_kind(v.t, RAMA_SEG_KIND_PHASE, slot, &op, RAMA_SEG_EVENT_LAYERS);
	rama_cap_leave(&v);
}

RAMA_CAP_EXPORT void iorama_phase_begin(const char *name)
{
	mark(name, RAMA_TAB_OP_OPEN);
}

RAMA_CAP_EXPORT void iorama_phase_end(const char *name)
{
	mark(name, RAMA_TAB_OP_CLOSE);
}
