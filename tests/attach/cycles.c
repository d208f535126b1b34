/* SPDX-License-Identifier: BSD-3-Clause */
/* cycles.c PID TIMES FUNCTION...: puts probes on functions of a process that is attached and takes
 * them away, as often as it is told, and leaves it as it was. Prints for each function how often it
 * was called with the probe on it; at the end the longest that all threads stood, ms. */
#include <stdio.h>
#include <stdlib.h>

#include "attach/probe.h"

static double longest;

static void stop(const struct rama_err *e)
{
	printf("FAILED %s\n", e->text);
	exit(1);
}

static void stood(const struct rama_attach_probe_done *d)
{
	longest = d->stood > longest ? d->stood : longest;
}

int main(int argc, char **argv)
{
	struct rama_attach_probe_done done[RAMA_PROBES];
	struct rama_err e = { 0 };
	pid_t pid = argc > 3 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	long times = pid > 0 ? strtol(argv[2], NULL, 10) : 0;
	int n = 0;

	for (long k = 0; k < times; k++) {
		for (int i = 3; i < argc; i++) {
			struct rama_probe_ask ask;

			if (rama_attach_probe_parse(argv[i], &ask, &e) != 0 ||
			    rama_attach_probe_arm(pid, &ask, 20000, done, &e) != 0)
				stop(&e);
			stood(done);
		}
		n = rama_attach_probe_disarm(pid, done, &e);
		if (n != argc - 3)
			stop(&e);
		stood(done);
	}
	for (int i = 0; i < n; i++)
		printf("%s %llu %llu\n", done[i].function, (unsigned long long)done[i].calls,
		       (unsigned long long)done[i].unmatched);
	printf("stood %.3f\n", longest * 1e3);
	return 0;
}
