/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/engine.h"

#include <string.h>

#include "emulate/engines.h"

#define ENGINES_MOST 32

static const struct rama_engine *engines[ENGINES_MOST] = {
	&rama_engine_posix, &rama_engine_vector, &rama_engine_direct,
	&rama_engine_mmap,  &rama_engine_uring,	 &rama_engine_null,
};

const struct rama_engine *rama_engine_at(unsigned i)
{
	return i < ENGINES_MOST ? engines[i] : NULL;
}

const struct rama_engine *rama_engine_find(const char *name)
{
	for (unsigned i = 0; rama_engine_at(i) != NULL; i++)
		if (strcmp(engines[i]->name, name) == 0)
			return engines[i];
	return NULL;
}

void rama_engine_add(const struct rama_engine *engine)
{
	for (unsigned i = 0; i < ENGINES_MOST; i++) {
		if (engines[i] == NULL) {
			engines[i] = engine;
			return;
		}
	}
}
