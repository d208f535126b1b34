/* SPDX-License-Identifier: BSD-3-Clause */
/* perfetto.c: calls as trace events: a process for each rank, daemon and server; arrows from
 * requests to what servers did of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/form/trace.h"
#include "base/grow.h"
#include "path/join.h"
#include "path/print.h"
#include "path/server.h"

#define TRACKS_MOST 64 /* of one layer of one process: calls under way at the same time */

struct writer {
	const struct rama_path *p;
	struct rama_path_groups places; /* where calls are shown: process and thread or layer */
	struct rama_json j;
	uint64_t next_tid; /* Perfetto knows threads by this number alone: no two have the same */
};

static bool process_key(const struct rama_path_call *c, struct rama_path_key *k)
{
	*k = (struct rama_path_key){ { (uintptr_t)c->host, (uint64_t)c->pid, c->program, c->role,
				       (uint64_t)c->rank } };
	return true;
}

/* calls of a thread of the application are inside each other; others may overlap */
static bool place_key(const struct rama_path_call *c, struct rama_path_key *k)
{
	process_key(c, k);
	k->word[5] = c->role == RAMA_PATH_ROLE_APPLICATION ? c->lane << 8 | 255 : c->layer;
	return true;
}

static void put_process(struct writer *w, const struct rama_path_call *c, int64_t pid)
{
	static const char *const role[] = { "rank", "FUSE daemon", "server" };
	char name[160];

	if (c->role == RAMA_PATH_ROLE_APPLICATION)
		snprintf(name, sizeof(name), "rank %lld%s%.100s", (long long)c->rank,
			 *c->host != '\0' ? " on " : "", c->host);
	else
		snprintf(name, sizeof(name), "%s %lld%s%.100s", role[c->role], (long long)c->pid,
			 *c->host != '\0' ? " on " : "", c->host);
	rama_trace_name(&w->j, "process_name", pid, 0, name, 0);
	rama_trace_name(&w->j, "process_sort_index", pid, 0, NULL,
			c->role == RAMA_PATH_ROLE_APPLICATION ? c->rank : 1000000 * c->role);
}

static void put_call(struct writer *w, size_t call, int64_t pid, uint64_t tid)
{
	const struct rama_path_call *c = &w->p->call[call];
	const char *server = rama_path_server_of(w->p, call);

	rama_trace_open(&w->j, "X", pid, tid);
	rama_trace_moment(&w->j, "ts", c->start > 0 ? (uint64_t)c->start : 0);
	rama_trace_moment(&w->j, "dur", (uint64_t)(c->end - c->start));
	rama_json_key_string(&w->j, "name", c->op);
	rama_json_key_string(&w->j, "cat", rama_path_layer_name(c->layer));
	rama_json_key_open(&w->j, "args", '{');
	rama_json_key_u64(&w->j, "call", call + 1);
	if (*c->file != '\0')
		rama_json_key_string(&w->j, "file", c->file);
	rama_json_key_i64(&w->j, "offset", c->off);
	rama_json_key_i64(&w->j, "bytes", c->bytes);
	rama_json_key_string(&w->j, "link", rama_path_link_name(c->link));
	if (*server != '\0')
		rama_json_key_string(&w->j, "server", server);
	rama_json_close(&w->j, '}');
	rama_json_close(&w->j, '}');
	rama_out_char(w->j.out, '\n');
}

/* an arrow from a request to what a process elsewhere did of it, or from a call to its request */
static void put_arrow(struct writer *w, const char *phase, size_t id, int64_t at, int64_t pid,
		      uint64_t tid)
{
	rama_trace_open(&w->j, phase, pid, tid);
	rama_trace_moment(&w->j, "ts", at > 0 ? (uint64_t)at : 0);
	rama_json_key_string(&w->j, "name", "request");
	rama_json_key_string(&w->j, "cat", "request");
	rama_json_key_u64(&w->j, "id", id + 1);
	if (*phase == 'f')
		rama_json_key_string(&w->j, "bp", "e");
	rama_json_close(&w->j, '}');
	rama_out_char(w->j.out, '\n');
}

