/* SPDX-License-Identifier: BSD-3-Clause */
/* live_load [options] DIR: a program that knows what its live events must be. Threads make calls
 * that are determined by (rank, thread, step); each call that is to be seen as an event works on
 * a path below DIR/measured.RANK/ and no other call does.
 *
 *   --threads N   (1)      threads of each process
 *   --calls N     (1000)   steps of each thread; a step is one call
 *   --mode MODE   (mix)    mix: every kind of call; write, read: pwrite, pread of --size bytes;
 *                 names: files with long and
 *                          odd names; brief: threads of 32 steps one after the other, until
 there were so many steps
 *   --size N      (64)     bytes of a call of modes write and read
 *   --pace US     (0)      microseconds between the calls of a thread
 *   --truth FILE           writes FILE.RANK: some of its calls, a line of JSON each, with the
 *                          time before and after it
 *   --sample K    (0)      every K-th call is written there; 0: about 20,000 of each thread
 *   --gate                 waits for a byte on standard input before the first measured call
 *   --hold                 waits for the end of standard input before it ends
 *
 * It prints one JSON document: what each thread of each rank did. With -DWITH_MPI it is an MPI
 * program; then rank 0 prints. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

#define MUST(x)                                                                       \
	do {                                                                          \
		if (!(x)) {                                                           \
			fprintf(stderr, "live_load: line %d: %s: %s\n", __LINE__, #x, \
				strerror(errno));                                     \
			exit(1);                                                      \
		}                                                                     \
	} while (0)

enum { FILES = 16, PATH = 4096, BRIEF = 32 };

/* what a call is: layer and operation as events have them */
enum what {
	OPEN,
	CLOSE,
	READ,
	WRITE,
	SEEK,
	SYNC,
	DATASYNC,
	STAT,
	TRUNCATE,
	ADVISE,
	RENAME,
	UNLINK,
	MKDIR,
	ACCESS,
	MMAP,
	FOPEN,
	FCLOSE,
	FREAD,
	FWRITE,
	FSEEK,
	FLUSH,
	KINDS
}; /* clang-format off */
static const struct { const char *layer, *op; } what_of[KINDS] = {
	{ "POSIX", "OPEN" }, { "POSIX", "CLOSE" }, { "POSIX", "READ" }, { "POSIX", "WRITE" }, {
	"POSIX", "SEEK" },
	{ "POSIX", "SYNC" }, { "POSIX", "DATASYNC" }, { "POSIX", "STAT" }, { "POSIX", "TRUNCATE"
	}, { "POSIX", "ADVISE" },
	{ "POSIX", "RENAME" }, { "POSIX", "UNLINK" }, { "POSIX", "MKDIR" }, { "POSIX", "ACCESS"
	}, { "POSIX", "MMAP" },
	{ "STDIO", "OPEN" }, { "STDIO", "CLOSE" }, { "STDIO", "READ" }, { "STDIO", "WRITE" }, {
	"STDIO", "SEEK" },
	{ "STDIO", "FLUSH" },
}; /* clang-format on */

struct file {
	char path[PATH];
	uint64_t calls;
};

struct sample {
	uint64_t step, before, after;
	int64_t off, len;
	uint32_t tid;
	uint16_t file;
	uint8_t what, failed;
	const char *fn;
};

struct worker {
	int number;
	pid_t tid;
	pthread_t thread;
	uint64_t steps, first; /* to do, and the number of the first */
	uint64_t calls, failed, bytes_read, bytes_written, ops[KINDS];
	struct file file[FILES];
	unsigned n_files;
	struct sample *sample;
	uint64_t n_samples, room;
	uint64_t before;
	int fd, write_only, scratch;
	FILE *stream;
};

static struct {
	int threads;
	uint64_t calls, size, pace, sample;
	const char *mode, *truth, *dir;
	bool gate, hold;
	int rank, ranks;
	char prefix[PATH];
} opt = { .threads = 1, .calls = 1000, .size = 64, .mode = "mix", .ranks = 1 };

static _Thread_local char buf[65536];
static char *summary; /* what is printed */
static size_t summary_len;

/* ---- noting ---------------------------------------------------------------------------------- */

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool is_sampled(const struct worker *w)
{
	return opt.truth && w->calls % opt.sample == 0;
}

struct call {
	enum what what;
	unsigned file;
	const char *fn;
	int64_t off, len; /* -1: it has none */
	bool failed;
};

