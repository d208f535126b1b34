/* SPDX-License-Identifier: BSD-3-Clause */
/* prom.h: figures in the text format 0.0.4 of Prometheus. */
#ifndef RAMA_BASE_FORM_PROM_H
#define RAMA_BASE_FORM_PROM_H

#include "base/out.h"

#define RAMA_PROM_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* type: gauge, counter, histogram; once before the series of a name */
void rama_prom_head(struct rama_out *o, const char *name, const char *type, const char *help);
/* a name with one series and no label */
void rama_prom_one(struct rama_out *o, const char *name, const char *type, const char *help,
		   double v);
/* a series with one or two labels; keys may be NULL. Values are texts of anybody. */
void rama_prom_series(struct rama_out *o, const char *name, const char *const key[2],
		      const char *const value[2], double v);

#endif
