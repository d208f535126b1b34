/* SPDX-License-Identifier: BSD-3-Clause */
/* pairs MODE bad|fixed N: one mistake that programs make with files, and the same work done well. N
 * is how often; the bytes that end up in files are the same both ways, unless the mistake is to
 * move too many. Prints the seconds that it took. Works in the current folder. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KIB 1024L
#define MIB (1024L * 1024)

static long n;
static int bad;
static char block[4 * MIB];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int made(const char *name, int flags)
{
	int fd = open(name, flags, 0600);

	if (fd < 0)
		die(name);
	return fd;
}

static void all(ssize_t got, ssize_t want)
{
	if (got != want)
		die("short");
}

/* a file of so many bytes, written well */
static void fill(const char *name, long bytes)
{
	int fd = made(name, O_CREAT | O_TRUNC | O_WRONLY);

	for (long at = 0; at < bytes; at += MIB)
		all(write(fd, block, (size_t)(bytes - at < MIB ? bytes - at : MIB)),
		    bytes - at < MIB ? bytes - at : MIB);
	close(fd);
}

/* places 0 .. count - 1 in an order that jumps */
static long jump(long i, long count)
{
	return (long)((unsigned long)i * 7919 % (unsigned long)count);
}

/* ---- size, by the call that does it ---------------------------------------------------------- */

enum how { PLAIN, POSITION, VECTOR };

static void transfer(int fd, int writing, enum how how, long size, long at)
{
	struct iovec v[2] = { { block, (size_t)size / 2 }, { block, (size_t)(size - size / 2) } };

	if (how == PLAIN)
		all(writing ? write(fd, block, (size_t)size) : read(fd, block, (size_t)size), size);
	else if (how == POSITION)
		all(writing ? pwrite(fd, block, (size_t)size, at)
			    : pread(fd, block, (size_t)size, at),
		    size);
	else
		all(writing ? writev(fd, v, 2) : readv(fd, v, 2), size);
}

static void sizes(int writing, enum how how, long size)
{
	long total = n * size, step = bad ? size : total < MIB ? total : MIB;
	int fd;

	if (!writing)
		fill("data", total);
	fd = made("data", writing ? O_CREAT | O_TRUNC | O_WRONLY : O_RDONLY);
	for (long at = 0; at + step <= total; at += step)
		transfer(fd, writing, how, step, at);
	close(fd);
}

static void small_write(void)
{
	sizes(1, PLAIN, 512);
}

static void small_pwrite(void)
{
	sizes(1, POSITION, 512);
}

static void small_writev(void)
{
	sizes(1, VECTOR, 512);
}

static void small_read(void)
{
	sizes(0, PLAIN, 512);
}

static void small_pread(void)
{
	sizes(0, POSITION, 512);
}

static void small_readv(void)
{
	sizes(0, VECTOR, 512);
}

static void byte_write(void)
{
	sizes(1, PLAIN, 1);
}

static void byte_read(void)
{
	sizes(0, PLAIN, 1);
}

static void page_write(void)
{
	sizes(1, PLAIN, 4 * KIB);
}

static void page_read(void)
{
	sizes(0, PLAIN, 4 * KIB);
}

/* from one file to another */
static void copy(void)
{
	long size = bad ? 512 : MIB, total = n * 512;
	int from, to;

	fill("data", total);
	from = made("data", O_RDONLY);
	to = made("copy", O_CREAT | O_TRUNC | O_WRONLY);
	for (ssize_t got; (got = read(from, block, (size_t)size)) > 0;)
		all(write(to, block, (size_t)got), got);
	close(from);
	close(to);
}

/* ---- order ----------------------------------------------------------------------------------- */

static void order(int writing, long size, long (*place)(long, long))
{
	int fd;

	if (!writing)
		fill("data", n * size);
	fd = made("data", writing ? O_CREAT | O_TRUNC | O_WRONLY : O_RDONLY);
	if (bad)
		for (long i = 0; i < n; i++)
			transfer(fd, writing, POSITION, size, place(i, n) * size);
	else
		for (long at = 0; at < n * size; at += MIB)
			transfer(fd, writing, POSITION, n * size - at < MIB ? n * size - at : MIB,
				 at);
	close(fd);
}

