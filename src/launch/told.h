/* SPDX-License-Identifier: BSD-3-Clause */
/* told.h: what this room has to say while it works. Whoever called prints it, or not. */
#ifndef RAMA_LAUNCH_TOLD_H
#define RAMA_LAUNCH_TOLD_H

#include <stddef.h>

struct rama_launch_told {
	/* a line about a file, a directory or a word of the command: something is wrong */
	void (*problem)(void *ctx, const char *about, const char *line);
	/* the same, good to know; NULL: not wanted */
	void (*note)(void *ctx, const char *about, const char *line);
	/* of gathering: a whole line, and how far it is; both may be NULL */
	void (*line)(void *ctx, const char *line);
	void (*progress)(void *ctx, size_t done, size_t of);
	void *ctx;
};

void rama_launch_problem(const struct rama_launch_told *t, const char *about, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rama_launch_note(const struct rama_launch_told *t, const char *about, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
