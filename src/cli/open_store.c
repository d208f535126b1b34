/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/open_store.h"

#include <stdio.h>
#include <string.h>

#include "cli/input.h"

bool rama_store_place(const struct rama_opts *o, enum rama_option_id option, char where[PATH_MAX])
{
	const char *given = rama_opts_value(o, option);

	if (given == NULL) {
		if (rama_store_default(where, PATH_MAX))
			return true;
		rama_complain("store", "no place is known for it: neither --store, IORAMA_STORE "
				       "nor HOME is given");
		return false;
	}
	if (*given == '\0' || (size_t)snprintf(where, PATH_MAX, "%s", given) >= PATH_MAX)
		rama_opts_usage(o, "--store is the path of a file or a postgresql:// URL, not '%s'",
				given);
	return true;
}

int rama_store_here(struct rama_store **s, const struct rama_opts *o, enum rama_option_id option,
		    unsigned flags)
{
	char where[PATH_MAX], shown[PATH_MAX];
	struct rama_err e = { 0 };
	int rc;

	if (!rama_store_place(o, option, where))
		return 4;
	rc = rama_store_open(s, where, flags, &e);
	if (rc == 0)
		return 0;
	rama_complain(rama_store_shown(where, shown), "%s", e.text);
	return rama_err_status(rc);
}

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
