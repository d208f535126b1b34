/* SPDX-License-Identifier: BSD-3-Clause */
/* segs.c: the segments that are followed: from the moment their file is found to the
 * moment all of them is in the spool. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/now.h"
#include "gather/gather.h"
#include "agent/loop.h"

#define SECOND 1000000000ll
#define UNREADY_MOST (2 * SECOND) /* a file that is being made is complete by then */
#define RETRY (2 * SECOND)
#define REPLACED_FOR SECOND /* exec may fail, and the program goes on */
#define LOOKS_QUIET 10	    /* in which nothing moved, after which a segment is looked at ... */
#define LOOK_QUIET 50	    /* ms: ... so often; */
#define LOOKS_RESTING 100   /* and after these ... */
#define LOOK_RESTING 100    /* ms */
#define JOBS_MOST 4096	    /* that are remembered after their end */
/* ns for all users of a system together: of a round, and of what is done once a second */
#define ROUND_TURN 200000000ll
#define SECOND_TURN 250000000ll

/* ---- jobs ------------------------------------------------------------------------------------ */

static struct rama_agent_drain_job *job_in(struct rama_agent *a, const char *dir, uint32_t uid)
{
	struct rama_agent_drain_job *j;
	struct rama_agent_user *u;
	struct rama_err e = { 0 };
	char key[RAMA_WIRE_JOB];
	uint64_t *at = rama_map_put(&a->job_by, rama_agent_path_hash(dir), NULL);

	if (at == NULL)
		return NULL;
	rama_agent_drain_job_key(key, uid, dir, a->drain.host);
	if (*at != 0)
		return strcmp(a->job[*at - 1]->key, key) == 0 &&
				       strcmp(a->job[*at - 1]->dir, dir) == 0
			       ? a->job[*at - 1]
			       : NULL; /* its owner is another one now */
	u = rama_agent_user(a, uid, &e);
	if (u == NULL) {
		rama_agent_say(a, "%s", e.text);
		return NULL;
	}
	j = RAMA_GROW(a->job, a->room_jobs, a->n_jobs + 1) ? calloc(1, sizeof(*j)) : NULL;
	if (j == NULL || (j->dir = strdup(dir)) == NULL) {
		free(j);
		return NULL;
	}
	memcpy(j->key, key, sizeof(key));
	memcpy(j->user, u->name, sizeof(j->user));
	j->uid = uid;
	j->post = u->post;
	j->known = &u->known;
	j->quiet_wait = RAMA_AGENT_QUIET;
	a->job[a->n_jobs++] = j;
	*at = a->n_jobs;
	return j;
}

void rama_agent_drop_job(struct rama_agent *a, size_t i)
{
	struct rama_agent_drain_job *j = a->job[i];

	uint64_t *at = rama_map_get(&a->job_by, rama_agent_path_hash(j->dir));

	if (at != NULL)
		*at = 0;
	a->made += j->made;
	a->dropped += j->dropped;
	*j->known -= j->names.used < *j->known ? j->names.used : *j->known;
	rama_map_fini(&j->names);
	free(j->dir);
	free(j);
	a->job[i] = a->job[--a->n_jobs];
	at = i < a->n_jobs ? rama_map_get(&a->job_by, rama_agent_path_hash(a->job[i]->dir)) : NULL;
	if (at != NULL)
		*at = i + 1;
}

/* ---- beginning to follow --------------------------------------------------------------------- */

static void on_pid(uv_poll_t *poll, int status, int events)
{
	struct rama_agent_drain_seg *s = poll->data;

	(void)status;
	(void)events;
	if (s->phase == RAMA_AGENT_DRAIN_RUNNING)
		s->phase = RAMA_AGENT_DRAIN_DEAD;
	s->round = 0;
	uv_poll_stop(poll);
}

static void on_poll_closed(uv_handle_t *h)
{
	free(h);
}

static void stop_poll(struct rama_agent_drain_seg *s)
{
	if (s->poll != NULL) {
		uv_poll_stop(s->poll);
		uv_close(s->poll, on_poll_closed);
	}
	if (s->pidfd >= 0)
		close(s->pidfd);
	s->poll = NULL;
	s->pidfd = -1;
}

