/* SPDX-License-Identifier: BSD-3-Clause */
/* dot.c: Graphviz: tasks are boxes, data are ellipses; what is not strict is dashed, what
 * is fed back is red. */
#include "emulate/format/formats.h"

static void put_text(struct rama_out *out, const char *text)
{
	rama_out_char(out, '"');
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			rama_out_char(out, '\\');
		rama_out_char(out, (unsigned char)*c < ' ' ? ' ' : *c);
	}
	rama_out_char(out, '"');
}

static void put_style(struct rama_out *out, bool strict, bool feedback)
{
	if (feedback)
		rama_out_text(out, " [style=dashed, color=\"#c53030\", constraint=false]");
	else if (!strict)
		rama_out_text(out, " [style=dashed]");
	rama_out_text(out, ";\n");
}

int rama_emu_write_dot(const struct rama_emu_graph *g, struct rama_out *out, struct rama_err *e)
{
	(void)e;
	rama_out_text(out, "digraph ");
	put_text(out, g->name);
	rama_out_text(out, " {\n\tnode [fontname=\"sans-serif\"];\n");
	for (uint32_t i = 0; i < g->n_tasks; i++) {
		rama_out_fmt(out,
			     "\tt%u [shape=box, style=filled, fillcolor=\"#ebf4ff\", label=", i);
		put_text(out, g->tasks[i].name);
		rama_out_text(out, "];\n");
	}
	for (uint32_t i = 0; i < g->n_data; i++) {
		rama_out_fmt(out, "\td%u [label=", i);
		put_text(out, g->data[i].name);
		rama_out_text(out, "];\n");
	}
	for (uint32_t i = 0; i < g->n_edges; i++) {
		const struct rama_emu_edge *x = &g->edges[i];

		if (x->write)
			rama_out_fmt(out, "\tt%u -> d%u", x->task, x->data);
		else
			rama_out_fmt(out, "\td%u -> t%u", x->data, x->task);
		put_style(out, x->strict, x->feedback);
	}
	for (uint32_t i = 0; i < g->n_afters; i++) {
		rama_out_fmt(out, "\tt%u -> t%u", g->afters[i].before, g->afters[i].after);
		put_style(out, g->afters[i].strict, g->afters[i].feedback);
	}
	rama_out_text(out, "}\n");
	return out->error;
}
