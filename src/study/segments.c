/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/segments.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gather/place.h"

static bool is_own_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

bool rama_study_segments_find(const char *key, const char *dir, char path[PATH_MAX])
{
	const char *slash = strchr(key, '/');
	struct rama_gather_roots roots;
	bool found = false;
	char uid[24];
	int n = slash != NULL ? (int)strcspn(slash + 1, "@") : 0;

	snprintf(uid, sizeof(uid), "%u/", (unsigned)geteuid());
	if (n == 0 || strncmp(key, uid, strlen(uid)) != 0 ||
	    memchr(slash + 1, '/', (size_t)n) != NULL || slash[1] == '.')
		return false;
	if (*dir == '/') {
		snprintf(path, PATH_MAX, "%s/%.*s", dir, n, slash + 1);
		return is_own_directory(path);
	}
	rama_gather_roots_find(&roots, (uint32_t)geteuid());
	for (size_t i = 0; i < roots.n && !found; i++) {
		snprintf(path, PATH_MAX, "%s/%.*s", roots.path[i], n, slash + 1);
		found = is_own_directory(path);
	}
	rama_gather_roots_fini(&roots);
	return found;
}