/* before and after each call */
static void begin(struct worker *w)
{
	if (is_sampled(w))
		w->before = now();
}

static void note(struct worker *w, struct call c)
{
	if (is_sampled(w) && w->n_samples < w->room)
		w->sample[w->n_samples++] = (struct sample){ .step = w->calls,
							     .before = w->before,
							     .after = now(),
							     .off = c.off,
							     .len = c.len,
							     .tid = (uint32_t)w->tid,
							     .file = (uint16_t)c.file,
							     .what = (uint8_t)c.what,
							     .failed = c.failed,
							     .fn = c.fn };
	w->calls++;
	w->failed += c.failed;
	w->ops[c.what]++;
	w->file[c.file].calls++;
	if (c.what == READ || c.what == FREAD)
		w->bytes_read += c.len > 0 ? (uint64_t)c.len : 0;
	if (c.what == WRITE || c.what == FWRITE)
		w->bytes_written += c.len > 0 ? (uint64_t)c.len : 0;
}

/* DO(what, file, fn, off, len, failed, call): the call, which stands in this program's own text,
 * and its note */
#define DO(what_, file_, fn_, off_, len_, failed_, ...)                           \
	do {                                                                      \
		begin(w);                                                         \
		__VA_ARGS__;                                                      \
		note(w, (struct call){ what_, file_, fn_, off_, len_, failed_ }); \
	} while (0)

