/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/drain.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"
#include "base/siphash.h"
#include "look/known.h"
#include "table/fn.h"
#include "table/layers.h"

#define NAMES_MOST 4096 /* in one message */
/* of a user, that are remembered to have been sent; others are sent by each process */
#define NAMES_KNOWN (1u << 20)

/* ---- names of files, which go before the block that needs them ------------------------------- */

struct fresh {
	struct rama_wire_msg_name name[NAMES_MOST];
	uint32_t n;
};

/* the names that are complete by now */
static void see_names_used(struct rama_agent_drain_seg *s)
{
	struct rama_err e;

	if (__atomic_load_n(&s->state->names_used, __ATOMIC_ACQUIRE) > s->names_at)
		rama_seg_count(&s->map.seg, &e); /* what cannot be read stays as it was */
}

/* 1: a name that nobody was told, 0: no more, negative: damaged from here on */
static int next_fresh(struct rama_agent_drain *d, struct rama_agent_drain_seg *s, uint64_t *at,
		      struct rama_wire_msg_name *to)
{
	struct rama_seg_name_get name;
	struct rama_err e;
	int rc;

	while ((rc = rama_seg_name_next(&s->map.seg, at, &name, &e)) == 1) {
		if (name.id == 0 || name.len == 0 || rama_map_get(&s->job->names, name.id) != NULL)
			continue;
		to->record = name.id;
		to->len = name.len;
		to->path = rama_arena_text(&d->arena, name.text, name.len);
		return to->path != NULL ? 1 : RAMA_EMEMORY;
	}
	return rc;
}

static void remember(struct rama_agent_drain_job *job, uint64_t record)
{
	bool fresh = false;

	if ((job->known != NULL ? *job->known : job->names.used) >= NAMES_KNOWN)
		return;
	if (rama_map_put(&job->names, record, &fresh) != NULL && fresh && job->known != NULL)
		++*job->known;
}

static int send_names(struct rama_agent_drain_seg *s, struct fresh *f, struct rama_err *e)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_NAMES };
	int rc;

	if (f->n == 0)
		return 0;
	m.names = (struct rama_wire_msg_names){ .job = s->job->key, .n = f->n, .name = f->name };
	rc = rama_agent_post_send(s->job->post, &m, s->job->key, 0, e);
	for (uint32_t i = 0; rc == 0 && i < f->n; i++)
		remember(s->job, f->name[i].record);
	f->n = 0;
	return rc;
}

static int drain_names(struct rama_agent_drain *d, struct rama_agent_drain_seg *s,
		       struct rama_err *e)
{
	struct fresh *f;
	uint64_t at = s->names_at;
	int rc = 1;

