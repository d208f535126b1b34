/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/shown.h"

#include <stdio.h>
#include <string.h>

/* settings of a URL whose values are nobody's business: they go, and so does what joined them */
static void drop_setting(char *settings, const char *name)
{
	size_t n = strlen(name);

	for (char *p = settings; (p = strstr(p, name)) != NULL;) {
		size_t len = n + strcspn(p + n, "&");

		if (p[-1] != '?' && p[-1] != '&') {
			p += n;
			continue;
		}
		if (p[len] == '&')
			len++;
		else
			p--, len++; /* the last one */
		memmove(p, p + len, strlen(p + len) + 1);
	}
}

const char *rama_store_shown(const char *where, char to[PATH_MAX])
{
	const char *host = strstr(where, "://"), *at, *colon;
	char *settings;

	snprintf(to, PATH_MAX, "%s", where);
	if (host == NULL)
		return to;
	at = memchr(host + 3, '@', strcspn(host + 3, "/?"));
	colon = at != NULL ? memchr(host + 3, ':', (size_t)(at - host - 3)) : NULL;
	if (colon != NULL)
		snprintf(to, PATH_MAX, "%.*s%s", (int)(colon - where), where, at);
	settings = strchr(to, '?');
	if (settings != NULL) {
		drop_setting(settings + 1, "password=");
		drop_setting(settings + 1, "sslpassword=");
	}
	return to;
}
