/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "jobs.h"

static struct job job;
static struct rama_diag_facts facts;

#define near(a, b) assert_true((a) > (b)-1e-9 && (a) < (b) + 1e-9)

static void add(struct rama_diag_cost *c, size_t file, enum rama_diag_rule_place place, double lost)
{
	struct rama_diag_sums x;

	rama_diag_facts_file(&facts, &job.file[file], &x);
	assert_int_equal(rama_diag_cost_add(c, &facts, &job.file[file], &x, place, lost), 0);
}

static void known(void)
{
	job_add_up(&job);
	assert_int_equal(rama_diag_facts_make(&facts, &job.v, &job.p), 0);
}

static void only_the_slowest_rank_counts(void **state)
{
	struct rama_diag_cost c = { 0 };

	(void)state;
	job_begin(&job, 4, 100);
	job_writes(&job, job_file(&job, "fast", 0), 10, 10, 10);
	job_writes(&job, job_file(&job, "slow", 1), 10, 10, 30);
	known();
	add(&c, 0, RAMA_DIAG_PLACE_DISK, 8); /* rank 0 is done early anyway */
	near(rama_diag_cost_path(&c, &facts), 0);
	add(&c, 1, RAMA_DIAG_PLACE_DISK, 25); /* then rank 1 needs 5 s and rank 0 needs 2 s */
	near(rama_diag_cost_path(&c, &facts), 25);
	rama_diag_cost_fini(&c);
	add(&c, 1, RAMA_DIAG_PLACE_DISK, 25); /* then rank 0 with its 10 s is the slowest */
	near(rama_diag_cost_path(&c, &facts), 20);
	rama_diag_cost_fini(&c);
	rama_diag_facts_fini(&facts);
	job_end(&job);
}

static void shared_files_cost_each_rank_its_share(void **state)
{
	struct rama_diag_cost c = { 0 };

	(void)state;
	job_begin(&job, 4, 100);
	job_writes(&job, job_file(&job, "shared", -1), 40, 10, 40); /* 10 s for each */
	known();
	add(&c, 0, RAMA_DIAG_PLACE_DISK, 20);
	near(rama_diag_cost_path(&c, &facts), 5);
	rama_diag_cost_fini(&c);
	rama_diag_facts_fini(&facts);
	job_end(&job);
}

static void nobody_loses_more_than_the_file_took(void **state)
{
	struct rama_diag_cost c = { 0 };

	(void)state;
	job_begin(&job, 2, 100);
	job_writes(&job, job_file(&job, "a", 0), 10, 10, 10);
	known();
	add(&c, 0, RAMA_DIAG_PLACE_DISK, 500);
	near(rama_diag_cost_path(&c, &facts), 10);
	rama_diag_cost_fini(&c);
	rama_diag_facts_fini(&facts);
	job_end(&job);
	/* nor what its rank spends in other files */
	job_begin(&job, 2, 100);
	job_writes(&job, job_file(&job, "a", 0), 10, 10, 10);
	job_writes(&job, job_file(&job, "b", 0), 10, 10, 30);
	known();
	add(&c, 0, RAMA_DIAG_PLACE_DISK, 500);
	near(rama_diag_cost_path(&c, &facts), 10);
	rama_diag_cost_fini(&c);
	rama_diag_facts_fini(&facts);
	job_end(&job);
}

static void times_of_threads_add_up_to_the_run_time_at_most(void **state)
{
	struct rama_diag_cost c = { 0 };

	(void)state;
	job_begin(&job, 1, 10);
	job_writes(&job, job_file(&job, "a", 0), 10, 10, 40); /* four threads at once */
	known();
	add(&c, 0, RAMA_DIAG_PLACE_DISK, 20);
	near(rama_diag_cost_path(&c, &facts), 5);
	rama_diag_cost_fini(&c);
	rama_diag_facts_fini(&facts);
	job_end(&job);
}

static void below_mpi_all_wait_for_the_slowest_on_disk(void **state)
{
	struct rama_diag_cost c = { 0 };
	struct rama_job_view_file *file;

	(void)state;
	job_begin(&job, 4, 100);
	file = job_file(&job, "collective", -1);
	job_writes(&job, file, 10, 10, 12); /* all of it by one aggregator */
	job_mpiio(&job, file);
	job.mpiio[0][RAMA_TAB_MPIIO_COLL_WRITES].i = 40;
	job.mpiio[0][RAMA_TAB_MPIIO_BYTES_WRITTEN].i = 100;
	job.mpiio[0][RAMA_TAB_MPIIO_F_WRITE_TIME].f = 60; /* 15 s for each */
	job.posix[0][RAMA_TAB_POSIX_F_SLOWEST_RANK_TIME].f = 12;
	known();
	add(&c, 0, RAMA_DIAG_PLACE_DISK, 6);
	near(rama_diag_cost_path(&c, &facts), 6);
	rama_diag_cost_fini(&c);
	rama_diag_facts_fini(&facts);
	job_end(&job);
}

UNIT_GROUP(cost, test(only_the_slowest_rank_counts), test(shared_files_cost_each_rank_its_share),
	   test(nobody_loses_more_than_the_file_took),
	   test(times_of_threads_add_up_to_the_run_time_at_most),
	   test(below_mpi_all_wait_for_the_slowest_on_disk))