/* The kernel tells when the process ends, at no cost until then. Processes that cannot be waited
 * for are asked for. */
static void follow_process(struct rama_agent *a, struct rama_agent_drain_seg *s)
{
	uv_poll_t *poll;

	if (rama_gather_alive(&s->map.seg) != 1) {
		s->phase = RAMA_AGENT_DRAIN_DEAD;
		return;
	}
	s->pidfd = (int)syscall(SYS_pidfd_open, (pid_t)s->map.seg.id.pid, 0);
	poll = s->pidfd >= 0 ? calloc(1, sizeof(*poll)) : NULL;
	if (poll == NULL)
		return;
	fcntl(s->pidfd, F_SETFD, FD_CLOEXEC);
	if (uv_poll_init(&a->loop, poll, s->pidfd) != 0) {
		free(poll);
		return;
	}
	s->poll = poll;
	poll->data = s;
	uv_poll_start(poll, UV_READABLE, on_pid);
	if (rama_gather_alive(&s->map.seg) != 1) /* it may be another process of this id by now */
		s->phase = RAMA_AGENT_DRAIN_DEAD;
}

static void switch_events(struct rama_agent *a, struct rama_agent_drain_seg *s)
{
	if (a->o.events == RAMA_AGENT_EVENTS_ON)
		__atomic_store_n(&s->map.control->live, (1u << RAMA_SEG_EVENT_LAYERS) - 1,
				 __ATOMIC_RELAXED);
	else if (a->o.events == RAMA_AGENT_EVENTS_OFF)
		__atomic_store_n(&s->map.control->live, 0, __ATOMIC_RELAXED);
	if (a->o.events != RAMA_AGENT_EVENTS_ASKED)
		__atomic_store_n(&s->map.control->live_until, 0, __ATOMIC_RELAXED);
}

static struct rama_look_find_id id_of(const struct rama_agent_drain_seg *s)
{
	return (struct rama_look_find_id){ s->map.dev, s->map.ino };
}

static uint64_t hash_of(const struct rama_agent_drain_seg *s)
{
	struct rama_look_find_id id = id_of(s);

	return rama_look_find_id_hash(&id);
}

/* the segment that is read by way of this file's descriptor */
static struct rama_agent_drain_seg *seg_of(const struct rama_agent *a,
					   const struct rama_look_find_id *id)
{
	const uint64_t *at = rama_map_get(&a->by_id, rama_look_find_id_hash(id));
	struct rama_look_find_id its;

	if (at == NULL || *at == 0)
		return NULL;
	its = id_of(a->seg[*at - 1]);
	return rama_look_find_id_same(&its, id) ? a->seg[*at - 1] : NULL;
}

static bool add_seg(struct rama_agent *a, struct rama_agent_drain_seg *s)
{
	uint64_t *place, *same;

	if (!RAMA_GROW(a->seg, a->room_segs, a->n_segs + 1))
		return false;
	place = rama_map_put(&a->by_id, hash_of(s), NULL);
	same = rama_map_put(&a->by_key, rama_agent_key_hash(&s->key), NULL);
	if (place == NULL || *place != 0 || same == NULL)
		return false;
	a->seg[a->n_segs++] = s;
	*place = a->n_segs;
	++*same;
	return true;
}

/* what an agent that was killed had counted as lost is given back now */
static void settle_losses(struct rama_agent_drain_seg *s)
{
	uint32_t lane;
	uint64_t until;

	if (!rama_agent_post_lost_before(s->job->post, &s->key, &lane, &until))
		return;
	rama_seg_ring_give_back(&s->map, lane, until);
	rama_agent_post_lose_done(s->job->post);
}

static void follow(struct rama_agent *a, struct rama_agent_drain_seg *s,
		   struct rama_agent_drain_job *job)
{
	struct rama_err e = { 0 };

