/* SPDX-License-Identifier: BSD-3-Clause */
#include "any/asked.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define AGAIN_NS 2000000 /* the signal may come just before a wait: then another one */
#define MESSAGE_MS 2000	 /* that may go by until one who has come says what he wants */

int rama_any_asked_listen(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t n = strnlen(name, sizeof(at.sun_path) - 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(at.sun_path + 1, name, n);
	if (fd >= 0 && (bind(fd, (struct sockaddr *)&at,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) != 0 ||
			listen(fd, 64) != 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The thread that was named has to be of the process that asks. */
static bool is_of(pid_t pid, pid_t tid)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)tid);
	return access(path, F_OK) == 0;
}

static bool read_request(int fd, struct rama_any_request *r)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	struct rama_follow_ask ask;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0 ||
	    (peer.uid != geteuid() && geteuid() != 0) || poll(&ready, 1, MESSAGE_MS) <= 0 ||
	    read(fd, &ask, sizeof(ask)) != (ssize_t)sizeof(ask))
		return false;
	*r = (struct rama_any_request){ .fd = fd,
					.what = ask.what,
					.pid = peer.pid,
					.tid = ask.tid != 0 ? (pid_t)ask.tid : peer.pid };
	return is_of(r->pid, r->tid);
}

/* hands it over, and waits until it was answered */
static void hand_over(struct rama_any_asked *a, const struct rama_any_request *r)
{
	struct timespec until;

	pthread_mutex_lock(&a->lock);
	a->request = *r;
	a->waits = true;
	while (a->waits) {
		pthread_cond_broadcast(&a->change);
		pthread_kill(a->follower, SIGUSR1);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += AGAIN_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&a->change, &a->lock, &until);
	}
	pthread_mutex_unlock(&a->lock);
}

static void *listener(void *ctx)
{
	struct rama_any_asked *a = ctx;

	for (;;) {
		struct pollfd fds[2] = { { .fd = a->listen, .events = POLLIN },
					 { .fd = a->life, .events = POLLIN } };
		struct rama_any_request r;
		int fd;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents == 0 && fds[1].revents != 0)
			break;
		fd = fds[0].revents != 0 ? accept4(a->listen, NULL, NULL, SOCK_CLOEXEC) : -1;
		if (fd < 0)
			continue;
		if (read_request(fd, &r))
			hand_over(a, &r);
		close(fd);
	}
	pthread_mutex_lock(&a->lock);
	a->over = true;
	pthread_cond_broadcast(&a->change);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

static void woken(int sig)
{
	(void)sig;
}

int rama_any_asked_start(struct rama_any_asked *a, int listen, int life)
{
	struct sigaction wake = { .sa_handler = woken }; /* waits end */
	pthread_condattr_t mono;
	sigset_t set;
	pthread_t thread;

	*a = (struct rama_any_asked){ .listen = listen, .life = life, .follower = pthread_self() };
	pthread_mutex_init(&a->lock, NULL);
	pthread_condattr_init(&mono);
	pthread_condattr_setclock(&mono, CLOCK_MONOTONIC);
	pthread_cond_init(&a->change, &mono);
	sigaction(SIGUSR1, &wake, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	return pthread_create(&thread, NULL, listener, a) == 0 ? 0 : -1;
}

bool rama_any_asked_take(struct rama_any_asked *a, struct rama_any_request *r)
{
	if (!atomic_load_explicit(&a->waits, memory_order_acquire))
		return false;
	pthread_mutex_lock(&a->lock);
	*r = a->request;
	pthread_mutex_unlock(&a->lock);
	return true;
}

void rama_any_asked_answer(struct rama_any_asked *a, const struct rama_any_request *r, bool yes)
{
	const char answer = yes ? RAMA_FOLLOW_YES : 'x';

	/* who asked may be gone */
	(void)!send(r->fd, &answer, 1, MSG_NOSIGNAL);
	pthread_mutex_lock(&a->lock);
	a->waits = false;
	pthread_cond_broadcast(&a->change);
	pthread_mutex_unlock(&a->lock);
}

void rama_any_asked_wait(struct rama_any_asked *a)
{
	pthread_mutex_lock(&a->lock);
	while (!a->waits && !a->over)
		pthread_cond_wait(&a->change, &a->lock);
	pthread_mutex_unlock(&a->lock);
}
