/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.c: the slowest calls as text, each with what is below it. */
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "path/join.h"
#include "path/print.h"
#include "path/server.h"

#define SUBS_MOST 12 /* sub-calls of one call that the tree shows */

struct slow {
	int64_t took;
	size_t call;
};

static int slowest_first(const void *a, const void *b)
{
	const struct slow *x = a, *y = b;

	if (x->took != y->took)
		return x->took > y->took ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

/* names come from outside: what a terminal would act on is shown as ? */
static void safe(struct rama_out *o, const char *s, size_t n)
{
	for (; n > 0; n--, s++)
		rama_out_char(o, (unsigned char)*s < ' ' || *s == 127 ? '?' : *s);
}

static const char *seconds(char to[RAMA_HUMAN], int64_t ns)
{
	return rama_human_seconds(to, (double)ns * 1e-9);
}

static void print_gaps(const struct rama_path *p, size_t call, unsigned indent, struct rama_out *o)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN];
	struct rama_path_gaps g;

	rama_path_gaps(p, call, &g);
	rama_out_fmt(o, "%*sits own: %s before the first, %s between, %s after the last\n",
		     (int)indent, "", seconds(a, g.before), seconds(b, g.between),
		     seconds(c, g.after));
}

static void print_line(const struct rama_path *p, size_t call, int64_t whole, unsigned indent,
		       struct rama_out *o)
{
	const struct rama_path_call *c = &p->call[call];
	char time[RAMA_HUMAN], share[RAMA_HUMAN], bytes[RAMA_HUMAN];
	double took = (double)(c->end - c->start);

	rama_out_fmt(o, "%*s%-7s ", (int)indent, "", rama_path_layer_name(c->layer));
	safe(o, c->op, strlen(c->op));
	rama_out_fmt(o, "  %s  %s  %s", seconds(time, c->end - c->start),
		     rama_human_share(share, whole > 0 ? took / (double)whole : 1),
		     rama_human_bytes(bytes, c->bytes > 0 ? (double)c->bytes : 0));
	if (c->n_subs > 0)
		rama_out_fmt(o, "  %zu sub-call%s", c->n_subs, c->n_subs > 1 ? "s" : "");
	if (c->cached)
		rama_out_text(o, "  from the page cache");
	if (c->layer == RAMA_PATH_LAYER_CLIENT) {
		rama_out_text(o, "  to ");
		safe(o, c->peer, rama_path_server_len(c->peer));
	}
	if (c->link == RAMA_PATH_LINK_LATER || c->link == RAMA_PATH_LINK_AHEAD)
		rama_out_fmt(o, "  %s", rama_path_link_name(c->link));
	rama_out_fmt(o, "  call %zu\n", call + 1);
}

/* one server's part of the requests of a call */
static void print_server(const struct rama_path_server *s, int64_t whole, unsigned indent,
			 struct rama_out *o)
{
	char time[RAMA_HUMAN], share[RAMA_HUMAN], bytes[RAMA_HUMAN], n[RAMA_HUMAN];

	rama_out_fmt(o, "%*sRPC     ", (int)indent, "");
	safe(o, s->name, rama_path_server_len(s->name));
	rama_out_fmt(o, "  %s  %s  %s  %s RPC%s", seconds(time, s->busy),
		     rama_human_share(share, whole > 0 ? (double)s->busy / (double)whole : 1),
		     rama_human_bytes(bytes, (double)s->bytes),
		     rama_human_count(n, (int64_t)s->requests), s->requests == 1 ? "" : "s");
	if (s->seen > 0) {
		rama_out_fmt(o, "  server %s", seconds(time, s->inside));
		rama_out_fmt(o, ", disk %s", seconds(time, s->disk));
		rama_out_fmt(o, ", %s disk access%s", rama_human_count(n, (int64_t)s->disks),
			     s->disks == 1 ? "" : "es");
	}
	if (s->shared > 0)
		rama_out_fmt(o, "  last of %llu/%llu", (unsigned long long)s->last,
			     (unsigned long long)s->shared);
	rama_out_text(o, "\n");
}

