/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/source.h"

#include <string.h>

static int read_memory(void *ctx, uint64_t off, void *buf, size_t n, struct rama_err *e)
{
	(void)e;
	memcpy(buf, (const char *)ctx + off, n);
	return 0;
}

void rama_source_memory(struct rama_source *s, const void *bytes, size_t n)
{
	*s = (struct rama_source){ .size = n,
				   .read = read_memory,
				   .ctx = (void *)(uintptr_t)bytes };
}
