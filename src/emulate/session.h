/* SPDX-License-Identifier: BSD-3-Clause */
/* session.h: one run from the side of a program: the iorama program with local processes, a
 * worker under a launcher. */
#ifndef RAMA_EMULATE_SESSION_H
#define RAMA_EMULATE_SESSION_H

#include "emulate/config.h"
#include "emulate/team/team.h"

/* Carries out the run; on rank 0 the result goes to standard output, or to --output, complete or
 * not at all; how far it is is shown if standard error is a terminal. */
int rama_emu_session_run(struct rama_emu_config *cfg, struct rama_emu_team *team,
			 struct rama_err *e);

#endif
