/* SPDX-License-Identifier: BSD-3-Clause */
/* shutdown [--lines] [--quick] [--latency US] [--bandwidth MB/S] [FOLDER]: what the end of a
 * parallel job costs, in the four cases of the table that P. Carns et al. measured with Darshan
 * on a Cray XE6 (2013): every rank has 1 or 1,024 files, the same for all ranks or its own.
 *
 * First real runs: ranks are threads, the algorithm is the one of a job, the log is written into
 * FOLDER (/tmp). All ranks share this machine's cores, so the time is about the sum of their
 * work. Then jobs that do not fit here: the work of one rank at each level of the tree, of one
 * rank's compression and of one writer is measured here and now; only the network is assumed.
 * --lines prints figures for bench/run instead of tables; bench/shutdown.py runs the same with
 * real ranks. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/sum/plan.h"
#include "core/recordid.h"
#include "core/sum/reduce.h"
#include "shutdown/rank.h"
#include "threads.h"

#define NAMES_MOST (1u << 20) /* as in the algorithm */
#define WRITE_SAMPLE (64u << 20)
#define WRITE_AT_ONCE (256u << 10)

struct scenario {
	const char *name, *brief;
	unsigned files;
	bool shared;
	double darshan; /* seconds that the paper has, 98,304 ranks of another machine */
};

static const struct scenario scenarios[] = {
	{ "1 shared file", "1 shared", 1, true, 0.17 },
	{ "1,024 shared files", "1024 shared", 1024, true, 0.24 },
	{ "1 file per rank", "1 each", 1, false, 12.27 },
	{ "1,024 files per rank", "1024 each", 1024, false, 24.76 },
};
#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static struct {
	bool lines, quick;
	double latency, bandwidth; /* seconds, bytes per second */
	const char *folder;
	double disk; /* bytes per second, measured */
} set = { .latency = 5e-6, .bandwidth = 5e9, .folder = "/tmp" };

static void fail(const char *what)
{
	fprintf(stderr, "shutdown: %s\n", what);
	exit(1);
}

/* ---- ranks with records ---------------------------------------------------------------------- */

static uint64_t below(uint64_t *state, uint64_t n)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % n;
}

static size_t file_name(char name[96], const struct scenario *sc, int64_t rank, unsigned file)
{
	return (size_t)snprintf(name, 96, "/scratch/project/run0042/%s-%06lld-%04u.h5",
				sc->shared ? "field" : "restart",
				sc->shared ? 0ll : (long long)rank, file);
}

/* a file that was written and read in pieces, as most are */
static void fill(union rama_core_word *w, uint64_t id, int64_t rank, uint64_t *state)
{
	int64_t n = 16 + (int64_t)below(state, 64);

	memset(w, 0, RAMA_TAB_POSIX__WORDS * sizeof(*w));
	w[RAMA_TAB_ID].u = id;
	w[RAMA_TAB_RANK].i = rank;
	w[RAMA_TAB_POSIX_OPENS].i = 1;
	w[RAMA_TAB_POSIX_WRITES].i = w[RAMA_TAB_POSIX_SEQ_WRITES].i = n;
	w[RAMA_TAB_POSIX_READS].i = n / 2;
	w[RAMA_TAB_POSIX_BYTES_WRITTEN].i = n << 20;
	w[RAMA_TAB_POSIX_BYTES_READ].i = n << 19;
	w[RAMA_TAB_POSIX_MAX_BYTE_WRITTEN].i = (n << 20) - 1;
	w[RAMA_TAB_POSIX_MAX_BYTE_READ].i = (n << 19) - 1;
	w[RAMA_TAB_POSIX_SIZE_WRITE_1M_4M].i = n;
	w[RAMA_TAB_POSIX_SIZE_READ_1M_4M].i = n / 2;
	w[RAMA_TAB_POSIX_ACCESS1_ACCESS].i = 1 << 20;
	w[RAMA_TAB_POSIX_ACCESS1_COUNT].i = n + n / 2;
	w[RAMA_TAB_POSIX_F_READ_TIME].f = (double)below(state, 1u << 30) * 1e-9;
	w[RAMA_TAB_POSIX_F_WRITE_TIME].f = (double)below(state, 1u << 30) * 1e-9;
	w[RAMA_TAB_POSIX_F_META_TIME].f = (double)below(state, 1u << 20) * 1e-9;
	w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f = 1 + (double)below(state, 1u << 30) * 1e-9;
	w[RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP].f = 9 + (double)below(state, 1u << 30) * 1e-9;
}

