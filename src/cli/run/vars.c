/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run/vars.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/preload.h"

#define GLOBS_MOST 65536

char *rama_cli_vars_preload(const char *library, const struct rama_program *kind,
			    struct rama_arena *a)
{
	const char *before = getenv("LD_PRELOAD");
	size_t size = strlen(library) + (before != NULL ? strlen(before) : 0) + RAMA_ELF_NAME + 3;
	char *text = rama_arena_alloc(a, size), *more = rama_arena_alloc(a, size);

	if (text == NULL || more == NULL)
		return NULL;
	if (before == NULL)
		before = "";
	if (rama_program_stops(kind->why)) {
		rama_preload_without(text, size, before, library);
		return text;
	}
	rama_preload_with(text, size, before, library);
	if (kind->first[0] == '\0')
		return text;
	rama_preload_first(more, size, text, kind->first);
	return more;
}

char *rama_cli_vars_joined(char *const *argv, struct rama_arena *a)
{
	size_t size = 1;
	char *text, *p;

	for (size_t i = 0; argv[i] != NULL; i++)
		size += strlen(argv[i]) + 1;
	p = text = rama_arena_alloc(a, size);
	for (size_t i = 0; text != NULL && argv[i] != NULL; i++)
		p = stpcpy(stpcpy(p, i > 0 ? " " : ""), argv[i]);
	if (text != NULL)
		*p = '\0';
	return text;
}

char *rama_cli_vars_globs(struct rama_cli_opts *o, const char *variable,
			  enum rama_tab_option_id option, struct rama_arena *a)
{
	const char *before = getenv(variable), *glob;
	char *text = rama_arena_alloc(a, GLOBS_MOST);
	size_t used = 0;

	if (text == NULL)
		return NULL;
	text[0] = '\0';
	if (before != NULL && *before != '\0')
		used = (size_t)snprintf(text, GLOBS_MOST, "%s", before);
	for (size_t at = 0; (glob = rama_cli_opts_next(o, option, &at)) != NULL;)
		if (used < GLOBS_MOST)
			used += (size_t)snprintf(text + used, GLOBS_MOST - used, "%s%s",
						 used > 0 ? "\n" : "", glob);
	if (used >= GLOBS_MOST)
		rama_cli_opts_usage(o, "too many globs for %s: more than %d bytes", variable,
				    GLOBS_MOST - 1);
	return text;
}

void rama_cli_vars_check_memory(struct rama_cli_opts *o, enum rama_tab_option_id option)
{
	static const char *const units[] = { "", "K", "M", "G", "KiB", "MiB", "GiB" };
	const char *text = rama_cli_opts_value(o, option);
	size_t digits = text != NULL ? strspn(text, "0123456789") : 0;

	for (size_t i = 0; digits > 0 && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcasecmp(text + digits, units[i]) == 0)
			return;
	if (text != NULL)
		rama_cli_opts_usage(o, "a size is like 64M or 1G, not '%s'", text);
}
