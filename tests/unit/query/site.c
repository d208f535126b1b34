/* SPDX-License-Identifier: BSD-3-Clause */
/* What pages of a site ask, of jobs whose every figure is known: what was lost, what moves, what
 * costs, who was there, and
 * whose jobs count. */
#include "fill.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/out.h"
#include "query/site.h"

#define B INT64_C(1699999200) /* s; a whole hour */
#define NS INT64_C(1000000000)

static const char jobs[] =
	"INSERT INTO jobs (number, key, name, username, state, start_ns, end_ns, "
	"run_time, nprocs, "
	"nodes, io_time, cost, events, "
	"lost, bytes_read) VALUES"
	" (1, 'k1', 'solver', 'ada', 'done', 1699999200000000000, 1699999300000000000, "
	"100, 4, 2, "
	"50, 30, 10, 2, 1000),"
	/* findings that overlap: it loses no more than its I/O takes; nobody counted nodes */
	" (2, 'k2', 'solver', 'bob', 'done', 1699999210000000000, 1699999260000000000, 50, 4, 0, "
	"20, 40, 5, 0, 3000),"
	" (3, 'k3', 'tool', 'ada', 'running', 1699999250000000000, NULL, NULL, 1, 1, NULL, NULL, "
	"0, 0, 10),"
	" (4, 'k4', 'old', 'ada', 'done', 1699998200000000000, 1699998700000000000, 500, 4, 3, "
	"400, 300, 7, 7, 9000),"
	" (5, 'k5', 'idle', 'bob', 'running', 1699999255000000000, NULL, NULL, 1, 1, NULL, NULL, "
	"0, 0, 0),"
	" (6, 'k6', 'tool', 'bob', 'lost', 1699999220000000000, 1699999240000000000, 20, "
	"1, 1, 1, "
	"NULL, 0, 0, 0);"
	"INSERT INTO findings (job, number, rule, level, title, evidence, advice, cost, bytes) "
	"VALUES"
	" (1, 0, 'W01', 'HIGH', '', '', '', 30, 0), (1, 1, 'M01', 'WARN', '', '', '', 5, 0), (1, "
	"2, 'F02', 'WARN', '', '', '', 0, 0),"
	" (2, 0, 'W01', 'HIGH', '', '', '', 10, 0), (2, 1, 'R01', 'INFO', '', '', '', 9, 0), (4, "
	"0, 'W01', 'HIGH', '', '', '', 300, 0),"
	" (6, 0, 'M01', 'WARN', '', '', '', NULL, 0);"
	"INSERT INTO figure_names (number, name) VALUES (1, 'meta_ratio'), (2, 'excess_read');"
	"INSERT INTO figure_values (figure, job, value) VALUES (1, 1, 0.5), (1, 2, 0.9), (1, 4, "
	"0.99), (1, 6, 0), (2, 2, 7);"
	"INSERT INTO series (job, second, layer, kind, ops, bytes, ns, longest, ranks, slowest, "
	"slowest_ns) VALUES"
	" (3, 1699999258, 'POSIX', 'read', 1, 7777, 0, 0, 1, 0, 0), (3, 1699999259, 'POSIX', "
	"'read', 1, 100, 1000000000, 0, 1, 0, 0),"
	" (3, 1699999260, 'POSIX', 'meta', 20, 0, 1000000000, 0, 1, 0, 0), (3, 1699999268, "
	"'POSIX', 'write', 1, 50, 2000000000, 0, 1, 0, 0),"
	" (3, 1699999268, 'MPI-IO', 'write', 1, 50, 5000000000, 0, 1, 0, 0), (3, 1699999269, "
	"'POSIX', 'write', 1, 8888, 0, 0, 1, 0, 0),"
	" (5, 1699999260, 'STDIO', 'write', 1, 1000, 0, 0, 1, 0, 0);"
	"INSERT INTO files (job, record, path) VALUES (2, 1, '/scratch/x/y'), (3, 1, "
	"'/home/a%b/c'), (6, 1, '/scratchy/z');"
	"INSERT INTO days (day, username, name, broken, bytes_read, bytes_written, io_ms, "
	"run_ms, "
	"node_ms, cost_ms, high, warn, jobs) VALUES"
	" (100, 'ada', 'p', 0, 1, 2, 3000, 4000, 5000, 6000, 1, 2, 1), (101, 'ada', 'q', "
	"1, 1, 1, "
	"1000, 1000, 1000, 1000, 1, 0, 2),"
	" (101, 'bob', 'p', 0, 1, 1, 1000, 1000, 9000, 1000, 0, 0, 3), (102, 'bob', 'q', "
	"0, 0, 0, "
	"0, 0, 0, 0, 0, 0, 4);";

