/* SPDX-License-Identifier: BSD-3-Clause */
/* focus.c: a mean is of so many calls that it means something; whoever is slower than the one that
 * is traced, clearly and for some rounds, takes its place. So chance does not move it, and a change
 * does. */
#include "agent/focus/focus.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define STILL_MOST 10 /* rounds without a call, after which a mean is of the past */

void rama_agent_focus_init(struct rama_agent_focus *f, const struct rama_agent_focus_limits *limits)
{
	*f = (struct rama_agent_focus){ .limits = *limits };
}

void rama_agent_focus_fini(struct rama_agent_focus *f)
{
	rama_map_fini(&f->by_id);
	free(f->past);
	free(f->group);
	*f = (struct rama_agent_focus){ 0 };
}

static struct rama_agent_focus_group *group_of(struct rama_agent_focus *f, uint64_t group)
{
	for (size_t i = 0; i < f->n_groups; i++)
		if (f->group[i].group == group)
			return &f->group[i];
	if (!RAMA_GROW(f->group, f->room_groups, f->n_groups + 1))
		return NULL;
	f->group[f->n_groups] = (struct rama_agent_focus_group){ .group = group };
	return &f->group[f->n_groups++];
}

const struct rama_agent_focus_group *rama_agent_focus_group(const struct rama_agent_focus *f,
							    uint64_t group)
{
	for (size_t i = 0; i < f->n_groups; i++)
		if (f->group[i].group == group)
			return &f->group[i];
	return NULL;
}

static struct rama_agent_focus_past *past_of(struct rama_agent_focus *f,
					     const struct rama_agent_focus_one *one)
{
	uint64_t *at = rama_map_put(&f->by_id, one->id, NULL);

	if (at == NULL)
		return NULL;
	if (*at == 0) {
		if (!RAMA_GROW(f->past, f->room_past, f->n_past + 1))
			return NULL;
		f->past[f->n_past++] = (struct rama_agent_focus_past){ .id = one->id,
								       .group = one->group,
								       .calls = one->calls,
								       .ns = one->ns,
								       .seen = one->calls };
		*at = f->n_past;
	}
	return &f->past[*at - 1];
}

/* Another job may have got a process meanwhile, and an agent before us may have seen more. */
static void take(struct rama_agent_focus *f, struct rama_agent_focus_past *p,
		 const struct rama_agent_focus_one *one, struct rama_agent_focus_group *g)
{
	uint64_t gained = one->calls > p->seen ? one->calls - p->seen : 0;

	p->group = one->group;
	p->round = f->round;
	p->still = gained > 0 ? 0 : p->still + 1;
	p->seen = one->calls;
	if (g->at != one->id) {
		p->left_out += gained;
		g->left_out += gained;
	}
	if (one->calls >= p->calls + f->limits.calls && one->ns >= p->ns) {
		p->mean = (double)(one->ns - p->ns) / (double)(one->calls - p->calls);
		p->calls = one->calls;
		p->ns = one->ns;
	} else if (p->still > STILL_MOST || one->calls < p->calls) {
		p->mean = 0;
		p->calls = one->calls;
		p->ns = one->ns;
	}
}

/* those that are gone are forgotten */
static void forget(struct rama_agent_focus *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_past; i++) {
		struct rama_agent_focus_past *p = &f->past[i];
		uint64_t *at = rama_map_get(&f->by_id, p->id);

		if (p->round != f->round) {
			if (at != NULL)
				*at = 0;
			continue;
		}
		f->past[n++] = *p;
		if (at != NULL)
			*at = n;
	}
	f->n_past = n;
	n = 0;
	for (size_t i = 0; i < f->n_groups; i++)
		if (f->group[i].round == f->round)
			f->group[n++] = f->group[i];
	f->n_groups = n;
}

const struct rama_agent_focus_past *rama_agent_focus_past(const struct rama_agent_focus *f,
							  uint64_t id)
{
	const uint64_t *at = rama_map_get(&f->by_id, id);

	return at != NULL && *at != 0 ? &f->past[*at - 1] : NULL;
}

