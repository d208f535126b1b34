/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c: tries all rules on a job. One pass over its files asks every rule about every file;
 * then rules judge the job; symptoms are traced to causes; levels follow from what is lost. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/advice.h"
#include "diagnose/engine.h"

/* files by which the slowest rank loses most, else all ranks, else those that moved most, first; a
 * record of many files names none */
static bool before(const struct rama_diag_suspect *a, const struct rama_diag_suspect *b)
{
	if (a->folded != b->folded)
		return b->folded;
	if (a->here != b->here)
		return a->here > b->here;
	if (a->lost != b->lost)
		return a->lost > b->lost;
	return a->bytes > b->bytes;
}

static void suspect(struct rama_diag_trial *t, struct rama_diag_suspect s)
{
	size_t at = t->n;

	t->all += (size_t)fmin(fmax(1, s.count), 1e15);
	while (at > 0 && before(&s, &t->first[at - 1]))
		at--;
	if (at >= RAMA_DIAG_CULPRITS)
		return;
	if (t->n < RAMA_DIAG_CULPRITS)
		t->n++;
	for (size_t i = t->n - 1; i > at; i--)
		t->first[i] = t->first[i - 1];
	t->first[at] = s;
}

/* of the seconds that a file loses, added over its ranks, those of the slowest rank of the job */
static double lost_here(const struct rama_diag_facts *f, const struct rama_job_view_file *file,
			const struct rama_diag_sums *x, double lost)
{
	double mean = lost / fmax(1, file->ranks);

	if (file->ranks <= 1)
		return (double)file->rank == f->slow_rank ? lost : 0;
	if ((double)file->slow_rank == f->slow_rank && x->disk_time > 0)
		return fmax(mean, fmin(lost, lost / x->disk_time * x->slowest_time));
	return mean;
}

static double sane(double v, double most)
{
	return isfinite(v) && v > 0 ? fmin(v, most) : 0;
}

/* a file that shows a rule and lost so much by it */
static int take_in(struct rama_diag_engine *g, unsigned i, uint32_t index,
		   const struct rama_diag_sums *x, double lost)
{
	const struct rama_job_view_file *file = &g->view->files[index];
	struct rama_diag_trial *t = &g->trial[i];

	rama_diag_sums_add(&t->sums, x);
	suspect(t, (struct rama_diag_suspect){ index, lost_here(&g->facts, file, x, lost), lost,
					       x->disk_bytes, x->files, file->folded });
	return rama_diag_cost_add(&t->cost, &g->facts, file, x, rama_diag_rule_code[i].place, lost);
}

/* what every rule says of one file */
static int try_file(struct rama_diag_engine *g, uint32_t index)
{
	const struct rama_diag_facts *f = &g->facts;
	struct rama_diag_sums x;
	bool any = false;

	rama_diag_facts_file(f, &g->view->files[index], &x);
	memset(g->lost, 0, rama_diag_n_rules * sizeof(*g->lost));
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		const struct rama_diag_rule_code *code = &rama_diag_rule_code[i];
		int rc;

		if (!code->files || code->which(f, &x, 0) == 0)
			continue;
		g->lost[i] = sane(code->lost(f, &x, 0), INFINITY);
		any |= g->lost[i] > 0;
		rc = take_in(g, i, index, &x, g->lost[i]);
		if (rc != 0)
			return rc;
	}
	if (any)
		rama_diag_causes_file(g, g->lost);
	return rama_diag_beyond_file(g, &g->view->files[index], &x);
}

