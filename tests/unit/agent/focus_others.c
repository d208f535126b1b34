/* SPDX-License-Identifier: BSD-3-Clause */
/* focus_others.c: several agents, a bus that may lose what they say, and one choice. */
#include "unit.h"

#include "agent/focus/others.h"

#define AGENTS 3
#define PROCESSES 4 /* of each */
#define JOB "1000/run-1"
#define SECOND 1000000000ll

static const char *const name[AGENTS] = { "client-1", "client-2", "server-1" };

struct world {
	struct rama_agent_focus f[AGENTS];
	struct rama_agent_focus_others o[AGENTS];
	struct rama_agent_focus_one p[AGENTS][PROCESSES];
	bool gone[AGENTS]; /* killed */
	bool alone;	   /* nobody hears anybody */
	int64_t now;
};

static void begin(struct world *w)
{
	*w = (struct world){ .now = SECOND };
	for (size_t a = 0; a < AGENTS; a++) {
		rama_agent_focus_init(&w->f[a], &(struct rama_agent_focus_limits){ 100, 1.25, 3 });
		for (size_t i = 0; i < PROCESSES; i++)
			w->p[a][i] = (struct rama_agent_focus_one){
				.id = 100 * (a + 1) + i, .group = rama_agent_focus_group_of(JOB)
			};
	}
}

static void end(struct world *w)
{
	for (size_t a = 0; a < AGENTS; a++) {
		rama_agent_focus_fini(&w->f[a]);
		rama_agent_focus_others_fini(&w->o[a]);
	}
}

static struct rama_wire_msg_focus_one one(const struct rama_agent_focus_past *p)
{
	return p == NULL ? (struct rama_wire_msg_focus_one){ .rank = -1 }
			 : (struct rama_wire_msg_focus_one){ .id = p->id,
							     .ns = (uint64_t)p->mean,
							     .pid = (int64_t)p->id };
}

/* what agent a says after its round */
static void say(struct world *w, size_t a)
{
	uint64_t id = rama_agent_focus_group_of(JOB);
	const struct rama_agent_focus_group *g = rama_agent_focus_group(&w->f[a], id);
	struct rama_wire_msg_focus_group said = {
		.job = JOB,
		.processes = g->n,
		.left_out = g->left_out,
		.slow = one(rama_agent_focus_slowest(&w->f[a], id)),
		.chosen = one(rama_agent_focus_past(&w->f[a], g->at)),
		.decides = rama_agent_focus_others_leads(&w->o[a], id),
		.at = { .id = g->at, .ns = (uint64_t)g->mean },
		.host = name[a],
		.switches = g->switches
	};
	struct rama_wire_msg_focus m = { name[a], name[a], 1, &said };

	for (size_t b = 0; b < AGENTS && !w->alone; b++)
		rama_agent_focus_others_hear(&w->o[b], &m, name[b], w->now);
}

/* a second in which all make 100 calls of 1000 ns, and one (agent * 10 + number) slower ones */
static void second(struct world *w, int slow)
{
	for (size_t a = 0; a < AGENTS; a++) {
		struct rama_agent_focus_elsewhere e;

		if (w->gone[a])
			continue;
		for (size_t i = 0; i < PROCESSES; i++) {
			w->p[a][i].calls += 100;
			w->p[a][i].ns += 100 * ((int)(a * 10 + i) == slow ? 9000u : 1000u);
		}
		e = rama_agent_focus_others_round(&w->o[a], name[a], w->now);
		assert_true(rama_agent_focus_round(&w->f[a], w->p[a], PROCESSES, &e));
	}
	for (size_t a = 0; a < AGENTS; a++)
		if (!w->gone[a])
			say(w, a);
	w->now += SECOND;
}

/* who makes events, of all agents that live: agent * 10 + number; -1: nobody, -2: several */
static int traced(const struct world *w)
{
	int who = -1;

	for (size_t a = 0; a < AGENTS; a++)
		for (size_t i = 0; i < PROCESSES && !w->gone[a]; i++)
			if (w->p[a][i].traced)
				who = who == -1 ? (int)(a * 10 + i) : -2;
	return who;
}

static unsigned until(struct world *w, int slow, unsigned most)
{
	unsigned n = 0;

	while (traced(w) != slow && n++ < most)
		second(w, slow);
	return n;
}

