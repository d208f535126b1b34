/* SPDX-License-Identifier: BSD-3-Clause */
/* err.h: how calls say what went wrong. A call returns 0 or more, or a negative RAMA_E*; the words
 * are in a struct rama_err of the caller, which each level on the way up may prefix with the place.
 * Libraries never print. */
#ifndef RAMA_BASE_ERR_H
#define RAMA_BASE_ERR_H

enum rama_error {
	RAMA_E_FIRST = -100,
#define E(name, status, text) RAMA_E##name,
#include "base/errors.def"
#undef E
	RAMA_E_LAST
};

struct rama_err {
	int code;
	char text[480];
};

/* Both return the error code, so that `return rama_err_set(e, ...)` reads well. `e` may be NULL. */
int rama_err_set(struct rama_err *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int rama_err_prefix(struct rama_err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int rama_err_no_memory(struct rama_err *e); /* RAMA_EMEMORY, "out of memory" */

const char *rama_err_text(int code);
int rama_err_status(int code); /* exit status for it */

#endif
