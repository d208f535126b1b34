/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.h: the environment variables that are read, from settings.def. */
#ifndef RAMA_TABLE_SETTINGS_H
#define RAMA_TABLE_SETTINGS_H

enum rama_setting_id {
#define S(symbol, ...) RAMA_SET_##symbol,
#include "table/settings.def"
#undef S
	RAMA_SETTINGS
};

struct rama_setting {
	const char *variable, *preset, *text;
};

extern const struct rama_setting rama_settings[RAMA_SETTINGS];

#endif
