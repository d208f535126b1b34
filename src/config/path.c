/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/path.h"

#include <stdbool.h>
#include <stdint.h>
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

/* Most paths are clean: what stands between two places that are not is copied in one piece. */
static void put_clean(struct rama_config_text *t, const char *p)
{
	const char *from = p;

	while (*(p = strchrnul(p, '/')) != '\0') {
		const char *next = skip_slashes(++p);

		if (next == p)
			continue;
		rama_config_text_put(t, from, (size_t)(p - from));
		from = p = next;
	}
	rama_config_text_put(t, from, (size_t)(p - from));
}

/* Is it sure that no slash is followed by another, or by a dot? Eight bytes at a time; the text
 * ends with a NUL. */
static bool surely_clean(const char *p, size_t n)
{
	const uint64_t ones = 0x0101010101010101u, slashes = 0x2f * ones;
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t is, next; /* a byte of 0: a slash; ... or a dot */

		memcpy(&is, p + i, 8);
		memcpy(&next, p + i + 1, 8);
		is ^= slashes;
		next = (next | ones) ^ slashes;
		/* the upper bit of bytes that are 0, and perhaps of some after those */
		if ((is - ones) & ~is & (next - ones) & ~next & ones << 7)
			return false;
	}
	for (; i < n; i++)
		if (p[i] == '/' && (p[i + 1] | 1) == '/')
			return false;
	return true;
}
_Static_assert(('.' | 1) == '/', "one bit tells them apart");

long rama_config_path_clean(char *to, size_t room, const char *base, const char *path)
{
	struct rama_config_text t;

	if (room == 0)
		return -1;
	if (path != NULL && path[0] == '/') { /* nearly all are clean */
		size_t n = strlen(path);

		if (n < room && surely_clean(path, n)) {
			memcpy(to, path, n + 1);
			return (long)n;
		}
	}
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
