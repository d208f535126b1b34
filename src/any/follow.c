/* SPDX-License-Identifier: BSD-3-Clause */
/* follow.c: ptrace without a filter. A filter of system calls (seccomp) would stop a process at
 * its I/O only, but costs more than it saves: without rights it needs PR_SET_NO_NEW_PRIVS, so
 * that sudo and its like below the command lose theirs; it can never be taken away again, so that
 * nobody could be let go; and when we are killed, all calls that it names fail. As it is,
 * whoever is followed goes on by itself when we are gone, as if nothing had been. */
#include "any/follow.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/code/preload.h"
#include "base/code/program.h"

#define OPTIONS                                                                                   \
	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
	 PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT)
#define X32 0x40000000u /* calls by the third table of x86, which nobody uses */

struct follower {
	struct rama_any_world *world;
	struct rama_any_asked *asked;
	struct rama_any_thread **thread; /* by number */
	pid_t most;
};

/* ---- who is followed ------------------------------------------------------------------------- */

static struct rama_any_thread *thread_of(const struct follower *f, pid_t tid)
{
	return tid > 0 && tid <= f->most ? f->thread[tid] : NULL;
}

/* the process that a thread is of, as the kernel numbers it; 0: it is gone */
static pid_t group_of(pid_t tid)
{
	char path[40], text[512];
	const char *at;
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "\nTgid:");
	return at != NULL ? (pid_t)strtol(at + 6, NULL, 10) : 0;
}

static struct rama_any_thread *add_thread(struct follower *f, pid_t tid, struct rama_any_proc *p)
{
	struct rama_any_thread *t = tid > 0 && tid <= f->most ? calloc(1, sizeof(*t)) : NULL;

	if (t == NULL)
		return NULL;
	t->tid = tid;
	t->proc = p;
	f->thread[tid] = t;
	if (p == NULL)
		return t;
	p->threads++;
	if (p->seen) {
		p->seg.state->threads_now = p->threads;
		if (p->threads > p->seg.state->threads_most)
			p->seg.state->threads_most = p->threads;
	}
	return t;
}

/* it is no longer one of its process; of the last one that process has ended */
static void leave_process(struct rama_any_thread *t, enum rama_any_end how)
{
	struct rama_any_proc *p = t->proc;

	t->proc = NULL;
	t->call = NULL;
	if (p == NULL)
		return;
	p->threads--;
	if (p->seen)
		p->seg.state->threads_now = p->threads;
	if (p->threads > 0)
		return;
	rama_any_proc_end(p, how);
	rama_any_proc_fini(p);
}

static void drop_thread(struct follower *f, pid_t tid, enum rama_any_end how)
{
	struct rama_any_thread *t = thread_of(f, tid);

	if (t == NULL)
		return;
	leave_process(t, how);
	free(t);
	f->thread[tid] = NULL;
}

