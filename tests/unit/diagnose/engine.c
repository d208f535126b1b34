/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <math.h>

#include "jobs.h"

static struct job job;
static struct rama_diag d;

static void diagnose(void)
{
	struct rama_err e = { 0 };

	job_add_up(&job);
	assert_int_equal(rama_diag_make(&d, &job.v, &job.p, &e), 0);
}

static void done(void)
{
	rama_diag_fini(&d);
	job_end(&job);
}

/* 100,000 writes of 1,000 bytes in `time` seconds by one rank */
static void small_writes(double run_time, double time)
{
	job_begin(&job, 1, run_time);
	job_writes(&job, job_file(&job, "/data/out.dat", 0), 100000, 1000, time);
	diagnose();
}

static void limit(const char *name, double value)
{
	for (unsigned i = 0; i < rama_diag_n_limits; i++)
		if (strcmp(rama_diag_limits[i].name, name) == 0)
			job.p.value[i] = value;
}

static void levels_follow_from_costs(void **state)
{
	/* at 512 MiB/s the bytes need 0.186 s */
	(void)state;
	small_writes(100, 11);
	assert_int_equal(finding(&d, "W01")->level, RAMA_DIAG_LEVEL_HIGH);
	assert_true(finding(&d, "W01")->cost > 10.8 && finding(&d, "W01")->cost < 10.82);
	done();
	small_writes(100, 10); /* 9.8 %: a tenth is needed */
	assert_int_equal(finding(&d, "W01")->level, RAMA_DIAG_LEVEL_WARN);
	done();
	small_writes(100, 3);
	assert_int_equal(finding(&d, "W01")->level, RAMA_DIAG_LEVEL_WARN);
	done();
	small_writes(100, 1.1);
	assert_int_equal(finding(&d, "W01")->level, RAMA_DIAG_LEVEL_INFO);
	done();
}

/* 100,000 small writes with limits of our own: the level of W01 */
static enum rama_diag_level level_with(double high, double warn, double floor)
{
	enum rama_diag_level level;

	job_begin(&job, 1, 100);
	limit("cost_high", high);
	limit("cost_warn", warn);
	limit("high_floor", floor);
	job_writes(&job, job_file(&job, "/data/out.dat", 0), 100000, 1000, 11);
	diagnose();
	level = finding(&d, "W01")->level;
	done();
	return level;
}

static void limits_belong_to_the_level(void **state)
{
	double cost;

	(void)state;
	small_writes(100, 11);
	cost = finding(&d, "W01")->cost;
	done();
	assert_int_equal(level_with(cost / 100, 0.01, 1), RAMA_DIAG_LEVEL_HIGH);
	assert_int_equal(level_with(cost / 100 * 1.0001, 0.01, 1), RAMA_DIAG_LEVEL_WARN);
	assert_int_equal(level_with(0.5, cost / 100, 1), RAMA_DIAG_LEVEL_WARN);
	assert_int_equal(level_with(0.5, cost / 100 * 1.0001, 1), RAMA_DIAG_LEVEL_INFO);
	assert_int_equal(level_with(cost / 100, 0.01, cost), RAMA_DIAG_LEVEL_HIGH);
}

static void little_io_is_nothing_to_worry_about(void **state)
{
	(void)state;
	small_writes(10000, 99); /* 0.99 % */
	assert_int_equal(d.n_high + d.n_warn, 0);
	assert_string_equal(d.verdict, "I/O took 99.0 s of 10,000 s (1 %). Nothing to gain here.");
	assert_non_null(finding(&d, "T02"));
	done();
}

static void the_verdict_names_file_and_cost(void **state)
{
	(void)state;
	job_begin(&job, 2, 100);
	job_writes(&job, job_file(&job, "/data/out.dat", -1), 100000, 1000, 100);
	diagnose();
	assert_string_equal(d.verdict, "I/O took 50.0 s of 100 s (50 %). 100,000 small writes to "
				       "out.dat: about 49.9 s lost.");
	assert_true(d.write_share > 0.499 && d.write_share < 0.501 && d.other_share > 0.499);
	done();
}

