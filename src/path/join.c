/* SPDX-License-Identifier: BSD-3-Clause */
/* join.c: requests find the calls they were made for.
 *
 *   application -> FUSE    the request names the thread, and a thread is in one call at a time;
 *                          of helper threads that no call knows: file and range
 *   FUSE -> CLIENT         the number that the daemon gave it; else thread and time: join_client.c
 *   CLIENT -> SERVER       (client, server, thread, operation, file, offset), the k-th to the k-th:
 *                          one thread has no two equal requests under way: join_server.c
 *   SERVER -> DISK         the thread of the server was in it: path.c
 *
 * Times are compared within a host only. Where two answers are possible there is no link. */
#include "path/join.h"

#include <stdlib.h>
#include <string.h>

#define SLACK RAMA_PATH_SLACK
#define PAGE 4096
#define LOOK_MOST RAMA_PATH_LOOK_MOST

struct join {
	struct rama_path *p;
	struct rama_path_groups threads; /* of the application: host, thread */
};

/* Done by another thread or by the kernel, while the thread that began it went on: it is no call
 * that the thread is in. */
static bool asynchronous(const struct rama_path_call *c)
{
	return strncmp(c->op, "aio_", 4) == 0 || strncmp(c->op, "lio_", 4) == 0 ||
	       strncmp(c->op, "io_", 3) == 0;
}

void rama_path_link(struct rama_path *p, size_t call, size_t parent, enum rama_path_link link)
{
	struct rama_path_call *c = &p->call[call];

	c->parent = parent;
	c->link = c->end > p->call[parent].end + SLACK && c->host == p->call[parent].host
			  ? RAMA_PATH_LINK_LATER
			  : link;
}

/* ---- applications and FUSE: by thread ------------------------------------------------------- */

static bool thread_of(const struct rama_path_call *c, struct rama_path_key *k)
{
	*k = (struct rama_path_key){ { (uintptr_t)c->host, c->kernel_tid } };
	return c->role == RAMA_PATH_ROLE_APPLICATION && c->kernel_tid != 0 && *c->host != '\0' &&
	       !asynchronous(c);
}

/* the group of the thread that a request is for */
static uint32_t thread_for(const struct join *j, const struct rama_path_call *c)
{
	struct rama_path_key k = { { (uintptr_t)c->host, c->tid } };

	return c->tid != 0 ? rama_path_groups_find(&j->threads, &k) : RAMA_PATH_GROUP_NONE;
}

/* the innermost call that the thread was in at a time: those of a thread are inside each other or
 * after each other */
static size_t call_at(const struct join *j, uint32_t group, int64_t when)
{
	uint32_t at = rama_path_groups_before(&j->threads, j->p, group, when);
	size_t call = at == UINT32_MAX ? RAMA_PATH_NONE : j->threads.call[at];

	while (call != RAMA_PATH_NONE && j->p->call[call].end < when)
		call = j->p->call[call].parent;
	return call;
}

/* Is it sure enough that the request is of this call, though it began beside it? What moves no
 * bytes may be of a call that is in no trace (fsync, close) and came right after. */
static size_t if_same_bytes(const struct join *j, size_t call, const struct rama_path_call *f)
{
	const struct rama_path_call *c = call != RAMA_PATH_NONE ? &j->p->call[call] : NULL;

	return c != NULL && rama_path_moves(f) && rama_path_moves(c) &&
			       rama_path_reads(f) == rama_path_reads(c) && rama_path_overlap(f, c)
		       ? call
		       : RAMA_PATH_NONE;
}

/* With slack: before it, or after it; not if both are possible. */
static size_t call_near(const struct join *j, uint32_t group, const struct rama_path_call *f)
{
	size_t now = call_at(j, group, f->start), before, after;

	if (now != RAMA_PATH_NONE)
		return now;
	before = if_same_bytes(j, call_at(j, group, f->start - SLACK), f);
	after = if_same_bytes(j, call_at(j, group, f->start + SLACK), f);
	if (before != RAMA_PATH_NONE && after != RAMA_PATH_NONE && before != after)
		return RAMA_PATH_NONE;
	return before != RAMA_PATH_NONE ? before : after;
}

/* A request that reads ahead: the next call of the thread that asks for these bytes while they are
 * on their way waits for it. */
