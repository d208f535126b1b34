/* SPDX-License-Identifier: BSD-3-Clause */
/* site_agents.c: site_agents SINK RANKS PER_NODE RATE SECONDS WAIT: agents of the nodes of one job
 * that are not there: each rank makes RATE events a second, which its agent packs after WAIT
 * seconds, beside counters of each rank and samples of each node, and brings to the sink, each by a
 * connection of its own, with a queue for a spool. Prints a line of JSON: what was made, what is
 * committed, how long that took, and how long queues were. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/now.h"
#include "bench.h"
#include "bus/sink/sink.h"

#define JOB "1000/run-site"
#define TICK 10	       /* ms */
#define PUT 512	       /* parcels at a time */
#define LONGEST 120000 /* ms for the end */
#define DELAYS 600001  /* ms, of the histogram */
#define QUARTERS 4

struct waiting {
	unsigned char *bytes;
	size_t len;
	uint32_t events;
	int64_t since; /* ms */
};

struct node {
	struct rama_bus_sink *sink;
	const struct rama_bus_sink_ops *ops;
	struct waiting *queue; /* [0]: number base */
	size_t n, room;
	uint64_t base, next; /* numbers: of the first that is not committed; to be put next */
	uint64_t first_rank, ranks;
	char host[32], agent[64];
};

struct rank {
	uint64_t first, version;
	int64_t due, t; /* ms; ns */
};

static const struct rama_wire_what calls[] = { BENCH_CALLS };
static struct rama_wire_block block;
static struct rama_wire_block_packer packer;
static unsigned char *packed;
static uint64_t made, committed, bytes_made, messages, delays[DELAYS], queue_now;
static double queue_sum[QUARTERS];
static uint64_t queue_seen[QUARTERS], queue_most;
static uint64_t n_ranks, per_node, rate, seconds, wait_s;

static void tell(void *ctx, const char *line)
{
	(void)ctx;
	fprintf(stderr, "site_agents: %s\n", line);
}

static void give(struct node *d, const struct rama_wire_message *m, uint32_t events)
{
	struct rama_wire_bytes b = { 0 };
	struct rama_err e = { 0 };

	bench_must(rama_wire_message_encode(m, &b, &e) == 0, &e);
	if (!RAMA_GROW(d->queue, d->room, d->n + 1))
		exit(1);
	d->queue[d->n++] = (struct waiting){ b.b, b.n, events, rama_now_ms() };
	made += events;
	bytes_made += b.n;
	messages++;
}

static struct rama_wire_segment_key key_of(uint64_t rank)
{
	struct rama_wire_segment_key k = { { 0 } };

	memcpy(k.b, &rank, sizeof(rank));
	k.b[15] = 1;
	return k;
}

static void tell_process(struct node *d, uint64_t rank, struct rank *r, bool end)
{
	int64_t now = (int64_t)(bench_clock(CLOCK_REALTIME) * 1e9);
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_PROCESS,
				       .process = { .version = ++r->version,
						    .job = JOB,
						    .user = "1000",
						    .host = d->host,
						    .exe = "/bin/solver",
						    .command = "solver",
						    .tag = "",
						    .uid = 1000,
						    .pid = (int64_t)rank + 1,
						    .rank = (int64_t)rank,
						    .nprocs = (int64_t)n_ranks,
						    .start = now,
						    .seen_at = now,
						    .end = end ? now : 0,
						    .state = end ? RAMA_WIRE_STATE_ENDED
								 : RAMA_WIRE_STATE_RUNNING,
						    .made = r->first,
						    .lanes = 1 } };

	m.process.segment = key_of(rank);
	give(d, &m, 0);
}

static void tell_counters(struct node *d, uint64_t rank, struct rank *r)
{
	int64_t n = (int64_t)r->first;
	struct rama_wire_msg_gain total = { .layer = "POSIX",
					    .reads = n / 2,
					    .writes = n - n / 2,
					    .bytes_read = n / 2 * 4096,
					    .bytes_written = (n - n / 2) * 4096,
					    .read_ns = n / 2 * 1500,
					    .write_ns = (n - n / 2) * 1500 };
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_COUNTERS,
				       .counters = {
					       .segment = key_of(rank),
					       .version = ++r->version,
					       .job = JOB,
					       .rank = (int64_t)rank,
					       .t = (int64_t)(bench_clock(CLOCK_REALTIME) * 1e9),
					       .n = 1,
					       .total = &total } };

	m.counters.since = m.counters.t - (int64_t)(seconds + 1) * 1000000000;
	give(d, &m, 0);
}