	see_names_used(s);
	if (s->map.seg.state.names_used <= s->names_at)
		return 0;
	f = malloc(sizeof(*f));
	if (f == NULL)
		return rama_err_no_memory(e);
	f->n = 0;
	while (rc == 1) {
		rc = next_fresh(d, s, &at, &f->name[f->n]);
		f->n += rc == 1;
		if (f->n == NAMES_MOST || rc <= 0) {
			int sent = send_names(s, f, e);

			rama_arena_fini(&d->arena);
			if (sent != 0) {
				free(f);
				return sent; /* all of these come again */
			}
			s->names_at = at;
		}
	}
	if (rc < 0) /* what follows cannot be read: it is not tried again */
		s->names_at = s->map.seg.state.names_used;
	free(f);
	return 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static const char *const op_name[RAMA_TAB_OPS] = {
#define OP(kind, counter) [RAMA_TAB_OP_##kind] = #kind,
#include "table/ops.def"
#undef OP
};

static void lower(char *to, size_t room, const char *from)
{
	size_t i = 0;

	for (; from[i] != '\0' && i + 1 < room; i++)
		to[i] = (char)(from[i] >= 'A' && from[i] <= 'Z' ? from[i] - 'A' + 'a' : from[i]);
	to[i] = '\0';
}

static void describe(struct rama_wire_what *w, uint32_t layer, uint32_t kind, uint32_t fn)
{
	const char *name = fn < RAMA_TAB_FNS && rama_tab_fn_info[fn].name != NULL
				   ? rama_tab_fn_info[fn].name
				   : "unknown";

	*w = (struct rama_wire_what){ 0 };
	snprintf(w->layer, sizeof(w->layer), "%s",
		 layer < RAMA_SEG_EVENT_LAYERS ? rama_tab_event_layer[layer].name : "unknown");
	lower(w->op, sizeof(w->op), kind < RAMA_TAB_OPS ? op_name[kind] : "unknown");
	snprintf(w->fn, sizeof(w->fn), "%s", *name != '\0' ? name : "unknown");
	for (char *c = w->fn; *c != '\0'; c++) /* requests have names of two words */
		*c = *c == ' ' ? '_' : *c;
}

/* The row of the block's table for this call; -1: the table is full. */
static int what_of(struct rama_agent_drain *d, const struct rama_seg_event *ev)
{
	const uint32_t most = sizeof(d->what_of) / sizeof(d->what_of[0]);
	uint32_t layer = ev->layer & ~(uint32_t)RAMA_SEG_EVENT_FAILED;
	uint32_t key = (uint32_t)ev->fn | (uint32_t)ev->kind << 16 | layer << 24;
	uint32_t at = key * 2654435761u >> 22;

	for (; d->what_of[at % most] != 0; at++)
		if (d->what_key[d->what_of[at % most] - 1] == key)
			return d->what_of[at % most] - 1;
	if (d->block->n_whats == RAMA_WIRE_BLOCK_WHATS)
		return -1;
	describe(&d->block->what[d->block->n_whats], layer, ev->kind, ev->fn);
	d->what_key[d->block->n_whats] = key;
	d->what_of[at % most] = (uint16_t)++d->block->n_whats;
	return (int)d->block->n_whats - 1;
}

/* ---- events of a ring become a block --------------------------------------------------------- */

/* The record of a name, as it stands in the segment: whoever makes names by the million fills his
 * own memory with them, not ours. 0: nobody was told of it. */
static uint64_t record_of(const struct rama_agent_drain_seg *s, uint32_t number)
{
	uint64_t at = rama_seg_name_place(&s->map.seg, number);
	const struct rama_seg_name *n;

	if (at >= s->names_at)
		return 0;
	n = (const void *)(s->map.base + s->map.seg.head.area[RAMA_SEG_AREA_RECORDS].off + at);
	return __atomic_load_n(&n->id, __ATOMIC_RELAXED);
}

/* Fills the block with the first of n raw events; returns how many fitted. */
static uint32_t convert(struct rama_agent_drain *d, struct rama_agent_drain_seg *s,
			struct rama_agent_drain_lane *lane, uint32_t n)
{
	uint64_t record = 0;
	uint32_t name = 0, i;

	for (i = 0; i < n; i++) {
		const struct rama_seg_event *ev = &d->raw[i];
		struct rama_wire_event *to = &d->block->event[i];
		uint64_t end = s->own.tick0 + ev->start + ev->length;
		int what = what_of(d, ev);

		if (what < 0)
			break;
		if (ev->name != name) {
			record = record_of(s, ev->name);
			name = ev->name;
		}
		*to = (struct rama_wire_event){
			.end = rama_seg_clock_real(s->clock, &s->own, end),
			.dur = rama_seg_clock_ns(s->clock, &s->own, ev->length),
			.off = ev->off,
			.bytes = ev->bytes,
			.record = record,
			.call = ev->call,
			.parent = ev->parent,
			.what = (uint16_t)what,
			.failed = (ev->layer & RAMA_SEG_EVENT_FAILED) != 0
		};
		lane->end = to->end;
	}
	return i;
}

static int send_block(struct rama_agent_drain *d, struct rama_agent_drain_seg *s,
		      struct rama_err *e)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_BLOCK };
	int64_t n = rama_wire_block_pack(&d->packer, d->block, d->packed,
					 rama_wire_block_room(d->block), e);

	if (n < 0)
		return (int)n;
	m.block.bytes = d->packed;
	m.block.len = (size_t)n;
	if (!rama_agent_post_has_room(s->job->post, (size_t)n + 256))
		return rama_err_set(e, RAMA_ELIMIT, "the spool is full");
	return rama_agent_post_send(s->job->post, &m, s->job->key, d->block->n, e);
}