static void link_ahead(struct join *j, size_t request, size_t call, uint32_t group)
{
	struct rama_path *p = j->p;
	const struct rama_path_call *f = &p->call[request], *c = &p->call[call];
	uint32_t at = rama_path_groups_before(&j->threads, p, group, c->start);

	for (unsigned n = 0; n < LOOK_MOST && ++at < j->threads.first[group + 1]; n++) {
		const struct rama_path_call *d = &p->call[j->threads.call[at]];

		if (d->start >= f->end)
			break;
		if (d->layer == RAMA_PATH_LAYER_POSIX && d->file_id == c->file_id &&
		    rama_path_reads(d) && rama_path_overlap(d, f)) {
			rama_path_link(p, request, j->threads.call[at], RAMA_PATH_LINK_RANGE);
			return;
		}
	}
	/* also if it took longer than the call: that did not want these bytes */
	p->call[request].parent = call;
	p->call[request].link = RAMA_PATH_LINK_AHEAD;
}

static void link_fuse(struct join *j, size_t request)
{
	struct rama_path *p = j->p;
	const struct rama_path_call *f = &p->call[request], *c;
	uint32_t group = thread_for(j, f);
	size_t call;

	if (group == RAMA_PATH_GROUP_NONE)
		return;
	call = call_near(j, group, f);
	if (call == RAMA_PATH_NONE)
		return;
	c = &p->call[call];
	if (c->layer == RAMA_PATH_LAYER_POSIX && rama_path_reads(c) && rama_path_reads(f) &&
	    rama_path_moves(c) && rama_path_moves(f) && !rama_path_overlap(c, f))
		link_ahead(j, request, call, group);
	else
		rama_path_link(p, request, call, RAMA_PATH_LINK_THREAD);
}

/* ---- applications and FUSE: by range -------------------------------------------------------- */

/* Which file of the application an object of a daemon is: learned from requests whose call is
 * known by thread, or from those that fit one file only. */
struct object {
	const struct rama_path_call *of; /* a call on its file; NULL: nobody knows */
	bool sure;			 /* by thread */
	bool several;			 /* it fits no single file */
};

static bool object_of(const struct rama_path_call *c, struct rama_path_key *k)
{
	*k = (struct rama_path_key){ { (uintptr_t)c->host, (uint64_t)c->pid, c->program,
				       c->object } };
	return c->layer == RAMA_PATH_LAYER_FUSE && c->role == RAMA_PATH_ROLE_FUSE && c->object != 0;
}

static void object_learn(struct object *o, const struct rama_path_call *call)
{
	if (o->of != NULL && o->of->file_id != call->file_id)
		o->several = true;
	o->of = call;
}

/* could a helper thread have made the request for this call? Requests are whole pages. */
static bool fits(const struct rama_path_call *c, const struct rama_path_call *f)
{
	int64_t before = c->off % PAGE, after = rama_path_range_end(c);

	if (c->end + SLACK < f->start || c->host != f->host ||
	    rama_path_reads(c) != rama_path_reads(f) || !rama_path_moves(c))
		return false;
	after = after <= INT64_MAX - PAGE && rama_path_reads(c) ? (after + PAGE - 1) / PAGE * PAGE
								: after;
	return f->off >= c->off - (rama_path_reads(c) ? before : 0) &&
	       rama_path_range_end(f) <= after;
}

/* the only call under way that fits; `o`: what is known of the file */
static size_t only_one(const struct join *j, const uint32_t *active, size_t n,
		       const struct rama_path_call *f, const struct object *o)
{
	size_t found = RAMA_PATH_NONE;

	for (size_t i = 0; i < n; i++) {
		const struct rama_path_call *c = &j->p->call[active[i]];

		if (!fits(c, f) || (o->of != NULL && o->of->file_id != c->file_id))
			continue;
		if (found != RAMA_PATH_NONE)
			return RAMA_PATH_NONE;
		found = active[i];
	}
	return found;
}

static bool has_helper(const struct rama_path_call *c)
{
	return c->role == RAMA_PATH_ROLE_APPLICATION && c->layer == RAMA_PATH_LAYER_POSIX &&
	       asynchronous(c) && rama_path_moves(c);
}

/* One walk over time with the calls that are under way. Twice: the first learns which file each
 * object is, the second links. */
