/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/shown.h"

#include <stdio.h>
#include <string.h>

const char *rama_store_shown(const char *where, char to[PATH_MAX])
{
	const char *host = strstr(where, "://"), *at, *colon;

	snprintf(to, PATH_MAX, "%s", where);
	if (host == NULL)
		return to;
	at = memchr(host + 3, '@', strcspn(host + 3, "/?"));
	colon = at != NULL ? memchr(host + 3, ':', (size_t)(at - host - 3)) : NULL;
	if (colon != NULL)
		snprintf(to, PATH_MAX, "%.*s%s", (int)(colon - where), where, at);
	return to;
}
