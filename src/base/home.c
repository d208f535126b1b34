/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/home.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* "/" is nobody's own: some services have it */
static bool take(char *to, size_t room, const char *home)
{
	bool is_own = home != NULL && home[0] == '/' && home[1] != '\0';
	int n = is_own ? snprintf(to, room, "%s", home) : -1;

	return n > 0 && (size_t)n < room;
}

bool rama_home(char *to, size_t room)
{
	char text[16384];
	struct passwd pw, *found = NULL;

	if (take(to, room, getenv("HOME")))
		return true;
	if (getpwuid_r(geteuid(), &pw, text, sizeof(text), &found) == 0 && found != NULL &&
	    take(to, room, found->pw_dir))
		return true;
	to[0] = '\0';
	return false;
}
