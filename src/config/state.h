/* SPDX-License-Identifier: BSD-3-Clause */
/* state.h: where what outlives us goes. */
#ifndef RAMA_CONFIG_STATE_H
#define RAMA_CONFIG_STATE_H

#include <stdbool.h>
#include <stddef.h>

/* $XDG_STATE_HOME/iorama/NAME, or what is meant without it; false: there is no home, or it does
 * not fit */
bool rama_config_state_place(char *to, size_t size, const char *name);
/* Makes the directory, and those above it if the path is absolute, for this user alone; false with
 * errno: it cannot be. */
bool rama_config_state_make(char *path);

#endif
