/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "launch/run/plan.h"

static enum rama_launch_kind family(void *ctx, const char *program)
{
	(void)program;
	return *(const enum rama_launch_kind *)ctx;
}

static const struct rama_launch_var vars[] = { { "LD_PRELOAD", "/l.so" }, { "IORAMA_JOB", "j" } };

/* words with blanks between them, before and after */
static void check(const char *words, enum rama_launch_kind mpirun, const char *planned,
		  enum rama_launch_kind kind, size_t program)
{
	struct rama_launch_in in = { .vars = vars, .n_vars = 2, .family = family, .ctx = &mpirun };
	char copy[256], *argv[32] = { 0 }, *save = NULL, text[512] = "";
	struct rama_arena a = { 0 };
	struct rama_launch_plan p;
	size_t n = 0;

	snprintf(copy, sizeof(copy), "%s", words);
	for (char *w = strtok_r(copy, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	in.argv = argv;
	assert_int_equal(rama_launch_plan_make(&p, &in, &a), 0);
	for (size_t i = 0; p.argv[i] != NULL; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i > 0 ? " " : "",
			 p.argv[i]);
	assert_string_equal(text, planned);
	assert_int_equal(p.kind, kind);
	assert_int_equal(p.program, program);
	assert_int_equal(p.preload, rama_launch_family_name(kind) == NULL);
	rama_arena_fini(&a);
}

static void programs_stay_as_they_are(void **state)
{
	(void)state;
	check("prog -n 3", RAMA_LAUNCH_MPI, "prog -n 3", RAMA_LAUNCH_PROGRAM, 0);
	check("nice -n 5 prog x", RAMA_LAUNCH_MPI, "nice -n 5 prog x", RAMA_LAUNCH_PROGRAM, 3);
	check("env A=b prog", RAMA_LAUNCH_MPI, "env A=b prog", RAMA_LAUNCH_PROGRAM, 2);
}

static void env_that_clears_is_told_again(void **state)
{
	(void)state;
	check("env -i prog", RAMA_LAUNCH_MPI, "env -i LD_PRELOAD=/l.so IORAMA_JOB=j prog",
	      RAMA_LAUNCH_PROGRAM, 4);
	check("env LD_PRELOAD=/x.so prog", RAMA_LAUNCH_MPI, "env LD_PRELOAD=/l.so:/x.so prog",
	      RAMA_LAUNCH_PROGRAM, 2);
}

static void families_get_their_options(void **state)
{
	(void)state;
	check("mpirun -n 2 p", RAMA_LAUNCH_OPENMPI,
	      "mpirun -x LD_PRELOAD=/l.so -x IORAMA_JOB -n 2 p", RAMA_LAUNCH_OPENMPI, 0);
	check("mpirun -n 1 p : -n 1 q", RAMA_LAUNCH_OPENMPI,
	      "mpirun -x LD_PRELOAD=/l.so -x IORAMA_JOB -n 1 p : -x LD_PRELOAD=/l.so -x "
	      "IORAMA_JOB -n 1 q",
	      RAMA_LAUNCH_OPENMPI, 0);
	check("mpiexec -n 2 p", RAMA_LAUNCH_HYDRA,
	      "mpiexec -genv LD_PRELOAD /l.so -genv IORAMA_JOB j -n 2 p", RAMA_LAUNCH_HYDRA, 0);
	check("mpirun -n 2 p", RAMA_LAUNCH_MPI, "mpirun -n 2 p", RAMA_LAUNCH_MPI, 0);
	check("srun -n 2 p", RAMA_LAUNCH_MPI, "srun -n 2 --export=ALL,LD_PRELOAD=/l.so p",
	      RAMA_LAUNCH_SRUN, 0);
	check("srun --export=A p", RAMA_LAUNCH_MPI, "srun --export=A,IORAMA_JOB,LD_PRELOAD=/l.so p",
	      RAMA_LAUNCH_SRUN, 0);
	check("srun --export NONE p", RAMA_LAUNCH_MPI,
	      "srun --export=IORAMA_JOB,LD_PRELOAD=/l.so p", RAMA_LAUNCH_SRUN, 0);
}

static void words_are_found(void **state)
{
	char *sudo[] = { "nice", "sudo", "p", NULL }, *mpi[] = { "env", "A=b", "srun", "p", NULL },
	     *plain[] = { "p", NULL };
	struct rama_launch_in in = { .argv = sudo };

	(void)state;
	assert_string_equal(rama_launch_refused(&in), "sudo");
	assert_true(rama_launch_parallel(&in) == SIZE_MAX);
	in.argv = mpi;
	assert_null(rama_launch_refused(&in));
	assert_int_equal(rama_launch_parallel(&in), 2);
	in.argv = plain;
	assert_null(rama_launch_refused(&in));
	assert_true(rama_launch_parallel(&in) == SIZE_MAX);
}

UNIT_GROUP(plan, test(programs_stay_as_they_are), test(env_that_clears_is_told_again),
	   test(families_get_their_options), test(words_are_found))
