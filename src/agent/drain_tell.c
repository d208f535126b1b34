/* SPDX-License-Identifier: BSD-3-Clause */
/* drain_tell.c: what is told of a process beside its events: that it is there, how it goes on,
 * what its counters gained. */
#include <string.h>

#include "agent/drain.h"
#include "look/known.h"

#define TOLD_EVERY 5000000000ll /* ns: counts of a process are told no more often */
#define TOLD_LEAST \
	20000000000ll /* ns: and that it is there no less often: else it counts as lost */
#define KEPT_VERSION \
	2 /* words 2 and 3 of control->reserved: grows with each message, whoever sends it */

/* ---- the process ----------------------------------------------------------------------------- */

static uint64_t next_version(struct rama_agent_drain_seg *s)
{
	uint32_t *kept = &s->map.control->reserved[KEPT_VERSION];
	uint64_t version = ((uint64_t)kept[1] << 32 | kept[0]) + 1;

	kept[0] = (uint32_t)version;
	kept[1] = (uint32_t)(version >> 32);
	return version;
}

static uint32_t state_of(const struct rama_agent_drain_seg *s, bool end)
{
	uint32_t phase = __atomic_load_n(&s->state->phase, __ATOMIC_ACQUIRE);

	if (!end)
		return RAMA_WIRE_STATE_RUNNING;
	if (phase == RAMA_SEG_DONE || phase == RAMA_SEG_OFF)
		return RAMA_WIRE_STATE_ENDED;
	return phase == RAMA_SEG_REPLACED ? RAMA_WIRE_STATE_REPLACED : RAMA_WIRE_STATE_KILLED;
}

#define SET_LEAST 500000000ll /* ns by which a clock must have been set to matter here */

/* Is its clock the one of this machine, which nobody sets? */
static bool is_here(const struct rama_agent_drain *d, const struct rama_agent_drain_seg *s)
{
	return s->clock != &d->clock[0] && s->own.mono0 > 0 && s->own.mono0 <= (uint64_t)d->mono &&
	       s->own.real0 < 1ull << 62;
}

/* A job has one real time: that which held when the first of its processes began. If somebody sets
 * the clock while it runs, a job of ten seconds has not run for an hour. `mono`: the same moment by
 * the clock that nobody sets. */
static int64_t in_time_of_job(const struct rama_agent_drain_seg *s, int64_t real, int64_t mono)
{
	int64_t there = mono + s->job->ahead, by = real - there;

	return s->job->ahead == 0 || (by < SET_LEAST && by > -SET_LEAST) ? real : there;
}

static int64_t start_of(const struct rama_agent_drain *d, const struct rama_agent_drain_seg *s)
{
	int64_t real = (int64_t)s->own.real0, mono = (int64_t)s->own.mono0;

	if (!is_here(d, s))
		return real;
	if (s->job->ahead == 0)
		s->job->ahead = real - mono;
	return in_time_of_job(s, real, mono);
}

/* when it ended: as it said itself, or when that was seen */
static int64_t end_of(struct rama_agent_drain *d, struct rama_agent_drain_seg *s)
{
	uint64_t tick = __atomic_load_n(&s->id->clock.tick1, __ATOMIC_RELAXED);
	int64_t end = d->real, mono = d->mono;

	if (tick > s->own.tick0) {
		end = rama_seg_clock_real(s->clock, &s->own, tick);
		mono = rama_seg_clock_ns(s->clock, &s->own, tick - s->own.tick0);
	} else {
		mono -= (int64_t)s->own.mono0;
	}
	if (end <= 0)
		return d->real;
	if (!is_here(d, s) || mono < 0 || mono > d->mono - (int64_t)s->own.mono0 + SET_LEAST)
		return end;
	return in_time_of_job(s, end, mono + (int64_t)s->own.mono0);
}

static uint64_t missed_of(struct rama_agent_drain_seg *s)
{
	uint64_t n = __atomic_load_n(&s->state->missed, __ATOMIC_RELAXED);
	const struct rama_seg_area_get *a = &s->map.seg.head.area[RAMA_SEG_AREA_LANES];

	for (uint32_t i = 0; i < s->n_lanes; i++) {
		const struct rama_seg_lane *in =
			(const void *)(s->map.base + a->off + (uint64_t)i * a->item);

		n += __atomic_load_n(&in->missed, __ATOMIC_RELAXED);
	}
	return n;
}

int rama_agent_drain_tell(struct rama_agent_drain *d, struct rama_agent_drain_seg *s, bool end,
			  struct rama_err *e)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_PROCESS };
	const struct rama_seg_identity *id = &s->map.seg.id;
	bool counts = s->told.made != s->made || s->told.dropped != s->dropped;
	int rc;

	if (rama_agent_drain_rank(s))
		s->told.any = false;
	if (s->told.any && !end && !(counts && d->mono - s->told.at >= TOLD_EVERY) &&
	    d->mono - s->told.at < TOLD_LEAST)
		return 0;
	m.process = (struct rama_wire_msg_process){ .segment = s->key,
						    .version = next_version(s),
						    .job = s->job->key,
						    .user = s->job->user,
						    .host = id->host,
						    .exe = id->exe,
						    .command = id->command,
						    .tag = id->tag,
						    .uid = s->job->uid,
						    .jobid = __atomic_load_n(&s->id->jobid,
									     __ATOMIC_RELAXED),
						    .pid = id->pid,
						    .rank = s->rank,
						    .nprocs = s->nprocs,
						    .start = start_of(d, s),
						    .end = end ? end_of(d, s) : 0,
						    .seen_at = d->real,
						    .state = state_of(s, end),
						    .made = s->made,
						    .dropped = s->dropped,
						    .missed = missed_of(s),
						    .lanes = s->n_lanes };
	rc = rama_agent_post_send(s->job->post, &m, s->job->key, 0, e);
	if (rc == 0) {
		s->told.any = true;
		s->told.made = s->made;
		s->told.dropped = s->dropped;
		s->told.at = d->mono;
	}
	return rc;
}

