/* SPDX-License-Identifier: BSD-3-Clause */
/* borrow.c: with ptrace. The thread is stopped where it waits in the kernel, its registers are put
 * aside, and it is sent into a function whose return address is nowhere: the fault at 0 tells us
 * that it is back. Then it gets its registers again, and the kernel begins the system call anew as
 * after any stop. */
#include "attach/borrow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"

#define RED_ZONE 256	 /* bytes below the stack that belong to the function at work */
#define CALL_LIMIT 60000 /* ms; a call waits for locks that other threads hold */
#define ROOM (1u << 16)	 /* bytes of stack for what is put there */

/* Calls in which a thread holds no lock of the C library: one inside of malloc or of the loader
 * is never in these. futex is: who waits for a lock has not got it; but where there is another
 * thread that one is taken. */
static const struct {
	int number, rank;
} harmless[] = {
#define WAIT(name, rank) { SYS_##name, rank },
#ifdef SYS_poll
	WAIT(poll, 0) WAIT(select, 0) WAIT(epoll_wait, 0) WAIT(pause, 0)
#endif
		WAIT(ppoll, 0) WAIT(pselect6, 0) WAIT(epoll_pwait, 0) WAIT(nanosleep, 0)
			WAIT(clock_nanosleep, 0) WAIT(rt_sigtimedwait, 0) WAIT(rt_sigsuspend, 0)
				WAIT(wait4, 0) WAIT(waitid, 0) WAIT(accept, 0) WAIT(accept4, 0)
					WAIT(recvfrom, 0) WAIT(recvmsg, 0) WAIT(restart_syscall, 0)
						WAIT(futex, 1)
#undef WAIT
};

#if defined(__x86_64__)
#include <sys/user.h>

struct saved {
	struct user_regs_struct regs;
	unsigned char wide[16384]; /* vector registers and the like */
	size_t n_wide;
};

bool rama_attach_borrow_can(void)
{
	return true;
}

static int save(struct rama_attach_borrow *b)
{
	struct saved *s = b->saved;
	struct iovec v = { s->wide, sizeof(s->wide) };

	if (ptrace(PTRACE_GETREGS, b->tid, NULL, &s->regs) != 0 ||
	    ptrace(PTRACE_GETREGSET, b->tid, (void *)0x202 /* NT_X86_XSTATE */, &v) != 0)
		return -1;
	s->n_wide = v.iov_len;
	b->stack = (s->regs.rsp - RED_ZONE) & ~(uint64_t)63;
	return s->regs.cs == 0x33 ? 0 : -1; /* 64-bit code */
}

static void restore(struct rama_attach_borrow *b)
{
	struct saved *s = b->saved;
	struct iovec v = { s->wide, s->n_wide };

	ptrace(PTRACE_SETREGSET, b->tid, (void *)0x202, &v);
	ptrace(PTRACE_SETREGS, b->tid, NULL, &s->regs);
}

static int send(struct rama_attach_borrow *b, uint64_t function, uint64_t one, uint64_t two)
{
	struct user_regs_struct r = ((struct saved *)b->saved)->regs;
	uint64_t nowhere = 0, sp = ((b->stack - RED_ZONE) & ~(uint64_t)15) - 8;

	if (pwrite(b->memory, &nowhere, sizeof(nowhere), (off_t)sp) != sizeof(nowhere))
		return -1;
	r.rip = function;
	r.rdi = one;
	r.rsi = two;
	r.rsp = sp;
	b->back = sp + sizeof(nowhere);
	r.rbp = 0;
	r.rax = 0;
	r.eflags &= ~(uint64_t)0x400; /* direction */
	r.orig_rax = (uint64_t)-1;    /* what was interrupted is not begun again now */
	return ptrace(PTRACE_SETREGS, b->tid, NULL, &r) == 0 ? 0 : -1;
}