static const char processes[] = "INSERT INTO processes (segment, job, rank, host) VALUES (%s, 1, "
				"0, 'n1'), (%s, 2, 0, 'n1'), "
				"(%s, 2, 1, 'n2'), (%s, 6, 0, 'n3')";

static struct rama_store *known_store(void)
{
	struct rama_store *s = fresh();
	char sql[sizeof(processes) + 200];
	const char *id[] = { "x'01'", "x'02'", "x'03'", "x'04'" };
	const char *other[] = { "'\\x01'", "'\\x02'", "'\\x03'", "'\\x04'" };
	const char **k = is_sqlite() ? id : other;

	run_script(s, jobs);
	snprintf(sql, sizeof(sql), processes, k[0], k[1], k[2], k[3]);
	run_script(s, sql);
	return s;
}

/* ---- rows as texts: "a|b|c\n" of the columns that are asked for ------------------------------ */

struct told {
	struct rama_out out;
	unsigned from, to; /* columns */
};

static int tell(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct told *t = ctx;

	(void)e;
	for (unsigned i = t->from; i < row->n && i <= t->to; i++) {
		const struct rama_store_cell *c = &row->cell[i];

		if (i > t->from)
			rama_out_char(&t->out, '|');
		if (c->type == RAMA_STORE_CELL_INT)
			rama_out_fmt(&t->out, "%" PRId64, c->i);
		else if (c->type == RAMA_STORE_CELL_REAL)
			rama_out_fmt(&t->out, "%g", c->f);
		else if (c->type == RAMA_STORE_CELL_TEXT)
			rama_out_text(&t->out, c->text);
	}
	rama_out_char(&t->out, '\n');
	return 0;
}

static void begin_rows(struct told *t, unsigned from, unsigned to)
{
	*t = (struct told){ .from = from, .to = to };
	rama_out_init(&t->out, NULL, NULL);
}

static void is(struct told *t, const char *want)
{
	rama_out_char(&t->out, '\0');
	assert_string_equal(t->out.buf, want);
	rama_out_fini(&t->out);
}

static const char *const ada[] = { "ada" }, *const both[] = { "ada", "bob" };
static const struct {
	struct rama_query_seen seen;
} who[] = { { { .all = true } },
	    { { .user = ada, .n = 1 } },
	    { { .n = 0 } },
	    { { .user = both, .n = 2 } } };
enum { ALL, ADA, NOBODY, BOTH };

static struct rama_query_site site_of(unsigned viewer)
{
	return (struct rama_query_site){
		.seen = who[viewer].seen, .now = (B + 70) * NS, .since = B * NS, .limit = 100
	};
}

#define ASK(list, viewer, from, to, want)                          \
	do {                                                       \
		struct rama_query_site q_ = site_of(viewer);       \
		struct rama_err e_ = { 0 };                        \
		struct told t_;                                    \
                                                                   \
		begin_rows(&t_, from, to);                         \
		assert_int_equal(list(s, &q_, tell, &t_, &e_), 0); \
		is(&t_, want);                                     \
	} while (0)

static void what_a_week_lost(void **state)
{
	struct rama_store *s = known_store();

	(void)state;
	/* running, ended, losing, node time lost, node time, events seen, events lost */
	ASK(rama_query_week_list, ALL, 0, 6, "2|3|2|80|270|17|2\n");
	ASK(rama_query_week_list, ADA, 0, 6, "1|1|1|60|200|12|2\n");
	ASK(rama_query_week_list, NOBODY, 0, 6, "0|0|0|0|0|0|0\n");
	ASK(rama_query_week_list, BOTH, 0, 6, "2|3|2|80|270|17|2\n");
	rama_store_close(s);
}

static void what_moves(void **state)
{
	struct rama_store *s = known_store();

	(void)state;
	/* ten whole seconds; what MPI-IO moved POSIX has moved for it */
	ASK(rama_query_moving_list, ALL, 7, 10, "0|100|0|0\n10|5|2|0.4\n");
	ASK(rama_query_moving_list, ADA, 0, 2, "3|ada|tool\n");
	ASK(rama_query_moving_list, NOBODY, 0, 2, "");
	rama_store_close(s);
}

