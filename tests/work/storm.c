/* SPDX-License-Identifier: BSD-3-Clause */
/* storm.c: jumps out of handlers that strike anywhere, also inside the library that watches. What
 * was counted must lie between the calls that came back and those that were begun. */
#include "truth.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static sigjmp_buf back;
static volatile sig_atomic_t armed;

static void handler(int sig)
{
	(void)sig;
	if (armed)
		siglongjmp(back, 1);
}

int main(void)
{
	struct itimerval often = { { 0, 70 }, { 0, 70 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = handler };
	static volatile long begun, ended;
	static char buf[8], low[30], high[30];
	struct timespec now, from;
	volatile int fd = open("storm", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0 && sigaction(SIGALRM, &sa, NULL) == 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	do {
		if (sigsetjmp(back, 1) == 0) {
			armed = 1;
			for (int i = 0; i < 100000; i++) {
				begun++;
				(void)!pwrite(fd, buf, 4, 0);
				ended++;
			}
		}
		armed = 0;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 500);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	/* all is well afterwards: other files are observed as ever */
	int after = t_open("after", O_WRONLY | O_CREAT, 0644);
	MUST(t_write(after, buf, 5) == 5);
	t_close(after);
	close(fd);
	snprintf(low, sizeof low, "%ld", ended);
	snprintf(high, sizeof high, "%ld", begun);
	t_note("least", low);
	t_note("most", high);
	t_done();
	return 0;
}
