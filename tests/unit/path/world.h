/* SPDX-License-Identifier: BSD-3-Clause */
/* world.h: a made-up job on a parallel file system, whose maker knows what each request was made
 * for: threads of ranks on hosts, FUSE daemons, servers with clocks of their own, disks, and others
 * who use the same servers. Calls carry their number as the name of their operation. */
#ifndef RAMA_TESTS_PATH_WORLD_H
#define RAMA_TESTS_PATH_WORLD_H

#include <stdio.h>
#include <stdlib.h>

#include "path/path.h"
#include "table/fn.h"
#include "unit.h"

#define WORLD_REQUEST 131072
#define WORLD_NOBODY UINT32_MAX

struct world {
	/* asked for */
	unsigned hosts, servers, ranks, threads, steps; /* ranks: of each host */
	bool far;					/* servers on hosts of their own */
	bool marks;					/* the daemon tells what requests became */
	bool ids;					/* numbers are sent along */
	unsigned lost;					/* of 100 records of requests */
	bool behind, direct, helpers, others;
	struct rng rng;
	/* made */
	struct rama_path p;
	uint32_t *truth;  /* what each call is part of, WORLD_NOBODY */
	uint32_t *merged; /* of what was written behind: the last of several that it is part of */
	size_t n, room;
	uint64_t unique, mark;
	unsigned daemon;
	uint32_t disk_id;
};

static int64_t world_us(struct world *w, unsigned least, unsigned most)
{
	return 1000 * (int64_t)(least + rng_below(&w->rng, most - least + 1)) +
	       (int64_t)rng_below(&w->rng, 1000);
}

static bool world_chance(struct world *w, unsigned percent)
{
	return rng_below(&w->rng, 100) < percent;
}

/* its number; `may_go`: sometimes its record is lost */
static uint32_t world_add(struct world *w, struct rama_path_call *c, uint32_t part_of,
			  const char *prefix, bool may_go)
{
	char op[32];
	int len = snprintf(op, sizeof(op), "%s%zu", prefix, w->n);

	if (w->n == w->room) {
		w->room = w->room == 0 ? 1024 : 2 * w->room;
		w->truth = realloc(w->truth, w->room * sizeof(*w->truth));
		w->merged = realloc(w->merged, w->room * sizeof(*w->merged));
		if (w->truth == NULL || w->merged == NULL)
			abort();
	}
	c->op = op;
	if (c->file == NULL)
		c->file = "/mnt/f";
	w->truth[w->n] = part_of;
	w->merged[w->n] = part_of;
	if (!(may_go && w->lost > 0 && world_chance(w, w->lost)) &&
	    rama_path_add(&w->p, c, (size_t)len) != 0)
		abort();
	c->op = NULL; /* it was copied */
	return (uint32_t)w->n++;
}

static inline uint32_t world_number(const struct rama_path_call *c)
{
	const char *s = c->op;

	while (*s < '0' || *s > '9')
		s++;
	return (uint32_t)strtoul(s, NULL, 10);
}

/* what one thread of the application is, and where it stands */
struct world_thread {
	unsigned host, rank, number;
	char host_name[16];
	uint64_t tid;
	uint32_t id;
	int64_t now;
	int64_t off;
	uint64_t file;
};

static struct rama_path_call world_call(const struct world_thread *t, uint8_t layer, bool write)
{
	return (struct rama_path_call){ .rank = t->rank,
					.pid = 1000 + t->rank,
					.lane = t->number,
					.kernel_tid = t->tid,
					.layer = layer,
					.write = write,
					.kind = write ? RAMA_TAB_OP_WRITE : RAMA_TAB_OP_READ,
					.host = t->host_name,
					.mount = "/mnt",
					.file_id = t->file };
}

