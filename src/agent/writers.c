/* SPDX-License-Identifier: BSD-3-Clause */
/* writers.c: the process that makes writers, and how the agent asks it for one. It has one thread
 * and nothing open, so that what it forks can go on without exec. */
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/writer.h"
#include "base/grow.h"

#define MEMORY (1ull << 30) /* address space of a writer */
#define REAP_MS 1000

enum { NEW = 1, KILL, KILL_ALL };

struct request {
	uint32_t what, uid, gid, id;
};

struct reply {
	uint32_t id; /* 0: none was made */
	int32_t error;
};

struct rama_agent_writers {
	int line;
	pid_t maker;
	pthread_mutex_t lock;
	bool ended;
};

/* ---- the maker ------------------------------------------------------------------------------- */

struct writer {
	pid_t pid;
	uint32_t id;
};

struct maker {
	int line;
	struct writer *writer;
	size_t n, room;
	uint32_t last;
};

static void limit(int what, rlim_t most)
{
	struct rlimit r;

	if (getrlimit(what, &r) == 0 && (r.rlim_max == RLIM_INFINITY || r.rlim_max > most)) {
		r.rlim_cur = r.rlim_max = most;
		setrlimit(what, &r);
	}
}

/* Ends with who made it; signals to end are for the agent, which closes the line. */
static void follow(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

static bool become(uint32_t uid, uint32_t gid)
{
	uid_t r, e, s;

	return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
	       setresuid(uid, uid, uid) == 0 && getresuid(&r, &e, &s) == 0 && r == uid &&
	       e == uid && s == uid && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static void work(int line, pid_t maker, const struct request *q)
{
	if (dup2(line, 3) != 3 || syscall(SYS_close_range, 4, ~0u, 0) != 0)
		for (int fd = 4; fd < 1024; fd++)
			close(fd);
	setpriority(PRIO_PROCESS, 0, 0);
	limit(RLIMIT_AS, MEMORY);
	limit(RLIMIT_CORE, 0);
	if (chdir("/") != 0 || !become(q->uid, q->gid))
		_exit(1);
	follow(maker); /* what was asked for before is forgotten with the old rights */
	prctl(PR_SET_NAME, "iorama-writer");
	umask(077);
	rama_agent_writer_work(3);
	_exit(0);
}

/* one descriptor with the reply, -1: none */
static void answer(int line, const struct reply *r, int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec v = { .iov_base = (void *)(uintptr_t)r, .iov_len = sizeof(*r) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *c = &control.align;

		m.msg_control = control.room;
		m.msg_controllen = sizeof(control.room);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	sendmsg(line, &m, MSG_NOSIGNAL);
}

static void make(struct maker *k, const struct request *q)
{
	struct reply r = { 0 };
	pid_t maker = getpid(), pid = -1;
	int pair[2] = { -1, -1 };

	if (!RAMA_GROW(k->writer, k->room, k->n + 1))
		errno = ENOMEM;
	else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0)
		pid = fork();
	if (pid == 0)
		work(pair[1], maker, q);
	r.error = pid < 0 ? errno : 0;
	if (pid > 0) {
		r.id = ++k->last;
		k->writer[k->n++] = (struct writer){ pid, r.id };
	}
	answer(k->line, &r, pid > 0 ? pair[0] : -1);
	if (pair[0] >= 0)
		close(pair[0]);
	if (pair[1] >= 0)
		close(pair[1]);
}

static void kill_some(struct maker *k, const struct request *q)
{
	for (size_t i = 0; i < k->n; i++)
		if (q->what == KILL_ALL || k->writer[i].id == q->id)
			kill(k->writer[i].pid, SIGKILL);
}

static void reap(struct maker *k)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < k->n; i++)
			if (k->writer[i].pid == pid)
				k->writer[i--] = k->writer[--k->n];
}

