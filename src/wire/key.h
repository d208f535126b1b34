/* SPDX-License-Identifier: BSD-3-Clause */
/* key.h: which texts are keys of jobs. They become subjects of a bus, names of files and words
 * on command lines, so they hold nothing that means something there. */
#ifndef RAMA_WIRE_KEY_H
#define RAMA_WIRE_KEY_H

#include <stdbool.h>
#include <stddef.h>

/* Letters, digits and . _ / @ - , at least one of them, and a NUL within `room`. */
static inline bool rama_wire_key_valid(const char *key, size_t room)
{
	size_t i = 0;

	for (; i < room && key[i] != '\0'; i++) {
		char c = key[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '-' && c <= '9') ||
		      c == '_' || c == '@'))
			return false;
	}
	return i > 0 && i < room;
}

#endif
