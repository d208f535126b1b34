/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "study/paths.h"

static char folder[64];

static const char *in(const char *name)
{
	static char path[8][128];
	static unsigned n;

	n = (n + 1) % 8;
	snprintf(path[n], sizeof(path[n]), "%s/%s", folder, name);
	return path[n];
}

static void put_file(const char *name, const char *text)
{
	FILE *f = fopen(in(name), "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void hear(void *ctx, const char *path, const char *line)
{
	assert_true(*path != '\0' && *line != '\0');
	++*(unsigned *)ctx;
}

/* Directories, lists and names lead to each log once, in order; what cannot be read is told and
 * counted. */
static void each_once(void **state)
{
	unsigned told = 0;
	struct rama_study_paths p = { .told = { .problem = hear, .ctx = &told } };
	struct rama_err e = { 0 };
	char command[128], list[300];

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/iorama-paths-XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(mkdir(in("sub"), 0700), 0);
	put_file("b.darshan", "b");
	put_file("sub/a.darshan", "a");
	put_file("sub/.darshan", "c");
	put_file("sub/part.darshan_partial", "");
	put_file("sub/other.txt", "");
	assert_int_equal(symlink(in("b.darshan"), in("sub/link.darshan")), 0);
	snprintf(list, sizeof(list), "%s\n\n%s\r\n%s\n", in("b.darshan"), in("sub"), in("not"));
	put_file("list", list);
	assert_int_equal(rama_study_paths_add(&p, folder, &e), 0);
	snprintf(list, sizeof(list), "@%s", in("list"));
	assert_int_equal(rama_study_paths_add(&p, list, &e), 0);
	assert_int_equal(rama_study_paths_add(&p, in("sub/a.darshan"), &e), 0);
	rama_study_paths_sort(&p);
	assert_int_equal(p.n, 3);
	assert_string_equal(p.path[0], in("b.darshan"));
	assert_string_equal(p.path[1], in("sub/.darshan"));
	assert_string_equal(p.path[2], in("sub/a.darshan"));
	assert_true(p.unfinished >= 1);
	assert_int_equal(p.unread, 1);
	assert_int_equal(told, 1);
	assert_int_equal(rama_study_paths_add(&p, "@/nowhere/list", &e), RAMA_EMISSING);
	assert_int_equal(told, 2);
	rama_study_paths_fini(&p);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
}

UNIT_GROUP(paths, test(each_once))
