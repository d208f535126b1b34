/* SPDX-License-Identifier: BSD-3-Clause */
/* line.h: one line at the bottom of the terminal, which the command does not scroll away. */
#ifndef RAMA_CLI_RUN_LINE_H
#define RAMA_CLI_RUN_LINE_H

struct rama_cli_run_line;

/* of the job whose segments are there; NULL: this terminal cannot, or there is none */
struct rama_cli_run_line *rama_cli_run_line_create(const char *dir);
void rama_cli_run_line_second(struct rama_cli_run_line *l);
void rama_cli_run_line_say(struct rama_cli_run_line *l, const char *text);
void rama_cli_run_line_hide(struct rama_cli_run_line *l);
void rama_cli_run_line_destroy(struct rama_cli_run_line *l);

#endif