static void tell_block(struct node *d, uint64_t rank, struct rank *r, uint32_t n)
{
	static int64_t off[64];
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_BLOCK };
	struct rama_err e = { 0 };
	int64_t len;

	block.segment = key_of(rank);
	block.rank = (int64_t)rank;
	block.first = r->first;
	block.n = n;
	block.tid = (uint32_t)rank + 1;
	for (uint32_t i = 0; i < n; i++) {
		bench_mixed(&block.event[i], &r->t, off, 0.8e9 / (double)rate);
		block.event[i].call = (uint32_t)(r->first + i + 1);
	}
	len = rama_wire_block_pack(&packer, &block, packed, rama_wire_block_room(&block), &e);
	bench_must(len >= 0, &e);
	m.block.bytes = packed;
	m.block.len = (size_t)len;
	r->first += n;
	give(d, &m, n);
}

static void tell_names(struct node *d)
{
	struct rama_wire_msg_name name[64];
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_NAMES,
				       .names = { .job = JOB, .n = 64, .name = name } };
	char path[64][32];

	for (unsigned i = 0; i < 64; i++) {
		snprintf(path[i], sizeof(path[i]), "/scratch/file.%u", i);
		name[i] = (struct rama_wire_msg_name){ .record = 0x123456789abcdefu * (i + 1) ^
								 (uint64_t)i << 57,
						       .path = path[i],
						       .len = (uint32_t)strlen(path[i]) };
	}
	give(d, &m, 0);
}

/* ---- the way to the sink --------------------------------------------------------------------- */

static void settle(struct node *d, uint64_t to, uint64_t again)
{
	size_t done = 0;
	int64_t now = rama_now_ms();

	for (; done < d->n && d->base + done <= to; done++) {
		int64_t took = now - d->queue[done].since;

		delays[took < DELAYS ? took : DELAYS - 1]++;
		committed += d->queue[done].events;
		free(d->queue[done].bytes);
	}
	memmove(d->queue, d->queue + done, (d->n - done) * sizeof(*d->queue));
	d->n -= done;
	d->base += done;
	if (again < d->next)
		d->next = again;
	if (d->next < d->base)
		d->next = d->base;
}

static void push(struct node *d)
{
	struct rama_bus_parcel p[PUT];
	struct rama_err e = { 0 };
	uint64_t to = 0, again = UINT64_MAX;
	size_t at = (size_t)(d->next - d->base), n = 0;
	int64_t taken;

	for (; n < PUT && at + n < d->n; n++)
		p[n] = (struct rama_bus_parcel){ d->next + n, d->queue[at + n].bytes,
						 d->queue[at + n].len };
	taken = d->ops->put(d->sink, p, n, &e);
	if (taken > 0)
		d->next += (uint64_t)taken;
	d->ops->sync(d->sink, 0, &to, &again, &e);
	settle(d, to, again);
}

static void open_nodes(struct node *nodes, size_t n, const char *spec)
{
	struct rama_err e = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct node *d = &nodes[i];
		struct rama_bus_sink_options o = { .tell = tell };

		snprintf(d->host, sizeof(d->host), "node%zu", i);
		snprintf(d->agent, sizeof(d->agent), "node%zu-%08d-site", i, (int)getpid());
		d->base = d->next = 1;
		d->first_rank = i * per_node;
		d->ranks = n_ranks - d->first_rank < per_node ? n_ranks - d->first_rank : per_node;
		o.agent = d->agent;
		d->ops = rama_bus_sink_find(spec, &o.where);
		if (d->ops == NULL)
			exit(2);
		bench_must(d->ops->open(&d->sink, &o, &e) == 0, &e);
	}
}

static void sample(struct node *d)
{
	struct rama_wire_msg_figure f[8] = { { .metric = "cpu.user", .value = 1 } };
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_SAMPLE,
				       .sample = {
					       .host = d->host,
					       .t = (int64_t)(bench_clock(CLOCK_REALTIME) * 1e9),
					       .n = 1,
					       .figure = f } };

	give(d, &m, 0);
}

/* what is due by now on a node, and one step of its way */
static void tick(struct node *d, struct rank *rank, int64_t now, bool more)
{
	for (uint64_t k = 0; more && k < d->ranks; k++) {
		struct rank *r = &rank[d->first_rank + k];

		if (r->due > now)
			continue;
		r->due += (int64_t)wait_s * 1000;
		tell_block(d, d->first_rank + k, r, (uint32_t)(rate * wait_s));
		tell_counters(d, d->first_rank + k, r);
	}
	push(d);
}

static void note_queues(const struct node *nodes, size_t n, unsigned quarter)
{
	queue_now = 0;
	for (size_t i = 0; i < n; i++)
		queue_now += nodes[i].n;
	queue_most = queue_now > queue_most ? queue_now : queue_most;
	queue_sum[quarter] += (double)queue_now;
	queue_seen[quarter]++;
}

