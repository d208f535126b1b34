/* SPDX-License-Identifier: BSD-3-Clause */
/* formats.h: internal: what the rows of formats.c point to. */
#ifndef RAMA_EMULATE_FORMAT_FORMATS_H
#define RAMA_EMULATE_FORMAT_FORMATS_H

#include "emulate/graph/graph.h"

#define RAMA_EMU_FORMAT(name)                                                           \
	bool rama_emu_looks_##name(const char *bytes, size_t n);                        \
	int rama_emu_read_##name(struct rama_emu_graph *g, const char *bytes, size_t n, \
				 struct rama_err *e);                                   \
	int rama_emu_write_##name(const struct rama_emu_graph *g, struct rama_out *out, \
				  struct rama_err *e);

RAMA_EMU_FORMAT(paper)
RAMA_EMU_FORMAT(plan)
RAMA_EMU_FORMAT(wfformat)
RAMA_EMU_FORMAT(own)
RAMA_EMU_FORMAT(dot)
RAMA_EMU_FORMAT(svg)
#define RAMA_EMU_PICTURE 6000 /* tasks and data units that a picture can have */

#endif
