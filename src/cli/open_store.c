/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/open_store.h"

#include <stdio.h>
#include <string.h>

#include "cli/input.h"
#include "query/open.h"

bool rama_cli_store_place(const struct rama_cli_opts *o, enum rama_tab_option_id option,
			  char where[PATH_MAX])
{
	const char *given = rama_cli_opts_value(o, option);

	if (given == NULL) {
		if (rama_store_default(where, PATH_MAX))
			return true;
		rama_cli_complain("store",
				  "no place is known for it: neither --store, IORAMA_STORE "
				  "nor HOME is given");
		return false;
	}
	if (*given == '\0' || (size_t)snprintf(where, PATH_MAX, "%s", given) >= PATH_MAX)
		rama_cli_opts_usage(
			o, "--store is the path of a file or a postgresql:// URL, not '%s'", given);
	return true;
}

int rama_cli_store_here(struct rama_store **s, const struct rama_cli_opts *o,
			enum rama_tab_option_id option, unsigned flags)
{
	char where[PATH_MAX], shown[PATH_MAX];
	struct rama_err e = { 0 };
	int rc;

	if (!rama_cli_store_place(o, option, where))
		return 4;
	rc = (flags & RAMA_STORE_WRITE) == 0 ? rama_query_open(s, where, flags, &e)
					     : rama_store_open(s, where, flags, &e);
	if (rc == 0)
		return 0;
	rama_cli_complain(rama_store_shown(where, shown), "%s", e.text);
	return rama_err_status(rc);
}

int rama_cli_store_events(const struct rama_cli_opts *o, enum rama_tab_option_id store,
			  enum rama_tab_option_id events)
{
	const char *url = rama_cli_opts_value(o, events);
	struct rama_store *s = NULL;
	struct rama_err e = { 0 };
	int rc = 0, status;

	if (url == NULL)
		return 0;
	status = rama_cli_store_here(&s, o, store, RAMA_STORE_WRITE | RAMA_STORE_CREATE);
	if (status == 0)
		rc = rama_store_events_at(s, url, false, &e);
	rama_store_close(s);
	if (rc != 0)
		rama_cli_complain("events", "%s", e.text);
	return rc != 0 ? rama_err_status(rc) : status;
}
