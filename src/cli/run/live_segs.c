/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/live_segs.h"

#include <stdlib.h>
#include <unistd.h>

#include "gather/pack.h"
#include "segment/ring.h"

static void add(struct rama_cli_run_rings *r, struct rama_seg_mapped *m)
{
	for (uint32_t i = 0; i < rama_seg_lanes(&m->seg); i++) {
		struct rama_seg_ring_state st;

		if (rama_seg_ring_state(m, i, &st) != 0)
			continue;
		r->made += st.made;
		r->dropped += st.dropped;
		r->left += st.made - st.taken;
	}
}

void rama_cli_run_rings_read(struct rama_cli_run_rings *r, const char *dir)
{
	struct rama_seg_mapped *m = malloc(sizeof(*m));
	struct rama_gather_list segs = { 0 };
	struct rama_err e = { 0 };

	*r = (struct rama_cli_run_rings){ 0 };
	rama_seg_mapped_guard();
	if (m != NULL && rama_gather_find(&segs, dir, &e) == 0)
		for (size_t i = 0; i < segs.n; i++)
			if (!rama_gather_is_packed(segs.path[i]) && /* counted when it was packed */
			    rama_seg_mapped_open(m, segs.path[i], (uint32_t)geteuid(), false, &e) ==
				    0) {
				add(r, m);
				rama_seg_mapped_close(m);
			}
	rama_gather_list_fini(&segs);
	free(m);
}