/* Takes events of a lane from `taken` on, at most `most` blocks; returns how many events, or
 * negative. */
static int64_t drain_lane(struct rama_agent_drain *d, struct rama_agent_drain_seg *s, uint32_t lane,
			  struct rama_err *e)
{
	struct rama_agent_drain_lane *l = &s->lane[lane];
	struct rama_wire_block *b = d->block;
	uint32_t tid = 0, n = rama_seg_ring_read(&s->map, lane, l->taken, d->raw,
						 RAMA_WIRE_BLOCK_EVENTS, &tid);
	int rc;

	if (n == 0)
		return 0;
	if (rama_agent_drain_rank(s))
		s->told.any = false;
	rc = s->told.any ? 0 : rama_agent_drain_tell(d, s, false, e);
	if (rc == 0)
		rc = drain_names(d, s, e);
	if (rc != 0)
		return rc;
	memset(d->what_of, 0, sizeof(d->what_of));
	b->n_whats = 0;
	memcpy(b->job, s->job->key, sizeof(b->job));
	b->segment = s->key;
	b->rank = s->rank;
	b->lane = lane;
	b->tid = tid;
	b->first = l->taken;
	b->lost = l->dropped;
	b->n = convert(d, s, l, n);
	rc = send_block(d, s, e);
	if (rc != 0)
		return rc;
	l->taken += b->n;
	s->taken += b->n;
	rama_seg_ring_give_back(&s->map, lane, l->taken);
	return b->n;
}

#define TAKE_AT 2048	  /* events of a lane that are worth a block at once */
#define TAKE_TIGHT 256	  /* the same where the process has little memory left for more */
#define RANKS_PER_AGE 100 /* of a job, for each of which what it does waits so much longer, ... */
#define TIMES_MOST 10	  /* ... up to so many times */

/* ---- what all share -------------------------------------------------------------------------- */

static void read_boot(char *to, size_t room)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	to[0] = '\0';
	if (f != NULL && fgets(to, (int)room, f) == NULL)
		to[0] = '\0';
	if (f != NULL)
		fclose(f);
	to[strcspn(to, "\n")] = '\0';
}

int rama_agent_drain_init(struct rama_agent_drain *d, struct rama_err *e)
{
	memset(d, 0, sizeof(*d));
	d->block_age = 1000;
	d->raw = malloc(RAMA_WIRE_BLOCK_EVENTS * sizeof(*d->raw));
	d->block = calloc(1, sizeof(*d->block));
	if (d->block != NULL)
		d->block->n = RAMA_WIRE_BLOCK_EVENTS;
	if (d->block != NULL)
		d->packed = malloc(rama_wire_block_room(d->block));
	if (d->raw == NULL || d->packed == NULL) {
		rama_agent_drain_fini(d);
		return rama_err_no_memory(e);
	}
	read_boot(d->boot, sizeof(d->boot));
	gethostname(d->host, sizeof(d->host) - 1);
	for (unsigned i = 0; i < 3;
	     i++) { /* so that it is known from the start how long a tick is */
		rama_agent_drain_now(d);
		usleep(10000);
	}
	rama_agent_drain_now(d);
	return 0;
}

void rama_agent_drain_fini(struct rama_agent_drain *d)
{
	free(d->raw);
	free(d->block);
	free(d->packed);
	rama_wire_block_packer_fini(&d->packer);
	rama_arena_fini(&d->arena);
	memset(d, 0, sizeof(*d));
}

