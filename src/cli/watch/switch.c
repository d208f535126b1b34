/* SPDX-License-Identifier: BSD-3-Clause */
/* watch_switch.c: live events of the processes of a job, on or off. Apart: names of segment/ and
 * report/ do not meet. */
#include "cli/watch/watch.h"
#include "gather/gather.h"
#include "segment/ring.h"

int rama_cli_watch_switch(const struct rama_look_job *j, bool on, struct rama_err *e)
{
	struct rama_seg_switch word = { .set_live = true,
					.live = on ? (1u << RAMA_SEG_EVENT_LAYERS) - 1 : 0 };
	struct rama_gather_list segs;
	int rc = rama_gather_find(&segs, j->dir, e), n = 0;

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < segs.n; i++) {
		struct rama_err why = { 0 };

		if (rama_seg_mapped_switch(segs.path[i], (uint32_t)j->uid, &word, NULL, &why) == 0)
			n++;
		else
			rc = rama_err_set(e, why.code, "%.100s: %.300s", segs.path[i], why.text);
	}
	rama_gather_list_fini(&segs);
	return n > 0 ? n : rc;
}