static uint64_t delay_of(double share)
{
	uint64_t all = 0, seen = 0;

	for (size_t i = 0; i < DELAYS; i++)
		all += delays[i];
	for (size_t i = 0; i < DELAYS; i++) {
		seen += delays[i];
		if ((double)seen >= share * (double)all)
			return i;
	}
	return DELAYS - 1;
}

static void report(double took, double drained)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	printf("{\"made\": %" PRIu64 ", \"committed\": %" PRIu64 ", \"messages\": %" PRIu64
	       ", \"bytes\": %" PRIu64
	       ", \"seconds\": %.3f, \"drained\": %.3f, \"delay_ms\": [%" PRIu64 ", %" PRIu64
	       ", %" PRIu64 "], \"queue_most\": %" PRIu64 ", \"queue\": [",
	       made, committed, messages, bytes_made, took, drained, delay_of(0.5), delay_of(0.99),
	       delay_of(1), queue_most);
	for (unsigned i = 0; i < QUARTERS; i++)
		printf("%s%.0f", i > 0 ? ", " : "",
		       queue_seen[i] > 0 ? queue_sum[i] / (double)queue_seen[i] : 0);
	printf("], \"cpu\": %.3f}\n",
	       (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec));
}

static void work(struct node *nodes, size_t n, struct rank *rank)
{
	int64_t begun = rama_now_ms(), end = begun + (int64_t)seconds * 1000, now, next = begun;
	int64_t sampled = begun;
	double took;

	while ((now = rama_now_ms()) < end) {
		for (size_t i = 0; i < n; i++) {
			if (now - sampled >= 1000)
				sample(&nodes[i]);
			tick(&nodes[i], rank, now, true);
		}
		if (now - sampled >= 1000)
			sampled = now;
		note_queues(nodes, n, (unsigned)((now - begun) * QUARTERS / (end - begun)));
		next += TICK;
		now = rama_now_ms();
		if (next > now)
			usleep((useconds_t)(next - now) * 1000);
		else
			next = now;
	}
	took = (double)(rama_now_ms() - begun) / 1000;
	for (size_t i = 0; i < n; i++)
		for (uint64_t k = 0; k < nodes[i].ranks; k++)
			tell_process(&nodes[i], nodes[i].first_rank + k,
				     &rank[nodes[i].first_rank + k], true);
	begun = rama_now_ms();
	do {
		queue_now = 0;
		for (size_t i = 0; i < n; i++) {
			tick(&nodes[i], rank, 0, false);
			queue_now += nodes[i].n;
		}
		usleep(TICK * 1000);
	} while (queue_now > 0 && rama_now_ms() - begun < LONGEST);
	report(took, (double)(rama_now_ms() - begun) / 1000);
}

int main(int argc, char **argv)
{
	struct node *nodes;
	struct rank *rank;
	size_t n;
	int64_t now;

	if (argc != 7)
		return 2;
	n_ranks = strtoull(argv[2], NULL, 10);
	per_node = strtoull(argv[3], NULL, 10);
	rate = strtoull(argv[4], NULL, 10);
	seconds = strtoull(argv[5], NULL, 10);
	wait_s = strtoull(argv[6], NULL, 10);
	if (n_ranks == 0 || per_node == 0 || wait_s == 0 || rate * wait_s == 0 ||
	    rate * wait_s > RAMA_WIRE_BLOCK_EVENTS)
		return 2;
	n = (size_t)((n_ranks + per_node - 1) / per_node);
	nodes = calloc(n, sizeof(*nodes));
	rank = calloc(n_ranks, sizeof(*rank));
	block.n = RAMA_WIRE_BLOCK_EVENTS;
	packed = malloc(rama_wire_block_room(&block));
	if (nodes == NULL || rank == NULL || packed == NULL)
		return 1;
	snprintf(block.job, sizeof(block.job), JOB);
	block.n_whats = sizeof(calls) / sizeof(calls[0]);
	memcpy(block.what, calls, sizeof(calls));
	open_nodes(nodes, n, argv[1]);
	now = rama_now_ms();
	for (uint64_t i = 0; i < n_ranks; i++) {
		struct node *d = &nodes[i / per_node];

		if (i % per_node == 0)
			tell_names(d);
		rank[i].t = (int64_t)(bench_clock(CLOCK_REALTIME) * 1e9);
		/* ranks do not begin at one moment */
		rank[i].due = now + 1000 + (int64_t)(bench_rnd() % (wait_s * 1000));
		tell_process(d, i, &rank[i], false);
	}
	work(nodes, n, rank);
	for (size_t i = 0; i < n; i++)
		nodes[i].ops->close(nodes[i].sink);
	return queue_now > 0 || made != committed ? 3 : 0;
}
