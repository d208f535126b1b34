/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/focus/others.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/siphash.h"

#define SILENT 5000000000ll /* ns without a word, after which an agent is gone */
#define LISTEN 3	    /* rounds, before anything is decided */
#define AGENTS_MOST 4096    /* that are remembered */

uint64_t rama_agent_focus_group_of(const char *job)
{
	static const struct rama_sipkey key = { 0x666f637573u, 1 };

	return rama_siphash(&key, job, strlen(job)) | 1;
}

static struct rama_agent_focus_other *agent_of(struct rama_agent_focus_others *o, const char *name)
{
	for (size_t i = 0; i < o->n; i++)
		if (strcmp(o->agent[i].name, name) == 0)
			return &o->agent[i];
	if (o->n == AGENTS_MOST || !RAMA_GROW(o->agent, o->room, o->n + 1))
		return NULL;
	o->agent[o->n] = (struct rama_agent_focus_other){ 0 };
	snprintf(o->agent[o->n].name, sizeof(o->agent[o->n].name), "%s", name);
	return &o->agent[o->n++];
}

void rama_agent_focus_others_hear(struct rama_agent_focus_others *o,
				  const struct rama_wire_msg_focus *m, const char *me, int64_t now)
{
	struct rama_agent_focus_other *a;

	if (*m->agent == '\0' || strlen(m->agent) >= sizeof(a->name) || strcmp(m->agent, me) == 0)
		return;
	a = agent_of(o, m->agent);
	if (a == NULL || (m->n > 0 && !RAMA_GROW(a->said, a->room, m->n)))
		return;
	a->heard = now;
	snprintf(a->host, sizeof(a->host), "%s", m->host);
	a->n = m->n;
	for (uint32_t i = 0; i < m->n; i++) {
		struct rama_agent_focus_said *s = &a->said[i];

		s->group = rama_agent_focus_group_of(m->group[i].job);
		s->is = m->group[i];
		snprintf(s->host, sizeof(s->host), "%s", s->is.decides ? s->is.host : "");
		s->is.job = NULL;
		s->is.host = NULL;
	}
}

static const struct rama_agent_focus_said *said_of(const struct rama_agent_focus_other *a,
						   uint64_t group)
{
	for (size_t i = 0; i < a->n; i++)
		if (a->said[i].group == group)
			return &a->said[i];
	return NULL;
}

static void forget(struct rama_agent_focus_others *o, int64_t now)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n; i++) {
		if (now - o->agent[i].heard > SILENT)
			free(o->agent[i].said);
		else
			o->agent[n++] = o->agent[i];
	}
	o->n = n;
}

static void add_far(struct rama_agent_focus_others *o, uint64_t group,
		    const struct rama_wire_msg_focus_one *one)
{
	if (one->id != 0 && RAMA_GROW(o->far, o->room_far, o->n_far + 1))
		o->far[o->n_far++] =
			(struct rama_agent_focus_far){ one->id, group, (double)one->ns };
}

static struct rama_agent_focus_told *told_of(const struct rama_agent_focus_others *o,
					     uint64_t group)
{
	for (size_t i = 0; i < o->n_told; i++)
		if (o->told[i].group == group)
			return &o->told[i];
	return NULL;
}

static void add_told(struct rama_agent_focus_others *o, const struct rama_agent_focus_said *s,
		     bool known)
{
	if (told_of(o, s->group) == NULL && RAMA_GROW(o->told, o->room_told, o->n_told + 1))
		o->told[o->n_told++] = (struct rama_agent_focus_told){ .group = s->group,
								       .at = s->is.at.id,
								       .mean = (double)s->is.at.ns,
								       .switches = s->is.switches,
								       .known = known };
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct rama_agent_focus_other *)a)->name,
		      ((const struct rama_agent_focus_other *)b)->name);
}

struct rama_agent_focus_elsewhere rama_agent_focus_others_round(struct rama_agent_focus_others *o,
								const char *me, int64_t now)
{
	forget(o, now);
	o->n_far = o->n_told = 0;
	o->listened += o->listened < LISTEN;
	if (o->n > 0)
		qsort(o->agent, o->n, sizeof(*o->agent), compare);
	for (size_t i = 0; i < o->n; i++)
		for (size_t k = 0; k < o->agent[i].n; k++) {
			const struct rama_agent_focus_said *s = &o->agent[i].said[k];

			add_far(o, s->group, &s->is.slow);
			add_far(o, s->group, &s->is.chosen);
			/* the first of those that decide; who only listens follows any */
			if (s->is.decides &&
			    (o->listened < LISTEN || strcmp(o->agent[i].name, me) < 0))
				add_told(o, s, true);
		}
	/* nobody decides yet: not we either, as long as we listen */
	for (size_t i = 0; i < o->n && o->listened < LISTEN; i++)
		for (size_t k = 0; k < o->agent[i].n; k++)
			add_told(o, &o->agent[i].said[k], false);
	return (struct rama_agent_focus_elsewhere){ o->far, o->n_far, o->told, o->n_told };
}

bool rama_agent_focus_others_leads(const struct rama_agent_focus_others *o, uint64_t group)
{
	return o->listened >= LISTEN && told_of(o, group) == NULL;
}

const struct rama_agent_focus_said *rama_agent_focus_others_decided(
	const struct rama_agent_focus_others *o, uint64_t group, const char **agent)
{
	for (size_t i = 0; i < o->n && told_of(o, group) != NULL; i++) {
		const struct rama_agent_focus_said *s = said_of(&o->agent[i], group);

		if (s != NULL && s->is.decides) {
			*agent = o->agent[i].name;
			return s;
		}
	}
	return NULL;
}

unsigned rama_agent_focus_others_sum(const struct rama_agent_focus_others *o, uint64_t group,
				     uint64_t *processes, uint64_t *left_out)
{
	unsigned n = 0;

	for (size_t i = 0; i < o->n; i++) {
		const struct rama_agent_focus_said *s = said_of(&o->agent[i], group);

		if (s == NULL)
			continue;
		n++;
		*processes += s->is.processes;
		*left_out += s->is.left_out;
	}
	return n;
}

const struct rama_wire_msg_focus_one *rama_agent_focus_others_find(
	const struct rama_agent_focus_others *o, uint64_t group, uint64_t id, const char **host)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct rama_agent_focus_said *s = said_of(&o->agent[i], group);

		if (s == NULL || (s->is.slow.id != id && s->is.chosen.id != id))
			continue;
		*host = o->agent[i].host;
		return s->is.chosen.id == id ? &s->is.chosen : &s->is.slow;
	}
	return NULL;
}

void rama_agent_focus_others_fini(struct rama_agent_focus_others *o)
{
	for (size_t i = 0; i < o->n; i++)
		free(o->agent[i].said);
	free(o->agent);
	free(o->far);
	free(o->told);
	*o = (struct rama_agent_focus_others){ 0 };
}
