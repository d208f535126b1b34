/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.c: wire RUNS: how long it takes to pack and unpack blocks of events, and how large they
 * get. Prints one line per kind of work: name, ns per event packed and unpacked (CPU time, the
 * least of RUNS), bytes per event. The events are those of bench.h. */
#include <string.h>

#include "bench.h"

#define BLOCKS 32

struct made {
	int64_t now;
	uint32_t call;
	int64_t off[64];
};

static const struct rama_wire_what calls[] = { BENCH_CALLS,
					       { "POSIX", "read", "pread" },
					       { "MPI-IO", "read", "MPI_File_read_at" } };

static struct rama_wire_event *add(struct rama_wire_block *b, struct made *m, uint16_t what,
				   unsigned file, double median)
{
	struct rama_wire_event *ev = &b->event[b->n++];

	bench_event(ev, &m->now, what, file, median, 90);
	ev->call = ++m->call;
	return ev;
}

/* one file, written bit by bit */
static void small_writes(struct rama_wire_block *b, struct made *m)
{
	while (b->n < RAMA_WIRE_BLOCK_EVENTS) {
		struct rama_wire_event *ev = add(b, m, 0, 0, 420);

		ev->off = m->off[0]++;
		ev->bytes = 1;
	}
}

static void mix(struct rama_wire_block *b, struct made *m)
{
	while (b->n < RAMA_WIRE_BLOCK_EVENTS) {
		struct rama_wire_event *ev = &b->event[b->n++];
		unsigned dice = bench_mixed(ev, &m->now, m->off, 90);

		ev->failed = ev->what == 5 && dice > 90;
		ev->call = ++m->call;
	}
}

/* MPI-IO above POSIX: a call, and one or two within it, anywhere in 64 GiB */
static void nested(struct rama_wire_block *b, struct made *m)
{
	while (b->n + 3 <= RAMA_WIRE_BLOCK_EVENTS) {
		uint32_t outer = ++m->call;
		int64_t off = (int64_t)(bench_rnd() % (1 << 20)) << 16, start = m->now,
			left = 65536;
		struct rama_wire_event *ev;

		for (unsigned k = 1 + bench_rnd() % 2; k > 0; k--) {
			ev = add(b, m, 6, 0, 24000);
			ev->off = off + 65536 - left;
			ev->bytes = left / k;
			left -= ev->bytes;
			ev->parent = outer;
		}
		ev = add(b, m, 7, 0, 600);
		ev->dur = ev->end - start - bench_noise(90, 0.25);
		ev->off = off;
		ev->bytes = 65536;
		ev->call = outer;
		m->call--;
	}
}

static const struct {
	const char *name;
	void (*make)(struct rama_wire_block *b, struct made *m);
} works[] = { { "small writes", small_writes }, { "mix", mix }, { "nested", nested } };

static double seconds(void)
{
	return bench_clock(CLOCK_THREAD_CPUTIME_ID);
}

static struct rama_wire_block *block[BLOCKS], out;
static unsigned char *packed[BLOCKS];
static int64_t size[BLOCKS];

static void make(unsigned work)
{
	struct made m = { .now = 1700000000000000000 };

	for (unsigned k = 0; k < BLOCKS; k++) {
		struct rama_wire_block *b = block[k];

		memset(b, 0, sizeof(*b));
		snprintf(b->job, sizeof(b->job), "1000/run-4711");
		b->n_whats = sizeof(calls) / sizeof(calls[0]);
		memcpy(b->what, calls, sizeof(calls));
		works[work].make(b, &m);
	}
}

static void measure(unsigned work, unsigned runs)
{
	double best[2] = { 1e9, 1e9 }, events = 0, bytes = 0;
	struct rama_wire_block_packer p = { 0 };
	struct rama_err e = { 0 };

	for (unsigned run = 0; run < runs; run++) {
		double t[3] = { seconds(), 0, 0 };

		for (unsigned k = 0; k < BLOCKS; k++) {
			size[k] = rama_wire_block_pack(&p, block[k], packed[k],
						       rama_wire_block_room(block[k]), &e);
			bench_must(size[k] >= 0, &e);
		}
		t[1] = seconds();
		for (unsigned k = 0; k < BLOCKS; k++)
			bench_must(rama_wire_block_unpack(&p, &out, packed[k], (size_t)size[k],
							  &e) >= 0,
				   &e);
		t[2] = seconds();
		for (unsigned k = 0; k < 2; k++)
			best[k] = t[k + 1] - t[k] < best[k] ? t[k + 1] - t[k] : best[k];
	}
	for (unsigned k = 0; k < BLOCKS; k++) {
		events += block[k]->n;
		bytes += (double)size[k];
	}
	printf("%s\t%.2f\t%.2f\t%.3f\n", works[work].name, 1e9 * best[0] / events,
	       1e9 * best[1] / events, bytes / events);
	rama_wire_block_packer_fini(&p);
}

int main(int argc, char **argv)
{
	unsigned runs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;

	for (unsigned k = 0; k < BLOCKS; k++) {
		block[k] = calloc(1, sizeof(struct rama_wire_block));
		packed[k] = malloc(sizeof(struct rama_wire_block));
		if (block[k] == NULL || packed[k] == NULL)
			return 1;
	}
	for (unsigned work = 0; work < sizeof(works) / sizeof(works[0]); work++) {
		make(work);
		measure(work, runs);
	}
	for (unsigned k = 0; k < BLOCKS; k++) {
		free(block[k]);
		free(packed[k]);
	}
	return 0;
}