	if (!add_seg(a, s)) {
		rama_agent_drain_close(s);
		return;
	}
	rama_agent_use(a, job->uid, RAMA_AGENT_SHARE_SEGS, 1);
	rama_agent_drain_join(s, job);
	settle_losses(s);
	switch_events(a, s);
	rama_agent_focus_follow(a, s);
	follow_process(a, s);
	rama_agent_drain_tell(&a->drain, s, false, &e);
	a->pause = a->o.interval;
	uv_timer_start(&a->rounds, a->rounds.timer_cb, 1, 0);
}

static void dir_of(char *to, size_t room, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(to, room, "%.*s", slash != NULL ? (int)(slash - path) : 0, path);
}

/* Followed already: it may have been moved to another job of its user, and never to one of
 * another's, wherever it seems to be. */
static void look_where(struct rama_agent *a, struct rama_agent_drain_seg *s, const char *path,
		       uint32_t uid)
{
	struct rama_agent_drain_job *job;
	char dir[PATH_MAX], *copy;

	if (s->job->uid != uid || strcmp(s->path, path) == 0)
		return;
	dir_of(dir, sizeof(dir), path);
	job = job_in(a, dir, uid);
	copy = strdup(path);
	if (job == NULL || copy == NULL) {
		free(copy);
		return;
	}
	free(s->path);
	s->path = copy;
	if (job != s->job) {
		struct rama_err e = { 0 };

		rama_agent_drain_join(s, job);
		rama_agent_drain_tell(&a->drain, s, false, &e);
	}
}

static void put_off(struct rama_agent *a, const char *path, uint32_t uid,
		    const struct rama_look_find_id *id, const struct rama_err *e)
{
	struct rama_agent_odd *o = rama_agent_odd_add(a, id, path, uid);
	bool other = e->code == RAMA_EIO || e->code == RAMA_EMEMORY;

	if (o == NULL || o->done)
		return;
	o->next = a->drain.mono + (other ? RETRY : SECOND / 10);
	if (!other && a->drain.mono - o->since < UNREADY_MOST)
		return;
	o->bad = o->done = !other;
	if (!o->told && rama_agent_may(a, uid, RAMA_AGENT_SHARE_WORDS)) {
		rama_agent_use(a, uid, RAMA_AGENT_SHARE_WORDS, 1);
		rama_agent_say(a, "%s; it is left alone", e->text);
	}
	o->told = true;
}

/* Copies of a segment, or one under another's name, would be the same process twice. */
static int check_name(struct rama_agent *a, const struct rama_agent_drain_seg *s,
		      struct rama_err *e)
{
	const char *slash = strrchr(s->path, '/');
	const uint64_t *same;
	char name[128];

	if (s->map.seg.state.phase == RAMA_SEG_STARTING || s->map.seg.id.pid <= 0)
		return rama_err_set(e, RAMA_ECORRUPT, "%s: its process had not begun to record",
				    s->path);
	snprintf(name, sizeof(name), "%s.%lld.", s->map.seg.id.host, (long long)s->map.seg.id.pid);
	if (slash == NULL || strncmp(slash + 1, name, strlen(name)) != 0)
		return rama_err_set(e, RAMA_ECORRUPT,
				    "%s: does not have the name of its process, %s", s->path, name);
	same = rama_map_get(&a->by_key, rama_agent_key_hash(&s->key));
	for (size_t i = 0; same != NULL && *same > 0 && i < a->n_segs; i++)
		if (memcmp(&a->seg[i]->key, &s->key, sizeof(s->key)) == 0)
			return rama_err_set(e, RAMA_ECORRUPT, "%s: is a copy of %s", s->path,
					    a->seg[i]->path);
	return 0;
}

