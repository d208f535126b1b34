/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/run/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#ifndef RAMA_WITHOUT_JANSSON
#include <jansson.h>
#endif
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/now.h"
#include "base/without.h"
#include "config/state.h"
#include "config/value.h"
#include "gather/pack.h"
#include "index/index.h"
#include "look/find.h"
#include "query/job.h"
#include "segment/ring.h"
#include "store/shown.h"

#define PATIENCE 30.0	   /* s for the agent in the end */
#define PATIENCE_STORE 5.0 /* s for a store that does not answer */
#define PATIENCE_AGENT 2.0 /* s for an agent to begin */
#define AGAIN_MOST 3	   /* times that an agent is started again */
#define STEP 2		   /* ms between two looks while waiting */

static void wait_step(void)
{
	const struct timespec t = { .tv_nsec = STEP * 1000000L };

	nanosleep(&t, NULL);
}

/* ---- the spool ------------------------------------------------------------------------------- */

/* Beside the one of an agent that reads all jobs. What the store cannot take waits there after
 * our end. */
static bool spool_place(struct rama_launch_live *v, const char *job)
{
	const char *given = rama_config_value(RAMA_TAB_SET_SPOOL);
	char name[NAME_MAX + 16];

	if (*given == '/') {
		snprintf(v->spool, sizeof(v->spool), "%s.run/%s", given, job);
	} else {
		snprintf(name, sizeof(name), "spool.run/%s", job);
		if (!rama_config_state_place(v->spool, sizeof(v->spool), name)) {
			errno = ENOENT;
			return false;
		}
	}
	return strlen(v->spool) < sizeof(v->spool) - 64;
}

/* only when nothing waits in it any more */
static void remove_spool(const struct rama_launch_live *v)
{
	DIR *d = opendir(v->spool);
	struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL)
		if (entry->d_type == DT_REG)
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d != NULL)
		closedir(d);
	rmdir(v->spool);
}

/* ---- the agent ------------------------------------------------------------------------------- */

/* It is nobody's child here, so that it is not taken for a process of the command, and has no
 * terminal, so that Ctrl-C does not reach it. */
static void become_agent(const struct rama_launch_live *v)
{
	const char *const argv[] = { "iorama", "agent",	  "--job",  v->dir, "--spool",
				     v->spool, "--store", v->store, "-q",   NULL };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(v->words >= 0 ? v->words : null, STDERR_FILENO);
	}
	setenv("IORAMA_DISABLE", "1", 1);
	execv("/proc/self/exe", (char *const *)argv);
	dprintf(STDERR_FILENO, "iorama: agent: %s\n", strerror(errno));
	_exit(4);
}

static void start_agent(struct rama_launch_live *v)
{
	int told[2];
	pid_t between, agent = 0;

	if (v->ended >= 0)
		close(v->ended);
	v->ended = -1;
	v->agent = 0;
	if (pipe2(told, O_CLOEXEC) != 0)
		return;
	between = fork();
	if (between == 0) {
		agent = fork();
		if (agent == 0)
			become_agent(v);
		_exit(write(told[1], &agent, sizeof(agent)) != sizeof(agent));
	}
	close(told[1]);
	if (between > 0 && read(told[0], &agent, sizeof(agent)) == sizeof(agent) && agent > 0) {
		v->agent = agent;
		v->ended = (int)syscall(SYS_pidfd_open, agent, 0);
	}
	close(told[0]);
	while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
		continue;
}

static bool agent_lives(const struct rama_launch_live *v)
{
	struct pollfd p = { .fd = v->ended, .events = POLLIN };

	if (v->agent <= 0)
		return false;
	if (v->other || v->ended < 0)
		return kill(v->agent, 0) == 0 || errno == EPERM;
	return poll(&p, 1, 0) == 0;
}

/* the last line that the agent said, without our own name before it */
static void last_words(const struct rama_launch_live *v, char *to, size_t room)
{
	char text[4096], *line;
	off_t size = v->words >= 0 ? lseek(v->words, 0, SEEK_END) : 0;
	off_t from = size > (off_t)sizeof(text) - 1 ? size - ((off_t)sizeof(text) - 1) : 0;
	ssize_t n = size > 0 ? pread(v->words, text, sizeof(text) - 1, from) : 0;

	text[n > 0 ? n : 0] = '\0';
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	line = strrchr(text, '\n') != NULL ? strrchr(text, '\n') + 1 : text;
	if (strncmp(line, "iorama: ", 8) == 0)
		line += 8;
	snprintf(to, room, "%s", line);
}