/* a number that looks random, the same in every run */
static uint64_t mixed(const struct worker *w, uint64_t step)
{
	uint64_t x = step * 0x9e3779b97f4a7c15u + (uint64_t)opt.rank * 0xbf58476d1ce4e5b9u +
		     (uint64_t)w->number * 0x94d049bb133111ebu + 1;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static unsigned add_file(struct worker *w, const char *name)
{
	int n;

	MUST(w->n_files < FILES);
	n = snprintf(w->file[w->n_files].path, PATH, "%s%s.%d", opt.prefix, name, w->number);
	MUST(n > 0 && n < PATH);
	return w->n_files++;
}

/* ---- every kind of call ---------------------------------------------------------------------- */

enum { DATA, SCRATCH, MOVED, FOLDER, MISSING, STREAM };
#define NAME(file_) (w->file[file_].path)

static void step_mix(struct worker *w, uint64_t i)
{
	uint64_t k = i % 26, r = mixed(w, i / 26);
	int64_t len = 1 + (int64_t)(r % 4000), off = (int64_t)((r >> 20) % 100000);
	struct stat st;
	void *p = NULL;

	switch (k) {
	case 0:
		DO(OPEN, SCRATCH, "open", -1, -1, false,
		   MUST((w->scratch = open(NAME(SCRATCH), O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0));
		break;
	case 1:
		DO(WRITE, SCRATCH, "write", 0, len + 8, false,
		   MUST(write(w->scratch, buf, (size_t)len + 8) == len + 8));
		break;
	case 2:
		DO(SEEK, SCRATCH, "lseek", 7, -1, false, MUST(lseek(w->scratch, 7, SEEK_SET) == 7));
		break;
	case 3:
		DO(READ, SCRATCH, "read", 7, len, false,
		   MUST(read(w->scratch, buf, (size_t)len) == len));
		break;
	case 4:
		DO(STAT, SCRATCH, "fstat", -1, -1, false, MUST(fstat(w->scratch, &st) == 0));
		break;
	case 5:
		DO(TRUNCATE, SCRATCH, "ftruncate", -1, -1, false,
		   MUST(ftruncate(w->scratch, off) == 0));
		break;
	case 6:
		if (i / 26 % 64 == 0)
			DO(SYNC, SCRATCH, "fsync", -1, -1, false, MUST(fsync(w->scratch) == 0));
		else
			DO(ADVISE, SCRATCH, "posix_fadvise", -1, -1, false,
			   MUST(posix_fadvise(w->scratch, 0, 0, POSIX_FADV_NORMAL) == 0));
		break;
	case 7:
		DO(CLOSE, SCRATCH, "close", -1, -1, false, MUST(close(w->scratch) == 0));
		break;
	case 8:
		DO(STAT, SCRATCH, "stat", -1, -1, false, MUST(stat(NAME(SCRATCH), &st) == 0));
		break;
	case 9:
		DO(RENAME, SCRATCH, "rename", -1, -1, false,
		   MUST(rename(NAME(SCRATCH), NAME(MOVED)) == 0));
		break;
	case 10:
		DO(UNLINK, MOVED, "unlink", -1, -1, false, MUST(unlink(NAME(MOVED)) == 0));
		break;
	case 11:
		DO(MKDIR, FOLDER, "mkdir", -1, -1, false, MUST(mkdir(NAME(FOLDER), 0700) == 0));
		break;
	case 12:
		DO(UNLINK, FOLDER, "rmdir", -1, -1, false, MUST(rmdir(NAME(FOLDER)) == 0));
		break;
	case 13:
		DO(OPEN, MISSING, "open", -1, -1, true, MUST(open(NAME(MISSING), O_RDONLY) < 0));
		break;
	case 14:
	case 15:
		off += (int64_t)k;
		DO(WRITE, DATA, "pwrite", off, len, false,
		   MUST(pwrite(w->fd, buf, (size_t)len, off) == len));
		break;
	case 16:
		DO(READ, DATA, "pread", 0, 1, false, MUST(pread(w->fd, buf, 1, 0) == 1));
		break;
	case 17:
		DO(READ, DATA, "pread", off, -1, true, MUST(pread(w->write_only, buf, 1, off) < 0));
		break;
	case 18:
		DO(FOPEN, STREAM, "fopen", -1, -1, false,
		   MUST((w->stream = fopen(NAME(STREAM), "w+")) != NULL));
		break;
	case 19:
		DO(FWRITE, STREAM, "fwrite", 0, len, false,
		   MUST(fwrite(buf, 1, (size_t)len, w->stream) == (size_t)len));
		break;
	case 20:
		DO(FLUSH, STREAM, "fflush", -1, -1, false, MUST(fflush(w->stream) == 0));
		break;
	case 21:
		DO(FSEEK, STREAM, "fseek", 0, -1, false, MUST(fseek(w->stream, 0, SEEK_SET) == 0));
		break;
	case 22:
		DO(FREAD, STREAM, "fread", 0, len, false,
		   MUST(fread(buf, 1, (size_t)len, w->stream) == (size_t)len));
		break;
	case 23:
		DO(FCLOSE, STREAM, "fclose", -1, -1, false, MUST(fclose(w->stream) == 0));
		break;
	case 24:
		DO(ACCESS, DATA, "access", -1, -1, false, MUST(access(NAME(DATA), R_OK) == 0));
		break;
	case 25:
#ifdef WITH_MPI /* libraries below an MPI may have replaced mmap by one of their own */
		DO(ACCESS, DATA, "access", -1, -1, false, MUST(access(NAME(DATA), W_OK) == 0));
#else
		DO(MMAP, DATA, "mmap", 4096, 8192, false,
		   MUST((p = mmap(NULL, 8192, PROT_READ, MAP_SHARED, w->fd, 4096)) != MAP_FAILED));
#endif
		MUST(p == NULL || munmap(p, 8192) == 0);
		break;
	}
}

static void begin_mix(struct worker *w)
{
	static const char *const names[] = { "data",   "scratch", "moved",
					     "folder", "missing", "stream" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		add_file(w, names[i]);
	DO(OPEN, DATA, "open", -1, -1, false,
	   MUST((w->fd = open(NAME(DATA), O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0));
	DO(WRITE, DATA, "pwrite", 0, 64, false, MUST(pwrite(w->fd, buf, 64, 0) == 64));
	DO(OPEN, DATA, "open", -1, -1, false,
	   MUST((w->write_only = open(NAME(DATA), O_WRONLY)) >= 0));
}

static void end_mix(struct worker *w)
{
	DO(CLOSE, DATA, "close", -1, -1, false, MUST(close(w->write_only) == 0));
	DO(CLOSE, DATA, "close", -1, -1, false, MUST(close(w->fd) == 0));
}

/* ---- nothing but reads and writes ------------------------------------------------------------ */

static void begin_plain(struct worker *w)
{
	add_file(w, "data");
	DO(OPEN, DATA, "open", -1, -1, false,
	   MUST((w->fd = open(NAME(DATA), O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0));
	DO(WRITE, DATA, "pwrite", (1 << 20) - 1, 1, false,
	   MUST(pwrite(w->fd, buf, 1, (1 << 20) - 1) == 1));
}

static void end_plain(struct worker *w)
{
	DO(CLOSE, DATA, "close", -1, -1, false, MUST(close(w->fd) == 0));
}

static void step_write(struct worker *w, uint64_t i)
{
	int64_t len = (int64_t)opt.size, off = (int64_t)(i * opt.size % ((1 << 20) - opt.size));

	DO(WRITE, DATA, "pwrite", off, len, false, MUST(pwrite(w->fd, buf, opt.size, off) == len));
}

static void step_read(struct worker *w, uint64_t i)
{
	int64_t len = (int64_t)opt.size, off = (int64_t)(i * opt.size % ((1 << 20) - opt.size));

	DO(READ, DATA, "pread", off, len, false, MUST(pread(w->fd, buf, opt.size, off) == len));
}

/* ---- names ----------------------------------------------------------------------------------- */

/* 1.2 kB in folders of 200, with whatever a name may hold */
static void begin_names(struct worker *w)
{
	static const char *const odd[] = { "quote\"and\\back", "line\nend\ttab", "Größe-日本語-😀",
					   "it's $(here) ;" };
	char folders[PATH] = "", name[PATH], fill[201];
	size_t used = 0;

	memset(fill, 'f', sizeof(fill) - 1);
	fill[sizeof(fill) - 1] = '\0';
	for (unsigned i = 0; i < 5; i++)
		used += (size_t)snprintf(folders + used, sizeof(folders) - used, "%s%s/", fill,
					 odd[i % 4]);
	for (unsigned i = 0; i < 4; i++) {
		char *slash;

		MUST(snprintf(name, sizeof(name), "%s%s", folders, odd[i]) < PATH);
		unsigned at = add_file(w, name);
		/* folders are made by a call that is not observed */
		for (slash = NAME(at) + strlen(opt.prefix); (slash = strchr(slash, '/')) != NULL;
		     *slash++ = '/') {
			*slash = '\0';
			MUST(syscall(SYS_mkdirat, AT_FDCWD, NAME(at), 0700) == 0 ||
			     errno == EEXIST);
		}
	}
}

static void step_names(struct worker *w, uint64_t i)
{
	unsigned file = (unsigned)(i / 4 % w->n_files);
	int64_t len = 1 + (int64_t)(mixed(w, i) % 1000);

	switch (i % 4) {
	case 0:
		DO(OPEN, file, "open", -1, -1, false,
		   MUST((w->scratch = open(NAME(file), O_RDWR | O_CREAT, 0600)) >= 0));
		break;
	case 1:
		DO(WRITE, file, "pwrite", 3, len, false,
		   MUST(pwrite(w->scratch, buf, (size_t)len, 3) == len));
		break;
	case 2:
		DO(READ, file, "pread", 0, 3, false, MUST(pread(w->scratch, buf, 3, 0) == 3));
		break;
	case 3:
		DO(CLOSE, file, "close", -1, -1, false, MUST(close(w->scratch) == 0));
		break;
	}
}

static void end_names(struct worker *w)
{
	(void)w;
}

/* ---- threads --------------------------------------------------------------------------------- */

static const struct mode {
	const char *name;
	void (*begin)(struct worker *w);
	void (*step)(struct worker *w, uint64_t i);
	void (*end)(struct worker *w);
} modes[] = {
	{ "mix", begin_mix, step_mix, end_mix },
	{ "write", begin_plain, step_write, end_plain },
	{ "read", begin_plain, step_read, end_plain },
	{ "brief", begin_plain, step_write, end_plain },
	{ "names", begin_names, step_names, end_names },
};

static const struct mode *mode_of(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, name) == 0)
			return &modes[i];
	return NULL;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	const struct mode *mode = mode_of(opt.mode);
	struct timespec pace = { .tv_sec = (time_t)(opt.pace / 1000000),
				 .tv_nsec = (long)(opt.pace % 1000000) * 1000 };

	w->tid = (pid_t)syscall(SYS_gettid);
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (char)('a' + i % 26);
	mode->begin(w);
	for (uint64_t i = 0; i < w->steps; i++) {
		mode->step(w, w->first + i);
		if (opt.pace > 0)
			nanosleep(&pace, NULL);
	}
	mode->end(w);
	return NULL;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void say_text(FILE *to, const char *text)
{
	putc('"', to);
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p == '"' || *p == '\\')
			fprintf(to, "\\%c", *p);
		else if (*p < 0x20)
			fprintf(to, "\\u%04x", *p);
		else
			putc(*p, to);
	}
	putc('"', to);
}

static void say_thread(FILE *to, const struct worker *w)
{
	const char *comma = "";

	fprintf(to,
		"{\"thread\":%d,\"tid\":%d,\"calls\":%" PRIu64 ",\"failed\":%" PRIu64
		",\"bytes_read\":%" PRIu64 ",\"bytes_written\":%" PRIu64 ",\"ops\":{",
		w->number, (int)w->tid, w->calls, w->failed, w->bytes_read, w->bytes_written);
	for (unsigned i = 0; i < KINDS; i++) {
		if (w->ops[i] == 0)
			continue;
		fprintf(to, "%s\"%s.%s\":%" PRIu64, comma, what_of[i].layer, what_of[i].op,
			w->ops[i]);
		comma = ",";
	}
	fprintf(to, "},\"files\":{");
	comma = "";
	for (unsigned i = 0; i < w->n_files; i++) {
		if (w->file[i].calls == 0)
			continue;
		fputs(comma, to);
		say_text(to, w->file[i].path);
		fprintf(to, ":%" PRIu64, w->file[i].calls);
		comma = ",";
	}
	fprintf(to, "}}");
}

static void say_rank(const struct worker *w, size_t n)
{
	FILE *to = open_memstream(&summary, &summary_len);
	uint64_t calls = 0, failed = 0;
	char host[256] = "";

	MUST(to != NULL);
	gethostname(host, sizeof(host) - 1);
	for (size_t i = 0; i < n; i++) {
		calls += w[i].calls;
		failed += w[i].failed;
	}
	fprintf(to, "{\"rank\":%d,\"pid\":%d,\"host\":", opt.rank, (int)getpid());
	say_text(to, host);
	fprintf(to, ",\"prefix\":");
	say_text(to, opt.prefix);
	fprintf(to, ",\"calls\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"threads\":[", calls, failed);
	for (size_t i = 0; i < n; i++) {
		fputs(i > 0 ? "," : "", to);
		say_thread(to, &w[i]);
	}
	fprintf(to, "]}");
	MUST(fclose(to) == 0);
}

static void write_truth(const struct worker *w, size_t n)
{
	char path[PATH + 16];
	FILE *to;

	if (!opt.truth)
		return;
	snprintf(path, sizeof(path), "%s.%d", opt.truth, opt.rank);
	to = fopen(path, "w");
	MUST(to != NULL);
	for (; n > 0; n--, w++) {
		for (uint64_t i = 0; i < w->n_samples; i++) {
			const struct sample *s = &w->sample[i];

			fprintf(to,
				"{\"pid\":%d,\"tid\":%u,\"rank\":%d,\"thread\":%d,\"call\":%" PRIu64
				",\"layer\":\"%s\",\"op\":\"%s\",\"fn\":\"%s\",\"off\":%" PRId64
				",\"len\":%" PRId64 ",\"failed\":%s,\"before\":%" PRIu64
				",\"after\":%" PRIu64 ",\"file\":",
				(int)getpid(), s->tid, opt.rank, w->number, s->step,
				what_of[s->what].layer, what_of[s->what].op, s->fn, s->off, s->len,
				s->failed ? "true" : "false", s->before, s->after);
			say_text(to, w->file[s->file].path);
			fputs("}\n", to);
		}
	}
	MUST(fclose(to) == 0);
}

static void say_all(void)
{
#ifdef WITH_MPI
	int len = (int)summary_len, *lens = calloc((size_t)opt.ranks, sizeof(int)),
	    *at = calloc((size_t)opt.ranks + 1, sizeof(int));

	MUST(lens && at);
	MPI_Gather(&len, 1, MPI_INT, lens, 1, MPI_INT, 0, MPI_COMM_WORLD);
	for (int i = 0; i < opt.ranks; i++)
		at[i + 1] = at[i] + lens[i];
	char *all = malloc((size_t)at[opt.ranks] + 1);
	MUST(all);
	MPI_Gatherv(summary, len, MPI_CHAR, all, lens, at, MPI_CHAR, 0, MPI_COMM_WORLD);
	if (opt.rank == 0) {
		printf("{\"ranks\":[");
		for (int i = 0; i < opt.ranks; i++)
			printf("%s%.*s", i > 0 ? "," : "", lens[i], all + at[i]);
		printf("]}\n");
	}
	fflush(stdout);
	free(all);
	free(lens);
	free(at);
#else
	printf("{\"ranks\":[%s]}\n", summary);
	fflush(stdout);
#endif
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void wait_for_input(bool end)
{
	char byte;

	if (opt.rank == 0)
		while (read(0, &byte, 1) > 0 && end)
			;
#ifdef WITH_MPI
	MPI_Barrier(MPI_COMM_WORLD);
#endif
}

static bool number_option(char **argv, int *i, const char *name, uint64_t *to)
{
	if (strcmp(argv[*i], name) != 0 || !argv[*i + 1])
		return false;
	*to = strtoull(argv[++*i], NULL, 10);
	return true;
}

static bool parse(int argc, char **argv)
{
	uint64_t threads = 1;
	int i;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (number_option(argv, &i, "--threads", &threads) ||
		    number_option(argv, &i, "--calls", &opt.calls) ||
		    number_option(argv, &i, "--size", &opt.size) ||
		    number_option(argv, &i, "--pace", &opt.pace) ||
		    number_option(argv, &i, "--sample", &opt.sample))
			continue;
		if (strcmp(argv[i], "--mode") == 0 && argv[i + 1])
			opt.mode = argv[++i];
		else if (strcmp(argv[i], "--truth") == 0 && argv[i + 1])
			opt.truth = argv[++i];
		else if (strcmp(argv[i], "--gate") == 0)
			opt.gate = true;
		else if (strcmp(argv[i], "--hold") == 0)
			opt.hold = true;
		else
			return false;
	}
	opt.dir = i < argc ? argv[i] : NULL;
	opt.threads = (int)threads;
	if (opt.sample == 0)
		opt.sample = opt.calls / 20000 + 1;
	return opt.dir && i + 1 == argc && threads > 0 && threads <= 1024 && opt.size > 0 &&
	       opt.size <= sizeof(buf) && mode_of(opt.mode);
}

/* so many workers, and how many of them at a time */
static struct worker *make_workers(size_t *n, size_t *at_once)
{
	bool brief = strcmp(opt.mode, "brief") == 0;
	uint64_t each = brief ? BRIEF : opt.calls;
	struct worker *w;

	*at_once = (size_t)opt.threads;
	*n = brief ? (size_t)((opt.calls + BRIEF - 1) / BRIEF * (uint64_t)opt.threads) : *at_once;
	w = calloc(*n, sizeof(*w));
	MUST(w != NULL);
	for (size_t i = 0; i < *n; i++) {
		w[i].number = (int)i;
		w[i].steps = each;
		w[i].room = opt.truth ? (each + 16) / opt.sample + 2 : 0;
		w[i].sample = w[i].room ? calloc(w[i].room, sizeof(*w[i].sample)) : NULL;
	}
	return w;
}

static void run(void)
{
	size_t n, at_once;
	struct worker *w = make_workers(&n, &at_once);

	/* as a link would be followed when a descriptor is looked up */
	MUST(realpath(opt.dir, opt.prefix) != NULL);
	snprintf(opt.prefix + strlen(opt.prefix), PATH - strlen(opt.prefix), "/measured.%d",
		 opt.rank);
	MUST(mkdir(opt.prefix, 0700) == 0 || errno == EEXIST);
	strncat(opt.prefix, "/", PATH - strlen(opt.prefix) - 1);
	if (opt.gate)
		wait_for_input(false);
	for (size_t i = 0; i < n; i += at_once) {
		for (size_t k = i; k < i + at_once && k < n; k++)
			MUST(pthread_create(&w[k].thread, NULL, work, &w[k]) == 0);
		for (size_t k = i; k < i + at_once && k < n; k++)
			MUST(pthread_join(w[k].thread, NULL) == 0);
	}
	write_truth(w, n);
	say_rank(w, n);
	say_all();
	if (opt.hold)
		wait_for_input(true);
}

int main(int argc, char **argv)
{
	if (!parse(argc, argv)) {
		fprintf(stderr, "Usage: live_load [--threads N] [--calls N] [--mode "
				"mix|write|read|names|brief] [--size N] "
				"[--pace US] [--truth FILE] [--sample K] [--gate] [--hold] DIR\n");
		return 2;
	}
#ifdef WITH_MPI
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &opt.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &opt.ranks);
#endif
	run();
#ifdef WITH_MPI
	MPI_Finalize();
#endif
	return 0;
}
