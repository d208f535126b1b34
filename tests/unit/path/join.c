/* SPDX-License-Identifier: BSD-3-Clause */
/* join.c: requests of made-up jobs find the calls they were made for: none wrong, ever, and none
 * missing where everything is known. */
#include <pthread.h>

#include "world.h"

static void check_pieces(const struct rama_path *p, size_t call)
{
	struct rama_path_pieces k;
	struct rama_path_gaps g;
	int64_t at = call == RAMA_PATH_NONE ? 0 : p->call[call].start,
		end = call == RAMA_PATH_NONE ? p->end : p->call[call].end;

	if (call != RAMA_PATH_NONE) {
		rama_path_gaps(p, call, &g);
		assert_true(g.before >= 0 && g.inside >= 0 && g.between >= 0 && g.after >= 0);
		assert_int_equal(g.before + g.inside + g.between + g.after, end - at);
	}
	assert_int_equal(rama_path_critical(p, call, &k), 0);
	for (size_t i = 0; i < k.n; i++) {
		assert_int_equal(k.piece[i].from, at);
		assert_true(k.piece[i].to > at);
		at = k.piece[i].to;
		if (k.piece[i].call != RAMA_PATH_NONE && k.piece[i].call != call)
			assert_true(p->call[k.piece[i].call].link != RAMA_PATH_LINK_LATER);
	}
	assert_int_equal(at, end);
	rama_path_pieces_fini(&k);
}

/* returns how many requests have no link though the other call is there */
static size_t check_world(struct world *w)
{
	struct rama_path *p = &w->p;
	bool *there;
	size_t missing = 0;

	world_make(w);
	there = calloc(w->n, sizeof(*there));
	assert_non_null(there);
	p->partial = w->lost > 0;
	for (size_t i = 0; i < p->n; i++)
		there[world_number(&p->call[i])] = true;
	assert_int_equal(rama_path_join(p, 0), 0);
	for (size_t i = 0; i < p->n; i++) {
		const struct rama_path_call *c = &p->call[i];
		uint32_t number = world_number(c), truth = w->truth[number];

		if (c->parent == RAMA_PATH_NONE) {
			missing += truth != WORLD_NOBODY && there[truth];
			continue;
		}
		uint32_t found = world_number(&p->call[c->parent]);

		if (found < truth || found > w->merged[number]) {
			print_message("%s is part of %u, not of %s (%s)\n", c->op, truth,
				      p->call[c->parent].op, rama_path_link_name(c->link));
			fail();
		}
	}
	check_pieces(p, RAMA_PATH_NONE);
	for (size_t i = 0; i < p->n; i++)
		check_pieces(p, i);
	free(there);
	return missing;
}

static void everything_that_can_be_known_is_linked(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 24; round++) {
		struct world w = { .hosts = 1 + round % 2,
				   .servers = 1 + round % 4,
				   .ranks = 1 + round % 3,
				   .threads = 1 + round % 2,
				   .steps = 12,
				   .far = round % 3 == 1,
				   .marks = round % 2 == 0,
				   .ids = round % 5 == 0,
				   .direct = round % 2 == 0,
				   .rng = { round } };

		assert_int_equal(check_world(&w), 0);
		for (size_t i = 0; i < w.p.n; i++) {
			const struct rama_path_call *c = &w.p.call[i];

			if (c->layer == RAMA_PATH_LAYER_FUSE)
				assert_int_equal(c->link, RAMA_PATH_LINK_THREAD);
			if (c->layer == RAMA_PATH_LAYER_CLIENT)
				assert_int_equal(c->link, w.marks ? RAMA_PATH_LINK_ID
								  : RAMA_PATH_LINK_THREAD);
			if (c->layer == RAMA_PATH_LAYER_SERVER) {
				assert_int_equal(c->link,
						 w.ids ? RAMA_PATH_LINK_ID : RAMA_PATH_LINK_ORDER);
				assert_int_equal(c->placed, w.far);
			}
			assert_int_equal(c->cached, strncmp(c->op, "cached", 6) == 0);
		}
		world_fini(&w);
	}
}

static void nothing_is_linked_wrongly(void **state)
{
	size_t n = 0;

	(void)state;
	for (unsigned round = 0; round < 60; round++) {
		struct world w = { .hosts = 1 + round % 3,
				   .servers = 1 + round % 4,
				   .ranks = 1 + round % 4,
				   .threads = 1 + round % 3,
				   .steps = 10,
				   .far = round % 2 == 1,
				   .marks = round % 3 != 0,
				   .ids = round % 7 == 0,
				   .lost = round % 5 * 4,
				   .behind = true,
				   .direct = true,
				   .helpers = true,
				   .others = true,
				   .rng = { 1000 + round } };

		check_world(&w);
		n += w.p.n;
		world_fini(&w);
	}
	assert_true(n > 20000);
}

