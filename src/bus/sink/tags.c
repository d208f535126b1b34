/* SPDX-License-Identifier: BSD-3-Clause */
#include "bus/sink/tags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/siphash.h"

/* jobs that are remembered; then it begins anew, and running ones say their tag again and again */
#define MOST 65536u

static uint64_t key_of(const char *job)
{
	static const struct rama_sipkey salt = { 0x696f72616d610001ull, 0x7461677300000002ull };

	return rama_siphash(&salt, job, strlen(job));
}

static bool have_room(struct rama_bus_tags *t)
{
	if (t->n == MOST)
		rama_bus_tags_fini(t);
	return RAMA_GROW(t->tag, t->room, t->n + 1);
}

const char *rama_bus_tags_of(struct rama_bus_tags *t, const char *job, const char *said,
			     const char *otherwise)
{
	uint64_t *at = rama_map_get(&t->jobs, key_of(job));
	bool fresh;

	if (*said != '\0') {
		if (at == NULL && have_room(t)) {
			at = rama_map_put(&t->jobs, key_of(job), &fresh);
			if (at != NULL)
				*at = ++t->n;
		}
		if (at == NULL)
			return said;
		snprintf(t->tag[*at - 1].text, sizeof t->tag->text, "%s", said);
	}
	return at != NULL ? t->tag[*at - 1].text : otherwise;
}

void rama_bus_tags_fini(struct rama_bus_tags *t)
{
	rama_map_fini(&t->jobs);
	free(t->tag);
	memset(t, 0, sizeof *t);
}