/* One RPC and what the server did of it, from `from` on; returns its end. */
static int64_t world_rpc(struct world *w, const struct world_thread *t, unsigned server,
			 uint32_t fuse, uint64_t unique, const struct rama_path_call *request,
			 int64_t from)
{
	char host[16], client_peer[48], server_peer[48];
	int64_t there = world_us(w, 25, 80), disk = world_us(w, 30, 300),
		queue = world_us(w, 5, 60), back = world_us(w, 25, 80),
		end = from + there + queue + disk + 5000 + back,
		clock = w->far ? (int64_t)(server + 1) * 777777777 : 0;
	struct rama_path_call c = *request, s, d;
	uint32_t client, number;

	snprintf(host, sizeof(host), w->far ? "server%u" : "host%u", w->far ? server : t->host);
	snprintf(client_peer, sizeof(client_peer), "vol-client-%u server%u:49152", server, server);
	snprintf(server_peer, sizeof(server_peer), "host%u:50:vol-client-%u", t->host, server);
	c.layer = RAMA_PATH_LAYER_CLIENT;
	c.start = from;
	c.end = end;
	c.lane = 7 + server;
	c.object = request->object * 31 + 7;
	c.unique = unique;
	c.mark = w->ids ? ++w->mark : 0;
	c.peer = client_peer;
	client = world_add(w, &c, fuse, "c", true);
	s = c;
	s.layer = RAMA_PATH_LAYER_SERVER;
	s.role = RAMA_PATH_ROLE_SERVER;
	s.host = host;
	s.pid = 60 + server;
	s.lane = server_peer[4] - '0';
	s.lane = rng_below(&w->rng, 4);
	s.thread = 6000 + s.lane;
	s.id = ++w->disk_id;
	s.unique = 0;
	s.start = from + there - clock;
	s.end = s.start + queue + disk + 5000;
	s.peer = server_peer;
	number = world_add(w, &s, client, "s", true);
	d = s;
	d.layer = RAMA_PATH_LAYER_POSIX;
	d.start = s.start + queue;
	d.end = d.start + disk;
	d.parent_id = s.id;
	d.id = ++w->disk_id;
	d.tid = d.mark = d.object = 0;
	d.peer = "";
	world_add(w, &d, number, "d", false);
	return end;
}

/* One request of the kernel, for thread `tid`, with RPCs to all servers; returns its end. */
static int64_t world_request(struct world *w, const struct world_thread *t, uint64_t tid,
			     uint32_t call, bool write, int64_t off, int64_t bytes, int64_t from)
{
	struct rama_path_call f = { .rank = -1,
				    .pid = 50,
				    .lane = 1,
				    .thread = 5000,
				    .role = RAMA_PATH_ROLE_FUSE,
				    .layer = RAMA_PATH_LAYER_FUSE,
				    .write = write,
				    .kind = write ? RAMA_TAB_OP_WRITE : RAMA_TAB_OP_READ,
				    .host = t->host_name,
				    .file = "/f",
				    .object = 100 + t->file,
				    .tid = tid,
				    .off = off,
				    .bytes = bytes,
				    .start = from };
	uint64_t unique = ++w->unique * 3;
	int64_t end = from + 20000, rpc = from + world_us(w, 10, 30);
	uint32_t number = (uint32_t)(w->n + 3 * w->servers);

	f.unique = 2 * w->unique;
	f.mark = w->marks ? unique : 0;
	/* those below are told before it: their number is known, its own comes last */
	for (unsigned s = 0; s < w->servers; s++) {
		int64_t done = world_rpc(w, t, s, number, unique, &f, rpc);

		end = done > end ? done : end;
	}
	f.end = end + world_us(w, 5, 20);
	world_add(w, &f, call, "f", true);
	return f.end;
}

/* requests of a call, one after the other or all at once */
static int64_t world_requests(struct world *w, const struct world_thread *t, uint32_t call,
			      bool write, int64_t off, int64_t bytes, int64_t from, bool at_once)
{
	int64_t end = from;

	for (int64_t done = 0; done < bytes; done += WORLD_REQUEST) {
		int64_t n = bytes - done < WORLD_REQUEST ? bytes - done : WORLD_REQUEST,
			over = world_request(w, t, t->tid, call, write, off + done, n,
					     at_once ? from + world_us(w, 1, 20) : from);

		end = over > end ? over : end;
		from = at_once ? from : end + world_us(w, 10, 60);
	}
	return end;
}

/* a call and its requests; the call's number is known before it is added */
static void world_move(struct world *w, struct world_thread *t, bool write, bool mpi, bool at_once)
{
	struct rama_path_call c = world_call(t, RAMA_PATH_LAYER_POSIX, write), m;
	int64_t bytes = (int64_t)(1 + rng_below(&w->rng, 5)) * WORLD_REQUEST - 4096;
	size_t requests = (size_t)((bytes + WORLD_REQUEST - 1) / WORLD_REQUEST);
	uint32_t number = (uint32_t)(w->n + requests * (1 + 3 * w->servers));

	c.off = t->off;
	c.bytes = bytes;
	m = c;
	m.layer = RAMA_PATH_LAYER_MPIIO;
	m.start = t->now;
	t->now += mpi ? world_us(w, 50, 500) : 0;
	c.start = t->now;
	c.id = t->id + 1 + mpi;
	c.parent_id = mpi ? t->id + 1 : 0;
	m.id = t->id + 1;
	t->now = world_requests(w, t, number, write, c.off, bytes, t->now + world_us(w, 85, 200),
				at_once);
	t->now += world_us(w, 21, 60);
	c.end = t->now;
	world_add(w, &c, mpi ? number + 1 : WORLD_NOBODY, "p", false);
	if (mpi) {
		m.end = t->now += world_us(w, 30, 300);
		world_add(w, &m, WORLD_NOBODY, "m", false);
	}
	t->id += 2;
	t->off = world_chance(w, 30) ? 0 : t->off + bytes;
}