static void found(struct rama_agent *a, const char *path, uint32_t uid)
{
	struct rama_agent_drain_seg *s = NULL;
	struct rama_agent_drain_job *job;
	struct rama_agent_odd *o;
	struct rama_err e = { 0 };
	struct rama_look_find_id id;
	char dir[PATH_MAX];
	int rc;

	if (!rama_agent_id_of(a, path, uid, &id))
		return;
	s = seg_of(a, &id);
	if (s != NULL) {
		look_where(a, s, path, uid);
		return;
	}
	o = rama_agent_odd(a, &id);
	if ((o != NULL && (o->done || a->drain.mono < o->next)) ||
	    !rama_agent_may(a, uid, RAMA_AGENT_SHARE_SEGS))
		return;
	dir_of(dir, sizeof(dir), path);
	job = job_in(a, dir, uid);
	if (job == NULL)
		return;
	rama_agent_as(a, uid);
	rc = rama_agent_drain_open(&a->drain, &s, path, uid, &e);
	rama_agent_as_self(a);
	if (rc == 0 && rama_gather_alive(&s->map.seg) < 0) {
		rama_agent_drain_close(s); /* of another machine, whose agent reads it */
		return;
	}
	if (rc == 0 && (rc = check_name(a, s, &e)) != 0)
		rama_agent_drain_close(s);
	if (rc != 0) {
		if (rc != RAMA_EMISSING)
			put_off(a, path, uid, &id, &e);
		return;
	}
	follow(a, s, job);
}

void rama_agent_found(struct rama_agent *a, const char *path, uint32_t uid)
{
	int64_t began = rama_now_ns();

	if (!rama_agent_may(a, uid, RAMA_AGENT_SHARE_LOOKS) ||
	    !rama_agent_may(a, uid, RAMA_AGENT_SHARE_TIME))
		return;
	rama_agent_use(a, uid, RAMA_AGENT_SHARE_LOOKS, 1);
	found(a, path, uid);
	rama_agent_use(a, uid, RAMA_AGENT_SHARE_TIME, (int)((rama_now_ns() - began) / 1000));
}

/* ---- ending ---------------------------------------------------------------------------------- */

void rama_agent_leave(struct rama_agent *a, size_t i)
{
	struct rama_agent_drain_seg *s = a->seg[i];
	uint64_t *place;

	place = rama_map_get(&a->by_id, hash_of(s));
	if (place != NULL)
		*place = 0;
	place = rama_map_get(&a->by_key, rama_agent_key_hash(&s->key));
	if (place != NULL && *place > 0)
		--*place;
	a->seg[i] = a->seg[--a->n_segs];
	if (i < a->n_segs) {
		place = rama_map_get(&a->by_id, hash_of(a->seg[i]));
		if (place != NULL)
			*place = i + 1;
	}
	s->job->made += s->made;
	s->job->dropped += s->dropped;
	s->job->taken += s->taken;
	rama_agent_use(a, s->job->uid, RAMA_AGENT_SHARE_SEGS, -1);
	s->job->segments--;
	if (s->job->segments == 0) {
		s->job->quiet_since = a->drain.mono;
		s->job->quiet_wait = RAMA_AGENT_QUIET;
	}
	stop_poll(s);
	rama_agent_focus_leave(a, s);
	rama_agent_drain_close(s);
}

/* The log was written by the process itself; the file stayed for us alone. The directory goes
 * with the last one. */
static void remove_logged(struct rama_agent *a, const struct rama_agent_drain_seg *s)
{
	struct rama_look_find_id id, mine = id_of(s);
	char dir[PATH_MAX];

	if (!rama_agent_id_of(a, s->path, s->job->uid, &id) || !rama_look_find_id_same(&id, &mine))
		return; /* it is another file that has its name now */
	dir_of(dir, sizeof(dir), s->path);
	rama_agent_as(a, s->job->uid);
	unlink(s->path);
	if (a->o.job == NULL && rmdir(dir) != 0)
		rama_agent_finish_place(dir, s->job->uid);
	rama_agent_as_self(a);
}

