/* SPDX-License-Identifier: BSD-3-Clause */
/* finish.c: a job whose processes are all gone and of which nobody else takes care becomes
 * a log, as `iorama recover` would make it; the log goes to the log directory and to the sink,
 * then the segments go. Never one that was not read to its end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/now.h"
#include "config/logname.h"
#include "gather/pack.h"
#include "gather/place.h"
#include "agent/loop.h"

#define QUIET_MOST \
	16000000000ll		/* ns: where there was nothing to do yet, it is looked less often */
#define FINISH_TURN 250000000ll /* ns for all users of a system together, once a second */
#define NAMES_MOST 1000

/* one job while it becomes a log, in a thread of the loop's pool */
struct work {
	uv_work_t request;
	struct rama_agent *agent;
	struct rama_agent_drain_job *job;
	struct rama_gather_list segs;
	char dir[PATH_MAX], logs[PATH_MAX], path[PATH_MAX];
	uint32_t uid;
	bool served; /* its process has written a log, too: this one is for the store alone */
	int lock;
	unsigned char *bytes; /* the log */
	size_t len;
	struct rama_err err;
	char user[64];
	struct rama_look_find_id *id; /* of segs */
};

/* ---- the log --------------------------------------------------------------------------------- */

/* what its name says of it: of the first process */
static int about(const struct work *w, struct rama_config_logname *n, struct rama_seg_identity *id)
{
	uint64_t first = UINT64_MAX;
	struct rama_seg *seg = malloc(sizeof(*seg));

	for (size_t i = 0; i < w->segs.n && seg != NULL; i++) {
		struct rama_gather_segment_file f;
		struct rama_err e;

		if (rama_gather_file_open(&f, w->segs.path[i], &e) != 0)
			continue;
		if (rama_seg_open(seg, &f.src, &e) == 0 && seg->id.clock.real0 < first) {
			first = seg->id.clock.real0;
			*id = seg->id;
		}
		rama_gather_file_close(&f);
	}
	free(seg);
	if (first == UINT64_MAX)
		return -1;
	*n = (struct rama_config_logname){ .user = w->user,
					   .uid = w->uid,
					   .exe = id->exe,
					   .jobid = id->jobid,
					   .pid = id->pid,
					   .host = id->host };
	return 0;
}

static int choose_name(struct work *w, struct rama_err *e)
{
	static const char suffix[] = ".darshan";
	struct rama_seg_identity *id = malloc(sizeof(*id));
	char name[RAMA_CONFIG_LOGNAME_MOST];
	struct rama_config_logname n;
	struct timespec now;
	struct stat st;
	time_t start;
	int stem;

	if (id == NULL || about(w, &n, id) != 0) {
		free(id);
		return rama_err_set(e, RAMA_EMISSING, "%s: no segment could be read", w->dir);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	n.end_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	start = (time_t)(id->clock.real0 / 1000000000);
	localtime_r(&start, &n.start);
	rama_config_logname_final(name, sizeof(name), &n, 0);
	free(id);
	stem = (int)strlen(name) - (int)strlen(suffix);
	for (unsigned i = 1; i < NAMES_MOST; i++) {
		int len = i == 1 ? snprintf(w->path, PATH_MAX, "%s/%s", w->logs, name)
				 : snprintf(w->path, PATH_MAX, "%s/%.*s-%u%s", w->logs, stem, name,
					    i, suffix);

		if (len < PATH_MAX && lstat(w->path, &st) != 0)
			return 0;
	}
	return rama_err_set(e, RAMA_EIO, "%s: no name for a log", w->logs);
}

static int read_log(struct work *w, struct rama_err *e)
{
	struct rama_file f;
	int rc = rama_file_open(&f, w->path, e);

	if (rc != 0)
		return rc;
	if (f.src.size < RAMA_WIRE_MESSAGE_MOST / 8 * 7) {
		w->bytes = malloc(f.src.size + 1);
		w->len = f.src.size;
		rc = w->bytes == NULL ? rama_err_no_memory(e)
				      : f.src.read(f.src.ctx, 0, w->bytes, w->len, e);
	}
	rama_file_close(&f);
	return rc;
}

static void ignore(void *ctx, const char *line)
{
	(void)ctx;
	(void)line; /* said when the segment was found */
}

static void make_log(uv_work_t *request)
{
	struct work *w = request->data;
	struct rama_gather_options opt = {
		.reduce = true, .incomplete = !w->served, .jobid = -1, .problem = ignore
	};
	struct rama_gather_result result = { 0 };
	int rc;

	rama_agent_as(w->agent, w->uid);
	rc = choose_name(w, &w->err);
	if (rc == 0)
		rc = rama_gather_job((const char *const *)w->segs.path, w->segs.n, w->path, &opt,
				     &result, &w->err);
	if (rc == 0)
		chmod(w->path, 0400);
	if (rc == 0)
		read_log(w, &w->err); /* w->err says what went wrong */
	rama_agent_as_self(w->agent);
}

/* ---- afterwards, in the loop ----------------------------------------------------------------- */

static int send_log(struct work *w, struct rama_err *e)
{
	const char *slash = strrchr(w->path, '/');
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_LOG };

	if (w->bytes == NULL) {
		rama_agent_say(w->agent, "%s: too large for the store; iorama index takes it there",
			       w->path);
		return 0;
	}
	m.log = (struct rama_wire_msg_log){ .job = w->job->key,
					    .name = slash != NULL ? slash + 1 : w->path,
					    .bytes = w->bytes,
					    .len = w->len };
	return rama_agent_post_send(w->job->post, &m, w->job->key, 0, e);
}

