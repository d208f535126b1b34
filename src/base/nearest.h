/* SPDX-License-Identifier: BSD-3-Clause */
/* nearest.h: the word that somebody who mistyped it meant. */
#ifndef RAMA_BASE_NEAREST_H
#define RAMA_BASE_NEAREST_H

/* Letters that must be changed, added or left out to make b of a; two neighbours that changed
 * places are one change, and '-' is '_'. 99 for words that are longer than any of ours. */
unsigned rama_nearest_distance(const char *a, const char *b);

/* The best of several: begin with { .word = word }, offer all, then .name is the nearest or NULL.
 * A word of which more than a third (and more than two letters, of short words one) would change is
 * nobody's. */
struct rama_nearest {
	const char *word, *name;
	unsigned distance;
};

void rama_nearest_offer(struct rama_nearest *n, const char *name);

/* "; did you mean NAME?" for the end of a message, "" where nothing is near. Returns `to`. */
#define RAMA_NEAREST_HINT 100
char *rama_nearest_hint(const struct rama_nearest *n, char to[RAMA_NEAREST_HINT]);

#endif
