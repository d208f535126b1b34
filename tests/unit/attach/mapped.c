/* SPDX-License-Identifier: BSD-3-Clause */
/* mapped.c: lines of /proc/PID/maps, and the names under which their files can be read. */
#include "unit.h"

#include <unistd.h>

#include "attach/mapped.h"

static bool take(struct rama_attach_mapped *m, char line[256], const char *text)
{
	snprintf(line, 256, "%s", text);
	return rama_attach_mapped_read(m, line);
}

static void first_parts_of_files_are_taken(void **state)
{
	struct rama_attach_mapped m;
	char line[256];

	(void)state;
	assert_true(take(&m, line,
			 "7f10-7f20 r--p 00000000 fe:00 123                  /usr/lib/a b.so\n"));
	assert_int_equal(m.from, 0x7f10);
	assert_int_equal(m.end, 0x7f20);
	assert_string_equal(m.path, "/usr/lib/a b.so");
	assert_false(take(&m, line, "7f10-7f20 r-xp 00001000 fe:00 123    /usr/lib/a.so\n"));
	assert_false(take(&m, line, "7f10-7f20 rw-s 00000000 00:01 12     /dev/zero (deleted)\n"));
	assert_false(take(&m, line, "7f10-7f20 rw-p 00000000 00:00 0\n"));
	assert_false(take(&m, line, "7f10-7f20 rw-p 00000000 00:00 0      [heap]\n"));
	assert_false(take(&m, line, "7f10-7f20\n"));
	assert_false(take(&m, line, "\n"));
}

static void each_has_a_name_that_can_be_opened(void **state)
{
	char path[RAMA_ATTACH_MAPPED_PATH], want[128], exe[PATH_MAX + 16];
	char gone[] = "/a/b (deleted)";
	struct rama_attach_mapped m = { .from = 0x1000, .end = 0x3000, .path = gone };
	ssize_t n = readlink("/proc/self/exe", exe, PATH_MAX);

	(void)state;
	rama_attach_mapped_path(&m, getpid(), path);
	snprintf(want, sizeof(want), "/proc/%d/map_files/1000-3000", (int)getpid());
	assert_string_equal(path, want);
	gone[4] = '\0';
	rama_attach_mapped_path(&m, getpid(), path);
	snprintf(want, sizeof(want), "/proc/%d/root/a/b", (int)getpid());
	assert_string_equal(path, want);
	/* only what the link says is the program: another file that is gone is not */
	assert_true(n > 0);
	exe[n] = '\0';
	strcat(exe, " (deleted)");
	m.path = exe;
	rama_attach_mapped_path(&m, getpid(), path);
	assert_non_null(strstr(path, "/map_files/"));
}

UNIT_GROUP(mapped, test(first_parts_of_files_are_taken), test(each_has_a_name_that_can_be_opened))
