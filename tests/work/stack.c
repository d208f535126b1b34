/* SPDX-License-Identifier: BSD-3-Clause */
/* stack.c: threads with the smallest stacks that are allowed, deep in them. */
#include "truth.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

static char buf[100] __attribute__((aligned(8)));

static char *bottom;

static void use(void)
{
	int fd = open("deep", O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (write(fd, buf, 10) != 10 || pread(fd, buf, 4, 0) != 4)
		abort();
	close(fd);
}

/* goes down until only 3 KiB are left */
static void __attribute__((noinline)) deep(void)
{
	volatile char room[512];
	room[0] = 1;
	if ((char *)room - bottom > 3 * 1024 + 600)
		deep();
	else
		use();
	room[1] = room[0];
}

static void *body(void *arg)
{
	(void)arg;
	deep();
	return NULL;
}

static void *printing(void *arg)
{
	(void)arg;
	printf("%d\n", 12345);
	return NULL;
}

static void run(void *(*f)(void *), size_t size)
{
	pthread_t id;
	pthread_attr_t attr;
	char *stack =
		mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(stack != MAP_FAILED && mprotect(stack, 4096, PROT_NONE) == 0);
	bottom = stack + 4096;
	pthread_attr_init(&attr);
	MUST(pthread_attr_setstack(&attr, stack + 4096, size) == 0);
	MUST(pthread_create(&id, &attr, f, NULL) == 0 && pthread_join(id, NULL) == 0);
}

static int alt_fd;

static void handler(int sig)
{
	(void)sig;
	if (pwrite(alt_fd, buf, 8, 0) != 8)
		abort();
}

/* a handler on a stack that has little more than the frame of a signal */
static void on_small_stack(void)
{
	size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 2048;
	stack_t alt = { .ss_sp = malloc(size), .ss_size = size };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
	alt_fd = t_open("alt", O_RDWR | O_CREAT, 0644);
	MUST(t_pwrite(alt_fd, buf, 8, 0) == 8);
	MUST(sigaltstack(&alt, NULL) == 0 && sigaction(SIGUSR1, &sa, NULL) == 0);
	for (int i = 0; i < 5; i++) {
		raise(SIGUSR1);
		m_rw(alt_fd, 'w', 0, 8, buf, T_PLAIN);
	}
	t_close(alt_fd);
}

int main(void)
{
	on_small_stack();
	use(); /* the dynamic linker needs room of its own the first time */
	run(body, (size_t)PTHREAD_STACK_MIN);
	run(body, (size_t)PTHREAD_STACK_MIN);
	run(printing, (size_t)PTHREAD_STACK_MIN);
	int fd = 1000;
	for (int i = 0; i < 3; i++) {
		m_open(AT_FDCWD, "deep", 0644, fd);
		m_rw(fd, 'w', -1, 10, NULL, T_PLAIN);
		m_rw(fd, 'r', 0, 4, NULL, T_PLAIN);
		m_forget(fd);
	}
	m_sio(stdout, 'w', 6);
	t_untraced();
	t_done();
	return 0;
}
