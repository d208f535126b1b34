/* SPDX-License-Identifier: BSD-3-Clause */
/* paper.h: where text goes: as a whole or not at all, or as it comes. */
#ifndef RAMA_CLI_PAPER_H
#define RAMA_CLI_PAPER_H

#include "base/out.h"
#include "cli/opts.h"
#include "report/form.h"

/* The bytes of a buffer that only grew go to `path` (NULL or "-": standard output). 0, or the
 * exit status after the reason was printed. */
int rama_cli_paper_write(struct rama_out *o, const char *path);

/* what the file of a figure is to be, by the end of its name; ends the program where it cannot */
void rama_cli_figure_file(const struct rama_cli_opts *o, enum rama_tab_option_id output,
			  enum rama_report_file *file);

/* Standard output as something that is written as it comes. end: 0, or the exit status after the
 * reason was printed; a reader that has gone has seen enough. */
void rama_cli_stdout_begin(struct rama_out *out);
int rama_cli_stdout_end(struct rama_out *out);

#endif
