/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/settings.h"

#include <stddef.h>

const struct rama_setting rama_settings[RAMA_SETTINGS] = {
#define S(symbol, variable, directive, preset, text) { variable, directive, preset, text },
#define D(symbol, directive, args, text)
#include "table/settings.def"
#undef S
#undef D
};

const struct rama_directive rama_directives[RAMA_DIRECTIVES] = {
#define S(symbol, variable, directive, preset, text)
#define D(symbol, directive, args, text) { directive, args, text },
#include "table/settings.def"
#undef S
#undef D
};
