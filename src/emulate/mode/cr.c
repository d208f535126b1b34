/* SPDX-License-Identifier: BSD-3-Clause */
/* cr.c: compute, write a checkpoint, perhaps crash, go on from the newest complete one. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/human.h"
#include "emulate/mode/cr.h"

/* ---- the report ----------------------------------------------------------------------------- */
/* What the checkpoints cost, what the crashes cost, and which interval would cost
 * least. */

/* Young: first order. Daly: with higher orders, for checkpoints that are not short against the
 * time between crashes. */
static double young(double cost, double mtbf)
{
	return sqrt(2 * cost * mtbf);
}

static double daly(double cost, double mtbf)
{
	double x = cost / (2 * mtbf);

	return x >= 1 ? mtbf : young(cost, mtbf) * (1 + sqrt(x) / 3 + x / 9) - cost;
}

struct sums {
	double seconds, cost, lost, useful; /* of all runs of the job; cost: of one checkpoint */
	double interval, mtbf;		    /* as long as they really are */
	uint64_t written;
	int64_t bytes; /* of one set */
};

static struct sums sum_up(const struct rama_emu_cr *c)
{
	/* --time scales the interval; without any compute time the figures are for the times as
	 * asked for */
	double scale = c->m->opt.speed > 0 ? 1 / c->m->opt.speed : 1;
	struct sums s = { .written = c->job.written + c->written,
			  .seconds = c->job.seconds + rama_now() - c->began,
			  .interval = c->interval * scale,
			  .mtbf = c->mtbf * scale,
			  .lost = c->job.lost };

	if (s.mtbf <= 0 && c->chance > 0 && c->chance < 1)
		s.mtbf = -s.interval / log(1 - c->chance);
	s.cost = s.written > 0 ? c->job.cost / (double)s.written : 0;
	s.useful = c->m->opt.speed > 0 ? (double)s.written * s.interval : 0;
	s.bytes = (int64_t)c->shape.writers * c->shape.files * c->shape.size;
	return s;
}

static void put_notes(const struct rama_emu_cr *c, const struct sums *s, struct rama_out *o)
{
	rama_out_fmt(o,
		     "\"checkpoints\":%llu,\"newest\":%llu,\"started_from\":%llu,\"crashes\":%llu,"
		     "\"restarts\":%llu,\"restarted_from\":[",
		     (unsigned long long)s->written, (unsigned long long)c->last,
		     (unsigned long long)c->started_from, (unsigned long long)c->job.crashes,
		     (unsigned long long)c->restarts);
	rama_out_bytes(o, c->from.buf, c->from.used);
	rama_out_fmt(
		o,
		"],\"writers\":%u,\"set_bytes\":%lld,\"job_s\":%.6g,\"lost_work_s\":%.6g,"
		"\"checkpoint_s\":%.6g,\"restart_s\":%.6g,\"overhead\":%.6g,\"interval_s\":%.6g,",
		c->shape.writers, (long long)s->bytes, s->seconds, s->lost, s->cost,
		c->restart_time, s->seconds > 0 ? fmax(0, 1 - s->useful / s->seconds) : 0,
		s->interval);
	rama_out_fmt(o,
		     "\"mtbf_s\":%.6g,\"best_interval_s\":%.6g,\"best_interval_daly_s\":%.6g,"
		     "\"staged_bytes\":%llu,\"staging_s\":%.6g",
		     s->mtbf, young(s->cost, s->mtbf), s->mtbf > 0 ? daly(s->cost, s->mtbf) : 0,
		     (unsigned long long)c->copied, c->copy_time);
}

