/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/run/vars.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/code/preload.h"

#define GLOBS_MOST 65536

char *rama_launch_vars_preload(const char *library, const struct rama_program *kind,
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

char *rama_launch_vars_joined(char *const *argv, struct rama_arena *a)
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

char *rama_launch_vars_globs(const char *variable, const char *const *globs, size_t n,
			     struct rama_arena *a, struct rama_err *e)
{
	const char *before = getenv(variable);
	char *text = rama_arena_alloc(a, GLOBS_MOST);
	size_t used = 0;

	if (text == NULL) {
		rama_err_no_memory(e);
		return NULL;
	}
	text[0] = '\0';
	if (before != NULL && *before != '\0')
		used = (size_t)snprintf(text, GLOBS_MOST, "%s", before);
	for (size_t i = 0; i < n && used < GLOBS_MOST; i++)
		used += (size_t)snprintf(text + used, GLOBS_MOST - used, "%s%s",
					 used > 0 ? "\n" : "", globs[i]);
	if (used < GLOBS_MOST)
		return text;
	rama_err_set(e, RAMA_EUSAGE, "too many globs for %s: more than %d bytes", variable,
		     GLOBS_MOST - 1);
	return NULL;
}

bool rama_launch_vars_is_size(const char *text)
{
	static const char *const units[] = { "", "K", "M", "G", "KiB", "MiB", "GiB" };
	size_t digits = strspn(text, "0123456789");

	for (size_t i = 0; digits > 0 && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcasecmp(text + digits, units[i]) == 0)
			return true;
	return false;
}
