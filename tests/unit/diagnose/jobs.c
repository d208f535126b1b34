/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "jobs.h"

void job_begin(struct job *j, int64_t ranks, double run_time)
{
	memset(j, 0, sizeof(*j));
	assert_true(ranks <= JOB_RANKS);
	j->v.nprocs = ranks;
	j->v.run_time = run_time;
	j->v.complete = true;
	j->v.files = j->file;
	j->v.ranks = j->rank;
	j->v.exe = j->v.name = j->v.metadata = "";
	j->v.active_ranks = -1;
	j->v.io_rank = -1;
	assert_int_equal(rama_diag_profile_init(&j->p), 0);
}

struct rama_job_view_file *job_file(struct job *j, const char *name, int64_t rank)
{
	size_t i = j->v.n_files++;
	struct rama_job_view_file *file = &j->file[i];

	assert_true(i < JOB_FILES);
	file->id = i + 1;
	file->name = name;
	file->named = true;
	file->mount = -1;
	file->rec[RAMA_JOB_LAYER_POSIX] = j->posix[i];
	file->rows[RAMA_JOB_LAYER_POSIX] = 1;
	file->ranks = rank < 0 ? (uint32_t)j->v.nprocs : 1;
	file->shared = rank < 0;
	file->rank = rank;
	file->slow_rank = rank;
	file->top = RAMA_JOB_LAYER_POSIX;
	j->posix[i][RAMA_TAB_POSIX_OPENS].i = file->ranks;
	return file;
}

void job_mpiio(struct job *j, struct rama_job_view_file *file)
{
	file->rec[RAMA_JOB_LAYER_MPIIO] = j->mpiio[file - j->file];
	file->rows[RAMA_JOB_LAYER_MPIIO] = 1;
	file->top = RAMA_JOB_LAYER_MPIIO;
}

/* upper ends of the size classes below 4 MiB */
static unsigned size_class(int64_t size)
{
	static const int64_t end[] = { 100, 1024, 10240, 102400, 1048576 };
	unsigned i = 0;

	while (i < LENGTH(end) && size > end[i])
		i++;
	return i;
}

void job_writes(struct job *j, struct rama_job_view_file *file, int64_t calls, int64_t size,
		double time)
{
	union rama_core_word *w = j->posix[file - j->file];

	w[RAMA_TAB_POSIX_WRITES].i += calls;
	w[RAMA_TAB_POSIX_BYTES_WRITTEN].i += calls * size;
	w[RAMA_TAB_POSIX_MAX_BYTE_WRITTEN].i = w[RAMA_TAB_POSIX_BYTES_WRITTEN].i - 1;
	w[RAMA_TAB_POSIX_SIZE_WRITE_0_100 + size_class(size)].i += calls;
	w[RAMA_TAB_POSIX_SEQ_WRITES].i += calls - file->ranks;
	w[RAMA_TAB_POSIX_CONSEC_WRITES].i += calls - file->ranks;
	w[RAMA_TAB_POSIX_ACCESS1_ACCESS].i = size;
	w[RAMA_TAB_POSIX_ACCESS1_COUNT].i = calls;
	w[RAMA_TAB_POSIX_F_WRITE_TIME].f += time;
}

void job_add_up(struct job *j)
{
	for (size_t i = 0; i < j->v.n_files; i++) {
		struct rama_job_view_file *file = &j->file[i];
		struct rama_job_io disk =
			rama_job_io_of(RAMA_JOB_LAYER_POSIX, file->rec[RAMA_JOB_LAYER_POSIX]);
		int64_t first = file->rank < 0 ? 0 : file->rank, n = file->ranks;

		file->io = rama_job_io_of(file->top, file->rec[file->top]);
		file->most_time = rama_job_io_time(&disk) / (double)n;
		rama_job_io_add(&j->v.total, &file->io);
		for (int64_t r = first; r < first + n; r++) {
			j->rank[r].io.read_time += file->io.read_time / (double)n;
			j->rank[r].io.write_time += file->io.write_time / (double)n;
			j->rank[r].io.meta_time += file->io.meta_time / (double)n;
			j->rank[r].io.bytes_written += file->io.bytes_written / n;
			j->rank[r].io.bytes_read += file->io.bytes_read / n;
		}
	}
	for (int64_t r = 0; r < j->v.nprocs; r++) {
		double time = rama_job_io_time(&j->rank[r].io);

		j->v.mean_io_time += time / (double)j->v.nprocs;
		if (time > j->v.io_time) {
			j->v.io_time = time;
			j->v.io_rank = r;
		}
	}
	if (j->v.io_time > j->v.run_time)
		j->v.io_time = j->v.run_time;
}

void job_end(struct job *j)
{
	rama_diag_profile_fini(&j->p);
}

const struct rama_diag_finding *finding(const struct rama_diag *d, const char *rule)
{
	for (size_t i = 0; i < d->n_findings; i++)
		if (strcmp(d->findings[i].rule->id, rule) == 0)
			return &d->findings[i];
	return NULL;
}
