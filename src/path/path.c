/* SPDX-License-Identifier: BSD-3-Clause */
/* path.c: calls are taken in, sorted and linked with what their own thread was in. Nothing is
 * believed of them: ids may be there twice, parents may be missing, later than what is part of
 * them, or deeper than can be. What other processes did for them is join.c. */
#include "path/path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/grow.h"
#include "path/join.h"

const char *rama_path_layer_name(uint8_t layer)
{
	static const char *const name[] = {
#define TRACED(layer, word, name, ...) name,
#define EVENTS(layer, word, name, ...) name,
#include "table/layers.def"
		"DISK",
	};

	return layer < RAMA_PATH_LAYERS ? name[layer] : "?";
}

const char *rama_path_link_name(enum rama_path_link link)
{
	static const char *const name[] = {
#define LINK(symbol, word, ...) word,
#include "table/links.def"
	};

	return name[link];
}

/* ---- taking in ------------------------------------------------------------------------------ */

static uint64_t hash_of(const char *s, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
	return h;
}

/* There are few names of operations and hosts, and many calls. Two of the same hash: the later is
 * copied. */
static const char *kept(struct rama_path *p, const char *s, size_t n)
{
	bool fresh;
	uint64_t *at;
	const char *known;

	if (n == 0)
		return "";
	at = rama_map_put(&p->texts, hash_of(s, n), &fresh);
	if (at == NULL)
		return NULL;
	known = (const char *)(uintptr_t)*at;
	if (!fresh && strlen(known) == n && memcmp(known, s, n) == 0)
		return known;
	known = rama_arena_text(&p->arena, s, n);
	if (known != NULL || fresh)
		*at = (uint64_t)(uintptr_t)(known != NULL ? known : "");
	return known;
}

static const char *kept_text(struct rama_path *p, const char *s)
{
	return kept(p, s, s != NULL ? strlen(s) : 0);
}

int rama_path_add(struct rama_path *p, const struct rama_path_call *c, size_t op_len)
{
	const char *op = kept(p, c->op, op_len), *host = kept_text(p, c->host),
		   *peer = kept_text(p, c->peer);

	if (op == NULL || host == NULL || peer == NULL || p->n >= UINT32_MAX - 2 ||
	    !RAMA_GROW(p->call, p->room, p->n + 1))
		return RAMA_EMEMORY;
	p->call[p->n] = *c;
	p->call[p->n].op = op;
	p->call[p->n].host = host;
	p->call[p->n].peer = peer;
	p->call[p->n++].parent = RAMA_PATH_NONE;
	return 0;
}

int rama_path_add_load(struct rama_path *p, const struct rama_path_load *l)
{
	const char *server = kept_text(p, l->server);
	size_t i = 0;

	if (server == NULL)
		return RAMA_EMEMORY;
	while (i < p->n_loads &&
	       (p->load[i].layer != l->layer || strcmp(p->load[i].server, server) != 0))
		i++;
	if (i == p->n_loads) {
		if (!RAMA_GROW(p->load, p->load_room, p->n_loads + 1))
			return RAMA_EMEMORY;
		p->load[p->n_loads++] =
			(struct rama_path_load){ .layer = l->layer, .server = server };
	}
	p->load[i].count += l->count;
	p->load[i].bytes = rama_path_plus(p->load[i].bytes, l->bytes);
	p->load[i].time = rama_path_plus(p->load[i].time, l->time);
	return 0;
}

void rama_path_fini(struct rama_path *p)
{
	free(p->call);
	free(p->layer);
	free(p->together);
	free(p->sub);
	free(p->root);
	free(p->load);
	rama_map_fini(&p->texts);
	rama_map_fini(&p->mounts);
	rama_arena_fini(&p->arena);
	*p = (struct rama_path){ 0 };
}

/* ---- order ---------------------------------------------------------------------------------- */

#define ORDER(a, b)                \
	do {                       \
		if ((a) < (b))     \
			return -1; \
		if ((a) > (b))     \
			return 1;  \
	} while (0)

/* those that began together: the longer one is around the other; total, so that numbers of calls
 * are the same each time */
static int by_start(const void *a, const void *b)
{
	const struct rama_path_call *x = *(const struct rama_path_call *const *)a,
				    *y = *(const struct rama_path_call *const *)b;

	ORDER(x->start, y->start);
	ORDER(y->end, x->end);
	ORDER(x->role, y->role);
	ORDER(x->rank, y->rank);
	ORDER(x->pid, y->pid);
	ORDER(x->program, y->program);
	ORDER(x->lane, y->lane);
	ORDER(x->id, y->id);
	ORDER(x->off, y->off);
	ORDER(x->file_id, y->file_id);
	return strcmp(x->host, y->host);
}

