/* SPDX-License-Identifier: BSD-3-Clause */
/* layers.h: the rows of layers.def as an array. */
#ifndef RAMA_TABLE_LAYERS_H
#define RAMA_TABLE_LAYERS_H

enum {
#define LAYER(layer, word, name) RAMA_JOB_LAYER_ROW_##layer,
#include "table/layers.def"
#undef LAYER
	RAMA_TAB_LAYER_ROWS
};

struct rama_tab_event_layer {
	const char *word; /* in settings and options */
	const char *name; /* for people, and in messages */
};
/* by enum rama_seg_layer of segment/layout.h */
extern const struct rama_tab_event_layer rama_tab_event_layer[RAMA_TAB_LAYER_ROWS];

#endif
