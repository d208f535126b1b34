/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/state.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/home.h"

bool rama_config_state_place(char *to, size_t size, const char *name)
{
	const char *state = getenv("XDG_STATE_HOME");
	char home[PATH_MAX];
	int n;

	to[0] = '\0';
	if (state != NULL && *state == '/')
		n = snprintf(to, size, "%s/iorama/%s", state, name);
	else if (rama_home(home, sizeof(home)))
		n = snprintf(to, size, "%s/.local/state/iorama/%s", home, name);
	else
		return false;
	return n > 0 && (size_t)n < size;
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