static bool is_back(struct rama_attach_borrow *b, uint64_t *result)
{
	struct user_regs_struct r;

	/* with another stack it has called what is nowhere, and has not come back */
	if (ptrace(PTRACE_GETREGS, b->tid, NULL, &r) != 0 || r.rip != 0 || r.rsp != b->back)
		return false;
	*result = r.rax;
	return true;
}
#else
struct saved {
	int none;
};

bool rama_attach_borrow_can(void)
{
	return false;
}

static int save(struct rama_attach_borrow *b)
{
	(void)b;
	return -1;
}

static void restore(struct rama_attach_borrow *b)
{
	(void)b;
}

static int send(struct rama_attach_borrow *b, uint64_t function, uint64_t one, uint64_t two)
{
	(void)b, (void)function, (void)one, (void)two;
	return -1;
}

static bool is_back(struct rama_attach_borrow *b, uint64_t *result)
{
	(void)b, (void)result;
	return false;
}
#endif

/* ---- which thread ---------------------------------------------------------------------------- */

static int rank_of(pid_t pid, pid_t tid)
{
	char path[64], text[64] = "";
	FILE *f;
	long nr;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	nr = fgets(text, sizeof(text), f) != NULL && text[0] >= '0' && text[0] <= '9'
		     ? strtol(text, NULL, 10)
		     : -1;
	fclose(f);
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (nr == harmless[i].number)
			return harmless[i].rank;
	return -1;
}

/* 0: none waits now */
static pid_t choose(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	pid_t best = 0;
	int least = 2;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d != NULL && least > 0 && (entry = readdir(d)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		int rank = tid > 0 ? rank_of(pid, tid) : -1;

		if (rank >= 0 && rank < least) {
			best = tid;
			least = rank;
		}
	}
	if (d != NULL)
		closedir(d);
	return best;
}

/* ---- stopping -------------------------------------------------------------------------------- */

bool rama_attach_borrow_stopped(pid_t tid, int *status, unsigned ms)
{
	const struct timespec rest = { .tv_nsec = 20000 };
	int64_t end = rama_now_ms() + ms;

	for (;;) {
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);

		if (got == tid)
			return WIFSTOPPED(*status);
		if (got < 0 || rama_now_ms() > end)
			return false;
		nanosleep(&rest, NULL);
	}
}

/* Stopped where it waits, and nowhere else: it may have gone on since we looked. */
static bool stop(struct rama_attach_borrow *b, int *error)
{
	int status = 0;
	sigset_t all;

	*error = 0;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &b->ours);
	if (ptrace(PTRACE_SEIZE, b->tid, NULL, NULL) != 0) {
		*error = errno;
		sigprocmask(SIG_SETMASK, &b->ours, NULL);
		return false;
	}
	if (ptrace(PTRACE_INTERRUPT, b->tid, NULL, NULL) == 0 &&
	    rama_attach_borrow_stopped(b->tid, &status, 2000) &&
	    status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP &&
	    rank_of(b->pid, b->tid) >= 0 && save(b) == 0)
		return true;
	/* a signal that was on its way is delivered */
	ptrace(PTRACE_DETACH, b->tid, NULL,
	       (void *)(uintptr_t)(WIFSTOPPED(status) && status >> 16 == 0 ? WSTOPSIG(status) : 0));
	sigprocmask(SIG_SETMASK, &b->ours, NULL);
	return false;
}

static int refused(pid_t pid, int error, struct rama_err *e)
{
	if (error == ESRCH)
		return rama_err_set(e, RAMA_EUSAGE, "process %d is gone", (int)pid);
	return rama_err_set(e, RAMA_EUSAGE,
			    "process %d: the system does not allow it (%s); as root, with "
			    "CAP_SYS_PTRACE, or with /proc/sys/kernel/yama/ptrace_scope 0 it "
			    "does, unless a debugger has it",
			    (int)pid, strerror(error));
}

int rama_attach_borrow_begin(struct rama_attach_borrow *b, pid_t pid, unsigned patience,
			     struct rama_err *e)
{
	const struct timespec rest = { .tv_nsec = 500000 };
	int64_t end = rama_now_ms() + patience;
	char path[64];
	int error = 0;

