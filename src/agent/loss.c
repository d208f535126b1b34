/* SPDX-License-Identifier: BSD-3-Clause */
/* loss.c: what had to be dropped, counted so that it is told once, whatever happens to the
 * agent in between. The counts lie in a file that is mapped: two copies of all, of which the one
 * with the greater turn holds; a change is made in the other one, and its turn is set last. A
 * process that is killed leaves the one or the other. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/loss.h"
#include "base/now.h"

#define JOBS 128 /* more go into one row without a name */
#define WHY 64
#define SAY_EVERY 60000 /* ms from one line about losses to the next */

struct loss {
	char job[RAMA_WIRE_JOB];
	char why[WHY];
	uint64_t events;       /* not told yet */
	uint64_t told, number; /* a report that is on its way to the spool, 0: none */
};

struct copy {
	uint64_t turn;
	uint64_t number; /* of the last report */
	/* counted, but perhaps not given back; until 0: nothing */
	struct rama_agent_loss_place place;
	uint32_t n;
	struct loss loss[JOBS];
};

struct rama_agent_losses {
	struct copy copy[2];
};

static struct copy *current(struct rama_agent_losses *l)
{
	return &l->copy[l->copy[1].turn > l->copy[0].turn];
}

/* a copy to change */
static struct copy *change(struct rama_agent_losses *l)
{
	struct copy *now = current(l), *next = now == &l->copy[0] ? &l->copy[1] : &l->copy[0];
	uint64_t turn = next->turn;

	memcpy(next, now, sizeof(*next));
	next->turn = turn; /* not yet */
	return next;
}

static void take_over(struct rama_agent_losses *l, struct copy *c)
{
	uint64_t turn = current(l)->turn + 1;

	__atomic_store_n(&c->turn, turn, __ATOMIC_SEQ_CST);
}

