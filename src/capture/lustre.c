/* SPDX-License-Identifier: BSD-3-Clause */
/* lustre.c: when a file on Lustre is closed, its layout is read from the descriptor that is
 * still open. */
#include "capture/record.h"
#include "capture/runtime.h"

/* A test lets another file system and attribute stand for them. */
#ifndef RAMA_TAB_LUSTRE_TYPE
#define RAMA_TAB_LUSTRE_TYPE "lustre"
#define RAMA_TAB_LUSTRE_LAYOUT "lustre.lov"
#endif

enum { LAYOUT_MAX = 3 * 4096 }; /* the scratch memory: room for more stripes than a record has */
_Static_assert(LAYOUT_MAX <= RAMA_CAP_SCRATCH - RAMA_CAP_QUEUE * sizeof(struct rama_cap_pending),
	       "the queue stays as it is");

static void lost(void)
{
	__atomic_fetch_or(&rama_cap_run.state->partial, 1ull << RAMA_TAB_MOD_LUSTRE,
			  __ATOMIC_RELAXED);
}

static void look(struct rama_cap_thread *t, struct rama_seg_name *n, int fd)
{
	long len = rama_cap_sys6(SYS_fgetxattr, fd, (long)RAMA_TAB_LUSTRE_LAYOUT, (long)t->scratch,
				 LAYOUT_MAX, 0, 0);

	if (len == -ERANGE)
		lost();
	if (len <= 0)
		return;
	size_t words = rama_core_lustre_decode(t->scratch, (size_t)len, n->id, NULL, 0);
	if (words > RAMA_CORE_LUSTRE_ROOM)
		lost();
	if (words == 0 || words > RAMA_CORE_LUSTRE_ROOM)
		return;
	struct rama_core_lustre_file *f = rama_cap_slot_of(t, n, RAMA_SEG_KIND_LUSTRE);
	if (f && f->name == rama_cap_name_number(n)) /* not the catch-all: layouts have no sum */
		rama_cap_do_lustre(t, f, t->scratch, (size_t)len);
}

void rama_cap_layout_slow(uint32_t name, int fd)
{
	struct rama_cap_visit v;

	if (name <= 1 || !rama_cap_enter(&v))
		return;
	struct rama_seg_name *n = rama_cap_name_at(name);
	if (n->text[0] == '/' && rama_cap_file_is_on(n->text, n->len, RAMA_TAB_LUSTRE_TYPE))
		look(v.t, n, fd);
	else if (rama_cap_run.mounts_known && !rama_cap_file_is_on(NULL, 0, RAMA_TAB_LUSTRE_TYPE))
		rama_cap_run.no_lustre = 1; /* nobody need come here again */
	rama_cap_leave(&v);
}
