/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.c: wire RUNS: how long it takes to pack and unpack blocks of events, and how large they
 * get. Prints one line per kind of work: name, ns per event packed and unpacked (CPU time, the
 * least of RUNS), bytes per event. The events look like real ones: durations and gaps are noise
 * with a long tail. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wire/block.h"

#define BLOCKS 32

static uint64_t state = 1;

static uint64_t rnd(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static double unit(void)
{
	return ((double)(rnd() >> 11) + 0.5) * 0x1p-53;
}

/* log-normal around `median`, and one in 2,000 takes a thousand times as long */
static int64_t noise(double median, double spread)
{
	double z = sqrt(-2 * log(unit())) * cos(6.283185307179586 * unit());

	return (int64_t)(median * exp(spread * z) * (rnd() % 2000 == 0 ? 1000 : 1));
}

struct made {
	int64_t now;
	uint32_t call;
	int64_t off[64];
};

static void set_what(struct rama_wire_what *w, const char *layer, const char *op, const char *fn)
{
	memset(w, 0, sizeof(*w));
	snprintf(w->layer, sizeof(w->layer), "%s", layer);
	snprintf(w->op, sizeof(w->op), "%s", op);
	snprintf(w->fn, sizeof(w->fn), "%s", fn);
}

static struct rama_wire_event *add(struct rama_wire_block *b, struct made *m, uint16_t what,
				   unsigned file, double median)
{
	struct rama_wire_event *ev = &b->event[b->n++];

	*ev = (struct rama_wire_event){
		.dur = noise(median, 0.35), .off = -1, .bytes = -1, .what = what
	};
	m->now += noise(90, 0.25) + ev->dur;
	ev->end = m->now;
	ev->record = 0x123456789abcdefu * (file + 1) ^ (uint64_t)file << 57;
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

/* 64 files, read and written here and there, opened, closed and asked for in between */
static void mix(struct rama_wire_block *b, struct made *m)
{
	while (b->n < RAMA_WIRE_BLOCK_EVENTS) {
		unsigned dice = rnd() % 100, file = rnd() % 64;
		uint16_t what = dice < 40 ? 0 : dice < 80 ? 1 : (uint16_t)(2 + dice % 4);
		struct rama_wire_event *ev = add(b, m, what, file, what < 2 ? 1500 : 6000);

		ev->failed = what == 5 && dice > 90;
		if (what >= 2)
			continue;
		ev->off = rnd() % 4 == 0 ? (int64_t)(rnd() % 65536) * 4096 : m->off[file];
		ev->bytes = rnd() % 8 == 0 ? (int64_t)(rnd() % 4096) : 4096;
		m->off[file] = ev->off + ev->bytes;
	}
}

/* MPI-IO above POSIX: a call, and one or two within it, anywhere in 64 GiB */
static void nested(struct rama_wire_block *b, struct made *m)
{
	while (b->n + 3 <= RAMA_WIRE_BLOCK_EVENTS) {
		uint32_t outer = ++m->call;
		int64_t off = (int64_t)(rnd() % (1 << 20)) << 16, start = m->now, left = 65536;
		struct rama_wire_event *ev;

		for (unsigned k = 1 + rnd() % 2; k > 0; k--) {
			ev = add(b, m, 6, 0, 24000);
			ev->off = off + 65536 - left;
			ev->bytes = left / k;
			left -= ev->bytes;
			ev->parent = outer;
		}
		ev = add(b, m, 7, 0, 600);
		ev->dur = ev->end - start - noise(90, 0.25);
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
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const struct rama_err *e)
{
	fprintf(stderr, "wire: %s\n", e->text);
	exit(1);
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
		b->n_whats = 8;
		set_what(&b->what[0], "POSIX", "write", "pwrite64");
		set_what(&b->what[1], "POSIX", "read", "pread64");
		set_what(&b->what[2], "POSIX", "open", "openat");
		set_what(&b->what[3], "POSIX", "close", "close");
		set_what(&b->what[4], "POSIX", "seek", "lseek");
		set_what(&b->what[5], "POSIX", "stat", "stat");
		set_what(&b->what[6], "POSIX", "read", "pread");
		set_what(&b->what[7], "MPI-IO", "read", "MPI_File_read_at");
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

		for (unsigned k = 0; k < BLOCKS; k++)
			if ((size[k] = rama_wire_block_pack(&p, block[k], packed[k],
							    rama_wire_block_room(block[k]), &e)) <
			    0)
				fail(&e);
		t[1] = seconds();
		for (unsigned k = 0; k < BLOCKS; k++)
			if (rama_wire_block_unpack(&p, &out, packed[k], (size_t)size[k], &e) < 0)
				fail(&e);
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
