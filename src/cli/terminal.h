/* SPDX-License-Identifier: BSD-3-Clause */
/* terminal.h: how text may look where it goes: columns, colour, characters. */
#ifndef RAMA_CLI_TERMINAL_H
#define RAMA_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/opts.h"

#define RAMA_CLI_TERMINAL_LEAST 40
#define RAMA_CLI_TERMINAL_MOST 1000

struct rama_cli_terminal {
	unsigned width;
	bool colour, utf8;
};

/* From the options --width N and --color auto|always|never, else COLUMNS and the terminal
 * itself, NO_COLOR, and the locale. `to_file`: the text goes to a file, not to standard output.
 * Wrong values end the program (status 2). */
struct rama_cli_terminal rama_cli_terminal_of(const struct rama_cli_opts *o,
					      enum rama_tab_option_id width,
					      enum rama_tab_option_id colour, bool to_file);
/* The same for standard error, without options. */
struct rama_cli_terminal rama_cli_terminal_stderr(void);

/* A text of ours with words that standard output can show: without UTF-8 dots stand for an
 * ellipsis. The caller frees it. */
char *rama_cli_terminal_words(const char *text);
/* all that `put` writes, with such words */
void rama_cli_terminal_print(FILE *f, void (*put)(FILE *f, const char *about), const char *about);

#endif
