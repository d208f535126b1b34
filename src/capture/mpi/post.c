/* SPDX-License-Identifier: BSD-3-Clause */
/* post.c: messages of our own between ranks, none of which waits for ever. */
#include <time.h>

#include "capture/mpi/mpi.h"
#include "config/text.h"

#define TAG 7000 /* of our messages */

struct rama_cap_mpi_letter { /* that was sent and may be under way */
	struct rama_cap_mpi_letter *next;
	uintptr_t request; /* as wide as the widest handle */
	unsigned char bytes[];
};

double rama_cap_mpi_now(void *ctx)
{
	struct timespec ts;

	(void)ctx;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static bool is_done(uintptr_t *request)
{
	int flag = 0;
	char status[64];

	return rama_cap_mpi.call.Test(request, &flag, status) != 0 || flag;
}

bool rama_cap_mpi_collect(struct rama_cap_mpi_post *p)
{
	for (struct rama_cap_mpi_letter **at = &p->out; *at;) {
		struct rama_cap_mpi_letter *l = *at;

		if (is_done(&l->request)) {
			*at = l->next;
			free(l);
		} else {
			at = &l->next;
		}
	}
	return p->out == NULL;
}

int rama_cap_mpi_send(void *ctx, int64_t to, int tag, const void *buf, size_t n)
{
	struct rama_cap_mpi_post *p = ctx;
	struct rama_cap_mpi_letter *l = n < INT32_MAX ? malloc(sizeof(*l) + n) : NULL;

	if (!l)
		return RAMA_EMEMORY;
	memcpy(l->bytes, buf, n);
	l->request = 0;
	if (rama_cap_mpi.call.Isend(l->bytes, (int)n, RAMA_CAP_MPI(BYTE), (int)to, TAG + tag,
				    rama_cap_mpi_load(&p->comm), &l->request) != 0) {
		free(l);
		return RAMA_EIO;
	}
	l->next = p->out;
	p->out = l;
	rama_cap_mpi_collect(p);
	return 0;
}

static int receive(struct rama_cap_mpi_post *p, int64_t from, int tag, const char *status,
		   void **buf, size_t *n)
{
	char ignored[64];
	int count = 0;

	if (rama_cap_mpi.call.Get_count(status, RAMA_CAP_MPI(BYTE), &count) != 0 || count < 0)
		return RAMA_EIO;
	*buf = malloc((size_t)count + 1);
	if (!*buf)
		return RAMA_EMEMORY;
	*n = (size_t)count;
	if (rama_cap_mpi.call.Recv(*buf, count, RAMA_CAP_MPI(BYTE), (int)from, TAG + tag,
				   rama_cap_mpi_load(&p->comm), ignored) == 0)
		return 0;
	free(*buf);
	return RAMA_EIO;
}

int rama_cap_mpi_recv(void *ctx, int64_t from, int tag, void **buf, size_t *n, double timeout_s)
{
	struct rama_cap_mpi_post *p = ctx;
	double until = rama_cap_mpi_now(NULL) + timeout_s;

	for (unsigned i = 0;; i++) {
		char status[64];
		int flag = 0;

		if (rama_cap_mpi.call.Iprobe((int)from, TAG + tag, rama_cap_mpi_load(&p->comm),
					     &flag, status) != 0)
			return RAMA_EIO;
		if (flag)
			return receive(p, from, tag, status, buf, n);
		rama_cap_mpi_collect(p);
		if (rama_cap_mpi_now(NULL) >= until)
			return RAMA_EMISSING;
		rama_cap_rest(i * 4); /* a little later than the messages of a fast network */
	}
}

bool rama_cap_mpi_wait(uintptr_t *request, double limit)
{
	double until = rama_cap_mpi_now(NULL) + limit;

	for (unsigned i = 0; !is_done(request); i++) {
		if (rama_cap_mpi_now(NULL) >= until)
			return false;
		rama_cap_rest(i * 4);
	}
	return true;
}

int64_t rama_cap_mpi_number(const char *variable, int64_t preset)
{
	const char *text = rama_cap_variable(variable);
	int64_t v;

	if (!text ||
	    rama_config_piece_integer((struct rama_config_piece){ text, strlen(text) }, &v) == 0 ||
	    v <= 0)
		return preset;
	return v;
}

void rama_cap_mpi_hush(struct rama_cap_mpi_quiet *q)
{
	q->saved_errno = errno;
	q->live = rama_cap_thread.live;
	rama_cap_off++;
	rama_cap_thread.live = RAMA_CAP_NO_LANE;
}

void rama_cap_mpi_unhush(struct rama_cap_mpi_quiet *q)
{
	rama_cap_thread.live = q->live;
	rama_cap_off--;
	errno = q->saved_errno;
}
