/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c: all segments of a job become one log: each becomes a log of its own in a temporary file first,
 * then they are joined. Never more than one segment is open. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "gather/parts.h"
#include "logfile/merge.h"

#define RANKS_MAX (1 << 24) /* of any MPI job */

/* one segment: a program that a process ran */
struct image {
	const char *path;
	char host[64], boot[40];
	int64_t pid, ppid, jobid;
	uint64_t pid_start, real0;
	int64_t mpi, world;	/* rank and size of its MPI job; negative: none */
	uint64_t start;		/* ns of real time, as exact as the system keeps it */
	int64_t process;	/* rank of its process */
	int64_t images, number; /* of its process, and which of them this is */
	int64_t parent;		/* rank, or -1 */
	int64_t ended;
	bool unfinished, keep_last;
	uint64_t off, len; /* its log in the temporary file */
	struct rama_log log;
	struct rama_source src; /* of that log */
	struct work *work;
	bool opened;
};

struct work {
	const struct rama_gather_options *opt;
	struct rama_gather_result *result;
	struct rama_err *e;
	struct image *image;
	size_t n;
	int temp;
	uint64_t temp_end;
	struct rama_segment seg; /* the one that is open */
	size_t done, steps;
	char command[RAMA_JOB_REGION]; /* of the job; longer ones are cut in any log */
};

static int no_memory(struct work *k)
{
	return rama_err_set(k->e, RAMA_EMEMORY, "out of memory");
}

static void problem(struct work *k, const char *path, const char *what)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s: %s", path, what);
	if (k->opt->problem != NULL)
		k->opt->problem(k->opt->ctx, line);
}

static void step(struct work *k)
{
	k->done++;
	if (k->opt->progress != NULL)
		k->opt->progress(k->opt->ctx, k->done, k->steps);
}

/* ---- which processes ------------------------------------------------------------------------- */

static int open_segment(struct work *k, struct rama_file *f, const char *path, struct rama_err *e)
{
	int rc = rama_file_open(f, path, e);

	if (rc != 0)
		return rc;
	rc = rama_segment_open(&k->seg, &f->src, e);
	if (rc == 0 && k->seg.state.phase == RAMA_SEG_STARTING)
		rc = rama_err_set(e, RAMA_EMISSING, "its process had not begun to record");
	if (rc != 0)
		rama_file_close(f);
	return rc;
}

/* how it ended, if no other program took its place */
static void see_end(struct work *k, struct image *im)
{
	uint32_t phase = k->seg.state.phase;

	if (phase == RAMA_SEG_DONE)
		im->ended = 1;
	else if (phase == RAMA_SEG_REPLACED)
		im->ended = 2;
	else
		im->ended = rama_gather_alive(&k->seg) == 1 ? 3 : 0;
	im->unfinished = im->ended == 0 || im->ended == 3;
}

