/* SPDX-License-Identifier: BSD-3-Clause */
/* send.c: the thread that takes messages from the spool to the sink. What the sink cannot
 * take now is tried again, later and later, for ever: the spool holds it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/now.h"
#include "agent/post_parts.h"
#include "wire/message_head.h"

#define PARCELS 512
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
	if (again < p->next)
		p->next = again;
}

/* ---- rights ---------------------------------------------------------------------------------- */

/* Files are made and followed as the user would: what he plants where his store is harms nobody
 * else. Of this thread alone. */
static void become(const struct rama_agent_post *p)
{
	if (p->o.uid == UINT32_MAX)
		return;
	syscall(SYS_setgroups, 0, NULL);
	setfsgid(p->o.gid);
	setfsuid(p->o.uid);
}

/* The spool stays ours. */
static void step_back(const struct rama_agent_post *p)
{
	if (p->o.uid != UINT32_MAX)
		setfsuid(geteuid());
}

static void step_in(const struct rama_agent_post *p)
{
	if (p->o.uid != UINT32_MAX)
		setfsuid(p->o.uid);
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
	step_in(p);
	rc = p->ops->open(&p->sink, &o, e);
	step_back(p);
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
	step_in(p);
	taken = p->ops->put(p->sink, parcel, (size_t)n, e);
	step_back(p);
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

	step_in(p);
	rc = p->ops->sync(p->sink, wait_ms, &committed, &again, e);
	step_back(p);
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

void *rama_agent_post_thread(void *post)
{
	struct rama_agent_post *p = post;
	struct rama_bus_parcel *parcel = calloc(PARCELS, sizeof(*parcel));
	unsigned pause = PAUSE_LEAST;
	bool said = false, more = true;

	become(p);
	step_back(p);
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
		step_in(p);
		p->ops->close(p->sink);
		step_back(p);
	}
	free(parcel);
	return NULL;
}
