/* SPDX-License-Identifier: BSD-3-Clause */
/* ini.h: files of 'name = value' in sections, read by libinih, with the numbers of lines. In a
 * header, since only the rooms that read such files are linked with that library. */
#ifndef RAMA_BASE_INI_H
#define RAMA_BASE_INI_H
#ifndef RAMA_WITHOUT_INIH

#include <ini.h>
#include <stdio.h>

#include "base/err.h"

/* first member of what on_value gets */
struct rama_ini {
	const char *name; /* of the file */
	struct rama_err *e;
	FILE *file;
	int line, rc; /* rc: of the first value that is wrong; what follows is to be passed over */
};

/* libinih tells the number of a line only when it cannot read it itself */
static inline char *rama_ini_line(char *to, int room, void *ctx)
{
	struct rama_ini *r = ctx;
	char *line = fgets(to, room, r->file);

	if (line != NULL)
		r->line++;
	return line;
}

/* section: how its head looks, for who wrote something else */
static inline int rama_ini_read(struct rama_ini *r, ini_handler on_value, const char *section)
{
	int wrong = ini_parse_stream(rama_ini_line, r, on_value, r);

	if (r->rc != 0)
		return r->rc;
	if (wrong > 0)
		return rama_err_set(r->e, RAMA_EFORMAT,
				    "%s: line %d: expected 'name = value' or '%s'", r->name, wrong,
				    section);
	if (wrong < 0)
		return rama_err_set(r->e, RAMA_EMEMORY, "%s: %s", r->name,
				    rama_err_text(RAMA_EMEMORY));
	if (ferror(r->file))
		return rama_err_set(r->e, RAMA_EIO, "%s: %s", r->name, rama_err_text(RAMA_EIO));
	return 0;
}

#endif
#endif
