/* SPDX-License-Identifier: BSD-3-Clause */
/* toyfuse.c FOLDER plain|splice|pieces|helper [BACKING]: a FUSE daemon of its own, without any
 * library: one file "f" in memory, or in the file BACKING. Requests are read as they are and
 * answered with writev; or they are taken out of the device by splice(), and read from the pipe as
 * a whole, in pieces and answered through a pipe, too (as libfuse does), or by another thread. When
 * it is unmounted it prints how many reads and writes it was asked for. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST (8 << 20)
#define ROOM ((1 << 20) + 8192)

static char file[MOST];
static uint64_t size;
static unsigned long n_reads, n_writes;
static int device, tube[2], back[2], backing = -1;
static enum { PLAIN, SPLICE, PIECES, HELPER } way;

static void need(int is, const char *what)
{
	if (is)
		return;
	perror(what);
	_exit(3);
}

/* through a pipe: the head, then what it is about, then all of it to the device */
static void answer_piped(struct iovec iov[2])
{
	size_t n = iov[0].iov_len + iov[1].iov_len;
	ssize_t done = 0;

	for (size_t at = 0, i = 0; i < 2; i++)
		for (at = 0; at < iov[i].iov_len; at += (size_t)done) {
			struct iovec part = { (char *)iov[i].iov_base + at, iov[i].iov_len - at };

			done = vmsplice(back[1], &part, 1, 0);
			need(done > 0, "vmsplice");
		}
	need(splice(back[0], NULL, device, NULL, n, 0) == (ssize_t)n || errno == ENOENT, "splice");
}

static void answer(uint64_t unique, int error, const void *data, size_t n)
{
	struct fuse_out_header h = { .len = (uint32_t)(sizeof(h) + n),
				     .error = error,
				     .unique = unique };
	struct iovec iov[2] = { { &h, sizeof(h) }, { (void *)(uintptr_t)data, n } };

	if (way == PIECES && n > 0) {
		answer_piped(iov);
		return;
	}
	if (writev(device, iov, n > 0 ? 2 : 1) < 0 && errno != ENOENT)
		perror("writev");
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){ .ino = node,
				   .size = node == 1 ? 0 : size,
				   .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0644,
				   .nlink = 1,
				   .blksize = 4096 };
}

static void do_write(const struct fuse_in_header *h, const struct fuse_write_in *w)
{
	struct fuse_write_out out = { .size = w->size };

	n_writes++;
	memcpy(file + w->offset, w + 1, w->size);
	need(backing < 0 || pwrite(backing, w + 1, w->size, (off_t)w->offset) == (ssize_t)w->size,
	     "pwrite");
	if (w->offset + w->size > size)
		size = w->offset + w->size;
	answer(h->unique, 0, &out, sizeof(out));
}

static void do_read(const struct fuse_in_header *h, const struct fuse_read_in *r)
{
	uint64_t left = r->offset < size ? size - r->offset : 0;

	n_reads++;
	left = left < r->size ? left : r->size;
	need(backing < 0 ||
		     pread(backing, file + r->offset, left, (off_t)r->offset) == (ssize_t)left,
	     "pread");
	answer(h->unique, 0, file + r->offset, left);
}

static void do_one(const struct fuse_in_header *h)
{
	struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 131072 };
	struct fuse_attr_out attr = { .attr = attr_of(h->nodeid) };
	struct fuse_entry_out entry = { .nodeid = 2, .attr = attr_of(2) };
	struct fuse_open_out opened = { .fh = 1 };

	switch (h->opcode) {
	case FUSE_INIT:
		answer(h->unique, 0, &init, sizeof(init));
		break;
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		answer(h->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_LOOKUP:
		if (strcmp((const char *)(h + 1), "f") == 0)
			answer(h->unique, 0, &entry, sizeof(entry));
		else
			answer(h->unique, -ENOENT, NULL, 0);
		break;
	case FUSE_OPEN:
		answer(h->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_WRITE:
		do_write(h, (const void *)(h + 1));
		break;
	case FUSE_READ:
		do_read(h, (const void *)(h + 1));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(h->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(h->unique, -ENOSYS, NULL, 0);
	}
}

static struct {
	char *to;
	ssize_t n;
} piped;

static void *empty(void *unused)
{
	/* what libfuse reads first of a large one: its head and what a write begins with */
	ssize_t first = way == PIECES && piped.n > 4096 ? 80 : piped.n;

	for (ssize_t got = 0; got < piped.n;) {
		ssize_t more = read(tube[0], piped.to + got,
				    (size_t)((got < first ? first : piped.n) - got));

		need(more > 0, "read");
		got += more;
	}
	return unused;
}

static ssize_t take(void *to)
{
	ssize_t n = way != PLAIN ? splice(device, NULL, tube[1], NULL, ROOM, 0)
				 : read(device, to, ROOM);
	pthread_t helper;

	piped.to = to;
	piped.n = n;
	if (way == PLAIN || n <= 0)
		return n;
	if (way == HELPER)
		need(pthread_create(&helper, NULL, empty, NULL) == 0 &&
			     pthread_join(helper, NULL) == 0,
		     "pthread_create");
	else
		empty(NULL);
	return n;
}

int main(int argc, char **argv)
{
	static const char *const ways[] = { "plain", "splice", "pieces", "helper" };
	char options[128];
	void *room = malloc(ROOM);

	for (unsigned i = 0; argc > 2 && i < 4; i++)
		way = strcmp(argv[2], ways[i]) == 0 ? i : way;
	if (argc > 3)
		backing = open(argv[3], O_RDWR | O_CREAT, 0600);
	device = open("/dev/fuse", O_RDWR);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (room == NULL || device < 0 || pipe(tube) != 0 || pipe(back) != 0 ||
	    mount("toy", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
		perror("toyfuse");
		return 2;
	}
	fcntl(tube[1], F_SETPIPE_SZ, 1 << 20); /* more than a request has */
	fcntl(back[1], F_SETPIPE_SZ, 1 << 20);
	puts("ready");
	fflush(stdout);
	for (;;) {
		ssize_t n = take(room);

		if (n < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (n <= 0)
			break;
		do_one(room);
	}
	printf("%lu %lu\n", n_reads, n_writes);
	return 0;
}
