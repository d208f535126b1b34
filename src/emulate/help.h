/* SPDX-License-Identifier: BSD-3-Clause */
/* help.h: what `iorama emulate --help` and `iorama emulate MODE --help` print. */
#ifndef RAMA_EMULATE_HELP_H
#define RAMA_EMULATE_HELP_H

#include <stdio.h>

void rama_emu_help_modes(FILE *f);
/* parameters of one mode, or (NULL) of all */
void rama_emu_help(FILE *f, const char *mode);

#endif