	*b = (struct rama_attach_borrow){ .pid = pid, .memory = -1 };
	b->saved = calloc(1, sizeof(struct saved));
	if (b->saved == NULL)
		return rama_err_no_memory(e);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	b->memory = open(path, O_RDWR | O_CLOEXEC);
	if (b->memory < 0)
		error = errno;
	while (error == 0) {
		b->tid = choose(pid);
		b->began = rama_now_ns();
		if (b->tid != 0 && stop(b, &error))
			return 0;
		if (rama_now_ms() > end) {
			rama_attach_borrow_end(b);
			return rama_err_set(
				e, RAMA_EBUSY,
				"process %d: none of its threads waited within %u ms in a "
				"system call in which it can be borrowed",
				(int)pid, patience);
		}
		if (error == ESRCH && b->tid != pid)
			error = 0; /* that thread has ended meanwhile */
		nanosleep(&rest, NULL);
	}
	b->tid = 0;
	rama_attach_borrow_end(b);
	return refused(pid, error, e);
}

/* ---- calling --------------------------------------------------------------------------------- */

uint64_t rama_attach_borrow_put(struct rama_attach_borrow *b, const void *bytes, size_t n)
{
	uint64_t at = (b->stack - n) & ~(uint64_t)63;

	if (n > ROOM || pwrite(b->memory, bytes, n, (off_t)at) != (ssize_t)n)
		return 0;
	b->stack = at;
	return at;
}

/* No signal of the program reaches a thread that is not its own at the moment; they wait. */
static void block(struct rama_attach_borrow *b)
{
	uint64_t all = ~(UINT64_C(1) << (SIGSEGV - 1));

	if (b->called++ == 0)
		ptrace(PTRACE_GETSIGMASK, b->tid, (void *)8, &b->mask);
	ptrace(PTRACE_SETSIGMASK, b->tid, (void *)8, &all);
}

int rama_attach_borrow_call(struct rama_attach_borrow *b, uint64_t function, uint64_t one,
			    uint64_t two, uint64_t *result, struct rama_err *e)
{
	int status = 0;

	block(b);
	if (send(b, function, one, two) != 0)
		return rama_err_set(e, RAMA_EIO, "process %d: %s", (int)b->pid, strerror(errno));
	for (;;) {
		if (ptrace(PTRACE_CONT, b->tid, NULL, NULL) != 0 ||
		    !rama_attach_borrow_stopped(b->tid, &status, CALL_LIMIT))
			return rama_err_set(e, RAMA_EIO, "process %d: its thread did not come back",
					    (int)b->pid);
		if (status >> 16 == 0 && WSTOPSIG(status) == SIGSEGV)
			break;
	}
	if (!is_back(b, result))
		return rama_err_set(e, RAMA_EIO, "process %d: a fault in what it was to do",
				    (int)b->pid);
	return 0;
}

void rama_attach_borrow_text(struct rama_attach_borrow *b, uint64_t at, char *to, size_t room)
{
	size_t n = 0;

	while (n + 1 < room && pread(b->memory, to + n, 1, (off_t)(at + n)) == 1 && to[n] != '\0')
		n++;
	to[n] = '\0';
}

double rama_attach_borrow_end(struct rama_attach_borrow *b)
{
	double away = 0;

	if (b->tid != 0 && b->saved != NULL && b->stack != 0) {
		restore(b);
		if (b->called > 0)
			ptrace(PTRACE_SETSIGMASK, b->tid, (void *)8, &b->mask);
		ptrace(PTRACE_DETACH, b->tid, NULL, NULL);
		sigprocmask(SIG_SETMASK, &b->ours, NULL);
		away = (double)(rama_now_ns() - b->began) * 1e-9;
	}
	if (b->memory >= 0)
		close(b->memory);
	free(b->saved);
	*b = (struct rama_attach_borrow){ .memory = -1 };
	return away;
}
