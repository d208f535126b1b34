/* SPDX-License-Identifier: BSD-3-Clause */
/* live_reader [--once] [--lag N] PATH...: reads live events of segments (segment/ring.h) and
 * prints them as lines of JSON.
 *
 * Without --once it looks for segments below the directories PATH, again and again, until its
 * standard input ends, gives back what it has read, and then reads what is left. --lag N: not
 * before that many events of a lane wait. With --once it reads the segments PATH as they are and
 * changes nothing in them. At the end it prints one line for each lane. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "segment/ring.h"
#include "table/fn.h"
#include "table/layers.h"

enum { MOST = 4096, AT_ONCE = 4096 };

static const char *const ops[] = {
#define OP(kind, counter) #kind,
#include "table/ops.def"
#undef OP
};

static struct rama_seg_mapped *found[MOST];
static unsigned n_found;
static uint64_t lag;

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t ticks_now(const struct rama_seg_ticks *c)
{
#if defined(__x86_64__)
	if (c->source == RAMA_SEG_CLOCK_TSC)
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	if (c->source == RAMA_SEG_CLOCK_TSC)
		return t;
#endif
	return ns(CLOCK_MONOTONIC);
}

/* ticks and time of day at one moment: of some tries, the one that took the least time */
static void read_clocks(const struct rama_seg_ticks *c, uint64_t now[2])
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < 20; i++) {
		uint64_t before = ticks_now(c), real = ns(CLOCK_REALTIME), after = ticks_now(c);

		if (after - before < least) {
			least = after - before;
			now[0] = before + least / 2;
			now[1] = real;
		}
	}
}

/* a line through the start of the process and now (or its end) */
static int64_t real_of(const struct rama_seg_mapped *m, uint64_t tick, const uint64_t now[2])
{
	const struct rama_seg_ticks *c = &m->seg.id.clock;
	uint64_t tick1 = c->tick1 ? c->tick1 : now[0], real1 = c->tick1 ? c->real1 : now[1];
	long double per = (long double)(real1 - c->real0) / (long double)(tick1 - c->tick0);

	return (int64_t)c->real0 + (int64_t)((long double)tick * per);
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_text(const char *text)
{
	putchar('"');
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p == '"' || *p == '\\')
			printf("\\%c", *p);
		else if (*p < 0x20 || *p >= 0x7f)
			printf("\\u%04x", *p);
		else
			putchar(*p);
	}
	putchar('"');
}

static void print_name(struct rama_seg_mapped *m, uint32_t number)
{
	static struct rama_seg_name_get name;
	struct rama_err e = { 0 };
	uint64_t at = number > 0 ? ((uint64_t)number - 1) * 8 : UINT64_MAX;

	if (number > 0 && at >= m->seg.state.names_used)
		rama_seg_refresh(&m->seg, &e); /* it came after we looked */
	if (number > 0 && rama_seg_name_next(&m->seg, &at, &name, &e) == 1)
		print_text(name.text);
	else
		printf("null");
}

struct batch {
	uint32_t lane, tid, n;
	uint64_t first;
	const struct rama_seg_event *event;
};

static void print_events(struct rama_seg_mapped *m, const struct batch *b)
{
	uint64_t now[2] = { 0 };

	read_clocks(&m->seg.id.clock, now);
	for (uint32_t i = 0; i < b->n; i++) {
		const struct rama_seg_event *v = &b->event[i];
		unsigned layer = v->layer & 0x7f;

		if (layer >= RAMA_TAB_LAYER_ROWS || v->kind >= RAMA_TAB_OPS ||
		    v->fn >= RAMA_TAB_FNS) {
			printf("{\"damaged\":%" PRIu64 "}\n", b->first + i);
			continue;
		}
		printf("{\"pid\":%" PRId64 ",\"rank\":%" PRId64
		       ",\"lane\":%u,\"tid\":%u,\"seq\":%" PRIu64 ",\"start\":%" PRId64
		       ",\"end\":%" PRId64 ",\"off\":%" PRId64 ",\"len\":%" PRId64
		       ",\"layer\":\"%s\",\"op\":\"%s\",\"fn\":\"%s\",\"call\":%u,\"parent\":%u,"
		       "\"failed\":%s,\"file\":",
		       m->seg.id.pid, m->seg.id.rank, b->lane, b->tid, b->first + i,
		       real_of(m, v->start, now), real_of(m, v->start + v->length, now), v->off,
		       v->bytes, rama_tab_event_layer[layer].name, ops[v->kind],
		       rama_tab_fn_info[v->fn].name, v->call, v->parent,
		       v->layer & RAMA_SEG_EVENT_FAILED ? "true" : "false");
		print_name(m, v->name);
		puts("}");
	}
}

