/* SPDX-License-Identifier: BSD-3-Clause */
/* keep.h: what `iorama emulate try` shows of a log goes into a store, beside the findings of its
 * job. */
#ifndef RAMA_CLI_EMULATE_KEEP_H
#define RAMA_CLI_EMULATE_KEEP_H

#include <limits.h>

#include "emulate/config.h"
#include "emulate/try.h"

struct rama_cli_emulate_keep {
	char where[PATH_MAX];
	int64_t job;
	bool tried;
	struct rama_emu_tried t;
};

/* Before anything is run: is there such a store, and does it know the log? From then on c tells
 * what it tried. */
int rama_cli_emulate_keep_begin(struct rama_cli_emulate_keep *k, struct rama_emu_config *c,
				struct rama_err *e);
/* Under a launcher another program does the work, which `become` turns this process into: a
 * process of its own does so, with a word that names the pipe that it tells its result to. Its exit
 * status. */
int rama_cli_emulate_keep_beside(struct rama_cli_emulate_keep *k,
				 int (*become)(void *ctx, char *word), void *ctx);
/* what was tried is put there */
int rama_cli_emulate_keep_end(struct rama_cli_emulate_keep *k, const struct rama_emu_config *c,
			      struct rama_err *e);

#endif
