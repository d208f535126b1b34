/* SPDX-License-Identifier: BSD-3-Clause */
/* formats.h: internal: what the rows of formats.c point to. */
#ifndef RAMA_EMULATE_FORMATS_H
#define RAMA_EMULATE_FORMATS_H

#include "emulate/graph/graph.h"

#define RAMA_FORMAT(name)                                                       \
	bool rama_looks_##name(const char *bytes, size_t n);                    \
	int rama_read_##name(struct rama_graph *g, const char *bytes, size_t n, \
			     struct rama_err *e);                               \
	int rama_write_##name(const struct rama_graph *g, struct rama_out *out, struct rama_err *e);

RAMA_FORMAT(paper)
RAMA_FORMAT(plan)
RAMA_FORMAT(wfformat)
RAMA_FORMAT(own)
RAMA_FORMAT(dot)
RAMA_FORMAT(svg)
#define RAMA_PICTURE 6000 /* tasks and data units that a picture can have */

#endif