static void no_io_is_said_so(void **state)
{
	(void)state;
	job_begin(&job, 4, 12);
	diagnose();
	assert_string_equal(d.verdict, "No I/O was recorded in 12.0 s.");
	assert_int_equal(d.n_high + d.n_warn, 0);
	done();
	job_begin(&job, 0, 0);
	diagnose();
	assert_int_equal(d.n_high + d.n_warn, 0);
	done();
}

static void exactly_one_mebibyte_is_not_small(void **state)
{
	(void)state;
	job_begin(&job, 1, 100);
	job_writes(&job, job_file(&job, "/data/out.dat", 0), 50000, 1048576, 50);
	diagnose();
	assert_null(finding(&d, "W01"));
	done();
	job_begin(&job, 1, 100);
	job_writes(&job, job_file(&job, "/data/out.dat", 0), 50000, 1048575, 50);
	diagnose();
	assert_non_null(finding(&d, "W01"));
	done();
}

/* the application writes 1 GiB through MPI-IO; below, as much is read back in small pieces */
static void sieving(void)
{
	struct rama_job_view_file *file;
	union rama_core_word *w;

	job_begin(&job, 4, 100);
	file = job_file(&job, "/data/out.h5", -1);
	w = job.posix[0];
	job_writes(&job, file, 20000, 53687, 40);
	w[RAMA_TAB_POSIX_READS].i = w[RAMA_TAB_POSIX_SIZE_READ_10K_100K].i = 20000;
	w[RAMA_TAB_POSIX_BYTES_READ].i = 20000 * 53687;
	w[RAMA_TAB_POSIX_MAX_BYTE_READ].i = 20000 * 53687 - 1;
	w[RAMA_TAB_POSIX_F_READ_TIME].f = 120;
	w[RAMA_TAB_POSIX_F_SLOWEST_RANK_TIME].f = 40;
	job_mpiio(&job, file);
	job.mpiio[0][RAMA_TAB_MPIIO_COLL_WRITES].i = 16;
	job.mpiio[0][RAMA_TAB_MPIIO_SIZE_WRITE_AGG_10M_100M].i = 16;
	job.mpiio[0][RAMA_TAB_MPIIO_BYTES_WRITTEN].i = 20000 * 53687;
	job.mpiio[0][RAMA_TAB_MPIIO_F_WRITE_TIME].f = 200; /* 50 s for each */
}

static void symptoms_follow_from_causes(void **state)
{
	(void)state;
	sieving();
	diagnose();
	assert_string_equal(d.findings[0].rule->id, "L01");
	assert_int_equal(d.findings[0].level, RAMA_DIAG_LEVEL_HIGH);
	/* 120 s of four ranks */
	assert_true(d.findings[0].cost > 29.9 && d.findings[0].cost < 30.1);
	assert_ptr_equal(finding(&d, "R02")->follows, d.findings[0].rule);
	assert_int_equal(finding(&d, "R02")->level, RAMA_DIAG_LEVEL_INFO);
	assert_true(finding(&d, "R02")->cost == 0);
	assert_non_null(strstr(finding(&d, "R02")->evidence, "follows from L01"));
	done();
}

static void without_the_cause_the_symptom_counts(void **state)
{
	(void)state;
	sieving();
	limit("modify_reads", 1); /* then it is no data sieving */
	limit("many_aggregators", 1);
	limit("call_amplification", 1e9); /* nor calls that MPI-IO splits */
	diagnose();
	assert_null(finding(&d, "L01"));
	assert_null(finding(&d, "R02")->follows);
	assert_int_equal(finding(&d, "R02")->level, RAMA_DIAG_LEVEL_HIGH);
	done();
}