static void make_own(struct rama_shutdown_own *o, const struct scenario *sc, int64_t rank,
		     int64_t size)
{
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_POSIX);
	struct rama_log_mount mount = { .path = "/scratch", .type = "lustre", .path_len = 8 };
	struct rama_log_job job = { .uid = 1000,
				    .start_sec = 1700000000,
				    .start_nsec = rank,
				    .end_sec = 1700000010,
				    .nprocs = size,
				    .jobid = 1,
				    .exe = "bench" };
	struct rama_log_sink sink = rama_shutdown_own_sink(o);
	union rama_core_word w[RAMA_TAB_POSIX__WORDS];
	struct rama_core_record r = { .mod = mod, .schema = mod->record, .w = w };
	uint64_t state = 1 + (uint64_t)rank;
	struct rama_log_writer to;
	struct rama_err e;
	char name[96];

	rama_log_writer_init(&to, &sink, RAMA_LOG_PLAIN_BYTES, 0);
	to.inner = true;
	rama_log_writer_job(&to, &job, &mount, 1);
	for (unsigned i = 0; i < sc->files; i++) {
		size_t n = file_name(name, sc, rank, i);

		rama_log_writer_name(&to, rama_core_record_id(name, n), name, n);
	}
	rama_log_writer_module(&to, RAMA_TAB_MOD_POSIX, mod->newest);
	for (unsigned i = 0; i < sc->files; i++) {
		size_t n = file_name(name, sc, rank, i);

		fill(w, rama_core_record_id(name, n), rank, &state);
		rama_log_writer_record(&to, &r);
	}
	rama_log_writer_finish(&to, 0);
	rama_log_writer_fini(&to);
	if (rama_shutdown_own_ready(o, &e) != 0)
		fail(e.text);
}

/* ---- real runs ------------------------------------------------------------------------------- */

struct rank {
	const char *path;
	struct rama_shutdown_own own;
	struct rama_shutdown_disk disk;
	struct rama_shutdown_result result;
};

static int run_rank(const struct rama_shutdown_comm *comm, void *arg)
{
	struct rank *k = arg;
	struct rama_shutdown_options opt = { .limit = 300 };
	struct rama_err e = { 0 };
	int rc;

	opt.file = rama_shutdown_disk_file(&k->disk, k->path);
	rc = rama_shutdown(comm, &k->own, &opt, &k->result, &e);
	if (rc != 0)
		fail(e.text);
	return rc;
}

struct sums {
	double total;
	struct rama_shutdown_result result; /* of rank 0 */
	uint64_t messages, bytes;	    /* between ranks */
	uint64_t piece;			    /* bytes that rank 1 has in the log */
};

static struct sums run_once(const struct scenario *sc, int64_t size)
{
	struct rank *rank = calloc((size_t)size, sizeof(*rank));
	struct sums s = { 0 };
	struct world world;
	char path[300];
	double begin;

	if (rank == NULL)
		fail("out of memory");
	snprintf(path, sizeof(path), "%s/iorama-bench-shutdown.%d", set.folder, (int)getpid());
	world_init(&world, size);
	world.real = true;
	for (int64_t i = 0; i < size; i++) {
		rank[i].path = path;
		make_own(&rank[i].own, sc, i, size);
	}
	begin = world_now();
	world_run(&world, run_rank, rank, sizeof(*rank));
	s.total = world_now() - begin;
	s.result = rank[0].result;
	s.piece = size > 1 ? rank[1].result.own_bytes : 0;
	for (int64_t i = 0; i < size; i++) {
		s.messages += world.seat[i].sent;
		s.bytes += world.seat[i].bytes;
		rama_shutdown_own_fini(&rank[i].own);
	}
	unlink(path);
	world_fini(&world);
	free(rank);
	return s;
}

static struct sums run_best(const struct scenario *sc, int64_t size)
{
	struct sums best = run_once(sc, size);

	for (unsigned i = 0; i < (set.quick ? 1 : 4); i++) {
		struct sums s = run_once(sc, size);

		best = s.total < best.total ? s : best;
	}
	return best;
}

/* ---- projected jobs -------------------------------------------------------------------------- */

/* one way through the tree: seconds of computing and of messages */
struct tree {
	double work, wire;
};

static unsigned levels_of(int64_t size)
{
	unsigned h = 0;

	while ((int64_t)1 << h < size)
		h++;
	return h;
}

static struct rama_shutdown_ids some_ids(size_t n, uint64_t seed)
{
	struct rama_shutdown_ids s = { .id = malloc((n + 1) * sizeof(*s.id)), .n = n };

