/* SPDX-License-Identifier: BSD-3-Clause */
#include "fill.h"

#include <inttypes.h>
#include <math.h>

#include "base/out.h"
#include "store/handle.h"

struct filled filled_job(unsigned i)
{
	struct rng r = { i };
	struct filled f = { .running = i % 19 == 0, .logged = i % 19 != 0 && i % 11 != 0 };

	f.start = i % 13 == 0 ? 0 : T0 + (int64_t)rng_below(&r, 40) * 1000000000;
	f.end = f.running ? 0 : T0 + (int64_t)(40 + rng_below(&r, 40)) * 1000000000;
	snprintf(f.name, sizeof(f.name), "prog%d", (int)rng_below(&r, 5));
	snprintf(f.user, sizeof(f.user), "user%d", (int)rng_below(&r, 7));
	snprintf(f.command, sizeof(f.command), "/Apps/%s --in %d", f.name, (int)rng_below(&r, 30));
	f.bytes_read = (int64_t)rng_below(&r, 3) * 1000;
	f.bytes_written = (int64_t)rng_below(&r, 4) * 1000;
	f.jobid = 5000 + i % 40;
	f.cost = f.logged && rng_below(&r, 2) == 0 ? (double)rng_below(&r, 4) / 4 : NAN;
	f.figure = !f.logged ? NAN : (double)rng_below(&r, 7) - 2;
	return f;
}

void run_script(struct rama_store *s, const char *sql)
{
	struct rama_err e = { 0 };

	if (s->ops->script(s->db, sql, &e) != 0)
		fail_msg("%s: %s", sql, e.text);
}

static void time_or_null(struct rama_out *o, int64_t ns)
{
	if (ns == 0)
		rama_out_text(o, ", NULL");
	else
		rama_out_fmt(o, ", %" PRId64, ns);
}

static void one(struct rama_out *o, unsigned i)
{
	struct filled f = filled_job(i);

	rama_out_fmt(o,
		     "INSERT INTO jobs (key, name, username, command, jobid, state, logged, "
		     "bytes_read, bytes_written, start_ns, end_ns, cost) VALUES"
		     " ('7/job-%u', '%s', '%s', '%s', %" PRId64 ", '%s', %d, %" PRId64 ", %" PRId64,
		     i, f.name, f.user, f.command, f.jobid, f.running ? "running" : "done",
		     f.logged, f.bytes_read, f.bytes_written);
	time_or_null(o, f.start);
	time_or_null(o, f.end);
	if (isnan(f.cost))
		rama_out_text(o, ", NULL);");
	else
		rama_out_fmt(o, ", %g);", f.cost);
	if (!isnan(f.cost))
		rama_out_fmt(o,
			     "INSERT INTO findings (job, number, rule, level, title, evidence, "
			     "advice, cost, bytes) VALUES (%u, 0, '%s', '%s', '', '', '', %g, 0);",
			     i, i % 3 == 0 ? "W01" : "M01", i % 5 == 0 ? "HIGH" : "WARN", f.cost);
	if (!isnan(f.figure) && f.figure != 0)
		rama_out_fmt(
			o,
			"INSERT INTO figure_values (figure, job, value, ranked) VALUES (1, %u, "
			"%g, 1);",
			i, f.figure);
	if (f.running)
		rama_out_fmt(o,
			     "INSERT INTO processes (segment, job, seen_ns) VALUES (%s, %u, "
			     "%" PRId64 ");",
			     is_sqlite() ? "randomblob(16)" : "decode(md5(random()::text), 'hex')",
			     i, (int64_t)(T0 + i * 1000000000ll));
	if (f.running)
		rama_out_fmt(o, "UPDATE jobs SET seen_ns = %" PRId64 " WHERE number = %u;",
			     (int64_t)(T0 + i * 1000000000ll), i);
}

struct rama_store *filled_store(void)
{
	struct rama_store *s = fresh();
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	rama_out_text(&o, "INSERT INTO figure_names (number, name) VALUES (1, 'small_writes');");
	for (unsigned i = 1; i <= FILLED; i++)
		one(&o, i);
	rama_out_char(&o, '\0');
	assert_int_equal(o.error, 0);
	run_script(s, o.buf);
	rama_out_fini(&o);
	return s;
}
