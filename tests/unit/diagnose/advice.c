/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "diagnose/advice.h"
#include "diagnose/rules.h"
#include "table/index.h"

static struct rama_job_view view;
static struct rama_job_view_file file;
static union rama_core_word posix[RAMA_TAB_POSIX__WORDS], mpiio[RAMA_TAB_MPIIO__WORDS],
	h5f[RAMA_TAB_H5F__WORDS];
static struct rama_job_view_stripes stripes;

static int set_up(void **state)
{
	(void)state;
	memset(&view, 0, sizeof(view));
	memset(&file, 0, sizeof(file));
	memset(posix, 0, sizeof(posix));
	memset(mpiio, 0, sizeof(mpiio));
	memset(h5f, 0, sizeof(h5f));
	file.name = "/scratch/run/out.dat";
	file.named = true;
	file.rec[RAMA_JOB_LAYER_POSIX] = posix;
	stripes = (struct rama_job_view_stripes){ .stripe_size = 1 << 20, .stripe_count = 1 };
	view.files = &file;
	view.n_files = view.n_real = 1;
	view.nprocs = 8;
	view.exe = "/opt/bin/app -n 1";
	view.name = "app";
	return 0;
}

static const char *filled(const char *text, enum rama_diag_language language,
			  const struct rama_diag_finding *fd)
{
	static char copy[8192];
	static struct rama_diag_advice_values values;
	struct rama_out o;

	rama_diag_advice_values_of(&values, &view, &file, fd);
	rama_out_init(&o, NULL, NULL);
	rama_diag_advice_fill(&o, text, language, &values);
	snprintf(copy, sizeof(copy), "%.*s", (int)o.used, o.used > 0 ? o.buf : "");
	rama_out_fini(&o);
	return copy;
}

static void names_become_literals(void **state)
{
	(void)state;
	assert_string_equal(filled("open({file});", RAMA_DIAG_LANGUAGE_C, NULL),
			    "open(\"/scratch/run/out.dat\");");
	assert_string_equal(filled("ls {dir}", RAMA_DIAG_LANGUAGE_SHELL, NULL),
			    "ls '/scratch/run'");
	assert_string_equal(filled("{program}", RAMA_DIAG_LANGUAGE_SHELL, NULL), "'/opt/bin/app'");
	assert_string_equal(filled("{command}", RAMA_DIAG_LANGUAGE_SHELL, NULL),
			    "mpirun -n 8 /opt/bin/app -n 1");
	view.processes = true; /* without MPI */
	assert_string_equal(filled("{command}", RAMA_DIAG_LANGUAGE_SHELL, NULL),
			    "/opt/bin/app -n 1");
	view.processes = false;
	assert_string_equal(filled("of {file}", RAMA_DIAG_LANGUAGES, NULL),
			    "of /scratch/run/out.dat");
	file.name = "it's";
	assert_string_equal(filled("{file} in {dir}", RAMA_DIAG_LANGUAGE_SHELL, NULL),
			    "'it'\\''s' in '.'");
	assert_string_equal(filled("{file}", RAMA_DIAG_LANGUAGE_FORTRAN, NULL), "'it''s'");
	file.name = "/top";
	assert_string_equal(filled("{dir}", RAMA_DIAG_LANGUAGE_PYTHON, NULL), "\"/\"");
	file.named = false;
	view.exe = "";
	assert_string_equal(filled("{file} {program}", RAMA_DIAG_LANGUAGE_C, NULL),
			    "\"output.dat\" \"./app\"");
}

static void other_braces_stay(void **state)
{
	(void)state;
	assert_string_equal(filled("if (x) { y; } {nobody} {} {file", RAMA_DIAG_LANGUAGE_C, NULL),
			    "if (x) { y; } {nobody} {} {file");
}

