/* SPDX-License-Identifier: BSD-3-Clause */
/* mmap.c: files as memory. A page that cannot be had (full disk, file cut by another)
 * raises SIGBUS, which becomes an error of the access here. Windows of 64 MiB, so that files
 * larger than the address space would like work too. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulate/engine/engine.h"

#define WINDOW ((int64_t)64 << 20)

struct map {
	int fd;
	bool write;
	char *at; /* window, or NULL */
	int64_t from;
	size_t len;
};

static _Thread_local sigjmp_buf here;
static _Thread_local volatile sig_atomic_t watching;

static void on_bus(int number)
{
	if (watching)
		siglongjmp(here, 1);
	signal(number, SIG_DFL);
	raise(number);
}

static int map_open(struct rama_emu_handle *h, int flags, struct rama_err *e)
{
	struct map *m = calloc(1, sizeof(*m));
	struct sigaction act = { .sa_handler = on_bus };

	if (m == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	m->write = flags & RAMA_EMU_OPEN_WRITE;
	/* what is mapped to be written must be readable too */
	m->fd = rama_emu_engine_fd(h, m->write ? flags | RAMA_EMU_OPEN_READ : flags, 0);
	if (m->fd < 0) {
		int number = errno;

		free(m);
		return rama_emu_engine_error(h, "open", -1, number, e);
	}
	sigaction(SIGBUS, &act, NULL);
	h->state = m;
	return 0;
}

static int move_window(struct rama_emu_handle *h, int64_t off, struct rama_err *e)
{
	struct map *m = h->state;
	struct stat st;
	int64_t from = off / WINDOW * WINDOW;

	if (m->at != NULL && m->from == from && off < from + (int64_t)m->len)
		return 0;
	if (m->at != NULL)
		munmap(m->at, m->len);
	m->at = NULL;
	if (fstat(m->fd, &st) != 0)
		return rama_emu_engine_error(h, "stat", -1, errno, e);
	m->from = from;
	m->len = (size_t)(st.st_size - from < WINDOW ? st.st_size - from : WINDOW);
	if (off >= st.st_size)
		return rama_emu_engine_error(h, "read", off, 0, e);
	m->at = mmap(NULL, m->len, m->write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, m->fd,
		     from);
	if (m->at == MAP_FAILED) {
		m->at = NULL;
		return rama_emu_engine_error(h, "mmap", off, errno, e);
	}
	return 0;
}

/* The whole file at once where its size is known: growing it step by step would map it again
 * each time. */
static int grow(struct rama_emu_handle *h, int64_t end, struct rama_err *e)
{
	struct map *m = h->state;
	struct stat st;
	int64_t size = h->opt.size > end ? h->opt.size : end;

	if (fstat(m->fd, &st) != 0)
		return rama_emu_engine_error(h, "stat", -1, errno, e);
	if (st.st_size >= end)
		return 0;
	return ftruncate(m->fd, size) == 0 ? 0
					   : rama_emu_engine_error(h, "truncate", size, errno, e);
}

/* 0, or 1 if a page could not be had. A function of its own: a jump leaves its variables
 * undefined. */
static int guarded_copy(char *to, const char *from, size_t n)
{
	if (sigsetjmp(here, 1) != 0) {
		watching = 0;
		return 1;
	}
	watching = 1;
	memcpy(to, from, n);
	watching = 0;
	return 0;
}

static int map_move(struct rama_emu_handle *h, struct rama_emu_request q, struct rama_err *e)
{
	struct map *m = h->state;
	int rc = q.write ? grow(h, q.off + (int64_t)q.n, e) : 0;

	while (rc == 0 && q.n > 0) {
		size_t part;
		char *at;

		rc = move_window(h, q.off, e);
		if (rc != 0 || m->at == NULL)
			return rc != 0 ? rc : RAMA_EIO;
		part = m->len - (size_t)(q.off - m->from);
		part = part < q.n ? part : q.n;
		at = m->at + (q.off - m->from);
		if (guarded_copy(q.write ? at : q.buf, q.write ? q.buf : at, part) != 0)
			return rama_emu_engine_error(h, q.write ? "write" : "read", q.off,
						     q.write ? ENOSPC : EIO, e);
		q.buf += part;
		q.off += (int64_t)part;
		q.n -= part;
	}
	return rc;
}

static int map_sync(struct rama_emu_handle *h, struct rama_err *e)
{
	struct map *m = h->state;

	if (m->at != NULL && m->write && msync(m->at, m->len, MS_SYNC) != 0)
		return rama_emu_engine_error(h, "msync", -1, errno, e);
	return fsync(m->fd) == 0 ? 0 : rama_emu_engine_error(h, "fsync", -1, errno, e);
}

static int map_close(struct rama_emu_handle *h, struct rama_err *e)
{
	struct map *m = h->state;
	int rc = 0;

	if (m->at != NULL)
		munmap(m->at, m->len);
	if (close(m->fd) != 0)
		rc = rama_emu_engine_error(h, "close", -1, errno, e);
	free(m);
	return rc;
}

const struct rama_emu_engine rama_emu_engine_mmap = {
	.name = "mmap",
	.doc = "files as memory",
	.open = map_open,
	.move = map_move,
	.sync = map_sync,
	.close = map_close,
};
