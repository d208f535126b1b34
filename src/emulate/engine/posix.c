/* SPDX-License-Identifier: BSD-3-Clause */
/* posix.c: pread and pwrite; the same in pieces (preadv, pwritev); past the page cache
 * (O_DIRECT); nothing at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "emulate/engine/engine.h"
#include "emulate/engine/engine.h"
#include "emulate/own/own.h"

#define BLOCK 4096 /* of O_DIRECT: what every file system accepts */
#define PIECES_MOST 1024

struct file {
	int fd;
	int64_t cut; /* O_DIRECT: real size of a file that was padded to a block; -1: not padded */
};

int rama_emu_engine_error(const struct rama_emu_handle *h, const char *what, int64_t off,
			  int number, struct rama_err *e)
{
	if (off < 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s: %s", h->path, what, strerror(number));
	return rama_err_set(e, RAMA_EIO, "%s: %s at %lld: %s", h->path, what, (long long)off,
			    number != 0 ? strerror(number) : "the file ends there");
}

static int open_file(struct rama_emu_handle *h, int flags, int more, struct rama_err *e)
{
	struct file *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	f->cut = -1;
	f->fd = rama_emu_engine_fd(h, flags, more);
	if (f->fd < 0) {
		int number = errno;

		free(f);
		return rama_emu_engine_error(h, "open", -1, number, e);
	}
	h->state = f;
	return 0;
}

static int posix_open(struct rama_emu_handle *h, int flags, struct rama_err *e)
{
	return open_file(h, flags, 0, e);
}

/* a call that moved nothing */
static int stopped(const struct rama_emu_handle *h, const struct rama_emu_request *q, ssize_t done,
		   struct rama_err *e)
{
	return rama_emu_engine_error(h, q->write ? "write" : "read", q->off,
				     done < 0	? errno
				     : q->write ? ENOSPC
						: 0,
				     e);
}

/* one call for a request, or as much of it as it will do */
typedef ssize_t (*caller)(const struct rama_emu_handle *h, const struct rama_emu_request *q);

static int move_all(const struct rama_emu_handle *h, struct rama_emu_request q, caller once,
		    struct rama_err *e)
{
	while (q.n > 0) {
		ssize_t done = once(h, &q);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return stopped(h, &q, done, e);
		q.buf += done;
		q.n -= (size_t)done;
		q.off += done;
	}
	return 0;
}

static ssize_t plain(const struct rama_emu_handle *h, const struct rama_emu_request *q)
{
	const struct file *f = h->state;

	return q->write ? pwrite(f->fd, q->buf, q->n, q->off) : pread(f->fd, q->buf, q->n, q->off);
}

static int posix_move(struct rama_emu_handle *h, struct rama_emu_request q, struct rama_err *e)
{
	return move_all(h, q, plain, e);
}

static int posix_sync(struct rama_emu_handle *h, struct rama_err *e)
{
	struct file *f = h->state;

	return fsync(f->fd) == 0 ? 0 : rama_emu_engine_error(h, "fsync", -1, errno, e);
}

static int posix_fd(const struct rama_emu_handle *h)
{
	const struct file *f = h->state;

	return f->fd;
}

static int posix_close(struct rama_emu_handle *h, struct rama_err *e)
{
	struct file *f = h->state;
	struct stat st;
	int64_t end = f->cut > h->opt.size
			      ? f->cut
			      : h->opt.size; /* nobody writes behind the size that is known */
	int rc = 0;

	/* only our own padding: another rank may have written behind it since */
	if (f->cut >= 0 && fstat(f->fd, &st) == 0 && st.st_size > end &&
	    st.st_size <= (end + BLOCK - 1) / BLOCK * BLOCK && ftruncate(f->fd, end) != 0)
		rc = rama_emu_engine_error(h, "truncate", -1, errno, e);
	if (close(f->fd) != 0 && rc == 0)
		rc = rama_emu_engine_error(h, "close", -1, errno, e);
	free(f);
	return rc;
}

static const struct rama_emu_engine engine_posix = {
	.name = "posix",
	.doc = "pread and pwrite",
	.open = posix_open,
	.move = posix_move,
	.sync = posix_sync,
	.fd = posix_fd,
	.close = posix_close,
};

/* ---- in pieces ------------------------------------------------------------------------------ */

/* The buffer in as many pieces as were asked for. */
static ssize_t in_pieces(const struct rama_emu_handle *h, const struct rama_emu_request *q)
{
	unsigned want = h->opt.vector > 1 ? h->opt.vector : 4;
	const struct file *f = h->state;
	struct iovec v[PIECES_MOST];
	size_t each;
	int k = 0;

	want = want < PIECES_MOST ? want : PIECES_MOST;
	each = (q->n + want - 1) / want;
	for (size_t at = 0; at < q->n; at += each)
		v[k++] = (struct iovec){ q->buf + at, each < q->n - at ? each : q->n - at };
	return q->write ? pwritev(f->fd, v, k, q->off) : preadv(f->fd, v, k, q->off);
}

static int vector_move(struct rama_emu_handle *h, struct rama_emu_request q, struct rama_err *e)
{
	return move_all(h, q, in_pieces, e);
}

static const struct rama_emu_engine engine_vector = {
	.name = "vector",
	.doc = "preadv and pwritev",
	.open = posix_open,
	.move = vector_move,
	.sync = posix_sync,
	.fd = posix_fd,
	.close = posix_close,
};

/* ---- past the page cache -------------------------------------------------------------------- */

static int direct_open(struct rama_emu_handle *h, int flags, struct rama_err *e)
{
	/* unaligned ends are read before they are written */
	if (flags & RAMA_EMU_OPEN_WRITE)
		flags |= RAMA_EMU_OPEN_READ;
	return open_file(h, flags, O_DIRECT, e);
}

/* n bytes at an aligned offset, n a multiple of the block */
static ssize_t direct_blocks(struct file *f, char *buf, size_t n, int64_t off, bool write)
{
	size_t got = 0;

	while (got < n) {
		ssize_t done = write ? pwrite(f->fd, buf + got, n - got, off + (int64_t)got)
				     : pread(f->fd, buf + got, n - got, off + (int64_t)got);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		if (done == 0 || done % BLOCK != 0)
			return (ssize_t)got + done; /* the end of the file */
		got += (size_t)done;
	}
	return (ssize_t)got;
}

/* Other ranks may have bytes in the same blocks. Where files cannot be locked, parts had better
 * be aligned. */
static void lock_blocks(const struct file *f, int64_t from, int64_t to, short kind)
{
	struct flock l = {
		.l_type = kind, .l_whence = SEEK_SET, .l_start = from, .l_len = to - from
	};

	while (fcntl(f->fd, F_OFD_SETLKW, &l) != 0 && errno == EINTR)
		;
}

/* The blocks that hold [off, off + n) through a buffer of our own: read, change, write back. */
static int direct_around(struct rama_emu_handle *h, char *buf, size_t n, int64_t off, bool write,
			 struct rama_err *e)
{
	struct file *f = h->state;
	int64_t from = off / BLOCK * BLOCK, to = (off + (int64_t)n + BLOCK - 1) / BLOCK * BLOCK;
	size_t room = (size_t)(to - from);
	char *own = aligned_alloc(BLOCK, room);
	ssize_t got;
	int rc = 0;

	if (own == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %zu bytes", room);
	memset(own, 0, room);
	if (write)
		lock_blocks(f, from, to, F_WRLCK);
	got = direct_blocks(f, own, room, from, false);
	if (got < 0 || (!write && from + got < off + (int64_t)n)) {
		rc = rama_emu_engine_error(h, "read", off, got < 0 ? errno : 0, e);
	} else if (!write) {
		memcpy(buf, own + (off - from), n);
	} else {
		struct stat st;
		int64_t size = fstat(f->fd, &st) == 0 ? st.st_size : 0;

		size = f->cut >= 0 && f->cut < size ? f->cut : size;
		memcpy(own + (off - from), buf, n);
		if (direct_blocks(f, own, room, from, true) != (ssize_t)room)
			rc = rama_emu_engine_error(h, "write", off, errno, e);
		size = off + (int64_t)n > size ? off + (int64_t)n : size;
		f->cut = size % BLOCK != 0 || f->cut >= 0 ? size : -1;
		if (h->opt.size >= 0 &&
		    to > h->opt.size) /* also if another rank has padded it before */
			f->cut = h->opt.size;
	}
	if (write)
		lock_blocks(f, from, to, F_UNLCK);
	free(own);
	return rc;
}

static int direct_move(struct rama_emu_handle *h, struct rama_emu_request q, struct rama_err *e)
{
	struct file *f = h->state;
	ssize_t done;

	if (q.off % BLOCK != 0 || q.n % BLOCK != 0 || (uintptr_t)q.buf % BLOCK != 0)
		return direct_around(h, q.buf, q.n, q.off, q.write, e);
	errno = 0;
	done = direct_blocks(f, q.buf, q.n, q.off, q.write);
	if (done != (ssize_t)q.n)
		return stopped(h, &q, done, e);
	if (q.write && f->cut >= 0 && q.off + (int64_t)q.n > f->cut)
		f->cut = q.off + (int64_t)q.n;
	return 0;
}

static const struct rama_emu_engine engine_direct = {
	.name = "direct",
	.doc = "pread and pwrite with O_DIRECT; unaligned ends are read, changed and written back",
	.direct = true,
	.open = direct_open,
	.move = direct_move,
	.sync = posix_sync,
	.close = posix_close,
};

/* ---- nothing -------------------------------------------------------------------------------- */

static int null_open(struct rama_emu_handle *h, int flags, struct rama_err *e)
{
	(void)h;
	(void)flags;
	(void)e;
	return 0;
}

static int null_move(struct rama_emu_handle *h, struct rama_emu_request q, struct rama_err *e)
{
	(void)q;
	return null_open(h, 0, e);
}

static int null_end(struct rama_emu_handle *h, struct rama_err *e)
{
	return null_open(h, 0, e);
}

static const struct rama_emu_engine engine_null = {
	.name = "null",
	.doc = "moves nothing: what the emulation itself costs",
	.no_files = true,
	.open = null_open,
	.move = null_move,
	.sync = null_end,
	.close = null_end,
};

/* ---- engines -------------------------------------------------------------------------------- */

#define ENGINES_MOST 32

static const struct rama_emu_engine *engines[ENGINES_MOST] = {
	&engine_posix,		&engine_vector,
	&engine_direct,		&rama_emu_engine_mmap,
	&rama_emu_engine_stdio,
#ifndef RAMA_WITHOUT_LIBURING
	&rama_emu_engine_uring, &rama_emu_engine_uring_direct,
#endif
	&engine_null,
};

const struct rama_emu_engine *rama_emu_engine_at(unsigned i)
{
	return i < ENGINES_MOST ? engines[i] : NULL;
}

const struct rama_emu_engine *rama_emu_engine_find(const char *name)
{
	for (unsigned i = 0; rama_emu_engine_at(i) != NULL; i++)
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	return NULL;
}

int rama_emu_engine_fd(const struct rama_emu_handle *h, int flags, int more)
{
	int how = (flags & RAMA_EMU_OPEN_WRITE) == 0 ? O_RDONLY
		  : flags & RAMA_EMU_OPEN_READ	     ? O_RDWR
						     : O_WRONLY;

	how |= (flags & RAMA_EMU_OPEN_CREATE ? O_CREAT : 0) |
	       (flags & RAMA_EMU_OPEN_TRUNCATE ? O_TRUNC : 0) | O_CLOEXEC | more;
	return flags & RAMA_EMU_OPEN_WRITE ? rama_emu_own_open(h->own, h->path, how)
					   : open(h->path, how);
}

/* Libraries of MPI open files by name: whether it leads to a file of this run is looked at
 * before and after. */
int rama_emu_engine_open(struct rama_emu_handle *h, bool in_place, int flags, struct rama_err *e)
{
	bool write = h->engine->needs_mpi && flags & RAMA_EMU_OPEN_WRITE;
	bool makes = in_place && h->engine->container; /* some remove and make it anew */
	int rc = 0;

	if (write && !makes && rama_emu_own_look(h->own, h->path, false) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: open: %s", h->path, strerror(errno));
	rc = h->engine->open(h, flags, e);
	if (rc == 0 && write &&
	    (makes ? rama_emu_own_adopt(h->own, h->path)
		   : rama_emu_own_look(h->own, h->path, true)) != 0) {
		rc = rama_err_set(e, RAMA_EIO, "%s: open: %s", h->path, strerror(errno));
		h->engine->close(h, NULL);
	}
	return rc;
}

void rama_emu_engine_add(const struct rama_emu_engine *engine)
{
	for (unsigned i = 0; i < ENGINES_MOST; i++) {
		if (engines[i] == NULL) {
			engines[i] = engine;
			return;
		}
	}
}