static void put_remarks(const struct rama_emu_cr *c, const struct sums *s, struct rama_out *o)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN], d[RAMA_HUMAN], f[RAMA_HUMAN];

	if (c->started_from > 0)
		rama_out_fmt(o, "started from set %llu, which was there\n",
			     (unsigned long long)c->started_from);
	rama_out_fmt(o, "%llu checkpoint%s of %s written, the newest is set %llu\n",
		     (unsigned long long)s->written, s->written == 1 ? "" : "s",
		     rama_human_bytes(a, (double)s->bytes), (unsigned long long)c->last);
	if (c->job.crashes > 0)
		rama_out_fmt(o, "%llu crash%s, %s of work lost, restarts took %s\n",
			     (unsigned long long)c->job.crashes, c->job.crashes == 1 ? "" : "es",
			     rama_human_seconds(a, s->lost),
			     rama_human_seconds(b, c->restart_time));
	if (c->copied > 0)
		rama_out_fmt(o, "%s copied to %s meanwhile, in %s\n",
			     rama_human_bytes(a, (double)c->copied), c->safe,
			     rama_human_seconds(b, c->copy_time));
	if (s->useful > 0 && s->seconds > 0)
		rama_out_fmt(o, "%s of the time made work that lasts; the rest is overhead\n",
			     rama_human_share(a, fmin(1, s->useful / s->seconds)));
	if (s->cost > 0 && s->mtbf > 0)
		rama_out_fmt(o,
			     "a checkpoint takes %s; with a crash every %s the best interval is "
			     "about %s (Young; "
			     "Daly %s)",
			     rama_human_seconds(a, s->cost), rama_human_seconds(b, s->mtbf),
			     rama_human_seconds(d, young(s->cost, s->mtbf)),
			     rama_human_seconds(f, daly(s->cost, s->mtbf)));
	if (s->cost > 0 && s->mtbf > 0)
		rama_out_fmt(o, ", here it is %s\n", rama_human_seconds(a, s->interval));
}

static void cr_note(struct rama_emu_cr *c)
{
	struct sums s = sum_up(c);

	put_notes(c, &s, &c->m->notes);
	put_remarks(c, &s, &c->m->remarks);
}

/* ---- chance --------------------------------------------------------------------------------- */

/* A number from 0 to 1 for this round, the same on all ranks and in every run with this seed. */
static double draw(const struct rama_emu_cr *c, unsigned what)
{
	uint64_t x = c->m->opt.seed * 0x9e3779b97f4a7c15u +
		     (c->last - c->job.base + 1) * 0xbf58476d1ce4e5b9u +
		     c->job.crashes * 0x94d049bb133111ebu + what;

	for (int i = 0; i < 2; i++) {
		x ^= x >> 31;
		x *= 0xd6e8feb86659fd93u;
	}
	x ^= x >> 32;
	return (double)(x >> 11) * 0x1p-53;
}

/* A plain number is per cent, as in the paper: 0.2 is 0.2 %. */
static double rate_of(const struct rama_emu_config *c)
{
	const char *text = rama_emu_config_text(c, RAMA_EMU_P_ck_error);
	double x = rama_emu_config_number(c, RAMA_EMU_P_ck_error);

	return strchr(text, '%') != NULL || strchr(text, '/') != NULL ? x : x / 100;
}

/* Is it true on all ranks? */
static int agree(struct rama_emu_cr *c, bool *yes, struct rama_err *e)
{
	char mine = *yes ? 1 : 0, *all = NULL;
	size_t *lens = NULL;
	int rc = rama_emu_team_gather(c->m->team, &mine, 1, &all, &lens, e);

	for (int i = 0; rc == 0 && all != NULL && i < c->m->team->size; i++)
		mine = (char)(mine & all[i]);
	free(all);
	free(lens);
	if (rc == 0)
		rc = rama_emu_team_bcast(c->m->team, &mine, 1, e);
	*yes = mine != 0;
	return rc;
}

/* ---- copies to the safe place --------------------------------------------------------------- */

/* Waits for the copy that is under way, if any; then the set is complete there too. All ranks
 * call it. */
static int finish_copy(struct rama_emu_cr *c, struct rama_err *e)
{
	uint64_t set = c->copying;
	int rc = 0;

	if (set == 0)
		return 0;
	if (c->copy != NULL)
		rc = rama_emu_copy_end(c->copy, false, &c->copy_time, e);
	c->copy = NULL;
	if (rc == 0)
		rc = rama_emu_team_barrier(c->m->team, e);
	if (rc == 0 && c->m->team->rank == 0)
		rc = rama_emu_set_commit(c->m->opt.own, c->safe, set, &c->copy_shape, 0, e);
	if (rc == 0)
		rc = rama_emu_team_barrier(c->m->team, e);
	if (rc == 0) {
		c->copying = 0;
		c->in_safe = set;
		c->copied +=
			(uint64_t)c->copy_shape.size * c->copy_shape.writers * c->copy_shape.files;
	}
	return rc;
}