/* All is read: says so, and lets go. false: there is no room for that yet. */
static bool finish_seg(struct rama_agent *a, size_t i)
{
	struct rama_agent_drain_seg *s = a->seg[i];
	struct rama_look_find_id id = id_of(s);
	struct rama_agent_odd *o;
	struct rama_err e = { 0 };
	struct stat st;

	if (rama_agent_drain_count(&a->drain, s, &e) != 0 ||
	    rama_agent_drain_tell(&a->drain, s, true, &e) != 0)
		return false;
	s->phase = RAMA_AGENT_DRAIN_TOLD;
	__atomic_store_n(&s->map.control->read, 1, __ATOMIC_RELEASE);
	if (fstat(s->map.fd, &st) != 0 || st.st_nlink > 0) {
		uint32_t flags = __atomic_load_n(&s->id->flags, __ATOMIC_RELAXED);

		/* what it did for others is wanted where those are: finish.c sends it there */
		s->job->served = (flags & (RAMA_SEG_FILE_SERVER | RAMA_SEG_FUSE_DAEMON)) != 0 &&
				 rama_seg_chunks(&s->map.seg) > 0 && (flags & RAMA_SEG_LOGGED) != 0;
		if ((flags & RAMA_SEG_LOGGED) != 0 && !s->job->served) {
			remove_logged(a, s);
		} else {
			o = rama_agent_odd_add(a, &id, s->path, s->job->uid);
			if (o != NULL)
				o->done = true;
		}
	}
	rama_agent_leave(a, i);
	return true;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void when_next(struct rama_agent *a, struct rama_agent_drain_seg *s, bool moved)
{
	unsigned wait = 0;

	s->idle = moved || !rama_agent_drain_empty(s) ? 0 : s->idle + 1;
	if (s->idle > LOOKS_RESTING)
		wait = LOOK_RESTING;
	else if (s->idle > LOOKS_QUIET)
		wait = LOOK_QUIET;
	s->round = a->round + (wait > a->pause && a->pause > 0 ? wait / a->pause : 1);
}

/* Ended processes may leave so many events in memory when the spool is full, no more. */
static bool must_lose(const struct rama_agent *a)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < a->n_segs; i++)
		if (a->seg[i]->phase != RAMA_AGENT_DRAIN_RUNNING)
			bytes +=
				rama_agent_drain_pending(a->seg[i]) * sizeof(struct rama_seg_event);
	return bytes > a->o.limit / 4;
}

static bool look_at(struct rama_agent *a, size_t i)
{
	struct rama_agent_drain_seg *s = a->seg[i];
	struct rama_look_find_id id = id_of(s);
	struct rama_agent_odd *o;
	bool dead = s->phase != RAMA_AGENT_DRAIN_RUNNING;
	unsigned flags = dead || a->stopping ? RAMA_AGENT_DRAIN_ALL : 0;
	struct rama_err e = { 0 };
	int moved = rama_agent_drain_look(&a->drain, s, RAMA_AGENT_DRAIN_SEE, &e);

	if (moved >= 0 && !rama_agent_drain_empty(s)) {
		if (!rama_agent_post_has_room(s->job->post, 65536))
			flags |=
				dead && must_lose(a) ? RAMA_AGENT_DRAIN_LOSE : RAMA_AGENT_DRAIN_SEE;
		rama_agent_drain_look(&a->drain, s, flags, &e);
	}
	if (rama_seg_mapped_gone(&s->map)) {
		rama_agent_say(a, "%s: became shorter while it was read; it is left alone",
			       s->path);
		o = rama_agent_odd_add(a, &id, s->path, s->job->uid);
		if (o != NULL)
			o->done = o->bad = true;
		rama_agent_leave(a, i);
		return true;
	}
	moved = moved > 0 || s->cut;
	when_next(a, s, moved);
	if (dead && rama_agent_drain_empty(s))
		finish_seg(a, i);
	return moved;
}

/* One that is due, if there is time left for its user. Segments may change their places, so that
 * one is looked at twice in a round, or in the next one. */
static bool look_in_turn(struct rama_agent *a, size_t i, bool *cut)
{
	uint32_t uid = a->seg[i]->job->uid;
	int64_t left, began;
	bool moved;

	if (a->seg[i]->round > a->round)
		return false;
	left = rama_agent_turn_left(a, uid);
	if (left == INT64_MAX)
		return look_at(a, i);
	if (left == 0) {
		if (!*cut)
			a->round_at = i + 1;
		*cut = true;
		return true; /* there is more to do */
	}
	began = rama_now_ns();
	a->drain.until = began + left;
	moved = look_at(a, i);
	a->drain.until = 0;
	rama_agent_turn_spent(a, uid, rama_now_ns() - began);
	return moved;
}