static void remove_segments(struct work *w)
{
	bool bad;

	rama_agent_as(w->agent, w->uid);
	for (size_t i = 0; i < w->segs.n; i++) {
		struct rama_look_find_id id;
		struct stat st;

		if (rama_gather_is_packed(w->segs.path[i]))
			continue;
		if (lstat(w->segs.path[i], &st) != 0)
			continue;
		id = (struct rama_look_find_id){ st.st_dev, st.st_ino };
		if (rama_look_find_id_same(&id, &w->id[i]) &&
		    rama_agent_done(w->agent, &id, &bad) && !bad)
			unlink(w->segs.path[i]);
	}
	rama_gather_place_clear(w->dir, w->uid);
	rama_agent_as_self(w->agent);
}

static void free_work(struct work *w)
{
	if (w->lock >= 0)
		close(w->lock);
	rama_gather_list_fini(&w->segs);
	free(w->id);
	free(w->bytes);
	free(w);
}

static void log_made(uv_work_t *request, int status)
{
	struct work *w = request->data;
	struct rama_err e = { 0 };

	w->agent->working--;
	w->job->finishing = false;
	w->job->quiet_since = w->agent->drain.mono;
	if (status != 0 || w->err.code != 0) {
		rama_agent_say(w->agent, "%s: no log: %s; its segments stay", w->dir, w->err.text);
		w->job->left = true;
	} else if (send_log(w, &e) != 0) {
		unlink(w->path); /* the same again when there is room */
	} else {
		if (w->served)
			unlink(w->path);
		else
			rama_agent_say(w->agent, "%s: its processes are gone; log %s", w->dir,
				       w->path);
		remove_segments(w);
	}
	free_work(w);
}

/* ---- which jobs ------------------------------------------------------------------------------ */

/* Have all its segments been read to their end (or cannot be)? */
static bool all_read(struct rama_agent *a, struct work *w)
{
	size_t good = 0;

	w->id = calloc(w->segs.n + 1, sizeof(*w->id));
	for (size_t i = 0; w->id != NULL && i < w->segs.n; i++) {
		bool bad;

		/* what was packed had been read, if somebody read it */
		if (rama_gather_is_packed(w->segs.path[i])) {
			good++;
			continue;
		}
		if (!rama_agent_id_of(a, w->segs.path[i], w->job->uid, &w->id[i]) ||
		    !rama_agent_done(a, &w->id[i], &bad))
			return false;
		good += !bad;
	}
	return w->id != NULL && good > 0;
}