static void walk_helpers(struct join *j, const struct rama_path_groups *objects, struct object *o,
			 bool link)
{
	struct rama_path *p = j->p;
	uint32_t active[LOOK_MOST];
	size_t n = 0;
	int64_t full_until = INT64_MIN; /* more were under way than are looked at */

	for (size_t i = 0; i < p->n; i++) {
		const struct rama_path_call *c = &p->call[i];
		size_t left = 0, call;

		if (!rama_path_of(p, i, RAMA_PATH_ONLY(POSIX) | RAMA_PATH_ONLY(FUSE)))
			continue;
		if (has_helper(c)) {
			for (size_t k = 0; n == LOOK_MOST && k < n; k++)
				if (p->call[active[k]].end + SLACK >= c->start)
					active[left++] = active[k];
			n = n == LOOK_MOST ? left : n;
			if (n < LOOK_MOST)
				active[n++] = (uint32_t)i;
			else if (c->end + SLACK > full_until)
				full_until = c->end + SLACK;
		}
		if (objects->of[i] == RAMA_PATH_GROUP_NONE || c->parent != RAMA_PATH_NONE ||
		    !rama_path_moves(c) || c->start <= full_until ||
		    thread_for(j, c) != RAMA_PATH_GROUP_NONE || o[objects->of[i]].several)
			continue;
		call = only_one(j, active, n, c, &o[objects->of[i]]);
		if (call == RAMA_PATH_NONE)
			o[objects->of[i]].several |= !link && o[objects->of[i]].of == NULL;
		else if (link)
			rama_path_link(p, i, call, RAMA_PATH_LINK_RANGE);
		else
			object_learn(&o[objects->of[i]], &p->call[call]);
	}
}

/* A file is one object: of several that seem to be the same those are others' that no thread
 * knows. */
static int claim_files(struct object *o, const struct rama_path *p,
		       const struct rama_path_groups *objects)
{
	struct rama_map files = { 0 }; /* file and daemon: index of its object, and 1 */
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < objects->n; i++) {
		const struct rama_path_key *k = &objects->key[i];
		uint64_t *at;
		bool fresh;

		if (o[i].of == NULL)
			continue;
		o[i].several = o[i].several || (p->partial && !o[i].sure);
		at = rama_map_put(&files,
				  (o[i].of->file_id ^ k->word[0] * 31 ^ k->word[1]) *
						  0xff51afd7ed558ccdu ^
					  k->word[2],
				  &fresh);
		if (at == NULL) {
			rc = RAMA_EMEMORY;
		} else if (fresh) {
			*at = i + 1;
		} else {
			struct object *other = &o[*at - 1];

			o[i].several = o[i].several || !o[i].sure;
			other->several = other->several || !other->sure;
			*at = o[i].sure ? i + 1 : *at;
		}
	}
	rama_map_fini(&files);
	return rc;
}

static bool has_helpers(const struct rama_path *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (rama_path_of(p, i, RAMA_PATH_ONLY(POSIX)) && has_helper(&p->call[i]))
			return true;
	return false;
}

/* glibc's AIO has threads of its own that no call knows */
static int link_helpers(struct join *j)
{
	struct rama_path *p = j->p;
	struct rama_path_groups objects;
	int rc = rama_path_groups_make(&objects, p, RAMA_PATH_ONLY(FUSE), object_of);
	struct object *o = calloc(objects.n + 1, sizeof(*o));

	if (o == NULL)
		rc = RAMA_EMEMORY;
	for (size_t i = 0; rc == 0 && i < p->n; i++) {
		const struct rama_path_call *c = &p->call[i];

		if (!rama_path_of(p, i, RAMA_PATH_ONLY(FUSE)) || c->parent == RAMA_PATH_NONE)
			continue;
		if (objects.of[i] != RAMA_PATH_GROUP_NONE && rama_path_moves(c) &&
		    p->call[c->parent].layer == RAMA_PATH_LAYER_POSIX) {
			object_learn(&o[objects.of[i]], &p->call[c->parent]);
			o[objects.of[i]].sure = true;
		}
	}
	if (rc == 0) {
		walk_helpers(j, &objects, o, false);
		rc = claim_files(o, p, &objects);
	}
	if (rc == 0)
		walk_helpers(j, &objects, o, true);
	free(o);
	rama_path_groups_fini(&objects);
	return rc;
}

/* ---- what it means -------------------------------------------------------------------------- */

static bool mount_of(const struct rama_path_call *c, struct rama_path_key *k)
{
	*k = (struct rama_path_key){ { (uintptr_t)c->host, (uintptr_t)c->mount } };
	return c->role == RAMA_PATH_ROLE_APPLICATION && c->mount != NULL;
}