/* nonblocking: a helper thread that nobody knows makes the requests */
static void world_helped(struct world *w, struct world_thread *t)
{
	struct rama_path_call c = world_call(t, RAMA_PATH_LAYER_POSIX, true);
	uint64_t tid = 90000 + t->tid;
	uint32_t number = (uint32_t)(w->n + 1 + 3 * w->servers);

	c.off = t->off;
	c.bytes = WORLD_REQUEST;
	c.start = t->now;
	c.id = ++t->id;
	t->now = world_request(w, t, tid, number, true, c.off, c.bytes, t->now + 90000) + 30000;
	c.end = t->now;
	world_add(w, &c, WORLD_NOBODY, "aio_", false);
	t->off += WORLD_REQUEST;
}

/* a read that the page cache answers */
static void world_cached(struct world *w, struct world_thread *t)
{
	struct rama_path_call c = world_call(t, RAMA_PATH_LAYER_POSIX, false);

	c.bytes = 4096;
	c.start = t->now;
	c.id = ++t->id;
	c.end = t->now += world_us(w, 1, 8);
	world_add(w, &c, WORLD_NOBODY, "cached", false);
}

/* Several small writes that the client answers at once and sends together, later. */
static void world_behind(struct world *w, struct world_thread *t)
{
	unsigned n = 1 + (unsigned)rng_below(&w->rng, 4);
	struct rama_path_call f = { .rank = -1,
				    .pid = 50,
				    .lane = 1,
				    .role = RAMA_PATH_ROLE_FUSE,
				    .layer = RAMA_PATH_LAYER_FUSE,
				    .write = true,
				    .kind = RAMA_TAB_OP_WRITE,
				    .host = t->host_name,
				    .file = "/f",
				    .object = 100 + t->file,
				    .tid = t->tid };
	int64_t first = t->off;
	uint32_t fuse[4] = { 0 }, number;

	for (unsigned i = 0; i < n; i++) {
		struct rama_path_call c = world_call(t, RAMA_PATH_LAYER_POSIX, true);

		c.off = f.off = t->off;
		c.bytes = f.bytes = 4096;
		c.start = t->now;
		f.start = c.start + 90000;
		f.end = f.start + 8000;
		f.unique = 2 * ++w->unique;
		c.end = t->now = f.end + 30000;
		c.id = ++t->id;
		number = world_add(w, &c, WORLD_NOBODY, "b", false);
		fuse[i] = world_add(w, &f, number, "f", false);
		t->off += 4096;
		t->now += 5000;
	}
	f.off = first;
	f.bytes = 4096 * n;
	for (unsigned s = 0; s < w->servers; s++) {
		number = (uint32_t)w->n;
		world_rpc(w, t, s, fuse[0], 0, &f, t->now);
		w->merged[number] = fuse[n - 1];
	}
	t->now += 2000000; /* over before anything else begins */
}

/* what other users do: must never be told */
static void world_other(struct world *w, struct world_thread *t)
{
	struct world_thread o = *t;

	o.tid = 70000 + t->tid;
	o.file = 99;
	world_request(w, &o, o.tid, WORLD_NOBODY, world_chance(w, 50), o.off, WORLD_REQUEST, o.now);
}

static void world_step(struct world *w, struct world_thread *t)
{
	unsigned what = (unsigned)rng_below(&w->rng, 10);

	if (w->others && world_chance(w, 30))
		world_other(w, t);
	if (what == 0 && w->helpers)
		world_helped(w, t);
	else if (what == 1)
		world_cached(w, t);
	else if (what == 2 && w->behind)
		world_behind(w, t);
	else
		world_move(w, t, what < 7, world_chance(w, 40), w->direct && what > 7);
	t->now += world_us(w, 1, 400);
}

static void world_make(struct world *w)
{
	for (unsigned h = 0; h < w->hosts; h++)
		for (unsigned r = 0; r < w->ranks; r++)
			for (unsigned k = 0; k < w->threads; k++) {
				struct world_thread t = { .host = h,
							  .rank = h * w->ranks + r,
							  .number = k + 1,
							  .tid = 2000 + (r * w->threads + k),
							  .now = world_us(w, 0, 900),
							  .file = 1 + rng_below(&w->rng, 3) };

				snprintf(t.host_name, sizeof(t.host_name), "host%u", h);
				for (unsigned s = 0; s < w->steps; s++)
					world_step(w, &t);
			}
}

static void world_fini(struct world *w)
{
	rama_path_fini(&w->p);
	free(w->truth);
	free(w->merged);
}

#endif