static const char *logs_of(struct rama_agent *a, uint32_t uid)
{
	for (size_t i = 0; i < a->n_users; i++)
		if (a->user[i]->uid == uid)
			return a->user[i]->logs;
	return "";
}

static void begin(struct rama_agent *a, struct rama_agent_drain_job *j, struct work *w)
{
	*w = (struct work){ .agent = a,
			    .job = j,
			    .segs = w->segs,
			    .uid = j->uid,
			    .lock = -1,
			    .id = w->id,
			    .served = j->served };
	snprintf(w->dir, sizeof(w->dir), "%s", j->dir);
	snprintf(w->logs, sizeof(w->logs), "%s", logs_of(a, j->uid));
	memcpy(w->user, j->user, sizeof(w->user));
	rama_agent_as(a, j->uid);
	w->lock = rama_gather_place_lock(j->dir);
	rama_agent_as_self(a);
	w->request.data = w;
	if (w->lock < 0 || w->logs[0] == '\0' ||
	    uv_queue_work(&a->loop, &w->request, make_log, log_made) != 0) {
		free_work(w);
		return;
	}
	j->finishing = true;
	a->working++;
}

/* as that user */
void rama_agent_finish_place(const char *dir, uint32_t uid)
{
	struct rama_gather_list segs;
	struct rama_err e;
	int lock;

	if (rama_gather_find(&segs, dir, &e) != 0)
		return;
	lock = segs.n == 0 ? rama_gather_place_lock(dir) : -1;
	if (lock >= 0) {
		rama_gather_place_clear(dir, uid);
		close(lock);
	}
	rama_gather_list_fini(&segs);
}

static void finish(struct rama_agent *a, struct rama_agent_drain_job *j)
{
	struct work *w = calloc(1, sizeof(*w));
	struct rama_err e;

	if (w == NULL)
		return;
	w->lock = -1;
	w->job = j;
	rama_agent_as(a, j->uid);
	if (rama_gather_find(&w->segs, j->dir, &e) != 0)
		w->segs.n = 0;
	else if (w->segs.n == 0) /* who held its lock when the last one went has ended */
		rama_agent_finish_place(j->dir, j->uid);
	rama_agent_as_self(a);
	if (w->segs.n > 0 && all_read(a, w))
		begin(a, j, w);
	else
		free_work(w);
}

/* another directory of a job is finished with the job */
static bool is_spare(struct rama_agent *a, const struct rama_agent_drain_job *j)
{
	bool is;

	rama_agent_as(a, j->uid);
	is = rama_gather_spare_is(j->dir);
	rama_agent_as_self(a);
	return is;
}

static void look_at(struct rama_agent *a, struct rama_agent_drain_job *j)
{
	int64_t began = rama_now_ns();
	struct stat st;

	j->quiet_since = a->drain.mono; /* not again at once */
	j->quiet_wait = j->quiet_wait < QUIET_MOST / 2 ? 2 * j->quiet_wait : QUIET_MOST;
	if (lstat(j->dir, &st) == 0 && !j->left && !is_spare(a, j))
		finish(a, j);
	rama_agent_turn_spent(a, j->uid, rama_now_ns() - began);
}

void rama_agent_finish_jobs(struct rama_agent *a)
{
	size_t first = a->n_jobs > 0 ? a->finish_at % a->n_jobs : 0;
	bool cut = false;

	if (a->o.job != NULL || a->stopping)
		return;
	rama_agent_turn(a, FINISH_TURN);
	for (size_t k = 0; k < a->n_jobs; k++) {
		struct rama_agent_drain_job *j = a->job[(first + k) % a->n_jobs];

		if (j->segments > 0 || j->finishing || j->quiet_since == 0 ||
		    a->drain.mono - j->quiet_since < j->quiet_wait)
			continue;
		if (rama_agent_turn_left(a, j->uid) > 0) {
			look_at(a, j);
		} else if (!cut) {
			a->finish_at = (first + k) % a->n_jobs;
			cut = true;
		}
	}
}