static int begin_copy(struct rama_emu_cr *c, uint64_t set, const struct rama_emu_cr_shape *shape,
		      struct rama_err *e)
{
	struct rama_emu_copy_order o = { .own = c->m->opt.own,
					 .from = c->fast,
					 .to = c->safe,
					 .set = set,
					 .shape = *shape,
					 .first = (uint32_t)c->m->team->rank,
					 .step = (uint32_t)c->m->team->size };
	int rc = finish_copy(c, e);

	if (rc != 0)
		return rc;
	c->copying = set;
	c->copy_shape = *shape;
	if (o.first >= shape->writers)
		return 0;
	c->copy = rama_emu_copy_start(&o, e);
	return c->copy != NULL ? 0 : e->code;
}

/* The copy is committed as soon as all ranks are done with it, not when the next one begins. */
static int look_at_copy(struct rama_emu_cr *c, struct rama_err *e)
{
	bool done = c->copy == NULL || rama_emu_copy_done(c->copy);
	int rc = 0;

	if (c->copying != 0)
		rc = agree(c, &done, e);
	return rc == 0 && c->copying != 0 && done ? finish_copy(c, e) : rc;
}

/* ---- a checkpoint --------------------------------------------------------------------------- */

static int prune(struct rama_emu_cr *c, struct rama_err *e)
{
	uint64_t keep = (uint64_t)rama_emu_config_size(c->m->cfg, RAMA_EMU_P_keep_sets);
	int rc = 0;

	if (keep == 0)
		return 0;
	if (c->m->team->rank == 0)
		rc = rama_emu_sets_prune(c->m->opt.own, c->safe, keep, c->copying, e);
	if (rc == 0 && c->staging && c->leader)
		rc = rama_emu_sets_prune(c->m->opt.own, c->fast, keep, c->copying, e);
	return rc;
}

static int commit(struct rama_emu_cr *c, uint64_t set, struct rama_err *e)
{
	uint64_t steps = (uint64_t)rama_emu_config_size(c->m->cfg, RAMA_EMU_P_stage_steps);
	int rc = 0;

	if (c->files && (c->staging ? c->leader : c->m->team->rank == 0))
		rc = rama_emu_set_commit(c->m->opt.own, rama_emu_cr_here(c), set, &c->shape,
					 c->m->team->rank, e);
	if (rc == 0)
		rc = rama_emu_team_barrier(c->m->team, e);
	if (rc != 0)
		return rc;
	c->last = set;
	c->last_shape = c->shape;
	c->writing = 0;
	c->written++;
	c->since = rama_now();
	if (!c->files)
		return 0;
	if (!c->staging)
		c->in_safe = set;
	else
		rc = look_at_copy(c, e);
	if (rc == 0 && c->staging && (set - c->job.base) % (steps > 0 ? steps : 1) == 0)
		rc = begin_copy(c, set, &c->shape, e);
	return rc == 0 ? prune(c, e) : rc;
}

static int compute(struct rama_emu_cr *c, double seconds, bool die, struct rama_err *e)
{
	struct rama_emu_script s;
	int rc;

	rama_emu_script_init(&s);
	rama_emu_script_begin(&s, 0, (uint32_t)c->last);
	rama_emu_script_compute(&s, seconds, 1);
	if (die)
		rama_emu_script_step(&s, RAMA_EMU_DO_KILL, NULL);
	rc = rama_emu_emulation_stream(c->m, &s, e);
	rama_emu_script_fini(&s);
	return rc;
}

static int checkpoint(struct rama_emu_cr *c, struct rama_err *e)
{
	uint64_t set = c->last + 1;
	double start;
	int rc = compute(c, c->interval, false, e);

	if (rc == 0)
		rc = rama_emu_team_barrier(c->m->team,
					   e); /* else ranks that wake late count as its cost */
	start = rama_now();
	if (rc == 0)
		rc = rama_emu_cr_write(c, set, 1, e);
	if (rc == 0)
		rc = commit(c, set, e);
	c->job.cost += rama_now() - start;
	return rc;
}

