/* SPDX-License-Identifier: BSD-3-Clause */
/* what processes are at: the newest of each node, of jobs that run */
#include "help.h"

#define SECOND 1000000000ll

static struct rama_wire_message moment_of(const char *job, const char *host, int64_t t,
					  uint64_t calls)
{
	static struct rama_wire_msg_call call = { "flock", RAMA_WIRE_CLASS_META, 1, SECOND, "/f" };
	static struct rama_wire_msg_at at;

	at = (struct rama_wire_msg_at){
		.segment = key_of(1), .calls = calls, .n = 1, .call = &call
	};
	return (struct rama_wire_message){ .kind = RAMA_WIRE_MSG_MOMENT,
					   .moment = { .host = host,
						       .job = job,
						       .t = t,
						       .width = SECOND,
						       .processes = 3,
						       .n = 1,
						       .at = &at } };
}

static void process(struct rama_store *s, const char *job, uint64_t version, uint32_t state)
{
	struct rama_wire_message m = process_of(job, 1, version, 0);

	m.process.start = T0;
	m.process.end = state == RAMA_WIRE_STATE_RUNNING ? 0 : T0 + 9 * SECOND;
	m.process.seen_at = T0 + SECOND;
	m.process.state = state;
	put_one(s, &m);
}

static void moment(struct rama_store *s, const char *job, const char *host, int64_t t,
		   uint64_t calls)
{
	struct rama_wire_message m = moment_of(job, host, t, calls);

	put_one(s, &m);
	put_one(s, &m); /* what comes twice changes nothing */
}

static int64_t calls_of(struct rama_store *s, const char *host)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT calls FROM moments WHERE host = '%s'", host);
	return number(s, sql);
}

static void newest_of_each_node(void **state)
{
	struct rama_store *s = fresh();

	(void)state;
	process(s, "7/run", 1, RAMA_WIRE_STATE_RUNNING);
	moment(s, "7/run", "a", T0 + 5 * SECOND, 5);
	moment(s, "7/run", "b", T0 + 4 * SECOND, 4);
	moment(s, "7/run", "a", T0 + 3 * SECOND, 3); /* late */
	assert_int_equal(number(s, "SELECT count(*) FROM moments"), 2);
	assert_int_equal(calls_of(s, "a"), 5);
	moment(s, "7/run", "a", T0 + 6 * SECOND, 6);
	assert_int_equal(calls_of(s, "a"), 6);
	moment(s, "7/run", "a", T0 - 90 * SECOND, 7); /* its clock was set back */
	assert_int_equal(calls_of(s, "a"), 7);
	assert_int_equal(number(s, "SELECT count(*) FROM moments"), 2);
	rama_store_close(s);
}

static void of_running_jobs_alone(void **state)
{
	struct rama_store *s = fresh();

	(void)state;
	moment(s, "7/nobody", "a", T0, 1);
	assert_int_equal(number(s, "SELECT count(*) FROM jobs"), 0);
	process(s, "7/run", 1, RAMA_WIRE_STATE_RUNNING);
	moment(s, "7/run", "a", T0, 1);
	process(s, "7/run", 2, RAMA_WIRE_STATE_ENDED);
	assert_int_equal(number(s, "SELECT count(*) FROM moments"), 0);
	moment(s, "7/run", "a", T0 + 8 * SECOND, 1); /* was under way */
	assert_int_equal(number(s, "SELECT count(*) FROM moments"), 0);
	rama_store_close(s);
}

struct seen {
	unsigned n;
	char hosts[16], fn[16];
};

static int see(void *ctx, const struct rama_wire_msg_moment *m, struct rama_err *e)
{
	struct seen *w = ctx;

	(void)e;
	w->n++;
	strncat(w->hosts, m->host, sizeof(w->hosts) - strlen(w->hosts) - 1);
	snprintf(w->fn, sizeof(w->fn), "%s", m->at[0].call[0].fn);
	return 0;
}

static void read_again(void **state)
{
	struct rama_store *s = fresh();
	struct seen w = { 0 };
	struct rama_err e = { 0 };
	int64_t job;

	(void)state;
	process(s, "7/run", 1, RAMA_WIRE_STATE_RUNNING);
	moment(s, "7/run", "b", T0 + 5 * SECOND, 1);
	moment(s, "7/run", "a", T0 + 6 * SECOND, 1);
	moment(s, "7/run", "c", T0 + 4 * SECOND, 1);
	job = job_number(s, "7/run");
	assert_int_equal(rama_store_moments(s, job, T0 + 5 * SECOND, see, &w, &e), 0);
	assert_int_equal(w.n, 2);
	assert_string_equal(w.hosts, "ab");
	assert_string_equal(w.fn, "flock");
	rama_store_close(s);
}

UNIT_GROUP(moment, test(newest_of_each_node), test(of_running_jobs_alone), test(read_again))
