/* SPDX-License-Identifier: BSD-3-Clause */
/* cr_report.c: what the checkpoints cost, what the crashes cost, and which interval would cost
 * least. */
#include <math.h>

#include "base/human.h"
#include "emulate/mode/cr.h"

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
			  .seconds = c->job.seconds + rama_emu_team_now() - c->began,
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

void rama_emu_cr_note(struct rama_emu_cr *c)
{
	struct sums s = sum_up(c);

	put_notes(c, &s, &c->m->notes);
	put_remarks(c, &s, &c->m->remarks);
}
