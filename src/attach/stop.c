/* SPDX-License-Identifier: BSD-3-Clause */
#include "attach/stop.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#if defined(__x86_64__)
#include <sys/user.h>
#endif

#include "attach/borrow.h"
#include "base/grow.h"
#include "base/now.h"

#define LIMIT 2000 /* ms for one thread: it may be in the kernel where nothing interrupts it */

static bool has(const struct rama_attach_stopped *s, pid_t tid)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->thread[i].tid == tid)
			return true;
	return false;
}

/* 1: it stands, 0: it is gone, negative: neither */
static int stop_one(struct rama_attach_stopped *s, pid_t tid, struct rama_err *e)
{
	int status = 0;

	if (!RAMA_GROW(s->thread, s->room, s->n + 1))
		return rama_err_no_memory(e);
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
		return errno == ESRCH ? 0
				      : rama_err_set(e, RAMA_EUSAGE,
						     "process %d: the system does not allow its "
						     "threads to be stopped (%s)",
						     (int)s->pid, strerror(errno));
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 ||
	    !rama_attach_borrow_stopped(tid, &status, LIMIT)) {
		if (errno == ESRCH || (status != 0 && !WIFSTOPPED(status)))
			return 0;
		ptrace(PTRACE_DETACH, tid, NULL, NULL);
		return rama_err_set(e, RAMA_EBUSY, "process %d: its thread %d did not stop in time",
				    (int)s->pid, (int)tid);
	}
	s->thread[s->n].tid = tid;
	s->thread[s->n++].signal = status >> 16 == 0 ? WSTOPSIG(status) : 0;
	return 1;
}

/* How many more stand now; who does not stand may have made others meanwhile. */
static int stop_more(struct rama_attach_stopped *s, struct rama_err *e)
{
	struct dirent *entry;
	int rc = 0, more = 0;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)s->pid);
	d = opendir(path);
	if (d == NULL)
		return rama_err_set(e, RAMA_EUSAGE, "process %d is gone", (int)s->pid);
	while (rc >= 0 && (entry = readdir(d)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || has(s, tid))
			continue;
		rc = stop_one(s, tid, e);
		more += rc > 0;
	}
	closedir(d);
	return rc < 0 ? rc : more;
}

int rama_attach_stop(struct rama_attach_stopped *s, pid_t pid, struct rama_err *e)
{
	sigset_t all;
	int rc;

	*s = (struct rama_attach_stopped){ .pid = pid, .began = rama_now_ns() };
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &s->ours);
	do
		rc = stop_more(s, e);
	while (rc > 0);
	if (rc == 0 && s->n == 0)
		rc = rama_err_set(e, RAMA_EUSAGE, "process %d is gone", (int)pid);
	if (rc < 0)
		rama_attach_stop_end(s);
	return rc;
}

void rama_attach_stop_move(struct rama_attach_stopped *s, uint64_t at, uint64_t to,
			   const struct rama_attach_moved *m)
{
#if defined(__x86_64__)
	for (size_t i = 0; i < s->n; i++) {
		struct user_regs_struct r;

		if (ptrace(PTRACE_GETREGS, s->thread[i].tid, NULL, &r) != 0)
			continue;
		for (unsigned k = 1; k < m->steps; k++)
			if (r.rip == at + m->step[k].from) {
				r.rip = to + m->step[k].to;
				ptrace(PTRACE_SETREGS, s->thread[i].tid, NULL, &r);
				break;
			}
	}
#else
	(void)s, (void)at, (void)to, (void)m;
#endif
}

double rama_attach_stop_end(struct rama_attach_stopped *s)
{
	double stood;

	for (size_t i = 0; i < s->n; i++)
		ptrace(PTRACE_DETACH, s->thread[i].tid, NULL,
		       (void *)(uintptr_t)s->thread[i].signal);
	stood = (double)(rama_now_ns() - s->began) * 1e-9;
	free(s->thread);
	s->thread = NULL;
	s->n = 0;
	sigprocmask(SIG_SETMASK, &s->ours, NULL);
	return stood;
}
