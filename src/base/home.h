/* SPDX-License-Identifier: BSD-3-Clause */
/* home.h: where the user's own files are. Not for the library inside programs: it asks the
 * database of users. */
#ifndef RAMA_BASE_HOME_H
#define RAMA_BASE_HOME_H

#include <stdbool.h>
#include <stddef.h>

/* HOME, or what the system says where that is not set, as for services and in some batch systems.
 * False, and empty: nobody knows; then nothing of ours belongs below "/". */
bool rama_home(char *to, size_t room);

#endif
