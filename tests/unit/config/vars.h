/* SPDX-License-Identifier: BSD-3-Clause */
/* vars.h: an environment for tests: "NAME=value" texts and a NULL. */
#ifndef RAMA_TESTS_VARS_H
#define RAMA_TESTS_VARS_H

#include <string.h>

static inline const char *vars_lookup(void *ctx, const char *name)
{
	size_t n = strlen(name);

	for (const char *const *v = ctx; *v != NULL; v++)
		if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
			return *v + n + 1;
	return NULL;
}

#define VARS(...) ((const char *[]){ __VA_ARGS__, NULL })

#endif