static void judge(struct rama_diag_engine *g, unsigned i)
{
	const struct rama_diag_rule_code *code = &rama_diag_rule_code[i];
	const struct rama_diag_facts *f = &g->facts;
	struct rama_diag_trial *t = &g->trial[i];
	bool beyond = code->place == RAMA_DIAG_PLACE_BEYOND;
	double path;

	rama_diag_sums_ratios(&t->sums);
	t->explained_by = t->also = -1;
	g->d->checks[i] = RAMA_DIAG_CHECK_NA;
	if (code->applies(f, &t->sums, 0) == 0)
		return;
	/* praise that is not deserved is no fault */
	g->d->checks[i] = rama_diag_rules[i].most == RAMA_DIAG_LEVEL_OK ? RAMA_DIAG_CHECK_NA
									: RAMA_DIAG_CHECK_PASSED;
	path = beyond ? rama_diag_cost_beyond(&t->cost, &g->beyond, f)
		      : rama_diag_cost_path(&t->cost, f);
	if (code->when(f, &t->sums, path) == 0)
		return;
	g->d->checks[i] = rama_diag_rules[i].most == RAMA_DIAG_LEVEL_OK ? RAMA_DIAG_CHECK_PASSED
									: RAMA_DIAG_CHECK_FOUND;
	t->found = true;
	t->seconds = sane(code->cost(f, &t->sums, path),
			  beyond && f->run_time > 0 ? f->run_time : f->io_time - f->hidden_time);
	t->bytes = sane(code->bytes(f, &t->sums, path), INFINITY);
}

/* ---- what is left of symptoms ---------------------------------------------------------------- */

/* does one of the causes that were accepted lose something in this file? */
static bool has_cause(const struct rama_diag_engine *g, const struct rama_diag_trial *t,
		      const struct rama_diag_sums *x)
{
	for (unsigned k = 0; k < t->n_causes; k++) {
		const struct rama_diag_rule_code *code = &rama_diag_rule_code[t->cause[k].rule];

		if (t->cause[k].partly && code->files && code->which(&g->facts, x, 0) != 0 &&
		    code->lost(&g->facts, x, 0) > 0)
			return true;
	}
	return false;
}

/* the symptom of one file, unless the file shows a cause */
static int try_rest(struct rama_diag_engine *g, uint32_t index)
{
	struct rama_diag_sums x;
	int rc = 0;

	rama_diag_facts_file(&g->facts, &g->view->files[index], &x);
	for (unsigned i = 0; i < rama_diag_n_rules && rc == 0; i++) {
		const struct rama_diag_rule_code *code = &rama_diag_rule_code[i];

		if (g->trial[i].partly && code->which(&g->facts, &x, 0) != 0 &&
		    !has_cause(g, &g->trial[i], &x))
			rc = take_in(g, i, index, &x, sane(code->lost(&g->facts, &x, 0), INFINITY));
	}
	return rc;
}

/* A symptom that is explained in some files is judged again by the others: what is left of it is
 * what the slowest rank saves there. */
static int judge_rest(struct rama_diag_engine *g)
{
	bool any = false;
	int rc = 0;

	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		struct rama_diag_trial *t = &g->trial[i];

		if (!t->partly)
			continue;
		any = true;
		rama_diag_cost_fini(&t->cost);
		memset(&t->cost, 0, sizeof(t->cost));
		memset(&t->sums, 0, sizeof(t->sums));
		t->n = t->all = 0;
	}
	for (size_t i = 0; any && i < g->view->n_files && rc == 0; i++)
		rc = g->view->files[i].pseudo ? 0 : try_rest(g, (uint32_t)i);
	for (unsigned i = 0; any && i < rama_diag_n_rules && rc == 0; i++) {
		struct rama_diag_trial *t = &g->trial[i];
		int also = t->also;

		if (!t->partly)
			continue;
		t->found = false;
		judge(g, i);
		if (!t->found) /* nothing that matters is left */
			t->explained_by = t->partly_by;
		t->also = also;
		t->seconds = fmin(t->seconds + t->more, g->facts.io_time - g->facts.hidden_time);
		g->d->checks[i] = RAMA_DIAG_CHECK_FOUND;
		t->found = true;
	}
	return rc;
}

