/* SPDX-License-Identifier: BSD-3-Clause */
/* tell.c: who makes events where not all do, told to the other agents once a second, and to
 * whoever asks for the status. */
#include <stdlib.h>
#include <string.h>

#include "agent/loop.h"
#include "base/json.h"

#define GROUPS_MOST 1000 /* of which others are told */

/* a group, with one of its processes here */
struct group {
	const struct rama_agent_focus_group *is;
	const struct rama_agent_drain_seg *seg; /* any of them */
	const char *word;
};

static struct group *groups_of(struct rama_agent *a)
{
	struct group *g = calloc(a->focus.n_groups + 1, sizeof(*g));
	size_t found = 0;

	for (size_t i = 0; g != NULL && i < a->n_segs && found < a->focus.n_groups; i++) {
		const char *word = rama_agent_focus_word(a->seg[i]);
		const struct rama_agent_focus_group *is =
			rama_agent_focus_group(&a->focus, rama_agent_focus_group_of(word));
		size_t at = is != NULL ? (size_t)(is - a->focus.group) : 0;

		if (is == NULL || g[at].is != NULL)
			continue;
		g[at] = (struct group){ is, a->seg[i], word };
		found++;
	}
	return g;
}

static const struct rama_agent_drain_seg *seg_of(const struct rama_agent *a, uint64_t id)
{
	for (size_t i = 0; i < a->n_segs && id != 0; i++)
		if (rama_agent_focus_id(a->seg[i]) == id)
			return a->seg[i];
	return NULL;
}

static struct rama_wire_msg_focus_one one_of(const struct rama_agent_drain_seg *s, double mean)
{
	if (s == NULL)
		return (struct rama_wire_msg_focus_one){ .rank = -1 };
	return (struct rama_wire_msg_focus_one){ .id = rama_agent_focus_id(s),
						 .ns = mean > 0 ? (uint64_t)mean : 0,
						 .pid = s->map.seg.id.pid > 0 ? s->map.seg.id.pid
									      : 0,
						 .rank = s->rank };
}

/* who is chosen, where it is; of another agent's as that said it */
static struct rama_wire_msg_focus_one chosen_of(const struct rama_agent *a,
						const struct rama_agent_focus_group *g,
						const char **host)
{
	const struct rama_agent_drain_seg *s = seg_of(a, g->at);
	const struct rama_wire_msg_focus_one *far;
	const struct rama_agent_focus_said *said;
	struct rama_wire_msg_focus_one one = { .rank = -1 };
	const char *agent;

	*host = "";
	if (s != NULL) {
		*host = s->map.seg.id.host;
		return one_of(s, g->mean);
	}
	said = rama_agent_focus_others_decided(&a->others, g->group, &agent);
	if (said != NULL && said->is.at.id == g->at && g->at != 0) {
		*host = said->host;
		return said->is.at;
	}
	far = rama_agent_focus_others_find(&a->others, g->group, g->at, host);
	if (far == NULL || g->at == 0)
		return one;
	one = *far;
	one.ns = (uint64_t)g->mean;
	return one;
}

static struct rama_wire_msg_focus_group said_of(const struct rama_agent *a, const struct group *g)
{
	const struct rama_agent_focus_past *slow = rama_agent_focus_slowest(&a->focus,
									    g->is->group),
					   *own = rama_agent_focus_past(&a->focus, g->is->at);
	struct rama_wire_msg_focus_group to = { .job = g->word,
						.processes = g->is->n,
						.left_out = g->is->left_out,
						.all = g->is->n,
						.all_left = g->is->left_out,
						.switches = g->is->switches };

	to.slow = one_of(slow != NULL ? seg_of(a, slow->id) : NULL, slow != NULL ? slow->mean : 0);
	to.chosen = one_of(own != NULL ? seg_of(a, own->id) : NULL, own != NULL ? own->mean : 0);
	to.decides = rama_agent_focus_others_leads(&a->others, g->is->group);
	to.at = chosen_of(a, g->is, &to.host);
	rama_agent_focus_others_sum(&a->others, g->is->group, &to.all, &to.all_left);
	return to;
}

void rama_agent_focus_say(struct rama_agent *a)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_FOCUS };
	struct rama_wire_bytes bytes = { 0 };
	struct group *g = groups_of(a);
	struct rama_wire_msg_focus_group *said = calloc(GROUPS_MOST, sizeof(*said));
	struct rama_err e = { 0 };
	uint32_t n = 0;

	for (size_t i = 0; g != NULL && said != NULL && i < a->focus.n_groups && n < GROUPS_MOST;
	     i++)
		if (g[i].is != NULL)
			said[n++] = said_of(a, &g[i]);
	m.focus = (struct rama_wire_msg_focus){
		.agent = rama_agent_post_name(a->post), .host = a->drain.host, .n = n, .group = said
	};
	if (g != NULL && said != NULL && rama_wire_message_encode(&m, &bytes, &e) == 0)
		rama_bus_talk_say(a->talk, bytes.b, bytes.n);
	rama_wire_bytes_fini(&bytes);
	free(said);
	free(g);
}

/* ---- the status ------------------------------------------------------------------------------ */

static void put_one(const struct rama_agent *a, const struct group *g, struct rama_json *j)
{
	uint64_t processes = g->is->n, left_out = g->is->left_out;
	unsigned agents =
		1 + rama_agent_focus_others_sum(&a->others, g->is->group, &processes, &left_out);
	struct rama_wire_msg_focus_one at;
	const char *host, *decides = NULL;

	at = chosen_of(a, g->is, &host);
	rama_json_open(j, '{');
	rama_json_key_string(j, "job", g->word);
	rama_json_key_string(j, "host", host);
	rama_json_key_i64(j, "pid", at.pid);
	rama_json_key_i64(j, "rank", at.rank);
	rama_json_key_i64(j, "ns_per_call", (int64_t)at.ns);
	rama_json_key_i64(j, "others", processes > 0 ? (int64_t)processes - 1 : 0);
	rama_json_key_i64(j, "switches", (int64_t)g->is->switches);
	rama_json_key_i64(j, "left_out", (int64_t)left_out);
	rama_json_key_i64(j, "agents", agents);
	rama_json_key(j, "here");
	rama_json_bool(j, seg_of(a, g->is->at) != NULL);
	if (agents > 1 &&
	    rama_agent_focus_others_decided(&a->others, g->is->group, &decides) == NULL)
		decides = rama_agent_post_name(a->post);
	if (decides != NULL)
		rama_json_key_string(j, "decides", decides);
	rama_json_close(j, '}');
}

void rama_agent_focus_tell(struct rama_agent *a, struct rama_json *j)
{
	struct group *g = a->o.focus ? groups_of(a) : NULL;

	if (!a->o.focus)
		return;
	rama_json_key(j, "focus");
	rama_json_open(j, '[');
	for (size_t i = 0; g != NULL && i < a->focus.n_groups; i++)
		if (g[i].is != NULL && g[i].is->at != 0)
			put_one(a, &g[i], j);
	rama_json_close(j, ']');
	free(g);
}
