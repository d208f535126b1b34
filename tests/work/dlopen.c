/* SPDX-License-Identifier: BSD-3-Clause */
/* dlopen.c LIBRARY: loads and unloads a library that does I/O while that happens. */
#include "plugin.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
	MUST(argc == 2);
	for (int i = 0; i < 3; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW);
		MUST(lib != NULL);
		m_plugin("loaded", 11);
		MUST(dlclose(lib) == 0);
		m_plugin("unloaded", 12);
	}
	t_done();
	return 0;
}
