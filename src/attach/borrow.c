/* SPDX-License-Identifier: BSD-3-Clause */
/* borrow.c: with ptrace. The thread is stopped where it waits in the kernel, its registers are put
 * aside, and it is sent into a function whose return address is nowhere: the fault at 0 tells us
 * that it is back. Then it gets its registers again, and the kernel begins the system call anew as
 * after any stop. */
#include "attach/borrow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"

#define RED_ZONE 256	  /* bytes below the stack that belong to the function at work */
#define SLOW 3000	  /* ms that a call takes before it is told */
#define ROOM (1u << 16)	  /* bytes of stack for what is put there */
#define STACK_LEAST 49152 /* bytes: what is put there and what a loader needs, with some to spare */

/* Calls in which a thread holds no lock of the C library: one inside of malloc or of the loader
 * is never in these. futex is: who waits for a lock has not got it, but may have another (that of
 * an allocator which the program brings); so threads that wait for something to happen come
 * first, and those that may wait for a lock last. Who reads may be the loader, with its lock: it
 * does so of files, never of pipes, sockets or devices (a FUSE daemon waits for requests there). */
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
						WAIT(futex, 1) WAIT(read, 1) WAIT(readv, 1)
							WAIT(splice, 1)
#undef WAIT
};
enum { NONE = 3 }; /* more than any rank */

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

static bool reads(int nr)
{
	return nr == SYS_read || nr == SYS_readv || nr == SYS_splice;
}

/* A pipe, a socket or a device. Only of these the system is asked for more: one of files may not
 * answer. */
static bool is_no_file(pid_t pid, unsigned long long fd)
{
	char path[64], to[64];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%llu", (int)pid, fd);
	n = readlink(path, to, sizeof(to));
	if (n <= 0 || to[0] != '/')
		return n > 0;
	return n > 5 && memcmp(to, "/dev/", 5) == 0 && stat(path, &st) == 0 && S_ISCHR(st.st_mode);
}

/* -1: not there; sp: its stack */
static int rank_of(pid_t pid, pid_t tid, uint64_t *sp)
{
	unsigned long long one = 0, two = 0, at = 0;
	char path[64], text[256] = "";
	FILE *f;
	int nr = -1;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	if (fgets(text, sizeof(text), f) == NULL ||
	    sscanf(text, "%d %llx %llx %*x %*x %*x %*x %llx", &nr, &one, &two, &at) != 4)
		nr = -1;
	fclose(f);
	*sp = at;
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (nr == harmless[i].number && reads(nr) && !is_no_file(pid, one))
			return -1;
		else if (nr == harmless[i].number)
			return harmless[i].rank +
			       (nr == SYS_futex && (two & FUTEX_CMD_MASK) == FUTEX_WAIT);
	return -1;
}

/* Has the stack there room for what a loader does? That of the first thread grows, others do not,
 * and some are as small as can be. */
static bool has_room(pid_t pid, uint64_t sp)
{
	char path[64], *line = NULL;
	bool has = false, found = false;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f != NULL && !found && getline(&line, &room, f) > 0) {
		unsigned long long from, end;

		found = sscanf(line, "%llx-%llx", &from, &end) == 2 && sp >= from && sp < end;
		has = found && (sp - from >= STACK_LEAST || strstr(line, "[stack]") != NULL);
	}
	free(line);
	if (f != NULL)
		fclose(f);
	return has;
}

/* 0: none waits now; small: one does, but its stack is too small */
static pid_t choose(pid_t pid, bool *small)
{
	char path[64];
	struct dirent *entry;
	pid_t best = 0;
	int least = NONE;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	while (d != NULL && least > 0 && (entry = readdir(d)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		uint64_t sp;
		int rank = tid > 0 ? rank_of(pid, tid, &sp) : -1;

		if (rank < 0 || rank >= least)
			continue;
		if (has_room(pid, sp)) {
			best = tid;
			least = rank;
		} else {
			*small = true;
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
	uint64_t sp;
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
	    rank_of(b->pid, b->tid, &sp) >= 0 && has_room(b->pid, sp) && save(b) == 0)
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
	bool small = false;
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
		b->tid = choose(pid, &small);
		b->began = rama_now_ns();
		if (b->tid != 0 && stop(b, &error))
			return 0;
		if (rama_now_ms() > end) {
			rama_attach_borrow_end(b);
			return rama_err_set(
				e, RAMA_EBUSY,
				"process %d: none of its threads waited within %u ms in a "
				"system call in which it can be borrowed%s",
				(int)pid, patience,
				small ? ", but ones with too small a stack" : "");
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

/* Until it stops, however long that takes: whoever let go of it now would see it come back to
 * nowhere, which ends the process. It may wait for a lock that another thread holds, or for a file
 * system that does not answer. false: it is gone. */
static bool comes_back(struct rama_attach_borrow *b, int *status)
{
	int64_t since = rama_now_ms(), now;
	bool told = false;

	for (;;) {
		pid_t got = waitpid(b->tid, status, __WALL | WNOHANG);

		if (got != 0)
			return got == b->tid && WIFSTOPPED(*status);
		now = rama_now_ms();
		if (!told && now > since + SLOW) {
			told = true;
			if (b->slow != NULL)
				b->slow(b->arg, b->pid);
		}
		nanosleep(&(struct timespec){ .tv_nsec = now < since + 100 ? 20000 : 2000000 },
			  NULL);
	}
}

int rama_attach_borrow_call(struct rama_attach_borrow *b, uint64_t function, uint64_t one,
			    uint64_t two, uint64_t *result, struct rama_err *e)
{
	int status = 0;

	block(b);
	if (send(b, function, one, two) != 0)
		return rama_err_set(e, RAMA_EIO, "process %d: %s", (int)b->pid, strerror(errno));
	for (;;) {
		if (ptrace(PTRACE_CONT, b->tid, NULL, NULL) != 0 || !comes_back(b, &status))
			return rama_err_set(e, RAMA_EIO, "process %d has ended meanwhile",
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
