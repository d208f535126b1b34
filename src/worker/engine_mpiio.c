/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_mpiio.c: MPI-IO with explicit offsets: collective, independent, or non-blocking with
 * --depth requests at a time. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "emulate/team/team.h"
#include "worker/worker.h"

#define CHUNK (1 << 20) /* bytes of the units that requests beyond INT_MAX are counted in */

struct request {
	struct rama_emu_request q;
	double start, seconds;
	bool done; /* only to be told */
};

struct file {
	MPI_File f;
	bool collective, nonblocking;
	unsigned depth, flying;
	MPI_Request *waiting; /* depth of them, those that fly first */
	struct request *request;
};

/* "PATH: WHAT at OFFSET: words of MPI" */
static int failed(const struct rama_emu_handle *h, const char *what, int64_t off, int code,
		  struct rama_err *e)
{
	char text[MPI_MAX_ERROR_STRING + 1] = "", place[48] = "";
	int n = 0;

	if (MPI_Error_string(code, text, &n) != MPI_SUCCESS || n == 0)
		snprintf(text, sizeof(text), "error %d of MPI", code);
	for (char *p = text; *p != '\0'; p++) /* some MPIs tell a story in several lines */
		if (*p == '\n')
			*p = ' ';
	if (off >= 0)
		snprintf(place, sizeof(place), " at %lld", (long long)off);
	return rama_err_set(e, RAMA_EIO, "%s: %s%s: %.300s", h->path, what, place, text);
}

/* ---- types for many bytes ------------------------------------------------------------------- */

/* Counts are int: what is larger becomes one element of a type that is as large. */
static int type_for(size_t n, MPI_Datatype *type, int *count)
{
	MPI_Datatype chunk, part[2] = { MPI_DATATYPE_NULL, MPI_BYTE };
	int lens[2] = { (int)(n / CHUNK), (int)(n % CHUNK) }, rc;
	MPI_Aint at[2] = { 0, (MPI_Aint)(n / CHUNK * CHUNK) };

	*type = MPI_BYTE;
	*count = (int)n;
	if (n <= INT_MAX)
		return MPI_SUCCESS;
	*count = 1;
	rc = MPI_Type_contiguous(CHUNK, MPI_BYTE, &chunk);
	if (rc != MPI_SUCCESS)
		return rc;
	part[0] = chunk;
	rc = MPI_Type_create_struct(2, lens, at, part, type);
	if (rc == MPI_SUCCESS)
		rc = MPI_Type_commit(type);
	MPI_Type_free(&chunk);
	return rc;
}

static void drop_type(MPI_Datatype *type)
{
	if (*type != MPI_BYTE)
		MPI_Type_free(type);
}

/* ---- open ----------------------------------------------------------------------------------- */

static int prepare(struct rama_emu_handle *h, struct file *f)
{
	f->collective = h->opt.collective && h->opt.group != NULL;
	f->nonblocking = h->opt.nonblocking;
	f->depth = f->nonblocking && h->opt.depth > 0 ? h->opt.depth : 1;
	f->request = calloc(f->depth, sizeof(*f->request));
	f->waiting = calloc(f->depth, sizeof(MPI_Request));
	return f->request != NULL && f->waiting != NULL ? 0 : RAMA_EMEMORY;
}

static void drop(struct file *f)
{
	if (f != NULL) {
		free(f->request);
		free(f->waiting);
	}
	free(f);
}

static int mpiio_open(struct rama_emu_handle *h, int flags, struct rama_err *e)
{
	struct file *f = calloc(1, sizeof(*f));
	MPI_Info info = MPI_INFO_NULL;
	int mode, rc;

	if (f == NULL || prepare(h, f) != 0) {
		drop(f);
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	}
	mode = (flags & RAMA_EMU_OPEN_WRITE) == 0 ? MPI_MODE_RDONLY
	       : flags & RAMA_EMU_OPEN_READ	  ? MPI_MODE_RDWR
						  : MPI_MODE_WRONLY;
	if (flags & RAMA_EMU_OPEN_CREATE)
		mode |= MPI_MODE_CREATE;
	rc = rama_worker_info(h->opt.hints, &info, e);
	if (rc == 0) {
		rc = MPI_File_open(rama_worker_comm(h), h->path, mode, info, &f->f);
		if (rc == MPI_SUCCESS && flags & RAMA_EMU_OPEN_TRUNCATE)
			rc = MPI_File_set_size(f->f, 0);
		if (rc != MPI_SUCCESS)
			rc = failed(h, "open", -1, rc, e);
	}
	rama_worker_no_info(&info);
	if (rc != 0)
		drop(f);
	else
		h->state = f;
	return rc;
}

/* ---- requests ------------------------------------------------------------------------------- */

/* A transfer that ended short has no error of its own. */
static int check(struct rama_emu_handle *h, const struct rama_emu_request *q, int rc,
		 MPI_Status *status, struct rama_err *e)
{
	const char *what = q->write ? "write" : "read";
	MPI_Count got = 0;

	if (rc != MPI_SUCCESS)
		return failed(h, what, q->off, rc, e);
	MPI_Get_elements_x(status, MPI_BYTE, &got);
	if ((size_t)got == q->n)
		return 0;
	return rama_err_set(e, q->write ? RAMA_EIO : RAMA_ETRUNC, "%s: %s at %lld: %s", h->path,
			    what, (long long)q->off + (long long)got,
			    q->write ? "No space left on device" : "the file ends early");
}