static void let_go(struct follower *f, pid_t tid, int sig)
{
	ptrace(PTRACE_DETACH, tid, 0, sig);
	drop_thread(f, tid, RAMA_ANY_KILLED);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Does it have our library in LD_PRELOAD? */
static bool is_preloaded(const struct rama_any_world *w, pid_t pid)
{
	static const char key[] = "LD_PRELOAD=";
	char path[40], *line = NULL;
	bool has = false;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	file = fopen(path, "re");
	while (file != NULL && !has && getdelim(&line, &room, '\0', file) > 0)
		has = strncmp(line, key, sizeof(key) - 1) == 0 &&
		      rama_preload_has(line + sizeof(key) - 1, w->library);
	if (file != NULL)
		fclose(file);
	free(line);
	return has;
}

/* the program that a process has just become: does it look after itself? */
static bool is_observed(const struct rama_any_world *w, pid_t pid)
{
	struct rama_program kind = { 0 };
	char path[40];

	if (w->mode == RAMA_ANY_ALL)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	rama_program_look(&kind, AT_FDCWD, path);
	return kind.why == RAMA_UNSEEN_NOT && is_preloaded(w, pid);
}

/* It goes on as another program, in this one thread. false: that one was let go */
static bool began(struct follower *f, pid_t pid)
{
	struct rama_any_thread *t = thread_of(f, pid);
	struct rama_any_proc *p = NULL;
	unsigned long former = 0;

	/* the thread that did it has the number of the first one now */
	ptrace(PTRACE_GETEVENTMSG, pid, 0, &former);
	if (former != 0 && (pid_t)former != pid && thread_of(f, (pid_t)former) != NULL) {
		drop_thread(f, pid, RAMA_ANY_REPLACED);
		t = f->thread[former];
		f->thread[former] = NULL;
		t->tid = pid;
		f->thread[pid] = t;
	}
	if (t != NULL)
		leave_process(t, RAMA_ANY_REPLACED);
	else
		t = add_thread(f, pid, NULL);
	if (t != NULL && !is_observed(f->world, pid))
		p = calloc(1, sizeof(*p));
	if (p == NULL) {
		let_go(f, pid, 0);
		return false;
	}
	p->world = f->world;
	p->pid = pid;
	p->threads = 1;
	t->proc = p;
	t->armed = false;
	t->chunk = 0;
	if (rama_any_proc_begin(p, pid))
		return true;
	let_go(f, pid, 0);
	return false;
}

/* A forked child has a segment from its first call on: most become another program at once. */
static bool is_seen(struct rama_any_proc *p)
{
	if (p == NULL)
		return false;
	if (!p->seen && !p->refused)
		p->refused = !rama_any_proc_begin(p, p->pid);
	return p->seen;
}

/* A child that has made no call yet has nothing where it could be told: its parent has. */
static void tell_unseen(struct follower *f, struct rama_any_thread *t, const char *path)
{
	struct rama_any_thread *parent;
	bool self = t->proc->seen;

	if (!self) {
		parent = thread_of(f, rama_any_proc_parent(t->tid));
		if (parent != NULL && parent->proc != NULL && parent->proc->seen)
			t = parent;
		else
			is_seen(t->proc);
	}
	rama_any_proc_unseen(t->proc, RAMA_UNSEEN_RIGHTS, path, self);
}

/* A program with rights of its own gets them only if nobody follows. false: it was let go */
static bool may_become(struct follower *f, struct rama_any_thread *t)
{
	static char full[2 * PATH_MAX];
	struct rama_program kind = { 0 };
	const char *path = t->path[0];

	if (path[0] == '/')
		snprintf(full, sizeof(full), "%s", path);
	else if (t->call->dirfd > 0 && (int)t->arg[0] != AT_FDCWD)
		snprintf(full, sizeof(full), "/proc/%d/fd/%d%s%s", (int)t->tid, (int)t->arg[0],
			 path[0] != '\0' ? "/" : "", path);
	else
		snprintf(full, sizeof(full), "/proc/%d/cwd/%s", (int)t->tid, path);
	rama_program_look(&kind, AT_FDCWD, full);
	if (!kind.rights)
		return true;
	tell_unseen(f, t, path);
	leave_process(t, RAMA_ANY_REPLACED);
	let_go(f, t->tid, 0);
	return false;
}

/* ---- stops ----------------------------------------------------------------------------------- */

/* A new process or thread, at its first stop. */
static struct rama_any_thread *meet(struct follower *f, pid_t tid)
{
	struct rama_any_thread *t = thread_of(f, tid), *first;
	struct rama_any_proc *p = NULL;
	pid_t pid;

	if (t != NULL)
		return t;
	pid = group_of(tid);
	first = pid != tid ? thread_of(f, pid) : NULL;
	if (first != NULL && first->proc != NULL)
		return add_thread(f, tid, first->proc);
	t = add_thread(f, tid, NULL);
	if (t == NULL)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (p == NULL) {
		let_go(f, tid, 0);
		return NULL;
	}
	*p = (struct rama_any_proc){ .world = f->world, .pid = pid, .threads = 1, .forked = true };
	t->proc = p;
	return t;
}

static void entered(struct rama_any_thread *t, const struct __ptrace_syscall_info *info)
{
	uint64_t number = info->entry.nr;

	t->bits32 = info->arch == AUDIT_ARCH_I386;
	t->call = NULL;
#ifdef __x86_64__
	if (!t->bits32 && number & X32) {
		if (is_seen(t->proc))
			t->proc->seg.lane->missed++;
		return;
	}
#endif
	t->call = rama_any_call(number, t->bits32);
	if (t->call == NULL)
		return;
	if (t->proc == NULL || (t->call->shape != RAMA_ANY_EXEC && !is_seen(t->proc))) {
		t->call = NULL;
		return;
	}
	for (unsigned i = 0; i < 6; i++)
		t->arg[i] = info->entry.args[i];
	rama_any_call_begin(t);
}

/* false: it was let go */
static bool at_call(struct follower *f, struct rama_any_thread *t, uint64_t now)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->tid, sizeof(info), &info) <= 0)
		return true; /* it was killed in between */
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		entered(t, &info);
		if (t->call != NULL && t->call->shape == RAMA_ANY_EXEC) {
			bool stays = !t->has_path || may_become(f, t);

			if (stays)
				t->call = NULL;
			return stays;
		}
	} else if (info.op == PTRACE_SYSCALL_INFO_EXIT && t->call != NULL && t->proc != NULL) {
		rama_any_call_end(t, info.exit.rval, info.exit.is_error != 0, now);
		t->call = NULL;
	}
	return true;
}

