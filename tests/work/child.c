/* SPDX-License-Identifier: BSD-3-Clause */
/* child.c: popen, system and tmpfile, which work in ways of their own; nothing may go wrong. */
#include "truth.h"

int main(void)
{
	char buf[100];
	FILE *f = popen("echo from the child", "r");
	MUST(f && fgets(buf, sizeof buf, f) && !strcmp(buf, "from the child\n"));
	MUST(pclose(f) == 0);
	f = popen("cat >/dev/null", "w");
	MUST(f && fputs("to the child", f) >= 0 && pclose(f) == 0);
	f = tmpfile();
	MUST(f && fputs("temporary", f) >= 0);
	rewind(f);
	MUST(fgets(buf, sizeof buf, f) && !strcmp(buf, "temporary") && fclose(f) == 0);
	MUST(system("exit 3") == 3 << 8);
	int fd = t_open("mine", O_WRONLY | O_CREAT, 0644);
	MUST(t_write(fd, buf, 9) == 9);
	t_close(fd);
	t_done();
	return 0;
}
