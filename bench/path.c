/* SPDX-License-Identifier: BSD-3-Clause */
/* path CALLS ROUNDS: what it takes to join calls of ranks, a FUSE daemon and three servers on one
 * host (path/path.h). Prints "calls\tms" of processor time, the least of all rounds. */
#include <time.h>

#include "world.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	size_t calls = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 3;
	double best = 1e9;
	size_t n = 0;

	for (unsigned r = 0; r < rounds; r++) {
		/* a step is about three requests with ten calls each */
		struct world w = { .hosts = 1,
				   .servers = 3,
				   .ranks = 16,
				   .threads = 1,
				   .marks = true,
				   .steps = (unsigned)(calls / 16 / 27),
				   .rng = { r } };
		double start, took;

		world_make(&w);
		n = w.p.n;
		start = now();
		if (rama_path_join(&w.p, 0) != 0)
			return 4;
		took = now() - start;
		best = took < best ? took : best;
		world_fini(&w);
	}
	printf("%zu\t%.1f\n", n, best * 1e3);
	return 0;
}
