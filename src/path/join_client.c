/* SPDX-License-Identifier: BSD-3-Clause */
/* join_client.c: requests of the kernel at a daemon, and requests to servers that they became. */
#include <stdlib.h>

#include "path/join.h"

#define SLACK RAMA_PATH_SLACK
#define LOOK_MOST RAMA_PATH_LOOK_MOST
#define KNOWN 64

/* requests of the kernel and what they became: the number that the daemon gave both */
static bool number_of(const struct rama_path_call *c, struct rama_path_key *k)
{
	uint64_t number = c->layer == RAMA_PATH_LAYER_FUSE ? c->mark : c->unique;

	*k = (struct rama_path_key){ { (uintptr_t)c->host, (uint64_t)c->pid, c->program, number } };
	return (c->layer == RAMA_PATH_LAYER_FUSE || c->layer == RAMA_PATH_LAYER_CLIENT) &&
	       c->role == RAMA_PATH_ROLE_FUSE && number != 0;
}

/* requests that a daemon has for one thread */
static bool fuse_thread_of(const struct rama_path_call *c, struct rama_path_key *k)
{
	*k = (struct rama_path_key){ { (uintptr_t)c->host, (uint64_t)c->pid, c->program, c->tid } };
	return c->layer == RAMA_PATH_LAYER_FUSE && c->role == RAMA_PATH_ROLE_FUSE && c->tid != 0;
}

static void link_numbered(struct rama_path *p, const struct rama_path_groups *numbers)
{
	for (size_t g = 0; g < numbers->n; g++) {
		size_t fuse = RAMA_PATH_NONE;
		unsigned several = 0;

		for (uint32_t i = numbers->first[g]; i < numbers->first[g + 1]; i++)
			if (p->call[numbers->call[i]].layer == RAMA_PATH_LAYER_FUSE) {
				fuse = numbers->call[i];
				several++;
			}
		for (uint32_t i = numbers->first[g]; i < numbers->first[g + 1] && several == 1;
		     i++) {
			struct rama_path_call *c = &p->call[numbers->call[i]];

			if (c->layer == RAMA_PATH_LAYER_CLIENT && c->parent == RAMA_PATH_NONE &&
			    c->start + SLACK >= p->call[fuse].start)
				rama_path_link(p, numbers->call[i], fuse, RAMA_PATH_LINK_ID);
		}
	}
}

/* requests that daemons have, thread by thread */
struct waiting {
	struct rama_path_groups by;
	int64_t *reach; /* beside by.call: the last end of these and all before them */
	struct rama_map
		same; /* object of a CLIENT call, in its process: that of its FUSE request */
	bool *served; /* of each call: a request to a server was made while it lasted */
};

