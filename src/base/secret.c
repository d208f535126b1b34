/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/secret.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool cover(char *from, const char *to)
{
	bool any = from < to;

	for (; from < to; from++)
		*from = 'x';
	return any;
}

static void hide_user(char *host)
{
	char *end = host + strcspn(host, "/?,"), *at = NULL, *colon;

	for (char *p = host; p < end; p++)
		at = *p == '@' ? p : at;
	colon = at != NULL ? memchr(host, ':', (size_t)(at - host)) : NULL;
	if (colon != NULL)
		cover(colon + 1, at);
}

void rama_secret_hide(char *text)
{
	static const char name[] = "password=";

	if (strstr(text, "://") == NULL)
		return;
	for (char *p = text; (p = strstr(p, "://")) != NULL; p += 3)
		hide_user(p + 3);
	for (char *p = text; (p = strstr(p, name)) != NULL;) {
		p += sizeof(name) - 1;
		cover(p, p + strcspn(p, "&"));
	}
}

void rama_secret_hide_words(int n, char **words)
{
	for (int i = 0; i < n; i++) {
		char *copy = strstr(words[i], "://") != NULL ? strdup(words[i]) : NULL;

		if (copy == NULL)
			continue;
		rama_secret_hide(words[i]);
		words[i] = copy;
	}
}
