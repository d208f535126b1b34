/* SPDX-License-Identifier: BSD-3-Clause */
/* source.h: bytes at offsets, wherever they are: a file, memory, a pipe that was read in. */
#ifndef RAMA_BASE_SOURCE_H
#define RAMA_BASE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct rama_source {
	uint64_t size;
	/* all of [off, off + n), which the caller has checked against size; 0 or a negative
	 * error */
	int (*read)(void *ctx, uint64_t off, void *buf, size_t n, struct rama_err *e);
	void *ctx;
};

/* memory that outlives the source */
void rama_source_memory(struct rama_source *s, const void *bytes, size_t n);

#endif
