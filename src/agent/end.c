/* SPDX-License-Identifier: BSD-3-Clause */
/* end.c: the end of an agent. A thread waits for SIGTERM and the like, so that they are heard
 * whatever the loop is at, and ends the process when it does not end by itself: a file system that
 * does not answer, or a store that somebody holds, keeps no node from going down. What has not
 * reached its place by then is in the spool, as after a kill. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/loop.h"
#include "base/now.h"

#define STATUS 4 /* of who could not bring all away */

struct rama_agent_end {
	struct rama_agent *agent;
	pthread_t thread;
	uv_async_t wake;
	pthread_mutex_t lock;
	bool armed;   /* the loop may be woken */
	bool closing; /* it ended by itself */
	unsigned most_ms;
	sigset_t before;
};

static void signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

static void on_wake(uv_async_t *wake)
{
	struct rama_agent_end *end = wake->data;

	uv_stop(&end->agent->loop);
}

static bool is_closing(struct rama_agent_end *end)
{
	bool closing;

	pthread_mutex_lock(&end->lock);
	closing = end->closing;
	pthread_mutex_unlock(&end->lock);
	return closing;
}

static void wake_loop(struct rama_agent_end *end)
{
	pthread_mutex_lock(&end->lock);
	if (end->armed)
		uv_async_send(&end->wake);
	pthread_mutex_unlock(&end->lock);
}

static void *wait_for_end(void *closure)
{
	struct rama_agent_end *end = closure;
	int64_t limit = 0, now;
	sigset_t set;
	int number;

	signals(&set);
	while (sigwait(&set, &number) != 0)
		;
	limit = rama_now_ms() + end->most_ms;
	wake_loop(end);
	while (!is_closing(end) && (now = rama_now_ms()) < limit) {
		struct timespec left = { .tv_sec = (limit - now) / 1000,
					 .tv_nsec = (limit - now) % 1000 * 1000000 };

		sigtimedwait(&set, NULL, &left); /* one more says nothing new */
	}
	if (!is_closing(end)) {
		rama_agent_say(end->agent,
			       "does not end within %u seconds of being told to: it is ended; what "
			       "it has not brought away is in the spool",
			       end->most_ms / 1000);
		_exit(STATUS);
	}
	return NULL;
}

int rama_agent_end_open(struct rama_agent *a, unsigned most_ms, struct rama_err *e)
{
	struct rama_agent_end *end = calloc(1, sizeof(*end));
	sigset_t set;

	if (end == NULL)
		return rama_err_no_memory(e);
	end->agent = a;
	end->most_ms = most_ms;
	end->wake.data = end;
	pthread_mutex_init(&end->lock, NULL);
	signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, &end->before); /* for all threads that are to come */
	if (uv_async_init(&a->loop, &end->wake, on_wake) != 0 ||
	    pthread_create(&end->thread, NULL, wait_for_end, end) != 0) {
		pthread_sigmask(SIG_SETMASK, &end->before, NULL);
		pthread_mutex_destroy(&end->lock);
		free(end);
		return rama_err_set(e, RAMA_EIO, "signals cannot be taken");
	}
	end->armed = true;
	a->end = end;
	return 0;
}

void rama_agent_end_disarm(struct rama_agent *a)
{
	if (a->end == NULL)
		return;
	pthread_mutex_lock(&a->end->lock);
	a->end->armed = false;
	pthread_mutex_unlock(&a->end->lock);
}

void rama_agent_end_close(struct rama_agent *a)
{
	struct rama_agent_end *end = a->end;

	if (end == NULL)
		return;
	pthread_mutex_lock(&end->lock);
	end->closing = true;
	pthread_mutex_unlock(&end->lock);
	pthread_kill(end->thread, SIGTERM);
	pthread_join(end->thread, NULL);
	pthread_sigmask(SIG_SETMASK, &end->before, NULL);
	pthread_mutex_destroy(&end->lock);
	free(end);
	a->end = NULL;
}
