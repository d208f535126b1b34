/* SPDX-License-Identifier: BSD-3-Clause */
/* join_server.c: requests at a client and at the server it names: what both say of the request is
 * the same, and equal ones come in the same order. */
#include <stdlib.h>
#include <string.h>

#include "path/join.h"

#define SLACK RAMA_PATH_SLACK
#define NEIGHBOURS 4 /* requests before and after one that its clock is compared with */
#define DRIFT 5000   /* clocks differ by less than this part of the time that passes */
#define BOTH (RAMA_PATH_ONLY(CLIENT) | RAMA_PATH_ONLY(SERVER))
#define MARKED_MOST 64 /* requests with the same number, one for each server */

/* "HOST:PID:NAME", the client of a server; false: it is none */
static bool client_of(const char *peer, size_t *host_len, uint64_t *pid, const char **name)
{
	const char *last = strrchr(peer, ':'), *mid = last;
	char *end;

	while (mid != NULL && mid > peer && *--mid != ':')
		;
	if (mid == NULL || mid == peer || *mid != ':')
		return false;
	*host_len = (size_t)(mid - peer);
	*pid = strtoull(mid + 1, &end, 10);
	*name = last + 1;
	return end == last && end > mid + 1 && **name != '\0';
}

static uint64_t text_hash(const char *s, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
	return h ^ h >> 29;
}

/* The client, its process and the server that it asked, as both sides tell it; 0: that is not told.
 * Of texts it has a hash: of_each_other() compares them. */
static uint64_t pair_of(const struct rama_path_call *c)
{
	const char *name = c->peer, *host = c->host;
	size_t host_len = strlen(host);
	uint64_t pid = (uint64_t)c->pid, h;

	if (c->layer == RAMA_PATH_LAYER_SERVER) {
		host = c->peer;
		if (!client_of(c->peer, &host_len, &pid, &name))
			return 0;
	}
	if (*name == '\0' || host_len == 0)
		return 0;
	h = text_hash(host, host_len) ^ text_hash(name, strcspn(name, " ")) * 3;
	h = (h ^ pid) * 0xff51afd7ed558ccdu;
	return h != 0 ? h : 1;
}

#define REMEMBERED 256 /* a power of 2 */

/* There are few of them and many calls: the last ones are remembered. Texts are the same where
 * their addresses are. */
static int find_pairs(struct rama_path *p)
{
	const struct rama_path_call **known = calloc(REMEMBERED, sizeof(*known));

	if (known == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < p->n; i++) {
		struct rama_path_call *c = &p->call[i];
		const struct rama_path_call **at;
		uint64_t h;

		if (!rama_path_of(p, i, BOTH))
			continue;
		h = (uintptr_t)c->peer * 31 ^ (uintptr_t)c->host ^ (uint64_t)c->pid;
		at = &known[h * 0x9e3779b97f4a7c15u >> 32 & (REMEMBERED - 1)];
		if (*at != NULL && (*at)->peer == c->peer && (*at)->host == c->host &&
		    (*at)->pid == c->pid && (*at)->layer == c->layer) {
			c->pair = (*at)->pair;
		} else {
			c->pair = pair_of(c);
			*at = c;
		}
	}
	free(known);
	return 0;
}

/* a client and a server that name each other */
struct seen {
	const char *client, *server, *host;
	int64_t pid;
};

/* One key for both sides. */
static bool request_of(const struct rama_path_call *c, struct rama_path_key *k)
{
	*k = (struct rama_path_key){ { c->pair, c->tid, c->object,
				       (uint64_t)c->kind << 1 | c->write, (uint64_t)c->off } };
	return c->pair != 0;
}

/* Does the request of the client name this server, and that of the server this client? Their texts
 * are few: `seen` says which were compared last, and are the same where their addresses are. */
static bool of_each_other(const struct rama_path_call *c, const struct rama_path_call *s,
			  struct seen *seen)
{
	const char *name;
	size_t len;
	uint64_t pid;
	bool same = c->tid == s->tid && c->object == s->object && c->off == s->off;
	struct seen *at =
		&seen[((uintptr_t)c->peer * 31 ^ (uintptr_t)s->peer) * 0x9e3779b97f4a7c15u >> 32 &
		      (REMEMBERED - 1)];

	if (!same || (at->client == c->peer && at->server == s->peer && at->host == c->host &&
		      at->pid == c->pid))
		return same;
	if (!client_of(s->peer, &len, &pid, &name) || pid != (uint64_t)c->pid ||
	    strlen(c->host) != len || memcmp(c->host, s->peer, len) != 0 ||
	    strcspn(c->peer, " ") != strlen(name) || memcmp(c->peer, name, strlen(name)) != 0)
		return false;
	*at = (struct seen){ c->peer, s->peer, c->host, c->pid };
	return true;
}

/* the next request of a client from `at` on; n: none */
static size_t next_client(const struct rama_path *p, const uint32_t *call, size_t n, size_t at)
{
	while (at < n && p->call[call[at]].layer != RAMA_PATH_LAYER_CLIENT)
		at++;
	return at;
}

