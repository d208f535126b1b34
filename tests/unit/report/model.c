/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of views made by hand. */
#include "unit.h"

#include <math.h>

#include "report/form.h"

#define RANKS 5000

struct job {
	struct rama_job_view view;
	struct rama_diag diagnosis;
	struct rama_diag_profile profile;
	struct rama_report report;
	struct rama_job_view_rank *ranks;
	struct rama_job_view_file files[4];
	struct rama_job_view_group groups[2];
	union rama_core_word total[RAMA_TAB_POSIX__WORDS];
	union rama_core_word shared[RAMA_TAB_POSIX__WORDS];
	enum rama_diag_check *checks;
	const char *log;
};

/* Rank i spends i seconds; three files, of which one is a standard stream. */
static void make(struct job *j, int64_t nprocs)
{
	struct rama_job_view *v = &j->view;

	*j = (struct job){ .log = "a \"b\",c" };
	j->ranks = calloc((size_t)nprocs, sizeof(*j->ranks));
	j->checks = calloc(rama_diag_n_rules, sizeof(*j->checks));
	assert_int_equal(rama_diag_profile_init(&j->profile), 0);
	j->diagnosis.checks = j->checks;
	j->diagnosis.verdict = "It ran.";
	for (int64_t i = 0; i < nprocs; i++)
		j->ranks[i] = (struct rama_job_view_rank){ .io.read_time = (double)i, .host = -1 };
	j->files[0] = (struct rama_job_view_file){ .id = 1,
						   .name = "/a",
						   .mount = -1,
						   .group = 0,
						   .rank = -1,
						   .slow_rank = -1,
						   .io = { .read_time = 1 } };
	j->files[1] = (struct rama_job_view_file){
		.id = 2, .name = "<STDOUT>", .pseudo = true, .io = { .read_time = 9 }
	};
	j->files[2] = (struct rama_job_view_file){ .id = UINT64_MAX,
						   .name = "/b,\"c\"",
						   .mount = -1,
						   .group = 1,
						   .rank = 3,
						   .slow_rank = 3,
						   .io = { .read_time = 2 } };
	j->files[3] = (struct rama_job_view_file){
		.id = 4, .name = "/looked/for", .unopened = true, .io = { .meta_time = 3 }
	};
	j->groups[0] =
		(struct rama_job_view_group){ .pattern = "/a", .files = 1, .io = j->files[0].io };
	j->groups[1] =
		(struct rama_job_view_group){ .pattern = "/b", .files = 1, .io = j->files[2].io };
	v->logs = &j->log;
	v->n_logs = 1;
	v->name = "job";
	v->exe = v->log_version = v->metadata = "";
	v->nprocs = nprocs;
	v->run_time = 10;
	v->io_rank = -1;
	v->ranks = j->ranks;
	v->files = j->files;
	v->n_files = LENGTH(j->files);
	v->n_real = 2;
	v->groups = j->groups;
	v->n_groups = LENGTH(j->groups);
	v->complete = true;
}

static void start(struct job *j)
{
	assert_int_equal(rama_report_init(&j->report, &j->view, &j->diagnosis, &j->profile), 0);
}

static void stop(struct job *j)
{
	rama_report_fini(&j->report);
	rama_diag_profile_fini(&j->profile);
	free(j->checks);
	free(j->ranks);
}

static void files_come_by_time_without_streams(void **st)
{
	struct job j;

	(void)st;
	make(&j, 4);
	start(&j);
	assert_int_equal(j.report.n_files, 2);
	assert_int_equal(j.report.files[0], 2);
	assert_int_equal(j.report.files[1], 0);
	assert_int_equal(j.report.groups[0], 1);
	assert_int_equal(j.report.group_row[1], 0);
	stop(&j);
}

static bool shows(const struct rama_report *r, int64_t rank)
{
	for (size_t i = 0; i < r->n_ranks; i++)
		if (r->ranks[i] == rank)
			return true;
	return false;
}

static void few_ranks_are_all_there(void **st)
{
	struct job j;

	(void)st;
	make(&j, 1000);
	start(&j);
	assert_int_equal(j.report.n_ranks, 1000);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(j.report.ranks[i], i);
	assert_int_equal(j.report.slow[0], 999);
	assert_true(j.report.rank_times[0] == 999);
	stop(&j);
}

static void of_many_the_telling_ones(void **st)
{
	struct job j;

	(void)st;
	make(&j, RANKS);
	start(&j);
	assert_in_range(j.report.n_ranks, 900, 1024);
	assert_true(shows(&j.report, 0));
	assert_true(shows(&j.report, 340)); /* among the fastest third */
	assert_true(shows(&j.report, RANKS - 1));
	assert_true(shows(&j.report, RANKS - 341));
	assert_int_equal(j.report.ranks[j.report.slow[0]], RANKS - 1);
	assert_int_equal(j.report.ranks[j.report.slow[9]], RANKS - 10);
	for (size_t i = 1; i < j.report.n_ranks; i++) {
		assert_true(j.report.ranks[i] > j.report.ranks[i - 1]);
		assert_true(j.report.ranks[i] - j.report.ranks[i - 1] < 20); /* evenly spaced */
	}
	stop(&j);
}

static void no_ranks_and_no_files(void **st)
{
	struct job j;

	(void)st;
	make(&j, 1);
	j.view.nprocs = 0;
	j.view.n_files = j.view.n_groups = 0;
	start(&j);
	assert_int_equal(j.report.n_ranks, 0);
	assert_int_equal(j.report.n_slow, 0);
	stop(&j);
}

