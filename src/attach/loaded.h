/* SPDX-License-Identifier: BSD-3-Clause */
/* loaded.h: what a program or library exports, told from its bytes in the memory of a process. Its
 * file may have been replaced since, and then only root can open the old one. */
#ifndef RAMA_ATTACH_LOADED_H
#define RAMA_ATTACH_LOADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct rama_attach_loaded {
	/* false: not all of these bytes are there */
	bool (*read)(void *ctx, uint64_t at, void *to, size_t n);
	void *ctx;
	uint64_t base; /* where its first byte is */
};

/* Offset of a function or of data from there. Nothing that is read is trusted. -1: it exports no
 * such name, -2: this is no program or library, or has no table by which names are found. */
int rama_attach_loaded_find(const struct rama_attach_loaded *l, const char *name, uint64_t *offset);

/* the same in a process whose memory we may read */
int rama_attach_loaded_symbol(pid_t pid, uint64_t base, const char *name, uint64_t *offset,
			      struct rama_err *e);

#endif
