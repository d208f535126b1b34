/* SPDX-License-Identifier: BSD-3-Clause */
/* signal.c: a handler writes while the program writes, to its own file and to the same one. Every
 * call that was completed counts. */
#include "truth.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

static int common, own;
static atomic_long handled, handled_own;
static char buf[16] __attribute__((aligned(8)));

static void handler(int sig)
{
	int kept = errno;
	(void)sig;
	if (pwrite(common, buf, 3, 0) == 3)
		handled++;
	if (write(own, buf, 2) == 2)
		handled_own++;
	errno = kept;
}

static void sums(const char *path, long writes, long bytes)
{
	t_want("POSIX", path, "OPENS", 1);
	t_want("POSIX", path, "MODE", 0644);
	t_want("POSIX", path, "WRITES", writes);
	t_want("POSIX", path, "BYTES_WRITTEN", bytes);
	t_any("POSIX", path, "MAX_BYTE_WRITTEN");
	static const char *const open[] = { "SIZE_WRITE_0_100", "ACCESS1_ACCESS", "ACCESS1_COUNT",
					    "ACCESS2_ACCESS",	"ACCESS2_COUNT",  "ACCESS3_ACCESS",
					    "ACCESS3_COUNT" };
	for (size_t i = 0; i < sizeof open / sizeof *open; i++)
		t_any("POSIX", path, open[i]);
	t_any_order(path);
}

int main(void)
{
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct timespec now, from;
	long writes = 0, bytes = 0;
	common = open("common", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	own = open("own", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	MUST(common >= 0 && own >= 0 && sigaction(SIGALRM, &sa, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	do {
		for (int i = 0; i < 100; i++) {
			MUST(pwrite(common, buf, 8, 8 * (i + 1)) == 8);
			MUST(write(common, buf, 1) == 1);
			writes += 2, bytes += 9;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 700);
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	signal(SIGALRM, SIG_IGN);
	MUST(handled > 100);
	sums("common", writes + handled, bytes + 3 * handled);
	sums("own", handled_own, 2 * handled_own);
	t_untraced();
	close(common);
	close(own);
	t_done();
	return 0;
}
