/* SPDX-License-Identifier: BSD-3-Clause */
/* store.c: store WHERE EVENTS [PER_BLOCK [put]]: fills a new store with events of a job of 4
 * ranks with 2 threads each, as an agent does, and asks for some of them (not with `put`).
 * Prints lines of name, value, unit: what taking in costs (unpacking, leaving out what is there,
 * sums per second, commit; not the making of the blocks), what it takes on disk, how long
 * answers take. */
#include <string.h>

#include "bench.h"
#include "store/store.h"

#define RANKS 4
#define THREADS 2
#define LANES (RANKS * THREADS)
#define BATCH 64 /* messages */
#define T0 1700000000000000000
#define ROWS 1000
#define ANSWERS 9

static void must(int rc, const struct rama_err *e)
{
	bench_must(rc >= 0, e);
}

/* ---- events ---------------------------------------------------------------------------------- */

static const struct rama_wire_what calls[] = { BENCH_CALLS };

static struct rama_wire_block block[LANES];
static int64_t now[LANES];

static void make(struct rama_wire_block *b, int64_t *t, double gap)
{
	static int64_t off[64];

	for (uint32_t i = 0; i < b->n; i++) {
		bench_mixed(&b->event[i], t, off, gap);
		b->event[i].call = (uint32_t)(b->first + i + 1);
	}
}

static void first_blocks(uint32_t per_block)
{
	for (unsigned i = 0; i < LANES; i++) {
		struct rama_wire_block *b = &block[i];

		now[i] = T0;
		snprintf(b->job, sizeof(b->job), "1000/run-4711");
		memset(b->segment.b, (int)(i / THREADS) + 1, sizeof(b->segment.b));
		b->rank = i / THREADS;
		b->lane = i % THREADS;
		b->tid = 4711 + i;
		b->n = per_block;
		b->n_whats = sizeof(calls) / sizeof(calls[0]);
		memcpy(b->what, calls, sizeof(calls));
		make(b, &now[i], per_block == RAMA_WIRE_BLOCK_EVENTS ? 90 : 1e9 / per_block);
	}
}

/* the same noise a little later: what is new in it is as much as in other noise */
static void next_block(struct rama_wire_block *b, int64_t *t)
{
	int64_t move = *t - b->event[0].end + b->event[0].dur + 1 + (int64_t)(bench_rnd() % 100);

	b->first += b->n;
	for (uint32_t i = 0; i < b->n; i++) {
		b->event[i].end += move;
		b->event[i].call += b->n;
	}
	*t = b->event[b->n - 1].end;
}

/* ---- taking in ------------------------------------------------------------------------------- */

static unsigned char *packed[BATCH];
static int64_t size[BATCH];

static void put_processes(struct rama_store *s)
{
	struct rama_err e = { 0 };

	must(rama_store_begin(s, &e), &e);
	for (unsigned i = 0; i < RANKS; i++) {
		struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_PROCESS,
					       .process = { .version = 1,
							    .job = block[0].job,
							    .user = "ada",
							    .host = "node1",
							    .exe = "/bin/solver",
							    .command = "solver",
							    .tag = "",
							    .uid = 1000,
							    .pid = 4711 + i,
							    .rank = i,
							    .nprocs = RANKS,
							    .start = T0,
							    .seen_at = T0,
							    .state = RAMA_WIRE_STATE_RUNNING } };

		m.process.segment = block[(size_t)i * THREADS].segment;
		must(rama_store_put(s, &m, NULL, &e), &e);
	}
	must(rama_store_commit(s, &e), &e);
}

static uint64_t put_batch(struct rama_store *s, unsigned n)
{
	struct rama_err e = { 0 };
	uint64_t all = 0, stored;

	must(rama_store_begin(s, &e), &e);
	for (unsigned i = 0; i < n; i++) {
		struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_BLOCK,
					       .block = { packed[i], (size_t)size[i] } };

		must(rama_store_put(s, &m, &stored, &e), &e);
		all += stored;
	}
	must(rama_store_commit(s, &e), &e);
	return all;
}

#define RARE 4711 /* a file that one block has events of */

/* a block behind all others, of which some events are of another file */
static void put_rare(struct rama_store *s, struct rama_wire_block_packer *p)
{
	struct rama_wire_block *b = &block[0];
	struct rama_err e = { 0 };

	for (uint32_t i = 0; i < b->n; i += 100)
		b->event[i].record = RARE;
	size[0] = rama_wire_block_pack(p, b, packed[0], sizeof(*b), &e);
	bench_must(size[0] >= 0, &e);
	put_batch(s, 1);
}

