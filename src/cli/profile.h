/* SPDX-License-Identifier: BSD-3-Clause */
/* profile.h: the limits of the rules, as site, user and command line want them. */
#ifndef RAMA_CLI_PROFILE_H
#define RAMA_CLI_PROFILE_H

#include "cli/opts.h"
#include "diagnose/diagnose.h"

/* Reads /etc/iorama/profile.ini and ~/.config/iorama/profile.ini where they are, then
 * IORAMA_PROFILE, then every FILE of `option`. 0, or the exit status after the reason was
 * printed; then nothing is left to free. */
int rama_cli_profile_load(struct rama_diag_profile *p, const struct rama_cli_opts *o,
			  enum rama_tab_option_id option);

#endif
