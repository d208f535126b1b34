/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_path.c: calls of applications, daemons and servers, whatever they are, 16 bytes each, are
 * joined. Pieces of every call and gaps add up, sub-calls are each other's once, and every view can
 * be made. First byte: 1: some were lost. Small numbers, so that requests meet their calls. */
#include <string.h>

#include "fuzz.h"
#include "path/facts.h"
#include "path/print.h"
#include "table/fn.h"

enum { CALLS_MOST = 400 };

static int64_t scaled(uint8_t b)
{
	static const int64_t odd[] = { INT64_MIN, -1, INT64_MAX, 1ll << 40 };

	return b < 252 ? (int64_t)b * 4096 : odd[b - 252];
}

static void take_call(struct rama_path *p, struct fuzz_input *in)
{
	static const char *const host[] = { "", "a", "b", "c:d" };
	static const char *const peer[] = {
		"",	  "v-0 a:1", "v-1",  "a:5:v-0",	  "b:5:v-1", "a:x:v",
		":5:v-0", "v-0 ",    "a:5:", "c:d:5:v-0", "a",	     "a:99999999999999999999:v-0"
	};
	static const char *const op[] = { "pwrite", "aio_return", "io_uring", "r",
					  "MPI_File_write_all" };
	uint8_t b[16];
	struct rama_path_call c = { .file = "/m/f", .program = 1 };

	for (unsigned i = 0; i < sizeof(b); i++)
		b[i] = fuzz_take_byte(in);
	c.layer = b[0] % (RAMA_PATH_LAYERS - 1);
	c.role = (b[0] >> 4) % 3;
	c.host = host[b[1] & 3];
	c.peer = peer[(b[1] >> 2) % (sizeof(peer) / sizeof(*peer))];
	c.pid = 4 + b[2] % 4;
	c.rank = c.role == RAMA_PATH_ROLE_APPLICATION ? b[2] >> 6 : -1;
	c.lane = b[2] >> 4 & 3;
	c.kernel_tid = b[3] & 7;
	c.tid = b[3] >> 3 & 7;
	c.id = b[4];
	c.parent_id = b[5];
	c.write = b[6] & 1;
	c.kind = (b[6] >> 1) % RAMA_TAB_OPS;
	c.mount = b[6] & 128 ? "/m" : NULL;
	c.file_id = b[7] & 3;
	c.object = b[7] >> 2 & 3;
	c.unique = b[7] >> 4;
	c.mark = b[8] & 15;
	c.op = op[(b[8] >> 4 & 7) % (sizeof(op) / sizeof(*op))];
	c.off = scaled(b[9]);
	c.bytes = scaled(b[10]);
	c.start = (int64_t)(b[11] | b[12] << 8) * 1000;
	c.end = c.start + (int64_t)(b[13] | b[14] << 8) * 1000;
	if (b[15] == 255)
		c.end = 1ll << 60;
	CHECK(rama_path_add(p, &c, strlen(c.op)) == 0);
}

static void check_pieces(const struct rama_path *p, size_t call)
{
	int64_t at = call == RAMA_PATH_NONE ? 0 : p->call[call].start,
		end = call == RAMA_PATH_NONE ? p->end : p->call[call].end;
	struct rama_path_pieces k;
	struct rama_path_gaps g;

	CHECK(rama_path_critical(p, call, &k) == 0);
	for (size_t i = 0; i < k.n; i++) {
		CHECK(k.piece[i].from == at && k.piece[i].to > at);
		at = k.piece[i].to;
	}
	CHECK(at == end);
	rama_path_pieces_fini(&k);
	if (call == RAMA_PATH_NONE)
		return;
	rama_path_gaps(p, call, &g);
	CHECK(g.before >= 0 && g.inside >= 0 && g.between >= 0 && g.after >= 0);
	CHECK(g.before + g.inside + g.between + g.after == end - p->call[call].start);
}

static void check_tree(const struct rama_path *p)
{
	size_t linked = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct rama_path_call *c = &p->call[i];

		CHECK(c->depth < RAMA_PATH_DEPTH);
		CHECK((c->parent == RAMA_PATH_NONE) == (c->link == RAMA_PATH_LINK_NONE));
		CHECK(c->parent == RAMA_PATH_NONE || p->call[c->parent].depth + 1 == c->depth);
		for (size_t k = 0; k < c->n_subs; k++)
			CHECK(p->call[rama_path_sub(p, i, k)].parent == i);
		linked += c->n_subs;
	}
	CHECK(linked + p->n_roots == p->n);
}

static void check_views(const struct rama_path *p)
{
	static int (*const view[])(const struct rama_path *, const struct rama_path_ask *,
				   struct rama_out *) = {
		rama_path_print_tree,	  rama_path_print_calls, rama_path_print_servers,
		rama_path_print_critical, rama_path_print_svg,	 rama_path_print_html,
		rama_path_print_perfetto
	};
	struct rama_path_ask ask = {
		.rank = -1, .call = RAMA_PATH_NONE, .to = INT64_MAX, .most = 9
	};

	for (unsigned i = 0; i < sizeof(view) / sizeof(*view); i++) {
		struct rama_out out;

		rama_out_init(&out, NULL, NULL);
		ask.form = i % 2 == 0 ? RAMA_ROWS_TEXT : RAMA_ROWS_JSON;
		CHECK(view[i](p, &ask, &out) == 0);
		rama_out_fini(&out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rama_path_facts facts;
	struct rama_arena arena = { 0 };
	struct rama_path p = { 0 };

	p.partial = fuzz_take_byte(&in) & 1;
	while (in.n > 0 && p.n < CALLS_MOST)
		take_call(&p, &in);
	CHECK(rama_path_join(&p, 0) == 0);
	check_tree(&p);
	check_pieces(&p, RAMA_PATH_NONE);
	for (size_t i = 0; i < p.n; i++)
		check_pieces(&p, i);
	check_views(&p);
	CHECK(rama_path_facts_make(&facts, &p, &arena) == 0);
	rama_arena_fini(&arena);
	rama_path_fini(&p);
	return 0;
}