static void fill(struct rama_store *s, uint64_t events, uint32_t per_block)
{
	double cpu = 0, wall = 0, t;
	struct rama_wire_block_packer p = { 0 };
	struct rama_store_counts c;
	struct rama_err e = { 0 };
	uint64_t made = 0, stored = 0, bytes = 0;

	first_blocks(per_block);
	put_processes(s);
	for (unsigned lane = 0; made < events;) {
		unsigned n = 0;

		for (; n < BATCH && made < events; n++, lane = (lane + 1) % LANES) {
			struct rama_wire_block *b = &block[lane];

			size[n] = rama_wire_block_pack(&p, b, packed[n], sizeof(*b), &e);
			bench_must(size[n] >= 0, &e);
			made += b->n;
			bytes += (uint64_t)size[n];
			next_block(b, &now[lane]);
		}
		cpu -= bench_clock(CLOCK_PROCESS_CPUTIME_ID), t = bench_clock(CLOCK_MONOTONIC);
		stored += put_batch(s, n);
		cpu += bench_clock(CLOCK_PROCESS_CPUTIME_ID),
			wall += bench_clock(CLOCK_MONOTONIC) - t;
	}
	if (stored != made) {
		fprintf(stderr, "store: %llu of %llu events are stored\n",
			(unsigned long long)stored, (unsigned long long)made);
		exit(1);
	}
	must(rama_store_stats(s, &c, &e), &e);
	printf("put, cpu\t%.0f\tevents/s\n", (double)made / cpu);
	printf("put, wall\t%.0f\tevents/s\n", (double)made / wall);
	printf("blocks\t%.3f\tbytes/event\n", (double)bytes / (double)made);
	printf("disk\t%.3f\tbytes/event\n", (double)c.bytes / (double)made);
	put_rare(s, &p);
	rama_wire_block_packer_fini(&p);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int count(void *ctx, const struct rama_store_stored_event *ev, struct rama_err *e)
{
	(void)ev, (void)e;
	++*(unsigned *)ctx;
	return 0;
}

/* the median of answers at different times of the job, each by a store that was just opened */
static void ask(const char *where, const char *name, struct rama_store_event_filter f, int64_t last)
{
	double took[ANSWERS];
	struct rama_err e = { 0 };

	for (unsigned i = 0; i < ANSWERS; i++) {
		struct rama_store *s;
		unsigned n = 0;
		double t = bench_clock(CLOCK_MONOTONIC);

		f.from = T0 + (last - T0) / (ANSWERS + 1) * (i + 1);
		f.limit = ROWS;
		must(rama_store_open(&s, where, RAMA_STORE_READ, &e), &e);
		must(rama_store_events(s, &f, count, &n, &e), &e);
		rama_store_close(s);
		took[i] = bench_clock(CLOCK_MONOTONIC) - t;
		if (n != ROWS) {
			fprintf(stderr, "store: %s: %u rows\n", name, n);
			exit(1);
		}
	}
	qsort(took, ANSWERS, sizeof(took[0]), bench_by_size);
	printf("%s\t%.3f\tms\n", name, 1e3 * took[ANSWERS / 2]);
}

static void scan(const char *where, uint64_t events)
{
	struct rama_store_event_filter f = { .job = 1,
					     .rank = 1,
					     .order = RAMA_STORE_ORDER_JOB_RANK_TIME };
	struct rama_err e = { 0 };
	struct rama_store *s;
	unsigned n = 0;
	double t = bench_clock(CLOCK_MONOTONIC);

	must(rama_store_open(&s, where, RAMA_STORE_READ, &e), &e);
	must(rama_store_events(s, &f, count, &n, &e), &e);
	rama_store_close(s);
	if (n < events / RANKS / 2)
		exit(1);
	printf("all of one rank\t%.1f\tns/event\n", 1e9 * (bench_clock(CLOCK_MONOTONIC) - t) / n);
}

static void ask_file(const char *where, uint32_t per_block)
{
	struct rama_store_event_filter f = { .job = 1,
					     .rank = RAMA_STORE_RANK_ALL,
					     .record = RARE,
					     .order = RAMA_STORE_ORDER_JOB_TIME_RANK };
	struct rama_err e = { 0 };
	struct rama_store *s;
	unsigned n = 0;
	double t = bench_clock(CLOCK_MONOTONIC);

	must(rama_store_open(&s, where, RAMA_STORE_READ, &e), &e);
	must(rama_store_events(s, &f, count, &n, &e), &e);
	rama_store_close(s);
	if (n != (per_block + 99) / 100)
		exit(1);
	printf("one file of all\t%.3f\tms\n", 1e3 * (bench_clock(CLOCK_MONOTONIC) - t));
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	uint32_t per_block =
		argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : RAMA_WIRE_BLOCK_EVENTS;
	struct rama_store_event_filter f = { .job = 1, .rank = 2 };
	struct rama_err e = { 0 };
	struct rama_store *s;
	int64_t last;

	if (argc < 2 || per_block == 0 || per_block > RAMA_WIRE_BLOCK_EVENTS)
		return 2;
	for (unsigned i = 0; i < BATCH; i++)
		packed[i] = malloc(sizeof(struct rama_wire_block));
	must(rama_store_open(&s, argv[1], RAMA_STORE_WRITE | RAMA_STORE_CREATE, &e), &e);
	fill(s, events, per_block);
	rama_store_close(s);
	if (argc > 4)
		return 0;
	last = now[2 * THREADS];
	ask(argv[1], "1,000 rows of a rank", f, last);
	f.rank = RAMA_STORE_RANK_ALL, f.order = RAMA_STORE_ORDER_JOB_TIME_RANK;
	ask(argv[1], "1,000 rows of a job", f, last);
	f.job = -1, f.order = RAMA_STORE_ORDER_TIME_JOB_RANK;
	ask(argv[1], "1,000 rows of all", f, last);
	ask_file(argv[1], per_block);
	scan(argv[1], events);
	for (unsigned i = 0; i < BATCH; i++)
		free(packed[i]);
	return 0;
}
