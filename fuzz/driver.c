/* SPDX-License-Identifier: BSD-3-Clause */
/* driver.c: runs a target over files and over all files of folders, without libFuzzer. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned inputs;

static int run_file(const char *path, size_t size)
{
	/* no more than needed: overruns are seen */
	unsigned char *data = malloc(size + (size == 0));
	FILE *f = fopen(path, "rb");

	if (f == NULL || data == NULL || fread(data, 1, size, f) != size) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return 1;
	}
	fclose(f);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	inputs++;
	return 0;
}

static int run_folder(const char *path)
{
	struct dirent **entry;
	int n = scandir(path, &entry, NULL, alphasort), status = n < 0;

	for (int i = 0; i < n; i++) {
		char name[4096];
		struct stat st;

		snprintf(name, sizeof(name), "%s/%s", path, entry[i]->d_name);
		if (stat(name, &st) == 0 && S_ISREG(st.st_mode))
			status |= run_file(name, (size_t)st.st_size);
		free(entry[i]);
	}
	if (n >= 0)
		free(entry);
	else
		fprintf(stderr, "%s: cannot be read\n", path);
	return status;
}

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			status |= run_folder(argv[i]);
		else
			status |=
				run_file(argv[i], stat(argv[i], &st) == 0 ? (size_t)st.st_size : 0);
	}
	printf("%u inputs\n", inputs);
	return inputs == 0 ? 1 : status;
}
