/* SPDX-License-Identifier: BSD-3-Clause */
/* uring.c: I/O by io_uring, through liburing. The list of operations comes from a fixed seed; each
 * counts as the call that it stands for, when its completion is there. */
#include "truth.h"

#include <liburing.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { N = 1200, SIZE = 1 << 20, LARGEST = 9000, MOST = 256 };

static struct io_uring ring;
static char memory[MOST][LARGEST + 8] __attribute__((aligned(64)));
static struct op {
	char kind;
	off_t off;
	char *mem;
} list[N + 8];

static uint64_t state = 20261118;

static unsigned next(unsigned below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(state >> 33) % below;
}

static int data_file(const char *name)
{
	static char zero[65536];
	int fd = t_open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);

	MUST(fd >= 0);
	for (off_t at = 0; at < SIZE; at += sizeof zero)
		MUST(t_pwrite(fd, zero, sizeof zero, at) == sizeof zero);
	return fd;
}

static struct io_uring_sqe *get(void)
{
	struct io_uring_sqe *s = io_uring_get_sqe(&ring);

	while (!s && ring.flags & IORING_SETUP_SQPOLL) {
		MUST(io_uring_submit(&ring) >= 0 && io_uring_sqring_wait(&ring) >= 0);
		s = io_uring_get_sqe(&ring);
	}
	MUST(s != NULL);
	return s;
}

static bool setup(unsigned entries, unsigned flags)
{
	return io_uring_queue_init(entries, &ring, flags) == 0;
}

/* submits what is there and gives the result of the one completion that comes */
static int one(void)
{
	struct io_uring_cqe *c;

	MUST(io_uring_submit(&ring) >= 0 && io_uring_wait_cqe(&ring, &c) == 0);
	int r = c->res;
	io_uring_cqe_seen(&ring, c);
	errno = r < 0 ? -r : 0;
	return r < 0 ? -1 : r;
}

/* ---- many reads and writes, several under way ------------------------------------------------ */

static void ask(int fd, unsigned i, unsigned place)
{
	struct io_uring_sqe *s = get();
	unsigned len = 1 + next(LARGEST);

	list[i] = (struct op){ next(3) ? 'r' : 'w', next(SIZE - LARGEST),
			       memory[place] + (next(2) ? 0 : 3) };
	if (list[i].kind == 'r')
		io_uring_prep_read(s, fd, list[i].mem, len, (uint64_t)list[i].off);
	else
		io_uring_prep_write(s, fd, list[i].mem, len, (uint64_t)list[i].off);
	io_uring_sqe_set_data64(s, i);
}

static void ended(int fd, const struct io_uring_cqe *c)
{
	struct op *o = &list[c->user_data];

	MUST(c->user_data < N + 8 && c->res > 0);
	m_rw(fd, o->kind, o->off, c->res, o->mem, T_AIO);
}

static void many(int fd, unsigned depth, unsigned n)
{
	unsigned asked = 0, flying = 0, done = 0;

	while (done < n) {
		struct io_uring_cqe *c;

		for (; flying < depth && asked < n; flying++)
			ask(fd, asked, asked % MOST), asked++;
		MUST(io_uring_submit(&ring) >= 0 && io_uring_wait_cqe(&ring, &c) == 0);
		do {
			ended(fd, c);
			io_uring_cqe_seen(&ring, c);
			done++, flying--;
		} while (io_uring_peek_cqe(&ring, &c) == 0);
	}
}

static int depth(unsigned d, unsigned flags)
{
	static const char *const sizes[] = { "ACCESS1_ACCESS", "ACCESS2_ACCESS", "ACCESS3_ACCESS",
					     "ACCESS4_ACCESS", "ACCESS1_COUNT",	 "ACCESS2_COUNT",
					     "ACCESS3_COUNT",  "ACCESS4_COUNT" };
	int fd = data_file("deep");

	if (!setup(d < 8 ? 8 : d, flags))
		return 77;
	many(fd, d, N);
	if (d > 1) {
		t_any_order("deep");
		/* which of more than four sizes are kept depends on the order as well */
		for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
			t_any("POSIX", "deep", sizes[i]);
	}
	io_uring_queue_exit(&ring);
	t_close(fd);
	return 0;
}

/* ---- registered files and buffers ------------------------------------------------------------ */