static void sizes_are_those_of_the_job(void **state)
{
	struct rama_diag_culprit ost = { .kind = "ost", .index = 14 };
	struct rama_diag_finding fd = { .culprits = &ost, .n_culprits = 1 };

	(void)state;
	posix[RAMA_TAB_POSIX_ACCESS1_ACCESS].i = 4096;
	posix[RAMA_TAB_POSIX_FILE_ALIGNMENT].i = 65536;
	file.io.bytes_written = 6LL << 30;
	file.stripes = &stripes;
	assert_string_equal(filled("{block} {alignment} {now_count} {stripe_count} {ranks} {ost}",
				   RAMA_DIAG_LANGUAGE_C, &fd),
			    "4096 65536 1 6 8 14");
	assert_string_equal(filled("{block}, {bytes}, {ranks}", RAMA_DIAG_LANGUAGES, NULL),
			    "4.0 KiB, 6.0 GiB, 8");
	view.nodes = 3;
	assert_string_equal(filled("{aggregators}", RAMA_DIAG_LANGUAGE_C, NULL), "3");
}

/* code with these numbers has to compile and to make sense, whatever the log says */
static void sizes_stay_in_range(void **state)
{
	static const int64_t odd[] = { INT64_MIN,     -1,	 0,	   1, 3, 511, 1 << 20,
				       (1 << 20) + 1, INT32_MAX, INT64_MAX };
	static struct rama_diag_advice_values v;
	struct rama_diag_culprit ost = { .kind = "ost" };
	struct rama_diag_finding fd = { .culprits = &ost, .n_culprits = 1 };

	(void)state;
	file.stripes = &stripes;
	for (size_t i = 0; i < LENGTH(odd) * LENGTH(odd); i++) {
		int64_t a = odd[i % LENGTH(odd)], b = odd[i / LENGTH(odd)];
		int64_t align;

		posix[RAMA_TAB_POSIX_ACCESS1_ACCESS].i = posix[RAMA_TAB_POSIX_FILE_ALIGNMENT].i = a;
		file.io = (struct rama_job_io){
			.reads = b, .writes = a, .bytes_read = a, .bytes_written = b
		};
		stripes.stripe_size = b;
		stripes.stripe_count = a;
		view.nprocs = b;
		view.nodes = a;
		ost.index = a;
		rama_diag_advice_values_of(&v, &view, &file, &fd);
		align = v.at[RAMA_DIAG_VALUE_alignment].number;
		assert_in_range(align, 512, 1 << 20);
		assert_int_equal(align & (align - 1), 0);
		assert_in_range(v.at[RAMA_DIAG_VALUE_ranks].number, 1, 1 << 30);
		assert_in_range(v.at[RAMA_DIAG_VALUE_stripe_count].number, 1, 64);
		assert_in_range(v.at[RAMA_DIAG_VALUE_stripe_size].number, 1 << 20, 16 << 20);
		assert_int_equal(v.at[RAMA_DIAG_VALUE_stripe_size].number % 65536, 0);
		assert_in_range(v.at[RAMA_DIAG_VALUE_transfer].number, 4 << 20, 16 << 20);
		assert_in_range(v.at[RAMA_DIAG_VALUE_aggregators].number, 1, 1 << 20);
		assert_in_range(v.at[RAMA_DIAG_VALUE_chunk].number, 8192, 512 * 1024);
		assert_in_range(v.at[RAMA_DIAG_VALUE_ost].number, 0, INT32_MAX);
		assert_in_range(v.at[RAMA_DIAG_VALUE_block].number, 1, 1 << 30);
	}
}

static unsigned fits(void)
{
	return rama_diag_advice_fits(&view, &file) &
	       ~(unsigned)(RAMA_DIAG_FIT_ANY | RAMA_DIAG_FIT_PARALLEL);
}

