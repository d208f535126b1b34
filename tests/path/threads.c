/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.c: jobs are joined in several threads at once, and then one of them is looked at from
 * several threads. Built with the thread sanitizer, whatever the rest is built with: it ends the
 * program with a status of its own where they share what changes. */
#include <pthread.h>

#include "path/facts.h"
#include "path/print.h"
#include "world.h"

enum { THREADS = 4 };

static struct world worlds[THREADS];

static void *make(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	worlds[i] = (struct world){ .hosts = 2,
				    .servers = 3,
				    .ranks = 2,
				    .threads = 2,
				    .steps = 8,
				    .far = i % 2 != 0,
				    .marks = i % 2 != 0,
				    .direct = true,
				    .behind = true,
				    .helpers = true,
				    .others = true,
				    .rng = { 71 + i % 2 } };
	world_make(&worlds[i]);
	return rama_path_join(&worlds[i].p, 0) == 0 ? &worlds[i] : NULL;
}

/* a number of all that can be seen of it */
static uintptr_t look(const struct rama_path *p)
{
	static int (*const view[])(const struct rama_path *, const struct rama_path_ask *,
				   struct rama_out *) = { rama_path_print_tree,
							  rama_path_print_calls,
							  rama_path_print_servers,
							  rama_path_print_critical };
	const struct rama_path_ask ask = {
		.rank = -1, .call = RAMA_PATH_NONE, .to = INT64_MAX, .most = 9
	};
	struct rama_path_facts facts;
	struct rama_arena arena = { 0 };
	uintptr_t seen = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct rama_path_pieces pieces;
		struct rama_path_gaps gaps;

		rama_path_gaps(p, i, &gaps);
		if (rama_path_critical(p, i, &pieces) != 0)
			return 0;
		seen = seen * 31 + (uintptr_t)gaps.before + pieces.n;
		rama_path_pieces_fini(&pieces);
	}
	for (size_t i = 0; i < sizeof(view) / sizeof(*view); i++) {
		struct rama_out out;

		rama_out_init(&out, NULL, NULL);
		if (view[i](p, &ask, &out) != 0)
			return 0;
		seen = seen * 31 + out.used;
		rama_out_fini(&out);
	}
	if (rama_path_facts_make(&facts, p, &arena) != 0)
		return 0;
	seen = seen * 31 + (uintptr_t)facts.rpcs;
	rama_arena_fini(&arena);
	return seen;
}

static void *look_at_first(void *arg)
{
	(void)arg;
	return (void *)look(&worlds[0].p);
}

static void all(void *(*what)(void *), void *told[THREADS])
{
	pthread_t thread[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, what, (void *)i) != 0)
			abort();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], &told[i]);
}

int main(void)
{
	void *told[THREADS];
	int wrong = 0;

	all(make, told);
	for (unsigned i = 0; i < THREADS; i++)
		wrong += told[i] == NULL || worlds[i].p.n != worlds[i % 2].p.n ||
			 worlds[i].p.n_roots != worlds[i % 2].p.n_roots;
	all(look_at_first, told);
	for (unsigned i = 0; i < THREADS; i++)
		wrong += told[i] == NULL || told[i] != told[0];
	printf("%zu calls, %d wrong\n", worlds[0].p.n, wrong);
	for (unsigned i = 0; i < THREADS; i++)
		world_fini(&worlds[i]);
	return wrong == 0 ? 0 : 1;
}
