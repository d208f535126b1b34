/* SPDX-License-Identifier: BSD-3-Clause */
/* quick.c calls|crowd|handler|switched: what the quick ways of the library (capture/quick.c) have
 * to notice between two calls, or in the middle of one. Calls that succeed leave errno alone.
 *
 * calls: one after the other, so that all is certain; crowd: two threads at one file and one
 * stream; handler: a handler that does I/O again and again; switched: the same calls three times,
 * each time when a byte comes at the standard input, and a byte says that they are done. */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#define KEEPS(call) \
	((errno = 1234), t_must(call, #call, __LINE__), t_must(errno == 1234, "errno", __LINE__))
#define GIVES(code, call) ((errno = 1234), t_must((call) < 0 && errno == (code), #call, __LINE__))

static char buf[70000] __attribute__((aligned(16)));
static void *volatile nowhere = (void *)16;

static int made(const char *name)
{
	return t_open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
}

/* one number, one file after the other */
static void again(void)
{
	static const char *const name[] = { "one", "two", "three" };
	int pipes[2], fd = made("zero"), before = fd;

	MUST(pipe(pipes) == 0);
	for (size_t i = 0; i < 12; i++) {
		for (size_t k = 0; k < 4; k++)
			KEEPS(t_write(fd, buf, 10 + i) == (ssize_t)(10 + i));
		t_close(fd);
		fd = made(name[i % 3]);
		MUST(fd == before);
		KEEPS(t_pwrite(fd, buf, 8, 16) == 8);
		KEEPS(t_lseek(fd, 4, SEEK_SET) == 4);
		KEEPS(t_read(fd, buf, 5) == 5);
	}
	/* another file takes it over, then something that is none, then a file again */
	int other = made("other");
	KEEPS(t_write(other, buf, 100) == 100);
	MUST(m_dup(other, dup2(other, fd)) == fd);
	KEEPS(t_write(fd, buf, 7) == 7);
	MUST(m_dup(pipes[1], dup2(pipes[1], fd)) == fd);
	KEEPS(t_write(fd, buf, 3) == 3);
	t_close(fd);
	fd = t_open("two", O_RDWR);
	MUST(fd == before);
	KEEPS(t_write(fd, buf, 9) == 9);
	t_close(fd);
	t_close(other);
	for (size_t i = 0; i < 6; i++) {
		FILE *f = t_fopen(i % 2 ? "stream1" : "stream2", "w+");
		fputc('x', f), m_sio(f, 'w', 1); /* the first one asks whether it is a terminal */
		for (size_t k = 0; k < 3; k++)
			KEEPS(t_fwrite(buf, 1, 20 + i, f) == 20 + i);
		MUST(m_sseek(f, 2, fseek(f, 2, SEEK_SET)) == 0);
		KEEPS(t_fread(buf, 1, 30, f) == 30);
		KEEPS(t_fread(buf, 1, 3, f) == 3);
		t_fclose(f);
	}
	FILE *none = fdopen(pipes[1], "w"); /* a stream of no file */
	fputc('x', none);
	KEEPS(fwrite(buf, 1, 5, none) == 5 && fwrite(buf, 1, 6, none) == 6);
	fclose(none);
	close(pipes[0]);
}

static void append(void)
{
	int fd = made("appended");

	KEEPS(t_write(fd, buf, 100) == 100);
	t_close(fd);
	fd = t_open("appended", O_RDWR | O_APPEND);
	for (int i = 0; i < 3; i++) {
		KEEPS(t_write(fd, buf, 50) == 50);
		KEEPS(t_lseek(fd, 0, SEEK_CUR) == 150 + 50 * i); /* now it is known where */
		KEEPS(t_pread(fd, buf, 10, 20) == 10);
		KEEPS(t_lseek(fd, 30, SEEK_SET) == 30);
		KEEPS(t_read(fd, buf, 10) == 10);
		KEEPS(t_lseek(fd, 0, SEEK_END) == 150 + 50 * i);
	}
	t_close(fd);
}

static void ends_and_errors(void)
{
	int fd = made("ends"), reads = t_open("ends", O_RDONLY), writes = t_open("ends", O_WRONLY);

	KEEPS(t_write(fd, buf, 64) == 64);
	for (int i = 0; i < 3; i++) {
		KEEPS(t_read(fd, buf, 8) == 0);
		KEEPS(t_pread(fd, buf, 8, 1 << 20) == 0);
		KEEPS(t_write(fd, buf, 0) == 0);
		KEEPS(t_lseek(fd, 56, SEEK_SET) == 56);
		KEEPS(t_read(fd, buf, 30) == 8); /* shorter than asked for */
	}
	for (int i = 0; i < 2; i++) {
		GIVES(EBADF, t_write(reads, buf, 8));
		GIVES(EBADF, t_read(writes, buf, 8));
		KEEPS(t_lseek(fd, 10, SEEK_SET) == 10);
		GIVES(EFAULT, t_read(fd, nowhere, 8));
		GIVES(EFAULT, t_pwrite(fd, nowhere, 8, 0));
		GIVES(EINVAL, t_pread(fd, buf, 8, -7));
		GIVES(EINVAL, t_lseek(fd, -1, SEEK_SET));
		GIVES(EINVAL, t_lseek(fd, 0, 77));
		KEEPS(t_read(fd, buf, 4) == 4); /* where it was */
		GIVES(EBADF, read(999, buf, 1));
		GIVES(EBADF, lseek(-1, 0, SEEK_SET));
	}
	t_close(fd);
	GIVES(EBADF, t_read(fd, buf, 8));
	GIVES(EBADF, t_lseek(fd, 0, SEEK_SET));
	t_close(reads);
	t_close(writes);
}

static void come(int sig)
{
	(void)sig;
}

/* a call that a signal ends was none */
static void interrupted(void)
{
	struct sigaction sa = { .sa_handler = come };
	struct itimerval soon = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	int pipes[2];

	MUST(pipe(pipes) == 0 && sigaction(SIGALRM, &sa, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	GIVES(EINTR, t_read(pipes[0], buf, 1));
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	signal(SIGALRM, SIG_IGN);
	KEEPS(t_write(pipes[1], buf, 1) == 1);
	KEEPS(t_read(pipes[0], buf, 1) == 1);
	close(pipes[0]);
	close(pipes[1]);
}

static void seeks(void)
{
	int fd = made("sparse");
	off_t at;

	KEEPS(t_pwrite(fd, buf, 8, 1 << 20) == 8);
	for (int i = 0; i < 3; i++) {
		KEEPS((at = t_lseek(fd, -8, SEEK_END)) >= 1 << 20);
		KEEPS(t_read(fd, buf, 4) == 4);
		KEEPS(t_lseek(fd, 2, SEEK_CUR) == at + 6);
		KEEPS(t_read(fd, buf, 2) == 2);
		KEEPS((at = t_lseek(fd, 0, SEEK_DATA)) >= 0);
		KEEPS(t_read(fd, buf, 100) > 0);
		KEEPS((at = t_lseek(fd, at, SEEK_HOLE)) >= 0);
		KEEPS(t_write(fd, buf, 1) == 1);
		GIVES(ENXIO, t_lseek(fd, (off_t)1 << 40, SEEK_DATA));
		KEEPS(t_read(fd, buf, 1) <= 1);
	}
	t_close(fd);
}

/* quick and slow calls by turns, in and out of sequence, of several sizes and strides */
static void mixed(void)
{
	static const size_t size[] = { 8, 8, 100, 101, 8, 4096, 8, 65536, 8, 8, 1024, 1025 };
	int fd = made("mixed"), to = made("copied");
	off_t at = 0;

	for (size_t i = 0; i < 12; i++)
		KEEPS(t_pwrite(fd, buf + i % 3, size[i], (off_t)i << 16) == (ssize_t)size[i]);
	for (size_t i = 0; i < 60; i++) {
		size_t n = size[i % 12];
		KEEPS(t_pread(fd, buf + i % 2, n, at) == (ssize_t)n);
		at += (off_t)n + (i % 4 == 1 ? 512 : i % 4 == 2 ? 24 : 0);
		if (i % 7 == 3)
			KEEPS(t_pwrite(fd, buf, 16, at) == 16);
		if (i % 5 == 2) {
			off_t in = at, out = 0;
			ssize_t r = copy_file_range(fd, &in, to, &out, 32, 0);
			MUST(m_rw(fd, 'r', at, r, NULL, T_COPY) == 32);
			MUST(m_rw(to, 'w', 0, r, NULL, T_COPY) == 32);
			at += 32;
		}
		if (i % 11 == 5)
			MUST(m_dup(fd, dup2(fd, 70)) == 70 && t_pread(70, buf, 8, at) == 8);
	}
	KEEPS(t_lseek(fd, 0, SEEK_SET) == 0);
	for (size_t i = 0; i < 20; i++) {
		KEEPS(t_read(fd, buf, 8) == 8);
		if (i % 3 == 0)
			KEEPS(t_write(fd, buf, 8) == 8);
		if (i % 6 == 5)
			MUST(m_sync(fd, "FDSYNCS", fdatasync(fd)) == 0);
	}
	t_close(70);
	t_close(fd);
	t_close(to);
}

/* ---- two threads by turns ---- */

static int turn_fd;
static pthread_barrier_t turn;

static void *second(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++) {
		pthread_barrier_wait(&turn);
		KEEPS(t_write(turn_fd, buf, 16) == 16);
		KEEPS(t_pread(turn_fd, buf, 24, 8 * i) == 24);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

static void by_turns(void)
{
	pthread_t id;

	turn_fd = made("turns");
	KEEPS(t_write(turn_fd, buf, 200) == 200);
	MUST(pthread_barrier_init(&turn, NULL, 2) == 0);
	MUST(pthread_create(&id, NULL, second, NULL) == 0);
	for (int i = 0; i < 10; i++) {
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
		KEEPS(t_write(turn_fd, buf, 8) == 8);
		KEEPS(t_lseek(turn_fd, 8 * i, SEEK_SET) == 8 * i);
		KEEPS(t_read(turn_fd, buf, 8) == 8);
	}
	MUST(pthread_join(id, NULL) == 0);
	t_close(turn_fd);
}

/* ---- fork in between ---- */

static void forked(void)
{
	int fd = made("common"), status;
	FILE *f = t_fopen("stream", "w");

	fputc('x', f), m_sio(f, 'w', 1);
	for (int i = 0; i < 3; i++) {
		KEEPS(t_write(fd, buf, 40) == 40);
		KEEPS(t_fwrite(buf, 1, 5, f) == 5);
	}
	MUST(m_flush(f, fflush(f)) == 0);
	KEEPS(t_lseek(fd, 20, SEEK_SET) == 20);
	pid_t pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		t_child(true);
		m_at(fd, 20);
		for (int i = 0; i < 3; i++) {
			KEEPS(t_read(fd, buf, 6) == 6);
			KEEPS(t_pwrite(fd, buf, 7, 300) == 7);
			KEEPS(t_lseek(fd, 0, SEEK_CUR) == 26 + 6 * i);
			KEEPS(fwrite(buf, 1, 9, f) == 9);
		}
		t_any("STDIO", "stream", "MAX_BYTE_WRITTEN");
		t_add("STDIO", "stream", "WRITES", 3);
		t_add("STDIO", "stream", "BYTES_WRITTEN", 27);
		t_untraced();
		t_close(fd);
		t_done();
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	for (int i = 0; i < 3; i++) {
		KEEPS(t_pread(fd, buf, 12, 0) == 12);
		KEEPS(t_pwrite(fd, buf, 13, 400) == 13);
		KEEPS(t_fwrite(buf, 1, 5, f) == 5);
	}
	t_fclose(f);
	t_close(fd);
}

/* ---- at the same time ---- */

static const char *const order[] = { "MAX_BYTE_READ",  "MAX_BYTE_WRITTEN", "SIZE_READ_0_100",
				     "ACCESS1_ACCESS", "ACCESS1_COUNT",	   "ACCESS2_ACCESS",
				     "ACCESS2_COUNT",  "ACCESS3_ACCESS",   "ACCESS3_COUNT" };

static void sums(const char *path, long opens, long reads, long bytes, long seeks_)
{
	t_want("POSIX", path, "OPENS", opens);
	t_want("POSIX", path, "MODE", 0644);
	t_want("POSIX", path, "READS", reads);
	t_want("POSIX", path, "BYTES_READ", bytes);
	t_want("POSIX", path, "SEEKS", seeks_);
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		t_any("POSIX", path, order[i]);
	t_any_order(path);
}

enum { CROWD = 4096 };
static int crowd_fd;
static FILE *crowd_stream;
static atomic_long crowd_calls;

static long ms_since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - from->tv_sec) * 1000 + (now.tv_nsec - from->tv_nsec) / 1000000;
}

/* long enough that both are really at work at the same time, also beside other programs */
static void *crowded(void *arg)
{
	struct timespec from;

	pthread_barrier_wait(&turn);
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		for (int i = 0; i < 1000; i++) {
			KEEPS(pread(crowd_fd, arg, 3, i) == 3);
			KEEPS(lseek(crowd_fd, i, SEEK_SET) == i);
			KEEPS(fwrite(arg, 1, 2, crowd_stream) == 2);
		}
		crowd_calls += 1000;
	} while (ms_since(&from) < 300);
	return NULL;
}

static void crowd(void)
{
	static char own[2][16] __attribute__((aligned(8)));
	pthread_t id[2];

	t_untraced();
	crowd_fd = open("crowd", O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(crowd_fd >= 0 && ftruncate(crowd_fd, CROWD) == 0);
	crowd_stream = fopen("crowded", "w");
	MUST(crowd_stream && fputc('x', crowd_stream) == 'x');
	MUST(pthread_barrier_init(&turn, NULL, 2) == 0);
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&id[i], NULL, crowded, own[i]) == 0);
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(id[i], NULL) == 0);
	close(crowd_fd);
	fclose(crowd_stream);
	sums("crowd", 1, crowd_calls, 3 * crowd_calls, crowd_calls);
	t_want("EXTRA", "crowd", "TRUNCATES", 1);
	t_want("STDIO", "crowded", "OPENS", 1);
	t_want("STDIO", "crowded", "WRITES", crowd_calls + 1);
	t_want("STDIO", "crowded", "BYTES_WRITTEN", 2 * crowd_calls + 1);
	t_want("STDIO", "crowded", "MAX_BYTE_WRITTEN", 2 * crowd_calls);
}

