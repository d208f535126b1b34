/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "path/join.h"

#define PIECE 131072  /* what a request of the kernel moves at least, if it is not cut */
#define PIECE_SMALL 4 /* requests that are smaller than this part of it are cut */
#define LOOK_BACK 64  /* writers before one that it may have waited for */
#define NS 1e-9

/* ---- time that somebody waited -------------------------------------------------------------- */

/* Time is added for each rank and, of writes, for each file and host; moments that are there twice
 * count once. What counts is the largest sum. */
struct waited {
	struct rama_map by; /* -> index of a sum */
	struct {
		int64_t sum, reach;
	} * of;
	size_t n, room;
	int64_t most;
};

static int waited_put(struct waited *w, uint64_t key, int64_t from, int64_t to)
{
	bool fresh;
	uint64_t *at = rama_map_put(&w->by, key, &fresh);

	if (at == NULL || !RAMA_GROW(w->of, w->room, w->n + 1))
		return RAMA_EMEMORY;
	if (fresh) {
		*at = w->n;
		w->of[w->n].sum = 0;
		w->of[w->n++].reach = INT64_MIN;
	}
	from = from > w->of[*at].reach ? from : w->of[*at].reach;
	if (to > from) {
		w->of[*at].sum += to - from;
		w->of[*at].reach = to;
	}
	if (w->of[*at].sum > w->most)
		w->most = w->of[*at].sum;
	return 0;
}

static int waited_add(struct waited *w, const struct rama_path *p, size_t call, int64_t from,
		      int64_t to, bool shared)
{
	const struct rama_path_call *c = &p->call[rama_path_made_for(p, call)];
	int rc = waited_put(w, (uint64_t)c->rank * 2, from, to);

	if (rc == 0 && shared && c->write)
		rc = waited_put(w, (c->file_id * 31 + (uint64_t)(uintptr_t)c->host) | 1, from, to);
	return rc;
}

static double waited_end(struct waited *w)
{
	double most = (double)w->most * NS;

	rama_map_fini(&w->by);
	free(w->of);
	*w = (struct waited){ 0 };
	return most;
}

/* ---- servers -------------------------------------------------------------------------------- */