/* What it had not taken waits in the memory of the processes, what it had in the spool: nothing
 * is lost by its death but what the processes have no room for until the next one reads. */
static bool keep_agent(struct rama_launch_live *v)
{
	char words[400];

	if (agent_lives(v))
		return true;
	if (v->other) /* somebody else's; there may be another by now, that is not our business */
		return false;
	if (v->again == AGAIN_MOST)
		return false;
	last_words(v, words, sizeof(words));
	snprintf(v->trouble, sizeof(v->trouble), "the agent ended too early%s%s",
		 words[0] != '\0' ? ": " : "", words);
	v->again++;
	start_agent(v);
	return v->agent > 0;
}

static void find_key(struct rama_launch_live *v, const char *job)
{
	snprintf(v->key, sizeof(v->key), "%u/%.100s", (unsigned)geteuid(), job);
}

int rama_launch_live_possible(struct rama_err *e)
{
#ifdef RAMA_WITHOUT_LIBUV
	return rama_err_without(e, "the loop of iorama agent (libuv)");
#elif defined(RAMA_WITHOUT_JANSSON)
	return rama_err_without(e, "a reader of JSON (jansson)");
#else
	(void)e;
	return 0;
#endif
}

void rama_launch_live_start(struct rama_launch_live *v, const struct rama_launch_place *place)
{
	int64_t pid = 0;

	v->on = true;
	v->ended = v->words = v->lock = -1;
	snprintf(v->dir, sizeof(v->dir), "%s", place->dir);
	find_key(v, place->job);
	if (rama_look_agent_at(place->root, &pid, v->spool, sizeof(v->spool))) {
		v->other = true;
		v->agent = (pid_t)pid;
	} else if (!spool_place(v, place->job) || !rama_config_state_make(v->spool)) {
		snprintf(v->trouble, sizeof(v->trouble), "no agent was started: %.300s: %s",
			 v->spool, strerror(errno));
		v->spool[0] = '\0';
	} else {
		v->lock = rama_agent_run_lock(v->spool);
		v->words = memfd_create("words of the agent", MFD_CLOEXEC);
		start_agent(v);
		if (v->agent <= 0)
			snprintf(v->trouble, sizeof(v->trouble), "no agent could be started: %s",
				 strerror(errno));
	}
	if (v->told.begun != NULL)
		v->told.begun(v->told.ctx, v->dir);
}

void rama_launch_live_second(void *ctx)
{
	struct rama_launch_live *v = ctx;

	if (v->spool[0] != '\0')
		keep_agent(v);
	if (v->told.second != NULL)
		v->told.second(v->told.ctx);
}

void rama_launch_live_pause(void *ctx)
{
	struct rama_launch_live *v = ctx;

	if (v->told.hide != NULL)
		v->told.hide(v->told.ctx);
}

/* ---- what is in the segments ----------------------------------------------------------------- */

struct rings {
	uint64_t made, dropped;
	uint64_t left; /* made, but no agent has taken them yet */
};

static void add_rings(struct rings *r, struct rama_seg_mapped *m)
{
	for (uint32_t i = 0; i < rama_seg_lanes(&m->seg); i++) {
		struct rama_seg_ring_state st;

		if (rama_seg_ring_state(m, i, &st) != 0)
			continue;
		r->made += st.made;
		r->dropped += st.dropped;
		r->left += st.made - st.taken;
	}
}

/* of all segments in a directory, as they are now */
static void read_rings(struct rings *r, const char *dir)
{
	struct rama_seg_mapped *m = malloc(sizeof(*m));
	struct rama_gather_list segs = { 0 };
	struct rama_err e = { 0 };

	*r = (struct rings){ 0 };
	rama_seg_mapped_guard();
	if (m != NULL && rama_gather_find(&segs, dir, &e) == 0)
		for (size_t i = 0; i < segs.n; i++)
			if (!rama_gather_is_packed(segs.path[i]) && /* counted when it was packed */
			    rama_seg_mapped_open(m, segs.path[i], (uint32_t)geteuid(), false, &e) ==
				    0) {
				add_rings(r, m);
				rama_seg_mapped_close(m);
			}
	rama_gather_list_fini(&segs);
	free(m);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* it has found what is in its directory, and knows what to do with signals */
static bool is_ready(const struct rama_launch_live *v)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/" RAMA_AGENT_STATUS_FILE, v->spool);
	return access(path, F_OK) == 0;
}