/* ---- a handler in the call ---- */

static int own_fd;
static atomic_long handled;

/* At a file of its own, always alike: nothing but the queue makes a call of the program a slow one,
 * so that it is full soon if nobody empties it. */
static void handler(int sig)
{
	static char mine[16] __attribute__((aligned(8)));
	int kept = errno;

	(void)sig;
	KEEPS(lseek(own_fd, 5, SEEK_SET) == 5);
	KEEPS(read(own_fd, mine, 2) == 2);
	handled++;
	errno = kept;
}

static void handlers(void)
{
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct timespec from;
	long calls = 0;

	t_untraced();
	crowd_fd = open("main", O_RDWR | O_CREAT | O_TRUNC, 0644);
	own_fd = open("own", O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(pwrite(crowd_fd, buf, 4096, 0) == 4096 && pwrite(own_fd, buf, 16, 0) == 16);
	MUST(ftruncate(crowd_fd, 1 << 30) == 0); /* so that no call has to be a slow one */
	crowd_stream = fopen("main", "r");
	MUST(crowd_stream && sigaction(SIGALRM, &sa, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		for (int i = 0; i < 100; i++) {
			KEEPS(pread(crowd_fd, buf, 8, 8 * (i + 1)) == 8);
			KEEPS(lseek(crowd_fd, i, SEEK_SET) == i);
			KEEPS(fread(buf, 1, 4, crowd_stream) == 4);
		}
		calls += 100;
	} while (ms_since(&from) < 300 || handled < 100);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	signal(SIGALRM, SIG_IGN);
	sums("main", 1, calls, 8 * calls, calls);
	sums("own", 1, handled, 2 * handled, handled);
	t_want("POSIX", "main", "WRITES", 1);
	t_want("POSIX", "main", "BYTES_WRITTEN", 4096);
	t_any("POSIX", "main", "SIZE_WRITE_1K_10K");
	t_want("POSIX", "own", "WRITES", 1);
	t_want("POSIX", "own", "BYTES_WRITTEN", 16);
	t_any("POSIX", "own", "SIZE_WRITE_0_100");
	t_want("STDIO", "main", "OPENS", 1);
	t_want("STDIO", "main", "READS", calls);
	t_want("STDIO", "main", "BYTES_READ", 4 * calls);
	t_want("STDIO", "main", "MAX_BYTE_READ", 4 * calls - 1);
	t_want("EXTRA", "main", "TRUNCATES", 1);
	close(crowd_fd);
	close(own_fd);
	fclose(crowd_stream);
}

/* ---- events switched on and off in between ---- */

static void switched(void)
{
	int fd = made("data");
	FILE *f = t_fopen("stream", "w+");
	char byte;

	fputc('x', f), m_sio(f, 'w', 1);
	for (int phase = 0; phase < 3; phase++) {
		MUST(t_read(0, &byte, 1) == 1);
		for (int i = 0; i < 5; i++) {
			off_t at = (phase << 16) + 8 * i;
			KEEPS(t_pwrite(fd, buf, 8, at) == 8);
			KEEPS(t_lseek(fd, at, SEEK_SET) == at);
			KEEPS(t_read(fd, buf, 4) == 4);
			KEEPS(t_fwrite(buf, 1, 10, f) == 10);
		}
		MUST(t_write(1, &byte, 1) == 1);
	}
	t_fclose(f);
	t_close(fd);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "crowd")) {
		crowd();
	} else if (!strcmp(what, "handler")) {
		handlers();
	} else if (!strcmp(what, "switched")) {
		switched();
	} else {
		again();
		append();
		ends_and_errors();
		interrupted();
		seeks();
		mixed();
		by_turns();
		forked();
	}
	t_done();
	return 0;
}
