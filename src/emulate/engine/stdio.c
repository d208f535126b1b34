/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio.c: streams of the C library. Small requests stay in its buffer, so that the system sees as
 * few calls as of a program that writes so. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "emulate/engine/engine.h"

enum last { NOTHING, HAS_READ, HAS_WRITTEN };

struct stream {
	FILE *f;
	int64_t at; /* where it is */
	enum last last;
};

static int stream_open(struct rama_emu_handle *h, int flags, struct rama_err *e)
{
	struct stream *s = calloc(1, sizeof(*s));
	int fd = s != NULL ? rama_emu_engine_fd(h, flags, 0) : -1, number = errno;

	if (fd >= 0) {
		/* "w" cuts nothing off a file that is open already */
		s->f = fdopen(fd, (flags & RAMA_EMU_OPEN_WRITE) == 0 ? "r"
				  : flags & RAMA_EMU_OPEN_READ	     ? "r+"
								     : "w");
		number = errno;
		if (s->f == NULL)
			close(fd);
	}
	if (s != NULL && s->f != NULL) {
		h->state = s;
		return 0;
	}
	free(s);
	return s == NULL ? rama_err_set(e, RAMA_EMEMORY, "no memory")
			 : rama_emu_engine_error(h, "open", -1, number, e);
}

static int stream_move(struct rama_emu_handle *h, struct rama_emu_request q, struct rama_err *e)
{
	struct stream *s = h->state;
	enum last now = q.write ? HAS_WRITTEN : HAS_READ;

	/* programs that go on where they are do not seek; C wants it between reading and writing */
	if ((q.off != s->at || (s->last != NOTHING && s->last != now)) &&
	    fseeko(s->f, q.off, SEEK_SET) != 0)
		return rama_emu_engine_error(h, "seek", q.off, errno, e);
	s->last = now;
	while (q.n > 0) {
		size_t done;

		errno = 0;
		done = q.write ? fwrite(q.buf, 1, q.n, s->f) : fread(q.buf, 1, q.n, s->f);
		q.buf += done;
		q.off += (int64_t)done;
		q.n -= done;
		if (q.n > 0 && errno != EINTR)
			return rama_emu_engine_error(h, q.write ? "write" : "read", q.off,
						     errno != 0 ? errno
						     : q.write	? ENOSPC
								: 0,
						     e);
		if (q.n > 0)
			clearerr(s->f);
	}
	s->at = q.off;
	return 0;
}

static int stream_sync(struct rama_emu_handle *h, struct rama_err *e)
{
	struct stream *s = h->state;

	if (fflush(s->f) == 0 && fsync(fileno(s->f)) == 0)
		return 0;
	return rama_emu_engine_error(h, "fsync", -1, errno, e);
}

/* Whoever uses it finds what was written. What could not be is told when it is closed. */
static int stream_fd(const struct rama_emu_handle *h)
{
	const struct stream *s = h->state;

	fflush(s->f);
	return fileno(s->f);
}

static int stream_close(struct rama_emu_handle *h, struct rama_err *e)
{
	struct stream *s = h->state;
	int rc = fclose(s->f) == 0 ? 0 : rama_emu_engine_error(h, "close", -1, errno, e);

	free(s);
	return rc;
}

const struct rama_emu_engine rama_emu_engine_stdio = {
	.name = "stdio",
	.doc = "fread and fwrite, through the buffer of the C library",
	.open = stream_open,
	.move = stream_move,
	.sync = stream_sync,
	.fd = stream_fd,
	.close = stream_close,
};