static void link_pair(struct rama_path *p, size_t server, size_t client, struct seen *seen)
{
	uint64_t a = p->call[client].mark, b = p->call[server].mark;

	if (p->call[server].parent == RAMA_PATH_NONE && (a == b || a == 0 || b == 0) &&
	    of_each_other(&p->call[client], &p->call[server], seen))
		rama_path_link(p, server, client, RAMA_PATH_LINK_ORDER);
}

/* On one host times tell which is which: equal requests of a thread are never under way together.
 * With slack before or after, but not if both are possible. */
static void link_by_time(struct rama_path *p, const uint32_t *call, size_t n, struct seen *seen)
{
	size_t last = n, next = next_client(p, call, n, 0), used = n;

	for (size_t i = 0; i < n; i++) {
		const struct rama_path_call *s = &p->call[call[i]];
		bool before, after;

		if (s->layer != RAMA_PATH_LAYER_SERVER)
			continue;
		while (next < n && p->call[call[next]].start <= s->start) {
			last = next;
			next = next_client(p, call, n, next + 1);
		}
		before = last < n && last != used && s->start <= p->call[call[last]].end + SLACK;
		after = next < n && s->start + SLACK >= p->call[call[next]].start &&
			!(before && s->start <= p->call[call[last]].end);
		if (before == after)
			continue;
		used = before ? last : next;
		link_pair(p, call[i], call[used], seen);
	}
}

/* Between hosts it is the k-th of both, if there are as many: else some are missing, and nobody
 * knows which. Nor did a server take longer than its client waited. */
static void link_by_count(struct rama_path *p, const uint32_t *call, size_t n, struct seen *seen)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		const struct rama_path_call *s = &p->call[call[i]], *c;

		if (s->layer != RAMA_PATH_LAYER_SERVER)
			continue;
		at = next_client(p, call, n, at);
		c = &p->call[call[at]];
		if (s->end - s->start <= c->end - c->start + SLACK)
			link_pair(p, call[i], call[at], seen);
		at++;
	}
}

/* equal requests of one thread at both sides, by start */
static void link_equal(struct rama_path *p, const uint32_t *call, size_t n, struct seen *seen)
{
	size_t clients = 0;
	bool one_host = true;

	for (size_t i = 0; i < n; i++) {
		clients += p->call[call[i]].layer == RAMA_PATH_LAYER_CLIENT;
		one_host = one_host && p->call[call[i]].host == p->call[call[0]].host;
	}
	if (clients == 0 || clients == n)
		return;
	if (one_host)
		link_by_time(p, call, n, seen);
	else if (clients * 2 == n)
		link_by_count(p, call, n, seen);
}

/* what was sent along with a request: the same number at both sides */
static bool mark_of(const struct rama_path_call *c, struct rama_path_key *k)
{
	*k = (struct rama_path_key){ { c->mark } };
	return (c->layer == RAMA_PATH_LAYER_CLIENT || c->layer == RAMA_PATH_LAYER_SERVER) &&
	       c->mark != 0;
}

static void link_marked(struct rama_path *p, const uint32_t *call, size_t n, struct seen *seen)
{
	for (size_t i = 0; i < n && n <= MARKED_MOST; i++) {
		const struct rama_path_call *s = &p->call[call[i]];
		size_t found = RAMA_PATH_NONE, several = 0;

		if (s->layer != RAMA_PATH_LAYER_SERVER || s->parent != RAMA_PATH_NONE)
			continue;
		for (size_t k = 0; k < n; k++)
			if (p->call[call[k]].layer == RAMA_PATH_LAYER_CLIENT &&
			    of_each_other(&p->call[call[k]], s, seen)) {
				found = call[k];
				several++;
			}
		if (several == 1)
			rama_path_link(p, call[i], found, RAMA_PATH_LINK_ID);
	}
}

/* ---- clocks --------------------------------------------------------------------------------- */

/* pairs of hosts whose clocks are compared */
static bool clocks_of(const struct rama_path_call *c, struct rama_path_key *k)
{
	const char *name;
	uint64_t pid;
	size_t len;

	if (c->layer != RAMA_PATH_LAYER_SERVER || c->parent == RAMA_PATH_NONE ||
	    !client_of(c->peer, &len, &pid, &name))
		return false;
	*k = (struct rama_path_key){ { (uintptr_t)c->host, text_hash(c->peer, len) } };
	return true;
}

/* what the clocks of both hosts differ by if the link is right, and how sure that is */
struct differ {
	int64_t by, about, when;
	bool wrong;
};

/* Clocks drift slowly: what two requests say of them is the same if they are near each other. */
static bool agree(const struct differ *a, const struct differ *b)
{
	int64_t apart = a->by > b->by ? a->by - b->by : b->by - a->by,
		time = a->when > b->when ? a->when - b->when : b->when - a->when;

	return apart <= a->about + b->about + SLACK + time / DRIFT;
}

/* Where records are missing at both sides there may be as many of them nonetheless: then a request
 * says something else of the clocks than those before and after it, and has no link. */
