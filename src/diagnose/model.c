/* SPDX-License-Identifier: BSD-3-Clause */
/* model.c: one model of the ranks' I/O time from which the costs of all findings are cut. Each
 * finding takes seconds from each rank; what findings save together is how much earlier the
 * slowest rank is done when all of them are taken away. The same seconds also tell why a rank is
 * behind the others: what it alone loses. */
#include <math.h>
#include <string.h>

#include "diagnose/engine.h"

static double rank_io(const struct rama_diag_engine *g, size_t r)
{
	double io = rama_job_io_time(&g->view->ranks[r].io);

	return g->facts.run_time > 0 ? fmin(io, g->facts.run_time) : io;
}

/* what one finding takes from the ranks */
struct loss {
	const struct rama_diag_trial *t;
	double scale; /* of the account of its files; 0: there is none */
};

static struct loss loss_of(const struct rama_diag_engine *g, const struct rama_diag_trial *t)
{
	double path = rama_diag_cost_path(&t->cost, &g->facts);

	return (struct loss){ t, path > 0 ? fmin(1, (t->seconds - t->more) / path) : 0 };
}

/* Seconds of a finding in rank r. Those without an account of files shorten whatever is slower
 * than what they leave. */
static double loss_at(const struct rama_diag_engine *g, const struct loss *l, size_t r)
{
	if (l->scale > 0)
		return rama_diag_cost_at(&l->t->cost, &g->facts, r) * l->scale + l->t->more;
	return fmax(0, rank_io(g, r) - (g->facts.io_time - l->t->seconds));
}

/* ---- together ------------------------------------------------------------------------------- */

enum { READS = 1, WRITES = 2, METADATA = 4, BEYOND = 8 };

/* what the seconds of a finding were spent on */
static unsigned spent_on(const struct rama_diag_rule *rule)
{
	if (rama_diag_rule_code[rule - rama_diag_rules].place == RAMA_DIAG_PLACE_BEYOND)
		return BEYOND;
	return strcmp(rule->topic, "reads") == 0      ? READS
	       : strcmp(rule->topic, "writes") == 0   ? WRITES
	       : strcmp(rule->topic, "metadata") == 0 ? METADATA
						      : READS | WRITES | METADATA;
}

/* Two findings about the same file, or about no file, may speak of the same seconds: the dearer
 * one counts */
static bool overlaps(const struct rama_diag_engine *g, size_t i, enum rama_diag_level least)
{
	const struct rama_diag_finding *f = &g->d->findings[i];

	for (size_t k = 0; k < g->d->n_findings; k++) {
		const struct rama_diag_finding *other = &g->d->findings[k];
		bool same = f->n_culprits == 0 || other->n_culprits == 0 ||
			    (strcmp(f->culprits[0].kind, other->culprits[0].kind) == 0 &&
			     f->culprits[0].index == other->culprits[0].index);

		if (k == i || other->level < least || other->cost < f->cost ||
		    (other->cost == f->cost && k > i))
			continue;
		if (same && (spent_on(f->rule) & spent_on(other->rule)) != 0)
			return true;
	}
	return false;
}

/* seconds of the rank that is last when all these are taken away */
static double left_over(const struct rama_diag_engine *g, const struct loss *loss, size_t n)
{
	double most = 0;

	for (size_t r = 0; r < (size_t)g->view->nprocs; r++) {
		double io = rank_io(g, r), lost = 0;

		for (size_t i = 0; i < n; i++)
			lost += loss_at(g, &loss[i], r);
		most = fmax(most, io - lost);
	}
	return most;
}

#define MOST_COUNTED 16 /* findings; more do not change the sum */

double rama_diag_together_beyond(const struct rama_diag_engine *g, enum rama_diag_level least)
{
	double sum = 0;

	for (size_t i = 0; i < g->d->n_findings; i++)
		if (g->d->findings[i].level >= least &&
		    spent_on(g->d->findings[i].rule) == BEYOND && !overlaps(g, i, least))
			sum += g->d->findings[i].cost;
	return fmin(sum, fmax(0, g->facts.run_time - g->facts.io_time));
}

double rama_diag_together(const struct rama_diag_engine *g, enum rama_diag_level least)
{
	double sum = 0, most = 0, saved, can_save = g->facts.io_time - g->facts.hidden_time;
	struct loss loss[MOST_COUNTED];
	size_t n = 0;

	for (size_t i = 0; i < g->d->n_findings; i++) { /* in the order of their cost */
		const struct rama_diag_finding *f = &g->d->findings[i];

		if (f->level < least || f->cost <= 0 || spent_on(f->rule) == BEYOND)
			continue;
		most = fmax(most, f->cost);
		if (n == MOST_COUNTED || overlaps(g, i, least))
			continue;
		sum += f->cost;
		loss[n++] = loss_of(g, &g->trial[f->rule - rama_diag_rules]);
	}
	if (g->view->ranks == NULL || n < 2)
		return fmin(most, can_save);
	saved = g->facts.io_time - left_over(g, loss, n);
	return fmin(fmax(fmin(sum, saved), most), can_save);
}

/* ---- why a rank is behind ------------------------------------------------------------------- */

/* seconds that a finding takes from this rank beyond what it takes from a rank on average */
static double more_than_others(const struct rama_diag_engine *g, const struct rama_diag_trial *t,
			       size_t rank)
{
	double sum = 0, n = (double)g->view->nprocs;

	if (t->cost.rank == NULL) /* all ranks alike */
		return 0;
	for (size_t r = 0; r < (size_t)g->view->nprocs; r++)
		sum += rama_diag_cost_at(&t->cost, &g->facts, r);
	return fmax(0, rama_diag_cost_at(&t->cost, &g->facts, rank) - sum / n);
}

int rama_diag_why_behind(const struct rama_diag_engine *g, double rank, double seconds, bool moving)
{
	double sum = 0, most = 0;
	int best = -1;

	if (g->view->ranks == NULL || rank < 0 || rank >= (double)g->view->nprocs)
		return -1;
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		const struct rama_diag_trial *t = &g->trial[i];
		double own;

		if (!t->found || t->explained_by >= 0 || !rama_diag_rule_code[i].files ||
		    spent_on(&rama_diag_rules[i]) == BEYOND ||
		    strcmp(rama_diag_rules[i].topic, "balance") == 0 ||
		    rama_diag_rule_code[i].place == RAMA_DIAG_PLACE_SLOW ||
		    (moving && spent_on(&rama_diag_rules[i]) == METADATA))
			continue;
		own = more_than_others(g, t, (size_t)rank);
		sum += own;
		if (own > most) {
			most = own;
			best = (int)i;
		}
	}
	return sum >= g->facts.limits.explains * seconds && most > 0 ? best : -1;
}