/* ---- crash and restart ---------------------------------------------------------------------- */

/* What a killed run cannot tell is written down before it dies. */
static int remember(struct rama_emu_cr *c, double ahead, struct rama_err *e)
{
	struct rama_emu_cr_job job = c->job;
	double now = rama_now();
	int rc = 0;

	job.written += c->written;
	job.lost += now - c->since + ahead;
	job.seconds += now - c->began + ahead;
	if (c->m->team->rank == 0 && c->files)
		rc = rama_emu_cr_job_write(c->m->opt.own, c->safe, &job, e);
	return rc == 0 ? rama_emu_team_barrier(c->m->team, e) : rc;
}

/* Somewhere in the round: while computing, or while writing. */
static int crash(struct rama_emu_cr *c, struct rama_err *e)
{
	double where = draw(c, 2), how_far = draw(c, 3);
	double seconds = where < 0.5 ? 2 * where * c->interval : c->interval;
	uint64_t set = c->last + 1;
	int rc = 0;

	c->job.crashes++;
	if (c->kill)
		rc = remember(c, c->m->opt.speed > 0 ? seconds / c->m->opt.speed : 0, e);
	if (rc != 0)
		return rc;
	rc = compute(c, seconds, c->kill && where < 0.5, e);
	if (rc == 0 && where >= 0.5)
		rc = rama_emu_cr_write(c, set, how_far, e);
	/* another rank died first, which is an error of the run to those that are left */
	if (c->kill)
		raise(SIGKILL);
	if (rc != 0)
		return rc;
	c->writing = 0; /* what is there of it is cleared away by the restart */
	c->job.lost += rama_now() - c->since;
	if (c->copy != NULL) /* a copy dies with the process */
		rama_emu_copy_end(c->copy, true, &c->copy_time, NULL);
	c->copy = NULL;
	c->copying = 0;
	return rama_emu_team_barrier(c->m->team, e);
}

struct candidate {
	uint64_t set;
	struct rama_emu_cr_shape shape;
};

/* The newest complete set of a place. Rank 0 reads the manifests; each rank looks for its own
 * files, which others may not see. */
static int find_newest(struct rama_emu_cr *c, const char *dir, struct candidate *found,
		       struct rama_err *e)
{
	uint32_t size = (uint32_t)c->m->team->size;
	uint64_t below = UINT64_MAX;
	bool whole = false;
	int rc = 0;

	while (rc == 0 && !whole) {
		memset(found, 0, sizeof(*found));
		if (c->m->team->rank == 0)
			rc = rama_emu_sets_next(dir, below, &found->set, &found->shape, e);
		if (rc == 0)
			rc = rama_emu_team_bcast(c->m->team, found, sizeof(*found), e);
		if (rc != 0 || found->set == 0)
			return rc;
		whole = true;
		for (uint64_t w = (uint32_t)c->m->team->rank; whole && w < found->shape.writers;
		     w += size)
			whole = rama_emu_set_has(dir, found->set, &found->shape, (uint32_t)w);
		rc = agree(c, &whole, e);
		below = found->set;
	}
	return rc;
}

static int tidy(struct rama_emu_cr *c, struct rama_err *e)
{
	int rc = 0;

	if (c->m->team->rank == 0)
		rc = rama_emu_sets_tidy(c->m->opt.own, c->safe, c->last, e);
	if (rc == 0 && c->staging && c->leader)
		rc = rama_emu_sets_tidy(c->m->opt.own, c->fast, c->last, e);
	return rc == 0 ? rama_emu_team_barrier(c->m->team, e) : rc;
}

