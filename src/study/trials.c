/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/trials.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/human.h"
#include "base/when.h"
#include "query/job.h"

/* as the query has them */
enum { CHANGE, RULE, COST, GAIN, BEFORE, AFTER, VERDICT, LOW, HIGH, ROUNDS, RANKS, HOST, WHEN };

static double real(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_REAL	? c->f
	       : c->type == RAMA_STORE_CELL_INT ? (double)c->i
						: NAN;
}

static const char *word(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_TEXT ? c->text : "";
}

/* "3.0× as fast: 2.08 s instead of 6.26 s" */
static void say_gain(struct rama_out *o, const struct rama_report_trial *t)
{
	char x[RAMA_HUMAN], a[RAMA_HUMAN], b[RAMA_HUMAN];

	if (strcmp(t->verdict, "better") == 0 && t->after > 0)
		rama_out_fmt(o, "%s as fast", rama_human_ratio(x, t->before / t->after));
	else if (strcmp(t->verdict, "worse") == 0 && t->before > 0)
		rama_out_fmt(o, "takes %s as long", rama_human_ratio(x, t->after / t->before));
	else
		rama_out_text(o, "no difference could be told");
	rama_out_fmt(o, ": %s instead of %s", rama_human_seconds(a, t->after),
		     rama_human_seconds(b, t->before));
}

static char *sentence(struct rama_study_trials *to, const struct rama_report_trial *t,
		      const struct rama_store_cell *c)
{
	char when[RAMA_WHEN], n[RAMA_HUMAN];
	struct rama_out o;
	char *text;

	rama_out_init(&o, NULL, NULL);
	rama_out_fmt(&o, "%s: ", t->change);
	say_gain(&o, t);
	rama_out_fmt(&o, " (%lld rounds, %s rank%s", (long long)c[ROUNDS].i,
		     rama_human_count(n, c[RANKS].i), c[RANKS].i == 1 ? "" : "s");
	if (*word(&c[HOST]) != '\0')
		rama_out_fmt(&o, ", %s", word(&c[HOST]));
	rama_out_fmt(&o, ", %.10s)", rama_when_text(when, c[WHEN].i, 0));
	text = o.error == 0 ? rama_arena_text(&to->arena, o.buf, o.used) : NULL;
	rama_out_fini(&o);
	return text;
}

static int take(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_study_trials *to = ctx;
	const struct rama_store_cell *c = row->cell;
	struct rama_report_trial t = { .cost = real(&c[COST]),
				       .gain = real(&c[GAIN]),
				       .before = real(&c[BEFORE]),
				       .after = real(&c[AFTER]) };

#define KEEP(x) rama_arena_text(&to->arena, word(&c[x]), strlen(word(&c[x])))
	t.change = KEEP(CHANGE);
	t.rule = KEEP(RULE);
	t.verdict = KEEP(VERDICT);
#undef KEEP
	if (t.change == NULL || t.rule == NULL || t.verdict == NULL ||
	    !RAMA_GROW(to->it, to->room, to->n + 1))
		return rama_err_no_memory(e);
	t.text = sentence(to, &t, c);
	if (t.text == NULL)
		return rama_err_no_memory(e);
	to->it[to->n++] = t;
	return 0;
}

int rama_study_trials_get(struct rama_store *s, int64_t job, struct rama_study_trials *t,
			  struct rama_err *e)
{
	return rama_query_job_rows(s, job, RAMA_QUERY_JOB_TRIALS, take, t, e);
}

void rama_study_trials_fini(struct rama_study_trials *t)
{
	rama_arena_fini(&t->arena);
	free(t->it);
	*t = (struct rama_study_trials){ 0 };
}
