/* SPDX-License-Identifier: BSD-3-Clause */
/* paper.h: text that is written as a whole or not at all. */
#ifndef RAMA_CLI_PAPER_H
#define RAMA_CLI_PAPER_H

#include "base/out.h"

/* The bytes of a buffer that only grew go to `path` (NULL or "-": standard output). 0, or the
 * exit status after the reason was printed. */
int rama_cli_paper_write(struct rama_out *o, const char *path);

#endif
