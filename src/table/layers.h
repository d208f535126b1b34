/* SPDX-License-Identifier: BSD-3-Clause */
/* layers.h: the layers that events are of, as an array: rows of layers.def. */
#ifndef RAMA_TABLE_LAYERS_H
#define RAMA_TABLE_LAYERS_H

#include <stdint.h>

enum {
#define TRACED(layer, ...) RAMA_TAB_LAYER_ROW_##layer,
#define EVENTS TRACED
#include "table/layers.def"
	RAMA_TAB_LAYER_ROWS
};

struct rama_tab_event_layer {
	const char *word; /* in settings and options */
	const char *name; /* for people, and in messages */
	/* that says whether its reads and writes are traced: RAMA_TAB_MOD_...; 0: it has none */
	uint8_t trace;
};
/* by enum rama_seg_layer of segment/layout.h */
extern const struct rama_tab_event_layer rama_tab_event_layer[RAMA_TAB_LAYER_ROWS];

#endif
