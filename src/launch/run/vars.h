/* SPDX-License-Identifier: BSD-3-Clause */
/* vars.h: values of the variables that the observing library reads, from options and from
 * what is set already. */
#ifndef RAMA_LAUNCH_RUN_VARS_H
#define RAMA_LAUNCH_RUN_VARS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/code/program.h"

/* LD_PRELOAD for a program of this kind: ours before what is there already, or not at all where
 * the program would not start with it. "": it needs none; NULL: no memory. Where kind->first is
 * set, and the program can be observed, it wants IORAMA_RUNTIME with the same value beside it. */
char *rama_launch_vars_preload(const char *library, const struct rama_program *kind,
			       struct rama_arena *a);

/* words with blanks between them; NULL: no memory */
char *rama_launch_vars_joined(char *const *argv, struct rama_arena *a);

/* Globs, joined by newlines, after those the variable holds already; NULL with an error: no memory,
 * or too many of them (RAMA_EUSAGE). */
char *rama_launch_vars_globs(const char *variable, const char *const *globs, size_t n,
			     struct rama_arena *a, struct rama_err *e);

/* Is it a size as the library takes it? "64M" */
bool rama_launch_vars_is_size(const char *text);

#endif
