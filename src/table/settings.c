/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/settings.h"

#include <stddef.h>

const struct rama_tab_setting rama_tab_settings[RAMA_TAB_SETTINGS] = {
#define S(symbol, variable, directive, preset, text) { variable, directive, preset, text },
#define D(symbol, directive, args, text)
#include "table/settings.def"
#undef S
#undef D
};

const struct rama_tab_directive rama_tab_directives[RAMA_TAB_DIRECTIVES] = {
#define S(symbol, variable, directive, preset, text)
#define D(symbol, directive, args, text) { directive, args, text },
#include "table/settings.def"
#undef S
#undef D
};