static int check_clocks(struct rama_path *p, const uint32_t *call, size_t n)
{
	struct differ *d = malloc((n + 1) * sizeof(*d));

	if (d == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < n; i++) {
		const struct rama_path_call *s = &p->call[call[i]], *c = &p->call[s->parent];

		d[i].by = (c->start / 2 + c->end / 2) - (s->start / 2 + s->end / 2);
		d[i].about = ((c->end - c->start) - (s->end - s->start)) / 2;
		d[i].about = d[i].about > 0 ? d[i].about : 0;
		d[i].when = s->start;
	}
	for (size_t i = 0; i < n; i++) {
		size_t from = i > NEIGHBOURS ? i - NEIGHBOURS : 0,
		       to = i + NEIGHBOURS < n ? i + NEIGHBOURS + 1 : n, agreed = 0;

		for (size_t k = from; k < to; k++)
			agreed += k != i && agree(&d[i], &d[k]);
		d[i].wrong = agreed * 2 < to - from - 1;
	}
	for (size_t i = 0; i < n; i++)
		if (d[i].wrong && p->call[call[i]].link == RAMA_PATH_LINK_ORDER) {
			p->call[call[i]].parent = RAMA_PATH_NONE;
			p->call[call[i]].link = RAMA_PATH_LINK_NONE;
		}
	free(d);
	return 0;
}

static bool has_far_servers(const struct rama_path *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (rama_path_of(p, i, RAMA_PATH_ONLY(SERVER)) &&
		    p->call[i].parent != RAMA_PATH_NONE &&
		    p->call[p->call[i].parent].host != p->call[i].host)
			return true;
	return false;
}

static int check_links(struct rama_path *p)
{
	struct rama_path_groups g;
	int rc;

	if (!has_far_servers(p))
		return 0;
	rc = rama_path_groups_make(&g, p, RAMA_PATH_ONLY(SERVER), clocks_of);
	for (size_t i = 0; rc == 0 && i < g.n; i++) {
		const struct rama_path_call *s = &p->call[g.call[g.first[i]]];

		if (p->call[s->parent].host != s->host)
			rc = check_clocks(p, g.call + g.first[i], g.first[i + 1] - g.first[i]);
	}
	rama_path_groups_fini(&g);
	return rc;
}

int rama_path_join_servers(struct rama_path *p)
{
	struct seen *seen = calloc(REMEMBERED, sizeof(*seen));
	struct rama_path_groups g = { 0 };
	int rc = seen != NULL ? rama_path_groups_make(&g, p, BOTH, mark_of) : RAMA_EMEMORY;

	for (size_t i = 0; rc == 0 && i < g.n; i++)
		link_marked(p, g.call + g.first[i], g.first[i + 1] - g.first[i], seen);
	rama_path_groups_fini(&g);
	if (rc == 0)
		rc = find_pairs(p);
	if (rc == 0)
		rc = rama_path_groups_make(&g, p, BOTH, request_of);
	for (size_t i = 0; rc == 0 && i < g.n; i++)
		link_equal(p, g.call + g.first[i], g.first[i + 1] - g.first[i], seen);
	rama_path_groups_fini(&g);
	free(seen);
	return rc == 0 ? check_links(p) : rc;
}

/* ---- places --------------------------------------------------------------------------------- */

/* the request at a server that a call is part of, itself included; RAMA_PATH_NONE */
static size_t server_of(const struct rama_path *p, size_t call)
{
	for (unsigned n = 0; n < RAMA_PATH_DEPTH && call != RAMA_PATH_NONE; n++) {
		if (p->call[call].layer == RAMA_PATH_LAYER_SERVER)
			return call;
		call = p->call[call].parent;
	}
	return RAMA_PATH_NONE;
}

int rama_path_place(struct rama_path *p, bool *any)
{
	int64_t *shift = calloc(p->n + 1, sizeof(*shift));
	bool *moved = calloc(p->n + 1, sizeof(*moved));
	int rc = shift != NULL && moved != NULL ? 0 : RAMA_EMEMORY;

	for (size_t i = 0; rc == 0 && i < p->n; i++) {
		struct rama_path_call *s = &p->call[i];
		const struct rama_path_call *c;
		int64_t gap;

		if (!rama_path_of(p, i, RAMA_PATH_ONLY(SERVER)) || s->parent == RAMA_PATH_NONE ||
		    p->call[s->parent].host == s->host)
			continue;
		c = &p->call[s->parent];
		gap = (c->end - c->start) - (s->end - s->start);
		shift[i] = c->start + (gap > 0 ? gap / 2 : 0) - s->start;
		moved[i] = *any = true;
	}
	for (size_t i = 0; rc == 0 && *any && i < p->n; i++) {
		size_t s = server_of(p, i);

		if (s == RAMA_PATH_NONE || !moved[s])
			continue;
		p->call[i].start += shift[s];
		p->call[i].end += shift[s];
		p->call[i].placed = true;
	}
	free(shift);
	free(moved);
	return rc;
}