/* Requests of a call are many and alike: their sum, and what each server had of it. */
static int print_requests(const struct rama_path *p, size_t call, int64_t whole, unsigned indent,
			  struct rama_out *o)
{
	char time[RAMA_HUMAN], share[RAMA_HUMAN], bytes[RAMA_HUMAN], n[2][RAMA_HUMAN];
	struct rama_path_servers s;
	struct rama_path_below b;
	struct rama_path_gaps g;
	int rc = rama_path_servers(p, call, &s);

	rama_path_below(p, call, &b);
	rama_path_gaps(p, call, &g);
	rama_out_fmt(o, "%*sFUSE    %s request%s  %s  %s  %s", (int)indent, "",
		     rama_human_count(n[0], (int64_t)b.requests), b.requests == 1 ? "" : "s",
		     seconds(time, g.inside),
		     rama_human_share(share, whole > 0 ? (double)g.inside / (double)whole : 1),
		     rama_human_bytes(bytes, (double)b.bytes));
	if (b.rpcs > 0)
		rama_out_fmt(o, "  %s RPC%s", rama_human_count(n[0], (int64_t)b.rpcs),
			     b.rpcs == 1 ? "" : "s");
	else if (b.disks > 0) /* the daemon's own */
		rama_out_fmt(o, "  %s disk access%s", rama_human_count(n[0], (int64_t)b.disks),
			     b.disks == 1 ? "" : "es");
	if (b.later > 0)
		rama_out_fmt(o, "  %s later", rama_human_count(n[1], (int64_t)b.later));
	if (b.ahead > 0)
		rama_out_fmt(o, "  %s ahead", rama_human_count(n[1], (int64_t)b.ahead));
	rama_out_text(o, "\n");
	for (size_t i = 0; i < s.n; i++)
		print_server(&s.server[i], whole, indent + 2, o);
	rama_path_servers_fini(&s);
	return rc;
}

/* no deeper than RAMA_PATH_DEPTH */
static int print_call(const struct rama_path *p, size_t call, int64_t whole, unsigned indent,
		      struct rama_out *o)
{
	const struct rama_path_call *c = &p->call[call];
	size_t shown = 0, others = 0, requests = 0;
	int rc = 0;

	print_line(p, call, whole, indent, o);
	for (size_t i = 0; i < c->n_subs && rc == 0; i++) {
		size_t sub = rama_path_sub(p, call, i);

		if (p->call[sub].layer == RAMA_PATH_LAYER_FUSE)
			requests++;
		else if (shown++ < SUBS_MOST)
			rc = print_call(p, sub, whole, indent + 2, o);
		else
			others++;
	}
	if (others > 0)
		rama_out_fmt(o, "%*s... and %zu more\n", (int)indent + 2, "", others);
	if (requests > 0 && rc == 0)
		rc = print_requests(p, call, whole, indent + 2, o);
	if (c->n_subs > 0)
		print_gaps(p, call, indent + 2, o);
	return rc;
}

static int print_root(const struct rama_path *p, size_t call, struct rama_out *o)
{
	const struct rama_path_call *c = &p->call[call],
				    *made_for = &p->call[rama_path_made_for(p, call)];
	char at[RAMA_HUMAN];

	rama_out_fmt(o, "\nrank %lld at %s, ", (long long)made_for->rank, seconds(at, c->start));
	safe(o, made_for->file, strlen(made_for->file));
	rama_out_text(o, "\n");
	return print_call(p, call, c->end - c->start, 2, o);
}