static int fixed(void)
{
	int fd[3] = { data_file("first"), data_file("second"), -1 };
	struct iovec v = { memory, sizeof memory };
	enum { HANDLE = 900 };

	if (!setup(8, 0))
		return 77;
	MUST(io_uring_register_files(&ring, fd, 3) == 0);
	MUST(io_uring_register_buffers(&ring, &v, 1) == 0);
	m_open(AT_FDCWD, "second", 0, HANDLE); /* goes on without its descriptor */
	t_add("POSIX", "second", "OPENS", -1);
	t_close(fd[1]);
	for (unsigned i = 0; i < 200; i++) {
		struct io_uring_sqe *s = get();
		off_t off = 100 * (off_t)i;

		if (i % 3)
			io_uring_prep_read_fixed(s, i % 2, memory[i % 4], 700, (uint64_t)off, 0);
		else
			io_uring_prep_write_fixed(s, i % 2, memory[i % 4], 600, (uint64_t)off, 0);
		s->flags |= IOSQE_FIXED_FILE;
		m_rw(i % 2 ? HANDLE : fd[0], i % 3 ? 'r' : 'w', off, one(), memory[i % 4], T_AIO);
	}
	fd[2] = data_file("third");
	MUST(io_uring_register_files_update(&ring, 2, &fd[2], 1) == 1);
	struct io_uring_sqe *s = get();
	io_uring_prep_read(s, 2, memory, 500, 7);
	s->flags |= IOSQE_FIXED_FILE;
	m_rw(fd[2], 'r', 7, one(), memory, T_AIO);
	io_uring_prep_files_update(get(), fd, 1, 1); /* the first file, as number 1 */
	MUST(one() == 1);
	s = get();
	io_uring_prep_read(s, 1, memory, 400, 0);
	s->flags |= IOSQE_FIXED_FILE;
	m_rw(fd[0], 'r', 0, one(), memory, T_AIO);
	io_uring_queue_exit(&ring);
	t_close(fd[0]);
	t_close(fd[2]);
	return 0;
}

/* ---- lists of buffers, the position of the file ---------------------------------------------- */

static int vector(void)
{
	int fd = data_file("vector");

	if (!setup(8, 0))
		return 77;
	for (unsigned i = 0; i < 50; i++) {
		struct iovec *v = malloc(3 * sizeof *v);

		for (unsigned k = 0; k < 3; k++)
			v[k] = (struct iovec){ memory[k] + (i % 4 == k), 100 + 10 * k };
		if (i % 2)
			io_uring_prep_readv(get(), fd, v, 3, 500 * i);
		else
			io_uring_prep_writev(get(), fd, v, 3, 500 * i);
		m_rwv(fd, i % 2 ? 'r' : 'w', 500 * (off_t)i, one(), v, 3);
		t_add("EXTRA", "vector", i % 2 ? "AIO_READS" : "AIO_WRITES", 1);
		free(v);
	}
	MUST(t_lseek(fd, 1000, SEEK_SET) == 1000);
	for (unsigned i = 0; i < 5; i++) {
		io_uring_prep_read(get(), fd, memory, 300, (uint64_t)-1);
		m_rw(fd, 'r', -1, one(), memory, T_AIO);
	}
	MUST(t_read(fd, memory, 10) == 10);
	io_uring_queue_exit(&ring);
	t_close(fd);
	return 0;
}

/* ---- what is no data ------------------------------------------------------------------------- */