static long back(long i, long count)
{
	return count - 1 - i;
}

static void random_read(void)
{
	order(0, 4 * KIB, jump);
}

static void random_write(void)
{
	order(1, 4 * KIB, jump);
}

static void backward_read(void)
{
	order(0, 4 * KIB, back);
}

static void backward_write(void)
{
	order(1, 4 * KIB, back);
}

/* a column of a matrix of rows of 4 KiB: all of it read well, and what is wanted picked out */
static void strided_read(void)
{
	int fd;

	fill("data", n * 4 * KIB);
	fd = made("data", O_RDONLY);
	for (long i = 0; bad && i < n; i++)
		transfer(fd, 0, POSITION, 64, i * 4 * KIB);
	for (long at = 0; !bad && at < n * 4 * KIB; at += MIB)
		transfer(fd, 0, POSITION, n * 4 * KIB - at < MIB ? n * 4 * KIB - at : MIB, at);
	close(fd);
}

static void seek_read(void)
{
	int fd;

	fill("data", n * 512);
	fd = made("data", O_RDONLY);
	for (long i = 0; bad && i < n; i++) {
		lseek(fd, jump(i, n) * 512, SEEK_SET);
		transfer(fd, 0, PLAIN, 512, 0);
	}
	for (long at = 0; !bad && at < n * 512; at += MIB)
		transfer(fd, 0, POSITION, n * 512 - at < MIB ? n * 512 - at : MIB, at);
	close(fd);
}

/* ---- the disk is waited for ------------------------------------------------------------------ */

static void synced(int flags, int (*sync)(int))
{
	int fd = made("data", O_CREAT | O_TRUNC | O_WRONLY | (bad ? flags : 0));

	for (long i = 0; i < n; i++) {
		if (bad || i % 2048 == 0) /* done well they go out together */
			all(write(fd, block,
				  bad ? 512 : 512 * (size_t)(n - i < 2048 ? n - i : 2048)),
			    bad ? 512 : 512 * (n - i < 2048 ? n - i : 2048));
		if (bad && sync != NULL)
			sync(fd);
	}
	if (!bad)
		fsync(fd);
	close(fd);
}

static void fsync_each(void)
{
	synced(0, fsync);
}

static void fdatasync_each(void)
{
	synced(0, fdatasync);
}

/* once for every fifty writes: few beside them, and nearly all of the time */
static void fsync_some(void)
{
	int fd = made("data", O_CREAT | O_TRUNC | O_WRONLY);

	for (long i = 0; i < n; i++) {
		all(write(fd, block, 512), 512);
		if (bad && i % 50 == 49)
			fsync(fd);
	}
	if (!bad)
		fsync(fd);
	close(fd);
}

static void o_sync(void)
{
	synced(O_SYNC, NULL);
}

static void o_dsync(void)
{
	synced(O_DSYNC, NULL);
}

