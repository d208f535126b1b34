/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/path.h"

#include <string.h>

#include "config/text.h"

/* What may stand between two names: //, /./ and any mix of them. A "/." at the end stays. */
static const char *skip_slashes(const char *p)
{
	for (;; p++) {
		if (p[0] == '.' && p[1] == '/')
			p++;
		if (p[0] != '/')
			return p;
	}
}

static void put_clean(struct rama_config_text *t, const char *p)
{
	while (*p != '\0' && !t->cut) {
		size_t n = strcspn(p, "/");

		rama_config_text_put(t, p, n);
		p += n;
		if (*p == '/') {
			rama_config_text_put(t, "/", 1);
			p = skip_slashes(p + 1);
		}
	}
}

long rama_config_path_clean(char *to, size_t room, const char *base, const char *path)
{
	struct rama_config_text t;

	if (room == 0)
		return -1;
	rama_config_text_init(&t, to, room);
	if (path == NULL)
		return 0;
	if (path[0] == '\0' || path[0] == '<') {
		rama_config_text_str(&t, path);
		return t.cut ? -1 : (long)t.len;
	}
	if (path[0] != '/' && base != NULL && base[0] != '\0') {
		put_clean(&t, base);
		/* one slash between them, and none of what the path begins with */
		if (t.len > 1 && t.p[t.len - 1] == '.' && t.p[t.len - 2] == '/')
			t.p[t.len -= 2] = '\0';
		if (t.len == 0 || t.p[t.len - 1] != '/')
			rama_config_text_put(&t, "/", 1);
		path = skip_slashes(path);
	}
	put_clean(&t, path);
	return t.cut ? -1 : (long)t.len;
}

long rama_config_path_clean_at(char *to, size_t room, const char *dir, const char *path)
{
	bool itself = path != NULL && path[0] == '\0' && dir != NULL;

	return rama_config_path_clean(to, room, dir, itself ? dir : path);
}

const char *rama_config_path_without_prefix(const char *path)
{
	const char *colon = path != NULL ? strchr(path, ':') : NULL;

	return colon != NULL && colon - path >= 2 ? colon + 1 : path;
}