static void *join_one(void *arg)
{
	unsigned seed = *(unsigned *)arg;
	struct world w = { .hosts = 2,
			   .servers = 3,
			   .ranks = 2,
			   .threads = 2,
			   .steps = 12,
			   .marks = seed % 2,
			   .direct = true,
			   .others = true,
			   .rng = { seed } };
	uintptr_t linked = 0;

	world_make(&w);
	if (rama_path_join(&w.p, 0) == 0)
		for (size_t i = 0; i < w.p.n; i++)
			linked += w.p.call[i].parent != RAMA_PATH_NONE;
	world_fini(&w);
	return (void *)linked;
}

/* nothing is shared: what ThreadSanitizer looks for */
static void several_at_once(void **state)
{
	pthread_t thread[4];
	unsigned seed[4] = { 71, 72, 71, 72 };
	void *found[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, join_one, &seed[i]), 0);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_join(thread[i], &found[i]), 0);
	assert_true((uintptr_t)found[0] > 1000 && (uintptr_t)found[1] > 1000);
	assert_ptr_equal(found[0], found[2]);
	assert_ptr_equal(found[1], found[3]);
}

static void the_load_of_others_is_a_number(void **state)
{
	struct world w = { .hosts = 1,
			   .servers = 3,
			   .ranks = 2,
			   .threads = 1,
			   .steps = 20,
			   .marks = true,
			   .others = true,
			   .rng = { 5 } };
	uint64_t count[RAMA_PATH_LAYERS] = { 0 };

	(void)state;
	assert_int_equal(check_world(&w), 0);
	for (size_t i = 0; i < w.p.n; i++)
		assert_true(w.p.call[i].role == RAMA_PATH_ROLE_APPLICATION ||
			    w.p.call[i].parent != RAMA_PATH_NONE);
	for (size_t i = 0; i < w.p.n_loads; i++) {
		count[w.p.load[i].layer] += w.p.load[i].count;
		if (w.p.load[i].layer != RAMA_PATH_LAYER_FUSE)
			assert_true(strncmp(w.p.load[i].server, "vol-client-", 11) == 0);
		assert_true(w.p.load[i].time > 0);
	}
	assert_true(count[RAMA_PATH_LAYER_FUSE] > 3);
	assert_int_equal(count[RAMA_PATH_LAYER_CLIENT], 3 * count[RAMA_PATH_LAYER_FUSE]);
	assert_int_equal(count[RAMA_PATH_LAYER_DISK], 3 * count[RAMA_PATH_LAYER_FUSE]);
	world_fini(&w);
}

static void what_is_written_behind_is_later(void **state)
{
	struct world w = { .hosts = 1,
			   .servers = 2,
			   .ranks = 1,
			   .threads = 1,
			   .steps = 0,
			   .marks = false,
			   .rng = { 5 } };
	struct world_thread t = { .host_name = "host0", .tid = 2000, .file = 1, .number = 1 };
	struct rama_path_pieces k;
	size_t later = 0, several = 0;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		world_behind(&w, &t);
	assert_int_equal(check_world(&w), 0);
	for (size_t i = 0; i < w.p.n; i++) {
		const struct rama_path_call *c = &w.p.call[i];

		if (c->layer != RAMA_PATH_LAYER_CLIENT)
			continue;
		later += c->link == RAMA_PATH_LINK_LATER;
		several += c->also > 0;
		assert_int_equal(c->also, c->bytes / 4096 - 1);
	}
	assert_int_equal(later, 40);
	assert_true(several > 10);
	assert_int_equal(rama_path_critical(&w.p, RAMA_PATH_NONE, &k), 0);
	for (size_t i = 0; i < k.n; i++)
		if (k.piece[i].call != RAMA_PATH_NONE)
			assert_true(w.p.call[k.piece[i].call].layer != RAMA_PATH_LAYER_CLIENT &&
				    w.p.call[k.piece[i].call].layer != RAMA_PATH_LAYER_DISK);
	rama_path_pieces_fini(&k);
	world_fini(&w);
}

static void helpers_are_found_by_range(void **state)
{
	struct world w = {
		.hosts = 1, .servers = 1, .ranks = 1, .threads = 1, .marks = true, .rng = { 6 }
	};
	struct world_thread t = { .host_name = "host0", .tid = 2000, .file = 1, .number = 1 };
	size_t n = 0;

	(void)state;
	for (unsigned i = 0; i < 9; i++)
		world_helped(&w, &t);
	assert_int_equal(check_world(&w), 0);
	for (size_t i = 0; i < w.p.n; i++)
		n += w.p.call[i].link == RAMA_PATH_LINK_RANGE;
	assert_int_equal(n, 9);
	world_fini(&w);
}

