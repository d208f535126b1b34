/* SPDX-License-Identifier: BSD-3-Clause */
/* paths.c: names of every kind. */
#include "truth.h"

#include <limits.h>

static char buf[100];

static void put(const char *name, size_t n)
{
	int fd = t_open(name, O_RDWR | O_CREAT, 0644);
	MUST(fd >= 0 && t_write(fd, buf, n) == (ssize_t)n);
	t_close(fd);
	FILE *f = t_fopen(name, "r");
	t_fread(buf, 1, 1, f);
	t_fclose(f);
}

int main(void)
{
	static char longest[PATH_MAX + 100];
	put("new\nline", 1);
	put("tab\tand blank", 2);
	put("gr\xc3\xbc\xc3\x9f"
	    "e",
	    3);
	put("not\xff\xfeutf8", 4);
	put("percent%41", 5);
	put("a:b,c;d=e\"f'g\\h", 6);
	put("<angle>", 7); /* as Darshan has it: not made absolute */
	put("..dots..", 8);

	/* too long for the system */
	memset(longest, 'x', PATH_MAX + 10);
	MUST(open(longest, O_RDONLY) < 0 && errno == ENAMETOOLONG);
	MUST(open("", O_RDONLY) < 0 && errno == ENOENT);
	MUST(open((const char *)16, O_RDONLY) < 0 && errno == EFAULT);
	MUST(mkdir((const char *)16, 0755) < 0 && errno == EFAULT);
	struct stat st;
	MUST(stat((const char *)16, &st) < 0 && errno == EFAULT);
	t_want("EXTRA", "<FAILED>", "OPENS_FAILED", 1); /* the one that is too long */
	t_done();
	return 0;
}