/* Reads that made no request came from the page cache, if the daemon of their mount is observed:
 * requests of other calls there tell so. */
static int find_cached(struct rama_path *p)
{
	struct rama_path_groups mounts;
	int rc = rama_path_groups_make(&mounts, p, ~RAMA_PATH_BELOW, mount_of);
	bool *seen = calloc(mounts.n + 1, sizeof(*seen));
	bool *asked = calloc(p->n + 1, sizeof(*asked));

	if (seen == NULL || asked == NULL)
		rc = RAMA_EMEMORY;
	for (size_t i = 0; rc == 0 && i < p->n; i++) {
		size_t up;

		if (!rama_path_of(p, i, RAMA_PATH_ONLY(FUSE)))
			continue;
		up = p->call[i].parent;
		if (up == RAMA_PATH_NONE)
			continue;
		asked[up] = asked[up] || p->call[i].link != RAMA_PATH_LINK_AHEAD;
		if (mounts.of[up] != RAMA_PATH_GROUP_NONE)
			seen[mounts.of[up]] = true;
	}
	for (size_t i = 0; rc == 0 && i < p->n; i++)
		if (mounts.of[i] != RAMA_PATH_GROUP_NONE && seen[mounts.of[i]] &&
		    rama_path_of(p, i, RAMA_PATH_ONLY(POSIX)))
			p->call[i].cached = rama_path_reads(&p->call[i]) &&
					    rama_path_moves(&p->call[i]) &&
					    !asynchronous(&p->call[i]) && !asked[i];
	free(seen);
	free(asked);
	rama_path_groups_fini(&mounts);
	return rc;
}

/* ---- what is not of the job ----------------------------------------------------------------- */

static bool process_of(const struct rama_path_call *c, struct rama_path_key *k)
{
	*k = (struct rama_path_key){ { (uintptr_t)c->host, (uint64_t)c->pid, c->program } };
	return c->role != RAMA_PATH_ROLE_APPLICATION;
}

/* what clients call each server process; "" where no request is linked */
static const char **server_names(const struct rama_path *p, const struct rama_path_groups *g)
{
	const char **name = malloc((g->n + 1) * sizeof(*name));

	for (size_t i = 0; name != NULL && i < g->n; i++)
		name[i] = "";
	for (size_t i = 0; name != NULL && i < p->n; i++)
		if (rama_path_of(p, i, RAMA_PATH_ONLY(SERVER)) &&
		    p->call[i].parent != RAMA_PATH_NONE && g->of[i] != RAMA_PATH_GROUP_NONE)
			name[g->of[i]] = p->call[p->call[i].parent].peer;
	return name;
}

/* What logs say of others names a server as it calls itself: as its clients do from now on, if all
 * of them call it the same. */
static void name_loads(struct rama_path *p)
{
	for (size_t k = 0; k < p->n_loads; k++) {
		const char *name = NULL, *other = NULL;
		bool several = false;

		for (size_t i = 0; p->load[k].layer == RAMA_PATH_LAYER_SERVER && i < p->n; i++) {
			const struct rama_path_call *c = &p->call[i];

			if (!rama_path_of(p, i, RAMA_PATH_ONLY(SERVER)) ||
			    c->parent == RAMA_PATH_NONE || c->file == other)
				continue;
			if (strcmp(c->file, p->load[k].server) != 0) {
				other = c->file; /* texts are the same where their addresses are */
				continue;
			}
			several = several ||
				  (name != NULL && strcmp(name, p->call[c->parent].peer) != 0);
			name = p->call[c->parent].peer;
		}
		if (name != NULL && !several)
			p->load[k].server = name;
	}
}

enum done { DONE_UNKNOWN, DONE_FOR_NOBODY, DONE_FOR_CALL };

/* Is it a call of the application, or was it done for one? `known`: what was found before. */
static bool done_for_call(const struct rama_path *p, size_t call, uint8_t *known)
{
	size_t chain[RAMA_PATH_DEPTH], n = 0;
	uint8_t is = DONE_UNKNOWN;

	while (is == DONE_UNKNOWN && n < RAMA_PATH_DEPTH && call != RAMA_PATH_NONE) {
		is = known[call] != DONE_UNKNOWN			? known[call]
		     : p->call[call].role == RAMA_PATH_ROLE_APPLICATION ? DONE_FOR_CALL
									: DONE_UNKNOWN;
		chain[n++] = call;
		call = p->call[call].parent;
	}
	is = is == DONE_UNKNOWN ? DONE_FOR_NOBODY : is;
	while (n > 0)
		known[chain[--n]] = is;
	return is == DONE_FOR_CALL;
}