bool rama_agent_round(struct rama_agent *a)
{
	size_t first = a->round_at < a->n_segs ? a->round_at : a->n_segs;
	bool moved = false, cut = false;

	a->round++;
	rama_agent_turn(a, ROUND_TURN);
	for (size_t i = first; i-- > 0;)
		if (i < a->n_segs)
			moved = look_in_turn(a, i, &cut) || moved;
	for (size_t i = a->n_segs; i-- > first;)
		if (i < a->n_segs)
			moved = look_in_turn(a, i, &cut) || moved;
	return moved;
}

/* Has it ended while its process goes on? exec was called and did not come back: another program
 * is there now; or it was detached, and its log is written. */
static bool is_over(const struct rama_agent_drain_seg *s)
{
	uint32_t phase = __atomic_load_n(&s->state->phase, __ATOMIC_ACQUIRE);

	return phase == RAMA_SEG_REPLACED ||
	       (phase == RAMA_SEG_DONE &&
		(__atomic_load_n(&s->id->flags, __ATOMIC_ACQUIRE) & RAMA_SEG_LOGGED) != 0);
}

static void see_replaced(struct rama_agent *a, struct rama_agent_drain_seg *s)
{
	if (!is_over(s)) {
		s->replaced_at = 0;
	} else if (s->replaced_at == 0) {
		s->replaced_at = a->drain.mono;
	} else if (a->drain.mono - s->replaced_at >= REPLACED_FOR) {
		s->phase = RAMA_AGENT_DRAIN_DEAD;
		s->round = 0;
	}
}

/* Once a second, of a big job less often; the first time at once. */
static bool is_due(struct rama_agent *a, struct rama_agent_drain_seg *s)
{
	int64_t wait = rama_agent_drain_patience(&a->drain, s);

	if (a->o.focus || s->counted.at == 0 ||
	    a->drain.mono - s->counted.at >= wait - SECOND / 2) {
		s->counted.at = a->drain.mono;
		return true;
	}
	return false;
}

/* what a process's counters stand at, if there is time left for its user */
static bool count_in_turn(struct rama_agent *a, struct rama_agent_drain_seg *s)
{
	int64_t began;
	struct rama_err e = { 0 };

	if (rama_agent_turn_left(a, s->job->uid) == 0)
		return false;
	began = rama_now_ns();
	if (!is_due(a, s) || rama_agent_drain_count(&a->drain, s, &e) == 0)
		rama_agent_drain_tell(&a->drain, s, false, &e);
	see_replaced(a, s);
	if (s->poll == NULL && rama_gather_alive(&s->map.seg) != 1)
		s->phase = RAMA_AGENT_DRAIN_DEAD;
	rama_agent_turn_spent(a, s->job->uid, rama_now_ns() - began);
	return true;
}

void rama_agent_second(struct rama_agent *a)
{
	size_t first = a->n_segs > 0 ? a->second_at % a->n_segs : 0;
	bool cut = false;

	rama_agent_turn(a, SECOND_TURN);
	for (size_t k = 0; k < a->n_segs; k++) {
		struct rama_agent_drain_seg *s = a->seg[(first + k) % a->n_segs];

		if (s->phase != RAMA_AGENT_DRAIN_RUNNING)
			continue;
		__atomic_fetch_add(&s->map.control->beat, 1, __ATOMIC_RELAXED);
		rama_agent_focus_end_lent(s->map.control);
		if (!count_in_turn(a, s) && !cut) {
			a->second_at = (first + k) % a->n_segs;
			cut = true;
		}
	}
	for (size_t i = a->n_jobs; i-- > 0 && a->n_jobs > JOBS_MOST;)
		if (a->job[i]->segments == 0 && !a->job[i]->finishing)
			rama_agent_drop_job(a, i);
}