/* A command may be done before its agent has begun; the segments are to be found by it all the
 * same, since the store would know nothing of the processes. */
static void wait_until_ready(const struct rama_launch_live *v)
{
	double end = rama_now() + PATIENCE_AGENT;

	while (v->agent > 0 && !v->other && !is_ready(v) && agent_lives(v) && rama_now() < end)
		wait_step();
}

void rama_launch_live_drain(struct rama_launch_live *v)
{
	double end = rama_now() + PATIENCE;
	struct rings r;

	wait_until_ready(v);
	do {
		read_rings(&r, v->dir);
		v->seen = r.made + r.dropped + v->past_made + v->past_dropped;
		v->dropped = r.dropped + v->past_dropped;
		if (r.left == 0 || v->spool[0] == '\0' || !keep_agent(v))
			break;
		if (v->told.wait != NULL)
			v->told.wait(v->told.ctx, "waiting for the agent to read the last events");
		wait_step();
	} while (rama_now() < end);
	if (r.left > 0 && v->trouble[0] == '\0')
		snprintf(v->trouble, sizeof(v->trouble),
			 "the agent does not keep up: %llu events were not read",
			 (unsigned long long)r.left);
}

/* what the agent says of the job: its own file */
struct status {
	bool known, ended;
	uint64_t committed, lost, waiting;
	char sink[PATH_MAX];
};

#ifdef RAMA_WITHOUT_JANSSON
static void read_status(const struct rama_launch_live *v, struct status *s)
{
	(void)v;
	*s = (struct status){ 0 };
}
#else
static uint64_t number(const json_t *o, const char *key)
{
	const json_t *x = json_object_get(o, key);

	return json_is_integer(x) && json_integer_value(x) > 0 ? (uint64_t)json_integer_value(x)
							       : 0;
}

static void read_status(const struct rama_launch_live *v, struct status *s)
{
	char path[PATH_MAX + 32];
	json_t *doc, *job;
	size_t i;

	*s = (struct status){ 0 };
	snprintf(path, sizeof(path), "%s/" RAMA_AGENT_STATUS_FILE, v->spool);
	doc = json_load_file(path, 0, NULL);
	if (doc == NULL)
		return;
	s->known = true;
	s->ended = json_is_true(json_object_get(doc, "ended"));
	if (json_is_string(json_object_get(doc, "sink")))
		snprintf(s->sink, sizeof(s->sink), "%s",
			 json_string_value(json_object_get(doc, "sink")));
	s->waiting = number(json_object_get(doc, "spool"), "messages");
	s->lost = number(json_object_get(doc, "totals"), "lost");
	json_array_foreach(json_object_get(doc, "jobs"), i, job)
	{
		const char *key = json_string_value(json_object_get(job, "key"));

		if (key == NULL || strcmp(key, v->key) != 0)
			continue;
		s->committed = number(job, "committed");
		s->lost = number(job, "lost");
		s->waiting = number(job, "spooled") - s->committed;
	}
	json_decref(doc);
}
#endif

static bool in_store(const struct rama_launch_live *v, const char *sink)
{
	char shown[PATH_MAX]; /* agents say it without its password */

	rama_store_shown(v->store, shown);
	return strcmp(sink, shown) == 0 ||
	       (strncmp(sink, "store:", 6) == 0 && strcmp(sink + 6, shown) == 0);
}

/* What the store itself says it has of the job, whoever brought it there. False: it cannot be
 * asked. */
static bool ask_store(struct rama_launch_live *v, struct rama_query_job_live *c, struct rama_err *e)
{
	struct rama_store *s;
	int rc = rama_store_open(&s, v->store, RAMA_STORE_READ, e);

	*c = (struct rama_query_job_live){ 0 };
	if (rc == 0) {
		rc = rama_query_job_live_get(s, v->key, c, e);
		rama_store_close(s);
	}
	return rc >= 0;
}

/* With its directory gone it ends by itself, but looks for that once a second, which is longer
 * than many commands take: so it is told. One that is not ready would die of the signal. */