	if (s.id == NULL)
		fail("out of memory");
	for (size_t i = 0; i < n; i++)
		s.id[i] = (below(&seed, 1ull << 31) << 33) ^ (below(&seed, 1ull << 31) << 8);
	rama_shutdown_ids_sort(&s);
	return s;
}

/* names of two halves of the tree below a level come together, and files of all stay */
static void add_share(struct tree *t, const struct scenario *sc, unsigned level)
{
	size_t n = sc->shared ? sc->files : (size_t)sc->files << (level < 24 ? level : 24), lists;
	struct rama_shutdown_ids own, child, files, both = { 0 };
	double begin;

	n = n < NAMES_MOST ? n : NAMES_MOST;
	own = some_ids(n, 1);
	child = some_ids(n, sc->shared ? 1 : 2 + level);
	files = some_ids(sc->files, 1);
	lists = files.n;
	begin = world_now();
	rama_shutdown_ids_intersect(&files, &child);
	if (rama_shutdown_ids_join(&own, &child, &both, NAMES_MOST) != 0)
		fail("out of memory");
	t->work += world_now() - begin;
	t->wire += 2 * set.latency; /* up and down */
	t->wire += 8 * (double)(lists + child.n + files.n + both.n) / set.bandwidth;
	rama_shutdown_ids_fini(&own);
	rama_shutdown_ids_fini(&child);
	rama_shutdown_ids_fini(&files);
	rama_shutdown_ids_fini(&both);
}

/* records of shared files of two halves become one */
static void add_reduce(struct tree *t, const struct scenario *sc)
{
	size_t words = RAMA_TAB_POSIX__WORDS;
	union rama_core_word *w = calloc(2 * sc->files * words, sizeof(*w));
	struct rama_core_plan plan;
	struct rama_core_spread all = { 0 };
	uint64_t state = 7;
	double begin;

	if (w == NULL)
		fail("out of memory");
	rama_core_plan_init(&plan, rama_tab_module_get(RAMA_TAB_MOD_POSIX));
	for (unsigned i = 0; i < 2 * sc->files; i++) {
		fill(w + i * words, i % sc->files, i, &state);
		rama_core_reduce_prepare(&plan, w + i * words);
	}
	begin = world_now();
	for (unsigned i = 0; i < sc->files; i++) {
		all = rama_core_spread_merge(all, rama_core_spread_of(&plan, w + i * words, 1));
		rama_core_reduce(&plan, w + i * words, w + (sc->files + i) * words);
	}
	t->work += world_now() - begin;
	t->wire += set.latency + (double)sc->files * (double)(words * 8 + 40) / set.bandwidth;
	free(w);
}

static double measure_disk(void)
{
	unsigned char *bytes = malloc(WRITE_AT_ONCE);
	uint64_t state = 3;
	char path[300];
	double begin, took;
	int fd;

	snprintf(path, sizeof(path), "%s/iorama-bench-shutdown.%d", set.folder, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || bytes == NULL)
		fail("the folder cannot be written");
	for (size_t i = 0; i < WRITE_AT_ONCE; i++)
		bytes[i] = (unsigned char)below(&state, 256);
	begin = world_now();
	for (size_t at = 0; at < WRITE_SAMPLE; at += WRITE_AT_ONCE)
		if (pwrite(fd, bytes, WRITE_AT_ONCE, (off_t)at) != WRITE_AT_ONCE)
			fail("the folder cannot be written");
	took = world_now() - begin;
	close(fd);
	unlink(path);
	free(bytes);
	return WRITE_SAMPLE / took;
}

struct projection {
	double aggregate, compress, store, bytes;
};

static struct projection project(const struct scenario *sc, int64_t size)
{
	struct sums two = run_best(sc, 2);
	unsigned levels = levels_of(size);
	struct projection p = { .compress = two.result.compress };
	double messages;
	struct tree t = { 0 };

	for (unsigned k = 0; k < levels; k++) {
		add_share(&t, sc, k);
		if (sc->shared)
			add_reduce(&t, sc);
	}
	p.aggregate = t.work + t.wire + 2 * levels * set.latency; /* with the call */
	p.bytes = (double)two.result.bytes + (double)(size - 2) * (double)two.piece;
	/* places; then each writer asks its row of ranks, some ahead, and writes what comes */
	messages = (double)size / RAMA_SHUTDOWN_WRITERS;
	p.store = 3 * levels * set.latency + messages * set.latency +
		  p.bytes / RAMA_SHUTDOWN_WRITERS * (1 / set.bandwidth + 1 / set.disk);
	return p;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void amount(char to[24], double bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	unsigned u = 0;

	while (bytes >= 1024 && u < 4) {
		bytes /= 1024;
		u++;
	}
	snprintf(to, 24, "%.*f %s", u == 0 || bytes >= 100 ? 0 : 1, bytes, unit[u]);
}

/* for bench/run: the time, and where it goes */
static void print_lines(int64_t size, const struct scenario *sc, const char *metric, double total,
			struct projection p)
{
	double sum = p.aggregate + p.compress + p.store;
	char what[80];

