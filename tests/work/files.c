/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c N open|turn|both: N files, all open at once or one after the other; both: and as many
 * streams, which the totals that it says are without. */
#include "truth.h"

#include <sys/resource.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 100, room = n + 64;
	bool at_once = argc > 2 && !strcmp(argv[2], "open");
	static int fds[1 << 17];
	static char buf[16] __attribute__((aligned(8)));
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	if (at_once && limit.rlim_cur < (rlim_t)room) {
		limit.rlim_cur = (rlim_t)room;
		if (limit.rlim_max < limit.rlim_cur)
			limit.rlim_max = limit.rlim_cur;
		if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
			return 77;
	}
	MUST(mkdir("many", 0755) == 0);
	for (long i = 0; i < n; i++) {
		char name[40];
		snprintf(name, sizeof name, "many/file%ld", i);
		fds[i] = open(name, O_RDWR | O_CREAT, 0600);
		MUST(fds[i] >= 0 && write(fds[i], buf, 10) == 10);
		if (!at_once)
			close(fds[i]);
		if (argc > 2 && !strcmp(argv[2], "both")) {
			snprintf(name, sizeof name, "many/stream%ld", i);
			FILE *more = fopen(name, "w");
			MUST(more && fclose(more) == 0);
		}
	}
	for (long i = 0; i < n && at_once; i++)
		MUST(pread(fds[i], buf, 3, 0) == 3 && close(fds[i]) == 0);
	t_total("POSIX", "OPENS", n);
	t_total("POSIX", "WRITES", n);
	t_total("POSIX", "BYTES_WRITTEN", 10 * n);
	t_total("POSIX", "SIZE_WRITE_0_100", n);
	t_total("POSIX", "READS", at_once ? n : 0);
	t_total("POSIX", "BYTES_READ", at_once ? 3 * n : 0);
	t_total("EXTRA", "MKDIRS", 1);
	FILE *f = fopen("many/stream", "w");
	MUST(f && fwrite(buf, 1, 16, f) == 16 && fclose(f) == 0);
	t_total("STDIO", "OPENS", 1);
	t_total("STDIO", "BYTES_WRITTEN", 16);
	t_done();
	return 0;
}