static void what_costs(void **state)
{
	struct rama_query_site all = site_of(ALL);
	struct rama_store *s = known_store();
	struct rama_err e = { 0 };
	struct told t;

	(void)state;
	ASK(rama_query_rules_list, ALL, 0, 6,
	    "W01|HIGH|2|2|40|70|Small writes\nM01|WARN|2|2|5|10|\n"
	    "F02|WARN|1|1|0|0|High share of metadata\n");
	ASK(rama_query_rules_list, ADA, 0, 5,
	    "W01|HIGH|1|1|30|60\nM01|WARN|1|1|5|10\nF02|WARN|1|1|0|0\n");
	ASK(rama_query_rules_list, NOBODY, 0, 5, "");
	/* two of a rule in a job, and two jobs of a user */
	run_script(s, "INSERT INTO findings (job, number, rule, level, title, evidence, advice, "
		      "cost, bytes) VALUES (1, 3, 'W01', 'HIGH', '', '', '', 1, 0)");
	begin_rows(&t, 0, 5);
	all.since = 0;
	assert_int_equal(rama_query_rules_list(s, &all, tell, &t, &e), 0);
	is(&t, "W01|HIGH|3|2|341|972\nM01|WARN|2|2|5|10\nF02|WARN|1|1|0|0\n");
	begin_rows(&t, 0, 1);
	all.limit = 1;
	assert_int_equal(rama_query_rules_list(s, &all, tell, &t, &e), 0);
	is(&t, "W01|HIGH\n");
	rama_store_close(s);
}

static void ranked(struct rama_store *s, unsigned viewer, const char *metric, uint64_t limit,
		   const char *want)
{
	struct rama_query_site q = site_of(viewer);
	struct rama_err e = { 0 };
	struct told t;

	q.limit = limit;
	begin_rows(&t, 0, 8);
	assert_int_equal(rama_query_ranking_list(s, &q, metric, tell, &t, &e), 0);
	is(&t, want);
}

static void who_is_ranked(void **state)
{
	struct rama_store *s = known_store();
	struct rama_query_site q = site_of(ALL);
	struct rama_err e = { 0 };

	(void)state;
	/* of which the rule says so comes first, however small its figure is */
	ranked(s, ALL, "metadata", 9,
	       "1|ada|solver|1699999200000000000|100|4|2|0.5|WARN\n2|bob|solver|"
	       "1699999210000000000|50|4|0|0.9|\n");
	ranked(s, ALL, "metadata", 1, "1|ada|solver|1699999200000000000|100|4|2|0.5|WARN\n");
	ranked(s, ALL, "redundant", 9, "2|bob|solver|1699999210000000000|50|4|0|7|\n");
	ranked(s, ALL, "small", 9, "");
	ranked(s, ADA, "redundant", 9, "");
	assert_int_equal(rama_query_ranking_list(s, &q, "meta_ratio", tell, NULL, &e), RAMA_EUSAGE);
	rama_store_close(s);
}

static void there(struct rama_store *s, unsigned viewer, const char *under, const char *want)
{
	struct rama_query_site q = site_of(viewer);
	struct rama_err e = { 0 };
	struct told number, where;

	begin_rows(&number, 0, 0);
	assert_int_equal(rama_query_beside_list(s, &q, 1, under, tell, &number, &e), 0);
	begin_rows(&where, 12, 13);
	assert_int_equal(rama_query_beside_list(s, &q, 1, under, tell, &where, &e), 0);
	rama_out_char(&where.out, '\0');
	rama_out_text(&number.out, where.out.buf);
	rama_out_fini(&where.out);
	is(&number, want);
}

static void who_was_there(void **state)
{
	struct rama_store *s = known_store();

	(void)state;
	/* most bytes first; then on a node of it, and with files below the folder */
	there(s, ALL, NULL, "2\n3\n6\n5\n1|\n0|\n0|\n0|\n");
	there(s, ALL, "/scratch", "2\n3\n6\n5\n1|1\n0|0\n0|0\n0|0\n");
	there(s, ALL, "/scratch/x/", "2\n3\n6\n5\n1|1\n0|0\n0|0\n0|0\n");
	/* what LIKE takes for anything is itself */
	there(s, ALL, "/home/a%b", "2\n3\n6\n5\n1|0\n0|1\n0|0\n0|0\n");
	there(s, ALL, "/home/a_b", "2\n3\n6\n5\n1|0\n0|0\n0|0\n0|0\n");
	there(s, ADA, NULL, "3\n0|\n");
	there(s, NOBODY, NULL, "");
	rama_store_close(s);
}

