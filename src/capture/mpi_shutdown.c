/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_shutdown.c: in MPI_Finalize the ranks of a job make one log together (gather/shutdown.h); here is how they reach
 * each other. Under `iorama run` on one machine there is nothing to do: it gathers the segments when all is over, also
 * of ranks that died. */
#include <time.h>

#include "capture/mpi.h"
#include "config/text.h"
#include "gather/shutdown.h"

#define TAG 7000       /* of our messages, on a communicator of our own */
#define MEET_LIMIT 5.0 /* seconds */
#define PATIENCE 10
#define LETTERS_LIMIT 2.0

struct letter { /* that was sent and may be under way */
	struct letter *next;
	uintptr_t request; /* as wide as the widest handle */
	unsigned char bytes[];
};

struct post {
	uintptr_t comm;
	struct letter *out;
};

static double now(void *ctx)
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

	return rama_mpi.call.Test(request, &flag, status) != 0 || flag;
}

/* forgets letters that have arrived; true: none is under way */
static bool collect(struct post *p)
{
	for (struct letter **at = &p->out; *at;) {
		struct letter *l = *at;

		if (is_done(&l->request)) {
			*at = l->next;
			free(l);
		} else {
			at = &l->next;
		}
	}
	return p->out == NULL;
}

static int post_send(void *ctx, int64_t to, int tag, const void *buf, size_t n)
{
	struct post *p = ctx;
	struct letter *l = n < INT32_MAX ? malloc(sizeof(*l) + n) : NULL;

	if (!l)
		return RAMA_EMEMORY;
	memcpy(l->bytes, buf, n);
	l->request = 0;
	if (rama_mpi.call.Isend(l->bytes, (int)n, RAMA_MPI(BYTE), (int)to, TAG + tag,
				rama_mpi_load(&p->comm), &l->request) != 0) {
		free(l);
		return RAMA_EIO;
	}
	l->next = p->out;
	p->out = l;
	collect(p);
	return 0;
}

static int receive(struct post *p, int64_t from, int tag, const char *status, void **buf, size_t *n)
{
	char ignored[64];
	int count = 0;

	if (rama_mpi.call.Get_count(status, RAMA_MPI(BYTE), &count) != 0 || count < 0)
		return RAMA_EIO;
	*buf = malloc((size_t)count + 1);
	if (!*buf)
		return RAMA_EMEMORY;
	*n = (size_t)count;
	if (rama_mpi.call.Recv(*buf, count, RAMA_MPI(BYTE), (int)from, TAG + tag,
			       rama_mpi_load(&p->comm), ignored) == 0)
		return 0;
	free(*buf);
	return RAMA_EIO;
}

static int post_recv(void *ctx, int64_t from, int tag, void **buf, size_t *n, double timeout_s)
{
	struct post *p = ctx;
	double until = now(NULL) + timeout_s;

	for (unsigned i = 0;; i++) {
		char status[64];
		int flag = 0;

		if (rama_mpi.call.Iprobe((int)from, TAG + tag, rama_mpi_load(&p->comm), &flag,
					 status) != 0)
			return RAMA_EIO;
		if (flag)
			return receive(p, from, tag, status, buf, n);
		collect(p);
		if (now(NULL) >= until)
			return RAMA_EMISSING;
		rama_rest(i * 4); /* a little later than the messages of a fast network */
	}
}

static struct post post;
static bool met; /* all ranks are observed, and have a communicator for us */

static bool wait_for(uintptr_t *request, double limit)
{
	double until = now(NULL) + limit;

	for (unsigned i = 0; !is_done(request); i++) {
		if (now(NULL) >= until)
			return false;
		rama_rest(i * 4);
	}
	return true;
}

/* In MPI_Init all ranks are there. Not blocking: if some of them are not observed, the others must not wait for them
 * for ever; each makes a log of its own then. */
