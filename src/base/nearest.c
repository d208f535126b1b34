/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/nearest.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define LONGEST 62

static char plain(char c)
{
	return c == '-' ? '_' : c;
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned rama_nearest_distance(const char *a, const char *b)
{
	unsigned row[3][LONGEST + 2]; /* of this letter, the one before and the one before that */
	size_t na = strlen(a), nb = strlen(b);

	if (na > LONGEST || nb > LONGEST)
		return 99;
	for (unsigned k = 0; k <= nb; k++)
		row[0][k] = k;
	for (size_t i = 1; i <= na; i++) {
		unsigned *now = row[i % 3];
		const unsigned *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t k = 1; k <= nb; k++) {
			char x = plain(a[i - 1]), y = plain(b[k - 1]);

			now[k] = least(last[k - 1] + (x != y), least(last[k], now[k - 1]) + 1);
			if (i > 1 && k > 1 && x == plain(b[k - 2]) && y == plain(a[i - 2]))
				now[k] = least(now[k], before[k - 2] + 1);
		}
	}
	return row[na % 3][nb];
}

void rama_nearest_offer(struct rama_nearest *n, const char *name)
{
	size_t letters = strlen(n->word);
	unsigned limit = letters > 6 ? (unsigned)letters / 3 : letters > 3 ? 2 : 1;
	unsigned d = rama_nearest_distance(n->word, name);

	/* "-x" for "--exclude" changes nearly all: no letter in common is no guess */
	if (d > limit || d >= letters || (n->name != NULL && d >= n->distance))
		return;
	n->name = name;
	n->distance = d;
}

char *rama_nearest_hint(const struct rama_nearest *n, char to[RAMA_NEAREST_HINT])
{
	to[0] = '\0';
	if (n->name != NULL)
		snprintf(to, RAMA_NEAREST_HINT, "; did you mean %.70s?", n->name);
	return to;
}
