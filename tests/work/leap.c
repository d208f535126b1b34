/* SPDX-License-Identifier: BSD-3-Clause */
/* leap.c WHAT WHERE STRIDE: a handler that jumps in the middle of calls that find new names: in
 * each call once, STRIDE instructions further on than in the one before.
 *
 * stay: the jump begins and ends in the handler, which opens the file inner, and the call goes
 * on; nested: the same, but the handler is interrupted itself, by one on the other stack that
 * jumps back into it; leave: the jump leaves the call; throw: it is left by setcontext, which
 * nobody replaces; switch: it is left for another stack, on which a call is made, and comes back
 * from there. main, alt: the stack of the handler; low, high: in a thread, with an alternate
 * stack below or above its own; coroutine: the calls are made on a stack of makecontext.
 *
 * After each such call one on another new name is made as ever: files kept-* are opened and
 * written once. Prints how many calls were interrupted, and the longest time, in ns, that one of
 * the others took. */
#include "truth.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

enum { STACK = 1 << 18, MOST = 3000 };
static const char *what, *where;
static volatile long steps, jump_at;
static sigjmp_buf out;
static ucontext_t out_context, main_context, co_context;
static volatile int thrown;
static volatile long switches;
static long longest, calls, stride;

/* The processor raises SIGTRAP after each instruction while this flag is set; in handlers it is
 * not. */
static inline void step(bool on)
{
	if (on)
		__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "cc", "memory");
	else
		__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "cc", "memory");
}

static sigjmp_buf inner, scheduler;

static void on_usr(int sig)
{
	(void)sig;
	siglongjmp(inner, 1);
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	jmp_buf here;

	(void)sig, (void)info;
	if (++steps != jump_at)
		return;
	jump_at = 0;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100L;
	if (strcmp(what, "throw") == 0) {
		thrown = 1;
		setcontext(&out_context);
	} else if (strcmp(what, "leave") == 0) {
		siglongjmp(out, 1);
	} else if (strcmp(what, "nested") == 0) {
		if (sigsetjmp(inner, 1) == 0)
			raise(SIGUSR1);
	} else if (strcmp(what, "switch") == 0) {
		if (sigsetjmp(inner, 1) == 0)
			siglongjmp(scheduler, 1);
	} else if (setjmp(here) == 0) {
		longjmp(here, 1);
	}
	if (strcmp(what, "switch") != 0)
		close(open("inner", O_RDWR | O_CREAT, 0644));
}

static long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

static void keep(long i)
{
	char name[64];
	long t = now();

	snprintf(name, sizeof(name), "kept-%ld", i);
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0 && write(fd, name, 6) == 6);
	MUST(close(fd) == 0);
	t = now() - t;
	if (t > longest)
		longest = t;
}

static void interrupted(const char *name)
{
	step(true);
	open(name, O_RDWR | O_CREAT, 0644);
	step(false);
}

/* descriptors that the interrupted calls opened */
static void close_left(void)
{
	for (int fd = 10; fd < 20; fd++)
		syscall(SYS_close, fd);
}

static void work(void)
{
	static volatile long k;
	char name[64];

	while (open("/dev/null", O_RDONLY) < 9)
		;
	keep(0);
	for (k = 1; k < MOST; k++) {
		steps = 0;
		thrown = 0;
		snprintf(name, sizeof(name), "%s-%ld", what, k);
		jump_at = k * stride;
		if (strcmp(what, "throw") == 0) {
			MUST(getcontext(&out_context) == 0);
			if (!thrown)
				interrupted(name);
		} else if (sigsetjmp(out, 1) == 0) {
			interrupted(name);
		}
		close_left();
		keep(k);
		if (jump_at) /* it was over before */
			break;
	}
	calls = k - 1;
}

static void set_alternate(void *at)
{
	stack_t ss = { .ss_sp = at, .ss_size = STACK };

	MUST(sigaltstack(&ss, NULL) == 0);
}

static void *thread(void *alternate)
{
	set_alternate(alternate);
	work();
	return NULL;
}

int main(int argc, char **argv)
{
	char *memory =
		mmap(NULL, 3 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction sa = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_NODEFER };
	struct sigaction usr = { .sa_handler = on_usr, .sa_flags = SA_ONSTACK };

	MUST(argc > 3 && memory != MAP_FAILED);
	what = argv[1];
	where = argv[2];
	stride = atol(argv[3]);
	if (strcmp(where, "main") != 0 && strcmp(where, "coroutine") != 0)
		sa.sa_flags |= strcmp(what, "nested") == 0 ? 0 : SA_ONSTACK;
	MUST(sigaction(SIGTRAP, &sa, NULL) == 0 && sigaction(SIGUSR1, &usr, NULL) == 0);
	if (strcmp(where, "low") == 0 || strcmp(where, "high") == 0) {
		pthread_t id;
		pthread_attr_t attr;

		pthread_attr_init(&attr);
		MUST(pthread_attr_setstack(&attr, memory + STACK, STACK) == 0);
		MUST(pthread_create(&id, &attr, thread,
				    *where == 'l' ? memory : memory + 2 * STACK) == 0);
		pthread_join(id, NULL);
	} else if (strcmp(where, "coroutine") == 0) {
		MUST(getcontext(&co_context) == 0);
		co_context.uc_stack.ss_sp = memory + STACK;
		co_context.uc_stack.ss_size = STACK;
		co_context.uc_link = &main_context;
		makecontext(&co_context, work, 0);
		if (sigsetjmp(scheduler, 1) != 0) {
			keep(-++switches);
			siglongjmp(inner, 1);
		}
		MUST(swapcontext(&main_context, &co_context) == 0);
	} else {
		set_alternate(memory);
		work();
	}
	printf("%ld %ld\n", calls, longest);
	return 0;
}
