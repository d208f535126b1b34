/* SPDX-License-Identifier: BSD-3-Clause */
/* try.c: `try`: a workload as it is and changed, run by turns in the same job (A B B A A B ...),
 * so that whatever else goes on meets both; then compared. */
#include "emulate/try.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/human.h"
#include "base/json.h"
#include "emulate/emulate.h"
#include "logfile/log.h"

/* ---- two samples ---------------------------------------------------------------------------- */
/* Is one sample of times longer than the other? Pure. */

#define ALPHA 0.05
#define LEAST_EFFECT 0.02
#define EXACT_MOST 30 /* rounds; with more the normal distribution is as good */

const char *const rama_emu_verdict_name[] = { "cannot tell", "better", "worse" };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const double *x, unsigned n)
{
	return n % 2 == 1 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Of all n*n differences, in order, so many may be left out at each end: the largest k with P(U
 * < k) <= alpha / 2, U being Mann and Whitney's for two samples of n. *tail is that probability. */
static unsigned cut_exact(unsigned n, double *tail)
{
	/* ways[u]: to choose n of 2n places so that U = u: by the recursion over samples of i
	 * and k, one after the other */
	unsigned most = n * n, k = 0;
	double *ways = calloc(most + 1, sizeof(*ways)), all = 1, sum = 0;

	*tail = 0;
	if (ways == NULL)
		return 0;
	/* coefficients of the Gaussian binomial [2n over n]: product of (1 - q^(n+i)) / (1 -
	 * q^i) */
	ways[0] = 1;
	for (unsigned i = 1; i <= n; i++) {
		for (unsigned u = most; u >= n + i; u--)
			ways[u] -= ways[u - n - i];
		for (unsigned u = i; u <= most; u++)
			ways[u] += ways[u - i];
		all *= (double)(n + i) / i;
	}
	while (k < most && (sum + ways[k]) / all <= ALPHA / 2)
		sum += ways[k++];
	*tail = sum / all;
	free(ways);
	return k;
}

static unsigned cut_normal(unsigned n, double *tail)
{
	double mean = 0.5 * n * n, sd = sqrt((double)n * n * (2.0 * n + 1) / 12);
	double k = floor(mean - 1.959964 * sd);

	*tail = ALPHA / 2;
	return k > 0 ? (unsigned)k : 0;
}

int rama_emu_compare(struct rama_emu_comparison *c, double *a, double *b, unsigned n,
		     struct rama_err *e)
{
	size_t all = (size_t)n * n, at = 0;
	double *log_ratio = calloc(all + 1, sizeof(*log_ratio)), tail, middle;
	unsigned cut;

	*c = (struct rama_emu_comparison){ 0 };
	if (log_ratio == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	qsort(a, n, sizeof(*a), by_value);
	qsort(b, n, sizeof(*b), by_value);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++)
			log_ratio[at++] = log(b[k] / a[i]);
	qsort(log_ratio, all, sizeof(*log_ratio), by_value);
	cut = n <= EXACT_MOST ? cut_exact(n, &tail) : cut_normal(n, &tail);
	cut = cut > 0 ? cut : 1;
	c->median[0] = median(a, n);
	c->median[1] = median(b, n);
	c->ratio = c->median[1] / c->median[0];
	c->low = exp(log_ratio[cut - 1]);
	c->high = exp(log_ratio[all - cut]);
	c->confidence = 1 - 2 * tail;
	middle = all % 2 == 1 ? log_ratio[all / 2]
			      : (log_ratio[all / 2 - 1] + log_ratio[all / 2]) / 2;
	if (c->low > 1 && middle > log1p(LEAST_EFFECT))
		c->verdict = RAMA_EMU_WORSE;
	else if (c->high < 1 && middle < -log1p(LEAST_EFFECT))
		c->verdict = RAMA_EMU_BETTER;
	free(log_ratio);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

#define PLACE "set"

/* parameters that do not change what is done, or belong to the whole of the job */
static const enum rama_emu_param fixed[] = {
	RAMA_EMU_P_set,		RAMA_EMU_P_rounds,  RAMA_EMU_P_ranks,	 RAMA_EMU_P_json,
	RAMA_EMU_P_repeat,	RAMA_EMU_P_svg,	    RAMA_EMU_P_output,	 RAMA_EMU_P_quiet,
	RAMA_EMU_P_type,	RAMA_EMU_P_subtype, RAMA_EMU_P_profiler, RAMA_EMU_P_config_file,
	RAMA_EMU_P_profile_out, RAMA_EMU_P_store
};

static bool is_fixed(int p)
{
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if ((int)fixed[i] == p)
			return true;
	return false;
}

/* ---- the two ways --------------------------------------------------------------------------- */

/* What is tried: a mode by its name, a log by its content; any other file is a workflow. */
static const char *find_mode(const char *word)
{
	struct rama_log_options opt = { 0 };
	const char *mode = "dag";
	struct rama_file file;
	struct rama_log log;

	if (rama_emu_mode_find(word) != NULL)
		return word;
	if (rama_file_open(&file, word, NULL) != 0)
		return NULL;
	if (rama_log_open(&log, &file.src, &opt, NULL) == 0) {
		mode = "replay";
		rama_log_close(&log);
	}
	rama_file_close(&file);
	return mode;
}

static int copy_args(struct rama_emu_config *to, const struct rama_emu_config *from, size_t first,
		     struct rama_err *e)
{
	to->args = calloc(from->n_args + 1, sizeof(*to->args));
	for (size_t i = first; to->args != NULL && i < from->n_args; i++) {
		to->args[to->n_args] = strdup(from->args[i]);
		if (to->args[to->n_args] == NULL)
			return rama_err_set(e, RAMA_EMEMORY, "no memory");
		to->n_args++;
	}
	return to->args != NULL ? 0 : rama_err_set(e, RAMA_EMEMORY, "no memory");
}

/* parameters of one run: those of the command line, without those of try itself */
static int copy_config(struct rama_emu_config *to, const struct rama_emu_config *from,
		       struct rama_err *e)
{
	const char *mode = find_mode(from->args[0]);
	int rc;

	if (mode == NULL)
		return rama_err_set(e, RAMA_EMISSING,
				    "%s: neither a mode nor a file that can be read",
				    from->args[0]);
	if (strcmp(mode, "try") == 0 || strcmp(mode, "graph") == 0)
		return rama_err_set(e, RAMA_EUSAGE, "%s cannot be tried", mode);
	to->mode = mode;
	rc = copy_args(to, from, mode == from->args[0], e);
	for (int i = 0; rc == 0 && i < RAMA_EMU_PARAMS; i++)
		if (from->value[i] != NULL && !is_fixed(i))
			rc = rama_emu_config_set(to, rama_emu_param_info[i].name, from->value[i],
						 from->place[i], e);
	return rc;
}

static bool belongs(const struct rama_emu_param_info *p, const char *mode)
{
	const char *at = p->modes;
	size_t n = strlen(mode);

	while ((at = strstr(at, mode)) != NULL) {
		if ((at == p->modes || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
		at += n;
	}
	return p->modes[0] == '\0';
}

static int change(struct rama_emu_config *c, const char *text, struct rama_err *e)
{
	const char *equal = strchr(text, '=');
	size_t n = equal != NULL ? (size_t)(equal - text) : strlen(text);
	int p = rama_emu_config_find(text, n);
	char name[128];

	snprintf(name, sizeof(name), "%.*s", (int)(n < 127 ? n : 127), text);
	if (p >= 0 && is_fixed(p))
		return rama_err_set(e, RAMA_EUSAGE, "set: %s is the same for both runs", name);
	if (p >= 0 && !belongs(&rama_emu_param_info[p], c->mode))
		return rama_err_set(e, RAMA_EUSAGE, "set: %s has no meaning in mode %s", name,
				    c->mode);
	if (equal == NULL && (p < 0 || rama_emu_param_info[p].kind != RAMA_EMU_KIND_FLAG))
		return rama_err_set(e, RAMA_EUSAGE, "set: \"%.60s\" is not KEY=VALUE", text);
	return rama_emu_config_set(c, name, equal != NULL ? equal + 1 : NULL, PLACE, e);
}

/* Values may hold colons themselves: what is no name of a parameter goes on with the value
 * before. */
static bool begins(const char *item, size_t n)
{
	const char *equal = memchr(item, '=', n);

	return rama_emu_config_find(item, equal != NULL ? (size_t)(equal - item) : n) >= 0;
}

static int change_all(struct rama_emu_config *c, const struct rama_emu_config *from,
		      struct rama_err *e)
{
	size_t n = rama_emu_config_items(from, RAMA_EMU_P_set);
	char text[2048] = "";
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		const char *item;
		size_t len = rama_emu_config_item(from, RAMA_EMU_P_set, i, &item),
		       used = strlen(text);

		if (used > 0 && begins(item, len)) {
			rc = change(c, text, e);
			used = 0;
		}
		snprintf(text + used, sizeof(text) - used, "%s%.*s", used > 0 ? ":" : "", (int)len,
			 item);
	}
	return rc == 0 && text[0] != '\0' ? change(c, text, e) : rc;
}

/* ---- is anything changed? ------------------------------------------------------------------- */

/* parameters that only some engines look at */
static const struct {
	enum rama_emu_param p;
	const char *engines; /* with a blank around each */
} for_engines[] = {
	{ RAMA_EMU_P_depth, " uring uring-direct mpiio " },
	{ RAMA_EMU_P_vector, " vector " },
	{ RAMA_EMU_P_hints, " mpiio hdf5 pnetcdf " },
	{ RAMA_EMU_P_mpiio_type, " mpiio hdf5 pnetcdf " },
};

static bool is_same(const struct rama_emu_config *a, const struct rama_emu_config *b,
		    enum rama_emu_param p)
{
	switch (rama_emu_param_info[p].kind) {
	case RAMA_EMU_KIND_FLAG:
		return rama_emu_config_flag(a, p) == rama_emu_config_flag(b, p);
	case RAMA_EMU_KIND_SIZE:
	case RAMA_EMU_KIND_COUNT:
		return rama_emu_config_size(a, p) == rama_emu_config_size(b, p);
	case RAMA_EMU_KIND_SECONDS:
	case RAMA_EMU_KIND_RATIO:
		return rama_emu_config_number(a, p) == rama_emu_config_number(b, p);
	default:
		return strcmp(rama_emu_config_text(a, p), rama_emu_config_text(b, p)) == 0;
	}
}

static const char *engine_of(const struct rama_emu_config *c)
{
	const char *api = rama_emu_config_text(c, RAMA_EMU_P_io_api);

	return rama_emu_config_given(c, RAMA_EMU_P_engine) || api[0] == '\0'
		       ? rama_emu_config_text(c, RAMA_EMU_P_engine)
	       : strcmp(api, "mpiio") == 0 ? "mpiio"
					   : "posix";
}

static bool is_used(const struct rama_emu_config *c, enum rama_emu_param p)
{
	char name[64];

	snprintf(name, sizeof(name), " %.60s ", engine_of(c));
	for (size_t i = 0; i < sizeof(for_engines) / sizeof(for_engines[0]); i++)
		if (for_engines[i].p == p && strstr(for_engines[i].engines, name) == NULL)
			return false;
	return true;
}

/* Of a log it is known what both ways do; else a parameter must differ that counts. */
static int check_change(const struct rama_emu_config *way, struct rama_emu_team *team,
			const char *set, struct rama_err *e)
{
	uint64_t plan[2] = { 0, 0 };
	bool differs = false;
	int rc = 0;

	for (int i = 0; rc == 0 && i < 2; i++)
		rc = rama_emu_part_plan(&way[i], team, &plan[i], e);
	if (rc != 0)
		return rc;
	for (int p = 0; p < RAMA_EMU_PARAMS; p++)
		differs |= way[1].place[p] != NULL && strcmp(way[1].place[p], PLACE) == 0 &&
			   !is_same(&way[0], &way[1], (enum rama_emu_param)p) &&
			   is_used(&way[1], (enum rama_emu_param)p);
	if (plan[0] != 0 ? plan[0] != plan[1] : differs)
		return 0;
	return rama_err_set(e, RAMA_EUSAGE,
			    "set: %.200s changes nothing: both runs would do the same", set);
}

/* ---- rounds --------------------------------------------------------------------------------- */

struct trial {
	struct rama_emu_emulation *m;
	struct rama_emu_config way[2];
	unsigned rounds;
	double *seconds[2]; /* of each round, on rank 0 */
	double *sorted[2];
};

static int run_way(struct trial *t, int which, double *seconds, struct rama_err *e)
{
	struct rama_emu_repeat sample = { 0 };
	int rc;

	rc = rama_emu_part(&t->way[which], t->m->team, &sample, e);
	*seconds = sample.value[RAMA_EMU_REPEAT_SECONDS];
	if (rc == 0)
		rc = rama_emu_team_barrier(t->m->team, e);
	if (rc == 0 && t->m->team->rank == 0 && *seconds <= 0)
		rc = rama_err_set(e, RAMA_EUSAGE, "nothing was done that takes time");
	return rc != 0 ? rama_err_prefix(e, which == 0 ? "as it is" : "changed") : 0;
}

static int run_rounds(struct trial *t, struct rama_err *e)
{
	double unused;
	int rc = 0;

	/* once each before anything counts: files, caches and memory are then what they are in
	 * all rounds */
	for (int i = 0; rc == 0 && i < 2; i++)
		rc = run_way(t, i, &unused, e);
	for (unsigned k = 0; rc == 0 && k < t->rounds; k++) {
		int first = (int)(k % 2);

		rc = run_way(t, first, &t->seconds[first][k], e);
		if (rc == 0)
			rc = run_way(t, !first, &t->seconds[!first][k], e);
	}
	return rc;
}

/* ---- what came out -------------------------------------------------------------------------- */

static void put_json(const struct trial *t, const struct rama_emu_comparison *c)
{
	static const char *const key[] = { "baseline", "changed" };
	struct rama_json j;

	rama_json_init(&j, t->m->out);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "schema", "iorama-try");
	rama_json_key_i64(&j, "version", 1);
	rama_json_key_string(&j, "mode", t->way[0].mode);
	rama_json_key_string(&j, "what", t->m->cfg->args[0]);
	rama_json_key_string(&j, "set", rama_emu_config_text(t->m->cfg, RAMA_EMU_P_set));
	rama_json_key_i64(&j, "ranks", t->m->team->size);
	rama_json_key_i64(&j, "rounds", t->rounds);
	for (int i = 0; i < 2; i++) {
		rama_json_key(&j, key[i]);
		rama_json_open(&j, '{');
		rama_json_key_f64(&j, "median_s", c->median[i]);
		rama_json_key(&j, "seconds");
		rama_json_open(&j, '[');
		for (unsigned k = 0; k < t->rounds; k++)
			rama_json_f64(&j, t->seconds[i][k]);
		rama_json_close(&j, ']');
		rama_json_key(&j, "parameters");
		rama_json_open(&j, '{');
		for (int p = 0; p < RAMA_EMU_PARAMS; p++)
			if (t->way[i].value[p] != NULL)
				rama_json_key_string(&j, rama_emu_param_info[p].name,
						     t->way[i].value[p]);
		rama_json_close(&j, '}');
		rama_json_close(&j, '}');
	}
	rama_json_key_f64(&j, "ratio", c->ratio);
	rama_json_key_f64(&j, "low", c->low);
	rama_json_key_f64(&j, "high", c->high);
	rama_json_key_f64(&j, "confidence", c->confidence);
	rama_json_key_string(&j, "verdict", rama_emu_verdict_name[c->verdict]);
	rama_json_close(&j, '}');
	rama_out_char(t->m->out, '\n');
}

static void put_text(const struct trial *t, const struct rama_emu_comparison *c)
{
	static const char *const way[] = { "as it is", "changed" };
	char a[RAMA_HUMAN], b[RAMA_HUMAN], d[RAMA_HUMAN];
	struct rama_out *out = t->m->out;

	rama_out_fmt(out, "try: %s, with %s; %u rank%s, %u rounds by turns\n", t->m->cfg->args[0],
		     rama_emu_config_text(t->m->cfg, RAMA_EMU_P_set), (unsigned)t->m->team->size,
		     t->m->team->size == 1 ? "" : "s", t->rounds);
	for (int i = 0; i < 2; i++)
		rama_out_fmt(out, "  %-8s %s (%s to %s)\n", way[i],
			     rama_human_seconds(a, c->median[i]),
			     rama_human_seconds(b, t->sorted[i][0]),
			     rama_human_seconds(d, t->sorted[i][t->rounds - 1]));
	rama_out_fmt(out,
		     "  %-8s %.3g times as long, between %.3g and %.3g with %.1f %% confidence\n",
		     "ratio", c->ratio, c->low, c->high, 100 * c->confidence);
	rama_out_fmt(out, "  %-8s %s", "verdict", rama_emu_verdict_name[c->verdict]);
	if (c->verdict == RAMA_EMU_BETTER)
		rama_out_fmt(out, ": %s as fast\n", rama_human_ratio(a, 1 / c->ratio));
	else if (c->verdict == RAMA_EMU_WORSE)
		rama_out_fmt(out, ": takes %s as long\n", rama_human_ratio(a, c->ratio));
	else
		rama_out_text(out,
			      ": the difference is no larger than that between runs of the same\n");
}

static int tell(struct trial *t, struct rama_err *e)
{
	struct rama_emu_comparison c;
	int rc;

	for (int i = 0; i < 2; i++)
		memcpy(t->sorted[i], t->seconds[i], t->rounds * sizeof(*t->seconds[i]));
	rc = rama_emu_compare(&c, t->sorted[0], t->sorted[1], t->rounds, e);
	if (rc != 0)
		return rc;
	if (rama_emu_config_flag(t->m->cfg, RAMA_EMU_P_json))
		put_json(t, &c);
	else
		put_text(t, &c);
	if (t->m->cfg->tried != NULL)
		t->m->cfg->tried(t->m->cfg->tried_ctx,
				 &(struct rama_emu_tried){ c, t->m->team->size, t->rounds });
	return 0;
}

/* ---- the mode ------------------------------------------------------------------------------- */

static int check(const struct rama_emu_config *c, struct rama_err *e)
{
	int64_t rounds = rama_emu_config_size(c, RAMA_EMU_P_rounds);

	if (c->n_args == 0)
		return rama_err_set(e, RAMA_EUSAGE, "try what? a log, a workflow or a mode");
	if (rama_emu_config_text(c, RAMA_EMU_P_set)[0] == '\0')
		return rama_err_set(e, RAMA_EUSAGE, "nothing is changed: --set KEY=VALUE");
	if (rounds < RAMA_EMU_TRY_LEAST || rounds > RAMA_EMU_TRY_MOST)
		return rama_err_set(e, RAMA_EUSAGE, "rounds: from %d to %d", RAMA_EMU_TRY_LEAST,
				    RAMA_EMU_TRY_MOST);
	return 0;
}

int rama_emu_mode_try(struct rama_emu_emulation *m, struct rama_err *e)
{
	struct trial t = { .m = m,
			   .rounds = (unsigned)rama_emu_config_size(m->cfg, RAMA_EMU_P_rounds) };
	int rc = check(m->cfg, e);

	m->told = true;
	for (int i = 0; i < 2; i++) {
		rama_emu_config_init(&t.way[i]);
		if (rc == 0)
			rc = copy_config(&t.way[i], m->cfg, e);
		t.seconds[i] = rc == 0 ? calloc(t.rounds, sizeof(*t.seconds[i])) : NULL;
		t.sorted[i] = rc == 0 ? calloc(t.rounds, sizeof(*t.sorted[i])) : NULL;
		if (rc == 0 && (t.seconds[i] == NULL || t.sorted[i] == NULL))
			rc = rama_err_set(e, RAMA_EMEMORY, "no memory");
	}
	if (rc == 0)
		rc = change_all(&t.way[1], m->cfg, e);
	if (rc == 0)
		rc = check_change(t.way, m->team, rama_emu_config_text(m->cfg, RAMA_EMU_P_set), e);
	if (rc == 0)
		rc = run_rounds(&t, e);
	if (rc == 0 && m->team->rank == 0)
		rc = tell(&t, e);
	for (int i = 0; i < 2; i++) {
		rama_emu_config_fini(&t.way[i]);
		free(t.seconds[i]);
		free(t.sorted[i]);
	}
	return rc;
}
