/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/team/wire.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOIN_LIMIT 60.0 /* seconds in which all ranks must have come */
#define CLOCK_ROUNDS 5

/* ---- waiting for messages ------------------------------------------------------------------- */

static int stopped(struct rama_emu_team *t, const struct rama_emu_letter *l, struct rama_err *e)
{
	struct rama_emu_abort a = { 0 };

	if (l->frame.n == sizeof(a))
		memcpy(&a, l->bytes, sizeof(a));
	a.text[sizeof(a.text) - 1] = '\0';
	t->state->aborted = true;
	t->state->aborted_by = a.by;
	rama_err_set(&t->state->why, a.code < 0 ? a.code : RAMA_EIO, "%s", a.text);
	return rama_err_set(e, t->state->why.code, "%s", a.text);
}

/* One more letter from the socket. 1: got it; 0: time is over. */
int rama_emu_team_fetch(struct rama_emu_team *t, struct rama_emu_letter **l, double until,
			struct rama_err *e)
{
	struct rama_emu_wire *w = &t->state->wire;

	for (;;) {
		struct pollfd p = { .fd = w->fd, .events = POLLIN };
		int rc = rama_emu_wire_read(w, l), wait = -1;

		if (rc < 0)
			return rama_err_set(e, RAMA_EIO, "rank 0 has gone");
		if (rc > 0 && (*l)->frame.kind == RAMA_EMU_KIND_ABORT) {
			rc = stopped(t, *l, e);
			free(*l);
		}
		if (rc != 0)
			return rc;
		if (rama_emu_team_signal() != 0 && !t->state->ending) {
			t->state->ending = true; /* said once: what follows is the end */
			return rama_err_set(e, RAMA_ESTOPPED, "stopped by signal %d (%s)",
					    rama_emu_team_signal(),
					    strsignal(rama_emu_team_signal()));
		}
		if (isfinite(until)) {
			double left = until - rama_now();

			if (left <= 0)
				return 0;
			wait = left > 1e6 ? 1000000000 : (int)ceil(left * 1000);
		}
		if (poll(&p, 1, wait) < 0 && errno != EINTR)
			return rama_err_set(e, RAMA_EIO, "poll: %s", strerror(errno));
	}
}

#define ANY_OF_THE_CALLERS 0

static bool wanted(const struct rama_emu_letter *l, uint32_t kind)
{
	return kind == ANY_OF_THE_CALLERS ? l->frame.kind < RAMA_EMU_KIND_HELLO
					  : l->frame.kind == kind;
}

/* Waits for a message of this kind; others are kept for who asks for them. */
int rama_emu_team_await(struct rama_emu_team *t, uint32_t kind, double until,
			struct rama_emu_letter **l, struct rama_err *e)
{
	int rc;

	for (struct rama_emu_letter **at = &t->state->inbox.first; *at != NULL; at = &(*at)->next) {
		if (wanted(*at, kind)) {
			*l = rama_emu_mail_pick(&t->state->inbox, at);
			return 1;
		}
	}
	while ((rc = rama_emu_team_fetch(t, l, until, e)) > 0) {
		if (wanted(*l, kind))
			return 1;
		rama_emu_mail_put(&t->state->inbox, *l);
	}
	return rc;
}