static void print_lanes(struct rama_seg_mapped *m)
{
	static struct rama_seg_lane lane;
	struct rama_err e = { 0 };

	for (uint32_t i = 0; i < rama_seg_lanes(&m->seg); i++) {
		struct rama_seg_ring_state st;
		int rc = rama_seg_ring_state(m, i, &st);

		memset(&lane, 0, sizeof(lane));
		rama_seg_lane_get(&m->seg, i, &lane, &e);
		printf("{\"state\":%d,\"pid\":%" PRId64 ",\"lane\":%u,\"tid\":%u,\"made\":%" PRIu64
		       ",\"dropped\":%" PRIu64 ",\"taken\":%" PRIu64 ",\"level\":%u,\"owned\":%u,"
		       "\"doing\":%" PRIu64 ",\"doing_fn\":\"%s\",\"doing_fd\":%d,\"phase\":%u,"
		       "\"tag\":\"%s\",\"missed\":%" PRIu64 ",\"rings\":%" PRIu64
		       ",\"logged\":%s}\n",
		       rc, m->seg.id.pid, i, st.tid, st.made, st.dropped, st.taken, lane.level,
		       lane.owned, lane.doing_since,
		       lane.doing_fn < RAMA_TAB_FNS ? rama_tab_fn_info[lane.doing_fn].name : "",
		       (int)lane.doing_fd - 1, m->seg.state.phase, m->seg.id.tag,
		       m->seg.state.missed + lane.missed, m->seg.state.rings_used,
		       m->seg.id.flags & RAMA_SEG_LOGGED ? "true" : "false");
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t drain_lane(struct rama_seg_mapped *m, uint32_t lane, uint64_t least)
{
	static struct rama_seg_event events[AT_ONCE];
	struct rama_seg_ring_state st;
	struct batch b = { .lane = lane, .event = events };
	uint64_t at, all = 0;

	if (rama_seg_ring_state(m, lane, &st) != 0 || st.made - st.taken < least)
		return 0;
	for (at = st.taken; at < st.made; at += b.n) {
		b.first = at;
		b.n = rama_seg_ring_read(m, lane, at, events, AT_ONCE, &b.tid);
		if (b.n == 0)
			break;
		print_events(m, &b);
		rama_seg_ring_give_back(m, lane, at + b.n);
		all += b.n;
	}
	return all;
}

static uint64_t drain(struct rama_seg_mapped *m, uint64_t least)
{
	struct rama_err e = { 0 };
	uint64_t all = 0;

	rama_seg_refresh(&m->seg, &e);
	for (uint32_t i = 0; i < rama_seg_lanes(&m->seg); i++)
		all += drain_lane(m, i, least);
	return all;
}

static bool is_known(const struct stat *st)
{
	for (unsigned i = 0; i < n_found; i++)
		if (found[i]->ino == st->st_ino && found[i]->dev == st->st_dev)
			return true;
	return false;
}

static int add(const char *path, bool to_read)
{
	struct rama_err e = { 0 };
	struct rama_seg_mapped *m = malloc(sizeof(*m));

	if (m == NULL || n_found == MOST)
		exit(4);
	if (rama_seg_mapped_open(m, path, UINT32_MAX, to_read, &e) != 0) {
		free(m);
		fprintf(stderr, "live_reader: %s\n", e.text);
		return 3;
	}
	if (m->control)
		__atomic_store_n(&m->control->reader, (uint32_t)getpid(), __ATOMIC_RELAXED);
	found[n_found++] = m;
	return 0;
}

static void look(const char *dir, int depth)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[4096];
		struct stat st;
		size_t n = strlen(e->d_name);

		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (e->d_name[0] == '.' || lstat(path, &st) != 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth > 0)
			look(path, depth - 1);
		else if (n > 4 && strcmp(e->d_name + n - 4, ".seg") == 0 && !is_known(&st))
			add(path, true);
	}
	if (d)
		closedir(d);
}

/* what a process left for us to read goes when it is read */
static void remove_left(const char *dir, int depth)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[4096];
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (e->d_name[0] == '.' || lstat(path, &st) != 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth > 0) {
			remove_left(path, depth - 1);
			rmdir(path);
		}
		for (unsigned i = 0; i < n_found; i++)
			if (found[i]->ino == st.st_ino && found[i]->dev == st.st_dev &&
			    found[i]->seg.id.flags & RAMA_SEG_LOGGED)
				unlink(path);
	}
	if (d)
		closedir(d);
}

static void watch(char **dirs, int n)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	char agent[4096], byte;
	bool more = true;

	for (int i = 0; i < n; i++) {
		snprintf(agent, sizeof(agent), "%s/.agent", dirs[i]);
		int fd = open(agent, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0 || flock(fd, LOCK_EX) != 0)
			exit(4);
	}
	puts("{\"ready\":true}");
	fflush(stdout);
	while (more) {
		uint64_t all = 0;

		/* asked first: what was there when the input ended is read in this round */
		more = poll(&in, 1, 0) == 0 || read(0, &byte, 1) > 0;
		for (int i = 0; i < n; i++)
			look(dirs[i], 1);
		for (unsigned i = 0; i < n_found; i++)
			all += drain(found[i], more ? lag : 0);
		if (more && all == 0)
			usleep(1000);
	}
	for (int i = 0; i < n; i++) {
		remove_left(dirs[i], 1);
		snprintf(agent, sizeof(agent), "%s/.agent", dirs[i]);
		unlink(agent);
	}
}

int main(int argc, char **argv)
{
	bool once = false;
	int i = 1, rc = 0;

	if (rama_seg_mapped_guard() != 0)
		return 4;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--once") == 0)
			once = true;
		else if (strcmp(argv[i], "--lag") == 0 && i + 1 < argc)
			lag = strtoull(argv[++i], NULL, 10);
		else
			return 2;
	}
	if (once) {
		for (; i < argc; i++)
			rc |= add(argv[i], false);
		for (unsigned k = 0; k < n_found; k++)
			drain(found[k], 0);
	} else {
		watch(argv + i, argc - i);
	}
	for (unsigned k = 0; k < n_found; k++) {
		struct rama_err e = { 0 };

		rama_seg_refresh(&found[k]->seg, &e);
		print_lanes(found[k]);
	}
	return rc;
}
