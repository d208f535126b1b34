/* SPDX-License-Identifier: BSD-3-Clause */
/* post.c: messages go into the spool; a thread takes them from there to the sink. What the sink
 * cannot take now is tried again, later and later, for ever: the spool holds it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/loss.h"
#include "agent/writer.h"
#include "base/grow.h"
#include "base/now.h"
#include "base/siphash.h"
#include "wire/message_head.h"

#define PARCELS 512
#define JOBS_MOST 16384 /* that are remembered */
#define GATHER_MS 100	/* a message waits so long for others to come along */
#define SYNC_MS 200	/* how long a sink may wait for answers while there is nothing else to do */
#define PAUSE_LEAST 100 /* ms after a failure, doubled up to */
#define PAUSE_MOST 10000

/* ---- waiting --------------------------------------------------------------------------------- */

/* Until there is something to do or the time is over; with the mutex held. */
static void rest(struct rama_agent_post *p, int64_t ms)
{
	rama_bus_sink_rest(&p->wake, &p->mutex, ms);
}

/* true: the time that was given for the end is over */
static bool is_over(struct rama_agent_post *p)
{
	bool over;

	pthread_mutex_lock(&p->mutex);
	over = p->stop && rama_now_ms() >= p->stop_at;
	pthread_mutex_unlock(&p->mutex);
	return over;
}

/* after a failure; an end that comes meanwhile makes it short */
static void pause_for(struct rama_agent_post *p, unsigned ms)
{
	int64_t until = rama_now_ms() + ms, now;

	pthread_mutex_lock(&p->mutex);
	while ((now = rama_now_ms()) < until && (!p->stop || now < p->stop_at)) {
		int64_t left = p->stop && p->stop_at < until ? p->stop_at - now : until - now;

		rest(p, p->stop && left > PAUSE_LEAST ? PAUSE_LEAST : left);
		if (p->stop)
			break;
	}
	pthread_mutex_unlock(&p->mutex);
}

/* Waits for messages. false: it is time to end, and there are none. */
static bool wait_for_messages(struct rama_agent_post *p)
{
	struct rama_agent_spool_state st;
	bool stop;

	pthread_mutex_lock(&p->mutex);
	p->waits = true;
	rama_agent_spool_state(p->spool, &st);
	while (st.next == p->next && !p->stop) {
		rest(p, 1000);
		rama_agent_spool_state(p->spool, &st);
	}
	p->waits = false;
	stop = p->stop;
	if (!stop)
		rest(p, GATHER_MS); /* nobody wakes us now but an end */
	pthread_mutex_unlock(&p->mutex);
	return !stop || st.next != p->next;
}

/* ---- what is on its way ---------------------------------------------------------------------- */

static int remember(struct rama_agent_post *p, const struct rama_bus_parcel *parcel)
{
	struct rama_wire_message_head h;

	if (rama_wire_message_peek(&h, parcel->bytes, parcel->len, NULL) != 0 || h.events == 0)
		return 0;
	if (!RAMA_GROW(p->sent, p->room_sent, p->n_sent + 1))
		return RAMA_EMEMORY;
	pthread_mutex_lock(&p->mutex);
	p->sent[p->n_sent++] = (struct rama_agent_post_sent){ parcel->number, h.events,
							      rama_agent_post_job(p, h.job) };
	pthread_mutex_unlock(&p->mutex);
	return 0;
}

/* Those of which nothing waits are forgotten when there are too many: a place of theirs is in no
 * list. How much of them was lost stays in the sum. */
static void forget_jobs(struct rama_agent_post *p)
{
	const struct rama_sipkey k = { 1, 2 };
	size_t *to = calloc(p->n_jobs, sizeof(*to)), n = 0;
	struct rama_map anew = { 0 };

	for (size_t i = 0; to != NULL && i < p->n_sent; i++)
		if (p->sent[i].job != SIZE_MAX)
			to[p->sent[i].job] = 1;
	for (size_t i = 0; to != NULL && i < p->n_jobs; i++) {
		uint64_t *place;

		if (to[i] == 0 && p->job[i].waiting == 0)
			continue;
		to[i] = n;
		p->job[n] = p->job[i];
		place = rama_map_put(&anew, rama_siphash(&k, p->job[n].key, strlen(p->job[n].key)),
				     NULL);
		n++;
		if (place != NULL)
			*place = n;
	}
	for (size_t i = 0; to != NULL && i < p->n_sent; i++)
		if (p->sent[i].job != SIZE_MAX)
			p->sent[i].job = to[p->sent[i].job];
	if (to != NULL) {
		rama_map_fini(&p->job_of);
		p->job_of = anew;
		p->n_jobs = n;
	}
	p->jobs_most = 2 * p->n_jobs > JOBS_MOST ? 2 * p->n_jobs : JOBS_MOST;
	free(to);
}