static int send_all(struct rama_emu_team *t, struct rama_emu_letter *l, struct rama_err *e)
{
	struct rama_emu_wire *w = &t->state->wire;
	int rc;

	if (l == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for a message");
	pthread_mutex_lock(&t->state->out);
	rama_emu_mail_put(&w->out, l);
	while ((rc = rama_emu_wire_write(w)) == 0) {
		struct pollfd p = { .fd = w->fd, .events = POLLOUT };

		poll(&p, 1, -1);
	}
	pthread_mutex_unlock(&t->state->out);
	return rc > 0 ? 0 : rama_err_set(e, RAMA_EIO, "rank 0 has gone");
}

int rama_emu_team_send(struct rama_emu_team *t, int to, uint32_t kind, const void *bytes, size_t n,
		       struct rama_err *e)
{
	struct rama_emu_frame f = { .kind = kind, .from = t->rank, .to = to, .n = n };

	if (n > RAMA_EMU_FRAME_MOST)
		return rama_err_set(e, RAMA_ELIMIT, "a message of %zu bytes", n);
	return send_all(t, rama_emu_letter_new(&f, bytes), e);
}

static int hand_over(struct rama_emu_letter *l, struct rama_emu_team_message *m, struct rama_err *e)
{
	*m = (struct rama_emu_team_message){ l->frame.from, l->frame.kind, NULL, l->frame.n };
	m->bytes = malloc(m->n + 1);
	if (m->bytes != NULL)
		memcpy(m->bytes, l->bytes, m->n + 1);
	free(l);
	return m->bytes != NULL ? 1 : rama_err_set(e, RAMA_EMEMORY, "no memory for a message");
}

int rama_emu_team_recv(struct rama_emu_team *t, struct rama_emu_team_message *m, double seconds,
		       struct rama_err *e)
{
	double until = seconds < 0 ? INFINITY : rama_now() + seconds;
	struct rama_emu_letter *l;
	int rc;

	pthread_mutex_lock(&t->state->in);
	rc = rama_emu_team_await(t, ANY_OF_THE_CALLERS, until, &l, e);
	pthread_mutex_unlock(&t->state->in);
	return rc > 0 ? hand_over(l, m, e) : rc;
}

/* ---- all together --------------------------------------------------------------------------- */

int rama_emu_team_barrier(struct rama_emu_team *t, struct rama_err *e)
{
	struct rama_emu_letter *l = NULL;
	int rc = rama_emu_team_send(t, RAMA_EMU_TEAM_DIRECTOR, RAMA_EMU_KIND_BARRIER, NULL, 0, e);

	if (rc != 0)
		return rc;
	rc = rama_emu_team_await(t, RAMA_EMU_KIND_BARRIER, INFINITY, &l, e);
	free(rc > 0 ? l : NULL);
	return rc < 0 ? rc : 0;
}

int rama_emu_team_bcast(struct rama_emu_team *t, void *bytes, size_t n, struct rama_err *e)
{
	struct rama_emu_letter *l = NULL;
	int rc = t->rank == 0 ? rama_emu_team_send(t, RAMA_EMU_TEAM_DIRECTOR, RAMA_EMU_KIND_BCAST,
						   bytes, n, e)
			      : 0;

	if (rc != 0)
		return rc;
	rc = rama_emu_team_await(t, RAMA_EMU_KIND_BCAST, INFINITY, &l, e);
	if (rc < 0)
		return rc;
	if (l->frame.n != n)
		rc = rama_err_set(e, RAMA_EIO, "rank 0 sent %llu bytes instead of %zu",
				  (unsigned long long)l->frame.n, n);
	else
		memcpy(bytes, l->bytes, n);
	free(l);
	return rc < 0 ? rc : 0;
}

static int join_pieces(struct rama_emu_letter **piece, uint32_t n, char **all, size_t **lens,
		       struct rama_err *e)
{
	size_t total = 0, at = 0;

	for (uint32_t r = 0; r < n; r++) {
		if (piece[r] == NULL)
			return rama_err_set(e, RAMA_EIO, "rank %u gave no part", r);
		total += piece[r]->frame.n;
	}
	*all = malloc(total + 1);
	*lens = calloc(n, sizeof(**lens));
	if (*all == NULL || *lens == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %zu bytes", total);
	for (uint32_t r = 0; r < n; r++) {
		memcpy(*all + at, piece[r]->bytes, piece[r]->frame.n);
		(*lens)[r] = piece[r]->frame.n;
		at += piece[r]->frame.n;
	}
	(*all)[total] = '\0';
	return 0;
}

int rama_emu_team_gather(struct rama_emu_team *t, const void *bytes, size_t n, char **all,
			 size_t **lens, struct rama_err *e)
{
	struct rama_emu_letter **piece, *l;
	struct rama_emu_mail early;
	int rc = rama_emu_team_send(t, 0, RAMA_EMU_KIND_GATHER, bytes, n, e);

	*all = NULL;
	*lens = NULL;
	if (rc != 0 || t->rank != 0)
		return rc;
	piece = calloc((size_t)t->size, sizeof(struct rama_emu_letter *));
	if (piece == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %d ranks", t->size);
	rama_emu_mail_init(&early);
	for (int got = 0; rc >= 0 && got < t->size;) {
		rc = rama_emu_team_await(t, RAMA_EMU_KIND_GATHER, INFINITY, &l, e);
		if (rc > 0 && piece[l->frame.from] != NULL) {
			rama_emu_mail_put(&early, l); /* that rank is at the next gather already */
		} else if (rc > 0) {
			piece[l->frame.from] = l;
			got++;
		}
	}
	while (early.first != NULL)
		rama_emu_mail_put(&t->state->inbox, rama_emu_mail_take(&early));
	if (rc >= 0)
		rc = join_pieces(piece, (uint32_t)t->size, all, lens, e);
	for (int r = 0; r < t->size; r++)
		free(piece[r]);
	free(piece);
	return rc < 0 ? rc : 0;
}

/* ---- coming together ------------------------------------------------------------------------ */

/* Distinct hosts in the order of their first rank. */
static int learn_nodes(struct rama_emu_team *t, const struct rama_emu_letter *l, struct rama_err *e)
{
	const char *name = l->bytes, *end = l->bytes + l->frame.n;

	t->nodes = calloc((size_t)t->size, sizeof(*t->nodes));
	t->node_of = calloc((size_t)t->size, sizeof(*t->node_of));
	if (t->nodes == NULL || t->node_of == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %d ranks", t->size);
	for (int r = 0; r < t->size; r++) {
		uint32_t i = 0;

		if (name >= end)
			return rama_err_set(e, RAMA_EIO, "rank 0 named too few hosts");
		while (i < t->n_nodes && strcmp(t->nodes[i], name) != 0)
			i++;
		if (i == t->n_nodes) {
			t->nodes[i] = strdup(name);
			if (t->nodes[i] == NULL)
				return rama_err_set(e, RAMA_EMEMORY, "no memory");
			t->n_nodes++;
		}
		t->node_of[r] = i;
		name += strlen(name) + 1;
	}
	t->node = t->nodes[t->node_of[t->rank]];
	return 0;
}

/* Asked several times; the answer that came fastest is best. */
static int compare_clocks(struct rama_emu_team *t, struct rama_err *e)
{
	double best = INFINITY;

	for (int i = 0; i < CLOCK_ROUNDS; i++) {
		double sent = rama_now(), got, theirs;
		struct rama_emu_letter *l = NULL;
		int rc = rama_emu_team_send(t, RAMA_EMU_TEAM_DIRECTOR, RAMA_EMU_KIND_CLOCK, NULL, 0,
					    e);

		if (rc == 0)
			rc = rama_emu_team_await(t, RAMA_EMU_KIND_CLOCK, INFINITY, &l, e);
		if (rc < 0 || l == NULL)
			return rc;
		got = rama_now();
		memcpy(&theirs, l->bytes, sizeof(theirs));
		free(l);
		if (got - sent < best) {
			best = got - sent;
			t->clock_offset = theirs - (sent + got) / 2;
		}
	}
	if (t->rank == 0)
		t->clock_offset = 0;
	return 0;
}

static int introduce(struct rama_emu_team *t, struct rama_err *e)
{
	char text[RAMA_EMU_SECRET + 256] = { 0 };
	struct rama_emu_letter *l = NULL;
	size_t n;
	int rc;

	memcpy(text, t->state->secret, RAMA_EMU_SECRET);
	n = strlen(text) + 1;
	if (gethostname(text + n, 255) != 0)
		text[n] = '\0';
	n += strlen(text + n) + 1;
	rc = rama_emu_team_send(t, RAMA_EMU_TEAM_DIRECTOR, RAMA_EMU_KIND_HELLO, text, n, e);
	if (rc == 0)
		rc = rama_emu_team_await(t, RAMA_EMU_KIND_NODES, rama_now() + JOIN_LIMIT, &l, e);
	if (rc == 0)
		return rama_err_set(e, RAMA_EIO, "not all of %d ranks came within %.0f s", t->size,
				    JOIN_LIMIT);
	if (rc > 0) {
		rc = learn_nodes(t, l, e);
		free(l);
	}
	return rc == 0 ? compare_clocks(t, e) : rc;
}

static int state_new(struct rama_emu_team *t, struct rama_err *e)
{
	t->state = calloc(1, sizeof(*t->state));
	if (t->state == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	rama_emu_wire_init(&t->state->wire, -1);
	rama_emu_mail_init(&t->state->inbox);
	pthread_mutex_init(&t->state->in, NULL);
	pthread_mutex_init(&t->state->out, NULL);
	return 0;
}

static int make_secret(char secret[RAMA_EMU_SECRET], struct rama_err *e)
{
	unsigned char bytes[RAMA_EMU_SECRET / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return rama_err_set(e, RAMA_EIO, "getrandom: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int director_new(struct rama_emu_team *t, int size, struct rama_err *e)
{
	struct rama_emu_director *d = calloc(1, sizeof(*d));

	t->state->director = d;
	if (d != NULL)
		d->wire = calloc((size_t)size, sizeof(*d->wire));
	if (d == NULL || d->wire == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %d ranks", size);
	d->listener = -1;
	for (int r = 0; r < size; r++)
		rama_emu_wire_init(&d->wire[r], -1);
	memcpy(d->secret, t->state->secret, RAMA_EMU_SECRET);
	return 0;
}

/* ---- local processes ------------------------------------------------------------------------ */

static int pair(struct rama_emu_director *d, int rank, int *mine, struct rama_err *e)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
		return rama_err_set(e, RAMA_EIO, "socketpair: %s", strerror(errno));
	rama_emu_wire_init(&d->wire[rank], fd[0]);
	*mine = fd[1];
	return 0;
}

/* in a child: what belongs to the director is not ours */
static void become(struct rama_emu_team *t, int rank, int fd)
{
	struct rama_emu_team_state *s = t->state;

	for (int r = 0; r < t->size; r++)
		rama_emu_wire_fini(&s->director->wire[r]);
	free(s->director->wire);
	free(s->director);
	s->director = NULL;
	free(s->children);
	s->children = NULL;
	if (s->wire.fd >= 0)
		close(s->wire.fd);
	rama_emu_wire_init(&s->wire, fd);
	t->rank = rank;
}

/* 1 in a child */
static int fork_ranks(struct rama_emu_team *t, struct rama_err *e)
{
	fflush(NULL); /* what is buffered must not come out of every child */
	for (int r = 1; r < t->size; r++) {
		int fd = -1, rc = pair(t->state->director, r, &fd, e);
		pid_t pid;

		if (rc != 0)
			return rc;
		pid = fork();
		if (pid < 0) {
			close(fd);
			return rama_err_set(e, RAMA_EIO, "rank %d: fork: %s", r, strerror(errno));
		}
		if (pid == 0) {
			become(t, r, fd);
			return 1;
		}
		close(fd);
		t->state->children[r] = pid;
	}
	return 0;
}

int rama_emu_team_local(struct rama_emu_team *t, int n, struct rama_err *e)
{
	int rc, fd = -1;

	*t = (struct rama_emu_team){ .size = n, .kind = n == 1 ? "single" : "local" };
	rc = state_new(t, e);
	if (rc == 0)
		rc = make_secret(t->state->secret, e);
	if (rc == 0)
		rc = director_new(t, n, e);
	if (rc != 0)
		return rc;
	t->state->local = true;
	t->state->children = calloc((size_t)n, sizeof(*t->state->children));
	if (t->state->children == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	rc = pair(t->state->director, 0, &fd, e);
	if (rc != 0)
		return rc;
	rama_emu_wire_init(&t->state->wire, fd);
	rc = fork_ranks(t, e);
	if (rc == 0)
		rc = rama_emu_director_start(t->state->director, t, n, e);
	return rc < 0 ? rc : introduce(t, e);
}

/* ---- processes of a launcher ---------------------------------------------------------------- */

int rama_emu_team_listen(struct rama_emu_team *t, int size, char address[RAMA_EMU_TEAM_ADDRESS],
			 struct rama_err *e)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_addr = in6addr_any };
	struct sockaddr_in any4 = { .sin_family = AF_INET };
	struct sockaddr_storage got;
	socklen_t len = sizeof(got);
	char host[256] = "localhost";
	int off = 0, fd, mine, rc;

	*t = (struct rama_emu_team){ .size = size };
	rc = state_new(t, e);
	if (rc == 0)
		rc = make_secret(t->state->secret, e);
	if (rc == 0)
		rc = director_new(t, size, e);
	if (rc != 0)
		return rc;
	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
		rc = bind(fd, (struct sockaddr *)&any, sizeof(any));
	}
	if (fd < 0 || rc != 0) { /* a machine without IPv6 */
		if (fd >= 0)
			close(fd);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		rc = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&any4, sizeof(any4));
	}
	if (rc != 0 || listen(fd, size < 4096 ? size : 4096) != 0 ||
	    getsockname(fd, (struct sockaddr *)&got, &len) != 0)
		return rama_err_set(e, RAMA_EIO, "no socket for the ranks: %s", strerror(errno));
	gethostname(host, sizeof(host) - 1);
	snprintf(address, RAMA_EMU_TEAM_ADDRESS, "%s %d %s", host,
		 ntohs(got.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&got)->sin6_port
						 : ((struct sockaddr_in *)&got)->sin_port),
		 t->state->secret);
	t->state->director->listener = fd;
	rc = pair(t->state->director, 0, &mine, e);
	if (rc != 0)
		return rc;
	rama_emu_wire_init(&t->state->wire, mine);
	return rama_emu_director_start(t->state->director, t, size, e);
}

static int dial_one(const char *host, const char *port)
{
	struct addrinfo want = { .ai_socktype = SOCK_STREAM }, *list, *a;
	int fd = -1, one = 1;

	if (getaddrinfo(host, port, &want, &list) != 0)
		return -1;
	for (a = list; a != NULL && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
			close(fd);
			fd = -1;
		}
	}
	freeaddrinfo(list);
	if (fd >= 0)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

/* By name, and on the same host by loopback: names of hosts do not always lead anywhere. */
static int dial(const char *host, const char *port)
{
	char here[256] = "";
	int fd;

	gethostname(here, sizeof(here) - 1);
	if (strcmp(here, host) == 0) {
		fd = dial_one("127.0.0.1", port);
		if (fd >= 0)
			return fd;
	}
	return dial_one(host, port);
}

int rama_emu_team_join(struct rama_emu_team *t, int rank, int size, const char *address,
		       struct rama_err *e)
{
	char host[256], port[16], secret[RAMA_EMU_SECRET];
	int fd, rc;

	if (rank == 0) /* it listens already */
		return introduce(t, e);
	*t = (struct rama_emu_team){ .rank = rank, .size = size };
	rc = state_new(t, e);
	if (rc != 0)
		return rc;
	if (sscanf(address, "%255s %15s %32s", host, port, secret) != 3)
		return rama_err_set(e, RAMA_EIO, "rank 0 gave no address");
	memcpy(t->state->secret, secret, RAMA_EMU_SECRET);
	fd = dial(host, port);
	if (fd < 0)
		return rama_err_set(e, RAMA_EIO, "rank %d cannot reach rank 0 at %s port %s: %s",
				    rank, host, port, strerror(errno));
	rama_emu_wire_init(&t->state->wire, fd);
	return introduce(t, e);
}

/* ---- director's handler --------------------------------------------------------------------- */

void rama_emu_team_serve(struct rama_emu_team *t, rama_emu_team_handler *fn, void *ctx)
{
	struct rama_emu_director *d = t->state->director;

	pthread_mutex_lock(&d->lock);
	d->fn = fn;
	d->ctx = ctx;
	pthread_mutex_unlock(&d->lock);
}