static int meta(void)
{
	static struct statx st;
	static const struct open_how how = { .flags = O_RDWR };
	int fd, other;

	if (!setup(8, 0))
		return 77;
	io_uring_prep_openat(get(), AT_FDCWD, "opened", O_RDWR | O_CREAT | O_TRUNC, 0640);
	fd = m_open(AT_FDCWD, "opened", 0640, one());
	MUST(fd >= 0);
	io_uring_prep_write(get(), fd, memory, 1000, 0);
	MUST(m_rw(fd, 'w', 0, one(), memory, T_AIO) == 1000);
	io_uring_prep_fsync(get(), fd, 0);
	m_sync(fd, "FSYNCS", one());
	io_uring_prep_fsync(get(), fd, IORING_FSYNC_DATASYNC);
	m_sync(fd, "FDSYNCS", one());
	io_uring_prep_fallocate(get(), fd, 0, 0, 5000);
	m_fextra(fd, "ALLOCATES", one());
	io_uring_prep_fadvise(get(), fd, 0, 0, POSIX_FADV_RANDOM);
	m_fextra(fd, "ADVISES", one());
	io_uring_prep_sync_file_range(get(), fd, 0, 0, 0);
	m_fextra(fd, "RANGE_SYNCS", one());
	io_uring_prep_statx(get(), AT_FDCWD, "opened", 0, STATX_ALL, &st);
	m_stat(AT_FDCWD, "opened", S_IFREG, one());
	io_uring_prep_openat2(get(), AT_FDCWD, "opened", (struct open_how *)&how);
	other = m_open(AT_FDCWD, "opened", 0, one());
	MUST(other >= 0);
	io_uring_prep_close(get(), other);
	m_forget(other);
	MUST(one() == 0);
	io_uring_prep_openat(get(), AT_FDCWD, "nowhere", O_RDONLY, 0);
	m_open(AT_FDCWD, "nowhere", 0, one());
	io_uring_prep_mkdirat(get(), AT_FDCWD, "folder", 0755);
	m_extra(AT_FDCWD, "folder", "MKDIRS", one());
	io_uring_prep_linkat(get(), AT_FDCWD, "opened", AT_FDCWD, "linked", 0);
	m_extra(AT_FDCWD, "opened", "LINKS", one());
	io_uring_prep_symlinkat(get(), "opened", AT_FDCWD, "pointer");
	m_extra(AT_FDCWD, "pointer", "LINKS", one());
	io_uring_prep_unlinkat(get(), AT_FDCWD, "linked", 0);
	m_extra(AT_FDCWD, "linked", "UNLINKS", one());
	io_uring_prep_renameat(get(), AT_FDCWD, "opened", AT_FDCWD, "renamed", 0);
	m_rename(AT_FDCWD, "opened", AT_FDCWD, "renamed", one());
	io_uring_prep_read(get(), fd, memory, 1000, 0);
	MUST(m_rw(fd, 'r', 0, one(), memory, T_AIO) == 1000);
	io_uring_prep_close(get(), fd);
	m_forget(fd);
	MUST(one() == 0);
	io_uring_queue_exit(&ring);
	return 0;
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* open, read and close without a descriptor, all submitted at once */
static void chain(const char *name)
{
	enum { HANDLE = 901 };
	struct io_uring_sqe *s;
	struct io_uring_cqe *c;
	int res[3];

	s = get();
	io_uring_prep_openat_direct(s, AT_FDCWD, name, O_RDONLY, 0, 1);
	s->flags |= IOSQE_IO_LINK;
	io_uring_sqe_set_data64(s, 0);
	s = get();
	io_uring_prep_read(s, 1, memory, 800, 50);
	s->flags |= IOSQE_FIXED_FILE | IOSQE_IO_LINK;
	io_uring_sqe_set_data64(s, 1);
	s = get();
	io_uring_prep_close_direct(s, 1);
	io_uring_sqe_set_data64(s, 2);
	MUST(io_uring_submit_and_wait(&ring, 3) == 3);
	for (unsigned i = 0; i < 3; i++) {
		MUST(io_uring_wait_cqe(&ring, &c) == 0 && c->user_data < 3);
		res[c->user_data] = c->res;
		io_uring_cqe_seen(&ring, c);
	}
	MUST(res[0] == 0 && res[1] == 800 && res[2] == 0);
	m_open(AT_FDCWD, name, 0, HANDLE);
	m_rw(HANDLE, 'r', 50, 800, memory, T_AIO);
	m_forget(HANDLE);
}

static int linked(void)
{
	int fd = data_file("linked"), wrong = t_open("linked", O_WRONLY);
	struct io_uring_sqe *s;
	struct io_uring_cqe *c;

	if (!setup(16, 0))
		return 77;
	MUST(io_uring_register_files_sparse(&ring, 4) == 0);
	chain("linked");
	chain("linked");
	s = get(); /* fails, and with it the one that is linked to it */
	io_uring_prep_read(s, wrong, memory, 10, 0);
	s->flags |= IOSQE_IO_LINK;
	io_uring_prep_read(get(), fd, memory, 10, 0);
	MUST(io_uring_submit_and_wait(&ring, 2) == 2);
	for (unsigned i = 0; i < 2; i++) {
		MUST(io_uring_wait_cqe(&ring, &c) == 0 && c->res < 0);
		io_uring_cqe_seen(&ring, c);
	}
	t_add("EXTRA", "linked", "READS_FAILED", 2);
	for (unsigned i = 0; i < 10; i++) { /* nothing tells that they have ended */
		s = get();
		io_uring_prep_write(s, fd, memory, 64, 64 * i);
		s->flags |= IOSQE_CQE_SKIP_SUCCESS;
		m_rw(fd, 'w', 64 * (off_t)i, 64, memory, T_AIO);
	}
	io_uring_prep_fsync(get(), fd, 0);
	m_sync(fd, "FSYNCS", one());
	io_uring_queue_exit(&ring);
	t_close(wrong);
	t_close(fd);
	return 0;
}

/* ---- from file to file, names that are used twice, too many completions ---------------------- */

static int copy(void)
{
	int from = data_file("from"), to = t_open("to", O_RDWR | O_CREAT | O_TRUNC, 0644), p[2];
	struct io_uring_cqe *c;

	MUST(pipe(p) == 0);
	if (!setup(4, 0))
		return 77;
	io_uring_prep_splice(get(), from, 300, p[1], -1, 2000, 0);
	MUST(m_rw(from, 'r', 300, one(), NULL, T_COPY) == 2000);
	io_uring_prep_splice(get(), p[0], -1, to, 100, 2000, 0);
	MUST(m_rw(to, 'w', 100, one(), NULL, T_COPY) == 2000);
	/* 40 completions for a queue of 8 */
	for (unsigned i = 0; i < 40; i++) {
		io_uring_prep_read(get(), from, memory, 100 + i, 1000 * i);
		MUST(io_uring_submit(&ring) == 1);
	}
	for (unsigned i = 0; i < 40; i++) {
		MUST(io_uring_wait_cqe(&ring, &c) == 0 && c->res == (int)(100 + i));
		io_uring_cqe_seen(&ring, c);
		m_rw(from, 'r', 1000 * (off_t)i, (ssize_t)(100 + i), memory, T_AIO);
	}
	io_uring_queue_exit(&ring);
	close(p[0]);
	close(p[1]);
	t_close(from);
	t_close(to);
	return 0;
}

/* ---- one thread submits, another takes ------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned flying;
static int shared_fd;

static void *reap(void *unused)
{
	struct io_uring_cqe *c;

	for (unsigned i = 0; i < N; i++) {
		MUST(io_uring_wait_cqe(&ring, &c) == 0);
		struct io_uring_cqe is = *c;
		io_uring_cqe_seen(&ring, c);
		pthread_mutex_lock(&mutex);
		ended(shared_fd, &is);
		flying--;
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static int threads(void)
{
	pthread_t other;

	shared_fd = data_file("threads");
	if (!setup(64, 0))
		return 77;
	MUST(pthread_create(&other, NULL, reap, NULL) == 0);
	for (unsigned i = 0; i < N;) {
		pthread_mutex_lock(&mutex);
		unsigned n = flying;
		if (n < 32) {
			ask(shared_fd, i, i % MOST);
			flying++;
		}
		pthread_mutex_unlock(&mutex);
		if (n >= 32)
			sched_yield();
		else if (++i)
			MUST(io_uring_submit(&ring) >= 0);
	}
	MUST(pthread_join(other, NULL) == 0);
	t_any_order("threads");
	io_uring_queue_exit(&ring);
	t_close(shared_fd);
	return 0;
}

/* ---- the child takes what the parent asked for, and the other way round ---------------------- */

static int forked(void)
{
	int fd = data_file("parent"), go[2], status;
	struct io_uring_cqe *seen =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct io_uring_cqe *c;
	char byte;

	if (!setup(64, 0))
		return 77;
	MUST(pipe(go) == 0);
	for (unsigned i = 0; i < 20; i++)
		ask(fd, i, i);
	MUST(seen != MAP_FAILED);
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0) {
		t_child(true);
		MUST(read(go[0], &byte, 1) == 1);
		int own = data_file("child");
		for (unsigned i = 0; i < 20; i++) {
			MUST(io_uring_wait_cqe(&ring, &c) == 0);
			seen[i] = *c;
			io_uring_cqe_seen(&ring, c);
		}
		t_close(own);
		t_done();
		_exit(0);
	}
	MUST(io_uring_submit(&ring) == 20);
	MUST(write(go[1], "x", 1) == 1);
	MUST(waitpid(child, &status, 0) == child && status == 0);
	io_uring_queue_exit(&ring);
	for (unsigned i = 0; i < 20; i++)
		ended(fd, &seen[i]);
	t_any_order("parent");
	t_close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "1";
	int r;

	if (!strcmp(what, "fixed"))
		r = fixed();
	else if (!strcmp(what, "vector"))
		r = vector();
	else if (!strcmp(what, "meta"))
		r = meta();
	else if (!strcmp(what, "linked"))
		r = linked();
	else if (!strcmp(what, "copy"))
		r = copy();
	else if (!strcmp(what, "threads"))
		r = threads();
	else if (!strcmp(what, "fork"))
		r = forked();
	else
		r = depth((unsigned)atoi(what), argc > 2 ? (unsigned)atoi(argv[2]) : 0);
	if (r == 0)
		t_done();
	return r;
}