/* objects of clients have other numbers than those of FUSE: learned from what is certain */
static uint64_t object_key(const struct rama_path_call *c)
{
	return (c->object ^ (uint64_t)c->pid * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu ^
	       (uint64_t)(uintptr_t)c->host;
}

static int learn_served(struct waiting *w, const struct rama_path *p)
{
	uint64_t known[KNOWN] = { 0 }; /* keys that were met, there are few */

	w->served = calloc(p->n + 1, sizeof(*w->served));
	if (w->served == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < p->n; i++) {
		const struct rama_path_call *c = &p->call[i];
		uint64_t *at, key;
		bool fresh;

		if (!rama_path_of(p, i, RAMA_PATH_ONLY(CLIENT)) || c->parent == RAMA_PATH_NONE)
			continue;
		w->served[c->parent] = true;
		if (c->object == 0 || p->call[c->parent].object == 0)
			continue;
		key = object_key(c);
		if (known[key % KNOWN] == key)
			continue;
		known[key % KNOWN] = key;
		at = rama_map_put(&w->same, key, &fresh);
		if (at == NULL)
			return RAMA_EMEMORY;
		if (fresh)
			*at = p->call[c->parent].object;
	}
	return 0;
}

static int waiting_make(struct waiting *w, const struct rama_path *p)
{
	int rc = rama_path_groups_make(&w->by, p, RAMA_PATH_ONLY(FUSE), fuse_thread_of);

	w->reach = malloc((w->by.n_calls + 1) * sizeof(*w->reach));
	if (rc != 0 || w->reach == NULL)
		return RAMA_EMEMORY;
	for (size_t g = 0; g < w->by.n; g++) {
		int64_t most = INT64_MIN;

		for (uint32_t i = w->by.first[g]; i < w->by.first[g + 1]; i++) {
			int64_t end = p->call[w->by.call[i]].end;

			most = end > most ? end : most;
			w->reach[i] = most;
		}
	}
	return learn_served(w, p);
}

static void waiting_fini(struct waiting *w)
{
	rama_path_groups_fini(&w->by);
	rama_map_fini(&w->same);
	free(w->reach);
	free(w->served);
}

/* the place in w->by.call of the last request of the thread of `c` that began before it */
static uint32_t waiting_before(const struct waiting *w, const struct rama_path *p,
			       const struct rama_path_call *c, uint32_t *group)
{
	struct rama_path_key k = { { (uintptr_t)c->host, (uint64_t)c->pid, c->program, c->tid } };

	*group = c->tid != 0 ? rama_path_groups_find(&w->by, &k) : RAMA_PATH_GROUP_NONE;
	return *group != RAMA_PATH_GROUP_NONE ? rama_path_groups_before(&w->by, p, *group, c->start)
					      : UINT32_MAX;
}

/* the only request of its thread that was under way when `c` began */
static size_t under_way(const struct waiting *w, const struct rama_path *p,
			const struct rama_path_call *c)
{
	size_t found = RAMA_PATH_NONE;
	uint32_t group, at = waiting_before(w, p, c, &group);

	for (unsigned n = 0; at != UINT32_MAX && w->reach[at] >= c->start; n++) {
		if (n == LOOK_MOST)
			return RAMA_PATH_NONE;
		if (p->call[w->by.call[at]].end >= c->start) {
			if (found != RAMA_PATH_NONE)
				return RAMA_PATH_NONE;
			found = w->by.call[at];
		}
		at = at > w->by.first[group] ? at - 1 : UINT32_MAX;
	}
	return found;
}

/* What was written before and is sent now: the last requests of the thread that wrote these bytes
 * of one file. The first of them has it, the others are counted; none of them waited for it. */
static void link_behind(const struct waiting *w, const struct rama_path *p,
			struct rama_path_call *c)
{
	uint32_t group, at = waiting_before(w, p, c, &group), n_found = 0;
	uint64_t *same = rama_map_get(&w->same, object_key(c)), object = same != NULL ? *same : 0;
	size_t first = RAMA_PATH_NONE;
	int64_t missing = c->bytes;

	if (!c->write || !rama_path_moves(c))
		return;
	for (unsigned n = 0; n < LOOK_MOST && at != UINT32_MAX && missing > 0; n++) {
		const struct rama_path_call *f = &p->call[w->by.call[at]];
		int64_t from = f->off > c->off ? f->off : c->off,
			to = rama_path_range_end(f) < rama_path_range_end(c)
				     ? rama_path_range_end(f)
				     : rama_path_range_end(c);

		if (f->write && rama_path_moves(f) && rama_path_overlap(f, c) &&
		    !w->served[w->by.call[at]] && (same == NULL || f->object == object)) {
			if (f->object == 0 || (object != 0 && f->object != object))
				return; /* it could be that of another file */
			object = f->object;
			first = w->by.call[at];
			missing -= to - from;
			n_found++;
		}
		at = at > w->by.first[group] ? at - 1 : UINT32_MAX;
	}
	if (n_found == 0)
		return;
	c->parent = first;
	c->link = RAMA_PATH_LINK_LATER;
	c->also = n_found - 1;
}

/* A request of the kernel becomes one request of the daemon, with one number: of two that seem to
 * be the same one is wrong. */
static int check_numbers(struct rama_path *p)
{
	uint64_t *number = calloc(p->n + 1, sizeof(*number));
	bool *several = calloc(p->n + 1, sizeof(*several));
	int rc = number != NULL && several != NULL ? 0 : RAMA_EMEMORY;

	for (size_t i = 0; rc == 0 && i < p->n; i++) {
		const struct rama_path_call *c = &p->call[i];

		if (!rama_path_of(p, i, RAMA_PATH_ONLY(CLIENT)) ||
		    c->link != RAMA_PATH_LINK_THREAD || c->unique == 0)
			continue;
		several[c->parent] = several[c->parent] ||
				     (number[c->parent] != 0 && number[c->parent] != c->unique);
		number[c->parent] = c->unique;
	}
	for (size_t i = 0; rc == 0 && i < p->n; i++) {
		struct rama_path_call *c = &p->call[i];

		if (rama_path_of(p, i, RAMA_PATH_ONLY(CLIENT)) &&
		    c->link == RAMA_PATH_LINK_THREAD && several[c->parent]) {
			c->parent = RAMA_PATH_NONE;
			c->link = RAMA_PATH_LINK_NONE;
		}
	}
	free(number);
	free(several);
	return rc;
}

int rama_path_join_clients(struct rama_path *p)
{
	struct rama_path_groups numbers;
	struct waiting w = { 0 };
	int rc = rama_path_groups_make(&numbers, p, RAMA_PATH_ONLY(FUSE) | RAMA_PATH_ONLY(CLIENT),
				       number_of);

	if (rc == 0) {
		link_numbered(p, &numbers);
		rc = waiting_make(&w, p);
	}
	for (size_t i = 0; rc == 0 && i < p->n; i++) {
		struct rama_path_call *c = &p->call[i];
		size_t fuse;

		if (!rama_path_of(p, i, RAMA_PATH_ONLY(CLIENT)) || c->role != RAMA_PATH_ROLE_FUSE ||
		    c->parent != RAMA_PATH_NONE)
			continue;
		fuse = under_way(&w, p, c);
		if (fuse == RAMA_PATH_NONE || c->end > p->call[fuse].end + SLACK)
			continue;
		/* the right one may be lost */
		if (p->partial && (c->off != p->call[fuse].off || c->bytes != p->call[fuse].bytes))
			continue;
		rama_path_link(p, i, fuse, RAMA_PATH_LINK_THREAD);
		w.served[fuse] = true;
	}
	if (rc == 0)
		rc = check_numbers(p);
	for (size_t i = 0; rc == 0 && !p->partial && i < p->n; i++)
		if (rama_path_of(p, i, RAMA_PATH_ONLY(CLIENT)) &&
		    p->call[i].role == RAMA_PATH_ROLE_FUSE && p->call[i].parent == RAMA_PATH_NONE)
			link_behind(&w, p, &p->call[i]);
	rama_path_groups_fini(&numbers);
	waiting_fini(&w);
	return rc;
}
