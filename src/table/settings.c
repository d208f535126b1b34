/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/settings.h"

const struct rama_setting rama_settings[RAMA_SETTINGS] = {
#define S(symbol, variable, preset, text) { variable, preset, text },
#include "table/settings.def"
#undef S
};
