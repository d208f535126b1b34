/* SPDX-License-Identifier: BSD-3-Clause */
/* blocked.c: waits in a read of its standard input; a handler that comes meanwhile jumps inside
 * itself (SIGUSR1), or out of the read (SIGUSR2), says so, and the program waits on: in the
 * read, or in pause. */
#include "truth.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>

static sigjmp_buf out;

static void say(const char *line)
{
	syscall(SYS_writev, 1, &(struct iovec){ (void *)(uintptr_t)line, strlen(line) }, 1);
}

static void handler(int sig)
{
	jmp_buf here;

	if (sig == SIGUSR2)
		siglongjmp(out, 1);
	if (setjmp(here) == 0)
		longjmp(here, 1);
	say("stayed\n");
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	char c;

	MUST(sigaction(SIGUSR1, &sa, NULL) == 0 && sigaction(SIGUSR2, &sa, NULL) == 0);
	close(open("file", O_RDWR | O_CREAT, 0644));
	say("ready\n");
	if (sigsetjmp(out, 1) == 0) {
		MUST(read(0, &c, 1) == 0);
	} else {
		say("left\n");
		pause();
	}
	return 0;
}