	snprintf(what, sizeof(what), "shutdown, %lld ranks, %s", (long long)size, sc->brief);
	printf("%s\t%s\t%.6f\ts\n", what, metric, total);
	printf("%s\taggregate\t%.2f\t%%\n", what, 100 * p.aggregate / sum);
	printf("%s\tcompress\t%.2f\t%%\n", what, 100 * p.compress / sum);
	printf("%s\tstore\t%.2f\t%%\n", what, 100 * p.store / sum);
}

static void print_runs(void)
{
	char log[24], sent[24];

	if (!set.lines)
		printf("Real runs in %s, ranks as threads, at most %d writers\n"
		       "%-22s %6s %10s %10s %10s %10s %10s %9s %10s\n",
		       set.folder, RAMA_SHUTDOWN_WRITERS, "each rank has", "ranks", "total",
		       "aggregate", "compress", "store", "log", "messages", "sent");
	for (size_t i = 0; i < SCENARIOS; i++) {
		for (int64_t size = 2; size <= 64; size *= set.quick ? 4 : 2) {
			struct sums s = run_best(&scenarios[i], size);

			if (set.lines) {
				struct projection p = { s.result.call + s.result.aggregate,
							s.result.compress, s.result.store, 0 };

				print_lines(size, &scenarios[i], "total", s.total, p);
				continue;
			}
			amount(log, (double)s.result.bytes);
			amount(sent, (double)s.bytes);
			printf("%-22s %6lld %7.2f ms %7.2f ms %7.2f ms %7.2f ms %10s %9llu %10s\n",
			       scenarios[i].name, (long long)size, 1e3 * s.total,
			       1e3 * (s.result.call + s.result.aggregate), 1e3 * s.result.compress,
			       1e3 * s.result.store, log, (unsigned long long)s.messages, sent);
		}
	}
}

static void print_projected(void)
{
	static const int64_t sizes[] = { 1024, 12288, 98304 };
	char log[24];

	set.disk = measure_disk();
	if (!set.lines)
		printf("\nProjected: messages take %.1f us and %.0f MB/s, each writer %.0f MB/s, "
		       "as "
		       "measured in %s (page cache, no sync)\n%-22s %6s %10s %11s %11s %11s %10s "
		       "%14s\n",
		       1e6 * set.latency, set.bandwidth / 1e6, set.disk / 1e6, set.folder,
		       "each rank has", "ranks", "total", "aggregate", "compress", "store", "log",
		       "Darshan, XE6");
	for (size_t i = 0; i < SCENARIOS; i++) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			struct projection p = project(&scenarios[i], sizes[k]);
			double total = p.aggregate + p.compress + p.store;
			bool peer = sizes[k] == 98304;

			if (set.lines && peer)
				print_lines(sizes[k], &scenarios[i], "projected", total, p);
			if (set.lines)
				continue;
			amount(log, p.bytes);
			printf("%-22s %6lld %8.4f s %10.1f%% %10.1f%% %10.1f%% %10s",
			       scenarios[i].name, (long long)sizes[k], total,
			       100 * p.aggregate / total, 100 * p.compress / total,
			       100 * p.store / total, log);
			if (peer)
				printf(" %12.2f s", scenarios[i].darshan);
			putchar('\n');
		}
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--lines") == 0)
			set.lines = true;
		else if (strcmp(argv[i], "--quick") == 0)
			set.quick = true;
		else if (strcmp(argv[i], "--latency") == 0 && i + 1 < argc)
			set.latency = 1e-6 * strtod(argv[++i], NULL);
		else if (strcmp(argv[i], "--bandwidth") == 0 && i + 1 < argc)
			set.bandwidth = 1e6 * strtod(argv[++i], NULL);
		else if (argv[i][0] == '-')
			fail("usage: shutdown [--lines] [--quick] [--latency US] [--bandwidth "
			     "MB/S] "
			     "[FOLDER]");
		else
			set.folder = argv[i];
	}
	print_runs();
	print_projected();
	return 0;
}
