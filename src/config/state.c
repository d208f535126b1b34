/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

bool rama_config_state_place(char *to, size_t size, const char *name)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n;

	if (state != NULL && *state == '/')
		n = snprintf(to, size, "%s/iorama/%s", state, name);
	else
		n = snprintf(to, size, "%s/.local/state/iorama/%s",
			     home != NULL && *home == '/' ? home : "", name);
	return n < (int)size && (state != NULL || home != NULL);
}

bool rama_config_state_make(char *path)
{
	for (char *p = path + 1; path[0] == '/' && *p != '\0'; p++)
		if (*p == '/') {
			*p = '\0';
			mkdir(path, 0700);
			*p = '/';
		}
	return mkdir(path, 0700) == 0 || errno == EEXIST;
}
