/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "agent/parts.h"

struct sums {
	uint64_t made, dropped, lost, stored, repeated, refused, bytes, limit, messages;
	uint64_t left; /* messages in spools of others that were taken over */
	bool full;
};

/* ---- jobs ------------------------------------------------------------------------------------ */

static void key_u64(struct rama_json *j, const char *key, uint64_t v)
{
	rama_json_key(j, key);
	rama_json_u64(j, v);
}

/* what the segments of each job say now */
static void add_segments(struct rama_agent *a)
{
	for (size_t i = 0; i < a->n_jobs; i++)
		memset(&a->job[i]->now, 0, sizeof(a->job[i]->now));
	for (size_t i = 0; i < a->n_segs; i++) {
		a->seg[i]->job->now.made += a->seg[i]->made;
		a->seg[i]->job->now.dropped += a->seg[i]->dropped;
		a->seg[i]->job->now.taken += a->seg[i]->taken;
	}
}

static void put_job(struct rama_agent_drain_job *job, struct rama_json *j, struct sums *s)
{
	uint64_t made = job->made + job->now.made, dropped = job->dropped + job->now.dropped;
	uint64_t taken = job->taken + job->now.taken, lost, waiting;

	lost = rama_agent_post_lost(job->post, job->key);
	waiting = rama_agent_post_waiting(job->post, job->key);
	s->made += made;
	s->dropped += dropped;
	taken -= lost < taken ? lost : taken;
	rama_json_open(j, '{');
	rama_json_key_string(j, "key", job->key);
	key_u64(j, "made", made);
	key_u64(j, "dropped", dropped);
	key_u64(j, "spooled", taken);
	key_u64(j, "committed", taken - (waiting < taken ? waiting : taken));
	key_u64(j, "lost", lost);
	key_u64(j, "processes", job->segments);
	rama_json_close(j, '}');
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void add_post(struct rama_agent_post *p, struct sums *s)
{
	struct rama_agent_post_state st;

	rama_agent_post_state(p, &st);
	s->lost += st.lost;
	s->stored += st.sink.events;
	s->repeated += st.sink.repeated;
	s->refused += st.sink.refused_events;
	s->bytes += st.spool.bytes;
	s->limit += st.spool.limit;
	s->messages += st.spool.messages;
	s->full = s->full || st.spool.full;
}

/* what others left waits in their spools, and none of it was seen here */
static uint64_t add_left(struct rama_agent_post *p)
{
	struct rama_agent_post_state st;

	rama_agent_post_state(p, &st);
	return st.spool.messages;
}

static void add_posts(struct rama_agent *a, struct sums *s)
{
	s->lost = a->past_lost;
	s->stored = a->past_stored;
	s->repeated = a->past_repeated;
	s->refused = a->past_refused;
	if (a->post != NULL)
		add_post(a->post, s);
	for (size_t i = 0; i < a->left.n; i++)
		s->left += add_left(a->left.one[i].post);
	for (size_t i = 0; i < a->n_users; i++)
		if (a->user[i]->own_post)
			add_post(a->user[i]->post, s);
}

static void put_sums(struct rama_agent *a, struct rama_json *j, const struct sums *s)
{
	rama_json_key(j, "spool");
	rama_json_open(j, '{');
	key_u64(j, "bytes", s->bytes);
	key_u64(j, "limit", s->limit);
	key_u64(j, "messages", s->messages);
	key_u64(j, "left", s->left);
	rama_json_key(j, "full");
	rama_json_bool(j, s->full);
	rama_json_close(j, '}');
	rama_json_key(j, "totals");
	rama_json_open(j, '{');
	key_u64(j, "made", s->made);
	key_u64(j, "dropped", s->dropped);
	key_u64(j, "stored", s->stored);
	key_u64(j, "lost", s->lost);
	key_u64(j, "repeated", s->repeated);
	key_u64(j, "refused", s->refused);
	rama_json_close(j, '}');
	rama_json_key(j, "clock");
	rama_json_open(j, '{');
	key_u64(j, "steps", a->drain.clock[RAMA_SEG_CLOCK_TSC].steps);
	rama_json_close(j, '}');
}

static const char *sink_name(const struct rama_agent *a)
{
	return a->o.sink != NULL ? a->o.sink : "a store for each user";
}

static void put_all(struct rama_agent *a, struct rama_json *j)
{
	struct sums s = { .made = a->made, .dropped = a->dropped };

	add_segments(a);
	rama_json_open(j, '{');
	rama_json_key_i64(j, "pid", getpid());
	rama_json_key_string(j, "host", a->drain.host);
	rama_json_key_i64(j, "started", a->started);
	rama_json_key_i64(j, "updated", a->drain.real);
	rama_json_key(j, "ended");
	rama_json_bool(j, a->ended);
	rama_json_key_string(j, "sink", sink_name(a));
	key_u64(j, "segments", a->n_segs);
	rama_json_key(j, "jobs");
	rama_json_open(j, '[');
	for (size_t i = 0; i < a->n_jobs; i++)
		put_job(a->job[i], j, &s);
	rama_json_close(j, ']');
	add_posts(a, &s);
	put_sums(a, j, &s);
	rama_json_close(j, '}');
}

/* Complete or not at all: readers see the old one until the new one is there. No fsync: it is of
 * no use after a crash. */
int rama_agent_status(struct rama_agent *a, struct rama_err *e)
{
	char path[PATH_MAX + 32], temp[PATH_MAX + 32];
	struct rama_out out;
	struct rama_json j;
	FILE *f;
	bool ok;

	rama_out_init(&out, NULL, NULL);
	rama_json_init(&j, &out);
	put_all(a, &j);
	rama_out_char(&out, '\n');
	snprintf(path, sizeof(path), "%s/" RAMA_AGENT_STATUS_FILE, a->o.spool);
	snprintf(temp, sizeof(temp), "%s/" RAMA_AGENT_STATUS_FILE ".new", a->o.spool);
	f = out.error == 0 ? fopen(temp, "we") : NULL;
	ok = f != NULL && fwrite(out.buf, 1, out.used, f) == out.used;
	if (f != NULL && fclose(f) != 0)
		ok = false;
	if (!ok || rename(temp, path) != 0) {
		rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
		ok = false;
	}
	rama_out_fini(&out);
	return ok ? 0 : RAMA_EIO;
}