/* All sets that are there at a time: those that stay, and the one that is being written. */
static void need_room(struct rama_emu_cr *c)
{
	uint64_t keep = (uint64_t)rama_emu_config_size(c->m->cfg, RAMA_EMU_P_keep_sets);
	double set = (double)c->shape.size * c->shape.files * c->shape.writers, sets;
	char path[RAMA_EMU_OWN_PATH];

	sets = keep > 0 ? (double)keep + 1 : (double)c->count;
	if (c->count > 0 && (double)c->count < sets)
		sets = (double)c->count;
	sets = fmin(set * fmax(sets, 1), 9e18);
	if (c->m->team->rank == 0) {
		snprintf(path, sizeof(path), "%.4000s/ckpt", c->safe);
		rama_emu_own_need(c->m->opt.own, path, (int64_t)sets);
	}
	if (c->staging && c->leader) {
		snprintf(path, sizeof(path), "%.4000s/ckpt", c->fast);
		rama_emu_own_need(c->m->opt.own, path, (int64_t)fmin(set, 9e18));
	}
}

/* Once, before anything is made: whatever is where sets will be written must be ours. */
static int enter(struct rama_emu_cr *c, uint64_t in_safe, struct rama_err *e)
{
	struct rama_emu_own *own = c->m->opt.own;
	int rc = 0;

	if (c->m->team->rank == 0)
		rc = rama_emu_sets_check(own, c->safe, in_safe, e);
	if (rc == 0 && c->staging && c->leader)
		rc = rama_emu_sets_check(own, c->fast, c->last, e);
	need_room(c);
	if (rc == 0)
		rc = rama_emu_own_room(own, c->m->team, e);
	c->entered = rc == 0;
	return rc == 0 ? rama_emu_emulation_enter(c->m, c->m->team->rank == 0 || c->leader, e) : rc;
}

/* From the newest complete set, wherever it is; what is half-written is cleared away. */
static int find_last(struct rama_emu_cr *c, const char **dir, struct rama_err *e)
{
	struct candidate safe, fast = { 0 };
	int rc = find_newest(c, c->safe, &safe, e);

	if (rc == 0 && c->staging)
		rc = find_newest(c, c->fast, &fast, e);
	if (rc != 0)
		return rc;
	*dir = fast.set > 0 && fast.set >= safe.set ? c->fast : c->safe;
	c->last = *dir == c->fast ? fast.set : safe.set;
	c->last_shape = *dir == c->fast ? fast.shape : safe.shape;
	c->in_safe = safe.set;
	if (c->last > 0 && strcmp(c->last_shape.form, c->shape.form) != 0)
		return rama_err_set(
			e, RAMA_EUSAGE,
			"%s/ckpt.%llu.done: files of form %s, which engine %s does not read", *dir,
			(unsigned long long)c->last, c->last_shape.form, c->m->opt.engine->name);
	if (!c->entered)
		rc = enter(c, safe.set, e);
	return rc == 0 ? tidy(c, e) : rc;
}

static int restart(struct rama_emu_cr *c, struct rama_err *e)
{
	const char *dir = c->safe;
	double start = rama_now();
	int rc = c->files ? find_last(c, &dir, e) : 0;

	if (rc == 0 && c->last > 0) {
		c->restarts++;
		if (c->m->team->rank == 0)
			rama_out_fmt(&c->from, "%s%llu", c->from.used > 0 ? "," : "",
				     (unsigned long long)c->last);
		rc = rama_emu_cr_read(c, dir, c->last, &c->last_shape, e);
	}
	c->since = rama_now();
	c->restart_time += c->since - start;
	return rc;
}

/* ---- rounds --------------------------------------------------------------------------------- */

static void show(const struct rama_emu_cr *c)
{
	char line[96];

	if (c->m->progress == NULL)
		return;
	snprintf(line, sizeof(line), "checkpoint %llu of %llu, %llu crashes",
		 (unsigned long long)(c->last - c->job.base), (unsigned long long)c->count,
		 (unsigned long long)c->job.crashes);
	c->m->progress(c->m->progress_ctx, line);
}

static int rounds(struct rama_emu_cr *c, struct rama_err *e)
{
	int rc = 0;

	while (rc == 0 && (c->count == 0 || c->last - c->job.base < c->count) &&
	       (c->goes_on || c->job.crashes == 0)) {
		if (draw(c, 1) < c->chance) {
			rc = crash(c, e);
			if (rc == 0)
				rc = restart(c, e);
		} else {
			rc = checkpoint(c, e);
		}
		show(c);
	}
	/* the last one is always copied */
	if (rc == 0 && c->staging)
		rc = finish_copy(c, e);
	if (rc == 0 && c->staging && c->last > c->in_safe) {
		rc = begin_copy(c, c->last, &c->last_shape, e);
		if (rc == 0)
			rc = finish_copy(c, e);
	}
	return rc == 0 && c->staging && c->files ? prune(c, e) : rc;
}