static void incomplete_data_are_told_even_when_calm(void **state)
{
	(void)state;
	job_begin(&job, 1, 1000);
	job.v.complete = false;
	job.v.unfinished = 2;
	diagnose();
	assert_null(finding(&d, "I01")); /* what they did is all there */
	assert_int_equal(d.n_banner, 1);
	assert_string_equal(d.banner[0],
			    "2 processes did not end properly; what they did until then is here.");
	done();
	job_begin(&job, 1, 1000);
	job.v.complete = false;
	job.v.missed_calls = 2;
	diagnose();
	assert_int_equal(finding(&d, "I01")->level, RAMA_DIAG_LEVEL_WARN);
	assert_ptr_equal(finding(&d, "I01"), d.findings);
	done();
}

static void hostile_counters_do_no_harm(void **state)
{
	(void)state;
	job_begin(&job, 2, 100);
	job_file(&job, "/x", -1);
	for (unsigned i = RAMA_TAB_BASE_WORDS; i < RAMA_TAB_POSIX__WORDS; i++)
		job.posix[0][i].i = i % 3 == 0 ? INT64_MIN : i % 3 == 1 ? INT64_MAX : -1;
	for (unsigned i = RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP; i < RAMA_TAB_POSIX__WORDS; i++)
		job.posix[0][i].f = i % 2 ? (double)NAN : (double)INFINITY;
	diagnose();
	for (size_t i = 0; i < d.n_findings; i++)
		assert_true(d.findings[i].cost >= 0 && d.findings[i].cost <= job.v.io_time);
	done();
}

static void rules_are_well_formed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		const struct rama_diag_rule *r = &rama_diag_rules[i];

		assert_ptr_equal(rama_diag_rule_find(r->id), r);
		assert_true(strlen(r->id) == 3 && r->title[0] != '\0' && r->doc[0] != '\0' &&
			    r->condition[0] != '\0');
		/* ids are not codes of Drishti, which can be looked up as well */
		assert_null(strchr("PMSD", r->id[0]));
		assert_true(rama_diag_rule_code[i].how[0] != '\0' ||
			    r->most <= RAMA_DIAG_LEVEL_INFO || strcmp(r->topic, "incomplete") == 0);
		for (const char *at = r->causes; *at != '\0'; at += strspn(at, " +")) {
			char id[4] = { at[0], at[1], at[2], '\0' };

			if (at[0] == '*') { /* whatever it is; the last one */
				assert_true(at[1] == '\0');
				break;
			}
			assert_non_null(rama_diag_rule_find(id));
			assert_string_not_equal(id, r->id);
			at += 3;
		}
	}
}

static void drishti_codes_are_found(void **state)
{
	static const char *const codes[] = { "S01", "M01", "P01", "P02", "P03", "P04", "P05",
					     "P06", "P07", "P08", "P09", "P10", "P11", "P12",
					     "P13", "P14", "P15", "P16", "P17", "P18", "P19",
					     "P21", "P22", "M02", "M03", "M04", "M05", "M06",
					     "M07", "M08", "M09", "M10", "D01", "D02" };

	(void)state;
	for (size_t i = 0; i < LENGTH(codes); i++)
		if (rama_diag_rule_find(codes[i]) == NULL)
			fail_msg("%s has no rule", codes[i]);
	assert_string_equal(rama_diag_rule_find("p06")->id, "W01");
	assert_null(rama_diag_rule_find("P20"));
	assert_null(rama_diag_rule_find(""));
	assert_null(rama_diag_rule_find("P05 P15"));
}

UNIT_GROUP(engine, test(levels_follow_from_costs), test(limits_belong_to_the_level),
	   test(little_io_is_nothing_to_worry_about), test(the_verdict_names_file_and_cost),
	   test(no_io_is_said_so), test(exactly_one_mebibyte_is_not_small),
	   test(symptoms_follow_from_causes), test(without_the_cause_the_symptom_counts),
	   test(incomplete_data_are_told_even_when_calm), test(hostile_counters_do_no_harm),
	   test(rules_are_well_formed), test(drishti_codes_are_found))