struct keyed {
	uint64_t key;
	const struct rama_path_call *call;
};

#define DIGIT 11 /* bits */
#define DIGITS ((64 + DIGIT - 1) / DIGIT)
#define VALUES (1 << DIGIT)

static unsigned digit(uint64_t key, unsigned d)
{
	return (unsigned)(key >> d * DIGIT & (VALUES - 1));
}

/* how many have each value of each digit, at the place after it */
static void count_digits(const struct keyed *v, size_t n, uint32_t count[DIGITS][VALUES + 1])
{
	memset(count, 0, DIGITS * sizeof(*count));
	for (size_t i = 0; i < n; i++)
		for (unsigned d = 0; d < DIGITS; d++)
			count[d][digit(v[i].key, d) + 1]++;
}

/* By key, digit for digit from the lowest on; those of the same key stay in order. One that is the
 * same in all costs nothing. */
static struct keyed *radix(struct keyed *v, struct keyed *other, size_t n,
			   uint32_t count[DIGITS][VALUES + 1])
{
	count_digits(v, n, count);
	for (unsigned d = 0; d < DIGITS; d++) {
		uint32_t *at = count[d];
		struct keyed *swap = v;

		if (at[digit(v[0].key, d) + 1] == n)
			continue;
		for (unsigned b = 0; b < VALUES; b++)
			at[b + 1] += at[b];
		for (size_t i = 0; i < n; i++)
			other[at[digit(v[i].key, d)]++] = v[i];
		v = other;
		other = swap;
	}
	return v;
}

static bool in_order(const struct keyed *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (v[i - 1].key >= v[i].key &&
		    (v[i - 1].key > v[i].key || by_start(&v[i - 1].call, &v[i].call) > 0))
			return false;
	return true;
}

/* parents have other places now; SIZE_MAX: it is gone */
static void renumber(struct rama_path *p, const size_t *now)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->call[i].parent != RAMA_PATH_NONE)
			p->call[i].parent = now[p->call[i].parent];
}

#define SOON 12		/* calls ahead of the one that is copied: memory is slow */
#define HUGE (2u << 20) /* bytes of a large page */

/* In large pages where the system has them: calls are looked up all over the place. */
static struct rama_path_call *room_for(size_t n)
{
	size_t bytes = (n * sizeof(struct rama_path_call) / HUGE + 1) * HUGE;
	void *room = aligned_alloc(HUGE, bytes);

	if (room != NULL)
		madvise(room, bytes, MADV_HUGEPAGE);
	return room;
}

/* `order`: where each call stands; any: some have parents */
static int move_calls(struct rama_path *p, const struct keyed *order, size_t *now, bool any)
{
	struct rama_path_call *call = order != NULL ? room_for(p->n + 1) : NULL;

	if (call == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; any && i < p->n; i++)
		now[order[i].call - p->call] = i;
	if (any)
		renumber(p, now);
	for (size_t i = 0; i < p->n; i++) {
		const char *soon = (const char *)order[i + SOON < p->n ? i + SOON : i].call;

		for (size_t k = 0; k < sizeof(*call); k += 64)
			__builtin_prefetch(soon + k);
		call[i] = *order[i].call;
	}
	free(p->call);
	p->call = call;
	p->room = p->n + 1;
	return 0;
}

static void drop_calls(struct rama_path *p, const bool *drop, size_t *now)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		now[i] = drop[i] ? RAMA_PATH_NONE : n++;
	if (n == p->n)
		return;
	renumber(p, now);
	for (size_t i = 0; i < p->n; i++)
		if (!drop[i])
			p->call[now[i]] = p->call[i];
	p->n = n;
}

static int by_start_keyed(const void *a, const void *b)
{
	return by_start(&((const struct keyed *)a)->call, &((const struct keyed *)b)->call);
}

/* NULL: no memory */
static struct keyed *sort_keyed(struct keyed *v, struct keyed *other, size_t n)
{
	uint32_t(*count)[VALUES + 1] = malloc(DIGITS * sizeof(*count));
	struct keyed *sorted = count != NULL ? radix(v, other, n, count) : NULL;

	free(count);
	for (size_t from = 0, to; sorted != NULL && from < n; from = to) {
		for (to = from + 1; to < n && sorted[to].key == sorted[from].key;)
			to++;
		if (to > from + 1)
			qsort(sorted + from, to - from, sizeof(*sorted), by_start_keyed);
	}
	return sorted;
}

