/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_two.c LIBRARY...: takes turns with the HDF5 of each library, which is hdf5.c as a plugin. */
#include <dlfcn.h>
#include <stdio.h>

enum { MOST = 4, TURNS = 5 };

int main(int argc, char **argv)
{
	int (*plugin[MOST])(const char *, int);
	char name[32];

	for (int i = 1; i < argc && i <= MOST; i++) {
		void *handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);

		if (!handle) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&plugin[i - 1] = dlsym(handle, "plugin");
	}
	for (int t = 0; t <= TURNS; t++)
		for (int i = 1; i < argc && i <= MOST; i++) {
			snprintf(name, sizeof(name), "p%d.h5", i);
			if (plugin[i - 1](name, t < TURNS ? t : -TURNS) != 0)
				return 1;
		}
	return 0;
}
