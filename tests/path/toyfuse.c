/* SPDX-License-Identifier: BSD-3-Clause */
/* toyfuse.c FOLDER plain|splice: a FUSE daemon of its own, without any library: one file "f" in
 * memory. Requests are answered with writev; read as they are, or taken out of the device by
 * splice(). When it is unmounted it prints how many reads and writes it was asked for. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
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
static int device, tube[2];

static void answer(uint64_t unique, int error, const void *data, size_t n)
{
	struct fuse_out_header h = { .len = (uint32_t)(sizeof(h) + n),
				     .error = error,
				     .unique = unique };
	struct iovec iov[2] = { { &h, sizeof(h) }, { (void *)(uintptr_t)data, n } };

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
	if (w->offset + w->size > size)
		size = w->offset + w->size;
	answer(h->unique, 0, &out, sizeof(out));
}

static void do_read(const struct fuse_in_header *h, const struct fuse_read_in *r)
{
	uint64_t left = r->offset < size ? size - r->offset : 0;

	n_reads++;
	answer(h->unique, 0, file + r->offset, left < r->size ? left : r->size);
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

static ssize_t take(void *to, int spliced)
{
	ssize_t n = spliced ? splice(device, NULL, tube[1], NULL, ROOM, 0) : read(device, to, ROOM);

	for (ssize_t got = 0; spliced && got < n;) {
		ssize_t more = read(tube[0], (char *)to + got, (size_t)(n - got));

		if (more <= 0)
			return more;
		got += more;
	}
	return n;
}

int main(int argc, char **argv)
{
	int spliced = argc > 2 && strcmp(argv[2], "splice") == 0;
	char options[128];
	void *room = malloc(ROOM);

	device = open("/dev/fuse", O_RDWR);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (room == NULL || device < 0 || pipe(tube) != 0 ||
	    mount("toy", argv[1], "fuse.toy", MS_NOSUID | MS_NODEV, options) != 0) {
		perror("toyfuse");
		return 2;
	}
	fcntl(tube[1], F_SETPIPE_SZ, 1 << 20); /* more than a request has */
	puts("ready");
	fflush(stdout);
	for (;;) {
		ssize_t n = take(room, spliced);

		if (n < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (n <= 0)
			break;
		do_one(room);
	}
	printf("%lu %lu\n", n_reads, n_writes);
	return 0;
}
