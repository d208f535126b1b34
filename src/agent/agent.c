/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.c: the loop: rounds in which events are read, seconds in which all else is done, and the
 * end. */
#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/loop.h"
#include "base/file.h"
#include "base/json.h"
#include "base/now.h"
#include "gather/place.h"

/* ---- how it stands --------------------------------------------------------------------------- */

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

static void put_job(struct rama_agent_drain_job *job, struct rama_json *j,
		    struct rama_agent_sums *s)
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

static void add_post(struct rama_agent_post *p, struct rama_agent_sums *s)
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
	s->failing = s->failing || st.failing;
}

/* what others left waits in their spools, and none of it was seen here */
static uint64_t add_left(struct rama_agent_post *p)
{
	struct rama_agent_post_state st;

	rama_agent_post_state(p, &st);
	return st.spool.messages;
}

static void add_posts(struct rama_agent *a, struct rama_agent_sums *s)
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

static void put_sums(struct rama_agent *a, struct rama_json *j, const struct rama_agent_sums *s)
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

/* without passwords: others read the status, too */
static void put_sink(const struct rama_agent *a, struct rama_json *j)
{
	char named[PATH_MAX];

	rama_json_key_string(j, "sink",
			     a->o.sink == NULL ? "a store for each user"
					       : rama_bus_sink_named(a->o.sink, named));
}

static void put_all(struct rama_agent *a, struct rama_json *j)
{
	struct rama_agent_sums s = { .made = a->made, .dropped = a->dropped };

	add_segments(a);
	rama_json_open(j, '{');
	rama_json_key_i64(j, "pid", getpid());
	rama_json_key_string(j, "host", a->drain.host);
	rama_json_key_i64(j, "started", a->started);
	rama_json_key_i64(j, "updated", a->drain.real);
	rama_json_key(j, "ended");
	rama_json_bool(j, a->ended);
	put_sink(a, j);
	key_u64(j, "segments", a->n_segs);
	rama_json_key(j, "jobs");
	rama_json_open(j, '[');
	for (size_t i = 0; i < a->n_jobs; i++)
		put_job(a->job[i], j, &s);
	rama_json_close(j, ']');
	rama_agent_focus_tell(a, j);
	add_posts(a, &s);
	put_sums(a, j, &s);
	s.jobs = a->n_jobs;
	s.processes = a->n_segs;
	a->sums = s;
	rama_json_close(j, '}');
}

/* Complete or not at all: readers see the old one until the new one is there. No fsync: it is of
 * no use after a crash. */
static int write_status(struct rama_agent *a, struct rama_err *e)
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

#define SECOND 1000000000ll
#define PAUSE_MOST 50		 /* ms between rounds when nothing moves */
#define SCAN_EVERY (10 * SECOND) /* with the kernel telling what is new */
#define LEFT_QUICK (32ull << 20) /* bytes of a spool that is taken over while events come */
#define PRIORITY (-10)		 /* as nice has it */
#define END_WAIT 5000	   /* ms for the sink to commit at the end; the spool keeps the rest */
#define END_WAIT_JOB 25000 /* the same where the spool is of this job alone */
#define END_MOST 9500	   /* ms for all of the end */
#define END_MOST_JOB 40000

void rama_agent_say(struct rama_agent *a, const char *fmt, ...)
{
	char line[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	a->o.tell(a->o.ctx, line);
}

/* ---- rounds and seconds ---------------------------------------------------------------------- */

static void on_round(uv_timer_t *timer)
{
	struct rama_agent *a = timer->data;
	uint64_t began = uv_hrtime();
	bool moved, behind;

	rama_agent_drain_now(&a->drain);
	moved = rama_agent_round(a);
	/* as much as that can be read in the time between rounds: there is more already */
	behind = moved && (uv_hrtime() - began) / 1000000 >= a->o.interval;
	a->pause = moved ? a->o.interval : a->pause * 2;
	if (a->pause > PAUSE_MOST)
		a->pause = PAUSE_MOST;
	/* not 0: timers that are due at once are done before all else, for ever */
	uv_timer_start(&a->rounds, on_round, behind ? 1 : a->pause, 0);
}

/* One job only: it has ended when its directory is gone, or when nobody looks after it any more
 * and no process is left. */
static bool job_has_ended(struct rama_agent *a)
{
	struct stat st;

	if (a->o.job == NULL || a->n_segs > 0)
		return false;
	if (lstat(a->o.job, &st) != 0)
		return true;
	return a->job_was && !rama_gather_place_locked(a->o.job);
}

static void take_sample(struct rama_agent *a)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_SAMPLE };
	struct rama_err e = { 0 };
	int64_t n;

	if (a->sampler == NULL)
		return;
	m.sample = (struct rama_wire_msg_sample){ .host = a->drain.host, .t = a->drain.real };
	n = rama_agent_sampler_take(a->sampler, a->drain.mono, &m.sample.figure, &e);
	if (n <= 0)
		return;
	m.sample.n = (uint32_t)n;
	if (a->post != NULL && rama_agent_post_has_room(a->post, 65536))
		rama_agent_post_send(a->post, &m, "", 0, &e);
	for (size_t i = 0; i < a->n_users; i++)
		if (a->user[i]->own_post && rama_agent_post_has_room(a->user[i]->post, 65536))
			rama_agent_post_send(a->user[i]->post, &m, "", 0, &e);
}

