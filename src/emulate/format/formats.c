/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/format/formats.h"

#define READ_WRITE(name) rama_emu_looks_##name, rama_emu_read_##name, rama_emu_write_##name
#define READ(name) rama_emu_looks_##name, rama_emu_read_##name, NULL
#define WRITE(name) NULL, NULL, rama_emu_write_##name

const struct rama_emu_graph_format rama_emu_graph_formats[] = {
	{ "iorama", "sections [task NAME], [data NAME]: everything that can be said",
	  READ_WRITE(own) },
	{ "paper", "lines TASK, DATA, APP, PARENT ... CHILD ... of the Wemul paper",
	  READ_WRITE(paper) },
	{ "plan", "sections READ, WRITE, NONSTRICT, STAGES: Wemul's execution plan", READ(plan) },
	{ "wfformat", "WfCommons' JSON, versions 1.0 to 1.5 (1.5 is written)",
	  READ_WRITE(wfformat) },
	{ "dot", "Graphviz, to look at", WRITE(dot) },
	{ "svg", "a picture, of not too many tasks", WRITE(svg) },
};
const unsigned rama_emu_n_graph_formats =
	sizeof(rama_emu_graph_formats) / sizeof(rama_emu_graph_formats[0]);
