/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c: all segments of a job become one log: each becomes a log of its own in a temporary file
 * first, then they are joined. Never more than one segment is open. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "gather/images.h"
#include "gather/pack.h"
#include "gather/one.h"
#include "logfile/merge.h"

static int no_memory(struct rama_gather_work *k)
{
	return rama_err_set(k->e, RAMA_EMEMORY, "out of memory");
}

static void problem(struct rama_gather_work *k, const char *path, const char *what)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s: %s", path, what);
	if (k->opt->problem != NULL)
		k->opt->problem(k->opt->ctx, line);
}

static void step(struct rama_gather_work *k)
{
	k->done++;
	if (k->opt->progress != NULL)
		k->opt->progress(k->opt->ctx, k->done, k->steps);
}

/* ---- which processes ------------------------------------------------------------------------- */

static int open_segment(struct rama_gather_work *k, struct rama_gather_segment_file *f,
			const char *path, struct rama_err *e)
{
	int rc = rama_gather_file_open(f, path, e);

	if (rc != 0)
		return rc;
	rc = rama_seg_open(&k->seg, &f->src, e);
	if (rc == 0 && k->seg.state.phase == RAMA_SEG_STARTING)
		rc = rama_err_set(e, RAMA_EMISSING, "its process had not begun to record");
	if (rc != 0)
		rama_gather_file_close(f);
	return rc;
}

/* how it ended, if no other program took its place */
static void see_end(struct rama_gather_work *k, struct rama_gather_image *im)
{
	uint32_t phase = k->seg.state.phase;

	k->left_out += rama_gather_left_out(&k->seg);
	if (phase == RAMA_SEG_DONE)
		im->ended = 1;
	else if (phase == RAMA_SEG_REPLACED)
		im->ended = 2;
	else if (im->quiet)
		im->ended = RAMA_GATHER_ENDED_QUIET;
	else
		im->ended = rama_gather_alive(&k->seg) == 1 ? 3 : 0;
	im->unfinished = im->ended == 0 || im->ended == 3;
	im->gone =
		im->ended == 2 && k->seg.state.unseen_self == 0 && rama_gather_alive(&k->seg) == 0;
}

static void see_segment(struct rama_gather_work *k, const char *path)
{
	struct rama_gather_image *im = &k->image[k->n];
	const struct rama_seg_identity *id = &k->seg.id;
	struct rama_err e = { 0 };
	struct rama_gather_segment_file f;

	if (open_segment(k, &f, path, &e) != 0) {
		problem(k, path, e.text);
		k->result->unreadable++;
		return;
	}
	*im = (struct rama_gather_image){ .path = path,
					  .pid = id->pid,
					  .ppid = id->ppid,
					  .jobid = id->jobid,
					  .pid_start = id->pid_start,
					  .real0 = id->clock.real0,
					  .mpi = id->rank,
					  .world = id->nprocs,
					  .keep_last = (id->flags & RAMA_SEG_KEEP_LAST) != 0,
					  .unknown_mpi = (id->flags & RAMA_SEG_UNKNOWN_MPI) != 0,
					  .quiet = (id->flags & RAMA_SEG_QUIET) != 0,
					  .work = k };
	memcpy(im->host, id->host, sizeof(im->host));
	memcpy(im->boot, id->boot, sizeof(im->boot));
	see_end(k, im);
	rama_gather_unseen(&k->unseen, &k->seg.state);
	k->result->quiet += im->quiet;
	k->result->followed += (id->flags & RAMA_SEG_FOLLOWED) != 0;
	rama_gather_file_close(&f);
	k->n++;
}

/* ---- a log of each --------------------------------------------------------------------------- */