static void all_agents_choose_one(void **state)
{
	struct world w;
	uint64_t group = rama_agent_focus_group_of(JOB);
	const char *agent = "";

	(void)state;
	begin(&w);
	assert_in_range(until(&w, 13, 30), 4, 12);
	for (unsigned i = 0; i < 20; i++) {
		second(&w, 13);
		assert_int_equal(traced(&w), 13);
	}
	/* the first by name decides, and all know it */
	assert_true(rama_agent_focus_others_leads(&w.o[0], group));
	assert_false(rama_agent_focus_others_leads(&w.o[1], group));
	assert_non_null(rama_agent_focus_others_decided(&w.o[2], group, &agent));
	assert_string_equal(agent, "client-1");
	assert_null(rama_agent_focus_others_decided(&w.o[0], group, &agent));
	end(&w);
}

static void it_follows_over_hosts(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	until(&w, 2, 30);
	assert_int_equal(traced(&w), 2);
	assert_in_range(until(&w, 21, 30), 3, 8);
	assert_in_range(until(&w, 10, 30), 3, 8);
	for (size_t a = 0; a < AGENTS; a++) /* whoever decides has told how often */
		assert_int_equal(
			rama_agent_focus_group(&w.f[a], rama_agent_focus_group_of(JOB))->switches,
			2);
	/* what differs by chance does not move it */
	for (unsigned i = 0; i < 30; i++) {
		second(&w, i % 2 ? 10 : 22);
		assert_int_equal(traced(&w), 10);
	}
	end(&w);
}

static void when_one_is_killed_the_next_goes_on(void **state)
{
	struct world w;
	uint64_t group = rama_agent_focus_group_of(JOB);

	(void)state;
	begin(&w);
	until(&w, 12, 30);
	assert_int_equal(traced(&w), 12);
	w.gone[0] = true; /* the one that decides */
	for (unsigned i = 0; i < 10; i++) {
		second(&w, 12);
		assert_int_equal(traced(&w), 12); /* nothing moves meanwhile */
	}
	assert_true(rama_agent_focus_others_leads(&w.o[1], group));
	assert_in_range(until(&w, 23, 30), 3, 8);
	/* the one whose process is chosen: another of the rest is */
	w.gone[2] = true;
	assert_in_range(until(&w, 11, 30), 3, 14);
	/* one that comes back listens first, and takes what is decided */
	rama_agent_focus_others_fini(&w.o[0]);
	rama_agent_focus_fini(&w.f[0]);
	rama_agent_focus_init(&w.f[0], &(struct rama_agent_focus_limits){ 100, 1.25, 3 });
	w.gone[0] = false;
	for (size_t i = 0; i < PROCESSES; i++)
		w.p[0][i].traced = false;
	for (unsigned i = 0; i < 10; i++) {
		second(&w, 11);
		assert_int_equal(traced(&w), 11);
	}
	assert_true(rama_agent_focus_others_leads(&w.o[0], group));
	assert_false(rama_agent_focus_others_leads(&w.o[1], group));
	end(&w);
}

static void without_a_bus_each_chooses_for_itself(void **state)
{
	struct world w;

	(void)state;
	begin(&w);
	w.alone = true;
	for (unsigned i = 0; i < 10; i++) {
		for (size_t a = 1; a < AGENTS; a++)
			w.p[a][a].ns += 100 * 5000;
		second(&w, 3);
	}
	assert_true(w.p[0][3].traced && w.p[1][1].traced && w.p[2][2].traced);
	w.alone = false;
	assert_in_range(until(&w, 3, 30), 1, 4);
	end(&w);
}

static void sums_and_places_of_all(void **state)
{
	struct world w;
	uint64_t group = rama_agent_focus_group_of(JOB), processes = 0, left = 0;
	const char *host = "";
	const struct rama_wire_msg_focus_one *at;

	(void)state;
	begin(&w);
	until(&w, 13, 30);
	second(&w, 13);
	assert_int_equal(rama_agent_focus_others_sum(&w.o[0], group, &processes, &left), 2);
	assert_int_equal(processes, 2 * PROCESSES);
	assert_true(left > 0);
	at = rama_agent_focus_others_find(&w.o[0], group, 203, &host);
	assert_non_null(at);
	assert_string_equal(host, "client-2");
	assert_int_equal(at->pid, 203);
	assert_null(rama_agent_focus_others_find(&w.o[0], group, 999, &host));
	assert_int_equal(rama_agent_focus_others_sum(&w.o[0], group + 1, &processes, &left), 0);
	end(&w);
}

UNIT_GROUP(focus_others, test(all_agents_choose_one), test(it_follows_over_hosts),
	   test(when_one_is_killed_the_next_goes_on), test(without_a_bus_each_chooses_for_itself),
	   test(sums_and_places_of_all))
