/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/form/prom.h"

void rama_prom_head(struct rama_out *o, const char *name, const char *type, const char *help)
{
	rama_out_fmt(o, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void rama_prom_one(struct rama_out *o, const char *name, const char *type, const char *help,
		   double v)
{
	rama_prom_head(o, name, type, help);
	rama_out_fmt(o, "%s %.17g\n", name, v);
}

static void label(struct rama_out *o, const char *key, const char *value)
{
	rama_out_text(o, key);
	rama_out_text(o, "=\"");
	for (; *value != '\0'; value++) {
		if (*value == '"' || *value == '\\')
			rama_out_char(o, '\\');
		if (*value == '\n')
			rama_out_text(o, "\\n");
		else
			rama_out_char(o, *value);
	}
	rama_out_char(o, '"');
}

void rama_prom_series(struct rama_out *o, const char *name, const char *const key[2],
		      const char *const value[2], double v)
{
	rama_out_text(o, name);
	if (key[0] != NULL) {
		rama_out_char(o, '{');
		label(o, key[0], value[0]);
		if (key[1] != NULL) {
			rama_out_char(o, ',');
			label(o, key[1], value[1]);
		}
		rama_out_char(o, '}');
	}
	rama_out_fmt(o, " %.17g\n", v);
}
