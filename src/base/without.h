/* SPDX-License-Identifier: BSD-3-Clause */
/* without.h: what is said where something was left out of the build (cmake/optional.cmake). */
#ifndef RAMA_BASE_WITHOUT_H
#define RAMA_BASE_WITHOUT_H

#include "base/err.h"

/* "this iorama was built without PostgreSQL (libpq)"; RAMA_EIO, since no other input helps */
static inline int rama_err_without(struct rama_err *e, const char *what)
{
	return rama_err_set(e, RAMA_EIO, "this iorama was built without %s", what);
}

#endif
