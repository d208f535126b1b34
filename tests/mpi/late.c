/* SPDX-License-Identifier: BSD-3-Clause */
/* late.c LIBRARY ARGUMENTS: a program without MPI that loads one which has it, and keeps it to
 * itself, as interpreters load their modules. The library is truth.c with another name for its
 * main(). */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*run)(int, char **) = NULL;

	if (module != NULL)
		*(void **)&run = dlsym(module, "truth_main");
	if (run == NULL) {
		fprintf(stderr, "late: %s\n", dlerror());
		return 2;
	}
	return run(argc - 1, argv + 1);
}
