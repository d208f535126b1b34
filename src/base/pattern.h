/* SPDX-License-Identifier: BSD-3-Clause */
/* pattern.h: POSIX extended regular expressions and globs, without malloc, recursion or
 * backtracking: time is at most length of the text times states of the pattern. All memory is in
 * the caller's struct, which may be copied. Bytes, not characters; letter case counts; no
 * back-references. */
#ifndef RAMA_BASE_PATTERN_H
#define RAMA_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RAMA_PATTERN_STATES 512 /* of one pattern */
#define RAMA_PATTERN_NODES 4096 /* of all patterns together */
#define RAMA_PATTERN_SETS 128
#define RAMA_PATTERNS 128

enum rama_pattern_kind {
	RAMA_PATTERN_REGEX, /* found anywhere in the text */
	RAMA_PATTERN_GLOB   /* the whole text; * and ? match a slash too */
};

struct rama_pattern_node {
	uint8_t op, arg;
	int16_t to; /* distance of a jump, or number of a set */
};

struct rama_pattern_set {
	uint64_t bits[4];
};

struct rama_pattern {
	uint16_t first, n; /* its nodes */
	bool anchored;	   /* can match at the start of the text only */
};

struct rama_patterns {
	unsigned n, n_nodes, n_sets;
	struct rama_pattern pattern[RAMA_PATTERNS];
	struct rama_pattern_node node[RAMA_PATTERN_NODES];
	struct rama_pattern_set set[RAMA_PATTERN_SETS];
};

void rama_patterns_init(struct rama_patterns *ps);

/* Number of the new pattern, or RAMA_EUSAGE (wrong) or RAMA_ELIMIT (too large), with constant
 * words in *why; nothing is added then. */
int rama_patterns_add(struct rama_patterns *ps, enum rama_pattern_kind kind, const char *text,
		      size_t len, const char **why);

/* async-signal-safe; about 4 KiB of stack */
bool rama_patterns_match(const struct rama_patterns *ps, unsigned pattern, const char *text,
			 size_t len);

#endif