/* What others left: an agent of one job has enough to do, and the spools of a system's are below
 * its own. */
static bool takes_over(const struct rama_agent *a)
{
	return a->o.job == NULL && !a->o.system;
}

static void on_second(uv_timer_t *timer)
{
	struct rama_agent *a = timer->data;
	struct rama_err e = { 0 };

	rama_agent_drain_now(&a->drain);
	if (a->no_inotify || a->drain.mono - a->scanned >= SCAN_EVERY)
		rama_agent_scan(a);
	if (takes_over(a)) {
		if (a->drain.mono - a->looked >= SCAN_EVERY) {
			a->looked = a->drain.mono;
			rama_agent_left_look(&a->left, LEFT_QUICK);
		}
		rama_agent_left_second(&a->left);
	}
	rama_agent_again(a);
	rama_agent_second(a);
	rama_agent_moment_second(a);
	rama_agent_focus_second(a);
	take_sample(a);
	rama_agent_finish_jobs(a);
	rama_agent_users_second(a);
	a->job_was = a->job_was || a->n_jobs > 0;
	if (job_has_ended(a))
		uv_stop(&a->loop);
	write_status(a, &e);
	if (a->o.metrics != NULL && rama_agent_metrics_second(&a->metrics, &e) != 0)
		rama_agent_say(a, "metrics: %s", e.text);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* All that was made until now goes into the spool; what does not fit stays in the segments for
 * the next agent. Where a segment has no file any more, there will be no next one. */
static void last_round(struct rama_agent *a)
{
	struct rama_err e = { 0 };

	a->stopping = true;
	rama_agent_drain_now(&a->drain);
	rama_agent_scan(a);
	for (size_t i = 0; i < a->n_segs; i++) {
		a->seg[i]->round = 0;
		if (rama_gather_alive(&a->seg[i]->map.seg) != 1)
			a->seg[i]->phase = RAMA_AGENT_DRAIN_DEAD;
	}
	rama_agent_round(a);
	for (size_t i = a->n_segs; i-- > 0;) {
		struct rama_agent_drain_seg *s = a->seg[i];
		struct stat st;

		if (!rama_agent_drain_empty(s) && fstat(s->map.fd, &st) == 0 && st.st_nlink == 0)
			rama_agent_drain_look(&a->drain, s,
					      RAMA_AGENT_DRAIN_ALL | RAMA_AGENT_DRAIN_LOSE, &e);
		rama_agent_drain_count(&a->drain, s, &e);
		rama_agent_drain_tell(&a->drain, s, false, &e);
	}
	rama_agent_users_second(a);
}

static bool all_idle(struct rama_agent *a)
{
	bool idle = a->post == NULL || rama_agent_post_idle(a->post);

	for (size_t i = 0; i < a->n_users; i++)
		idle = idle && rama_agent_post_idle(a->user[i]->post);
	return idle;
}

static void wait_for_sink(struct rama_agent *a)
{
	int64_t limit = rama_now_ms() + (a->o.job != NULL ? END_WAIT_JOB : END_WAIT);

	while (!all_idle(a) && rama_now_ms() < limit)
		usleep(1000);
}

static void close_handles(uv_handle_t *h, void *arg)
{
	(void)arg;
	if (!uv_is_closing(h))
		uv_close(h, NULL);
}

static void stop(struct rama_agent *a)
{
	struct rama_err e = { 0 };

	if (a->n_dirs > 0) {
		last_round(a);
		write_status(a, &e);
		wait_for_sink(a);
		rama_agent_drain_now(&a->drain);
	}
	a->ended = true;
	if (a->drain.block != NULL && (a->post != NULL || a->o.system))
		write_status(a, &e);
	rama_agent_unwatch(a);
	rama_agent_writers_end(a->writers); /* what they are still at is in the spools */
	while (a->working > 0 && uv_run(&a->loop, UV_RUN_ONCE) != 0)
		;
	while (a->n_segs > 0)
		rama_agent_leave(a, a->n_segs - 1);
	while (a->n_jobs > 0)
		rama_agent_drop_job(a, a->n_jobs - 1);
	rama_agent_users_close(a, 0);
	rama_agent_writers_close(a->writers);
	rama_agent_left_close(&a->left);
	rama_bus_talk_close(a->talk);
	if (a->post != NULL)
		rama_agent_post_close(a->post, 0);
	rama_agent_metrics_close(&a->metrics);
	rama_agent_end_disarm(a);
	uv_walk(&a->loop, close_handles, NULL);
	uv_run(&a->loop, UV_RUN_DEFAULT);
	uv_loop_close(&a->loop);
	rama_agent_end_close(a);
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* Events are lost if their reader has to wait behind those who make them. Only a system's agent
 * may do so; others share what their session gets. */
static void go_first(void)
{
	setpriority(PRIO_PROCESS, 0, PRIORITY);
}

/* a descriptor for each segment and each process */
static void many_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

/* everybody may pass through it to what is his own, whatever our mask is */
static int make_home(const struct rama_agent *a, struct rama_err *e)
{
	if (mkdir(a->o.home, 0755) == 0 ? chmod(a->o.home, 0755) != 0 : errno != EEXIST)
		return rama_err_set(e, RAMA_EIO, "%s: cannot be made: %s", a->o.home,
				    strerror(errno));
	return 0;
}

/* of a system's agent: spools of users are below this directory */
static int lock_spools(struct rama_agent *a, struct rama_err *e)
{
	char path[PATH_MAX + 16];

	if (mkdir(a->o.spool, 0700) != 0 && errno != EEXIST)
		return rama_err_set(e, RAMA_EIO, "%s: cannot be made: %s", a->o.spool,
				    strerror(errno));
	snprintf(path, sizeof(path), "%s/lock", a->o.spool);
	a->spool_lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (a->spool_lock < 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", path, strerror(errno));
	if (flock(a->spool_lock, LOCK_EX | LOCK_NB) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: another agent uses these spools", a->o.spool);
	return 0;
}

static int open_post(struct rama_agent *a, struct rama_err *e)
{
	struct rama_agent_post_options o = { .spool = a->o.spool,
					     .limit = a->o.limit,
					     .sink = a->o.sink,
					     .tell = a->o.tell,
					     .ctx = a->o.ctx };

	if (a->o.system && make_home(a, e) != 0)
		return RAMA_EIO;
	if (a->o.sink == NULL)
		return lock_spools(a, e);
	return rama_agent_post_open(&a->post, &o, e);
}

static void start_loop(struct rama_agent *a)
{
	a->rounds.data = a->seconds.data = a;
	uv_timer_init(&a->loop, &a->rounds);
	uv_timer_init(&a->loop, &a->seconds);
	signal(SIGPIPE, SIG_IGN);
	a->pause = a->o.interval;
	uv_timer_start(&a->rounds, on_round, 0, 0);
	uv_timer_start(&a->seconds, on_second, 1000, 1000);
}

static int start(struct rama_agent *a, struct rama_err *e)
{
	int rc = rama_agent_drain_init(&a->drain, e);

	if (rc == 0)
		rc = rama_seg_mapped_guard() == 0
			     ? 0
			     : rama_err_set(e, RAMA_EIO, "no handler for SIGBUS");
	a->started = a->drain.real;
	go_first();
	many_files();
	if (rc == 0 && a->o.system && a->o.sink == NULL) /* before all threads */
		rc = rama_agent_writers_open(&a->writers, e);
	if (rc == 0) /* before all other ones */
		rc = rama_agent_end_open(a, a->o.job != NULL ? END_MOST_JOB : END_MOST, e);
	if (rc == 0)
		rc = open_post(a, e);
	if (rc == 0)
		rc = rama_agent_focus_start(a, e);
	if (rc == 0 && a->o.samples)
		rc = rama_agent_sampler_create(&a->sampler, a->o.root, e);
	if (rc == 0)
		start_loop(a);
	if (rc == 0 && a->o.metrics != NULL)
		rc = rama_agent_metrics_open(&a->metrics, &a->loop, a->o.metrics, &a->sums, e);
	if (rc == 0 && a->metrics.listens)
		rama_agent_say(a, "metrics at port %d", a->metrics.port);
	if (rc == 0)
		rc = rama_agent_watch(a, e);
	if (rc == 0)
		take_sample(a);
	if (rc == 0 && a->o.system && a->post == NULL)
		rama_agent_users_left(a);
	if (rc == 0 && takes_over(a))
		rama_agent_left_look(&a->left, UINT64_MAX);
	a->looked = a->drain.mono;
	return rc == 0 ? write_status(a, e) : rc;
}

int rama_agent_run(const struct rama_agent_options *o, struct rama_err *e)
{
	struct rama_agent *a = calloc(1, sizeof(*a));
	int rc;

	if (a == NULL || uv_loop_init(&a->loop) != 0) {
		free(a);
		return rama_err_no_memory(e);
	}
	a->o = *o;
	a->spool_lock = -1;
	a->left.o = &a->o;
	rama_agent_focus_init(&a->focus, &(struct rama_agent_focus_limits){
						 o->focus_calls, o->focus_ratio, o->focus_rounds });
	rc = start(a, e);
	if (rc == 0)
		uv_run(&a->loop, UV_RUN_DEFAULT);
	else
		rama_agent_unwatch(a);
	stop(a);
	if (a->sampler != NULL)
		rama_agent_sampler_destroy(a->sampler);
	rama_agent_drain_fini(&a->drain);
	rama_map_fini(&a->by_id);
	rama_map_fini(&a->by_key);
	rama_map_fini(&a->job_by);
	rama_map_fini(&a->dir_by);
	rama_agent_odd_fini(a);
	rama_agent_focus_fini(&a->focus);
	rama_agent_focus_others_fini(&a->others);
	free(a->seg);
	free(a->job);
	if (a->spool_lock >= 0)
		close(a->spool_lock);
	free(a);
	return rc;
}
