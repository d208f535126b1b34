/* SPDX-License-Identifier: BSD-3-Clause */
/* engines.h: internal: what engine files share. posix.c has the list of them. */
#ifndef RAMA_EMULATE_ENGINE_ENGINES_H
#define RAMA_EMULATE_ENGINE_ENGINES_H

#include "emulate/engine/engine.h"

extern const struct rama_emu_engine rama_emu_engine_mmap, rama_emu_engine_uring;

/* Opens the file of a handle: to write through what the run owns. -1: errno says why. */
int rama_emu_engine_fd(const struct rama_emu_handle *h, int flags, int more);
/* "PATH: at OFFSET: reason" */
int rama_emu_engine_error(const struct rama_emu_handle *h, const char *what, int64_t off,
			  int number, struct rama_err *e);

#endif
