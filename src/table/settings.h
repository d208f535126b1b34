/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.h: the environment variables that are read and the lines of a config file, from
 * settings.def. */
#ifndef RAMA_TABLE_SETTINGS_H
#define RAMA_TABLE_SETTINGS_H

enum rama_tab_setting_id {
#define S(symbol, ...) RAMA_TAB_SET_##symbol,
#define D(symbol, ...)
#include "table/settings.def"
#undef S
#undef D
	RAMA_TAB_SETTINGS
};

enum rama_tab_directive_id {
#define S(symbol, ...)
#define D(symbol, ...) RAMA_CONFIG_DIRECTIVE_##symbol,
#include "table/settings.def"
#undef S
#undef D
	RAMA_TAB_DIRECTIVES
};

struct rama_tab_setting {
	const char *variable;
	const char *directive; /* of a config file, or NULL */
	const char *preset, *text;
};

/* what only a config file can say */
struct rama_tab_directive {
	const char *name, *args, *text;
};

extern const struct rama_tab_setting rama_tab_settings[RAMA_TAB_SETTINGS];
extern const struct rama_tab_directive rama_tab_directives[RAMA_TAB_DIRECTIVES];

#endif
