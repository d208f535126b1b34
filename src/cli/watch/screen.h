/* SPDX-License-Identifier: BSD-3-Clause */
/* screen.h: `iorama watch` on the whole screen. */
#ifndef RAMA_CLI_WATCH_SCREEN_H
#define RAMA_CLI_WATCH_SCREEN_H

#include "look/watch/watch.h"

/* until the user has enough; the exit status */
int rama_cli_watch_screen(struct rama_look *l, struct rama_look_watch_view *v,
			  const struct rama_look_watch_about *a, const char *word, bool colour);

#endif
