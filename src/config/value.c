/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/value.h"

#include <stdlib.h>

const char *rama_config_value(enum rama_tab_setting_id setting)
{
	const char *value = getenv(rama_tab_settings[setting].variable);

	return value != NULL ? value : rama_tab_settings[setting].preset;
}