/* what is not waited for: collective and independent calls, empty requests */
static int move_now(struct rama_emu_handle *h, struct request *x, struct rama_err *e)
{
	const struct rama_emu_request *q = &x->q;
	struct file *f = h->state;
	MPI_Datatype type;
	MPI_Status status;
	int count, rc = type_for(q->n, &type, &count);

	if (rc != MPI_SUCCESS)
		return failed(h, "type", q->off, rc, e);
	if (f->collective && !q->alone)
		rc = q->write ? MPI_File_write_at_all(f->f, q->off, q->buf, count, type, &status)
			      : MPI_File_read_at_all(f->f, q->off, q->buf, count, type, &status);
	else if (q->n > 0)
		rc = q->write ? MPI_File_write_at(f->f, q->off, q->buf, count, type, &status)
			      : MPI_File_read_at(f->f, q->off, q->buf, count, type, &status);
	drop_type(&type);
	x->done = true;
	x->seconds = rama_now() - x->start;
	f->waiting[f->flying] = MPI_REQUEST_NULL;
	return q->n > 0 || rc != MPI_SUCCESS ? check(h, q, rc, &status, e) : 0;
}

static int begin(struct rama_emu_handle *h, const struct rama_emu_request *q, struct rama_err *e)
{
	struct file *f = h->state;
	MPI_Request *r = &f->waiting[f->flying];
	MPI_Datatype type;
	int count, rc = type_for(q->n, &type, &count);

	if (rc == MPI_SUCCESS)
		rc = q->write ? MPI_File_iwrite_at(f->f, q->off, q->buf, count, type, r)
			      : MPI_File_iread_at(f->f, q->off, q->buf, count, type, r);
	if (rc != MPI_SUCCESS)
		return failed(h, q->write ? "write" : "read", q->off, rc, e);
	drop_type(&type);
	return 0;
}

static int mpiio_move(struct rama_emu_handle *h, struct rama_emu_request q, struct rama_err *e)
{
	struct request x = { .q = q, .start = rama_now() };
	struct file *f = h->state;
	int rc;

	if (f->flying == f->depth)
		return rama_err_set(e, RAMA_EIO, "%s: more requests than --depth", h->path);
	rc = f->nonblocking && q.n > 0 ? begin(h, &q, e) : move_now(h, &x, e);
	if (rc == 0)
		f->request[f->flying++] = x;
	return rc;
}

/* index of one that ended, or an error */
static int wait_one(struct rama_emu_handle *h, MPI_Status *status, struct rama_err *e)
{
	struct file *f = h->state;
	int i, rc;

	for (unsigned k = 0; k < f->flying; k++)
		if (f->request[k].done)
			return (int)k;
	rc = MPI_Waitany((int)f->flying, f->waiting, &i, status);
	if (rc != MPI_SUCCESS || i == MPI_UNDEFINED)
		return failed(h, "wait", -1, rc, e);
	f->request[i].seconds = rama_now() - f->request[i].start;
	return i;
}

static bool some_done(const struct file *f)
{
	return f->flying > 0 && !f->nonblocking;
}

static int mpiio_reap(struct rama_emu_handle *h, unsigned left,
		      void (*done)(void *ctx, void *tag, double seconds), void *ctx,
		      struct rama_err *e)
{
	struct file *f = h->state;

	while (f->flying > left || some_done(f)) {
		MPI_Status status;
		struct request x;
		int i = wait_one(h, &status, e), rc;

		if (i < 0)
			return i;
		x = f->request[i];
		f->request[i] = f->request[--f->flying];
		f->waiting[i] = f->waiting[f->flying];
		rc = x.done ? 0 : check(h, &x.q, MPI_SUCCESS, &status, e);
		if (rc != 0)
			return rc;
		if (done != NULL)
			done(ctx, x.q.tag, x.seconds);
	}
	return 0;
}

/* ---- the end -------------------------------------------------------------------------------- */

static int mpiio_sync(struct rama_emu_handle *h, struct rama_err *e)
{
	struct file *f = h->state;
	int rc = MPI_File_sync(f->f);

	return rc == MPI_SUCCESS ? 0 : failed(h, "sync", -1, rc, e);
}

static int mpiio_close(struct rama_emu_handle *h, struct rama_err *e)
{
	struct file *f = h->state;
	int rc = MPI_SUCCESS;

	/* After a failure requests are left to the end of the process, with their buffers and
	 * the file. */
	if (e != NULL)
		rc = MPI_File_close(&f->f);
	else if (f->flying > 0)
		return 0;
	drop(f);
	return rc == MPI_SUCCESS ? 0 : failed(h, "close", -1, rc, e);
}

const struct rama_emu_engine rama_worker_engine_mpiio = {
	.name = "mpiio",
	.doc = "MPI-IO: collective, independent or non-blocking, with hints",
	.needs_mpi = true,
	.open = mpiio_open,
	.move = mpiio_move,
	.reap = mpiio_reap,
	.sync = mpiio_sync,
	.close = mpiio_close,
};