int rama_agent_losses_open(struct rama_agent_post *p, struct rama_err *e)
{
	int fd = openat(rama_agent_spool_dir(p->spool), "losses",
			O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct copy *c;
	void *map;

	/* its space is taken now: later the disk may be full */
	errno = 0;
	if (fd < 0 || ftruncate(fd, sizeof(struct rama_agent_losses)) != 0 ||
	    (errno = posix_fallocate(fd, 0, sizeof(struct rama_agent_losses))) != 0) {
		int rc = rama_err_set(e, RAMA_EIO, "%s/losses: %s", p->dir, strerror(errno));

		if (fd >= 0)
			close(fd);
		return rc;
	}
	map = mmap(NULL, sizeof(struct rama_agent_losses), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	close(fd);
	if (map == MAP_FAILED)
		return rama_err_set(e, RAMA_EIO, "%s/losses: %s", p->dir, strerror(errno));
	p->losses = map;
	c = current(p->losses);
	if (c->n > JOBS) /* damaged */
		memset(map, 0, sizeof(struct rama_agent_losses));
	for (uint32_t i = 0; i < c->n; i++)
		c->loss[i].job[RAMA_WIRE_JOB - 1] = c->loss[i].why[WHY - 1] = '\0';
	return 0;
}

void rama_agent_losses_close(struct rama_agent_post *p)
{
	if (p->losses != NULL)
		munmap(p->losses, sizeof(*p->losses));
	p->losses = NULL;
}

/* the row of a job; the last one is for all that find no room */
static struct loss *row(struct copy *c, const char *job, const char *why)
{
	struct loss *l;

	for (uint32_t i = 0; i < c->n; i++)
		if (strcmp(c->loss[i].job, job) == 0 && strncmp(c->loss[i].why, why, WHY - 1) == 0)
			return &c->loss[i];
	if (c->n == JOBS)
		return &c->loss[JOBS - 1];
	l = &c->loss[c->n++];
	*l = (struct loss){ 0 };
	snprintf(l->job, sizeof(l->job), "%s", c->n == JOBS ? "" : job);
	snprintf(l->why, sizeof(l->why), "%s", why);
	return l;
}

int rama_agent_post_lose(struct rama_agent_post *p, const char *job, const char *why,
			 const struct rama_agent_loss_place *at, struct rama_err *e)
{
	struct copy *c = change(p->losses);
	size_t i;

	if (at->until <= at->from)
		return rama_err_set(e, RAMA_EUSAGE, "nothing to lose");
	row(c, job, why)->events += at->until - at->from;
	c->place = *at;
	take_over(p->losses, c);
	pthread_mutex_lock(&p->mutex);
	p->lost += at->until - at->from;
	snprintf(p->lost_why, sizeof(p->lost_why), "%s", why);
	snprintf(p->lost_of, sizeof(p->lost_of), "%s", job);
	i = rama_agent_post_job(p, job);
	if (i != SIZE_MAX)
		p->job[i].lost += at->until - at->from;
	pthread_mutex_unlock(&p->mutex);
	return 0;
}

void rama_agent_post_lose_done(struct rama_agent_post *p)
{
	struct copy *c = change(p->losses);

	c->place = (struct rama_agent_loss_place){ 0 };
	take_over(p->losses, c);
}

bool rama_agent_post_lost_before(struct rama_agent_post *p,
				 const struct rama_wire_segment_key *segment, uint32_t *lane,
				 uint64_t *until)
{
	const struct rama_agent_loss_place *at = &current(p->losses)->place;

	if (at->until == 0 || memcmp(&at->segment, segment, sizeof(*segment)) != 0)
		return false;
	*lane = at->lane;
	*until = at->until;
	return true;
}

/* A report keeps its number and its count until it is in the spool: one that gets there twice is
 * known by them. */
static bool tell_one(struct rama_agent_post *p, uint32_t i)
{
	struct copy *c = current(p->losses);
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_LOSS };
	struct rama_err e = { 0 };

	if (c->loss[i].number == 0) {
		if (c->loss[i].events == 0)
			return true;
		c = change(p->losses);
		c->loss[i].number = ++c->number;
		c->loss[i].told = c->loss[i].events;
		c->loss[i].events = 0;
		take_over(p->losses, c);
	}
	m.loss = (struct rama_wire_msg_loss){ .agent = p->agent,
					      .number = c->loss[i].number,
					      .job = c->loss[i].job,
					      .why = c->loss[i].why,
					      .events = c->loss[i].told };
	if (rama_agent_post_send(p, &m, "", 0, &e) != 0)
		return false;
	c = change(p->losses);
	c->loss[i].number = c->loss[i].told = 0;
	take_over(p->losses, c);
	return true;
}

/* For the agent's own journal, too: how many since it was said last. */
static void say_losses(struct rama_agent_post *p)
{
	uint64_t more;
	char line[RAMA_WIRE_JOB + 200];

	pthread_mutex_lock(&p->mutex);
	more = p->lost - p->lost_said;
	if (more > 0 && (p->said_at == 0 || rama_now_ms() - p->said_at >= SAY_EVERY)) {
		p->lost_said = p->lost;
		p->said_at = rama_now_ms();
	} else {
		more = 0;
	}
	snprintf(line, sizeof(line), "%llu events are lost: %s (the last ones of %s)",
		 (unsigned long long)more, p->lost_why, p->lost_of);
	pthread_mutex_unlock(&p->mutex);
	if (more > 0)
		p->o.tell(p->o.ctx, line);
}

void rama_agent_post_tell_losses(struct rama_agent_post *p)
{
	bool open = false;

	say_losses(p);

	for (uint32_t i = 0; i < current(p->losses)->n; i++)
		if (!tell_one(p, i))
			return; /* no room yet */
	for (uint32_t i = 0; i < current(p->losses)->n; i++)
		open = open || current(p->losses)->loss[i].events > 0;
	if (current(p->losses)->n > 0 && !open) {
		struct copy *c = change(p->losses);

		c->n = 0;
		take_over(p->losses, c);
	}
}
