/* SPDX-License-Identifier: BSD-3-Clause */
/* stack.c: threads with the smallest stacks that are allowed, deep in them. */
#include "truth.h"

#include <limits.h>
#include <pthread.h>
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

int main(void)
{
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
