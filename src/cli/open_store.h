/* SPDX-License-Identifier: BSD-3-Clause */
/* open_store.h: the store that a command line names, or the usual one. */
#ifndef RAMA_CLI_OPEN_STORE_H
#define RAMA_CLI_OPEN_STORE_H

#include <limits.h>

#include "cli/opts.h"
#include "store/shown.h"
#include "store/store.h"

/* its place: the value of the option, or the default; false after the reason was printed */
bool rama_cli_store_place(const struct rama_cli_opts *o, enum rama_tab_option_id option,
			  char where[PATH_MAX]);
/* 0, or the exit status after the reason was printed */
int rama_cli_store_here(struct rama_store **s, const struct rama_cli_opts *o,
			enum rama_tab_option_id option, unsigned flags);
/* where blocks of its events go: the value of that option, if it is given */
int rama_cli_store_events(const struct rama_cli_opts *o, enum rama_tab_option_id store,
			  enum rama_tab_option_id events);

#endif
