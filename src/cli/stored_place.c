/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/stored_place.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/opts.h"
#include "cli/run_place.h"

static bool is_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

bool rama_stored_segments(const char *key, char path[PATH_MAX])
{
	const char *slash = strchr(key, '/'), *chosen = rama_opts_setting(RAMA_SET_DIR);
	char root[PATH_MAX / 2], uid[24];
	int n = slash != NULL ? (int)strcspn(slash + 1, "@") : 0;

	snprintf(uid, sizeof(uid), "%u/", (unsigned)geteuid());
	if (n == 0 || strncmp(key, uid, strlen(uid)) != 0 ||
	    memchr(slash + 1, '/', (size_t)n) != NULL || slash[1] == '.')
		return false;
	if (*chosen == '/') {
		snprintf(path, PATH_MAX, "%s/%.*s", chosen, n, slash + 1);
		return is_directory(path);
	}
	for (unsigned i = 0; rama_place_candidate(i, root, sizeof(root)); i++) {
		snprintf(path, PATH_MAX, "%s/%.*s", root, n, slash + 1);
		if (is_directory(path))
			return true;
	}
	return false;
}