/* what is not in the trees */
static void print_rest(const struct rama_path *p, struct rama_out *o)
{
	uint64_t alone = 0, placed = 0, cached = 0;
	char n[RAMA_HUMAN], bytes[RAMA_HUMAN], time[RAMA_HUMAN];
	struct rama_path_load all = { 0 };

	for (size_t i = 0; i < p->n; i++) {
		alone += p->call[i].layer == RAMA_PATH_LAYER_FUSE &&
			 p->call[i].parent == RAMA_PATH_NONE;
		placed += p->call[i].placed;
		cached += p->call[i].cached;
	}
	for (size_t i = 0; i < p->n_loads; i++)
		if (p->load[i].layer == RAMA_PATH_LAYER_SERVER ||
		    p->load[i].layer == RAMA_PATH_LAYER_FUSE) {
			all.count += p->load[i].count;
			all.bytes = rama_path_plus(all.bytes, p->load[i].bytes);
			all.time = rama_path_plus(all.time, p->load[i].time);
		}
	if (cached > 0)
		rama_out_fmt(o, "%s read%s came from the page cache.\n",
			     rama_human_count(n, (int64_t)cached), cached == 1 ? "" : "s");
	if (alone > 0)
		rama_out_fmt(o, "%s request%s of its threads %s part of no read or write.\n",
			     rama_human_count(n, (int64_t)alone), alone == 1 ? "" : "s",
			     alone == 1 ? "is" : "are");
	if (all.count > 0)
		rama_out_fmt(o, "Other load: %s request%s not of this job, %s, %s.\n",
			     rama_human_count(n, (int64_t)all.count), all.count == 1 ? "" : "s",
			     rama_human_bytes(bytes, (double)all.bytes), seconds(time, all.time));
	if (p->left_out > 0)
		rama_out_fmt(o,
			     "Left out: %s call%s made no event, since an agent chose others to "
			     "make them.\n",
			     rama_human_count(n, (int64_t)p->left_out),
			     p->left_out == 1 ? "" : "s");
	if (placed > 0)
		rama_out_text(o, "Servers have clocks of their own: what they did is placed in the "
				 "middle of its request, durations are theirs.\n");
}

static void print_layers(const struct rama_path *p, struct rama_out *o)
{
	struct rama_path_sum sum[RAMA_PATH_LAYERS];
	char longest[RAMA_HUMAN], all[RAMA_HUMAN], bytes[RAMA_HUMAN];

	rama_path_layers(p, RAMA_PATH_NONE, sum);
	for (unsigned l = 0; l < RAMA_PATH_LAYERS; l++)
		if (sum[l].count > 0)
			rama_out_fmt(o, "%-7s %llu call%s, %s, %s in all, the slowest %s\n",
				     rama_path_layer_name((uint8_t)l),
				     (unsigned long long)sum[l].count, sum[l].count > 1 ? "s" : "",
				     rama_human_bytes(bytes, (double)sum[l].bytes),
				     seconds(all, sum[l].sum), seconds(longest, sum[l].longest));
}

static bool selects(const struct rama_path_ask *ask)
{
	return ask->rank >= 0 || ask->call != RAMA_PATH_NONE || ask->file != NULL ||
	       ask->from > 0 || ask->to < INT64_MAX;
}

int rama_path_print_tree(const struct rama_path *p, const struct rama_path_ask *ask,
			 struct rama_out *out)
{
	struct slow *slow = malloc((p->n + 1) * sizeof(*slow));
	size_t n = 0;
	int rc = 0;

	if (slow == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < p->n; i++)
		if (rama_path_wanted(p, i, ask) &&
		    (ask->call != RAMA_PATH_NONE ||
		     (p->call[i].parent == RAMA_PATH_NONE &&
		      p->call[i].role == RAMA_PATH_ROLE_APPLICATION)))
			slow[n++] = (struct slow){ p->call[i].end - p->call[i].start, i };
	qsort(slow, n, sizeof(*slow), slowest_first);
	if (selects(ask))
		rama_out_text(out, "Of the whole job:\n");
	print_layers(p, out);
	print_rest(p, out);
	if (n == 0)
		rama_out_fmt(out, "\nNo call of an application%s.\n",
			     selects(ask) ? " is of this selection" : " is in it");
	for (size_t i = 0; i < n && i < ask->most && rc == 0; i++)
		rc = print_root(p, slow[i].call, out);
	if (n > ask->most)
		rama_out_fmt(out, "\n... and %zu call%s faster\n", n - ask->most,
			     n - ask->most == 1 ? " that was" : "s that were");
	free(slow);
	return rc;
}