/* ---- days and findings ----------------------------------------------------------------------- */

static void days(struct rama_store *s, struct rama_query_days q, unsigned last, const char *want)
{
	struct rama_err e = { 0 };
	struct told t;

	q.limit = q.limit > 0 ? q.limit : 100;
	begin_rows(&t, 0, last);
	assert_int_equal(rama_query_days_list(s, &q, tell, &t, &e), 0);
	is(&t, want);
}

#define DAYS(...) ((struct rama_query_days){ __VA_ARGS__ })

static void day_by_day(void **state)
{
	struct rama_query_seen all = { .all = true }, own = who[ADA].seen, none = { .n = 0 };
	struct rama_store *s = known_store();

	(void)state;
	days(s, DAYS(.seen = all, .to = 1000), 1, "102|4\n101|5\n100|1\n");
	days(s, DAYS(.seen = all, .to = 1000, .limit = 2), 1, "102|4\n101|5\n");
	days(s, DAYS(.seen = all, .from = 101, .to = 102), 10, "101|5|1|2|2|2|2|10|2|1|0\n");
	days(s, DAYS(.seen = all, .to = 1000, .by = RAMA_QUERY_BY_USER), 1, "bob|7\nada|3\n");
	days(s, DAYS(.seen = all, .to = 1000, .by = RAMA_QUERY_BY_PROGRAM), 1, "p|4\nq|6\n");
	days(s, DAYS(.seen = all, .to = 1000, .name = "q"), 1, "102|4\n101|2\n");
	days(s, DAYS(.seen = all, .to = 1000, .user = "ada", .name = "q"), 1, "101|2\n");
	days(s, DAYS(.seen = own, .to = 1000), 1, "101|2\n100|1\n");
	days(s, DAYS(.seen = own, .to = 1000, .user = "bob"), 1, "");
	days(s, DAYS(.seen = none, .to = 1000), 1, "");
	rama_store_close(s);
}