/* ---- the run -------------------------------------------------------------------------------- */

static int set_shape(struct rama_emu_cr *c, struct rama_err *e)
{
	const struct rama_emu_config *cfg = c->m->cfg;
	const struct rama_emu_engine *g = c->m->opt.engine;
	int64_t writers = rama_emu_config_size(cfg, RAMA_EMU_P_ck_ranks);
	int64_t files = rama_emu_config_size(cfg, RAMA_EMU_P_ck_files);
	int64_t size;

	if (writers < 1 || files < 1 || files > 1000000)
		return rama_err_set(
			e, RAMA_EUSAGE,
			"num_ck_ranks, num_ck_files_per_rank: at least one rank writes one file");
	if (!rama_emu_config_file_size(cfg, rama_emu_config_size(cfg, RAMA_EMU_P_block_size),
				       rama_emu_config_size(cfg, RAMA_EMU_P_segment_count),
				       &size) ||
	    size > INT64_MAX / files)
		return rama_err_set(e, RAMA_EUSAGE, "block_size x segment_count is too large");
	if (writers > c->m->team->size) {
		if (c->m->team->rank == 0 && rama_emu_config_given(cfg, RAMA_EMU_P_ck_ranks))
			rama_out_fmt(&c->m->remarks,
				     "num_ck_ranks is %lld, but there are %d ranks\n",
				     (long long)writers, c->m->team->size);
		writers = c->m->team->size;
	}
	c->shape = (struct rama_emu_cr_shape){ .writers = (uint32_t)writers,
					       .files = (uint32_t)files,
					       .size = size,
					       .seed = c->m->opt.seed };
	snprintf(c->shape.form, sizeof(c->shape.form), "%s", g->container ? g->name : "plain");
	c->last_shape = c->shape;
	c->files = !g->no_files;
	c->writer = c->m->team->rank < writers;
	return 0;
}

static int set_chance(struct rama_emu_cr *c, struct rama_err *e)
{
	const struct rama_emu_config *cfg = c->m->cfg;

	c->interval = rama_emu_config_number(cfg, RAMA_EMU_P_ck_interval);
	c->goes_on = rama_emu_config_size(cfg, RAMA_EMU_P_checkpoints) > 0;
	if (c->goes_on && rama_emu_config_size(cfg, RAMA_EMU_P_ck_iter) > 0)
		return rama_err_set(e, RAMA_EUSAGE,
				    "num_ck_iter ends with the first crash, checkpoints goes on "
				    "after it: one of them");
	c->count = (uint64_t)rama_emu_config_size(cfg, c->goes_on ? RAMA_EMU_P_checkpoints
								  : RAMA_EMU_P_ck_iter);
	c->mtbf = rama_emu_config_number(cfg, RAMA_EMU_P_mtbf);
	c->chance = c->mtbf > 0 ? 1 - exp(-c->interval / c->mtbf) : rate_of(cfg);
	if (c->chance > 1)
		return rama_err_set(e, RAMA_EUSAGE, "ck_error_rate: more than 100 per cent");
	if (c->chance >= 1 && c->goes_on)
		return rama_err_set(
			e, RAMA_EUSAGE,
			"ck_error_rate: with a crash in every round no checkpoint is ever written");
	if (c->chance <= 0 && c->count == 0)
		return rama_err_set(
			e, RAMA_EUSAGE,
			"without crashes it never ends: say num_ck_iter or checkpoints");
	return 0;
}