/* ---- its counters ---------------------------------------------------------------------------- */

static uint32_t slots_of(const struct rama_agent_drain_seg *s, unsigned kind)
{
	return rama_seg_slots(&s->map.seg, (enum rama_seg_kind)kind);
}

/* one of those */
static const unsigned char *slot_at(const struct rama_agent_drain_seg *s, unsigned kind, uint32_t i)
{
	return s->map.base + rama_seg_slot_place(&s->map.seg, (enum rama_seg_kind)kind, i);
}

/* Numbers that change with every slot that changes: while they stay there is nothing to add up. */
static bool has_changed(struct rama_agent_drain_seg *s)
{
	bool changed = !s->counted.any;
	struct rama_err e;

	if (rama_seg_count(&s->map.seg, &e) != 0)
		return false;
	for (unsigned kind = 0; kind < RAMA_SEG_KINDS; kind++) {
		uint32_t n = slots_of(s, kind);
		uint64_t sum = n;
		bool counts = rama_look_has_figures(kind);

		for (uint32_t i = 0; i < n && counts; i++)
			sum += __atomic_load_n((const uint32_t *)(const void *)slot_at(s, kind, i),
					       __ATOMIC_RELAXED);
		changed = changed || sum != s->counted.seqs[kind];
		s->counted.seqs[kind] = sum;
	}
	return changed;
}

static double tick_of(const struct rama_agent_drain_seg *s)
{
	return (double)rama_seg_clock_ns(s->clock, &s->own, 1000000000) / 1e18;
}

static void add_up(const struct rama_agent_drain_seg *s, struct rama_look_io io[RAMA_LOOK_LAYERS])
{
	double tick = tick_of(s), longest;

	memset(io, 0, RAMA_LOOK_LAYERS * sizeof(io[0]));
	for (unsigned kind = 0; kind < RAMA_SEG_KINDS; kind++) {
		if (!rama_look_has_figures(kind))
			continue;
		for (uint32_t i = 0, n = slots_of(s, kind); i < n; i++) {
			struct rama_look_io one;

			rama_look_io_read(kind, slot_at(s, kind, i) + rama_core_kinds[kind]->words,
					  tick, &one, &longest);
			rama_look_io_add(&io[kind], &one);
		}
	}
}

static int64_t as_ns(double seconds)
{
	double ns = seconds * 1e9;

	return ns > 0 && ns < 9e18 ? (int64_t)ns : 0;
}

static bool total_of(struct rama_wire_msg_gain *g, unsigned layer, const struct rama_look_io *io)
{
	*g = (struct rama_wire_msg_gain){ .reads = io->reads,
					  .writes = io->writes,
					  .metas = io->metas,
					  .bytes_read = io->bytes_read,
					  .bytes_written = io->bytes_written,
					  .read_ns = as_ns(io->read_time),
					  .write_ns = as_ns(io->write_time),
					  .meta_ns = as_ns(io->meta_time) };
	memcpy(g->layer, rama_look_layer_name[layer], strlen(rama_look_layer_name[layer]) + 1);
	return g->reads > 0 || g->writes > 0 || g->metas > 0;
}

/* The layers next to the system, which no other is counted in. */
static void sum_up(struct rama_agent_drain_seg *s, const struct rama_look_io io[RAMA_LOOK_LAYERS])
{
	static const unsigned layers[] = { RAMA_SEG_KIND_POSIX, RAMA_SEG_KIND_STDIO };
	int64_t calls = 0, ns = 0;

	for (unsigned i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
		const struct rama_look_io *l = &io[layers[i]];

		calls += l->reads + l->writes + l->metas;
		ns += as_ns(l->read_time) + as_ns(l->write_time) + as_ns(l->meta_time);
	}
	s->io_calls = calls > 0 ? (uint64_t)calls : 0;
	s->io_ns = ns > 0 ? (uint64_t)ns : 0;
}

/* What they stand at, not what they gained since we looked last: an agent before us may have
 * told that, or died before. */
int rama_agent_drain_count(struct rama_agent_drain *d, struct rama_agent_drain_seg *s,
			   struct rama_err *e)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_COUNTERS };
	struct rama_wire_msg_gain total[RAMA_LOOK_LAYERS];
	struct rama_look_io now[RAMA_LOOK_LAYERS];
	uint32_t n = 0;
	int rc = 0;

	if (!has_changed(s))
		return 0;
	add_up(s, now);
	sum_up(s, now);
	for (unsigned i = 0; i < RAMA_LOOK_LAYERS; i++)
		n += total_of(&total[n], i, &now[i]);
	if (n > 0) {
		m.counters = (struct rama_wire_msg_counters){ .segment = s->key,
							      .version = next_version(s),
							      .job = s->job->key,
							      .rank = s->rank,
							      .t = d->real,
							      .since = (int64_t)s->own.real0,
							      .n = n,
							      .total = total };
		rc = rama_agent_post_send(s->job->post, &m, s->job->key, 0, e);
	}
	s->counted.any = rc == 0; /* else it comes again, with what is gained until then */
	return rc;
}
