/* SPDX-License-Identifier: BSD-3-Clause */
/* help.h: what --help prints, in lines of less than 80 columns. */
#ifndef RAMA_BASE_FORM_HELP_H
#define RAMA_BASE_FORM_HELP_H

#include <stdio.h>

/* Lines of less than 80 columns, all but the first indented; the first line has `at` already. */
void rama_help_wrapped(FILE *f, const char *text, unsigned at, unsigned indent);
/* A command that can be copied, for its lines end with a backslash where it goes on, and under it
 * what it is for. */
void rama_help_example(FILE *f, const char *line, const char *text);

#endif
