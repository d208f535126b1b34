/* SPDX-License-Identifier: BSD-3-Clause */
/* director.c: the thread on rank 0 through which all messages go. It sleeps in poll() and
 * never does I/O of the run. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emulate/team/wire.h"

#define GUESTS_MOST 64 /* that have not said who they are */

/* ---- sending -------------------------------------------------------------------------------- */

static int put(struct rama_emu_director *d, int to, const struct rama_emu_frame *f,
	       const void *bytes)
{
	struct rama_emu_letter *l;

	if (to < 0 || to >= d->size || d->wire[to].fd < 0)
		return 0; /* it has gone: nobody is there to care */
	l = rama_emu_letter_new(f, bytes);
	if (l == NULL)
		return RAMA_EMEMORY;
	rama_emu_mail_put(&d->wire[to].out, l);
	return 0;
}

static void put_all(struct rama_emu_director *d, uint32_t kind, const void *bytes, size_t n)
{
	struct rama_emu_frame f = { .kind = kind, .from = RAMA_EMU_TEAM_DIRECTOR, .n = n };

	for (int r = 0; r < d->size; r++) {
		f.to = r;
		put(d, r, &f, bytes);
	}
}

/* The first one counts: what follows is mostly its consequence. */
static void abort_all(struct rama_emu_director *d, int by, int code, const char *text)
{
	struct rama_emu_abort a = { .code = code, .by = by };

	if (d->aborted)
		return;
	d->aborted = true;
	snprintf(a.text, sizeof(a.text), "%s", text);
	put_all(d, RAMA_EMU_KIND_ABORT, &a, sizeof(a));
}

/* When nobody works any more all are told, for those who must not leave earlier. */
static void count_out(struct rama_emu_director *d, int rank)
{
	if (d->wire[rank].bye)
		return;
	d->wire[rank].bye = true;
	if (++d->out == d->size)
		put_all(d, RAMA_EMU_KIND_END, NULL, 0);
}

int rama_emu_team_post(struct rama_emu_team *t, int to, uint32_t kind, const void *bytes, size_t n)
{
	struct rama_emu_frame f = {
		.kind = kind, .from = RAMA_EMU_TEAM_DIRECTOR, .to = to, .n = n
	};

	return put(t->state->director, to, &f, bytes);
}

/* ---- what comes in -------------------------------------------------------------------------- */

static void tell_nodes(struct rama_emu_director *d)
{
	size_t room = (size_t)d->size * sizeof(d->host[0]), n = 0;
	char *all = malloc(room);

	if (all == NULL) {
		abort_all(d, RAMA_EMU_TEAM_DIRECTOR, RAMA_EMEMORY,
			  "no memory for the names of hosts");
		return;
	}
	for (int r = 0; r < d->size; r++) {
		size_t len = strlen(d->host[r]) + 1;

		memcpy(all + n, d->host[r], len);
		n += len;
	}
	put_all(d, RAMA_EMU_KIND_NODES, all, n);
	free(all);
}

/* secret, NUL, host: the secret is what tells ranks of this run from strangers */
static bool hello(struct rama_emu_director *d, const struct rama_emu_letter *l, int *rank)
{
	size_t secret = strlen(d->secret) + 1;

	*rank = l->frame.from;
	if (l->frame.kind != RAMA_EMU_KIND_HELLO || l->frame.n < secret ||
	    memcmp(l->bytes, d->secret, secret) != 0 || *rank < 0 || *rank >= d->size ||
	    d->host[*rank][0] != '\0')
		return false;
	snprintf(d->host[*rank], sizeof(d->host[0]), "%s", l->bytes + secret);
	if (d->host[*rank][0] == '\0')
		snprintf(d->host[*rank], sizeof(d->host[0]), "localhost");
	return true;
}

static void answer_clock(struct rama_emu_director *d, int rank)
{
	double now = rama_now();
	struct rama_emu_frame f = { .kind = RAMA_EMU_KIND_CLOCK,
				    .from = RAMA_EMU_TEAM_DIRECTOR,
				    .to = rank,
				    .n = sizeof(now) };

	put(d, rank, &f, &now);
}

static void handle(struct rama_emu_director *d, const struct rama_emu_letter *l)
{
	struct rama_emu_team_message m = { .from = l->frame.from,
					   .kind = l->frame.kind,
					   .bytes = (char *)l->bytes,
					   .n = l->frame.n };
	struct rama_err e = { 0 };
	int rc;

	pthread_mutex_lock(&d->lock);
	rc = d->fn != NULL ? d->fn(d->ctx, d->team, &m, &e)
			   : rama_err_set(&e, RAMA_EUSAGE, "nobody handles message %u", m.kind);
	pthread_mutex_unlock(&d->lock);
	if (rc < 0)
		abort_all(d, RAMA_EMU_TEAM_DIRECTOR, rc,
			  e.text[0] != '\0' ? e.text : rama_err_text(rc));
}