/* where each call is: the process as numbered, and its track */
struct spot {
	int64_t pid;
	uint64_t tid;
};

/* the calls of one place, on as many tracks as are needed */
static void put_place(struct writer *w, size_t place, const struct rama_path_groups *processes,
		      const struct rama_path_ask *ask, struct spot *spot)
{
	const uint32_t *call = w->places.call + w->places.first[place];
	size_t n = w->places.first[place + 1] - w->places.first[place], tracks = 0;
	const struct rama_path_call *first = &w->p->call[call[0]];
	int64_t pid = (int64_t)processes->of[call[0]] + 1, end[TRACKS_MOST];
	bool nested = first->role == RAMA_PATH_ROLE_APPLICATION;

	for (size_t i = 0; i < n; i++) {
		const struct rama_path_call *c = &w->p->call[call[i]];
		size_t at = 0;
		char name[64];

		if (!rama_path_wanted(w->p, call[i], ask))
			continue;
		while (!nested && at < tracks && at < TRACKS_MOST - 1 && end[at] > c->start)
			at++;
		if (at == tracks) {
			tracks++;
			if (nested)
				snprintf(name, sizeof(name), "thread %llu",
					 (unsigned long long)c->kernel_tid);
			else
				snprintf(name, sizeof(name), "%s %zu",
					 rama_path_layer_name(c->layer), at + 1);
			rama_trace_name(&w->j, "thread_name", pid, w->next_tid + at, name, 0);
		}
		end[at] = c->end;
		spot[call[i]] = (struct spot){ pid, w->next_tid + at };
		put_call(w, call[i], pid, w->next_tid + at);
	}
	w->next_tid += tracks;
}

static void put_arrows(struct writer *w, const struct spot *spot)
{
	for (size_t i = 0; i < w->p->n; i++) {
		const struct rama_path_call *c = &w->p->call[i];
		const struct spot *to = &spot[i], *from;

		if (c->parent == RAMA_PATH_NONE)
			continue;
		from = &spot[c->parent];
		if (to->pid == 0 || from->pid == 0 ||
		    (to->pid == from->pid && c->layer != RAMA_PATH_LAYER_CLIENT))
			continue;
		put_arrow(w, "s", i,
			  w->p->call[c->parent].start > c->start ? w->p->call[c->parent].start
								 : c->start,
			  from->pid, from->tid);
		put_arrow(w, "f", i, c->start, to->pid, to->tid);
	}
}

int rama_path_print_perfetto(const struct rama_path *p, const struct rama_path_ask *ask,
			     struct rama_out *out)
{
	struct writer w = { .p = p, .next_tid = 1000000 };
	struct rama_path_groups processes = { 0 };
	struct spot *spot = calloc(p->n + 1, sizeof(*spot));
	int rc = rama_path_groups_make(&w.places, p, RAMA_PATH_ALL, place_key);

	if (rc == 0)
		rc = rama_path_groups_make(&processes, p, RAMA_PATH_ALL, process_key);
	if (spot == NULL)
		rc = RAMA_EMEMORY;
	rama_json_init(&w.j, out);
	rama_json_open(&w.j, '{');
	rama_json_key_string(&w.j, "displayTimeUnit", "ns");
	rama_json_key_open(&w.j, "traceEvents", '[');
	for (size_t i = 0; rc == 0 && i < processes.n; i++)
		put_process(&w, &p->call[processes.call[processes.first[i]]], (int64_t)i + 1);
	for (size_t i = 0; rc == 0 && i < w.places.n; i++)
		put_place(&w, i, &processes, ask, spot);
	if (rc == 0)
		put_arrows(&w, spot);
	rama_json_close(&w.j, ']');
	rama_json_close(&w.j, '}');
	rama_out_char(out, '\n');
	free(spot);
	rama_path_groups_fini(&processes);
	rama_path_groups_fini(&w.places);
	return rc;
}
