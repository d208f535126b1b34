/* SPDX-License-Identifier: BSD-3-Clause */
/* shown.h: the place of a store for people. */
#ifndef RAMA_STORE_SHOWN_H
#define RAMA_STORE_SHOWN_H

#include <limits.h>

/* the place as it may be shown: without the password of a URL */
const char *rama_store_shown(const char *where, char to[PATH_MAX]);

#endif