void rama_mpi_meet(void)
{
	uintptr_t request = 0;

	if (!rama_run.bare || met || !rama_mpi.call.Comm_idup ||
	    rama_mpi.call.Comm_idup(RAMA_MPI(COMM_WORLD), &post.comm, &request) != 0 ||
	    !wait_for(&request, MEET_LIMIT))
		return;
	rama_mpi.call.Comm_set_errhandler(rama_mpi_load(&post.comm), RAMA_MPI(ERRORS_RETURN));
	met = true;
}

/* Ranks that come early would wait in MPI_Finalize anyway: they wait here for the late ones, much longer than for
 * answers. */
static void wait_for_all(double limit)
{
	uintptr_t request = 0;

	if (rama_mpi.call.Ibarrier &&
	    rama_mpi.call.Ibarrier(rama_mpi_load(&post.comm), &request) == 0)
		wait_for(&request, limit * PATIENCE);
}

static int64_t number(const char *variable, int64_t preset)
{
	const char *text = rama_variable(variable);
	int64_t v;

	if (!text || rama_piece_integer((struct rama_piece){ text, strlen(text) }, &v) == 0 ||
	    v <= 0)
		return preset;
	return v;
}

static int make_own(struct rama_own *own, struct rama_err *e)
{
	struct rama_source src;
	struct rama_segment *s = malloc(sizeof(*s));
	struct rama_gather_process p = { .rank = rama_mpi.rank,
					 .parent_rank = -1,
					 .nprocs = rama_mpi.size,
					 .images = 1,
					 .ended = 1 };

	if (!s)
		return RAMA_EMEMORY;
	rama_source_memory(&src, rama_run.base, rama_run.size);
	int rc = rama_segment_open(s, &src, e);
	if (rc == 0)
		rc = rama_own_from_segment(own, s, &p, e);
	free(s);
	return rc;
}

static int write_together(struct post *p, double limit)
{
	static char path[4096];
	struct rama_comm comm = { rama_mpi.rank, rama_mpi.size, post_send, post_recv, now, p };
	struct rama_shutdown_disk disk;
	struct rama_shutdown_options opt = {
		.limit = limit,
		.writers = (unsigned)number("IORAMA_WRITERS", RAMA_SHUTDOWN_WRITERS),
		.unreduced = rama_run.settings->keep_ranks,
		.single = rama_mpi.size == 1,
		.keep_last = (rama_run.id->flags & RAMA_SEG_KEEP_LAST) != 0,
		.level = 3
	};
	struct rama_shutdown_result result;
	struct rama_own own = { 0 };
	struct rama_err e;
	bool have = make_own(&own, &e) == 0;

	if (rama_mpi.rank == 0 && !rama_log_path(path, sizeof(path)))
		path[0] = '\0';
	opt.file = rama_shutdown_disk_file(&disk, path);
	int rc = rama_shutdown(&comm, have ? &own : NULL, &opt, &result, &e);
	rama_own_fini(&own);
	for (double until = now(NULL) + LETTERS_LIMIT; !collect(p) && now(NULL) < until;)
		rama_rest(2000);
	return rc;
}

void rama_mpi_shutdown(void)
{
	struct rama_thread *t = &rama_thread;
	double limit = (double)number("IORAMA_SHUTDOWN_LIMIT", (int64_t)RAMA_SHUTDOWN_LIMIT);
	int saved = errno;

	if (!met || !rama_run.bare || rama_run.logged || !rama_awake())
		return;
	uint32_t live = t->live;
	rama_off++; /* what we and the MPI do now is not the application's */
	t->live = RAMA_NO_LANE;
	wait_for_all(limit);
	rama_clock_pair(&rama_run.id->clock.tick1, &rama_run.id->clock.mono1,
			&rama_run.id->clock.real1);
	if (write_together(&post, limit) == 0) {
		rama_run.logged = true;
		rama_remove_segment();
	}
	t->live = live;
	rama_off--;
	errno = saved;
}
