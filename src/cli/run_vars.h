/* SPDX-License-Identifier: BSD-3-Clause */
/* run_vars.h: values of the variables that the observing library reads, from options and from what is set already. */
#ifndef RAMA_CLI_RUN_VARS_H
#define RAMA_CLI_RUN_VARS_H

#include "base/arena.h"
#include "cli/opts.h"

/* LD_PRELOAD: ours before what is there already; NULL: no memory */
char *rama_vars_preload(const char *library, struct rama_arena *a);

/* The globs of an option, joined by newlines, after those the variable holds; NULL: no memory. Too many of them are
 * wrong usage, which ends the program. */
char *rama_vars_globs(struct rama_opts *o, const char *variable, enum rama_option_id option,
		      struct rama_arena *a);

/* The same for an option that is no size. */
void rama_vars_check_memory(struct rama_opts *o, enum rama_option_id option);

#endif