static void the_worst(void **state)
{
	struct rama_query_seen all = { .all = true };
	struct rama_store *s = known_store();
	struct rama_err e = { 0 };
	struct told t;

	(void)state;
	begin_rows(&t, 0, 1);
	assert_int_equal(rama_query_worst_list(s, &all, "HIGH", 2, tell, &t, &e), 0);
	is(&t, "4|ada\n1|ada\n");
	begin_rows(&t, 0, 0);
	assert_int_equal(rama_query_worst_list(s, &all, "WARN", 9, tell, &t, &e), 0);
	is(&t, "1\n1\n"); /* one whose cost is not known is not among them */
	begin_rows(&t, 0, 1);
	assert_int_equal(rama_query_worst_list(s, &who[ADA].seen, "HIGH", 9, tell, &t, &e), 0);
	is(&t, "4|ada\n1|ada\n");
	rama_store_close(s);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void nodes_over_time(void **state)
{
	struct rama_query_samples q = {
		.from = B, .to = B + 20, .step = 10, .metric = "cpu.iowait"
	};
	struct rama_store *s = known_store();
	struct rama_err e = { 0 };
	struct told t;

	(void)state;
	run_script(
		s,
		"INSERT INTO sample_series (number, host, metric) VALUES (1, 'n1', 'cpu.iowait'),"
		" (2, 'n2', 'cpu.iowait'), (3, 'n3', 'cpu.iowait'), (4, 'n1', 'load.1');"
		"INSERT INTO sample_values (series, t_ns, value) VALUES"
		" (1, 1699999199999999999, 90), (1, 1699999200000000000, 1),"
		" (1, 1699999209000000000, 5), (1, 1699999210000000000, 2),"
		" (1, 1699999220000000000, 80), (2, 1699999205000000000, 8),"
		" (3, 1699999205000000000, 70), (4, 1699999200000000000, 3)");
	begin_rows(&t, 0, 4); /* metric, step, mean, most, nodes */
	assert_int_equal(rama_query_job_samples_list(s, &q, 1, tell, &t, &e), 0);
	is(&t, "cpu.iowait|1699999200|3|5|1\ncpu.iowait|1699999210|2|2|1\n");
	begin_rows(&t, 2, 4);
	assert_int_equal(rama_query_job_samples_list(s, &q, 2, tell, &t, &e), 0);
	is(&t, "4.66667|8|2\n2|2|1\n");
	q.metric = NULL; /* those that I/O may wait for */
	begin_rows(&t, 0, 1);
	assert_int_equal(rama_query_job_samples_list(s, &q, 1, tell, &t, &e), 0);
	is(&t, "cpu.iowait|1699999200\ncpu.iowait|1699999210\n");
	q.every = true;
	begin_rows(&t, 0, 1);
	assert_int_equal(rama_query_job_samples_list(s, &q, 1, tell, &t, &e), 0);
	is(&t, "cpu.iowait|1699999200\ncpu.iowait|1699999210\nload.1|1699999200\n");
	q.metric = "cpu.iowait";
	begin_rows(&t, 0, 3);
	assert_int_equal(rama_query_node_map_list(s, &q, tell, &t, &e), 0);
	is(&t, "n1|1699999200|3|5\nn1|1699999210|2|2\nn2|1699999200|8|8\nn3|1699999200|70|70\n");
	begin_rows(&t, 0, 1);
	assert_int_equal(rama_query_metrics_list(s, tell, &t, &e), 0);
	is(&t, "cpu.iowait|3\nload.1|1\n");
	begin_rows(&t, 0, 2); /* the last sample of the first metric of each */
	assert_int_equal(rama_query_nodes_list(s, tell, &t, &e), 0);
	is(&t, "n1|2|1699999220000000000\nn2|1|1699999205000000000\nn3|1|1699999205000000000\n");
	rama_store_close(s);
}

/* 40 nodes for two hours: each has its number, and one more every quarter of an hour */
static const char hours[] =
	"INSERT INTO sample_series (number, host, metric) WITH RECURSIVE h(i) AS (SELECT 1 UNION"
	" ALL SELECT i + 1 FROM h WHERE i < 40) SELECT i, 'n' || i, 'load.1' FROM h;"
	"INSERT INTO sample_values (series, t_ns, value) WITH RECURSIVE h(i) AS (SELECT 1 UNION"
	" ALL SELECT i + 1 FROM h WHERE i < 40), t(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM t"
	" WHERE x < 7199) SELECT i, CAST(1699999200 + x AS BIGINT) * 1000000000, i + x / 900"
	" FROM h, t";

struct seen {
	bool of_job;
	int64_t step, rows, wrong;
};

static int see(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *c = row->cell;
	struct seen *k = ctx;
	int64_t t = c[1].i - B;
	double node = k->of_job ? 1.5 : atoi(c[0].text + 1), more = (double)(t / 900);
	double most = k->of_job ? 2 + more : node + more;

	(void)e;
	k->rows++;
	k->wrong += t < 0 || t >= 7200 || c[1].i % k->step != 0 || c[2].f != node + more ||
		    c[3].f != most || (k->of_job && c[4].i != 2);
	return 0;
}

/* Many nodes and long times: rows are few, samples are left out, of each step some are read. */
static void nodes_over_hours(void **state)
{
	struct rama_query_samples q = { .from = B, .to = B + 7200, .step = 10, .metric = "load.1" };
	struct rama_store *s = known_store();
	struct rama_err e = { 0 };
	struct seen k = { .step = 15 };

	(void)state;
	run_script(s, hours);
	assert_int_equal(rama_query_node_map_list(s, &q, see, &k, &e), 0);
	assert_int_equal(k.rows, 40 * 7200 / 15); /* 20,000 at most */
	assert_int_equal(k.wrong, 0);
	/* the two nodes of a job, a time of which most has no samples */
	q.to = B + 200000;
	k = (struct seen){ .of_job = true, .step = 10 };
	assert_int_equal(rama_query_job_samples_list(s, &q, 2, see, &k, &e), 0);
	assert_int_equal(k.rows, 7200 / 10);
	assert_int_equal(k.wrong, 0);
	/* more of all metrics than can be read of all nodes: a sample of each step */
	q = (struct rama_query_samples){ .from = B, .to = B + 200000, .step = 1, .every = true };
	k = (struct seen){ .of_job = true, .step = 1 };
	assert_int_equal(rama_query_job_samples_list(s, &q, 2, see, &k, &e), 0);
	assert_int_equal(k.rows, 7200);
	assert_int_equal(k.wrong, 0);
	rama_store_close(s);
}

UNIT_GROUP(site, test(what_a_week_lost), test(what_moves), test(what_costs), test(who_is_ranked),
	   test(who_was_there), test(day_by_day), test(the_worst), test(nodes_over_time),
	   test(nodes_over_hours))
