/* SPDX-License-Identifier: BSD-3-Clause */
/* rules.c: rules by what their findings cost. The findings of some weeks are many and rules few:
 * they are summed up here as they come, job by job; a database would sort them first. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/siphash.h"
#include "diagnose/diagnose.h"
#include "query/site.h"
#include "query/sql.h"

#define N(x) (sizeof(x) / sizeof(*(x)))

static const char *const names[] = {
	"rule", "level", "jobs", "users", "cost", "node_time", "title"
};
static const char *const units[] = { "text", "text", "count", "count", "s", "s", "text" };
const struct rama_query_columns rama_query_rules_columns = { N(names), names, units };

/* a rule and a level */
struct group {
	char *rule, *level;
	int64_t last; /* job that was counted */
	int64_t jobs, users;
	double cost, node_time;
};

struct sums {
	struct group *group;
	size_t n, room, at;
	uint64_t *seen; /* users of groups, hashed; 0: none */
	size_t slots, used;
};

/* ---- users ----------------------------------------------------------------------------------- */

static bool put(uint64_t *seen, size_t slots, uint64_t key)
{
	size_t i = key & (slots - 1);

	for (; seen[i] != 0; i = (i + 1) & (slots - 1))
		if (seen[i] == key)
			return false;
	seen[i] = key;
	return true;
}

/* 1: he is new to the group; 0: he is not */
static int add_user(struct sums *s, size_t group, const char *name, struct rama_err *e)
{
	const struct rama_sipkey of = { group, 0x7275 };
	int is_new;

	if (2 * (s->used + 1) > s->slots) {
		size_t slots = s->slots > 0 ? 2 * s->slots : 1024;
		uint64_t *seen = calloc(slots, sizeof(*seen));

		if (seen == NULL)
			return rama_err_no_memory(e);
		for (size_t i = 0; i < s->slots; i++)
			if (s->seen[i] != 0)
				put(seen, slots, s->seen[i]);
		free(s->seen);
		s->seen = seen;
		s->slots = slots;
	}
	is_new = put(s->seen, s->slots, rama_siphash(&of, name, strlen(name)) | 1);
	s->used += (size_t)is_new;
	return is_new;
}

/* ---- findings -------------------------------------------------------------------------------- */

static struct group *group_of(struct sums *s, const char *rule, const char *level)
{
	struct group *g;

	for (size_t i = 0; i < s->n;
	     i++) { /* most often the one of the finding before, or near it */
		g = &s->group[s->at];
		if (strcmp(g->rule, rule) == 0 && strcmp(g->level, level) == 0)
			return g;
		s->at = s->at + 1 < s->n ? s->at + 1 : 0;
	}
	if (!RAMA_GROW(s->group, s->room, s->n + 1))
		return NULL;
	s->at = s->n++;
	g = &s->group[s->at];
	*g = (struct group){ .rule = strdup(rule), .level = strdup(level), .last = -1 };
	return g->rule != NULL && g->level != NULL ? g : NULL;
}

static double real_of(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_REAL	? c->f
	       : c->type == RAMA_STORE_CELL_INT ? (double)c->i
						: 0;
}

/* job, user, nodes, rule, level, cost; those of a job one after the other */
static int take(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *c = row->cell;
	struct sums *s = ctx;
	struct group *g = group_of(s, c[3].text, c[4].text);
	int rc;

	if (g == NULL)
		return rama_err_no_memory(e);
	g->cost += real_of(&c[5]);
	g->node_time += real_of(&c[5]) * (double)(c[2].i > 0 ? c[2].i : 1);
	if (g->last == c[0].i)
		return 0;
	g->last = c[0].i;
	g->jobs++;
	rc = add_user(s, s->at, c[1].text, e);
	g->users += rc > 0;
	return rc < 0 ? rc : 0;
}

static int by_cost(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	int rule = strcmp(x->rule, y->rule);

	if (x->node_time != y->node_time)
		return x->node_time > y->node_time ? -1 : 1;
	return rule != 0 ? rule : strcmp(x->level, y->level);
}

static int tell(const struct group *g, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	/* what a rule is called stands in no store; one of another version has no name here, and
	 * codes of other programs, which are found, too, are none of a rule */
	const struct rama_diag_rule *rule = rama_diag_rule_find(g->rule);
	const char *title = rule != NULL && strcmp(rule->id, g->rule) == 0 ? rule->title : "";
	const struct rama_store_cell cell[N(names)] = {
		rama_query_cell_text(g->rule), rama_query_cell_text(g->level),
		rama_query_cell_int(g->jobs),  rama_query_cell_int(g->users),
		rama_query_cell_real(g->cost), rama_query_cell_real(g->node_time),
		rama_query_cell_text(title),
	};

	return fn(ctx, &(struct rama_store_row){ N(names), names, cell }, e);
}

static int read_all(struct sums *k, struct rama_store *s, const struct rama_query_site *q,
		    struct rama_err *e)
{
	struct rama_store_cell args[2] = { rama_query_cell_int(q->since) };
	struct rama_query_sql sql;
	int rc = rama_query_first_job(s, q->since, &args[1], e);

	if (rc != 0)
		return rc;
	rama_query_sql_init(&sql);
	/* CROSS: SQLite is not to read all findings there are, in the order of their rules */
	rama_query_sql_add(&sql,
			   "SELECT j.number, j.username, j.nodes, f.rule, f.level, f.cost FROM jobs"
			   " j CROSS JOIN findings f WHERE f.job = j.number AND f.level IN ('HIGH',"
			   " 'WARN') AND j.start_ns >= ? AND f.job >= ?",
			   args);
	rama_query_seen_add(&sql, "j.username", &q->seen);
	rama_query_sql_add(&sql, " ORDER BY j.start_ns, j.number", NULL);
	rc = rama_query_sql_run(&sql, s, take, k, e);
	rama_query_sql_fini(&sql);
	return rc;
}

int rama_query_rules_list(struct rama_store *s, const struct rama_query_site *q,
			  rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct sums k = { 0 };
	int rc = read_all(&k, s, q, e);

	if (rc == 0 && k.n > 1)
		qsort(k.group, k.n, sizeof(*k.group), by_cost);
	for (size_t i = 0; rc == 0 && i < k.n && (q->limit == 0 || i < q->limit); i++)
		rc = tell(&k.group[i], fn, ctx, e);
	for (size_t i = 0; i < k.n; i++) {
		free(k.group[i].rule);
		free(k.group[i].level);
	}
	free(k.group);
	free(k.seen);
	return rc > 0 ? 0 : rc;
}
