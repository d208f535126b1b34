/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/form/text.h"

static const struct {
	const char *text;
	int status;
} errors[] = {
#define E(name, status, text) { text, status },
#include "base/errors.def"
#undef E
};

/* Names in it come from files and other users: on a terminal they must not do anything. */
int rama_err_set(struct rama_err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (e == NULL)
		return code;
	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	rama_text_tame(e->text);
	return code;
}

int rama_err_prefix(struct rama_err *e, const char *fmt, ...)
{
	char text[sizeof(e->text)];
	va_list ap;
	int n;

	if (e == NULL)
		return RAMA_ECORRUPT;
	memcpy(text, e->text, sizeof(text));
	va_start(ap, fmt);
	n = vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n + 3 < sizeof(e->text))
		snprintf(e->text + n, sizeof(e->text) - (size_t)n, ": %.*s",
			 (int)(sizeof(e->text) - (size_t)n - 3), text);
	rama_text_tame(e->text);
	return e->code;
}

int rama_err_no_memory(struct rama_err *e)
{
	return rama_err_set(e, RAMA_EMEMORY, "out of memory");
}

const char *rama_err_text(int code)
{
	return code > RAMA_E_FIRST && code < RAMA_E_LAST ? errors[code - RAMA_E_FIRST - 1].text
							 : "no error";
}

int rama_err_status(int code)
{
	return code > RAMA_E_FIRST && code < RAMA_E_LAST ? errors[code - RAMA_E_FIRST - 1].status
							 : 0;
}
