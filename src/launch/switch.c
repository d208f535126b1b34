/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/switch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/layers.h"

bool rama_launch_switch_named(const char *asked, const struct rama_launch_job *j,
			      const struct rama_launch_seg_info *info)
{
	char number[24];

	if (j->name != NULL && strcmp(asked, j->name) == 0)
		return true;
	snprintf(number, sizeof(number), "%lld", (long long)info->pid);
	if (strcmp(asked, number) == 0)
		return true;
	snprintf(number, sizeof(number), "%lld", (long long)info->jobid);
	return strcmp(asked, number) == 0;
}

/* Programs that another took the place of are past; a process that cannot be told from here may
 * run on another host. */
bool rama_launch_switch_runs(const struct rama_launch_seg_info *info)
{
	return !info->bad && info->alive > 0 && info->phase != RAMA_SEG_REPLACED;
}

static uint32_t owner(void)
{
	return geteuid() == 0 ? UINT32_MAX : (uint32_t)geteuid();
}

int rama_launch_switch_look(struct rama_launch_switch *p, struct rama_err *e)
{
	struct rama_seg_mapped *m = malloc(sizeof(*m));
	int rc;

	if (m == NULL)
		return rama_err_no_memory(e);
	rc = rama_seg_mapped_open(m, p->info->path, owner(), false, e);

	if (rc == 0) {
		p->was = (struct rama_seg_switch){ .live = m->seg.control.live,
						   .trace = m->seg.control.trace };
		p->now = p->was;
		p->reader = m->seg.control.reader;
		for (uint32_t i = 0; i < rama_seg_lanes(&m->seg); i++) {
			struct rama_seg_ring_state st;

			rama_seg_ring_state(m, i, &st);
			p->made += st.made;
			p->dropped += st.dropped;
			p->waiting += st.made - st.taken;
		}
		rama_seg_mapped_close(m);
	}
	free(m);
	return rc;
}

static uint32_t changed(uint32_t was, uint32_t layers, bool on)
{
	return on ? was | layers : was & ~layers;
}

int rama_launch_switch_set(struct rama_launch_switch *p, uint32_t layers, bool on, bool trace,
			   struct rama_err *e)
{
	/* reads and writes, which files as such have none of */
	uint32_t traced = 0;

	for (unsigned i = 0; i < RAMA_TAB_LAYER_ROWS; i++)
		traced |= (uint32_t)(rama_tab_event_layer[i].trace != 0) << i;
	p->now.set_live = true;
	p->now.live = changed(p->was.live, layers, on);
	if (trace) {
		p->now.set_trace = true;
		p->now.trace = changed(p->was.trace, layers & traced, on);
	}
	return rama_seg_mapped_switch(p->info->path, owner(), &p->now, NULL, e);
}

const char *rama_launch_switch_words(char to[RAMA_LAUNCH_SWITCH_WORDS], uint32_t layers)
{
	uint32_t all = (1u << RAMA_TAB_LAYER_ROWS) - 1;
	size_t used = 0;

	if ((layers & all) == 0)
		return "off";
	if ((layers & all) == all)
		return "all";
	to[0] = '\0';
	for (unsigned i = 0; i < RAMA_TAB_LAYER_ROWS; i++)
		if (layers >> i & 1)
			used += (size_t)snprintf(to + used, RAMA_LAUNCH_SWITCH_WORDS - used, "%s%s",
						 used > 0 ? "," : "", rama_tab_event_layer[i].word);
	return to;
}
