/* SPDX-License-Identifier: BSD-3-Clause */
/* graphs.h: what tests of graphs share. */
#ifndef TESTS_UNIT_EMULATE_GRAPHS_H
#define TESTS_UNIT_EMULATE_GRAPHS_H

#include "unit.h"

#include "emulate/graph/graph.h"

static inline void must_read(struct rama_emu_graph *g, const char *text)
{
	struct rama_err e = { 0 };

	rama_emu_graph_init(g);
	if (rama_emu_graph_read(g, NULL, text, strlen(text), &e) != 0)
		fail_msg("%s", e.text);
}

/* the graph as text of that format, to be freed */
static inline char *written(const struct rama_emu_graph *g, const char *format)
{
	struct rama_out out;
	struct rama_err e = { 0 };

	rama_out_init(&out, NULL, NULL);
	for (unsigned i = 0; i < rama_emu_n_graph_formats; i++)
		if (strcmp(rama_emu_graph_formats[i].name, format) == 0)
			assert_int_equal(rama_emu_graph_formats[i].write(g, &out, &e), 0);
	rama_out_char(&out, '\0');
	return out.buf;
}

#endif
