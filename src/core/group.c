/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/group.h"

#include <string.h>

enum { RUNS_MOST = 3 }; /* of digits in a name: what has more is made by lot */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* each run of digits as one '#'; the number of bytes that were put */
static size_t put_digits(char *to, const char *from, size_t n, unsigned *runs)
{
	size_t put = 0;

	*runs = 0;
	for (size_t i = 0; i < n; i++) {
		if (!is_digit(from[i])) {
			to[put++] = from[i];
		} else if (i == 0 || !is_digit(from[i - 1])) {
			to[put++] = '#';
			++*runs;
		}
	}
	return put;
}

static size_t last_of(const char *text, size_t n, char c)
{
	while (n > 0 && text[n - 1] != c)
		n--;
	return n; /* behind it; 0: there is none */
}

static size_t put_name(char *to, const char *name, size_t len)
{
	size_t end = last_of(name, len, '.'), stem = end > 1 ? end - 1 : len, n;
	unsigned runs;

	n = put_digits(to, name, stem, &runs);
	if (runs > RUNS_MOST) {
		to[0] = '*';
		n = 1;
	}
	return n + put_digits(to + n, name + stem, len - stem, &runs);
}

/* behind the second part of a path, which begins with '/' */
static size_t first_parts(const char *path, size_t len)
{
	size_t at = 1;

	for (unsigned parts = 0; at < len && parts < 2; at++)
		parts += path[at] == '/';
	return at;
}

size_t rama_core_group_name(char *to, const char *path, size_t len, bool coarse)
{
	size_t dir = len > 0 && path[0] == '/' ? last_of(path, len, '/') : 0, same = dir, n;
	unsigned runs;

	if (dir == 0 || dir == len || len + 3 > RAMA_CORE_GROUP_TEXT)
		return 0;
	if (coarse)
		same = first_parts(path, dir);
	memcpy(to, path, same);
	n = same + put_digits(to + same, path + same, dir - same, &runs);
	if (rama_core_group_is(path, len)) { /* the group of a group */
		dir++;
		len--;
	}
	to[n++] = '<';
	n += put_name(to + n, path + dir, len - dir);
	to[n++] = '>';
	to[n] = '\0';
	return n;
}

bool rama_core_group_is(const char *name, size_t len)
{
	size_t dir = len > 0 && name[0] == '/' ? last_of(name, len, '/') : 0;

	return dir > 0 && len - dir > 2 && name[dir] == '<' && name[len - 1] == '>';
}
