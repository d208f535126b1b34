/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/server.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "path/join.h"

/* ---- below a call --------------------------------------------------------------------------- */

static void add_below(const struct rama_path_call *c, struct rama_path_below *to)
{
	bool request = c->layer == RAMA_PATH_LAYER_FUSE && rama_path_moves(c),
	     rpc = c->layer == RAMA_PATH_LAYER_CLIENT;

	to->requests += request;
	to->rpcs += rpc;
	to->disks += c->layer == RAMA_PATH_LAYER_DISK;
	to->later += (request || rpc) && c->link == RAMA_PATH_LINK_LATER;
	to->ahead += (request || rpc) && c->link == RAMA_PATH_LINK_AHEAD;
	if (request)
		to->bytes = rama_path_plus(to->bytes, c->bytes);
}

/* no deeper than RAMA_PATH_DEPTH */
static void walk_below(const struct rama_path *p, size_t call, struct rama_path_below *to)
{
	for (size_t i = 0; i < p->call[call].n_subs; i++) {
		size_t sub = rama_path_sub(p, call, i);

		add_below(&p->call[sub], to);
		walk_below(p, sub, to);
	}
}

void rama_path_below(const struct rama_path *p, size_t call, struct rama_path_below *to)
{
	*to = (struct rama_path_below){ 0 };
	if (call != RAMA_PATH_NONE) {
		walk_below(p, call, to);
		return;
	}
	for (size_t i = 0; i < p->n; i++)
		add_below(&p->call[i], to);
}

size_t rama_path_made_for(const struct rama_path *p, size_t call)
{
	while (p->call[call].role != RAMA_PATH_ROLE_APPLICATION &&
	       p->call[call].parent != RAMA_PATH_NONE)
		call = p->call[call].parent;
	return call;
}

const char *rama_path_server_of(const struct rama_path *p, size_t call)
{
	while (call != RAMA_PATH_NONE && p->call[call].layer != RAMA_PATH_LAYER_CLIENT)
		call = p->call[call].parent;
	return call != RAMA_PATH_NONE ? p->call[call].peer : "";
}

size_t rama_path_server_len(const char *name)
{
	return strcspn(name, " ");
}

void rama_path_race(const struct rama_path *p, size_t request, struct rama_path_race *to)
{
	const struct rama_path_call *f = &p->call[request];

	*to = (struct rama_path_race){ .last = RAMA_PATH_NONE, .other = f->start };
	for (size_t i = 0; i < f->n_subs; i++) {
		size_t sub = rama_path_sub(p, request, i);
		const struct rama_path_call *c = &p->call[sub];

		if (c->layer == RAMA_PATH_LAYER_CLIENT && rama_path_awaited(c->link) &&
		    (to->last == RAMA_PATH_NONE || c->end > to->end)) {
			to->last = sub;
			to->end = c->end;
		}
	}
	to->servers = to->last != RAMA_PATH_NONE;
	for (size_t i = 0; i < f->n_subs && to->servers > 0; i++) {
		const struct rama_path_call *c = &p->call[rama_path_sub(p, request, i)];

		if (c->layer == RAMA_PATH_LAYER_CLIENT && rama_path_awaited(c->link) &&
		    c->peer != p->call[to->last].peer) {
			to->other = to->servers == 1 || c->end > to->other ? c->end : to->other;
			to->servers = 2; /* at least */
		}
	}
}

/* ---- servers -------------------------------------------------------------------------------- */

struct sums {
	const struct rama_path *p;
	struct rama_path_servers *to;
	struct rama_map at; /* name -> index */
	struct {
		int64_t reach;
		uint64_t request; /* the last one that it had a part in, and 1 */
	} * state;		  /* of each */
	size_t state_room;
	int rc;
};

static struct rama_path_server *server_get(struct sums *s, const char *name, size_t *index)
{
	bool fresh;
	uint64_t *at = rama_map_put(&s->at, (uint64_t)(uintptr_t)name, &fresh);
	struct rama_path_servers *to = s->to;

	if (at == NULL || !RAMA_GROW(to->server, to->room, to->n + 1) ||
	    !RAMA_GROW(s->state, s->state_room, to->n + 1)) {
		s->rc = RAMA_EMEMORY;
		return NULL;
	}
	if (fresh) {
		*at = to->n;
		to->server[to->n] = (struct rama_path_server){ .name = name, .host = "" };
		s->state[to->n].reach = INT64_MIN;
		s->state[to->n++].request = 0;
	}
	*index = (size_t)*at;
	return &to->server[*at];
}