const struct rama_agent_focus_past *rama_agent_focus_slowest(const struct rama_agent_focus *f,
							     uint64_t group)
{
	const struct rama_agent_focus_past *best = NULL;

	for (size_t i = 0; i < f->n_past; i++)
		if (f->past[i].group == group && f->past[i].mean > 0 &&
		    (best == NULL || f->past[i].mean > best->mean))
			best = &f->past[i];
	return best;
}

/* who might be it */
struct rival {
	uint64_t id;
	double mean;
	bool there; /* the one that is traced now is still there */
};

static void weigh(struct rival *r, struct rama_agent_focus_group *g, uint64_t id, double mean)
{
	if (id == g->at) {
		r->there = true;
		g->mean = mean > g->mean ? mean : g->mean;
	}
	if (mean > 0 && (mean > r->mean || (mean >= r->mean && id == g->at))) {
		r->id = id;
		r->mean = mean;
	}
}

/* true: another agent decides for this group */
static bool follow(struct rama_agent_focus_group *g,
		   const struct rama_agent_focus_elsewhere *elsewhere)
{
	for (size_t i = 0; i < elsewhere->n_told; i++) {
		const struct rama_agent_focus_told *t = &elsewhere->told[i];

		if (t->group != g->group)
			continue;
		g->rival = 0;
		g->rounds = 0;
		if (t->known) {
			g->at = t->at;
			g->mean = t->mean;
			g->switches = t->switches;
		}
		return true;
	}
	return false;
}

static void decide(struct rama_agent_focus *f, struct rama_agent_focus_group *g,
		   const struct rama_agent_focus_elsewhere *elsewhere)
{
	struct rival r = { 0 };

	g->n = 0;
	for (size_t i = 0; i < f->n_past; i++)
		g->n += f->past[i].group == g->group;
	if (follow(g, elsewhere))
		return;
	g->mean = 0;
	for (size_t i = 0; i < f->n_past; i++)
		if (f->past[i].group == g->group)
			weigh(&r, g, f->past[i].id, f->past[i].mean);
	for (size_t i = 0; i < elsewhere->n_far; i++)
		if (elsewhere->far[i].group == g->group)
			weigh(&r, g, elsewhere->far[i].id, elsewhere->far[i].mean);
	if (!r.there)
		g->at = 0;
	if (r.id == 0 || r.id == g->at || r.mean <= g->mean * f->limits.ratio) {
		g->rival = 0;
		g->rounds = 0;
		return;
	}
	g->rounds = g->rival == r.id ? g->rounds + 1 : 1;
	g->rival = r.id;
	if (g->rounds < f->limits.rounds)
		return;
	g->switches += g->at != 0;
	g->at = r.id;
	g->mean = r.mean;
	g->rival = 0;
	g->rounds = 0;
}

bool rama_agent_focus_round(struct rama_agent_focus *f, struct rama_agent_focus_one *list, size_t n,
			    const struct rama_agent_focus_elsewhere *elsewhere)
{
	static const struct rama_agent_focus_elsewhere nobody;
	bool ok = true;

	f->round++;
	for (size_t i = 0; i < n; i++) {
		struct rama_agent_focus_group *g = group_of(f, list[i].group);
		struct rama_agent_focus_past *p = past_of(f, &list[i]);

		if (g == NULL || p == NULL) {
			ok = false;
			continue;
		}
		g->round = f->round;
		take(f, p, &list[i], g);
	}
	forget(f);
	for (size_t i = 0; i < f->n_groups; i++)
		decide(f, &f->group[i], elsewhere != NULL ? elsewhere : &nobody);
	for (size_t i = 0; i < n; i++) {
		const struct rama_agent_focus_group *g = rama_agent_focus_group(f, list[i].group);

		list[i].traced = g != NULL && g->at == list[i].id;
	}
	return ok;
}