static void what_fits_is_what_the_program_calls(void **state)
{
	(void)state;
	assert_int_equal(fits(), RAMA_DIAG_FIT_POSIX | RAMA_DIAG_FIT_RANKS);
	view.processes = true; /* no MPI for a program without it */
	assert_int_equal(fits(), RAMA_DIAG_FIT_POSIX);
	view.processes = false;
	file.io.bytes_written = 1;
	assert_int_equal(fits(), RAMA_DIAG_FIT_POSIX | RAMA_DIAG_FIT_RANKS | RAMA_DIAG_FIT_WRITES);
	file.io.bytes_written = 0;
	view.nprocs = 1;
	assert_int_equal(fits(), RAMA_DIAG_FIT_POSIX);
	view.nprocs = 8;
	file.rec[RAMA_JOB_LAYER_MPIIO] = mpiio;
	assert_int_equal(fits(), RAMA_DIAG_FIT_ROMIO | RAMA_DIAG_FIT_MPIIO);
	file.name = "/scratch/a.h5"; /* many logs do not say that it was HDF5 */
	assert_int_equal(fits(), RAMA_DIAG_FIT_ROMIO | RAMA_DIAG_FIT_HDF5 | RAMA_DIAG_FIT_HDF5_MPI);
	file.name = "/scratch/a.nc";
	assert_int_equal(fits(), RAMA_DIAG_FIT_ROMIO | RAMA_DIAG_FIT_NETCDF |
					 RAMA_DIAG_FIT_NETCDF_MPI | RAMA_DIAG_FIT_PNETCDF);
	file.rec[RAMA_JOB_LAYER_H5F] = h5f;
	assert_int_equal(fits(),
			 RAMA_DIAG_FIT_ROMIO | RAMA_DIAG_FIT_NETCDF | RAMA_DIAG_FIT_NETCDF_MPI);
	file.rec[RAMA_JOB_LAYER_MPIIO] = NULL;
	file.name = "/scratch/a";
	assert_int_equal(fits(), RAMA_DIAG_FIT_HDF5);
	h5f[RAMA_TAB_H5F_USE_MPIIO].i = 1;
	assert_int_equal(fits(), RAMA_DIAG_FIT_HDF5 | RAMA_DIAG_FIT_HDF5_MPI);
	file.stripes = &stripes;
	view.exe = "/usr/bin/python3 train.py";
	view.name = "python3";
	assert_int_equal(fits(), RAMA_DIAG_FIT_HDF5 | RAMA_DIAG_FIT_HDF5_MPI |
					 RAMA_DIAG_FIT_LUSTRE | RAMA_DIAG_FIT_PYTHON);
}

static void rules_name_advice_that_exists(void **state)
{
	(void)state;
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		if (*rama_diag_rules[i].advice != '\0' &&
		    rama_diag_advice_find(rama_diag_rules[i].advice) == NULL)
			fail_msg("%s: there is no advice %s", rama_diag_rules[i].id,
				 rama_diag_rules[i].advice);
}

/* every {word} of advice and snippets is a row, and nothing is there for nothing */
static void templates_name_known_values(void **state)
{
	bool used[RAMA_DIAG_SNIPPETS] = { false };

	(void)state;
	for (unsigned i = 0; i < rama_diag_n_advices; i++) {
		const char *text = filled(rama_diag_advices[i].text, RAMA_DIAG_LANGUAGES, NULL);

		if (strpbrk(text, "{}") != NULL)
			fail_msg("%s: %s", rama_diag_advices[i].id, text);
		for (const enum rama_diag_snippet_id *id = rama_diag_advices[i].snippets;
		     *id != RAMA_DIAG_SNIPPET_none; id++)
			used[*id] = true;
	}
	for (int i = 1; i < RAMA_DIAG_SNIPPETS; i++) {
		const struct rama_diag_snippet_info *s = &rama_diag_snippet_info[i];

		if (!used[i])
			fail_msg("no advice has the snippet %s", s->symbol);
		if (strstr(s->text, "SPDX-License-Identifier: ") == NULL ||
		    strchr(s->text, '\n') == NULL)
			fail_msg("%s has no licence in its first line", s->symbol);
		for (const char *c = s->text; *c != '\0'; c++)
			if ((unsigned char)*c >= 0x80)
				fail_msg("%s is not plain ASCII", s->symbol);
	}
}

#define fresh(name) cmocka_unit_test_setup(name, set_up)
UNIT_GROUP(advice, fresh(names_become_literals), fresh(other_braces_stay),
	   fresh(sizes_are_those_of_the_job), fresh(sizes_stay_in_range),
	   fresh(what_fits_is_what_the_program_calls), fresh(rules_name_advice_that_exists),
	   fresh(templates_name_known_values))