static enum rama_diag_level level_of(const struct rama_diag_engine *g, unsigned i)
{
	const struct rama_diag_trial *t = &g->trial[i];
	const struct rama_diag_limit_values *l = &g->facts.limits;
	double share = g->facts.run_time > 0 ? t->seconds / g->facts.run_time : 0;
	enum rama_diag_level level = RAMA_DIAG_LEVEL_INFO;

	if (rama_diag_rules[i].most == RAMA_DIAG_LEVEL_OK ||
	    strcmp(rama_diag_rules[i].topic, "incomplete") == 0 ||
	    strcmp(rama_diag_rules[i].topic, "consistency") == 0) /* no matter of seconds */
		return rama_diag_rules[i].most;
	if ((g->calm && rama_diag_rule_code[i].place != RAMA_DIAG_PLACE_BEYOND) ||
	    t->explained_by >= 0 || t->seconds < l->cost_floor)
		return RAMA_DIAG_LEVEL_INFO;
	if (share >= l->cost_high &&
	    t->seconds >= fmin(l->high_floor, l->cost_high * g->facts.run_time))
		level = RAMA_DIAG_LEVEL_HIGH;
	else if (share >= l->cost_warn)
		level = RAMA_DIAG_LEVEL_WARN;
	return level < rama_diag_rules[i].most ? level : rama_diag_rules[i].most;
}

/* what is missing could change the picture */
static enum rama_diag_confidence confidence_of(const struct rama_diag_engine *g, unsigned i)
{
	enum rama_diag_confidence sure = rama_diag_rule_code[i].confidence;
	bool incomplete = strcmp(rama_diag_rules[i].topic, "incomplete") == 0;

	return g->facts.counters_lost > 0 && !incomplete && sure > RAMA_DIAG_CONFIDENCE_LOW
		       ? sure - 1
		       : sure;
}

/* that figures are lower bounds is to be known before any of them */
static bool lacks(const struct rama_diag_finding *x)
{
	return x->level >= RAMA_DIAG_LEVEL_WARN && strcmp(x->rule->topic, "incomplete") == 0;
}

/* By cost where there is something to do, whatever the rule may be at worst; then by level.
 * Causes come before symptoms where both cost the same. */
static int by_weight(const void *a, const void *b)
{
	const struct rama_diag_finding *x = a, *y = b;

	bool both = x->level >= RAMA_DIAG_LEVEL_WARN && y->level >= RAMA_DIAG_LEVEL_WARN;

	if (lacks(x) != lacks(y))
		return lacks(x) ? -1 : 1;
	if (x->level != y->level && (!both || x->cost == y->cost))
		return x->level > y->level ? -1 : 1;
	if (x->cost != y->cost)
		return x->cost > y->cost ? -1 : 1;
	return (x->rule > y->rule) - (x->rule < y->rule);
}

static void count(struct rama_diag *d)
{
	for (size_t i = 0; i < d->n_findings; i++) {
		enum rama_diag_level level = d->findings[i].level;

		d->n_high += level == RAMA_DIAG_LEVEL_HIGH;
		d->n_warn += level == RAMA_DIAG_LEVEL_WARN;
		d->n_info += level == RAMA_DIAG_LEVEL_INFO;
		d->n_ok += level == RAMA_DIAG_LEVEL_OK;
		if (level > d->level)
			d->level = level;
	}
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		d->n_found += d->checks[i] == RAMA_DIAG_CHECK_FOUND;
		d->n_passed += d->checks[i] == RAMA_DIAG_CHECK_PASSED;
		d->n_na += d->checks[i] == RAMA_DIAG_CHECK_NA;
	}
}