/* Numbers of threads are used again, also by other users; only a job of root acts as others. */
static bool may_be_ours(const struct rama_path *p, const struct rama_path_call *c)
{
	return c->user == 0 || p->uid <= 0 || c->user == (uint64_t)p->uid + 1;
}

/* is the request, or the one it is part of, made for a thread of the job? */
static bool of_job(const struct join *j, size_t call)
{
	for (unsigned n = 0; n < RAMA_PATH_DEPTH && call != RAMA_PATH_NONE; n++) {
		const struct rama_path_call *c = &j->p->call[call];

		if (c->role == RAMA_PATH_ROLE_FUSE && may_be_ours(j->p, c) &&
		    thread_for(j, c) != RAMA_PATH_GROUP_NONE)
			return true;
		call = c->parent;
	}
	return false;
}

/* a log of a server alone is that of whoever observed it: all of it is told */
static bool has_job(const struct rama_path *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->call[i].role == RAMA_PATH_ROLE_APPLICATION)
			return true;
	return false;
}

/* Calls that are not of the job become numbers. Those of its threads that are part of no call stay,
 * but what they touched is not told: a thread's number may be another's by then. */
static int mark_others(struct join *j, const struct rama_path_groups *g, const char **name,
		       uint8_t *known, bool *drop)
{
	struct rama_path *p = j->p;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->n; i++) {
		struct rama_path_call *c = &p->call[i];
		struct rama_path_load l = { .layer = p->layer[i], .count = 1 };

		if (done_for_call(p, i, known))
			continue;
		if (of_job(j, i)) {
			c->file = "";
			c->file_id = 0;
			continue;
		}
		drop[i] = true;
		l.server = c->layer == RAMA_PATH_LAYER_CLIENT ? c->peer : name[g->of[i]];
		l.bytes = c->bytes > 0 ? c->bytes : 0;
		l.time = c->end - c->start;
		rc = rama_path_add_load(p, &l);
	}
	return rc;
}

/* the first call that is not of the job; p->n: none */
static size_t first_other(const struct rama_path *p, uint8_t *known)
{
	size_t i = has_job(p) ? 0 : p->n;

	while (i < p->n && done_for_call(p, i, known))
		i++;
	return i;
}

/* moved: some are not where they were sorted */
static int drop_others(struct join *j, bool moved)
{
	struct rama_path *p = j->p;
	struct rama_path_groups g = { 0 };
	bool *drop = calloc(p->n + 1, sizeof(*drop));
	uint8_t *known = calloc(p->n + 1, sizeof(*known));
	int rc = drop != NULL && known != NULL ? 0 : RAMA_EMEMORY;

	name_loads(p);
	if (rc == 0 && first_other(p, known) < p->n) {
		const char **name = NULL;

		rc = rama_path_groups_make(&g, p, RAMA_PATH_ALL, process_of);
		if (rc == 0)
			name = server_names(p, &g);
		rc = name != NULL ? mark_others(j, &g, name, known, drop) : RAMA_EMEMORY;
		moved = true;
		free(name);
	}
	if (rc == 0 && moved)
		rc = rama_path_sort(p, drop);
	free(drop);
	free(known);
	rama_path_groups_fini(&g);
	return rc;
}

int rama_path_join_below(struct rama_path *p)
{
	struct join j = { .p = p };
	int rc = rama_path_groups_make(&j.threads, p, ~RAMA_PATH_BELOW, thread_of);
	bool moved = false;

	for (size_t i = 0; rc == 0 && i < p->n; i++)
		if (rama_path_of(p, i, RAMA_PATH_ONLY(FUSE)) &&
		    p->call[i].role == RAMA_PATH_ROLE_FUSE && p->call[i].parent == RAMA_PATH_NONE)
			link_fuse(&j, i);
	if (rc == 0 && has_helpers(p))
		rc = link_helpers(&j);
	if (rc == 0)
		rc = rama_path_join_clients(p);
	if (rc == 0)
		rc = rama_path_join_servers(p);
	if (rc == 0)
		rc = find_cached(p);
	if (rc == 0)
		rc = rama_path_place(p, &moved);
	if (rc == 0)
		rc = drop_others(&j, moved); /* sorts them again */
	rama_path_groups_fini(&j.threads);
	return rc;
}