/* two files, the same range, the same time, threads that nobody knows: it could be either */
static void two_that_fit_are_none(void **state)
{
	struct world w = { .hosts = 1, .servers = 1, .marks = true, .rng = { 7 } };
	struct world_thread a = { .host_name = "host0", .tid = 2000, .file = 1, .number = 1 },
			    b = { .host_name = "host0", .tid = 2001, .file = 2, .number = 2 };

	(void)state;
	world_helped(&w, &a);
	world_helped(&w, &b);
	assert_int_equal(rama_path_join(&w.p, 0), 0);
	for (size_t i = 0; i < w.p.n; i++)
		assert_int_not_equal(w.p.call[i].link, RAMA_PATH_LINK_RANGE);
	world_fini(&w);
}

static struct rama_path_call request(uint8_t layer, int64_t start, int64_t end)
{
	return (struct rama_path_call){ .rank = -1,
					.pid = 50,
					.role = RAMA_PATH_ROLE_FUSE,
					.layer = layer,
					.host = "h",
					.tid = 9,
					.object = 3,
					.kind = RAMA_TAB_OP_READ,
					.op = "r",
					.file = "",
					.start = start,
					.end = end };
}

static void add(struct rama_path *p, struct rama_path_call c)
{
	assert_int_equal(rama_path_add(p, &c, 1), 0);
}

static struct rama_path_call reading(int64_t off, int64_t start, int64_t end)
{
	return (struct rama_path_call){ .pid = 8,
					.kernel_tid = 9,
					.lane = 1,
					.id = (uint32_t)(start + 1),
					.layer = RAMA_PATH_LAYER_POSIX,
					.kind = RAMA_TAB_OP_READ,
					.host = "h",
					.mount = "/m",
					.op = "r",
					.file = "/m/f",
					.file_id = 1,
					.off = off,
					.bytes = 1000,
					.start = start,
					.end = end };
}

/* What is read ahead is not waited for by the call that began it, but by the one that wants it
 * while it is on its way. */
static void reading_ahead(void **state)
{
	struct rama_path p = { 0 };
	struct rama_path_call f = request(RAMA_PATH_LAYER_FUSE, 110000, 800000);
	struct rama_path_gaps g;

	(void)state;
	add(&p, reading(0, 0, 900000));
	f.bytes = 4096;
	add(&p, f);
	f.off = 4096;
	f.start = 120000;
	f.end = 1500000;
	add(&p, f);
	f.off = 8192;
	f.start = 130000;
	f.end = 2500000;
	add(&p, f);
	add(&p, reading(5000, 1000000, 1600000)); /* wants the second */
	add(&p, reading(6000, 1700000, 1701000)); /* it is there */
	assert_int_equal(rama_path_join(&p, 0), 0);
	assert_int_equal(p.call[1].link, RAMA_PATH_LINK_THREAD);
	assert_int_equal(p.call[2].link, RAMA_PATH_LINK_RANGE);
	assert_int_equal(p.call[2].parent, 4);
	assert_int_equal(p.call[3].link, RAMA_PATH_LINK_AHEAD); /* though it ends later */
	assert_false(p.call[0].cached || p.call[4].cached);
	assert_true(p.call[5].cached);
	rama_path_gaps(&p, 4, &g);
	assert_int_equal(g.inside, 500000);
	assert_int_equal(g.before, 0);
	assert_int_equal(g.after, 100000);
	for (size_t i = 0; i < p.n; i++)
		check_pieces(&p, i);
	rama_path_fini(&p);
}

/* requests of a thread of the job in no call: told, but not what they touched */
static void requests_in_no_call(void **state)
{
	struct rama_path p = { 0 };
	struct rama_path_call f = request(RAMA_PATH_LAYER_FUSE, 5000000, 5100000);

	(void)state;
	add(&p, reading(0, 0, 900000));
	f.file = "/secret";
	f.file_id = 77;
	add(&p, f);
	f.tid = 10;
	add(&p, f);
	assert_int_equal(rama_path_join(&p, 0), 0);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.call[1].parent, RAMA_PATH_NONE);
	assert_string_equal(p.call[1].file, "");
	assert_int_equal(p.call[1].file_id, 0);
	assert_int_equal(p.n_loads, 1);
	assert_int_equal(p.load[0].count, 1);
	assert_int_equal(p.end, 900000);
	rama_path_fini(&p);
}

