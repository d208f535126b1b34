/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_view.c: flags, of each of two logs its byte order and number of processes less 1, then
 * module, version, length (2 bytes) and decoded records any number of times, see
 * fuzz_log_parts(). A view is made of them. Flags: 1 of both, not of the first alone; 2 without
 * trace; 4 all that follows is one log as it is in a file; 8 the second began when the first had
 * ended. Whatever is in them, sums have to agree, and nothing points outside. */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "job/view.h"

static void check_names(const struct rama_job_view *v)
{
	char to[64];

	CHECK(v->exe != NULL && v->name != NULL && v->metadata != NULL);
	for (size_t i = 0; i < v->n_files; i++) {
		const struct rama_job_view_file *f = &v->files[i];

		CHECK(f->name != NULL && f->mount < (int)v->n_mounts &&
		      (unsigned)f->top < RAMA_JOB_LAYERS);
		CHECK(f->pseudo || f->unopened || f->group < v->n_groups);
		CHECK(f->ranks <= v->nprocs && f->rank < v->nprocs && f->slow_rank < v->nprocs);
		CHECK(strlen(rama_job_view_short_name(f->name, 20, to, sizeof(to))) < sizeof(to));
		CHECK(rama_job_view_file_of(v, f->id) == f);
		CHECK(rama_job_io_time(&f->io) >= 0);
	}
	for (size_t i = 0; i < v->n_groups; i++)
		CHECK(v->groups[i].pattern != NULL && v->groups[i].files > 0);
	for (size_t i = 0; i < v->n_parts; i++)
		CHECK(v->parts[i].name != NULL && v->parts[i].file < v->n_files &&
		      v->parts[i].rec != NULL);
}

static void check_times(const struct rama_job_view *v)
{
	for (size_t i = 0; i < v->n_heats; i++) {
		const struct rama_job_view_heat *h = &v->heats[i];

		CHECK(h->rows > 0 && h->bins > 0 && h->bins <= RAMA_JOB_VIEW_BINS);
		CHECK(h->rows * h->bins <= RAMA_JOB_HEAT_ALONE && h->first[h->rows] == v->nprocs);
		for (size_t c = 0; c < (size_t)h->rows * h->bins; c++)
			CHECK(h->sum[0][c] >= h->max[0][c] * (1 - 1e-9) && h->max[0][c] >= 0 &&
			      h->sum[1][c] >= 0);
	}
	for (size_t i = 0; i < v->n_phases; i++) {
		CHECK(v->phases[i].end >= v->phases[i].start && v->phases[i].slow_rank < v->nprocs);
		CHECK(v->phases[i].wait >= 0 &&
		      v->phases[i].median_busy <= v->phases[i].slow_busy * (1 + 1e-9));
	}
	for (size_t i = 0; i < v->n_ops; i++)
		CHECK(v->ops[i].file < v->n_files && v->ops[i].end >= v->ops[i].start);
	for (size_t i = 0; i < v->n_offsets; i++)
		CHECK(v->offsets[i].file < v->n_files && v->offsets[i].size > 0);
	CHECK(v->busy_time >= 0 && isfinite(v->busy_time));
}

static void check_view(const struct rama_job_view *v)
{
	double time = 0;

	check_names(v);
	check_times(v);
	for (int64_t r = 0; r < v->nprocs; r++) {
		CHECK(rama_job_io_time(&v->ranks[r].io) >= 0 &&
		      v->ranks[r].host < (int32_t)v->n_hosts);
		time += rama_job_io_time(&v->ranks[r].io);
	}
	CHECK(isfinite(time) && time <= rama_job_io_time(&v->total) * (1 + 1e-6) + 1e-6);
	CHECK(v->io_time >= 0 && v->io_rank < v->nprocs && v->active_ranks <= v->nprocs);
	CHECK(v->run_time <= 0 || v->io_time <= v->run_time);
}

static void view(struct rama_log *log, size_t n, bool trace)
{
	struct rama_job_view_options opt = { .trace = trace, .detail = trace };
	struct rama_err e = { 0 };
	struct rama_job_view v;
	int rc = 0;

	rama_job_view_init(&v, &opt);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = rama_job_view_expect(&v, &log[i], &e);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = rama_job_view_add_log(&v, &log[i], "log", &e);
	if (rc == 0) {
		CHECK(rama_job_view_finish(&v, &e) == 0);
		check_view(&v);
	} else {
		CHECK(e.code == rc && e.text[0] != '\0');
	}
	rama_job_view_fini(&v);
}

static void view_file(const uint8_t *data, size_t size, bool trace)
{
	struct rama_source src;
	struct rama_log log;

	rama_source_memory(&src, data, size);
	if (rama_log_open(&log, &src, NULL, NULL) != 0)
		return;
	if (log.job.nprocs < 100000) /* more are a matter of time only */
		view(&log, 1, trace);
	rama_log_close(&log);
}

static void view_parts(struct fuzz_input *in, uint8_t flags)
{
	struct fuzz_log l[2] = { { .minor = 41, .start_sec = 1600000000 },
				 { .minor = 41, .start_sec = 1600000000 } };
	struct fuzz_bytes built[2] = { { 0 } };
	struct rama_source src[2];
	struct rama_log log[2];
	size_t n = flags & 1 ? 2 : 1;

	for (unsigned i = 0; i < 2; i++) {
		l[i].swap = fuzz_take_byte(in) & 1;
		l[i].nprocs = fuzz_take_byte(in) + 1;
	}
	l[1].start_sec += flags & 8 ? 100 : 0;
	fuzz_log_parts(in, &l[0], &l[1]);
	for (size_t i = 0; i < n; i++) {
		fuzz_log_build(&l[i], &built[i]);
		rama_source_memory(&src[i], built[i].p, built[i].n);
		CHECK(rama_log_open(&log[i], &src[i], NULL, NULL) == 0);
	}
	view(log, n, !(flags & 2));
	for (size_t i = 0; i < n; i++)
		rama_log_close(&log[i]);
	fuzz_bytes_fini(&built[0]);
	fuzz_bytes_fini(&built[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t flags = fuzz_take_byte(&in);

	if (flags & 4)
		view_file(in.p, in.n, !(flags & 2));
	else
		view_parts(&in, flags);
	return 0;
}