static void see_segment(struct work *k, const char *path)
{
	struct image *im = &k->image[k->n];
	const struct rama_seg_identity *id = &k->seg.id;
	struct rama_err e = { 0 };
	struct rama_file f;

	if (open_segment(k, &f, path, &e) != 0) {
		problem(k, path, e.text);
		k->result->unreadable++;
		return;
	}
	*im = (struct image){ .path = path,
			      .pid = id->pid,
			      .ppid = id->ppid,
			      .jobid = id->jobid,
			      .pid_start = id->pid_start,
			      .real0 = id->clock.real0,
			      .mpi = id->rank,
			      .world = id->nprocs,
			      .keep_last = (id->flags & RAMA_SEG_KEEP_LAST) != 0,
			      .work = k };
	memcpy(im->host, id->host, sizeof(im->host));
	memcpy(im->boot, id->boot, sizeof(im->boot));
	see_end(k, im);
	rama_file_close(&f);
	k->n++;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* processes together, programs of each in the order in which it ran them */
static int by_process(const void *a, const void *b)
{
	const struct image *x = a, *y = b;
	int rc = strcmp(x->host, y->host);

	if (rc == 0)
		rc = strcmp(x->boot, y->boot);
	if (rc == 0)
		rc = compare((uint64_t)x->pid, (uint64_t)y->pid);
	if (rc == 0)
		rc = compare(x->pid_start, y->pid_start);
	if (rc == 0)
		rc = compare(x->real0, y->real0);
	return rc != 0 ? rc : strcmp(x->path, y->path);
}

static bool same_machine(const struct image *x, const struct image *y)
{
	return strcmp(x->host, y->host) == 0 && strcmp(x->boot, y->boot) == 0;
}

static bool same_process(const struct image *x, const struct image *y)
{
	return x->pid == y->pid && x->pid_start == y->pid_start && same_machine(x, y);
}

/* one process: the first of its images */
struct process {
	struct image *first;
	int64_t images;
	int64_t mpi;  /* its rank in the MPI job; -1: it has none */
	size_t place; /* among all, by start */
};

static int by_start(const void *a, const void *b)
{
	const struct image *x = ((const struct process *)a)->first,
			   *y = ((const struct process *)b)->first;
	int rc = compare(x->start, y->start);

	if (rc == 0)
		rc = compare((uint64_t)x->pid, (uint64_t)y->pid);
	return rc != 0 ? rc : strcmp(x->path, y->path);
}

static int by_rank(const void *a, const void *b)
{
	const struct image *x = a, *y = b;
	int rc = compare((uint64_t)x->process, (uint64_t)y->process);

	return rc != 0 ? rc : compare((uint64_t)x->number, (uint64_t)y->number);
}

/* an image that another followed was replaced by it, whatever it had time to say */
static void settle(struct work *k, const struct process *p, int64_t rank)
{
	for (int64_t i = 0; i < p->images; i++) {
		struct image *im = &p->first[i];

		im->process = rank;
		im->number = i;
		im->images = p->images;
		if (i + 1 < p->images) {
			im->ended = 2;
			im->unfinished = false;
		}
		k->result->unfinished += im->unfinished;
	}
}

/* the one with that id on the same machine that started last before the child */
static int64_t parent_of(const struct process *all, size_t n, const struct image *child)
{
	for (size_t i = n; i-- > 0;) {
		const struct image *x = all[i].first;

		if (x->pid == child->ppid && same_machine(x, child))
			return x->process;
	}
	return -1;
}

/* A segment begins with the first call that is seen, which a forked process may make late: when the process itself
 * began is known in hundredths of a second since the machine was booted. When that was follows from the segment that
 * began soonest after its process. Images are sorted by machine. */
static void find_starts(struct work *k)
{
	const uint64_t tick = 10000000;

	for (size_t i = 0, end; i < k->n; i = end) {
		uint64_t boot = UINT64_MAX;

		for (end = i; end < k->n && same_machine(&k->image[i], &k->image[end]); end++) {
			uint64_t up = k->image[end].pid_start * tick;

			if (k->image[end].real0 - up < boot)
				boot = k->image[end].real0 - up;
		}
		for (size_t j = i; j < end; j++)
			k->image[j].start = boot + k->image[j].pid_start * tick;
	}
}

static int by_mpi(const void *a, const void *b)
{
	const struct process *x = a, *y = b;
	int rc = compare((uint64_t)x->mpi, (uint64_t)y->mpi); /* -1 comes last */

	return rc != 0 ? rc : compare(x->place, y->place);
}

/* Ranks of an MPI job are its own, also if some are missing; other processes follow. Where two say that they are the
 * same rank (several MPI jobs in one), all are numbered in the order of start. p: by start. */
static void give_ranks(struct work *k, struct process *p, size_t n)
{
	int64_t next = 0;
	bool clash = false;

	for (size_t i = 0; i < n; i++) {
		p[i].place = i;
		p[i].mpi = -1;
		for (int64_t j = 0; j < p[i].images; j++) {
			const struct image *im = &p[i].first[j];

			if (im->mpi >= 0 && im->mpi < im->world && im->world <= RANKS_MAX) {
				p[i].mpi = im->mpi;
				next = im->world > next ? im->world : next;
			}
		}
	}
	qsort(p, n, sizeof(*p), by_mpi);
	for (size_t i = 1; i < n; i++)
		clash = clash || (p[i].mpi >= 0 && p[i].mpi == p[i - 1].mpi);
	for (size_t i = 0; i < n; i++) {
		int64_t rank = clash ? (int64_t)p[i].place : p[i].mpi >= 0 ? p[i].mpi : next++;

		settle(k, &p[i], rank);
	}
	k->result->nprocs = clash ? (int64_t)n : next;
	qsort(p, n, sizeof(*p), by_start);
}

/* Ranks of the MPI job, or in the order of start. */
static int number_processes(struct work *k)
{
	struct process *p = calloc(k->n, sizeof(*p));
	size_t n = 0;

	if (p == NULL)
		return no_memory(k);
	qsort(k->image, k->n, sizeof(*k->image), by_process);
	find_starts(k);
	for (size_t i = 0; i < k->n; i++) {
		if (n == 0 || !same_process(p[n - 1].first, &k->image[i]))
			p[n++].first = &k->image[i];
		p[n - 1].images++;
	}
	qsort(p, n, sizeof(*p), by_start);
	give_ranks(k, p, n);
	for (size_t r = 0; r < n; r++)
		for (int64_t i = 0; i < p[r].images; i++)
			p[r].first[i].parent = parent_of(p, r, &p[r].first[i]);
	free(p);
	qsort(k->image, k->n, sizeof(*k->image), by_rank);
	return 0;
}

/* ---- a log of each ----------------------------------------------------------------------------- */

static int open_temp(struct work *k)
{
	const char *dir = getenv("TMPDIR");

	k->temp = open(dir != NULL && *dir != '\0' ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC,
		       0600);
	if (k->temp < 0)
		k->temp = memfd_create("iorama", MFD_CLOEXEC);
	return k->temp >= 0
		       ? 0
		       : rama_err_set(k->e, RAMA_EIO, "no temporary file: %s", strerror(errno));
}

static int write_temp(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	struct image *im = ctx;
	struct rama_newfile f = { .fd = im->work->temp };

	if (off + n > im->len)
		im->len = off + n;
	return rama_newfile_write(&f, im->off + off, bytes, n, e);
}

static int read_temp(void *ctx, uint64_t off, void *buf, size_t n, struct rama_err *e)
{
	const struct image *im = ctx;

	for (size_t done = 0; done < n;) {
		ssize_t got = pread(im->work->temp, (char *)buf + done, n - done,
				    (off_t)(im->off + off + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return rama_err_set(e, RAMA_EIO, "temporary file cannot be read");
		done += (size_t)got;
	}
	return 0;
}

static int write_log(struct work *k, struct image *im, struct rama_err *e)
{
	struct rama_gather_process p = { .rank = im->process,
					 .parent_rank = im->parent,
					 .nprocs = k->result->nprocs,
					 .images = im->images,
					 .ended = im->ended,
					 .incomplete = im->unfinished };
	struct rama_sink sink = { .write = write_temp, .ctx = im };
	struct rama_gather_losses lost = { 0 };
	struct rama_writer w;
	uint64_t partial;
	int rc = rama_writer_init(&w, &sink, RAMA_PLAIN_BYTES, 0);

	if (rc == 0)
		rc = rama_gather_segment(&k->seg, &p, &w, &partial, &lost, e);
	if (rc == 0)
		rc = rama_writer_finish(&w, partial);
	if (w.err.code != 0)
		*e = w.err;
	rama_writer_fini(&w);
	k->result->lost += lost.lost;
	k->result->missed += lost.missed;
	k->result->folded += lost.folded;
	return rc;
}

/* A segment that gives nothing is told and left out; what is wrong here ends it all. */
static int make_log(struct work *k, struct image *im)
{
	struct rama_err e = { 0 };
	struct rama_file f;
	int rc;

	im->off = k->temp_end;
	rc = open_segment(k, &f, im->path, &e);
	if (rc == 0) {
		rama_gather_clock(&k->seg);
		rc = write_log(k, im, &e);
		rama_file_close(&f);
	}
	if (rc == 0) {
		im->src = (struct rama_source){ .size = im->len, .read = read_temp, .ctx = im };
		rc = rama_log_open(&im->log, &im->src, NULL, &e);
		im->opened = rc == 0;
	}
	if (rc == RAMA_EMEMORY)
		return no_memory(k);
	if (rc != 0) {
		problem(k, im->path, e.text);
		k->result->unreadable++;
		return 0;
	}
	k->temp_end += im->len;
	return 0;
}

/* ---- the log of all ---------------------------------------------------------------------------- */

static void add_line(struct rama_job *job, const char *text)
{
	size_t have = strlen(job->metadata), n = strlen(text);

	if (have + n < sizeof(job->metadata))
		memcpy(job->metadata + have, text, n + 1);
}

static void describe(struct work *k, struct rama_job *job)
{
	char line[64];

	memset(job->metadata, 0, sizeof(job->metadata));
	add_line(job, "lib_ver=iorama-" IORAMA_BUILD_VERSION "\n");
	snprintf(line, sizeof(line), RAMA_META_UNFINISHED "%zu\n", k->result->unfinished);
	if (k->result->unfinished > 0)
		add_line(job, line);
	snprintf(line, sizeof(line), "iorama_unreadable=%zu\n", k->result->unreadable);
	if (k->result->unreadable > 0)
		add_line(job, line);
	if (k->opt->note != NULL)
		add_line(job, k->opt->note);
	if (k->opt->jobid >= 0)
		job->jobid = k->opt->jobid;
	if (k->opt->command != NULL) {
		rama_gather_flat(k->command, sizeof(k->command), k->opt->command);
		job->exe = k->command;
	}
}

static int write_out(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e)
{
	return rama_newfile_write(ctx, off, bytes, n, e);
}

/* modules that the log has */
static uint64_t modules_of(const struct rama_writer *w)
{
	uint64_t all = 0;

	for (unsigned id = 0; id < RAMA_MODULES; id++)
		if (w->header.part[RAMA_REGION_MODULE + id].version > 0)
			all |= 1ull << id;
	return all;
}

static int write_merged(struct work *k, struct rama_merge *m, struct rama_newfile *f)
{
	struct rama_sink sink = { .write = write_out, .ctx = f };
	struct rama_writer w;
	uint64_t partial = 0;
	int rc = rama_writer_init(&w, &sink, RAMA_ZLIB, 6);

	if (rc == 0)
		rc = rama_merge_write(m, &w, &partial, k->e);
	if (k->opt->incomplete)
		partial |= RAMA_PARTIAL_END;
	if (k->result->unreadable > 0)
		partial |= modules_of(&w);
	if (rc == 0)
		rc = rama_writer_finish(&w, partial);
	if (w.err.code != 0)
		*k->e = w.err;
	k->result->partial = partial;
	rama_writer_fini(&w);
	return rc;
}

static int join(struct work *k, const char *out)
{
	struct rama_merge m = { .reduce = k->opt->reduce, .images = true };

	for (size_t i = 0; i < k->n; i++) {
		m.single = m.single || k->image[i].mpi >= 0;
		m.keep_last = m.keep_last || k->image[i].keep_last;
	}
	struct rama_newfile f = { .fd = -1 };
	int rc = 0;

	m.in = calloc(k->n + 1, sizeof(*m.in));
	if (m.in == NULL)
		return no_memory(k);
	for (size_t i = 0; i < k->n; i++) {
		struct image *im = &k->image[i];

		if (im->opened)
			m.in[m.n_in++] = (struct rama_merge_input){ .log = &im->log,
								    .path = im->path,
								    .process = im->process };
	}
	if (m.n_in == 0)
		rc = rama_err_set(k->e, RAMA_EMISSING, "no segment could be read");
	if (rc == 0)
		rc = rama_merge_plan(&m, k->e);
	describe(k, &m.job);
	if (rc == 0)
		rc = rama_newfile_open(&f, out, k->e);
	if (rc == 0)
		rc = write_merged(k, &m, &f);
	if (rc == 0)
		rc = rama_newfile_commit(&f, k->e);
	rama_newfile_abort(&f);
	free(m.in);
	return rc;
}

static int gather_all(struct work *k, const char *const *paths, size_t n, const char *out)
{
	int rc = open_temp(k);

	for (size_t i = 0; i < n && rc == 0; i++) {
		see_segment(k, paths[i]);
		step(k);
	}
	k->steps = n + k->n;
	if (rc == 0 && k->n > 0)
		rc = number_processes(k);
	for (size_t i = 0; i < k->n && rc == 0; i++) {
		rc = make_log(k, &k->image[i]);
		step(k);
	}
	return rc == 0 ? join(k, out) : rc;
}

int rama_gather_job(const char *const *paths, size_t n, const char *out,
		    const struct rama_gather_options *opt, struct rama_gather_result *result,
		    struct rama_err *e)
{
	struct work *k = calloc(1, sizeof(*k));
	struct rama_err mine;
	int rc;

	*result = (struct rama_gather_result){ 0 };
	if (k == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	*k = (struct work){
		.opt = opt, .result = result, .e = e != NULL ? e : &mine, .temp = -1, .steps = 2 * n
	};
	k->image = calloc(n + 1, sizeof(*k->image));
	rc = k->image == NULL ? no_memory(k) : gather_all(k, paths, n, out);
	for (size_t i = 0; i < k->n; i++)
		if (k->image[i].opened)
			rama_log_close(&k->image[i].log);
	if (k->temp >= 0)
		close(k->temp);
	free(k->image);
	free(k);
	return rc;
}
