/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/layers.h"

#include "table/table.h"

enum { RAMA_TAB_MOD_NONE = RAMA_TAB_MOD_NULL }; /* which no process records */

const struct rama_tab_event_layer rama_tab_event_layer[RAMA_TAB_LAYER_ROWS] = {
#define TRACED(layer, word, name, module) { word, name, RAMA_TAB_MOD_##module },
#define EVENTS TRACED
#include "table/layers.def"
};
