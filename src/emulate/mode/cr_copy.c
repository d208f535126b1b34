/* SPDX-License-Identifier: BSD-3-Clause */
/* cr_copy.c: checkpoints go from the fast place to the safe one while the ranks compute. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulate/mode/cr.h"

#define PIECE (1 << 20)

struct rama_emu_copy {
	pthread_t thread;
	struct rama_emu_copy_order order;
	atomic_bool stop, done;
	double seconds;
	int rc;
	struct rama_err e;
};

static int write_piece(int fd, const char *buf, ssize_t n, const char *name, struct rama_err *e)
{
	while (n > 0) {
		ssize_t w = write(fd, buf, (size_t)n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return rama_err_set(e, RAMA_EIO, "%s: write: %s", name,
					    strerror(w < 0 ? errno : ENOSPC));
		buf += w;
		n -= w;
	}
	return 0;
}

static int copy_bytes(struct rama_emu_copy *c, int in, int out, const char *name, char *buf)
{
	ssize_t n = 1;
	int rc = 0;

	while (rc == 0 && n != 0 && !atomic_load(&c->stop)) {
		n = read(in, buf, PIECE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rama_err_set(&c->e, RAMA_EIO, "%s: copying to it: %s", name,
					    strerror(errno));
		rc = write_piece(out, buf, n, name, &c->e);
	}
	if (rc == 0 && fsync(out) != 0)
		rc = rama_err_set(&c->e, RAMA_EIO, "%s: fsync: %s", name, strerror(errno));
	return rc;
}

static int copy_file(struct rama_emu_copy *c, uint32_t writer, uint32_t file, char *buf)
{
	struct rama_emu_own *own = c->order.own;
	char from[RAMA_EMU_SET_PATH], to[RAMA_EMU_SET_PATH], part[RAMA_EMU_SET_PATH + 16];
	int in, out, rc;

	rama_emu_set_file(c->order.from, c->order.set, writer, file, from);
	rama_emu_set_file(c->order.to, c->order.set, writer, file, to);
	rama_emu_own_partial(own, to, part, sizeof(part));
	in = open(from, O_RDONLY | O_CLOEXEC);
	out = in < 0 ? -1 : rama_emu_own_open(own, part, O_WRONLY | O_CREAT | O_TRUNC);
	if (in < 0 || out < 0)
		rc = rama_err_set(&c->e, RAMA_EIO, "%s: open: %s", in < 0 ? from : part,
				  strerror(errno));
	else
		rc = copy_bytes(c, in, out, part, buf);
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) != 0 && rc == 0)
		rc = rama_err_set(&c->e, RAMA_EIO, "%s: close: %s", part, strerror(errno));
	if (rc == 0 && !atomic_load(&c->stop))
		rc = rama_emu_own_publish(own, part, to, &c->e);
	if (rc != 0)
		rama_emu_own_drop(own, to);
	return rc;
}

static void *work(void *ctx)
{
	struct rama_emu_copy *c = ctx;
	const struct rama_emu_copy_order *o = &c->order;
	double start = rama_emu_team_now();
	char *buf = malloc(PIECE);

	if (buf == NULL)
		c->rc = rama_err_set(&c->e, RAMA_EMEMORY, "no memory to copy checkpoints");
	for (uint64_t w = o->first; c->rc == 0 && w < o->shape.writers; w += o->step)
		for (uint32_t f = 0; c->rc == 0 && f < o->shape.files && !atomic_load(&c->stop);
		     f++)
			c->rc = copy_file(c, (uint32_t)w, f, buf);
	free(buf);
	c->seconds = rama_emu_team_now() - start;
	atomic_store(&c->done, true);
	return NULL;
}

struct rama_emu_copy *rama_emu_copy_start(const struct rama_emu_copy_order *order,
					  struct rama_err *e)
{
	struct rama_emu_copy *c = calloc(1, sizeof(*c));

	if (c != NULL)
		c->order = *order;
	if (c == NULL || pthread_create(&c->thread, NULL, work, c) != 0) {
		free(c);
		rama_err_set(e, RAMA_EIO, "no thread to copy checkpoints");
		return NULL;
	}
	return c;
}

bool rama_emu_copy_done(struct rama_emu_copy *c)
{
	return atomic_load(&c->done);
}

int rama_emu_copy_end(struct rama_emu_copy *c, bool give_up, double *seconds, struct rama_err *e)
{
	int rc;

	if (give_up)
		atomic_store(&c->stop, true);
	pthread_join(c->thread, NULL);
	rc = c->rc;
	if (rc != 0 && e != NULL)
		*e = c->e;
	*seconds += c->seconds;
	free(c);
	return rc;
}
