/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/layers.h"

const struct rama_tab_event_layer rama_tab_event_layer[RAMA_TAB_LAYER_ROWS] = {
#define LAYER(layer, word, name) { word, name },
#include "table/layers.def"
#undef LAYER
};
