/* SPDX-License-Identifier: BSD-3-Clause */
/* server.c FILE THREADS: a file server of our own, in one process. Threads do requests by functions
 * that nobody outside can see, and check every result; what they did is known to the call.
 *
 *   do N    N requests by each thread; then: requests done, bytes, results that were wrong
 *   go      all threads do requests until the next line; then the same
 *   quit */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HIDDEN static __attribute__((noinline, noclone, used))
#define BLOCK 512

static atomic_ulong done, bytes, wrong, left, flows;
static atomic_int go, stop;
static int file, threads;
static volatile long zero;
long slots[64];

/* Six arguments in registers and three on the stack; returns what it should. */
HIDDEN long store_write(int fd, const char *data, long length, long offset, double scale, long a,
			long b, long c, long d)
{
	long n = pwrite(fd, data, (size_t)length, offset);

	return n < 0 ? n : n + (long)scale + a - b + c - d;
}

/* begins with an operand relative to where it stands, and a short jump */
HIDDEN long store_count(long i)
{
	if (zero)
		return -1;
	slots[i & 63]++;
	return i * 3 + 1;
}

HIDDEN double store_mean(double a, double b, int n)
{
	return (a + b) / n + (double)zero;
}

/* calls itself */
HIDDEN long store_depth(long n)
{
	return n <= 0 ? 0 : 1 + store_depth(n - 1) + zero;
}

/* one begins what another ends, in another place */
HIDDEN int flow_start(void *flow, long length)
{
	*(long *)flow = length + zero;
	return 0;
}

HIDDEN int flow_done(void *flow)
{
	atomic_fetch_add(&flows, 1);
	return *(long *)flow > 0;
}

/* too short for a jump */
__asm__(".text\n.type store_short, @function\nstore_short:\n\tmovl %edi, %eax\n\tret\n"
	".size store_short, .-store_short\n"
	/* comes back to its own beginning */
	".type store_loop, @function\nstore_loop:\n\tdec %rdi\n\tnop\n\tnop\n\tjg store_loop\n"
	"\tmovl $7, %eax\n\tret\n.size store_loop, .-store_loop\n"
	/* a jump that has no long form */
	".type store_zero, @function\nstore_zero:\n\tmov %rdi, %rcx\n\tjrcxz 1f\n\tnop\n"
	"1:\tmovl $9, %eax\n\tret\n.size store_zero, .-store_zero\n");
long store_short(long), store_loop(long), store_zero(long);

static void request(long thread, long i)
{
	char data[BLOCK];
	long flow = 0, off = ((thread << 20) + i % 256) * BLOCK;

	memset(data, (int)(i & 127), sizeof(data));
	errno = 4711;
	if (store_write(file, data, BLOCK, off, 2.5, i, 1, 2, 3) != BLOCK + 2 + i - 2)
		atomic_fetch_add(&wrong, 1);
	if (errno != 4711 || store_count(i) != i * 3 + 1 || store_mean(1.5, 2.5, 2) != 2.0 ||
	    store_depth(i % 4) != i % 4 || flow_start(&flow, BLOCK) != 0 || flow_done(&flow) != 1 ||
	    store_short(5) != 5 || store_loop(3) != 7 || store_zero(1) != 9)
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(&bytes, BLOCK);
	atomic_fetch_add(&done, 1);
}

static void *work(void *arg)
{
	long thread = (long)(intptr_t)arg;

	for (long i = 0, round = 0;; round++) {
		while (atomic_load(&go) <= round)
			usleep(200);
		long most = atomic_load(&left);
		for (long k = 0; most < 0 ? !atomic_load(&stop) : k < most; k++)
			request(thread, i++);
		atomic_fetch_sub(&threads, 1);
	}
	return NULL;
}

static void begin(long requests, int n)
{
	done = bytes = 0;
	left = requests;
	stop = 0;
	threads = n;
	atomic_fetch_add(&go, 1);
}

static void say(void)
{
	while (__atomic_load_n(&threads, __ATOMIC_SEQ_CST) > 0)
		usleep(200);
	printf("%lu %lu %lu\n", done, bytes, wrong);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
	struct pollfd in = { .events = POLLIN };
	char line[64];
	pthread_t t;

	file = n > 0 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	if (file < 0)
		return 2;
	for (long i = 0; i < n; i++)
		pthread_create(&t, NULL, work, (void *)(intptr_t)i);
	puts("ready");
	fflush(stdout);
	/* where a thread can be borrowed */
	while (poll(&in, 1, -1) == 1 && fgets(line, sizeof(line), stdin) != NULL &&
	       strcmp(line, "quit\n") != 0) {
		if (strncmp(line, "do ", 3) == 0) {
			begin(strtol(line + 3, NULL, 10), n);
			say();
		} else if (strcmp(line, "go\n") == 0) {
			begin(-1, n);
			puts("0");
			fflush(stdout);
		} else if (strcmp(line, "stop\n") == 0) {
			atomic_store(&stop, 1);
			say();
		}
	}
	puts("0");
	return 0;
}
