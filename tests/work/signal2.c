/* SPDX-License-Identifier: BSD-3-Clause */
/* signal2.c: a handler opens, writes and closes while the program does the same. What could not be
 * counted at such a moment must be said to be missing. */
#include "truth.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>

static volatile long opens, bytes;
static char buf[8];

static void use(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0644);
	if (fd < 0 || write(fd, buf, 4) != 4)
		abort();
	close(fd);
}

static void handler(int sig)
{
	int kept = errno;
	(void)sig;
	use("handler");
	opens++, bytes += 4;
	errno = kept;
}

int main(void)
{
	struct itimerval often = { { 0, 60 }, { 0, 60 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct timespec now, from;
	struct stat st;
	char text[40];
	long mine = 0;
	MUST(sigaction(SIGALRM, &sa, NULL) == 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	do {
		use("main");
		MUST(stat("main", &st) == 0 && rename("main", "moved") == 0);
		MUST(rename("moved", "main") == 0);
		mine++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 400);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	signal(SIGALRM, SIG_IGN);
	snprintf(text, sizeof text, "%ld", mine + opens);
	t_note("opens", text);
	snprintf(text, sizeof text, "%ld", 4 * mine + bytes);
	t_note("bytes", text);
	t_done();
	return 0;
}