/* numbers of threads are used again: a request of another user is not the job's */
static void requests_of_other_users(void **state)
{
	(void)state;
	for (int64_t uid = -1; uid < 2; uid++) {
		struct rama_path p = { .uid = uid < 0 ? uid : uid * 1000 };
		struct rama_path_call f = request(RAMA_PATH_LAYER_FUSE, 5000000, 5100000);

		add(&p, reading(0, 0, 900000));
		f.user = 1000 + 1;
		add(&p, f);
		f.user = 1001 + 1;
		f.start = 5200000;
		f.end = 5300000;
		add(&p, f);
		assert_int_equal(rama_path_join(&p, 0), 0);
		/* root acts as anybody; of whom nothing is known, too */
		assert_int_equal(p.n, uid > 0 ? 2 : 3);
		assert_int_equal(p.n_loads, uid > 0 ? 1 : 0);
		rama_path_fini(&p);
	}
}

/* between two calls, nearer to both than clocks are sure */
static void too_near_to_tell(void **state)
{
	struct rama_path_call between = request(RAMA_PATH_LAYER_FUSE, 905000, 1000000),
			      after = request(RAMA_PATH_LAYER_FUSE, 1910000, 1915000);
	struct rama_path p = { 0 };

	(void)state;
	between.bytes = after.bytes = 1000;
	add(&p, reading(0, 0, 900000));
	add(&p, reading(0, 910000, 1900000));
	add(&p, between);
	add(&p, after); /* after the last only */
	assert_int_equal(rama_path_join(&p, 0), 0);
	assert_int_equal(p.call[1].link, RAMA_PATH_LINK_NONE);
	assert_int_equal(p.call[3].link, RAMA_PATH_LINK_THREAD);
	rama_path_fini(&p);
}

/* a sync or a close that came right after a write makes a request, too, but is in no trace */
static void what_moves_nothing_is_of_no_call_beside_it(void **state)
{
	struct rama_path_call f = request(RAMA_PATH_LAYER_FUSE, 905000, 990000);
	struct rama_path p = { 0 };

	(void)state;
	add(&p, reading(0, 0, 900000));
	f.kind = RAMA_TAB_OP_SYNC;
	f.bytes = 0;
	add(&p, f);
	assert_int_equal(rama_path_join(&p, 0), 0);
	assert_int_equal(p.call[1].link, RAMA_PATH_LINK_NONE);
	rama_path_fini(&p);
}

/* a request to a server that began after the only one of the kernel on these bytes was served */
static void what_was_served_is_not_written_behind(void **state)
{
	struct rama_path p = { 0 };
	struct rama_path_call f = request(RAMA_PATH_LAYER_FUSE, 100000, 900000);

	(void)state;
	f.write = true;
	f.kind = RAMA_TAB_OP_WRITE;
	f.bytes = 4096;
	add(&p, reading(0, 0, 1000000));
	add(&p, f);
	f.layer = RAMA_PATH_LAYER_CLIENT;
	f.peer = "v-0";
	f.start = 200000;
	f.end = 800000;
	add(&p, f);
	f.start = 5000000;
	f.end = 5100000;
	add(&p, f);
	assert_int_equal(rama_path_join(&p, 0), 0);
	assert_int_equal(p.call[2].link, RAMA_PATH_LINK_THREAD);
	assert_int_equal(p.call[3].link, RAMA_PATH_LINK_NONE);
	rama_path_fini(&p);
}

/* numbers that were sent along say that two are not the same, whatever else they have in common */
static void other_numbers_are_other_requests(void **state)
{
	(void)state;
	for (uint64_t mark = 5; mark < 7; mark++) {
		struct rama_path p = { 0 };
		struct rama_path_call c = request(RAMA_PATH_LAYER_CLIENT, 200000, 800000);

		c.peer = "v-0";
		c.mark = 5;
		c.kernel_tid = 9;
		add(&p, reading(0, 0, 1000000));
		add(&p, request(RAMA_PATH_LAYER_FUSE, 100000, 900000));
		add(&p, c);
		c.layer = RAMA_PATH_LAYER_SERVER;
		c.role = RAMA_PATH_ROLE_SERVER;
		c.pid = 60;
		c.peer = "h:50:v-0";
		c.mark = mark;
		c.start = 300000;
		c.end = 700000;
		add(&p, c);
		assert_int_equal(rama_path_join(&p, 0), 0);
		assert_int_equal(p.n, mark == 5 ? 4 : 3);
		assert_int_equal(p.n_loads, mark == 5 ? 0 : 1);
		rama_path_fini(&p);
	}
}

UNIT_GROUP(join, test(what_was_served_is_not_written_behind),
	   test(other_numbers_are_other_requests), test(everything_that_can_be_known_is_linked),
	   test(nothing_is_linked_wrongly), test(the_load_of_others_is_a_number),
	   test(what_is_written_behind_is_later), test(helpers_are_found_by_range),
	   test(two_that_fit_are_none), test(several_at_once), test(reading_ahead),
	   test(requests_in_no_call), test(requests_of_other_users), test(too_near_to_tell),
	   test(what_moves_nothing_is_of_no_call_beside_it))