/* the request at the server itself, and its disk */
static void add_inside(const struct rama_path *p, size_t call, struct rama_path_server *to)
{
	const struct rama_path_call *c = &p->call[call];

	for (size_t i = 0; i < c->n_subs; i++) {
		size_t sub = rama_path_sub(p, call, i);
		const struct rama_path_call *s = &p->call[sub];
		struct rama_path_gaps g;

		if (s->layer != RAMA_PATH_LAYER_SERVER)
			continue;
		rama_path_gaps(p, sub, &g);
		to->seen++;
		to->host = s->host;
		to->known = rama_path_plus(to->known, c->end - c->start);
		to->inside = rama_path_plus(to->inside, s->end - s->start);
		to->disk = rama_path_plus(to->disk, g.inside);
		for (size_t k = 0; k < s->n_subs; k++)
			to->disks +=
				p->call[rama_path_sub(p, sub, k)].layer == RAMA_PATH_LAYER_DISK;
	}
}

static void add_rpc(struct sums *s, size_t call)
{
	const struct rama_path_call *c = &s->p->call[call];
	size_t i;
	struct rama_path_server *to = server_get(s, c->peer, &i);
	int64_t took = c->end - c->start;

	if (to == NULL)
		return;
	to->requests++;
	to->bytes = c->bytes > 0 ? rama_path_plus(to->bytes, c->bytes) : to->bytes;
	to->time = rama_path_plus(to->time, took);
	to->longest = took > to->longest ? took : to->longest;
	if (c->end > s->state[i].reach) {
		to->busy += c->end - (c->start > s->state[i].reach ? c->start : s->state[i].reach);
		s->state[i].reach = c->end;
	}
	add_inside(s->p, call, to);
}

/* who was last, and how much */
static void add_race(struct sums *s, size_t request)
{
	const struct rama_path_call *f = &s->p->call[request];
	struct rama_path_race race;
	struct rama_path_server *to;
	size_t at;

	rama_path_race(s->p, request, &race);
	if (race.servers < 2)
		return;
	for (size_t i = 0; i < f->n_subs; i++) {
		const struct rama_path_call *c = &s->p->call[rama_path_sub(s->p, request, i)];

		if (c->layer != RAMA_PATH_LAYER_CLIENT || !rama_path_awaited(c->link))
			continue;
		to = server_get(s, c->peer, &at);
		if (to != NULL && s->state[at].request != request + 1) {
			s->state[at].request = request + 1;
			to->shared++;
		}
	}
	to = server_get(s, s->p->call[race.last].peer, &at);
	if (to == NULL)
		return;
	to->last++;
	to->behind = rama_path_plus(to->behind, race.end - race.other);
}

static void add_call(struct sums *s, size_t call)
{
	if (s->p->call[call].layer == RAMA_PATH_LAYER_CLIENT)
		add_rpc(s, call);
	else if (s->p->call[call].layer == RAMA_PATH_LAYER_FUSE)
		add_race(s, call);
}

/* no deeper than RAMA_PATH_DEPTH */
static void add_tree(struct sums *s, size_t call)
{
	add_call(s, call);
	for (size_t i = 0; i < s->p->call[call].n_subs; i++)
		add_tree(s, rama_path_sub(s->p, call, i));
}

static void add_load(struct sums *s)
{
	for (size_t i = 0; i < s->p->n_loads; i++) {
		const struct rama_path_load *l = &s->p->load[i];
		struct rama_path_server *to;
		size_t at;

		if (*l->server == '\0' || l->layer != RAMA_PATH_LAYER_SERVER)
			continue;
		to = server_get(s, l->server, &at);
		if (to == NULL)
			return;
		to->load += l->count;
		to->load_bytes = rama_path_plus(to->load_bytes, l->bytes);
		to->load_time = rama_path_plus(to->load_time, l->time);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct rama_path_server *)a)->name,
		      ((const struct rama_path_server *)b)->name);
}

int rama_path_servers(const struct rama_path *p, size_t call, struct rama_path_servers *to)
{
	struct sums s = { .p = p, .to = to };

	*to = (struct rama_path_servers){ 0 };
	if (call != RAMA_PATH_NONE) {
		add_tree(&s, call);
	} else {
		for (size_t i = 0; i < p->n && s.rc == 0; i++)
			add_call(&s, i);
		add_load(&s);
	}
	if (to->n > 0)
		qsort(to->server, to->n, sizeof(*to->server), by_name);
	rama_map_fini(&s.at);
	free(s.state);
	return s.rc;
}

void rama_path_servers_fini(struct rama_path_servers *s)
{
	free(s->server);
	*s = (struct rama_path_servers){ 0 };
}
