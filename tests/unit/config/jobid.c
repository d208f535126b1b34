/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "config/jobid.h"
#include "vars.h"

struct row {
	const char *named;
	const char *vars[5];
	int64_t id;
	const char *scheduler, *text, *task, *step;
};

static void check(const struct row *row)
{
	struct rama_config_jobid job;

	if (!rama_config_jobid_find(&job, row->named, vars_lookup, (void *)(uintptr_t)row->vars))
		fail_msg("no id from %s", row->vars[0]);
	if (job.id != row->id)
		fail_msg("%s gives %lld", row->vars[0], (long long)job.id);
	assert_string_equal(job.scheduler, row->scheduler);
	assert_string_equal(job.text, row->text);
	assert_string_equal(job.task, row->task);
	assert_string_equal(job.step, row->step);
}

static void batch_systems_are_known(void **state)
{
	static const struct row rows[] = {
		{ "", { "SLURM_JOB_ID=123456" }, 123456, "slurm", "123456", "", "" },
		{ "",
		  { "SLURM_JOB_ID=7", "SLURM_ARRAY_TASK_ID=3", "SLURM_STEP_ID=0" },
		  7,
		  "slurm",
		  "7",
		  "3",
		  "0" },
		{ "", { "SLURM_JOBID=8" }, 8, "slurm", "8", "", "" },
		{ "",
		  { "PBS_JOBID=1234.server.example" },
		  1234,
		  "pbs",
		  "1234.server.example",
		  "",
		  "" },
		{ "",
		  { "PBS_JOBID=99[7].pbs", "PBS_ARRAY_INDEX=7" },
		  99,
		  "pbs",
		  "99[7].pbs",
		  "7",
		  "" },
		{ "", { "LSB_JOBID=555", "LSB_JOBINDEX=0" }, 555, "lsf", "555", "", "" },
		{ "", { "COBALT_JOBID=31" }, 31, "cobalt", "31", "", "" },
		{ "", { "JOB_ID=42", "SGE_TASK_ID=undefined" }, 42, "sge", "42", "", "" },
		{ "", { "JOB_ID=42", "SGE_TASK_ID=9" }, 42, "sge", "42", "9", "" },
		{ "",
		  { "PALS_APID=8c1f9c52-1111-2222-3333-444455556666" },
		  8554963534223593620,
		  "pals",
		  "8c1f9c52-1111-2222-3333-444455556666",
		  "",
		  "" },
		{ "", { "SLURM_JOB_ID=9876543210" }, 9876543210, "slurm", "9876543210", "", "" },
		/* the inner one of two */
		{ "", { "SLURM_JOB_ID=5", "FLUX_JOB_ID=f2" }, 1, "flux", "f2", "", "" },
		/* rows that say nothing are passed over */
		{ "", { "SLURM_JOB_ID=", "PBS_JOBID=12.a" }, 12, "pbs", "12.a", "", "" },
		{ "", { "SLURM_JOB_ID=none", "PBS_JOBID=12.a" }, 12, "pbs", "12.a", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		check(&rows[i]);
}

/* pairs of the description of Flux's ids */
static void flux_ids(void **state)
{
	static const struct {
		const char *var;
		int64_t id;
	} rows[] = {
		{ "FLUX_JOB_ID=\xc6\x92"
		  "1",
		  0 },
		{ "FLUX_JOB_ID=fz", 57 },
		{ "FLUX_JOB_ID=\xc6\x92NH", 1234 },
		{ "FLUX_JOB_ID=fZZ", 1888 },
		{ "FLUX_JOB_ID=f211", 3364 },
		{ "FLUX_JOB_ID=fLUv", 65535 },
		{ "FLUX_JOB_ID=f7YXq9G", 4294967295 },
		{ "FLUX_JOB_ID=fxyzzy", 633528662 },
		{ "FLUX_JOB_ID=\xc6\x92uZZybuNNy", 6731191091817518 },
		{ "FLUX_JOB_ID=fNQm6nKp8qFC", INT64_MAX },
		{ "FLUX_JOB_ID=633528662", 633528662 },
		{ "FLUX_JOB_ID=fIl", 8870482843768700077 },	     /* no digits: hashed */
		{ "FLUX_JOB_ID=fjpXCZedGfVQ", 2282057642152223367 }, /* more than 63 bits: hashed */
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct rama_config_jobid job;

		assert_true(rama_config_jobid_find(&job, "", vars_lookup, VARS(rows[i].var)));
		if (job.id != rows[i].id)
			fail_msg("%s gives %lld", rows[i].var, (long long)job.id);
	}
}

static void a_named_variable_goes_first(void **state)
{
	static const struct row rows[] = {
		{ "MY_ID", { "SLURM_JOB_ID=5", "MY_ID=77" }, 77, "", "77", "", "" },
		{ "MY_ID", { "MY_ID= -12abc" }, -12, "", " -12abc", "", "" },
		{ "MY_ID", { "MY_ID=4294967299" }, 3, "", "4294967299", "", "" }, /* 32 bits */
		{ "PBS_JOBID", { "PBS_JOBID=1.a" }, 1, "", "1.a", "", "" },
		/* not there, or no number */
		{ "MY_ID", { "SLURM_JOB_ID=5" }, 5, "slurm", "5", "", "" },
		{ "MY_ID", { "MY_ID=x1", "SLURM_JOB_ID=5" }, 5, "slurm", "5", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		check(&rows[i]);
}

static void often_there_is_none(void **state)
{
	struct rama_config_jobid job;

	(void)state;
	assert_false(rama_config_jobid_find(&job, "", vars_lookup, VARS("HOME=/home/u")));
	assert_false(rama_config_jobid_find(&job, "MY_ID", vars_lookup, VARS("MY_ID=")));
	/* anybody's JOB_ID is not Grid Engine's */
	assert_false(rama_config_jobid_find(&job, "", vars_lookup, VARS("JOB_ID=42")));
	assert_false(rama_config_jobid_find(&job, "", vars_lookup, VARS("PALS_APID=")));
}

static void words(const char *const *vars, const char *expected)
{
	char got[512];

	rama_config_jobid_words(got, sizeof(got), vars_lookup, (void *)(uintptr_t)vars);
	assert_string_equal(got, expected);
}

static void what_batch_systems_say(void **state)
{
	(void)state;
	words(VARS("SLURM_JOB_ID=12", "SLURM_STEP_ID=3", "SLURM_ARRAY_JOB_ID=11",
		   "SLURM_ARRAY_TASK_ID=0", "SLURM_RESTART_COUNT=1", "SLURM_JOB_NAME=my run",
		   "SLURM_JOB_ACCOUNT=acc", "SLURM_JOB_PARTITION=gpu", "SLURM_CLUSTER_NAME=c",
		   "SLURM_JOB_NODELIST=n[1-2]"),
	      "iorama_step=3\niorama_array=11_0\niorama_restart=1\niorama_name=my run\n"
	      "iorama_account=acc\niorama_partition=gpu\niorama_cluster=c\n"
	      "iorama_nodes=n[1-2]\n");
	words(VARS("SLURM_JOB_ID=12", "SLURM_TASK_PID=77"), "iorama_step=batch\n");
	words(VARS("PBS_JOBID=99[7].pbs", "PBS_ARRAY_INDEX=7", "PBS_JOBNAME=n", "PBS_QUEUE=q",
		   "PBS_ACCOUNT=a"),
	      "iorama_array=99_7\niorama_name=n\niorama_account=a\niorama_partition=q\n");
	words(VARS("LSB_JOBID=5", "LSB_JOBINDEX=0", "LSB_QUEUE=q", "LSB_PROJECT_NAME=p"),
	      "iorama_account=p\niorama_partition=q\n");
	words(VARS("JOB_ID=42", "SGE_TASK_ID=9", "RESTARTED=0", "JOB_NAME=j", "QUEUE=all.q"),
	      "iorama_array=42_9\niorama_restart=0\niorama_name=j\niorama_partition=all.q\n");
	words(VARS("JOB_ID=42", "JOB_NAME=j"), ""); /* anybody's */
	words(VARS("SLURM_JOB_NAME=j"), "");
}

static void words_harm_no_lines(void **state)
{
	char var[600] = "SLURM_JOB_NAME=", nodes[600] = "SLURM_JOB_NODELIST=", expected[700],
	     few[40];
	const char *const long_ones[] = { "SLURM_JOB_ID=1", var, nodes, NULL };

	(void)state;
	words(VARS("SLURM_JOB_ID=1", "SLURM_JOB_NAME=a\niorama_step=9\x1b[31m"),
	      "iorama_name=a_iorama_step=9_[31m\n");
	memset(var + 15, 'x', 95);
	strcpy(var + 110, "\xc3\xa4 and more"); /* the letter would be cut into halves */
	memset(nodes + 19, 'n', 100);
	strcpy(expected, "iorama_name=");
	memset(expected + 12, 'x', 95);
	strcpy(expected + 107, "\n");
	words(long_ones, expected);
	/* all of a line, or nothing of it; what is shorter follows */
	rama_config_jobid_words(few, 30, vars_lookup,
				VARS("SLURM_JOB_ID=1", "SLURM_STEP_ID=3",
				     "SLURM_JOB_NAME=a long one", "SLURM_CLUSTER_NAME="));
	assert_string_equal(few, "iorama_step=3\n");
}

UNIT_GROUP(jobid, test(what_batch_systems_say), test(words_harm_no_lines),
	   test(batch_systems_are_known), test(flux_ids), test(a_named_variable_goes_first),
	   test(often_there_is_none))
