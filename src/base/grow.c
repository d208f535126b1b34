/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 16

bool rama_grow(void *list, size_t *room, size_t need, size_t item)
{
	size_t more = *room < FIRST / 2 ? FIRST : *room * 2;
	void *old, *p;

	if (need <= *room)
		return true;
	if (more < need)
		more = need;
	if (more > SIZE_MAX / 2 / item)
		return false;
	/* a pointer to anything is copied as bytes: its type is only the caller's */
	memcpy(&old, list, sizeof(old));
	p = realloc(old, more * item);
	if (p == NULL)
		return false;
	memcpy(list, &p, sizeof(p));
	*room = more;
	return true;
}
