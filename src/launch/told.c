/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/told.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE 8192 /* two paths and words between them */

void rama_launch_problem(const struct rama_launch_told *t, const char *about, const char *fmt, ...)
{
	char line[LINE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	t->problem(t->ctx, about, line);
}

void rama_launch_note(const struct rama_launch_told *t, const char *about, const char *fmt, ...)
{
	char line[LINE];
	va_list ap;

	if (t->note == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	t->note(t->ctx, about, line);
}
