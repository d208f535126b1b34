/* SPDX-License-Identifier: BSD-3-Clause */
/* groups.c: preloaded into `iorama serve` by its tests: groups that this machine does not have, as
 * IORAMA_TEST_GROUPS says, "physics=ada,carl;staffers=eve". */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int getgrnam_r(const char *name, struct group *to, char *room, size_t n, struct group **found)
{
	const char *all = getenv("IORAMA_TEST_GROUPS"), *at = all;
	char **member = (char **)(void *)room;
	char *text = room + 64 * sizeof(*member);
	size_t len = strlen(name), k = 0;

	*found = NULL;
	while (at != NULL && (strncmp(at, name, len) != 0 || at[len] != '='))
		at = strchr(at, ';') != NULL ? strchr(at, ';') + 1 : NULL;
	if (at == NULL)
		return 0;
	snprintf(text, n - 64 * sizeof(*member), "%.*s", (int)strcspn(at + len + 1, ";"),
		 at + len + 1);
	for (char *word = strtok(text, ","); word != NULL && k < 63; word = strtok(NULL, ","))
		member[k++] = word;
	member[k] = NULL;
	*to = (struct group){ .gr_name = text, .gr_gid = 987654, .gr_mem = member };
	*found = to;
	return 0;
}