static int list_layers(struct rama_path *p)
{
	uint8_t *layer = realloc(p->layer, p->n + 1);

	if (layer == NULL)
		return RAMA_EMEMORY;
	p->layer = layer;
	for (size_t i = 0; i < p->n; i++)
		layer[i] =
			p->call[i].layer < RAMA_PATH_LAYERS ? p->call[i].layer : RAMA_PATH_LAYERS;
	return 0;
}

int rama_path_sort(struct rama_path *p, const bool *drop)
{
	struct keyed *v = malloc((p->n + 1) * sizeof(*v)), *other = malloc((p->n + 1) * sizeof(*v));
	size_t *now = malloc((p->n + 1) * sizeof(*now));
	int rc = v != NULL && other != NULL && now != NULL ? 0 : RAMA_EMEMORY;

	if (rc == 0 && drop != NULL)
		drop_calls(p, drop, now);
	for (size_t i = 0; rc == 0 && i < p->n; i++)
		v[i] = (struct keyed){ (uint64_t)p->call[i].start ^ 1ull << 63, &p->call[i] };
	if (rc == 0 && !in_order(v, p->n))
		rc = move_calls(p, sort_keyed(v, other, p->n), now, drop != NULL);
	free(v);
	free(other);
	free(now);
	return rc == 0 ? list_layers(p) : rc;
}

/* ---- linking -------------------------------------------------------------------------------- */

static bool lane_of(const struct rama_path_call *c, struct rama_path_key *k)
{
	*k = (struct rama_path_key){ { (uint64_t)c->rank, (uint64_t)c->pid, c->program, c->lane,
				       c->role, (uintptr_t)c->host } };
	return true;
}

struct numbered {
	uint32_t id, call;
};

/* by id, those of the same id by start */
static int by_id(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	ORDER(x->id, y->id);
	ORDER(x->call, y->call);
	return 0;
}