static bool same_place(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int set_places(struct rama_emu_cr *c, struct rama_err *e)
{
	const struct rama_emu_team *t = c->m->team;
	int rc = 0;

	c->safe = rama_emu_config_text(c->m->cfg, RAMA_EMU_P_input_dir);
	c->fast = rama_emu_config_text(c->m->cfg, RAMA_EMU_P_stage_dir);
	c->staging = c->files && rama_emu_config_flag(c->m->cfg, RAMA_EMU_P_staging);
	c->kill = rama_emu_config_flag(c->m->cfg, RAMA_EMU_P_kill);
	c->leader = true;
	for (int r = 0; r < t->rank; r++)
		c->leader &= t->node_of[r] != t->node_of[t->rank];
	if (c->kill && !c->files)
		return rama_err_set(e, RAMA_EUSAGE,
				    "after --kill there must be files to start again from");
	if (!c->files)
		return 0;
	rc = rama_emu_own_where(c->m->opt.own, c->safe, e);
	if (rc == 0 && c->staging)
		rc = rama_emu_own_where(c->m->opt.own, c->fast, e);
	if (rc == 0 && t->rank == 0)
		rc = rama_emu_own_folders(c->m->opt.own, c->safe, e);
	if (rc == 0 && c->staging && c->leader)
		rc = rama_emu_own_folders(c->m->opt.own, c->fast, e);
	if (rc == 0 && c->staging && same_place(c->safe, c->fast))
		rc = rama_err_set(e, RAMA_EUSAGE, "stage_dir and input_dir are the same");
	if (rc == 0 && t->rank == 0)
		rc = rama_emu_cr_lock(c->safe, c->m->opt.timeout, &c->lock, e);
	if (rc == 0)
		rc = rama_emu_team_barrier(c->m->team, e);
	if (rc == 0 && t->rank != 0)
		rama_emu_cr_join(c->safe, &c->lock);
	return rc;
}

/* A job that was killed goes on where it was; else this is a new one. */
static int begin_job(struct rama_emu_cr *c, struct rama_err *e)
{
	int rc = 0;

	c->started_from = c->last;
	c->began = rama_now();
	if (c->m->team->rank == 0 && c->files) {
		if (!rama_emu_cr_job_read(c->safe, &c->job))
			c->job = (struct rama_emu_cr_job){ .base = c->last };
		if (c->job.base > c->last)
			c->job.base = c->last;
		rc = rama_emu_cr_job_write(c->m->opt.own, c->safe, &c->job, e);
	}
	return rc == 0 ? rama_emu_team_bcast(c->m->team, &c->job, sizeof(c->job), e) : rc;
}

/* After an error: files of a set that is not and will not be complete are of no use. */
static void clear_up(struct rama_emu_cr *c)
{
	uint32_t rank = (uint32_t)c->m->team->rank;

	if (c->copy != NULL)
		rama_emu_copy_end(c->copy, true, &c->copy_time, NULL);
	if (!c->entered)
		return;
	if (c->writer && c->writing != 0 && !rama_emu_set_marked(rama_emu_cr_here(c), c->writing))
		rama_emu_set_drop(c->m->opt.own, rama_emu_cr_here(c), c->writing, rank,
				  c->shape.files);
	if (c->copying != 0 && !rama_emu_set_marked(c->safe, c->copying))
		for (uint64_t w = rank; w < c->copy_shape.writers; w += (uint32_t)c->m->team->size)
			rama_emu_set_drop(c->m->opt.own, c->safe, c->copying, (uint32_t)w,
					  c->copy_shape.files);
}

int rama_emu_mode_cr(struct rama_emu_emulation *m, struct rama_err *e)
{
	struct rama_emu_cr c = { .m = m, .lock = -1 };
	int rc = set_shape(&c, e);

	rama_out_init(&c.from, NULL, NULL);
	if (rc == 0)
		rc = set_chance(&c, e);
	if (rc == 0)
		rc = set_places(&c, e);
	if (rc == 0)
		rc = restart(&c, e);
	if (rc == 0)
		rc = begin_job(&c, e);
	if (rc == 0)
		rc = rounds(&c, e);
	if (rc != 0)
		clear_up(&c);
	if (rc == 0 && m->team->rank == 0) {
		if (c.files)
			rama_emu_cr_job_end(m->opt.own, c.safe);
		cr_note(&c);
	}
	if (c.lock >= 0)
		close(c.lock);
	rama_out_fini(&c.from);
	return rc;
}