/* 100 reads of two ranks: 60 consecutive, 20 more sequential, the first of each rank, 18 others */
static void pattern_without_first_accesses(void **st)
{
	const struct rama_report_pattern *p;
	struct job j;

	(void)st;
	make(&j, 2);
	j.total[RAMA_TAB_POSIX_READS].i = j.shared[RAMA_TAB_POSIX_READS].i = 100;
	j.total[RAMA_TAB_POSIX_CONSEC_READS].i = 60;
	j.total[RAMA_TAB_POSIX_SEQ_READS].i = 80;
	j.total[RAMA_TAB_POSIX_RW_SWITCHES].i = 3;
	j.total[RAMA_TAB_POSIX_FILE_NOT_ALIGNED].i = 7;
	j.total[RAMA_TAB_POSIX_MEM_NOT_ALIGNED].i = -1;
	j.total[RAMA_TAB_POSIX_ACCESS1_ACCESS].i = 4096;
	j.total[RAMA_TAB_POSIX_ACCESS1_COUNT].i = 99;
	j.files[0].rec[RAMA_JOB_LAYER_POSIX] = j.shared;
	j.files[0].ranks = 2;
	j.view.layer[RAMA_JOB_LAYER_POSIX] =
		(struct rama_job_view_layer){ .used = true, .total = j.total, .io.reads = 100 };
	start(&j);
	assert_int_equal(j.report.n_patterns, 1);
	p = &j.report.patterns[0];
	assert_int_equal(p->use[1].consecutive, 60);
	assert_int_equal(p->use[1].sequential, 20);
	assert_int_equal(p->use[1].random, 18);
	assert_int_equal(p->switches, 3);
	assert_int_equal(p->file_unaligned, 7);
	assert_int_equal(p->memory_unaligned, 0);
	assert_int_equal(p->common[0].size, 4096);
	assert_int_equal(p->common[0].count, 99);
	assert_int_equal(p->common[1].count, 0);
	assert_int_equal(j.report.n_operations, 1); /* of all counters only reads are calls */
	assert_string_equal(j.report.operations[0].name, "reads");
	stop(&j);
}

static const char *csv(struct job *j, const char *table, struct rama_out *o)
{
	rama_out_init(o, NULL, NULL);
	rama_report_form_csv.report(o, &j->report, &(struct rama_report_ask){ .table = table });
	rama_out_char(o, '\0');
	return o->buf;
}

static void csv_quotes_what_needs_it(void **st)
{
	struct rama_out o;
	struct job j;

	(void)st;
	make(&j, 4);
	start(&j);
	assert_string_equal(csv(&j, "groups", &o),
			    "log,pattern,files,reads,writes,bytes_read,bytes_written,time\n"
			    "\"a \"\"b\"\",c\",/b,1,0,0,0,0,2\n"
			    "\"a \"\"b\"\",c\",/a,1,0,0,0,0,1\n");
	rama_out_fini(&o);
	assert_non_null(strstr(csv(&j, "files", &o), ",\"/b,\"\"c\"\"\",18446744073709551615,0,,"));
	rama_out_fini(&o);
	assert_null(rama_report_table_find("nothing"));
	stop(&j);
}

static void figures_are_short(void **st)
{
	static const struct {
		double v;
		const char *text;
	} cases[] = { { 0, "0" },	  { 1e15, "1000000000000000" },
		      { 0.1, "0.1" },	  { 1.0 / 3, "0.333333333" },
		      { -2, "-2" },	  { NAN, "null" },
		      { 1e300, "1e+300" } };

	(void)st;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct rama_json json;
		struct rama_out o;

		rama_out_init(&o, NULL, NULL);
		rama_json_init(&json, &o);
		rama_cell_figure_json(&json, cases[i].v);
		rama_out_char(&o, '\0');
		assert_string_equal(o.buf, cases[i].text);
		rama_out_fini(&o);
	}
}

static void metadata_keys_are_unique(void **st)
{
	struct rama_out o;
	struct job j;

	(void)st;
	make(&j, 1);
	j.view.metadata = "lib=1\nnote=one\nnonsense\n=x\nnote=two \"2\"\nlib_ver=3\nnote=";
	start(&j);
	rama_out_init(&o, NULL, NULL);
	rama_report_json(&o, &j.report);
	rama_out_char(&o, '\0');
	assert_non_null(strstr(o.buf, "\"metadata\":{\"lib\":\"1\",\"note\":\"one\\u000atwo "
				      "\\\"2\\\"\\u000a\",\"lib_ver\":\"3\"}"));
	rama_out_fini(&o);
	stop(&j);
}

/* every form of the smallest report, at widths that are too small for it */
static void forms_of_next_to_nothing(void **st)
{
	static const unsigned widths[] = { 0, 40, 41, 57, 80, 1000 };
	struct job j;

	(void)st;
	make(&j, 1);
	start(&j);
	for (size_t i = 0; i < LENGTH(widths); i++) {
		struct rama_report_look look = { .width = widths[i],
						 .verbose = i % 2 == 0,
						 .utf8 = i > 2 };
		struct rama_out o;

		rama_out_init(&o, NULL, NULL);
		rama_report_text(&o, &j.report, &look);
		rama_report_form_markdown.report(&o, &j.report,
						 &(struct rama_report_ask){ .look = look });
		rama_out_char(&o, '\0');
		assert_non_null(strstr(o.buf, "It ran.\n"));
		rama_out_fini(&o);
	}
	stop(&j);
}

UNIT_GROUP(model, test(files_come_by_time_without_streams), test(few_ranks_are_all_there),
	   test(of_many_the_telling_ones), test(no_ranks_and_no_files),
	   test(pattern_without_first_accesses), test(csv_quotes_what_needs_it),
	   test(figures_are_short), test(metadata_keys_are_unique), test(forms_of_next_to_nothing))