void rama_agent_drain_now(struct rama_agent_drain *d)
{
	struct rama_seg_clock_pair p = { 0 };

	for (unsigned source = RAMA_SEG_CLOCK_MONOTONIC; source <= RAMA_SEG_CLOCK_TSC; source++) {
		rama_seg_clock_read((enum rama_seg_clock_source)source, &p);
		rama_seg_clock_add(&d->clock[source], &p);
	}
	d->real = (int64_t)p.real;
	d->mono = (int64_t)p.mono;
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct rama_wire_segment_key key_of(const struct rama_seg_identity *id)
{
	static const struct rama_sipkey one = { 0x696f72616d61u, 1 }, two = { 0x696f72616d61u, 2 };
	struct {
		char boot[40];
		int64_t pid;
		uint64_t pid_start, tick0;
	} what = { .pid = id->pid, .pid_start = id->pid_start, .tick0 = id->clock.tick0 };
	struct rama_wire_segment_key key;
	uint64_t h[2];

	memcpy(what.boot, id->boot, sizeof(what.boot));
	h[0] = rama_siphash(&one, &what, sizeof(what));
	h[1] = rama_siphash(&two, &what, sizeof(what));
	memcpy(key.b, h, sizeof(key.b));
	return key;
}

static void choose_clock(const struct rama_agent_drain *d, struct rama_agent_drain_seg *s)
{
	const struct rama_seg_identity *id = &s->map.seg.id;
	bool here = strcmp(id->boot, d->boot) == 0;
	uint32_t source = id->clock.source;

	s->own = id->clock;
	s->clock = &d->clock[here && (source == RAMA_SEG_CLOCK_TSC ||
				      source == RAMA_SEG_CLOCK_MONOTONIC)
				     ? source
				     : 0];
}

int rama_agent_drain_open(struct rama_agent_drain *d, struct rama_agent_drain_seg **to,
			  const char *path, uint32_t uid, struct rama_err *e)
{
	struct rama_agent_drain_seg *s = calloc(1, sizeof(*s));
	int rc;

	*to = NULL;
	if (s == NULL)
		return rama_err_no_memory(e);
	rc = rama_seg_mapped_open(&s->map, path, uid, true, e);
	if (rc != 0) {
		free(s);
		return rc;
	}
	s->path = strdup(path);
	s->pidfd = -1;
	s->id = (const void *)(s->map.base + s->map.seg.head.area[RAMA_SEG_AREA_IDENTITY].off);
	s->state = (const void *)(s->map.base + s->map.seg.head.area[RAMA_SEG_AREA_STATE].off);
	s->key = key_of(&s->map.seg.id);
	s->rank = -1;
	choose_clock(d, s);
	if (s->path == NULL) {
		rama_agent_drain_close(s);
		return rama_err_no_memory(e);
	}
	__atomic_store_n(&s->map.control->reader, (uint32_t)getpid(), __ATOMIC_RELAXED);
	/* from here on it is told of, and its end has to be told, too */
	__atomic_fetch_add(&s->map.control->beat, 1, __ATOMIC_RELAXED);
	*to = s;
	return 0;
}

void rama_agent_drain_close(struct rama_agent_drain_seg *s)
{
	if (s->map.control != NULL)
		__atomic_store_n(&s->map.control->reader, 0, __ATOMIC_RELAXED);
	rama_agent_moment_free(s->moment);
	rama_seg_mapped_close(&s->map);
	free(s->lane);
	free(s->path);
	free(s);
}

/* ---- which job, which rank ------------------------------------------------------------------- */

static bool is_wide(const char *dir)
{
	return strncmp(dir, "run-", 4) == 0 || strncmp(dir, "mpi-", 4) == 0;
}

void rama_agent_drain_job_key(char to[RAMA_WIRE_JOB], uint32_t uid, const char *dir,
			      const char *host)
{
	const char *slash = strrchr(dir, '/'), *name = slash != NULL ? slash + 1 : dir;

	if (is_wide(name))
		snprintf(to, RAMA_WIRE_JOB, "%u/%.100s", (unsigned)uid, name);
	else
		snprintf(to, RAMA_WIRE_JOB, "%u/%.64s@%.40s", (unsigned)uid, name, host);
	for (char *c = strchr(to, '/') + 1; *c != '\0'; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		      (*c >= '0' && *c <= '9') || strchr("._@-", *c) != NULL))
			*c = '_';
}

/* The rank that its MPI gave it, or in the order of start behind those. true: it is another one
 * than before. */
