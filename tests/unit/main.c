/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: test_FOLDER [GROUP...]: runs the groups of one folder, all of them if none is named. The
 * build makes UNIT_GROUPS from the names of the files. */
#include <stdio.h>
#include <string.h>

#define G(name) int test_##name(void);
UNIT_GROUPS
#undef G

static const struct {
	const char *name;
	int (*run)(void);
} groups[] = {
#define G(name) { #name, test_##name },
	UNIT_GROUPS
#undef G
};

static int run_group(const char *name)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strcmp(groups[i].name, name) == 0)
			return groups[i].run();
	fprintf(stderr, "there is no group '%s'\n", name);
	return 1;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed += run_group(argv[i]);
	for (size_t i = 0; argc < 2 && i < sizeof(groups) / sizeof(groups[0]); i++)
		failed += groups[i].run();
	return failed == 0 ? 0 : 1;
}
