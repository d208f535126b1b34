/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "study/newest.h"

static char dir[64];

static int setup(void **st)
{
	(void)st;
	snprintf(dir, sizeof(dir), "/tmp/iorama-newest-XXXXXX");
	return mkdtemp(dir) == NULL;
}

static char *in(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void make(const char *name, long s, long ns)
{
	struct timespec t[2] = { { s, ns }, { s, ns } };
	int fd = open(in(name), O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, t), 0);
	close(fd);
}

static const char *newest(void)
{
	static char path[128];
	struct rama_err e = { 0 };

	assert_int_equal(rama_study_newest(dir, path, sizeof(path), &e), 0);
	assert_memory_equal(path, dir, strlen(dir));
	return path + strlen(dir) + 1;
}

static void by_time(void **st)
{
	struct rama_err e = { 0 };
	char path[128];

	(void)st;
	assert_int_equal(rama_study_newest(dir, path, sizeof(path), &e), RAMA_EMISSING);
	make("notes.txt", 900, 0);
	make(".hidden.darshan", 900, 0);
	make(".darshan", 900, 0);
	assert_int_equal(mkdir(in("folder.darshan"), 0700), 0);
	assert_int_equal(rama_study_newest(dir, path, sizeof(path), &e), RAMA_EMISSING);
	make("b.darshan", 500, 5);
	assert_string_equal(newest(), "b.darshan");
	make("a.darshan", 500, 6);
	assert_string_equal(newest(), "a.darshan");
	make("c.darshan", 499, 999999999);
	assert_string_equal(newest(), "a.darshan");
	make("d.darshan", 500, 6);
	assert_string_equal(newest(), "d.darshan");
	assert_int_equal(rama_study_newest(dir, path, strlen(dir) + 10, &e), RAMA_EIO);
	assert_int_equal(rama_study_newest(dir, path, strlen(dir) + 11, &e), 0);
	assert_int_equal(rama_study_newest(in("none"), path, sizeof(path), &e), RAMA_EIO);
}

static int teardown(void **st)
{
	static const char *const names[] = { "notes.txt", ".hidden.darshan", ".darshan",
					     "a.darshan", "b.darshan",	     "c.darshan",
					     "d.darshan" };

	(void)st;
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(in(names[i]));
	rmdir(in("folder.darshan"));
	return rmdir(dir);
}

UNIT_GROUP(newest, cmocka_unit_test_setup_teardown(by_time, setup, teardown))