bool rama_agent_drain_rank(struct rama_agent_drain_seg *s)
{
	int64_t mpi = __atomic_load_n(&s->id->rank, __ATOMIC_RELAXED);
	int64_t world = __atomic_load_n(&s->id->nprocs, __ATOMIC_RELAXED), rank, before = s->rank;

	if (mpi >= 0 && mpi < world && world <= 1 << 24) {
		s->nprocs = world;
		s->job->world = world > s->job->world ? world : s->job->world;
		rank = mpi;
	} else {
		s->nprocs = 0;
		rank = s->job->world + s->order;
	}
	s->rank = rank;
	return rank != before;
}

void rama_agent_drain_join(struct rama_agent_drain_seg *s, struct rama_agent_drain_job *job)
{
	uint32_t kept = s->map.control->reserved[RAMA_SEG_KEPT_ORDER];

	if (s->job != NULL)
		s->job->segments--;
	s->job = job;
	job->segments++;
	job->quiet_since = 0;
	s->names_at = 0; /* names belong to jobs */
	s->told.any = false;
	if (kept == 0 || kept > 1u << 24)
		kept = (uint32_t)job->next_order + 1;
	s->order = kept - 1;
	s->map.control->reserved[RAMA_SEG_KEPT_ORDER] = kept;
	if (job->next_order < kept)
		job->next_order = kept;
	rama_agent_drain_rank(s);
}

/* ---- what there is to read ------------------------------------------------------------------- */

static uint32_t lanes_of(const struct rama_agent_drain_seg *s)
{
	const struct rama_seg_area_get *a = &s->map.seg.head.area[RAMA_SEG_AREA_LANES];
	uint64_t n = __atomic_load_n(&s->state->lanes_used, __ATOMIC_ACQUIRE);

	if (a->item == 0 || n > a->len / a->item)
		n = a->item == 0 ? 0 : a->len / a->item;
	return (uint32_t)(n < RAMA_SEG_LANES ? n : RAMA_SEG_LANES);
}

static bool make_lanes(struct rama_agent_drain_seg *s, uint32_t n)
{
	struct rama_agent_drain_lane *more;

	if (n <= s->n_lanes)
		return true;
	more = realloc(s->lane, n * sizeof(*more));
	if (more == NULL)
		return false;
	memset(more + s->n_lanes, 0, (n - s->n_lanes) * sizeof(*more));
	s->lane = more;
	s->n_lanes = n;
	return true;
}

static const struct rama_seg_lane *lane_at(const struct rama_agent_drain_seg *s, uint32_t i)
{
	const struct rama_seg_area_get *a = &s->map.seg.head.area[RAMA_SEG_AREA_LANES];

	return (const void *)(s->map.base + a->off + (uint64_t)i * a->item);
}

/* ns that an event may wait for others. A job of many ranks makes a block for each of them: they
 * may wait longer, so that a bus and a store get as many messages of it as of one of a hundred. */
int64_t rama_agent_drain_patience(const struct rama_agent_drain *d,
				  const struct rama_agent_drain_seg *s)
{
	int64_t times = s->nprocs / RANKS_PER_AGE;

	times = times < 1 ? 1 : times > TIMES_MOST ? TIMES_MOST : times;
	return times * (int64_t)d->block_age * 1000000;
}

/* Ranks begin together; what they send need not come together for ever. */
static int64_t first_wait(const struct rama_agent_drain *d, const struct rama_agent_drain_seg *s)
{
	uint32_t chance;

	memcpy(&chance, s->key.b, sizeof(chance));
	return (int64_t)(chance % 1000) * ((rama_agent_drain_patience(d, s) - 1000000) / 1000);
}