static void end_agent(const struct rama_launch_live *v)
{
	if (is_ready(v) || access(v->dir, F_OK) == 0)
		kill(v->agent, SIGTERM);
}

/* Its end is known by the descriptor; an agent that reads all jobs goes on, and is done with
 * this one when it has committed what it had spooled. */
static bool wait_for_agent(struct rama_launch_live *v)
{
	double end = rama_now() + PATIENCE, ask = 0, answered = rama_now();
	struct rama_err e = { 0 };
	struct rama_query_job_live c;
	struct status s;

	while (rama_now() < end && rama_now() < answered + PATIENCE_STORE) {
		if (!v->other && !agent_lives(v))
			return true;
		if (!v->other && rama_now() >= ask) {
			answered = ask_store(v, &c, &e) ? rama_now() : answered;
			ask = rama_now() + 0.5;
		}
		if (v->other && rama_now() >= ask) {
			read_status(v, &s);
			v->elsewhere = s.known && !in_store(v, s.sink);
			snprintf(v->sink, sizeof(v->sink), "%s", s.sink);
			if (v->elsewhere ? s.committed + s.lost + v->dropped >= v->seen
					 : ask_store(v, &c, &e) &&
						   c.events + s.lost + v->dropped >= v->seen)
				return true;
			if (!agent_lives(v))
				return true;
			ask = rama_now() + 0.1;
		}
		if (v->told.wait != NULL)
			v->told.wait(v->told.ctx, "waiting for the store");
		wait_step();
	}
	return false;
}

static void count(struct rama_launch_live *v, bool in_time)
{
	struct rama_err e = { 0 };
	struct rama_query_job_live c;
	struct status s;
	uint64_t rest;

	read_status(v, &s);
	v->counted = v->elsewhere || ask_store(v, &c, &e);
	if (!v->counted && v->trouble[0] == '\0') {
		char shown[PATH_MAX];

		snprintf(v->trouble, sizeof(v->trouble), "%.200s: %.250s",
			 rama_store_shown(v->store, shown), e.text);
	}
	v->stored = !v->counted ? 0 : v->elsewhere ? s.committed : c.events;
	rest = v->seen > v->stored ? v->seen - v->stored : 0;
	if (v->spool[0] == '\0' || (v->counted && in_time && s.known && s.waiting == 0)) {
		v->lost = rest;
	} else {
		v->lost = v->dropped + s.lost < rest ? v->dropped + s.lost : rest;
		v->waiting = rest - v->lost;
	}
}

static int put_log(const struct rama_launch_live *v, const char *log, struct rama_err *e)
{
	struct rama_store *s;
	char real[PATH_MAX];
	int rc = rama_store_open(&s, v->store, RAMA_STORE_WRITE | RAMA_STORE_CREATE, e);

	if (rc != 0)
		return rc;
	rc = rama_store_begin(s, e);
	if (rc == 0)
		rc = rama_index_path(s, realpath(log, real) != NULL ? real : log, v->key, e);
	if (rc == 0)
		rc = rama_store_commit(s, e);
	if (rc != 0)
		rama_store_rollback(s);
	rama_store_close(s);
	return rc;
}

void rama_launch_live_end(struct rama_launch_live *v, bool left, const char *log)
{
	struct rama_err e = { 0 };
	bool in_time = true;

	if (v->agent > 0 && !v->other && !left)
		end_agent(v);
	if (v->agent > 0 && !left)
		in_time = wait_for_agent(v);
	if (v->told.hide != NULL)
		v->told.hide(v->told.ctx);
	count(v, in_time && !left);
	if (log != NULL && put_log(v, log, &e) != 0 && v->trouble[0] == '\0')
		snprintf(v->trouble, sizeof(v->trouble), "the log is not in the store: %.400s",
			 e.text);
	if (!v->other && !left && v->waiting == 0 && v->counted && v->spool[0] != '\0' &&
	    !agent_lives(v))
		remove_spool(v);
}

bool rama_launch_live_goes_on(const struct rama_launch_live *v)
{
	return v->other && agent_lives(v);
}

void rama_launch_live_fini(struct rama_launch_live *v)
{
	if (!v->on)
		return;
	if (v->ended >= 0)
		close(v->ended);
	if (v->words >= 0)
		close(v->words);
	if (v->lock >= 0)
		close(v->lock);
}
