/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/state.h"

#include <stdio.h>
#include <stdlib.h>

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
