/* SPDX-License-Identifier: BSD-3-Clause */
/* engine.c: tries all rules on a job. One pass over its files asks every rule about every file;
 * then rules judge the job; symptoms are traced to causes; levels follow from what is lost. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/advice.h"
#include "diagnose/engine.h"

/* files that lost most, else those that moved most, first; a record of many files names none */
static bool before(const struct rama_diag_suspect *a, const struct rama_diag_suspect *b)
{
	if (a->folded != b->folded)
		return b->folded;
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

/* what every rule says of one file */
static int try_file(struct rama_diag_engine *g, uint32_t index)
{
	const struct rama_job_view_file *file = &g->view->files[index];
	const struct rama_diag_facts *f = &g->facts;
	struct rama_diag_sums x;

	rama_diag_facts_file(f, file, &x);
	for (unsigned i = 0; i < rama_diag_n_rules; i++) {
		const struct rama_diag_rule_code *code = &rama_diag_rule_code[i];
		struct rama_diag_trial *t = &g->trial[i];
		double lost;
		int rc;

		if (!code->files || code->which(f, &x, 0) == 0)
			continue;
		lost = code->lost(f, &x, 0);
		lost = isfinite(lost) && lost > 0 ? lost : 0;
		rama_diag_sums_add(&t->sums, &x);
		suspect(t, (struct rama_diag_suspect){ index, lost, x.disk_bytes, x.files,
						       file->folded });
		rc = rama_diag_cost_add(&t->cost, f, file, &x, code->place, lost);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static double sane(double v, double most)
{
	return isfinite(v) && v > 0 ? fmin(v, most) : 0;
}

static void judge(struct rama_diag_engine *g, unsigned i)
{
	const struct rama_diag_rule_code *code = &rama_diag_rule_code[i];
	const struct rama_diag_facts *f = &g->facts;
	struct rama_diag_trial *t = &g->trial[i];
	double path;

	rama_diag_sums_ratios(&t->sums);
	t->explained_by = t->also = -1;
	g->d->checks[i] = RAMA_DIAG_CHECK_NA;
	if (code->applies(f, &t->sums, 0) == 0)
		return;
	/* praise that is not deserved is no fault */
	g->d->checks[i] = rama_diag_rules[i].most == RAMA_DIAG_LEVEL_OK ? RAMA_DIAG_CHECK_NA
									: RAMA_DIAG_CHECK_PASSED;
	path = rama_diag_cost_path(&t->cost, f);
	if (code->when(f, &t->sums, path) == 0)
		return;
	g->d->checks[i] = rama_diag_rules[i].most == RAMA_DIAG_LEVEL_OK ? RAMA_DIAG_CHECK_PASSED
									: RAMA_DIAG_CHECK_FOUND;
	t->found = true;
	t->seconds = sane(code->cost(f, &t->sums, path), f->io_time);
	t->bytes = sane(code->bytes(f, &t->sums, path), INFINITY);
}

/* Do both concern the same file? What is not about files concerns all. */
static bool same_files(const struct rama_diag_trial *symptom, const struct rama_diag_trial *cause)
{
	if (symptom->n == 0 || cause->n == 0)
		return true;
	for (size_t i = 0; i < cause->n; i++)
		if (cause->first[i].file == symptom->first[0].file)
			return true;
	return cause->all > RAMA_DIAG_CULPRITS && symptom->all > RAMA_DIAG_CULPRITS;
}

static int rule_index(const char *id, size_t len)
{
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		if (strlen(rama_diag_rules[i].id) == len &&
		    memcmp(rama_diag_rules[i].id, id, len) == 0)
			return (int)i;
	return -1;
}

/* "L01+" of a list of causes */
struct cause {
	int rule;
	bool adds; /* the same remedy helps other files too */
};

static const char *next_cause(const char *at, struct cause *c)
{
	size_t len = strcspn(at, " ");

	c->adds = len > 0 && at[len - 1] == '+';
	c->rule = rule_index(at, len - c->adds);
	return at + len + strspn(at + len, " ");
}

static bool explains(const struct rama_diag_engine *g, const struct rama_diag_trial *symptom,
		     struct cause c)
{
	const struct rama_diag_trial *t = c.rule >= 0 ? &g->trial[c.rule] : NULL;
	double share = g->facts.limits.explains * (c.adds ? 0.5 : 1);

	return t != NULL && t->found && t->seconds > 0 && t->seconds >= share * symptom->seconds &&
	       (c.adds || same_files(symptom, t));
}

/* A symptom is told once, where its cause is: it costs nothing of its own */
static void explain(struct rama_diag_engine *g, unsigned i)
{
	struct rama_diag_trial *t = &g->trial[i];
	const char *at = rama_diag_rules[i].causes;

	while (t->found && t->explained_by < 0 && *at != '\0') {
		struct cause c;
		int root;

		at = next_cause(at, &c);
		if (!explains(g, t, c))
			continue;
		for (root = c.rule;
		     g->trial[root].explained_by >= 0;) /* it may be a symptom itself */
			root = g->trial[root].explained_by;
		if (root == (int)i)
			continue;
		t->explained_by = root;
		if (c.adds && !same_files(t, &g->trial[root])) {
			g->trial[root].also = (int)i;
			g->trial[root].more =
				fmin(t->seconds, g->facts.io_time - g->trial[root].seconds);
			g->trial[root].seconds += g->trial[root].more;
		}
	}
}

static enum rama_diag_level level_of(const struct rama_diag_engine *g, unsigned i)
{
	const struct rama_diag_trial *t = &g->trial[i];
	const struct rama_diag_limit_values *l = &g->facts.limits;
	double share = g->facts.run_time > 0 ? t->seconds / g->facts.run_time : 0;
	enum rama_diag_level level = RAMA_DIAG_LEVEL_INFO;

	if (rama_diag_rules[i].most == RAMA_DIAG_LEVEL_OK ||
	    strcmp(rama_diag_rules[i].topic, "incomplete") == 0)
		return rama_diag_rules[i].most;
	if (g->calm || t->explained_by >= 0 || t->seconds < l->cost_floor)
		return RAMA_DIAG_LEVEL_INFO;
	if (share >= l->cost_high)
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

/* worst first, then by cost; causes come before symptoms where both cost the same */
static int by_weight(const void *a, const void *b)
{
	const struct rama_diag_finding *x = a, *y = b;

	if (x->level != y->level)
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

		if (!t->found)
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
	for (size_t i = 0; i < g->view->n_files; i++) {
		int rc = g->view->files[i].pseudo ? 0 : try_file(g, (uint32_t)i);

		if (rc != 0)
			return rc;
	}
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		judge(g, i);
	for (unsigned i = 0; i < rama_diag_n_rules; i++)
		explain(g, i);
	return 0;
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
	g.calm = g.facts.run_time > 0 && g.facts.io_share < g.facts.limits.io_negligible;
	g.trial = calloc(rama_diag_n_rules, sizeof(*g.trial));
	d->checks = rama_arena_alloc(&d->arena, rama_diag_n_rules * sizeof(*d->checks));
	if (g.trial == NULL || d->checks == NULL)
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
	free(g.trial);
	rama_diag_facts_fini(&g.facts);
	return rc == 0 ? 0 : rama_err_set(e, rc, "diagnosis: %s", rama_err_text(rc));
}

void rama_diag_fini(struct rama_diag *d)
{
	rama_arena_fini(&d->arena);
	memset(d, 0, sizeof(*d));
}