static void deliver(struct rama_emu_director *d, int rank, struct rama_emu_letter *l)
{
	struct rama_emu_abort a;
	int other;

	l->frame.from = rank; /* nobody speaks for another */
	switch (l->frame.kind) {
	case RAMA_EMU_KIND_HELLO: /* of a local one, whose socket was known before */
		if (hello(d, l, &other) && ++d->joined == d->size)
			tell_nodes(d);
		break;
	case RAMA_EMU_KIND_CLOCK:
		answer_clock(d, rank);
		break;
	case RAMA_EMU_KIND_BARRIER:
		if (++d->at_barrier == d->size) {
			d->at_barrier = 0;
			put_all(d, RAMA_EMU_KIND_BARRIER, NULL, 0);
		}
		break;
	case RAMA_EMU_KIND_BCAST:
		put_all(d, RAMA_EMU_KIND_BCAST, l->bytes, l->frame.n);
		break;
	case RAMA_EMU_KIND_ABORT:
		if (l->frame.n == sizeof(a)) {
			memcpy(&a, l->bytes, sizeof(a));
			a.text[sizeof(a.text) - 1] = '\0';
			abort_all(d, rank, a.code, a.text);
		}
		break;
	case RAMA_EMU_KIND_BYE:
		count_out(d, rank);
		break;
	default:
		if (l->frame.to == RAMA_EMU_TEAM_DIRECTOR)
			handle(d, l);
		else if (put(d, l->frame.to, &l->frame, l->bytes) != 0)
			abort_all(d, RAMA_EMU_TEAM_DIRECTOR, RAMA_EMEMORY,
				  "no memory for messages");
	}
}

static void lost(struct rama_emu_director *d, int rank)
{
	char text[128];
	bool bye = d->wire[rank].bye;

	count_out(d, rank);
	rama_emu_wire_fini(&d->wire[rank]);
	d->gone++;
	if (bye)
		return;
	snprintf(text, sizeof(text), "rank %d%s%s ended in the middle of the run", rank,
		 d->host[rank][0] != '\0' ? " on " : "", d->host[rank]);
	abort_all(d, RAMA_EMU_TEAM_DIRECTOR, RAMA_EIO, text);
}

static void read_rank(struct rama_emu_director *d, int rank)
{
	struct rama_emu_letter *l;
	int rc;

	while ((rc = rama_emu_wire_read(&d->wire[rank], &l)) > 0) {
		deliver(d, rank, l);
		free(l);
	}
	if (rc < 0)
		lost(d, rank);
}

/* ---- guests: connected by TCP, not yet known ------------------------------------------------ */

static void accept_guest(struct rama_emu_director *d)
{
	int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (d->n_guests == GUESTS_MOST) {
		close(fd);
		return;
	}
	rama_emu_wire_init(&d->guest[d->n_guests++], fd);
}

/* false: this guest has left the list */
static bool read_guest(struct rama_emu_director *d, size_t i)
{
	struct rama_emu_letter *l = NULL;
	struct rama_emu_wire guest;
	int rc = rama_emu_wire_read(&d->guest[i], &l), rank;

	if (rc == 0)
		return true;
	guest = d->guest[i];
	d->guest[i] = d->guest[--d->n_guests];
	if (rc > 0 && hello(d, l, &rank)) {
		rama_emu_wire_init(&d->wire[rank], guest.fd);
		if (++d->joined == d->size)
			tell_nodes(d);
	} else {
		close(guest.fd);
		free(guest.coming);
	}
	free(l);
	return false;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static nfds_t watch(struct rama_emu_director *d, struct pollfd *p)
{
	nfds_t n = 0;

	for (int r = 0; r < d->size; r++) {
		struct rama_emu_wire *w = &d->wire[r];
		short events = w->out.first != NULL ? POLLIN | POLLOUT : POLLIN;

		p[n++] = (struct pollfd){ .fd = w->fd, .events = events };
	}
	for (size_t i = 0; i < d->n_guests; i++)
		p[n++] = (struct pollfd){ .fd = d->guest[i].fd, .events = POLLIN };
	p[n++] = (struct pollfd){ .fd = d->joined < d->size ? d->listener : -1, .events = POLLIN };
	return n;
}

static void *direct(void *ctx)
{
	struct rama_emu_director *d = ctx;
	struct pollfd *p = calloc((size_t)d->size + GUESTS_MOST + 1, sizeof(*p));

	while (p != NULL && d->gone < d->size) {
		size_t guests = d->n_guests;
		nfds_t n = watch(d, p);

		if (poll(p, n, -1) < 0 && errno != EINTR)
			break;
		if (p[n - 1].revents != 0)
			accept_guest(d);
		for (size_t i = guests; i-- > 0;)
			if (p[(size_t)d->size + i].revents != 0)
				read_guest(d, i);
		for (int r = 0; r < d->size; r++)
			if (p[r].fd >= 0 && p[r].revents & (POLLIN | POLLHUP | POLLERR))
				read_rank(d, r);
		for (int r = 0; r < d->size; r++)
			if (d->wire[r].fd >= 0 && d->wire[r].out.first != NULL &&
			    rama_emu_wire_write(&d->wire[r]) < 0)
				lost(d, r);
	}
	free(p);
	return NULL;
}

int rama_emu_director_start(struct rama_emu_director *d, struct rama_emu_team *t, int size,
			    struct rama_err *e)
{
	d->team = t;
	d->size = size;
	d->guest = calloc(GUESTS_MOST, sizeof(*d->guest));
	d->host = calloc((size_t)size, sizeof(*d->host));
	if (d->guest == NULL || d->host == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %d ranks", size);
	pthread_mutex_init(&d->lock, NULL);
	if (pthread_create(&d->thread, NULL, direct, d) != 0)
		return rama_err_set(e, RAMA_EIO, "no thread for messages between ranks");
	d->running = true;
	return 0;
}
