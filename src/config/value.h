/* SPDX-License-Identifier: BSD-3-Clause */
/* value.h: what a variable of this process says, for those who may look at the environment. */
#ifndef RAMA_CONFIG_VALUE_H
#define RAMA_CONFIG_VALUE_H

#include "table/settings.h"

/* its value, or what holds without it */
const char *rama_config_value(enum rama_tab_setting_id setting);

#endif
