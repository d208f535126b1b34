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
	struct rama_gather_roots roots;
	bool found = false;
	char uid[24];
	int n = slash != NULL ? (int)strcspn(slash + 1, "@") : 0;

	snprintf(uid, sizeof(uid), "%u/", (unsigned)geteuid());
	if (n == 0 || strncmp(key, uid, strlen(uid)) != 0 ||
	    memchr(slash + 1, '/', (size_t)n) != NULL || slash[1] == '.')
		return false;
	if (*chosen == '/') {
		snprintf(path, PATH_MAX, "%s/%.*s", chosen, n, slash + 1);
		return is_directory(path);
	}
	rama_gather_roots_find(&roots, (uint32_t)geteuid());
	for (size_t i = 0; i < roots.n && !found; i++) {
		snprintf(path, PATH_MAX, "%s/%.*s", roots.path[i], n, slash + 1);
		found = is_directory(path);
	}
	rama_gather_roots_fini(&roots);
	return found;
}