static double mean_of(const struct rama_path_server *s)
{
	return s->requests > 0 ? (double)s->time * NS / (double)s->requests : 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* the slowest against the median of the others; the fullest against the mean of all */
static int compare_servers(struct rama_path_facts *f)
{
	double *others = malloc((f->n_servers + 1) * sizeof(*others)), bytes = 0;
	size_t n = 0, used = 0;

	if (others == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < f->n_servers; i++) {
		const struct rama_path_server *s = &f->server[i];

		if (s->requests == 0)
			continue;
		used++;
		bytes += (double)s->bytes;
		if (f->slow == RAMA_PATH_NONE || mean_of(s) > mean_of(&f->server[f->slow]))
			f->slow = i;
		if (f->full == RAMA_PATH_NONE || s->bytes > f->server[f->full].bytes)
			f->full = i;
	}
	for (size_t i = 0; i < f->n_servers; i++)
		if (i != f->slow && f->server[i].requests > 0)
			others[n++] = mean_of(&f->server[i]);
	if (n > 0) {
		qsort(others, n, sizeof(*others), by_value);
		f->other_mean = others[n / 2];
		f->slow_mean = mean_of(&f->server[f->slow]);
		f->mean_bytes = bytes / (double)used;
		f->full_bytes = (double)f->server[f->full].bytes;
		if (f->full_bytes > 0)
			f->full_cost = (double)f->server[f->full].busy * NS *
				       (1 - f->mean_bytes / f->full_bytes);
	}
	free(others);
	return 0;
}

/* what requests waited for the slow server after the others had answered, or, where it was the
 * only one, beyond what the others need on average */
static int slow_request(struct waited *w, const struct rama_path *p, size_t request,
			const struct rama_path_facts *f, const char *slow)
{
	struct rama_path_race race;
	int64_t from;

	rama_path_race(p, request, &race);
	if (race.last == RAMA_PATH_NONE || p->call[race.last].peer != slow)
		return 0;
	from = race.servers > 1 ? race.other
				: p->call[race.last].start + (int64_t)(f->other_mean / NS);
	return from < race.end ? waited_add(w, p, request, from, race.end, true) : 0;
}

/* what the request that was waited for last spent in its server, but not at the disk */
static int queued_request(struct waited *w, const struct rama_path *p, size_t request,
			  struct rama_path_facts *f)
{
	struct rama_path_race race;
	const struct rama_path_call *c;

	rama_path_race(p, request, &race);
	if (race.last == RAMA_PATH_NONE)
		return 0;
	c = &p->call[race.last];
	for (size_t i = 0; i < c->n_subs; i++) {
		size_t s = rama_path_sub(p, race.last, i);
		struct rama_path_gaps g;
		int rc;

		if (p->call[s].layer != RAMA_PATH_LAYER_SERVER)
			continue;
		rama_path_gaps(p, s, &g);
		f->server_time += (double)(p->call[s].end - p->call[s].start) * NS;
		f->disk_time += (double)g.inside * NS;
		rc = waited_add(w, p, request, p->call[s].start, p->call[s].end - g.inside, true);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* reads of servers inside of a request that writes */
static int modified_request(struct waited *w, const struct rama_path *p, size_t request,
			    struct rama_path_facts *f)
{
	const struct rama_path_call *r = &p->call[request];
	bool any = false;
	int rc = 0;

	if (!r->write || !rama_path_moves(r))
		return 0;
	f->writes++;
	for (size_t i = 0; i < r->n_subs && rc == 0; i++) {
		const struct rama_path_call *c = &p->call[rama_path_sub(p, request, i)];

		if (c->layer != RAMA_PATH_LAYER_CLIENT || !rama_path_awaited(c->link) ||
		    c->kind != RAMA_TAB_OP_READ || c->bytes <= 0)
			continue;
		any = true;
		f->modify_reads++;
		f->modify_bytes += (double)c->bytes;
		rc = waited_add(w, p, request, c->start, c->end, true);
	}
	f->modified += any;
	return rc;
}

static int server_facts(struct rama_path_facts *f, const struct rama_path *p, const char *slow)
{
	struct waited slowly = { 0 }, queue = { 0 }, modify = { 0 };
	int rc = 0;

	for (size_t i = 0; i < p->n && rc == 0; i++) {
		const struct rama_path_call *c = &p->call[i];

		if (c->layer != RAMA_PATH_LAYER_FUSE || !rama_path_awaited(c->link))
			continue;
		if (slow != NULL)
			rc = slow_request(&slowly, p, i, f, slow);
		if (rc == 0)
			rc = queued_request(&queue, p, i, f);
		if (rc == 0)
			rc = modified_request(&modify, p, i, f);
	}
	f->slow_cost = waited_end(&slowly);
	f->queue_cost = waited_end(&queue);
	f->modify_cost = waited_end(&modify);
	return rc;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* More requests than its bytes need: each costs about the same, whatever it moves. */
static int cut_call(struct waited *w, const struct rama_path *p, size_t call,
		    struct rama_path_facts *f)
{
	const struct rama_path_call *c = &p->call[call];
	struct rama_path_gaps g;
	uint64_t n = 0;
	int64_t bytes = 0, lost;

	for (size_t i = 0; i < c->n_subs; i++) {
		const struct rama_path_call *r = &p->call[rama_path_sub(p, call, i)];

		if (r->layer == RAMA_PATH_LAYER_FUSE && rama_path_awaited(r->link) &&
		    rama_path_moves(r)) {
			n++;
			bytes = rama_path_plus(bytes, r->bytes);
		}
	}
	if (n < 2 || bytes / (int64_t)n >= PIECE / PIECE_SMALL)
		return 0;
	rama_path_gaps(p, call, &g);
	lost = (int64_t)((double)g.inside * (1 - (double)(1 + (bytes - 1) / PIECE) / (double)n));
	f->cut_calls++;
	f->cut_requests += (double)n;
	f->cut_bytes += (double)bytes;
	return lost > 0 ? waited_add(w, p, call, c->start, c->start + lost, true) : 0;
}

static int call_facts(struct rama_path_facts *f, const struct rama_path *p)
{
	struct waited cut = { 0 };
	int rc = 0;

	for (size_t i = 0; i < p->n && rc == 0; i++) {
		const struct rama_path_call *c = &p->call[i];

		if (c->layer != RAMA_PATH_LAYER_POSIX || c->mount == NULL)
			continue;
		if (rama_path_reads(c) && rama_path_moves(c)) {
			f->reads++;
			f->cached += c->cached;
			f->cached_bytes += c->cached ? (double)c->bytes : 0;
		}
		rc = cut_call(&cut, p, i, f);
	}
	f->cut_cost = waited_end(&cut);
	return rc;
}

/* ---- writers of one file -------------------------------------------------------------------- */

/* a write, and when the kernel let it in */
struct writer {
	int64_t first;
	uint32_t call;
};

static int by_first(const void *a, const void *b)
{
	const struct writer *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static bool file_of(const struct rama_path_call *c, struct rama_path_key *k)
{
	*k = (struct rama_path_key){ { (uintptr_t)c->host, c->file_id } };
	return c->layer == RAMA_PATH_LAYER_POSIX && c->role == RAMA_PATH_ROLE_APPLICATION &&
	       c->write && c->n_subs > 0;
}

/* time before the first request of `at` in which writers before it were let in */
static int64_t waited_for_others(const struct rama_path *p, const struct writer *w, size_t at)
{
	const struct rama_path_call *c = &p->call[w[at].call];
	int64_t time = 0, until = w[at].first;

	for (size_t i = at; i-- > 0 && at - i <= LOOK_BACK;) {
		const struct rama_path_call *other = &p->call[w[i].call];
		int64_t from = w[i].first > c->start ? w[i].first : c->start,
			to = other->end < until ? other->end : until;

		if (other->kernel_tid == c->kernel_tid || to <= from)
			continue;
		time += to - from;
		until = from;
	}
	return time;
}

static int writers_of(struct rama_path_facts *f, const struct rama_path *p, struct writer *w,
		      size_t n, struct waited *waited, double *worst)
{
	double here = 0, waits = 0;
	uint64_t threads = n > 0;
	int rc = 0;

	qsort(w, n, sizeof(*w), by_first);
	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct rama_path_call *c = &p->call[w[i].call];
		int64_t time = waited_for_others(p, w, i);

		threads += i > 0 && c->kernel_tid != p->call[w[i - 1].call].kernel_tid;
		f->wait_all += (double)(c->end - c->start) * NS;
		if (time < RAMA_PATH_SLACK * 5)
			continue;
		waits++;
		here += (double)time * NS;
		rc = waited_add(waited, p, w[i].call, c->start, c->start + time, false);
	}
	if (threads < 2)
		return rc;
	f->waits += waits;
	f->wait_time += here;
	if (here > *worst) {
		*worst = here;
		f->wait_file = p->call[w[0].call].file;
	}
	return rc;
}

static int writer_facts(struct rama_path_facts *f, const struct rama_path *p)
{
	struct rama_path_groups files;
	struct writer *w = malloc((p->n + 1) * sizeof(*w));
	struct waited waited = { 0 };
	double worst = 0;
	int rc = rama_path_groups_make(&files, p, RAMA_PATH_ONLY(POSIX), file_of);

	if (w == NULL)
		rc = RAMA_EMEMORY;
	for (size_t g = 0; rc == 0 && g < files.n; g++) {
		size_t n = 0;

		for (uint32_t i = files.first[g]; i < files.first[g + 1]; i++) {
			struct rama_path_gaps gaps;

			rama_path_gaps(p, files.call[i], &gaps);
			w[n++] = (struct writer){ p->call[files.call[i]].start + gaps.before,
						  files.call[i] };
		}
		rc = writers_of(f, p, w, n, &waited, &worst);
	}
	f->wait_cost = waited_end(&waited);
	free(w);
	rama_path_groups_fini(&files);
	return rc;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* names and servers outlive the path */
static int keep(struct rama_path_facts *f, const struct rama_path_servers *s,
		struct rama_arena *arena)
{
	struct rama_path_server *server = rama_arena_alloc(arena, (s->n + 1) * sizeof(*server));

	if (server == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < s->n; i++) {
		server[i] = s->server[i];
		server[i].name =
			rama_arena_text(arena, s->server[i].name, strlen(s->server[i].name));
		server[i].host =
			rama_arena_text(arena, s->server[i].host, strlen(s->server[i].host));
		if (server[i].name == NULL || server[i].host == NULL)
			return RAMA_EMEMORY;
		f->load += (double)s->server[i].load;
		f->load_bytes += (double)s->server[i].load_bytes;
	}
	f->server = server;
	f->n_servers = s->n;
	return 0;
}

int rama_path_facts_make(struct rama_path_facts *f, const struct rama_path *p,
			 struct rama_arena *arena)
{
	struct rama_path_servers s;
	struct rama_path_below b;
	int rc = rama_path_servers(p, RAMA_PATH_NONE, &s);

	*f = (struct rama_path_facts){ .slow = RAMA_PATH_NONE,
				       .full = RAMA_PATH_NONE,
				       .wait_file = "" };
	rama_path_below(p, RAMA_PATH_NONE, &b);
	f->requests = (double)b.requests;
	f->rpcs = (double)b.rpcs;
	f->disks = (double)b.disks;
	if (rc == 0)
		rc = keep(f, &s, arena);
	if (rc == 0)
		rc = compare_servers(f);
	if (rc == 0)
		rc = server_facts(
			f, p, f->slow != RAMA_PATH_NONE && s.n > 1 ? s.server[f->slow].name : NULL);
	if (rc == 0)
		rc = call_facts(f, p);
	if (rc == 0)
		rc = writer_facts(f, p);
	if (rc == 0) {
		f->wait_file = rama_arena_text(arena, f->wait_file, strlen(f->wait_file));
		rc = f->wait_file != NULL ? 0 : RAMA_EMEMORY;
	}
	rama_path_servers_fini(&s);
	return rc;
}
