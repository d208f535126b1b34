/* SPDX-License-Identifier: BSD-3-Clause */
/* seg.c: the segment of one process, read again and again: only slots that changed, in a
 * copy that is whole. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "look/known.h"

#define TRIES 16 /* copies of a slot that is being changed; then it waits for the next look */
#define NAMED_FROM 1e-3 /* s: calls that last longer are asked what they work on */
#define SINCE_MOST 1e9	/* s: more is nonsense */

/* ---- bytes of the segment -------------------------------------------------------------------- */

/* n bytes of an area, or NULL */
static const unsigned char *at(const struct rama_seg_mapped *m, enum rama_seg_area a, uint64_t off,
			       size_t n)
{
	const struct rama_seg_area_get *area = &m->seg.head.area[a];

	if (off > area->len || n > area->len - off || area->off > m->size ||
	    off + n > m->size - area->off)
		return NULL;
	return m->base + area->off + off;
}

static uint32_t seq_of(const unsigned char *slot)
{
	return __atomic_load_n((const uint32_t *)(const void *)slot, __ATOMIC_ACQUIRE);
}

static int more_room(void **p, uint32_t have, uint32_t want, size_t item)
{
	void *bigger = realloc(*p, want * item);

	if (bigger == NULL)
		return RAMA_EMEMORY;
	memset((char *)bigger + have * item, 0, (want - have) * item);
	*p = bigger;
	return 0;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static bool is_standard(unsigned kind, const unsigned char *slot)
{
	return kind == RAMA_SEG_KIND_STDIO &&
	       ((const struct rama_core_stdio_file *)(const void *)slot)->standard != 0;
}

/* Its figures as they are between two changes. dead: nobody changes it any more. */
static bool copy_slot(const struct rama_look_process *p, unsigned kind, const unsigned char *slot,
		      struct rama_look_slot *now)
{
	const struct rama_core_slot *head = (const void *)slot;
	bool dead = p->state != RAMA_LOOK_RUNNING;

	for (unsigned i = 0; i < TRIES; i++) {
		now->seq = seq_of(slot);
		now->name = __atomic_load_n(&head->name, __ATOMIC_RELAXED);
		rama_look_io_read(kind, slot + rama_core_kinds[kind]->words, p->seg->map.seg.tick,
				  &now->io, &now->longest);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (seq_of(slot) == now->seq && (now->seq % 2 == 0 || dead))
			return true;
	}
	return false;
}

static uint64_t id_of(const struct rama_look_seg *g, uint32_t number)
{
	uint64_t place = rama_seg_name_place(&g->map.seg, number);
	const unsigned char *n = place == UINT64_MAX ? NULL
						     : at(&g->map, RAMA_SEG_AREA_RECORDS, place,
							  sizeof(struct rama_seg_name));

	return n != NULL ? __atomic_load_n((const uint64_t *)(const void *)n, __ATOMIC_RELAXED) : 0;
}

static int touch(struct rama_look_seg *g, unsigned kind, uint32_t slot,
		 const struct rama_look_io *gain)
{
	if (!RAMA_GROW(g->touched, g->room_touched, g->n_touched + 1))
		return RAMA_EMEMORY;
	g->touched[g->n_touched++] =
		(struct rama_look_touched){ .kind = (uint8_t)kind, .slot = slot, .gain = *gain };
	return 0;
}

static int read_slot(struct rama_look_process *p, unsigned kind, uint32_t i, bool first)
{
	struct rama_look_seg *g = p->seg;
	struct rama_look_slot *s = &g->slot[kind][i], now = { 0 };
	uint64_t place = rama_seg_slot_place(&g->map.seg, (enum rama_seg_kind)kind, i);
	const unsigned char *slot = place > 0 && place + rama_core_kinds[kind]->size <= g->map.size
					    ? g->map.base + place
					    : NULL;
	struct rama_look_io gain;

	if (slot == NULL || seq_of(slot) == s->seq || is_standard(kind, slot) ||
	    !copy_slot(p, kind, slot, &now))
		return 0;
	g->moved = true;
	rama_look_io_gain(&gain, &now.io, &s->io);
	rama_look_io_add(&p->layer_total[kind], &gain);
	if (rama_look_is_disk(kind))
		rama_look_io_add(&p->total, &gain);
	if (now.longest > p->longest && rama_look_is_file(kind))
		p->longest = now.longest;
	if (s->name == 0 && kind == RAMA_SEG_KIND_POSIX)
		p->files++;
	now.id = s->name == now.name ? s->id : id_of(g, now.name);
	*s = now;
	if (first || rama_look_ops(&gain) == 0)
		return 0;
	rama_look_io_add(&p->layer_gain[kind], &gain);
	if (rama_look_is_disk(kind))
		rama_look_io_add(&p->gain, &gain);
	return rama_look_is_file(kind) ? touch(g, kind, i, &gain) : 0;
}

static int read_kind(struct rama_look_process *p, unsigned kind, bool first)
{
	struct rama_look_seg *g = p->seg;
	uint32_t used = g->map.seg.state.slots_used[kind], n, from;
	int rc = 0;

	if (!rama_look_has_figures(kind) || used == 0)
		return 0;
	if (used > g->n_slots[kind]) {
		rc = more_room((void **)&g->slot[kind], g->n_slots[kind], used,
			       sizeof(*g->slot[kind]));
		if (rc != 0)
			return rc;
		g->n_slots[kind] = used;
	}
	used = g->n_slots[kind];
	n = used < RAMA_LOOK_SLOTS || first || p->state != RAMA_LOOK_RUNNING ? used
									     : RAMA_LOOK_SLOTS;
	from = n < used ? g->next[kind] % used : 0;
	for (uint32_t k = 0; k < n && rc == 0; k++)
		rc = read_slot(p, kind, (from + k) % used, first);
	g->next[kind] = (from + n) % used;
	return rc;
}

/* ---- calls at work --------------------------------------------------------------------------- */

/* Pipes, sockets and devices are waited for, too, but that is no I/O with files. */
static bool is_file(const char *name)
{
	return name[0] == '/' &&
	       (strncmp(name, "/dev/", 5) != 0 || strncmp(name, "/dev/shm/", 9) == 0);
}

/* what a descriptor of a process is: false if it cannot be known */
static bool read_descriptor(const char *proc, int64_t pid, int fd, char *to, size_t room)
{
	char path[512];
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%lld/fd/%d", proc, (long long)pid, fd) >=
	    (int)sizeof(path))
		return false;
	n = readlink(path, to, room - 1);
	to[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static void ask_name(const struct rama_look_process *p, struct rama_look_lane *l, int fd,
		     const char *proc)
{
	char link[4096];
	size_t n, from;

	l->known = true;
	l->name[0] = '\0';
	if (!read_descriptor(proc, p->pid, fd, link, sizeof(link)))
		return;
	l->file = is_file(link);
	n = strlen(link);
	from = n < sizeof(l->name) ? 0 : n - (sizeof(l->name) - 1);
	while (from > 0 && from < n && ((unsigned char)link[from] & 0xc0) == 0x80)
		from++; /* not in the middle of a character */
	memcpy(l->name, link + from, n - from + 1);
}

/* the longest ones first */
static void tell_call(struct rama_look_process *p, const struct rama_look_call *c)
{
	unsigned i = p->n_told;

	while (i > 0 && p->call[i - 1].since < c->since)
		i--;
	if (i == RAMA_LOOK_CALLS)
		return;
	if (p->n_told < RAMA_LOOK_CALLS)
		p->n_told++;
	memmove(&p->call[i + 1], &p->call[i], (p->n_told - 1 - i) * sizeof(*c));
	p->call[i] = *c;
}

static void see_call(struct rama_look_process *p, struct rama_look_lane *l, uint32_t tid,
		     const struct rama_look_now *now, const char *proc)
{
	const struct rama_seg_ticks *clock = &p->seg->map.seg.id.clock;
	uint64_t tick = now->tick[clock->source == RAMA_SEG_CLOCK_TSC ? RAMA_SEG_CLOCK_TSC
								      : RAMA_SEG_CLOCK_MONOTONIC];
	unsigned fn = (unsigned)(l->doing & 0xffff);
	struct rama_look_call c = { .class = rama_look_class(fn),
				    .fd = (int)(uint32_t)(l->doing >> 32) - 1,
				    .tid = tid };

	if (c.class == RAMA_LOOK_CLASS_NONE)
		return;
	c.since = tick > l->since ? (double)(tick - l->since) * p->seg->map.seg.tick : 0;
	if (!(c.since < SINCE_MOST))
		return;
	if (!l->known && c.fd >= 0 && c.since >= NAMED_FROM)
		ask_name(p, l, c.fd, proc);
	if (!l->file)
		return;
	c.fn = rama_tab_fn_info[fn].name;
	c.file = true;
	memcpy(c.name, l->name, sizeof(c.name));
	p->n_calls++;
	p->seg->in_flight[c.class] += c.since;
	tell_call(p, &c);
}

static void read_lane(struct rama_look_process *p, uint32_t i, const struct rama_look_now *now,
		      const char *proc)
{
	struct rama_look_seg *g = p->seg;
	struct rama_look_lane *l = &g->lane[i];
	uint64_t taken = g->map.seg.control.taken[i < RAMA_SEG_LANES ? i : 0], since, doing, made;
	const struct rama_seg_lane *lane =
		(const void *)at(&g->map, RAMA_SEG_AREA_LANES,
				 (uint64_t)i * g->map.seg.head.area[RAMA_SEG_AREA_LANES].item,
				 sizeof(*lane));

	if (lane == NULL)
		return;
	made = __atomic_load_n(&lane->made, __ATOMIC_ACQUIRE);
	p->live.made += made;
	p->live.dropped += __atomic_load_n(&lane->dropped, __ATOMIC_RELAXED);
	p->live.taken += taken < made ? taken : made;
	since = __atomic_load_n(&lane->doing_since, __ATOMIC_ACQUIRE);
	doing = __atomic_load_n(&lane->doing, __ATOMIC_RELAXED);
	if (since != l->since || doing != l->doing) {
		*l = (struct rama_look_lane){ .since = since, .doing = doing, .file = true };
		g->moved = true;
	}
	if (since != 0 && p->here && p->state == RAMA_LOOK_RUNNING)
		see_call(p, l, __atomic_load_n(&lane->tid, __ATOMIC_RELAXED), now, proc);
}

static int read_lanes(struct rama_look_process *p, const struct rama_look_now *now,
		      const char *proc)
{
	struct rama_look_seg *g = p->seg;
	uint32_t n = g->map.seg.state.lanes_used;

	if (n > RAMA_SEG_LANES)
		n = RAMA_SEG_LANES;
	if (n > g->n_lanes) {
		if (more_room((void **)&g->lane, g->n_lanes, n, sizeof(*g->lane)) != 0)
			return RAMA_EMEMORY;
		g->n_lanes = n;
	}
	memcpy(g->before, g->in_flight, sizeof(g->before));
	memset(g->in_flight, 0, sizeof(g->in_flight));
	p->n_calls = p->n_told = 0;
	p->live = (struct rama_look_live){ .on = g->map.seg.control.live,
					   .reader = g->map.seg.control.reader };
	for (uint32_t i = 0; i < g->n_lanes; i++)
		read_lane(p, i, now, proc);
	if (p->n_told > 0 && p->call[0].since > p->longest)
		p->longest = p->call[0].since;
	return 0;
}

/* ---- time in I/O ----------------------------------------------------------------------------- */

/* Of a file that is used through MPI-IO the calls above hold those below: the longer of the two
 * is what the process waited for. */
static void top_time(struct rama_look_process *p)
{
	struct rama_look_seg *g = p->seg;
	const struct rama_look_io *m = &p->layer_gain[RAMA_SEG_KIND_MPIIO];

	p->time_read = p->gain.read_time;
	p->time_write = p->gain.write_time;
	p->time_meta = p->gain.meta_time;
	if (rama_look_ops(m) == 0)
		return;
	for (size_t i = 0; i < g->n_touched; i++) {
		const struct rama_look_touched *t = &g->touched[i];
		uint64_t id = g->slot[t->kind][t->slot].id;
		struct rama_look_io below = { 0 };

		if (t->kind != RAMA_SEG_KIND_MPIIO)
			continue;
		for (size_t k = 0; k < g->n_touched; k++)
			if (g->touched[k].kind != RAMA_SEG_KIND_MPIIO &&
			    g->slot[g->touched[k].kind][g->touched[k].slot].id == id)
				rama_look_io_add(&below, &g->touched[k].gain);
		if (rama_look_time(&below) >= rama_look_time(&t->gain))
			continue;
		p->time_read += t->gain.read_time - below.read_time;
		p->time_write += t->gain.write_time - below.write_time;
		p->time_meta += t->gain.meta_time - below.meta_time;
	}
}

static double gained(double s)
{
	return s > 0 ? s : 0;
}

/* Calls at work count as far as they are; what was counted of them before they ended is not
 * counted again. */
static void find_time(struct rama_look_process *p, double interval)
{
	struct rama_look_seg *g = p->seg;
	double all, most = interval * (p->threads > 1 ? p->threads : 1);

	top_time(p);
	p->time_read = gained(p->time_read + g->in_flight[RAMA_LOOK_CLASS_READ] -
			      g->before[RAMA_LOOK_CLASS_READ]);
	p->time_write = gained(p->time_write + g->in_flight[RAMA_LOOK_CLASS_WRITE] -
			       g->before[RAMA_LOOK_CLASS_WRITE]);
	p->time_meta = gained(p->time_meta + g->in_flight[RAMA_LOOK_CLASS_META] -
			      g->before[RAMA_LOOK_CLASS_META]);
	all = p->time_read + p->time_write + p->time_meta;
	if (all > most && all > 0) { /* a call held others that were counted, too */
		p->time_read *= most / all;
		p->time_write *= most / all;
		p->time_meta *= most / all;
		all = most;
	}
	p->share = interval > 0 ? all / interval : 0;
	p->share = p->share < 1 ? p->share : 1;
}

/* What it waits in: a call that has lasted most of the interval, else what took most of it. */
static void find_wait(struct rama_look_process *p, double interval)
{
	static const enum rama_look_wait of[] = { RAMA_LOOK_WAIT_COMPUTE, RAMA_LOOK_WAIT_READ,
						  RAMA_LOOK_WAIT_WRITE, RAMA_LOOK_WAIT_META };
	double most = p->time_read;

	if (p->state != RAMA_LOOK_RUNNING && p->state != RAMA_LOOK_OFF) {
		p->wait = RAMA_LOOK_WAIT_GONE;
		return;
	}
	if (p->n_told > 0 && p->call[0].since > 0.5 * interval && p->call[0].since > 0.05) {
		p->wait = of[p->call[0].class];
		return;
	}
	p->wait = RAMA_LOOK_WAIT_READ;
	if (p->time_write > most) {
		most = p->time_write;
		p->wait = RAMA_LOOK_WAIT_WRITE;
	}
	if (p->time_meta > most) {
		most = p->time_meta;
		p->wait = RAMA_LOOK_WAIT_META;
	}
	if (most <= 0 || interval - (p->time_read + p->time_write + p->time_meta) > most)
		p->wait = RAMA_LOOK_WAIT_COMPUTE;
}

const char *rama_look_wait_name(enum rama_look_wait w)
{
	static const char *const name[] = { "", "computing", "reading", "writing", "metadata" };

	return name[w];
}

/* ---- all of it ------------------------------------------------------------------------------- */

int rama_look_seg_read(struct rama_look_process *p, const struct rama_look_now *now,
		       double interval, bool first, const char *proc, struct rama_err *e)
{
	struct rama_look_seg *g = p->seg;
	struct rama_seg *s = &g->map.seg;
	int rc = 0;

	g->n_touched = 0;
	g->moved = false;
	p->gain = (struct rama_look_io){ 0 };
	memset(p->layer_gain, 0, sizeof(p->layer_gain));
	p->threads = s->state.threads_now;
	if (s->id.clock.source == RAMA_SEG_CLOCK_TSC && p->here)
		rama_seg_now(s, now->tick[RAMA_SEG_CLOCK_TSC], now->mono);
	rc = read_lanes(p, now, proc);
	for (unsigned k = 0; k < RAMA_SEG_KINDS && rc == 0; k++)
		rc = read_kind(p, k, first);
	if (rc != 0)
		return rama_err_set(e, rc, "out of memory");
	find_time(p, interval);
	find_wait(p, interval);
	return 0;
}

void rama_look_seg_name(struct rama_look_seg *g, uint32_t number, char *to, size_t room)
{
	struct rama_seg_name_get *n = malloc(sizeof(*n));
	uint64_t off = g->open ? rama_seg_name_place(&g->map.seg, number) : UINT64_MAX;
	struct rama_err e = { 0 };

	to[0] = '\0';
	if (n != NULL && off != UINT64_MAX && rama_seg_name_next(&g->map.seg, &off, n, &e) == 1)
		snprintf(to, room, "%s", n->text);
	free(n);
}

void rama_look_seg_close(struct rama_look_seg *g)
{
	if (g->open)
		rama_seg_mapped_close(&g->map);
	g->open = false;
	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++) {
		free(g->slot[k]);
		g->slot[k] = NULL;
		g->n_slots[k] = 0;
	}
	free(g->touched);
	free(g->lane);
	g->touched = NULL;
	g->lane = NULL;
	g->n_touched = g->room_touched = g->n_lanes = 0;
}
