/* SPDX-License-Identifier: BSD-3-Clause */
/* jump.c: a handler leaves a blocking read, and a write, by a jump. */
#include "truth.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf back;
static jmp_buf plain;
static char buf[100];

static void handler(int sig)
{
	if (sig == SIGALRM)
		siglongjmp(back, 1);
	longjmp(plain, 1);
}

int main(void)
{
	int pipes[2], fd = t_open("file", O_RDWR | O_CREAT | O_TRUNC, 0644);
	struct itimerval soon = { { 0, 0 }, { 0, 2000 } };
	struct sigaction sa = { .sa_handler = handler };
	volatile int jumps = 0;
	MUST(pipe(pipes) == 0 && sigaction(SIGALRM, &sa, NULL) == 0);
	sa.sa_flags = SA_NODEFER;
	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	for (int i = 0; i < 50; i++) {
		if (sigsetjmp(back, 1) == 0) {
			MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
			MUST(read(pipes[0], buf, 1) != 1);
		} else {
			jumps++;
		}
		MUST(t_write(fd, buf, 10) == 10); /* still counted after the jump */
		if (setjmp(plain) == 0)
			raise(SIGUSR1);
		MUST(t_pread(fd, buf, 5, i) == 5);
	}
	MUST(jumps == 50);
	t_close(fd);
	t_done();
	return 0;
}
