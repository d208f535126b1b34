/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <math.h>

#include "report/form.h"
#include "report/spread.h"

/* Student's table, 95 % to both sides */
static void quantiles(void **st)
{
	static const double table[][2] = { { 1, 12.706 }, { 2, 4.303 },	  { 5, 2.571 },
					   { 10, 2.228 }, { 11, 2.201 },  { 20, 2.086 },
					   { 30, 2.042 }, { 100, 1.984 }, { 1e9, 1.960 } };

	(void)st;
	for (size_t i = 0; i < LENGTH(table); i++)
		assert_true(fabs(rama_report_spread_t(table[i][0]) - table[i][1]) < 0.0015);
	assert_true(rama_report_spread_t(0.4) == rama_report_spread_t(1));
	assert_true(rama_report_spread_t(2.9) == rama_report_spread_t(2));
}

static void add(struct rama_report_group *g, double run_time, double io_time)
{
	struct rama_job_view v = { .name = (char *)"app",
				   .nprocs = 1,
				   .complete = true,
				   .run_time = run_time,
				   .io_time = io_time };

	assert_int_equal(rama_report_group_add(g, &v, "a.darshan"), 0);
}

static void compare(struct rama_report_spread *s, const struct rama_report_group *g)
{
	struct rama_err e;

	assert_int_equal(rama_report_spread_make(s, &g[0], &g[1], 0.05, &e), 0);
}

/* no run differs from another of its group: what differs is known exactly */
static void without_spread(void **st)
{
	struct rama_report_group g[2] = { { .path = "a" }, { .path = "b" } };
	struct rama_report_spread s;
	const struct rama_report_spread_metric *m;

	(void)st;
	for (unsigned i = 0; i < 3; i++)
		add(&g[0], 10, 4), add(&g[1], 10, 2);
	compare(&s, g);
	m = &s.metrics[RAMA_REPORT_METRIC_io_time];
	assert_true(m->low == -2 && m->high == -2 && m->deviation[0] == 0);
	assert_int_equal(m->change, RAMA_REPORT_LESS);
	assert_int_equal(m->better, 1);
	assert_true(s.faster && !s.slower && s.differs);
	assert_string_equal(s.verdict,
			    "B takes 50 % less time in I/O: 2.00 s ± 0 s instead of 4.00 s ± "
			    "0 s, more than runs of one group differ by.");
	/* nothing is there in both: no line */
	assert_false(s.metrics[RAMA_REPORT_METRIC_bytes_read].told);
	rama_report_spread_fini(&s);
	rama_report_group_fini(&g[0]);
	rama_report_group_fini(&g[1]);
}

/* of a group that did nothing there is no share of its time */
static void from_nothing(void **st)
{
	struct rama_report_group g[2] = { { .path = "a" }, { .path = "b" } };
	struct rama_report_spread s;

	(void)st;
	for (unsigned i = 0; i < 2; i++)
		add(&g[0], 10, 0), add(&g[1], 10, 2);
	compare(&s, g);
	assert_non_null(strstr(s.verdict, "100 % more time in I/O: 2.00 s"));
	rama_report_spread_fini(&s);
	rama_report_group_fini(&g[0]);
	rama_report_group_fini(&g[1]);
}

static void kinds_of_files(void **st)
{
	static const struct {
		const char *path;
		int rc;
		enum rama_report_file file;
	} known[] = { { NULL, 0, RAMA_REPORT_FILE_svg },
		      { "-", 0, RAMA_REPORT_FILE_svg },
		      { "fig", 0, RAMA_REPORT_FILE_svg },
		      { "a.b/fig", 0, RAMA_REPORT_FILE_svg },
		      { "fig.svg", 0, RAMA_REPORT_FILE_svg },
		      { "a.png/fig.pdf", 0, RAMA_REPORT_FILE_pdf },
		      { "fig.gif", RAMA_EUSAGE, RAMA_REPORT_FILE_svg },
		      { "fig.PDF", RAMA_EUSAGE, RAMA_REPORT_FILE_svg } };
	struct rama_err e = { 0 };

	(void)st;
	for (size_t i = 0; i < LENGTH(known); i++) {
		enum rama_report_file file = RAMA_REPORT_FILE_png;

		assert_int_equal(rama_report_file_of(known[i].path, &file, &e), known[i].rc);
		assert_int_equal(file, known[i].file);
	}
}

UNIT_GROUP(spread, test(quantiles), test(without_spread), test(from_nothing), test(kinds_of_files))
