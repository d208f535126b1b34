/* SPDX-License-Identifier: BSD-3-Clause */
/* lend.c: live events of a job for a while: what was off is on, and is off again later. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "gather/gather.h"
#include "look/lend.h"
#include "segment/ring.h"

#define ALL ((1u << RAMA_SEG_EVENT_LAYERS) - 1)
#define GRACE_S 3 /* whoever lent them gives them back to the moment; the agent comes later */

static bool has(const struct rama_look_lent *l, const char *path)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->path[i], path) == 0)
			return true;
	return false;
}

static int lend_one(struct rama_look_lent *l, const struct rama_look_job *j, const char *path,
		    int64_t until, struct rama_err *e)
{
	struct rama_seg_switch to = { .set_live = true, .live = ALL }, was, none = { 0 };
	bool mine = has(l, path);
	char *copy;

	if (rama_seg_mapped_switch(path, (uint32_t)j->uid, &none, &was, e) != 0)
		return 0; /* it has just ended, or is none */
	if (was.live != 0 && was.live_until == 0)
		return 0; /* for good, or by an agent that chooses */
	if (!was.chosen)
		to.live_until = (uint32_t)(until / 1000) + GRACE_S;
	if (mine) {
		rama_seg_mapped_switch(path, (uint32_t)j->uid, &to, NULL, e);
		return 0;
	}
	copy = RAMA_GROW(l->path, l->room, l->n + 1) ? strdup(path) : NULL;
	if (copy == NULL)
		return rama_err_no_memory(e);
	if (rama_seg_mapped_switch(path, (uint32_t)j->uid, &to, NULL, e) != 0) {
		free(copy);
		return 0;
	}
	l->path[l->n++] = copy;
	return 0;
}

int rama_look_lend(struct rama_look_lent *l, const struct rama_look_job *j, int64_t until,
		   struct rama_err *e)
{
	struct rama_gather_list segs;
	int rc = rama_gather_find(&segs, j->dir, e);

	if (rc != 0)
		return rc;
	l->uid = (uint32_t)j->uid;
	for (size_t i = 0; rc == 0 && i < segs.n; i++)
		rc = lend_one(l, j, segs.path[i], until, e);
	rama_gather_list_fini(&segs);
	return rc;
}

void rama_look_give_back(struct rama_look_lent *l)
{
	struct rama_seg_switch off = { .set_live = true }, none = { 0 }, was;
	struct rama_err e = { 0 };

	for (size_t i = 0; i < l->n; i++) {
		/* not what was switched on for good meanwhile */
		if (rama_seg_mapped_switch(l->path[i], l->uid, &none, &was, &e) == 0 &&
		    (was.live_until != 0 || was.chosen))
			rama_seg_mapped_switch(l->path[i], l->uid, &off, NULL, &e);
		free(l->path[i]);
	}
	free(l->path);
	*l = (struct rama_look_lent){ 0 };
}