static void make_writers(int line)
{
	struct pollfd p = { .fd = line, .events = POLLIN };
	struct maker k = { .line = line };
	struct request q;

	for (;;) {
		ssize_t n = 0;

		if (poll(&p, 1, REAP_MS) > 0)
			n = recv(line, &q, sizeof(q), MSG_DONTWAIT);
		reap(&k);
		if (n == 0 && (p.revents & (POLLHUP | POLLIN)) != 0)
			break; /* the agent is gone */
		p.revents = 0;
		if (n != (ssize_t)sizeof(q))
			continue;
		if (q.what == NEW)
			make(&k, &q);
		else
			kill_some(&k, &q);
	}
	q.what = KILL_ALL;
	kill_some(&k, &q);
}

/* ---- the agent ------------------------------------------------------------------------------- */

int rama_agent_writers_open(struct rama_agent_writers **to, struct rama_err *e)
{
	struct rama_agent_writers *w = calloc(1, sizeof(*w));
	pid_t agent = getpid();
	int pair[2];

	if (w == NULL)
		return rama_err_no_memory(e);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		free(w);
		return rama_err_set(e, RAMA_EIO, "no line to writers: %s", strerror(errno));
	}
	w->maker = fork();
	if (w->maker == 0) {
		follow(agent);
		prctl(PR_SET_NAME, "iorama-writers");
		close(pair[0]);
		make_writers(pair[1]);
		_exit(0);
	}
	close(pair[1]);
	w->line = pair[0];
	if (w->maker < 0) {
		close(pair[0]);
		free(w);
		return rama_err_set(e, RAMA_EIO, "no process for writers: %s", strerror(errno));
	}
	pthread_mutex_init(&w->lock, NULL);
	*to = w;
	return 0;
}

static int take_reply(int line, struct reply *r)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec v = { .iov_base = r, .iov_len = sizeof(*r) };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = control.room,
			    .msg_controllen = sizeof(control.room) };
	struct cmsghdr *c;
	ssize_t n;
	int fd = -1;

	while ((n = recvmsg(line, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		continue;
	c = n == (ssize_t)sizeof(*r) ? CMSG_FIRSTHDR(&m) : NULL;
	if (n != (ssize_t)sizeof(*r))
		*r = (struct reply){ .error = EPIPE };
	if (c != NULL && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

int rama_agent_writers_new(struct rama_agent_writers *w, uint32_t uid, uint32_t gid, uint32_t *id,
			   struct rama_err *e)
{
	struct request q = { .what = NEW, .uid = uid, .gid = gid };
	struct reply r = { .error = EPIPE };
	int fd = -1;

	pthread_mutex_lock(&w->lock);
	if (!w->ended && send(w->line, &q, sizeof(q), MSG_NOSIGNAL) == (ssize_t)sizeof(q))
		fd = take_reply(w->line, &r);
	pthread_mutex_unlock(&w->lock);
	*id = r.id;
	if (fd < 0)
		return rama_err_set(e, RAMA_EIO, "no writer for user %u: %s", (unsigned)uid,
				    strerror(r.error));
	return fd;
}

static void order(struct rama_agent_writers *w, const struct request *q)
{
	pthread_mutex_lock(&w->lock);
	w->ended = w->ended || q->what == KILL_ALL;
	send(w->line, q, sizeof(*q), MSG_NOSIGNAL);
	pthread_mutex_unlock(&w->lock);
}

void rama_agent_writers_kill(struct rama_agent_writers *w, uint32_t id)
{
	struct request q = { .what = KILL, .id = id };

	order(w, &q);
}

void rama_agent_writers_end(struct rama_agent_writers *w)
{
	struct request q = { .what = KILL_ALL };

	if (w != NULL)
		order(w, &q);
}

void rama_agent_writers_close(struct rama_agent_writers *w)
{
	if (w == NULL)
		return;
	close(w->line);
	while (waitpid(w->maker, NULL, 0) < 0 && errno == EINTR)
		continue;
	pthread_mutex_destroy(&w->lock);
	free(w);
}