/* where temporary files may be: beside others, beside the log, in memory */
static int next_temp(struct rama_gather_work *k)
{
	const char *dir = getenv("TMPDIR"), *slash = strrchr(k->out, '/');
	char beside[PATH_MAX] = ".";
	int fd = -1;

	if (slash != NULL)
		snprintf(beside, sizeof(beside), "%.*s",
			 slash == k->out ? 1 : (int)(slash - k->out), k->out);
	while (fd < 0 && k->temps < 3) {
		if (k->temps == 2)
			fd = memfd_create("iorama", MFD_CLOEXEC);
		else
			fd = open(k->temps == 1			? beside
				  : dir != NULL && *dir != '\0' ? dir
								: "/tmp",
				  O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		k->temps++;
	}
	return fd;
}

static int open_temp(struct rama_gather_work *k)
{
	k->temp = next_temp(k);
	return k->temp >= 0
		       ? 0
		       : rama_err_set(k->e, RAMA_EIO, "no temporary file: %s", strerror(errno));
}

/* It is full: on with another one, that begins as a copy of it. */
static bool move_temp(struct rama_gather_work *k, uint64_t end)
{
	int fd = next_temp(k);
	struct rama_newfile f = { .fd = fd };
	unsigned char buf[16384];
	struct rama_err e;
	bool ok = fd >= 0;

	for (uint64_t at = 0; ok && at < end;) {
		ssize_t got = pread(k->temp, buf, sizeof(buf), (off_t)at);

		ok = got > 0 && rama_newfile_write(&f, at, buf, (size_t)got, &e) == 0;
		at += got > 0 ? (uint64_t)got : 0;
	}
	if (ok) {
		close(k->temp);
		k->temp = fd;
	} else if (fd >= 0) {
		close(fd);
	}
	return ok;
}

int rama_gather_temp_write(void *image, uint64_t off, const void *bytes, size_t n,
			   struct rama_err *e)
{
	struct rama_gather_image *im = image;
	struct rama_newfile f = { .fd = im->work->temp };
	int rc = rama_newfile_write(&f, im->off + off, bytes, n, e);

	while (rc != 0 && im->work->temps < 3 && move_temp(im->work, im->off + im->len)) {
		f.fd = im->work->temp;
		*e = (struct rama_err){ 0 };
		rc = rama_newfile_write(&f, im->off + off, bytes, n, e);
	}
	if (off + n > im->len)
		im->len = off + n;
	return rc;
}

int rama_gather_temp_read(void *image, uint64_t off, void *buf, size_t n, struct rama_err *e)
{
	const struct rama_gather_image *im = image;

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

static int write_log(struct rama_gather_work *k, struct rama_gather_image *im, struct rama_err *e)
{
	struct rama_gather_process p = { .rank = im->process,
					 .parent_rank = im->parent,
					 .nprocs = k->result->nprocs,
					 .images = im->images,
					 .ended = im->ended,
					 .incomplete = im->unfinished || im->quiet };
	struct rama_log_sink sink = { .write = rama_gather_temp_write, .ctx = im };
	struct rama_gather_losses lost = { 0 };
	struct rama_log_writer w;
	uint64_t partial;
	int rc = rama_log_writer_init(&w, &sink, RAMA_LOG_PLAIN_BYTES, 0);

	w.inner = true;
	if (rc == 0)
		rc = rama_gather_segment(&k->seg, &p, &w, &partial, &lost, e);
	if (rc == 0)
		rc = rama_log_writer_finish(&w, partial);
	if (w.err.code != 0)
		*e = w.err;
	rama_log_writer_fini(&w);
	k->result->lost += lost.lost;
	k->result->missed += lost.missed;
	k->result->folded += lost.folded;
	return rc;
}

/* A segment that gives nothing is told and left out; what is wrong here ends it all. */
static int make_log(struct rama_gather_work *k, struct rama_gather_image *im)
{
	struct rama_err e = { 0 };
	struct rama_gather_segment_file f;
	int rc;

	im->off = k->temp_end;
	rc = open_segment(k, &f, im->path, &e);
	if (rc == 0) {
		rama_gather_clock(&k->seg);
		rc = write_log(k, im, &e);
		rama_gather_file_close(&f);
	}
	if (rc == 0) {
		im->src = (struct rama_source){ .size = im->len,
						.read = rama_gather_temp_read,
						.ctx = im };
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

/* ---- the log of all -------------------------------------------------------------------------- */

static void add_line(struct rama_log_job *job, const char *text)
{
	rama_log_meta_add(job->metadata, sizeof(job->metadata), text);
}

/* which ranks are missing, as the log of a parallel job says it */
static void say_missing(const struct rama_gather_work *k, struct rama_log_job *job)
{
	char line[512] = RAMA_LOG_META_MISSING;
	size_t n = strlen(line);

	if (k->missing.n == 0)
		return;
	rama_ranges_text(&k->missing, line + n, sizeof(line) - n - 1);
	memcpy(line + strlen(line), "\n", 2);
	add_line(job, line);
}

static void say_unseen(struct rama_gather_work *k, struct rama_log_job *job)
{
	char line[RAMA_LOG_UNSEEN_LINE];

	for (size_t i = 0; i < k->made.n; i++)
		rama_log_unseen_read(&k->unseen, k->made.log[i].log.job.metadata);
	if (k->opt->unseen != NULL)
		rama_log_unseen_join(&k->unseen, k->opt->unseen);
	rama_log_unseen_line(&k->unseen, line);
	add_line(job, line);
}

static void describe(struct rama_gather_work *k, struct rama_log_merge *m)
{
	struct rama_log_job *job = &m->job;
	char line[64];

	memset(job->metadata, 0, sizeof(job->metadata));
	add_line(job, "lib_ver=iorama-" IORAMA_BUILD_VERSION "\n");
	snprintf(line, sizeof(line), RAMA_LOG_META_UNFINISHED "%zu\n", k->result->unfinished);
	if (k->result->unfinished > 0)
		add_line(job, line);
	snprintf(line, sizeof(line), "iorama_unreadable=%zu\n", k->result->unreadable);
	if (k->result->unreadable > 0)
		add_line(job, line);
	snprintf(line, sizeof(line), RAMA_LOG_META_QUIET "%zu\n", k->result->quiet);
	if (k->result->quiet > 0)
		add_line(job, line);
	snprintf(line, sizeof(line), RAMA_LOG_META_FOLLOWED "%zu\n", k->result->followed);
	if (k->result->followed > 0)
		add_line(job, line);
	rama_log_meta_set(job->metadata, sizeof(job->metadata), RAMA_LOG_META_OTHER, k->others);
	snprintf(line, sizeof(line), RAMA_LOG_META_LEFT_OUT "%llu\n",
		 (unsigned long long)k->left_out);
	if (k->left_out > 0)
		add_line(job, line);
	say_missing(k, job);
	say_unseen(k, job);
	for (size_t i = 0; i < k->n; i++)
		if (k->image[i].unknown_mpi) {
			add_line(job, RAMA_LOG_META_MPI "unknown\n");
			break;
		}
	if (k->opt->note != NULL)
		add_line(job, k->opt->note);
	add_line(job, m->batch);
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
static uint64_t modules_of(const struct rama_log_writer *w)
{
	uint64_t all = 0;

	for (unsigned id = 0; id < RAMA_TAB_MODULES; id++)
		if (w->header.part[RAMA_LOG_REGION_MODULE + id].version > 0)
			all |= 1ull << id;
	return all;
}

static int write_merged(struct rama_gather_work *k, struct rama_log_merge *m,
			struct rama_newfile *f)
{
	struct rama_log_sink sink = { .write = write_out, .ctx = f };
	struct rama_log_writer w;
	uint64_t partial = 0;
	int rc = rama_log_writer_init(&w, &sink, RAMA_LOG_ZLIB, 6);

	if (rc == 0)
		rc = rama_log_merge_write(m, &w, &partial, k->e);
	if (k->opt->incomplete || k->missing.n > 0)
		partial |= RAMA_LOG_PARTIAL_END;
	if (k->result->unreadable > 0)
		partial |= modules_of(&w);
	if (rc == 0)
		rc = rama_log_writer_finish(&w, partial);
	if (w.err.code != 0)
		*k->e = w.err;
	k->result->partial = partial;
	rama_log_writer_fini(&w);
	return rc;
}

/* logs of ranks first; each stands for many processes, and for none of the others */
static void add_inputs(struct rama_gather_work *k, struct rama_log_merge *m)
{
	for (size_t i = 0; i < k->made.n; i++)
		m->in[m->n_in++] =
			(struct rama_log_merge_input){ .log = &k->made.log[i].log,
						       .path = k->made.log[i].path,
						       .first_rank = k->made.log[i].first,
						       .process = -1 - (int64_t)i };
	for (size_t i = 0; i < k->n; i++) {
		struct rama_gather_image *im = &k->image[i];

		if (im->opened)
			m->in[m->n_in++] = (struct rama_log_merge_input){ .log = &im->log,
									  .path = im->path,
									  .process = im->process };
	}
	for (size_t i = 0; i < k->n_served; i++)
		m->in[m->n_in++] =
			(struct rama_log_merge_input){ .log = &k->served[i].log,
						       .path = k->served[i].path,
						       .process = -1 - (int64_t)(k->made.n + i) };
}

static int join(struct rama_gather_work *k, const char *out)
{
	struct rama_log_merge m = { .reduce = k->opt->reduce, .images = true };

	for (size_t i = 0; i < k->n; i++) {
		m.single = m.single || k->image[i].mpi >= 0;
		m.keep_last = m.keep_last || k->image[i].keep_last;
	}
	struct rama_newfile f = { .fd = -1 };
	int rc = 0;

	m.in = calloc(k->made.n + k->n + k->n_served + 1, sizeof(*m.in));
	if (m.in == NULL)
		return no_memory(k);
	add_inputs(k, &m);
	if (m.n_in == 0)
		rc = rama_err_set(k->e, RAMA_EMISSING, "no segment could be read");
	if (rc == 0)
		rc = rama_log_merge_plan(&m, k->e);
	describe(k, &m);
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

static int gather_all(struct rama_gather_work *k, const char *const *paths, size_t n,
		      const char *out)
{
	int rc = open_temp(k);

	if (rc == 0)
		rc = rama_gather_made_open(&k->made, k->opt->logs, k->opt->n_logs, k->e);
	for (size_t i = 0; i < n && rc == 0; i++) {
		see_segment(k, paths[i]);
		step(k);
	}
	k->steps = n + k->n;
	if (rc == 0 && k->n + k->made.n > 0)
		rc = rama_gather_rank(k);
	for (size_t i = 0; i < k->n && rc == 0; i++) {
		rc = make_log(k, &k->image[i]);
		step(k);
	}
	if (rc == 0 && k->opt->n_served > 0)
		rc = rama_gather_served_make(k);
	return rc == 0 ? join(k, out) : rc;
}

int rama_gather_job(const char *const *paths, size_t n, const char *out,
		    const struct rama_gather_options *opt, struct rama_gather_result *result,
		    struct rama_err *e)
{
	struct rama_gather_work *k = calloc(1, sizeof(*k));
	struct rama_err mine;
	int rc;

	*result = (struct rama_gather_result){ 0 };
	if (k == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	*k = (struct rama_gather_work){ .out = out,
					.opt = opt,
					.result = result,
					.e = e != NULL ? e : &mine,
					.temp = -1,
					.steps = 2 * n };
	k->image = calloc(n + 1, sizeof(*k->image));
	rc = k->image == NULL ? no_memory(k) : gather_all(k, paths, n, out);
	for (size_t i = 0; i < k->n; i++)
		if (k->image[i].opened)
			rama_log_close(&k->image[i].log);
	if (k->temp >= 0)
		close(k->temp);
	rama_gather_served_fini(k);
	rama_gather_made_close(&k->made);
	free(k->missing.r);
	free(k->image);
	free(k);
	return rc;
}