static void settle(struct rama_agent_post *p, uint64_t committed, uint64_t again)
{
	size_t done = 0;

	pthread_mutex_lock(&p->mutex);
	for (; done < p->n_sent && p->sent[done].number <= committed; done++) {
		struct rama_agent_post_sent *s = &p->sent[done];

		if (s->job != SIZE_MAX)
			p->job[s->job].waiting -= s->events < p->job[s->job].waiting
							  ? s->events
							  : p->job[s->job].waiting;
	}
	p->ops->totals(p->sink, &p->totals);
	pthread_mutex_unlock(&p->mutex);
	memmove(p->sent, p->sent + done, (p->n_sent - done) * sizeof(*p->sent));
	p->n_sent -= done;
	while (p->n_sent > 0 && p->sent[p->n_sent - 1].number >= again)
		p->n_sent--;
	pthread_mutex_lock(&p->mutex);
	if (p->n_jobs > p->jobs_most)
		forget_jobs(p);
	pthread_mutex_unlock(&p->mutex);
	if (again < p->next)
		p->next = again;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void say(struct rama_agent_post *p, const char *text, bool *said)
{
	char line[700];

	if (*said)
		return;
	*said = true;
	snprintf(line, sizeof(line), "%s; what is recorded waits in the spool", text);
	p->o.tell(p->o.ctx, line);
}

static int open_sink(struct rama_agent_post *p, struct rama_err *e)
{
	struct rama_bus_sink_options o = { .agent = p->agent, .tell = p->o.tell, .ctx = p->o.ctx };
	int rc;

	rama_bus_sink_find(p->sink_text, &o.where);
	rc = p->o.writers != NULL
		     ? rama_agent_writer_open(&p->sink, p->o.writers, p->o.uid, p->o.gid, &o, e)
		     : p->ops->open(&p->sink, &o, e);
	if (rc != 0)
		p->sink = NULL;
	return rc;
}

/* Some messages to the sink: how many, or negative. */
static int64_t push(struct rama_agent_post *p, struct rama_bus_parcel *parcel, struct rama_err *e)
{
	int n = rama_agent_spool_read(p->spool, p->next, parcel, PARCELS, e);
	int64_t taken;

	if (n <= 0)
		return n;
	taken = p->ops->put(p->sink, parcel, (size_t)n, e);
	for (int64_t i = 0; i < taken; i++)
		if (remember(p, &parcel[i]) != 0)
			return rama_err_no_memory(e);
	if (taken > 0)
		p->next = parcel[taken - 1].number + 1;
	return taken;
}

static int sync_sink(struct rama_agent_post *p, int wait_ms, struct rama_err *e)
{
	uint64_t committed = 0, again = UINT64_MAX;
	int rc;

	rc = p->ops->sync(p->sink, wait_ms, &committed, &again, e);
	settle(p, committed, again);
	if (committed > 0 && rama_agent_spool_commit(p->spool, committed, e) != 0)
		rc = RAMA_EIO;
	return rc;
}

/* One round with an open sink. 1: something moved, 0: all is still, negative: a failure. */
static int64_t round_trip(struct rama_agent_post *p, struct rama_bus_parcel *parcel,
			  struct rama_err *e)
{
	int64_t taken = push(p, parcel, e);
	struct rama_err second = { 0 };
	int rc = sync_sink(p, taken > 0 ? 0 : SYNC_MS, taken < 0 ? &second : e);

	if (taken < 0)
		return taken;
	return rc < 0 ? rc : taken;
}

static void note_failing(struct rama_agent_post *p, bool failing)
{
	pthread_mutex_lock(&p->mutex);
	p->failing = failing;
	pthread_mutex_unlock(&p->mutex);
}

static void *run_thread(void *post)
{
	struct rama_agent_post *p = post;
	struct rama_bus_parcel *parcel = calloc(PARCELS, sizeof(*parcel));
	unsigned pause = PAUSE_LEAST;
	bool said = false, more = true;

	while (parcel != NULL && more && !is_over(p)) {
		struct rama_err e = { 0 };
		int64_t rc = p->sink == NULL ? open_sink(p, &e) : 0;

		if (rc == 0)
			rc = round_trip(p, parcel, &e);
		if (rc < 0) {
			note_failing(p, true);
			say(p, e.text, &said);
			pause_for(p, pause);
			pause = pause * 2 > PAUSE_MOST ? PAUSE_MOST : pause * 2;
			continue;
		}
		note_failing(p, false);
		pause = PAUSE_LEAST;
		said = false;
		if (rc == 0 && p->n_sent == 0 && rama_agent_post_idle(p))
			more = wait_for_messages(p);
	}
	if (p->sink != NULL) {
		p->ops->close(p->sink);
	}
	free(parcel);
	return NULL;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

size_t rama_agent_post_job(struct rama_agent_post *p, const char *key)
{
	const struct rama_sipkey k = { 1, 2 };
	uint64_t *place = rama_map_put(&p->job_of, rama_siphash(&k, key, strlen(key)), NULL);

	if (place == NULL)
		return SIZE_MAX;
	if (*place > 0)
		return (size_t)*place - 1;
	if (!RAMA_GROW(p->job, p->room_jobs, p->n_jobs + 1))
		return SIZE_MAX;
	p->job[p->n_jobs] = (struct rama_agent_post_job){ 0 };
	snprintf(p->job[p->n_jobs].key, RAMA_WIRE_JOB, "%s", key);
	*place = ++p->n_jobs;
	return p->n_jobs - 1;
}

uint64_t rama_agent_post_waiting(struct rama_agent_post *p, const char *job)
{
	uint64_t n = 0;
	size_t i;

	pthread_mutex_lock(&p->mutex);
	i = rama_agent_post_job(p, job);
	if (i != SIZE_MAX)
		n = p->job[i].waiting;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

uint64_t rama_agent_post_lost(struct rama_agent_post *p, const char *job)
{
	uint64_t n = 0;
	size_t i;

	pthread_mutex_lock(&p->mutex);
	i = rama_agent_post_job(p, job);
	if (i != SIZE_MAX)
		n = p->job[i].lost;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The name of this agent stays with its spool: acknowledgements of another one's messages must
 * not be taken for ours. */
static int read_name(struct rama_agent_post *p, struct rama_err *e)
{
	int fd = openat(rama_agent_spool_dir(p->spool), "agent",
			O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	char host[48] = "";
	uint64_t number;
	ssize_t n = fd >= 0 ? read(fd, p->agent, sizeof(p->agent) - 1) : -1;

	if (fd < 0)
		return rama_err_set(e, RAMA_EIO, "%s/agent: %s", p->dir, strerror(errno));
	p->agent[n > 0 ? n : 0] = '\0';
	p->agent[strcspn(p->agent, "\n")] = '\0';
	if (strlen(p->agent) < 18 ||
	    strspn(p->agent, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") !=
		    strlen(p->agent)) {
		gethostname(host, sizeof(host) - 1);
		for (char *c = host; *c != '\0'; c++)
			if (strchr("._-", *c) != NULL || *c <= ' ' || *c > 'z')
				*c = '-';
		if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
			number = (uint64_t)getpid();
		n = snprintf(p->agent, sizeof(p->agent), "%s-%016llx", host,
			     (unsigned long long)number);
		if (ftruncate(fd, 0) != 0 || pwrite(fd, p->agent, (size_t)n, 0) != n) {
			close(fd);
			return rama_err_set(e, RAMA_EIO, "%s/agent: %s", p->dir, strerror(errno));
		}
	}
	close(fd);
	return 0;
}

/* ---- where it goes: a word for who takes the spool over -------------------------------------- */

#define SINK_FILE "sink"

/* paths are meant as of here */
static void absolute(char *to, size_t room, const char *sink)
{
	static const char *const kinds[] = { "store:", "file:" };
	char here[PATH_MAX];

	snprintf(to, room, "%s", sink);
	for (unsigned i = 0; i < 2; i++) {
		size_t n = strlen(kinds[i]);

		if (strncmp(sink, kinds[i], n) == 0 && sink[n] != '/' &&
		    getcwd(here, sizeof(here)) != NULL)
			snprintf(to, room, "%s%s/%s", kinds[i], here, sink + n);
	}
}

static void write_sink(const struct rama_agent_post *p)
{
	int fd = openat(rama_agent_spool_dir(p->spool), SINK_FILE,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	char text[PATH_MAX + 4096];

	absolute(text, sizeof(text), p->sink_text);
	/* without it who takes over uses his own */
	if (fd >= 0 && write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		(void)!ftruncate(fd, 0);
	if (fd >= 0)
		close(fd);
}

static void read_sink(struct rama_agent_post *p)
{
	int fd = openat(rama_agent_spool_dir(p->spool), SINK_FILE,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[sizeof(p->sink_text)];
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	const char *where;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (n > 0 && rama_bus_sink_find(text, &where) != NULL)
		memcpy(p->sink_text, text, (size_t)n + 1);
}

/* what an agent before us left in the spool */
static int count_waiting(struct rama_agent_post *p, struct rama_err *e)
{
	struct rama_bus_parcel parcel[64];
	struct rama_agent_spool_state st;
	int n = 0;

	rama_agent_spool_state(p->spool, &st);
	p->next = st.committed + 1;
	for (uint64_t at = p->next; (n = rama_agent_spool_read(p->spool, at, parcel, 64, e)) > 0;) {
		for (int i = 0; i < n; i++) {
			struct rama_wire_message_head h;
			size_t k = SIZE_MAX;

			rama_wire_message_peek(&h, parcel[i].bytes, parcel[i].len, NULL);
			if (h.events > 0)
				k = rama_agent_post_job(p, h.job);
			if (k != SIZE_MAX)
				p->job[k].waiting += h.events;
		}
		at = parcel[n - 1].number + 1;
	}
	return n;
}

static int open_all(struct rama_agent_post *p, struct rama_err *e)
{
	const char *where;
	int rc;

	if (rama_bus_sink_find(p->sink_text, &where) == NULL)
		return rama_err_set(e, RAMA_EUSAGE,
				    "'%s' is no sink: store:PATH, file:PATH, nats://HOST:PORT, "
				    "ldms:HOST:PORT or postgresql://…",
				    p->sink_text);
	rc = rama_agent_spool_open(&p->spool, p->dir, p->o.limit, p->o.tell, p->o.ctx, e);
	if (rc == 0 && p->as_meant)
		read_sink(p);
	else if (rc == 0)
		write_sink(p);
	p->ops = p->o.writers != NULL ? &rama_agent_writer_ops
				      : rama_bus_sink_find(p->sink_text, &where);
	if (rc == 0)
		rc = read_name(p, e);
	if (rc == 0)
		rc = count_waiting(p, e);
	if (rc == 0)
		rc = rama_agent_losses_open(p, e);
	if (rc == 0 && pthread_create(&p->thread, NULL, run_thread, p) != 0)
		rc = rama_err_set(e, RAMA_EMEMORY, "no thread");
	p->started = rc == 0;
	return rc;
}

static int open_post(struct rama_agent_post **to, const struct rama_agent_post_options *o,
		     bool as_meant, struct rama_err *e)
{
	struct rama_agent_post *p = calloc(1, sizeof(*p));
	pthread_condattr_t attr;
	int rc;

	*to = NULL;
	if (p == NULL)
		return rama_err_no_memory(e);
	p->o = *o;
	p->as_meant = as_meant;
	p->jobs_most = JOBS_MOST;
	snprintf(p->dir, sizeof(p->dir), "%s", o->spool);
	snprintf(p->sink_text, sizeof(p->sink_text), "%s", o->sink);
	pthread_mutex_init(&p->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->wake, &attr);
	pthread_condattr_destroy(&attr);
	rc = open_all(p, e);
	if (rc != 0)
		rama_agent_post_close(p, 0);
	else
		*to = p;
	return rc;
}

int rama_agent_post_open(struct rama_agent_post **to, const struct rama_agent_post_options *o,
			 struct rama_err *e)
{
	return open_post(to, o, false, e);
}

int rama_agent_post_open_left(struct rama_agent_post **to, const struct rama_agent_post_options *o,
			      bool instead, struct rama_err *e)
{
	return open_post(to, o, !instead, e);
}

/* Who waits for the lock of the spool finds that it is gone: spool.c. */
static void remove_files(const struct rama_agent_post *p)
{
	int fd = openat(rama_agent_spool_dir(p->spool), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(d), entry->d_name, 0);
	if (d != NULL)
		closedir(d);
	rmdir(p->dir);
}

bool rama_agent_post_remove(struct rama_agent_post *p)
{
	bool all = rama_agent_post_idle(p);

	p->remove = all;
	if (all)
		rama_agent_post_close(p, 0);
	return all;
}

void rama_agent_post_close(struct rama_agent_post *p, unsigned wait_ms)
{
	if (p->started) {
		pthread_mutex_lock(&p->mutex);
		p->stop = true;
		p->stop_at = rama_now_ms() + wait_ms;
		pthread_cond_signal(&p->wake);
		pthread_mutex_unlock(&p->mutex);
		pthread_join(p->thread, NULL);
	}
	rama_agent_losses_close(p);
	if (p->remove)
		remove_files(p);
	if (p->spool != NULL)
		rama_agent_spool_close(p->spool);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->mutex);
	rama_wire_bytes_fini(&p->bytes);
	rama_map_fini(&p->job_of);
	free(p->job);
	free(p->sent);
	free(p);
}

/* ---- sending --------------------------------------------------------------------------------- */

int rama_agent_post_send(struct rama_agent_post *p, const struct rama_wire_message *m,
			 const char *job, uint64_t events, struct rama_err *e)
{
	uint64_t number;
	size_t i;
	int rc;

	p->bytes.n = 0;
	rc = rama_wire_message_encode(m, &p->bytes, e);
	if (rc != 0)
		return rc;
	/* counted first: the other thread may be done with it before we are */
	pthread_mutex_lock(&p->mutex);
	i = events > 0 ? rama_agent_post_job(p, job) : SIZE_MAX;
	if (i != SIZE_MAX)
		p->job[i].waiting += events;
	pthread_mutex_unlock(&p->mutex);
	rc = rama_agent_spool_append(p->spool, p->bytes.b, p->bytes.n, &number, e);
	pthread_mutex_lock(&p->mutex);
	if (rc != 0 && i != SIZE_MAX && (i = rama_agent_post_job(p, job)) != SIZE_MAX)
		p->job[i].waiting -= events; /* its place may be another one now */
	if (rc == 0 && p->waits)
		pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->mutex);
	return rc;
}

bool rama_agent_post_has_room(struct rama_agent_post *p, size_t n)
{
	return rama_agent_spool_has_room(p->spool, n);
}

/* ---- how it stands --------------------------------------------------------------------------- */

bool rama_agent_post_idle(struct rama_agent_post *p)
{
	struct rama_agent_spool_state st;

	rama_agent_spool_state(p->spool, &st);
	return st.messages == 0;
}

bool rama_agent_post_failing(struct rama_agent_post *p)
{
	bool failing;

	pthread_mutex_lock(&p->mutex);
	failing = p->failing;
	pthread_mutex_unlock(&p->mutex);
	return failing;
}

const char *rama_agent_post_name(const struct rama_agent_post *p)
{
	return p->agent;
}

void rama_agent_post_state(struct rama_agent_post *p, struct rama_agent_post_state *st)
{
	*st = (struct rama_agent_post_state){ .sink_name = p->sink_text };
	rama_agent_spool_state(p->spool, &st->spool);
	pthread_mutex_lock(&p->mutex);
	st->sink = p->totals;
	st->lost = p->lost;
	st->failing = p->failing;
	pthread_mutex_unlock(&p->mutex);
}