static void log_line(void)
{
	FILE *f = fopen("log", "w");

	if (f == NULL)
		die("log");
	for (long i = 0; i < n; i++) {
		fprintf(f, "%08ld something happened, and a line tells of it\n", i);
		if (bad) {
			fflush(f);
			fsync(fileno(f));
		}
	}
	fclose(f);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void stream_unbuffered(void)
{
	FILE *f = fopen("data", "w");

	if (f == NULL)
		die("data");
	if (bad)
		setvbuf(f, NULL, _IONBF, 0);
	for (long i = 0; i < n; i++)
		fprintf(f, "%ld %ld %ld\n", i, i * i, i + 1);
	fclose(f);
}

static void stream_flush(void)
{
	FILE *f = fopen("data", "w");

	if (f == NULL)
		die("data");
	for (long i = 0; i < n; i++) {
		fprintf(f, "%ld %ld %ld\n", i, i * i, i + 1);
		if (bad)
			fflush(f);
	}
	fclose(f);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void reopen_write(void)
{
	int fd = -1;

	fill("data", 0);
	for (long i = 0; i < n; i++) {
		if (bad || fd < 0)
			fd = made("data", O_WRONLY | O_APPEND);
		if (bad)
			all(write(fd, block, 200), 200);
		if (bad)
			close(fd);
	}
	if (!bad)
		for (long i = 0; i < n; i += 5000)
			all(write(fd, block, 200 * (size_t)(n - i < 5000 ? n - i : 5000)),
			    200 * (n - i < 5000 ? n - i : 5000));
	close(fd);
}

static void reopen_read(void)
{
	fill("table", 64 * KIB);
	for (long i = 0; i < (bad ? n : 1); i++) {
		int fd = made("table", O_RDONLY);

		all(pread(fd, block, 1000, 0), 1000);
		close(fd);
	}
}

static void reopen_stream(void)
{
	FILE *f = NULL;

	for (long i = 0; i < n; i++) {
		if (f == NULL)
			f = fopen("log", i == 0 ? "w" : "a");
		if (f == NULL)
			die("log");
		fprintf(f, "%08ld a line\n", i);
		if (bad) {
			fclose(f);
			f = NULL;
		}
	}
	if (f != NULL)
		fclose(f);
}

static void stat_path(void)
{
	struct stat st;

	fill("input", 100);
	for (long i = 0; i < (bad ? n : 1); i++)
		if (stat("input", &st) != 0)
			die("input");
	close(made("input", O_RDONLY));
}

static void stat_link(void)
{
	struct stat st;

	fill("input", 100);
	for (long i = 0; i < (bad ? n : 1); i++)
		if (lstat("input", &st) != 0)
			die("input");
	close(made("input", O_RDONLY));
}

static void stat_open(void)
{
	int fd = made("input", O_CREAT | O_RDWR);
	struct stat st;

	all(write(fd, block, 100), 100);
	for (long i = 0; i < (bad ? n : 1); i++)
		if (fstat(fd, &st) != 0)
			die("input");
	close(fd);
}

static void missing(int how)
{
	struct stat st;
	char name[64];

	fill("there", 100);
	for (long i = 0; i < (bad ? n : 1); i++) {
		int rc;

		snprintf(name, sizeof(name), bad ? "module%ld.so" : "there", i);
		rc = how == 0	? open(name, O_RDONLY)
		     : how == 1 ? stat(name, &st)
				: access(name, R_OK);
		if ((rc < 0) != bad)
			die(name);
	}
	close(made("there", O_RDONLY));
}

static void missing_open(void)
{
	missing(0);
}

static void missing_stat(void)
{
	missing(1);
}

static void missing_access(void)
{
	missing(2);
}

static void tiny_files_write(void)
{
	char name[64];
	int fd = -1;

	mkdir("files", 0700);
	for (long i = 0; bad && i < n; i++) {
		snprintf(name, sizeof(name), "files/part%ld", i);
		fd = made(name, O_CREAT | O_WRONLY);
		all(write(fd, block, 200), 200);
		close(fd);
	}
	if (!bad)
		fill("files/all", 200 * n);
}

static void tiny_files_read(void)
{
	char name[64];

	tiny_files_write();
	for (long i = 0; bad && i < n; i++) {
		int fd;

		snprintf(name, sizeof(name), "files/part%ld", i);
		fd = made(name, O_RDONLY);
		all(read(fd, block, 200), 200);
		close(fd);
	}
	if (!bad) {
		int fd = made("files/all", O_RDONLY);

		while (read(fd, block, MIB) > 0)
			;
		close(fd);
	}
}

static void rename_each(void)
{
	fill("new", 100);
	for (long i = 0; i < (bad ? n : 2); i++)
		if (rename(i % 2 ? "old" : "new", i % 2 ? "new" : "old") != 0)
			die("rename");
}

static void remove_each(void)
{
	char name[64];
	int fd;

	/* a scratch file for each step, or one for all of them */
	fd = made("scratch", O_CREAT | O_RDWR);
	for (long i = 0; i < n && bad; i++) {
		snprintf(name, sizeof(name), "scratch%ld", i % 7);
		close(made(name, O_CREAT | O_RDWR));
		if (unlink(name) != 0)
			die(name);
	}
	all(write(fd, block, 4096), 4096);
	close(fd);
	unlink("scratch");
}

static void folder_each(void)
{
	char name[64];

	mkdir("step", 0700);
	for (long i = 0; i < n && bad; i++) {
		snprintf(name, sizeof(name), "step/%ld", i % 7);
		if (mkdir(name, 0700) != 0 || rmdir(name) != 0)
			die(name);
	}
	fill("step/result", 4096);
}

/* ---- the same bytes -------------------------------------------------------------------------- */

static void write_again(void)
{
	int fd = made("data", O_CREAT | O_TRUNC | O_WRONLY);

	for (long i = 0; i < (bad ? 8 + n / 1000 : 1); i++)
		for (long at = 0; at < 16 * MIB; at += 4 * MIB)
			all(pwrite(fd, block, 4 * MIB, at), 4 * MIB);
	close(fd);
}

static void read_again(void)
{
	int fd;

	fill("data", 16 * MIB);
	fd = made("data", O_RDONLY);
	for (long i = 0; i < (bad ? 8 + n / 1000 : 1); i++)
		for (long at = 0; at < 16 * MIB; at += 4 * MIB)
			all(pread(fd, block, 4 * MIB, at), 4 * MIB);
	close(fd);
}

/* ---- several processes ----------------------------------------------------------------------- */

#define WORKERS 4

static void in_workers(void (*work)(int))
{
	int status;

	for (int i = 0; i < WORKERS; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0) {
			work(i);
			exit(0);
		}
	}
	for (int i = 0; i < WORKERS; i++)
		if (wait(&status) < 0 || status != 0)
			die("worker");
}

static void shared_writer(int who)
{
	int fd = made("shared", O_WRONLY);
	long part = n * 512, step = bad ? 512 : part < MIB ? part : MIB;

	for (long at = 0; at + step <= part; at += step)
		transfer(fd, 1, POSITION, step, who * part + at);
	close(fd);
}

static void shared_write(void)
{
	fill("shared", 0);
	in_workers(shared_writer);
}

static void shared_reader(int who)
{
	int fd = made("shared", O_RDONLY);
	long part = n * 512, step = bad ? 512 : part < MIB ? part : MIB;

	for (long at = 0; at + step <= part; at += step)
		transfer(fd, 0, POSITION, step, who * part + at);
	close(fd);
}

static void shared_read(void)
{
	fill("shared", n * 512 * WORKERS);
	in_workers(shared_reader);
}

static volatile int *written; /* workers that are done with it */

/* each writes a page more than its part: the first one of its neighbour. Nobody syncs. */
static void overlapping_writer(int who)
{
	int fd = made("shared", O_WRONLY | O_CREAT);

	all(pwrite(fd, block, 65536 + (bad ? 4096 : 0), who * 65536L), 65536 + (bad ? 4096 : 0));
	for (__atomic_add_fetch(written, 1, __ATOMIC_SEQ_CST); *written < WORKERS;)
		usleep(1000); /* all have written before one closes */
	close(fd);
}

static void overlapping_write(void)
{
	written = mmap(NULL, sizeof(*written), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (written == MAP_FAILED)
		die("mmap");
	in_workers(overlapping_writer);
}

static void own_writer(int who)
{
	char name[32];
	long total = n * 512, step = bad ? 512 : total < MIB ? total : MIB;
	int fd;

	snprintf(name, sizeof(name), "own%d", who);
	fd = made(name, O_CREAT | O_TRUNC | O_WRONLY);
	for (long at = 0; at + step <= total; at += step)
		transfer(fd, 1, PLAIN, step, at);
	close(fd);
}

static void worker_write(void)
{
	in_workers(own_writer);
}

static void stat_worker(int who)
{
	struct stat st;

	(void)who;
	for (long i = 0; i < (bad ? n : 1); i++)
		if (stat("config", &st) != 0)
			die("config");
	close(made("config", O_RDONLY));
}

static void worker_stat(void)
{
	fill("config", 100);
	in_workers(stat_worker);
}

/* ---- mappings ------------------------------------------------------------------------------- */

/* pages of a file that is on disk only, here and there; or all of it in large pieces */
static void mapped_pages(void)
{
	long bytes = n * 4096, step = bytes < MIB ? bytes : MIB;
	volatile char *at;
	long sum = 0;
	int fd;

	fill("data", bytes);
	fd = made("data", O_RDWR);
	if (fsync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
		die("data");
	if (bad) {
		at = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
		if (at == MAP_FAILED || madvise((void *)at, (size_t)bytes, MADV_RANDOM) != 0)
			die("mmap");
		for (long i = 0; i < n; i++)
			sum += at[jump(i, n) * 4096];
	} else {
		for (long k = 0; k + step <= bytes; k += step)
			all(pread(fd, block, (size_t)step, k), step);
	}
	block[0] = (char)sum;
	close(fd);
}

/* ---- computing and I/O ----------------------------------------------------------------------- */

#define BURSTS 6

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void compute(double seconds)
{
	for (double end = now() + seconds; now() < end;)
		;
}

/* n pages, in large pieces, from or to the disk */
static void *burst_of_writes(void *file)
{
	int fd = *(int *)file;

	for (long at = 0; at + MIB <= n * 4096; at += MIB)
		all(write(fd, block, MIB), MIB);
	if (fdatasync(fd) != 0)
		die("data");
	return NULL;
}

static char input[MIB];

static void *burst_of_reads(void *file)
{
	int fd = *(int *)file;

	for (long at = 0; at + MIB <= n * 4096; at += MIB)
		all(read(fd, input, MIB), MIB);
	return NULL;
}

/* Bursts with computing between them, which lasts longer than the first one took. The
 * others go on meanwhile, or the program waits for them. */
static void bursts(void *(*burst)(void *), int fd)
{
	double step, from = now();
	pthread_t thread;

	burst(&fd);
	step = 1.3 * (now() - from);
	step = step > 0.3 ? step : 0.3;
	for (int i = 1; i < BURSTS; i++) {
		if (bad) {
			compute(step);
			burst(&fd);
			continue;
		}
		if (pthread_create(&thread, NULL, burst, &fd) != 0)
			die("thread");
		compute(step);
		pthread_join(thread, NULL);
	}
	if (bad)
		compute(step);
	close(fd);
}

static void checkpoint_bursts(void)
{
	bursts(burst_of_writes, made("data", O_CREAT | O_TRUNC | O_WRONLY));
}

static void input_bursts(void)
{
	/* it is there already, on disk */
	bursts(burst_of_reads, made("data", O_RDONLY));
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
#define MODE(x)       \
	{             \
#x, x \
	}
	MODE(small_write),
	MODE(small_pwrite),
	MODE(small_writev),
	MODE(small_read),
	MODE(small_pread),
	MODE(small_readv),
	MODE(byte_write),
	MODE(byte_read),
	MODE(page_write),
	MODE(page_read),
	MODE(copy),
	MODE(random_read),
	MODE(random_write),
	MODE(backward_read),
	MODE(backward_write),
	MODE(strided_read),
	MODE(seek_read),
	MODE(fsync_each),
	MODE(fdatasync_each),
	MODE(fsync_some),
	MODE(o_sync),
	MODE(o_dsync),
	MODE(log_line),
	MODE(stream_unbuffered),
	MODE(stream_flush),
	MODE(reopen_write),
	MODE(reopen_read),
	MODE(reopen_stream),
	MODE(stat_path),
	MODE(stat_link),
	MODE(stat_open),
	MODE(missing_open),
	MODE(missing_stat),
	MODE(missing_access),
	MODE(tiny_files_write),
	MODE(tiny_files_read),
	MODE(rename_each),
	MODE(remove_each),
	MODE(folder_each),
	MODE(write_again),
	MODE(read_again),
	MODE(shared_write),
	MODE(shared_read),
	MODE(worker_write),
	MODE(worker_stat),
	MODE(overlapping_write),
	MODE(mapped_pages),
	MODE(checkpoint_bursts),
	MODE(input_bursts),
};

int main(int argc, char **argv)
{
	struct timespec from, to;

	if (argc != 4)
		return 2;
	bad = strcmp(argv[2], "bad") == 0;
	n = strtol(argv[3], NULL, 10);
	memset(block, 'x', sizeof(block));
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(modes[i].name, argv[1]) != 0)
			continue;
		clock_gettime(CLOCK_MONOTONIC, &from);
		modes[i].run();
		clock_gettime(CLOCK_MONOTONIC, &to);
		printf("%.6f\n", (double)(to.tv_sec - from.tv_sec) +
					 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
		return 0;
	}
	return 2;
}