/* a thread is about to end: what it was is still there to be asked */
static void ending(struct rama_any_thread *t)
{
	unsigned long status = 0;

	ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &status);
	leave_process(t, WIFSIGNALED((int)status) ? RAMA_ANY_KILLED : RAMA_ANY_ENDED);
}

static void go_on(const struct rama_any_thread *t, int sig)
{
	ptrace(t->armed ? PTRACE_CONT : PTRACE_SYSCALL, t->tid, 0, sig);
}

static void event(struct follower *f, struct rama_any_thread *t, int what, int sig)
{
	switch (what) {
	case PTRACE_EVENT_EXEC:
		if (!began(f, t->tid))
			return;
		break;
	case PTRACE_EVENT_EXIT:
		ending(t);
		break;
	case PTRACE_EVENT_STOP:
		/* stopped as all processes are: it stays so until it is told to go on */
		if (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU) {
			ptrace(PTRACE_LISTEN, t->tid, 0, 0);
			return;
		}
		break;
	}
	go_on(t, 0);
}

static void stopped(struct follower *f, pid_t tid, int status)
{
	uint64_t now = rama_any_now();
	int sig = WSTOPSIG(status), what = status >> 16;
	struct rama_any_thread *t = thread_of(f, tid);

	/* by exec a thread gets the number of the first one, which may not be followed */
	if (t == NULL && what == PTRACE_EVENT_EXEC) {
		if (began(f, tid))
			go_on(f->thread[tid], 0);
		return;
	}
	if (t == NULL)
		t = meet(f, tid);
	if (t == NULL)
		return;
	if (sig == (SIGTRAP | 0x80)) {
		if (at_call(f, t, now))
			go_on(t, 0);
	} else if (what != 0) {
		event(f, t, what, sig);
	} else {
		go_on(t, sig); /* a signal that it is to get */
	}
}

/* ---- those who ask --------------------------------------------------------------------------- */

/* Nothing changes for the thread until it becomes another program. */
static bool take(struct follower *f, pid_t tid)
{
	struct rama_any_thread *t;

	if (thread_of(f, tid) != NULL)
		return true; /* it is */
	if (ptrace(PTRACE_SEIZE, tid, 0, OPTIONS) != 0)
		return false;
	t = add_thread(f, tid, NULL);
	if (t == NULL)
		return false;
	t->armed = true;
	return true;
}

/* it did not become another program, after all */
static bool give_back(struct follower *f, pid_t tid)
{
	struct rama_any_thread *t = thread_of(f, tid);
	pid_t got;
	int status;

	if (t == NULL || !t->armed)
		return false;
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	do /* who asks may be heard of a second time */
		got = waitpid(tid, &status, __WALL);
	while (got < 0 && errno == EINTR);
	if (got == tid && WIFSTOPPED(status))
		let_go(f, tid, status >> 16 == 0 ? WSTOPSIG(status) : 0);
	else
		drop_thread(f, tid, RAMA_ANY_KILLED);
	return true;
}

/* true: somebody had asked */
static bool answer(struct follower *f)
{
	struct rama_any_request r;
	bool yes = true;

	if (!rama_any_asked_take(f->asked, &r))
		return false;
	if (r.what == RAMA_FOLLOW_ME)
		yes = take(f, r.tid);
	else if (r.what == RAMA_FOLLOW_NOT)
		yes = give_back(f, r.tid);
	rama_any_asked_answer(f->asked, &r, yes);
	return true;
}

void rama_any_follow(struct rama_any_world *w, struct rama_any_asked *a)
{
	struct follower f = { .world = w, .asked = a, .most = 1 << 22 };
	int status;

	f.thread = calloc((size_t)f.most + 1, sizeof(*f.thread));
	while (f.thread != NULL) {
		pid_t tid = waitpid(-1, &status, __WALL);
		bool nobody = tid < 0 && errno == ECHILD;

		if (tid > 0 && WIFSTOPPED(status))
			stopped(&f, tid, status);
		else if (tid > 0)
			drop_thread(&f, tid, WIFEXITED(status) ? RAMA_ANY_ENDED : RAMA_ANY_KILLED);
		if (!answer(&f) && nobody) {
			if (atomic_load(&a->over))
				break;
			rama_any_asked_wait(a);
		}
	}
	free(f.thread);
}