static int make_findings(struct rama_diag_engine *g)
{
	struct rama_diag *d = g->d;

	d->findings = rama_arena_alloc(&d->arena, rama_diag_n_rules * sizeof(*d->findings));
	if (d->findings == NULL)
		return RAMA_EMEMORY;
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		const struct rama_diag_trial *t = &g->trial[i];
		struct rama_diag_finding *to = &d->findings[d->n_findings];
		int rc;

		/* what is blamed elsewhere is not praised */
		if (!t->found ||
		    (rama_diag_rules[i].most == RAMA_DIAG_LEVEL_OK && t->explained_by >= 0))
			continue;
		memset(to, 0, sizeof(*to));
		to->rule = &rama_diag_rules[i];
		to->level = level_of(g, i);
		to->confidence = confidence_of(g, i);
		to->cost = t->explained_by < 0 ? t->seconds : 0;
		to->cost_share = g->facts.run_time > 0 ? to->cost / g->facts.run_time : 0;
		to->bytes = t->bytes;
		to->from = to->to = NAN;
		if (t->explained_by >= 0)
			to->follows = &rama_diag_rules[t->explained_by];
		rc = rama_diag_evidence(g, to, t);
		if (rc != 0)
			return rc;
		d->n_findings++;
	}
	qsort(d->findings, d->n_findings, sizeof(*d->findings), by_weight);
	count(d);
	return 0;
}

static int try_all(struct rama_diag_engine *g)
{
	int rc = 0;

	rama_diag_causes_read(g);
	for (size_t i = 0; i < g->view->n_files && rc == 0; i++)
		rc = g->view->files[i].pseudo ? 0 : try_file(g, (uint32_t)i);
	if (rc != 0)
		return rc;
	if (rama_diag_beyond_find(g) != 0)
		return RAMA_EMEMORY;
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		judge(g, i);
	rama_diag_causes_find(g);
	rc = judge_rest(g);
	if (rc == 0) {
		rama_diag_causes_rest(g);
		rama_diag_causes_ranks(g);
	}
	return rc;
}

/* what the rules knew, for those who keep it */
static int keep_facts(struct rama_diag_engine *g)
{
	double *v = rama_arena_alloc(&g->d->arena, rama_diag_n_facts * sizeof(*v));

	if (v == NULL)
		return RAMA_EMEMORY;
	for (unsigned i = 0; i < rama_diag_n_facts; i++)
		v[i] = rama_diag_fact_value(&rama_diag_fact_info[i], &g->facts, &g->facts.all);
	g->d->facts = v;
	return 0;
}

int rama_diag_make(struct rama_diag *d, const struct rama_job_view *v,
		   const struct rama_diag_profile *p, struct rama_err *e)
{
	struct rama_diag_engine g = { .d = d, .view = v };
	int rc;

	memset(d, 0, sizeof(*d));
	rc = rama_diag_facts_make(&g.facts, v, p);
	/* of I/O that was not seen nobody knows how long it took */
	g.calm = g.facts.run_time > 0 && g.facts.io_share < g.facts.limits.io_negligible &&
		 g.facts.uring_missed == 0 && g.facts.untimed <= 0;
	g.trial = calloc(rama_diag_n_rules, sizeof(*g.trial));
	g.lost = calloc(rama_diag_n_rules, sizeof(*g.lost));
	d->checks = rama_arena_alloc(&d->arena, rama_diag_n_rules * sizeof(*d->checks));
	if (g.trial == NULL || g.lost == NULL || d->checks == NULL)
		rc = RAMA_EMEMORY;
	if (rc == 0)
		rc = try_all(&g);
	if (rc == 0)
		rc = make_findings(&g);
	if (rc == 0)
		rc = rama_diag_advise(d, v);
	if (rc == 0)
		rc = rama_diag_verdict(&g);
	if (rc == 0)
		rc = keep_facts(&g);
	for (unsigned i = 0; g.trial != NULL && i < rama_diag_n_rules; i++)
		rama_diag_cost_fini(&g.trial[i].cost);
	rama_diag_cost_fini(&g.beyond);
	free(g.trial);
	free(g.lost);
	rama_diag_facts_fini(&g.facts);
	return rc == 0 ? 0 : rama_err_set(e, rc, "diagnosis: %s", rama_err_text(rc));
}

void rama_diag_fini(struct rama_diag *d)
{
	rama_arena_fini(&d->arena);
	memset(d, 0, sizeof(*d));
}