/* What is new in a lane. One that rests costs the look at one number. */
static bool see_lane(struct rama_agent_drain *d, struct rama_agent_drain_seg *s, uint32_t i)
{
	const struct rama_seg_lane *in = lane_at(s, i);
	struct rama_agent_drain_lane *l = &s->lane[i];
	struct rama_seg_ring_state st;
	bool moved;

	if (__atomic_load_n(&in->made, __ATOMIC_RELAXED) == l->made &&
	    __atomic_load_n(&in->dropped, __ATOMIC_RELAXED) == l->dropped)
		return false;
	if (rama_seg_ring_state(&s->map, i, &st) != 0 || st.made < l->made)
		return false;
	moved = st.made != l->made || st.dropped != l->dropped;
	if (l->made == 0 && l->taken == 0) { /* the first look: somebody may have read before us */
		l->taken = st.taken;
		s->taken += st.taken;
	}
	s->made += st.made - l->made;
	s->dropped += st.dropped - l->dropped;
	l->made = st.made;
	l->dropped = st.dropped;
	if (l->since == 0 && l->made > l->taken)
		l->since = d->mono -
			   (l->taken == 0 && s->nprocs > RANKS_PER_AGE ? first_wait(d, s) : 0);
	return moved;
}

/* Has the process little room left for more events? */
static bool is_tight(const struct rama_agent_drain_seg *s)
{
	uint64_t used = __atomic_load_n(&s->state->rings_used, __ATOMIC_RELAXED);
	uint64_t limit = __atomic_load_n(&s->state->rings_limit, __ATOMIC_RELAXED);

	return used > limit / 4 * 3;
}

/* what cannot be read, or finds no room and is to go */
static int lose(struct rama_agent_drain_seg *s, uint32_t lane, uint64_t until, const char *why,
		struct rama_err *e)
{
	struct rama_agent_drain_lane *l = &s->lane[lane];
	struct rama_agent_loss_place at = {
		.segment = s->key, .lane = lane, .from = l->taken, .until = until
	};
	int rc = rama_agent_post_lose(s->job->post, s->job->key, why, &at, e);

	if (rc != 0)
		return rc;
	rama_seg_ring_give_back(&s->map, lane, until);
	rama_agent_post_lose_done(s->job->post);
	s->taken += until - l->taken;
	l->taken = until;
	return 0;
}

static int take_lane(struct rama_agent_drain *d, struct rama_agent_drain_seg *s, uint32_t i,
		     unsigned flags, struct rama_err *e)
{
	struct rama_agent_drain_lane *l = &s->lane[i];
	uint64_t at = is_tight(s) ? TAKE_TIGHT : TAKE_AT;
	bool old = l->since > 0 && d->mono - l->since >= rama_agent_drain_patience(d, s);

	while (l->taken < l->made &&
	       ((flags & RAMA_AGENT_DRAIN_ALL) != 0 || old || l->made - l->taken >= at)) {
		int64_t n;

		s->cut = d->until != 0 && rama_now_ns() >= d->until;
		if (s->cut)
			return 0;
		n = drain_lane(d, s, i, e);
		if (n == 0) { /* nonsense in the segment: there they are, and cannot be read */
			s->job->damaged += l->made - l->taken;
			n = lose(s, i, l->made, "the segment is damaged", e);
		} else if ((n == RAMA_ELIMIT || n == RAMA_EIO) &&
			   (flags & RAMA_AGENT_DRAIN_LOSE) != 0) {
			n = lose(s, i, l->made, "the spool is full", e);
		}
		if (n < 0)
			return (int)n;
	}
	if (l->taken == l->made)
		l->since = 0;
	else if (old)
		l->since = d->mono;
	return 0;
}

int rama_agent_drain_look(struct rama_agent_drain *d, struct rama_agent_drain_seg *s,
			  unsigned flags, struct rama_err *e)
{
	uint32_t n = lanes_of(s);
	int moved = 0, rc = 0;

	if (!make_lanes(s, n))
		return rama_err_no_memory(e);
	s->cut = false;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = s->at_lane < n - k ? s->at_lane + k : s->at_lane + k - n;

		moved |= see_lane(d, s, i);
		if (s->lane[i].made == s->lane[i].taken || rc != 0 || s->cut ||
		    (flags & RAMA_AGENT_DRAIN_SEE) != 0)
			continue;
		rc = take_lane(d, s, i, flags, e);
		if (s->cut)
			s->at_lane = i;
	}
	return rc < 0 ? rc : moved;
}

uint64_t rama_agent_drain_pending(const struct rama_agent_drain_seg *s)
{
	return s->made - s->taken;
}

bool rama_agent_drain_empty(const struct rama_agent_drain_seg *s)
{
	return s->made == s->taken;
}
