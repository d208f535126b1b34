/* SPDX-License-Identifier: BSD-3-Clause */
/* causes.c: symptoms are told once, where their cause is. A file that shows both a symptom and one
 * of its causes loses its seconds to the cause; what is left of the symptom is its own. */
#include <math.h>
#include <string.h>

#include "diagnose/engine.h"

static int rule_index(const char *id, size_t len)
{
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		if (strlen(rama_diag_rules[i].id) == len &&
		    memcmp(rama_diag_rules[i].id, id, len) == 0)
			return (int)i;
	return -1;
}

/* "L01 L02+ *" */
void rama_diag_causes_read(struct rama_diag_engine *g)
{
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		struct rama_diag_trial *t = &g->trial[i];
		const char *at = rama_diag_rules[i].causes;

		while (*at != '\0' && t->n_causes < RAMA_DIAG_CAUSES) {
			size_t len = strcspn(at, " ");
			bool adds = len > 0 && at[len - 1] == '+';
			int rule = rule_index(at, len - adds);

			if (rule >= 0)
				t->cause[t->n_causes++] =
					(struct rama_diag_cause){ .rule = rule, .adds = adds };
			at += len + strspn(at + len, " ");
		}
	}
}

void rama_diag_causes_file(struct rama_diag_engine *g, const double *lost)
{
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		struct rama_diag_trial *t = &g->trial[i];

		if (!(lost[i] > 0))
			continue;
		t->lost += lost[i];
		for (unsigned k = 0; k < t->n_causes; k++)
			if (lost[t->cause[k].rule] > 0)
				t->cause[k].lost += lost[i];
	}
}

/* share of the symptom's seconds that lie in files which show the cause; what is not about files
 * concerns all */
static double common(const struct rama_diag_trial *symptom, const struct rama_diag_cause *c,
		     const struct rama_diag_trial *cause)
{
	if (symptom->n == 0 || cause->n == 0)
		return 1;
	if (symptom->lost > 0)
		return fmin(1, c->lost / symptom->lost);
	for (size_t i = 0; i < cause->n; i++)
		if (cause->first[i].file == symptom->first[0].file)
			return 1;
	return cause->all > RAMA_DIAG_CULPRITS && symptom->all > RAMA_DIAG_CULPRITS;
}

static void add_there(struct rama_diag_engine *g, struct rama_diag_trial *t, unsigned i,
		      struct rama_diag_trial *root)
{
	root->also = (int)i;
	root->more = fmin(t->seconds, g->facts.io_time - root->seconds);
	root->seconds += root->more;
}

#define NEARLY_ALL 0.8

static void explain(struct rama_diag_engine *g, unsigned i)
{
	struct rama_diag_trial *t = &g->trial[i];

	for (unsigned k = 0; k < t->n_causes && t->found && t->explained_by < 0; k++) {
		struct rama_diag_cause *c = &t->cause[k];
		const struct rama_diag_trial *by = &g->trial[c->rule];
		double share = common(t, c, by), least = g->facts.limits.explains;
		int root = c->rule;

		if (!by->found || by->seconds <= 0 ||
		    by->seconds < least * (c->adds ? 0.5 * t->seconds : share * t->seconds))
			continue;
		while (g->trial[root].explained_by >= 0) /* it may be a symptom itself */
			root = g->trial[root].explained_by;
		if (root == (int)i || (!c->adds && share <= 0))
			continue;
		if (!c->adds && share < NEARLY_ALL) {
			t->seconds *= 1 - share; /* about: see judge_rest() */
			t->partly_by = t->partly ? t->partly_by : root;
			t->partly = c->partly = true;
			continue;
		}
		t->explained_by = root;
		if (c->adds && share <= 0)
			add_there(g, t, i, &g->trial[root]);
	}
}

/* A rank that is behind because of what it alone does wrong is no matter of balance. "*" among the
 * causes of a rule about ranks asks for that. */
static void explain_rank(struct rama_diag_engine *g, unsigned i)
{
	struct rama_diag_trial *t = &g->trial[i];
	bool by_bytes = strcmp(rama_diag_rules[i].id, "A07") == 0 ||
			strcmp(rama_diag_rules[i].id, "B02") == 0;

	if (t->found && t->explained_by < 0 && strchr(rama_diag_rules[i].causes, '*') != NULL)
		t->explained_by =
			rama_diag_why_behind(g, by_bytes ? g->facts.heavy_rank : g->facts.slow_rank,
					     t->seconds, strcmp(rama_diag_rules[i].id, "A07") == 0);
}

void rama_diag_causes_find(struct rama_diag_engine *g)
{
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		explain(g, i);
	/* explained after all by a later cause: nothing is left */
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		g->trial[i].partly &= g->trial[i].explained_by < 0;
}

/* all files that are left of a symptom show this cause */
static bool same_files(const struct rama_diag_trial *t, const struct rama_diag_trial *cause)
{
	if (t->n == 0 || t->all > RAMA_DIAG_CULPRITS || t->n < t->all)
		return false;
	for (size_t i = 0; i < t->n; i++) {
		size_t k = 0;

		while (k < cause->n && cause->first[k].file != t->first[i].file)
			k++;
		if (k == cause->n)
			return false;
	}
	return true;
}

/* What is left of a symptom in other files may have a cause there that was too small for the whole,
 * or was itself judged by those files later. */
void rama_diag_causes_rest(struct rama_diag_engine *g)
{
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		struct rama_diag_trial *t = &g->trial[i];

		for (unsigned k = 0; t->partly && k < t->n_causes && t->explained_by < 0; k++) {
			const struct rama_diag_trial *by = &g->trial[t->cause[k].rule];

			if (by->found && by->explained_by < 0 && !t->cause[k].adds &&
			    by->seconds >= g->facts.limits.explains * t->seconds &&
			    same_files(t, by))
				t->explained_by = t->cause[k].rule;
		}
	}
}

void rama_diag_causes_ranks(struct rama_diag_engine *g)
{
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		explain_rank(g, i);
}
