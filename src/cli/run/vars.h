/* SPDX-License-Identifier: BSD-3-Clause */
/* run_vars.h: values of the variables that the observing library reads, from options and from
 * what is set already. */
#ifndef RAMA_CLI_RUN_VARS_H
#define RAMA_CLI_RUN_VARS_H

#include "base/arena.h"
#include "base/program.h"
#include "cli/opts.h"

/* LD_PRELOAD for a program of this kind: ours before what is there already, or not at all where
 * the program would not start with it. "": it needs none; NULL: no memory. Where kind->first is
 * set, and the program can be observed, it wants IORAMA_RUNTIME with the same value beside it. */
char *rama_cli_vars_preload(const char *library, const struct rama_program *kind,
			    struct rama_arena *a);

/* words with blanks between them; NULL: no memory */
char *rama_cli_vars_joined(char *const *argv, struct rama_arena *a);

/* The globs of an option, joined by newlines, after those the variable holds; NULL: no memory.
 * Too many of them are wrong usage, which ends the program. */
char *rama_cli_vars_globs(struct rama_cli_opts *o, const char *variable,
			  enum rama_tab_option_id option, struct rama_arena *a);

/* The same for an option that is no size. */
void rama_cli_vars_check_memory(struct rama_cli_opts *o, enum rama_tab_option_id option);

#endif
