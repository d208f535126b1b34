/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/lost.h"

#include <string.h>

#include "diagnose/diagnose.h"
#include "query/list.h"

/* Numbers that cannot be, of hostile logs, are 0: sums of them would be an error in PostgreSQL. */
#define SOUND(x) \
	"CAST(CASE WHEN " x " >= 0 AND " x " < 1e12 THEN " x " ELSE 0 END AS DOUBLE PRECISION)"
#define AT_MOST_IO(x) "(CASE WHEN " x " > j.io_time THEN j.io_time ELSE " x " END)"

/* clang-format off */
#define NODES "(CASE WHEN j.nodes > 0 THEN j.nodes ELSE 1 END)"
/* one row of a job, or of its part: which group, in which span, who, how much */
#define ROW(key, who, cost) \
	"SELECT " key " AS k, j.number AS job, " who " AS who, " SOUND(AT_MOST_IO(cost)) \
	" AS lost, " NODES " AS nodes, " SOUND("j.run_time") " AS ran, CASE WHEN j.cost > 0 THEN" \
	" 1 ELSE 0 END AS bad, CASE WHEN j.end_ns >= ? THEN 1 ELSE 0 END AS now FROM jobs j"
#define SUM(now, x) "sum(CASE WHEN now = " now " THEN " x " ELSE 0 END)"
#define SUMS(now) SUM(now, "lost") ", " SUM(now, "lost * nodes") ", " SUM(now, "ran * nodes")
#define NUMBER(when, what) "count(DISTINCT CASE WHEN " when " THEN " what " END)"
static const char sums[] =
	"SELECT k, " NUMBER("now = 1", "who") ", " NUMBER("now = 1 AND bad = 1", "job") ", "
	NUMBER("now = 1", "job") ", " SUMS("1") ", " NUMBER("now = 0", "job") ", " SUMS("0")
	" FROM (";
static const char sums_end[] = ") x GROUP BY k ORDER BY 6 DESC, 10 DESC, 1";

static const char *const rows_of[RAMA_QUERY_LOST_BYS] = {
	[RAMA_QUERY_LOST_ALL] = ROW("''", "j.username", "j.cost"),
	[RAMA_QUERY_LOST_RULES] = ROW("f.rule", "j.username", "f.cost")
		" JOIN findings f ON f.job = j.number AND f.level IN ('HIGH', 'WARN')",
	[RAMA_QUERY_LOST_PROGRAMS] = ROW("j.name", "j.username", "j.cost"),
	[RAMA_QUERY_LOST_USERS] = ROW("j.username", "j.name", "j.cost"),
	[RAMA_QUERY_LOST_FOLDERS] = ROW("''", "j.username", "j.cost"),
};

/* the time of a job with the files of a folder; layers by which bytes leave a program */
#define SPENT(m) \
	"SELECT c.job AS job, f.path AS path, " SOUND(m "_f_read_time") " + " \
	SOUND(m "_f_write_time") " + " SOUND(m "_f_meta_time") " AS t FROM lossy JOIN counters_" m \
	" c ON c.job = lossy.job JOIN files f ON f.job = c.job AND f.record = c.record"
static const char folders[] =
	" UNION ALL " SPENT("stdio") "), there AS (SELECT job, CASE WHEN path LIKE '/%/%' THEN"
	" substr(path, 1, ";
static const char folders_end[] =
	"(substr(path, 2), '/')) ELSE '' END AS k, sum(t) AS t FROM spent GROUP BY 1, 2),"
	" whole AS (SELECT job, sum(t) AS t FROM there GROUP BY job)"
	" SELECT there.k AS k, lossy.job AS job, who, CASE WHEN whole.t > 0 THEN"
	" lossy.lost * there.t / whole.t ELSE 0 END AS lost, nodes, ran, bad, now"
	" FROM lossy JOIN there ON there.job = lossy.job JOIN whole ON whole.job = lossy.job";
/* clang-format on */

static void add_rows(struct rama_query_sql *sql, const struct rama_query_list *l,
		     const struct rama_query_lost *q, enum rama_query_lost_by by)
{
	struct rama_store_cell from = rama_query_cell_int(q->from);
	struct rama_store_cell span[2] = { rama_query_cell_int(q->before),
					   rama_query_cell_int(q->to) };

	rama_query_sql_add(sql, rows_of[by], &from);
	rama_query_sql_add(sql, " WHERE j.state <> 'running' AND j.end_ns >= ? AND j.end_ns < ?",
			   span);
	rama_query_list_conditions(sql, l);
}

static void add_folders(struct rama_query_sql *sql, const struct rama_query_list *l,
			const struct rama_query_lost *q)
{
	bool lite = strcmp(rama_store_kind(l->store), "sqlite") == 0;

	rama_query_sql_add(sql, "WITH lossy AS (SELECT * FROM (", NULL);
	add_rows(sql, l, q, RAMA_QUERY_LOST_FOLDERS);
	rama_query_sql_add(sql, ") y WHERE lost > 0 ORDER BY lost * nodes DESC, job LIMIT ", NULL);
	rama_query_sql_number(sql, RAMA_QUERY_LOST_FOLDER_JOBS);
	rama_query_sql_add(sql, "), spent AS (" SPENT("posix"), NULL);
	rama_query_sql_add(sql, folders, NULL);
	rama_query_sql_add(sql, lite ? "instr" : "strpos", NULL);
	rama_query_sql_add(sql, folders_end, NULL);
}

struct telling {
	void (*fn)(void *ctx, const struct rama_query_lost_row *row);
	void *ctx;
	enum rama_query_lost_by by;
};

static double value_of(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_INT	 ? (double)c->i
	       : c->type == RAMA_STORE_CELL_REAL ? c->f
						 : 0;
}

static struct rama_query_lost_sums sums_of(const struct rama_store_cell *c)
{
	return (struct rama_query_lost_sums){ .jobs = value_of(&c[0]),
					      .lost = value_of(&c[1]),
					      .node_lost = value_of(&c[2]),
					      .node_time = value_of(&c[3]) };
}

static int tell(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *c = row->cell;
	const char *key = c[0].type == RAMA_STORE_CELL_TEXT ? c[0].text : "";
	struct telling *t = ctx;
	const struct rama_diag_rule *rule =
		t->by == RAMA_QUERY_LOST_RULES ? rama_diag_rule_find(key) : NULL;

	(void)e;
	t->fn(t->ctx, &(struct rama_query_lost_row){ .key = key,
						     .title = rule != NULL ? rule->title : NULL,
						     .others = value_of(&c[1]),
						     .losing = value_of(&c[2]),
						     .now = sums_of(&c[3]),
						     .then = sums_of(&c[7]) });
	return 0;
}

int rama_query_lost_list(struct rama_store *s, const struct rama_query_lost *q,
			 enum rama_query_lost_by by,
			 void (*fn)(void *ctx, const struct rama_query_lost_row *row), void *ctx,
			 struct rama_err *e)
{
	struct rama_query_list l = { .store = s, .q = q->jobs };
	struct telling t = { fn, ctx, by };
	struct rama_query_sql sql;
	int rc;

	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, sums, NULL);
	if (by == RAMA_QUERY_LOST_FOLDERS)
		add_folders(&sql, &l, q);
	else
		add_rows(&sql, &l, q, by);
	rama_query_sql_add(&sql, sums_end, NULL);
	rc = rama_query_sql_run(&sql, s, tell, &t, e);
	rama_query_sql_fini(&sql);
	return rc;
}