/* Where an id stands first in a lane; n: nowhere. It is mostly a little before `at`. */
static size_t find_id(const struct numbered *lane, size_t n, size_t at, uint32_t id)
{
	size_t low = 0, high = n;

	if (at < n && lane[at].id >= id) {
		low = high = at;
		for (size_t step = 1; low > 0 && lane[low - 1].id >= id; step *= 2) {
			high = low;
			low = low > step ? low - step : 0;
		}
	}
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (lane[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && lane[low].id == id ? low : n;
}

/* A thread gives the id of a call when that begins, so that parents have the lower one: this is
 * also what keeps calls from being part of themselves. */
static void link_call(struct rama_path *p, const struct numbered *lane, size_t n, size_t near,
		      struct rama_path_call *c)
{
	const struct rama_path_call *up;
	size_t at;

	if (c->parent_id == 0 || c->parent_id >= c->id)
		return;
	at = find_id(lane, n, near, c->parent_id);
	if (at == n)
		return;
	up = &p->call[lane[at].call];
	if (up->start > c->start)
		return;
	c->parent = lane[at].call;
	c->link = c->end <= up->end ? RAMA_PATH_LINK_PARENT : RAMA_PATH_LINK_LATER;
}

/* ids of all calls, those of a lane together; calls are walked as they stand in memory */
static void list_lanes(const struct rama_path *p, const struct rama_path_groups *lanes,
		       struct numbered *list, uint32_t *at)
{
	memcpy(at, lanes->first, (lanes->n + 1) * sizeof(*at));
	for (size_t i = 0; i < p->n; i++)
		list[at[lanes->of[i]]++] = (struct numbered){ p->call[i].id, (uint32_t)i };
	for (size_t g = 0; g < lanes->n; g++) {
		size_t from = lanes->first[g], to = lanes->first[g + 1], i = from + 1;

		while (i < to && list[i - 1].id <= list[i].id)
			i++;
		if (i < to)
			qsort(list + from, to - from, sizeof(*list), by_id);
	}
}

static int link_lanes(struct rama_path *p)
{
	struct rama_path_groups lanes;
	int rc = rama_path_groups_make(&lanes, p, RAMA_PATH_ALL, lane_of);
	struct numbered *list = malloc((p->n + 1) * sizeof(*list));
	uint32_t *at = malloc((lanes.n + 1) * sizeof(*at));

	if (list == NULL || at == NULL)
		rc = RAMA_EMEMORY;
	if (rc == 0) {
		list_lanes(p, &lanes, list, at);
		memcpy(at, lanes.first, (lanes.n + 1) * sizeof(*at));
	}
	for (size_t i = 0; rc == 0 && i < p->n; i++) {
		const uint32_t *lane = &lanes.first[lanes.of[i]];

		link_call(p, list + lane[0], lane[1] - lane[0], at[lanes.of[i]]++ - lane[0],
			  &p->call[i]);
	}
	free(list);
	free(at);
	rama_path_groups_fini(&lanes);
	return rc;
}

/* Depths; what is deeper than can be, or part of itself, is cut off. */
static void find_depths(struct rama_path *p, uint8_t *depth)
{
	memset(depth, UINT8_MAX, p->n);
	for (size_t i = 0; i < p->n; i++) {
		size_t chain[RAMA_PATH_DEPTH], n = 0, at = i;

		while (at != RAMA_PATH_NONE && depth[at] == UINT8_MAX && n < RAMA_PATH_DEPTH) {
			chain[n++] = at;
			at = p->call[at].parent;
		}
		while (n-- > 0) {
			struct rama_path_call *c = &p->call[chain[n]];
			unsigned up = c->parent == RAMA_PATH_NONE ? 0 : depth[c->parent];

			if (c->parent == RAMA_PATH_NONE || up >= RAMA_PATH_DEPTH - 1) {
				c->parent = RAMA_PATH_NONE;
				c->link = RAMA_PATH_LINK_NONE;
				depth[chain[n]] = 0;
			} else {
				depth[chain[n]] = (uint8_t)(up + 1);
			}
		}
	}
}

/* calls are by start, so their sub-calls come out that way, too; next: a number for each */
static int list_subs(struct rama_path *p, const uint8_t *depth, uint32_t *next)
{
	uint32_t at = 0;

	p->sub = malloc((p->n + 1) * sizeof(*p->sub));
	p->root = malloc((p->n + 1) * sizeof(*p->root));
	if (p->sub == NULL || p->root == NULL)
		return RAMA_EMEMORY;
	memset(next, 0, p->n * sizeof(*next));
	for (size_t i = 0; i < p->n; i++)
		if (p->call[i].parent != RAMA_PATH_NONE)
			next[p->call[i].parent]++;
	for (size_t i = 0; i < p->n; i++) {
		struct rama_path_call *c = &p->call[i];

		c->depth = depth[i];
		c->first = at;
		c->n_subs = next[i];
		next[i] = at;
		at += (uint32_t)c->n_subs;
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->call[i].parent == RAMA_PATH_NONE)
			p->root[p->n_roots++] = i;
		else
			p->sub[next[p->call[i].parent]++] = i;
	return 0;
}

/* What a process that serves others reads and writes is the disk. */
static void prepare(struct rama_path *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct rama_path_call *c = &p->call[i];

		c->parent = RAMA_PATH_NONE;
		c->link = RAMA_PATH_LINK_NONE;
		c->n_subs = 0;
		c->placed = c->cached = false;
		c->also = 0;
		p->below = p->below || c->role != RAMA_PATH_ROLE_APPLICATION;
		if (c->role != RAMA_PATH_ROLE_APPLICATION &&
		    (c->layer == RAMA_PATH_LAYER_POSIX || c->layer == RAMA_PATH_LAYER_STDIO))
			c->layer = RAMA_PATH_LAYER_DISK;
	}
}

static void find_end(struct rama_path *p, int64_t end)
{
	p->end = end;
	for (size_t i = 0; i < p->n; i++)
		if (p->call[i].role == RAMA_PATH_ROLE_APPLICATION && p->call[i].end > p->end)
			p->end = p->call[i].end;
}

int rama_path_join(struct rama_path *p, int64_t end)
{
	uint8_t *depth = malloc(p->n + 1);
	uint32_t *next = malloc((p->n + 1) * sizeof(*next));
	int rc = depth != NULL && next != NULL ? 0 : RAMA_EMEMORY;

	prepare(p);
	if (rc == 0)
		rc = rama_path_sort(p, NULL);
	if (rc == 0)
		rc = link_lanes(p);
	if (rc == 0 && p->below) {
		find_depths(p, depth); /* nobody is part of himself from here on */
		rc = rama_path_join_below(p);
	}
	if (rc == 0) {
		find_depths(p, depth);
		find_end(p, end);
		rc = list_subs(p, depth, next);
	}
	if (rc == 0)
		rc = rama_path_find_together(p);
	free(depth);
	free(next);
	return rc;
}
