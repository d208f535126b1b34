/* SPDX-License-Identifier: BSD-3-Clause */
/* literal.h: names as literals of a language. Names of files are whatever an application chose:
 * they hold quotes, ends of comments, commands for shells and terminals. A literal stands for
 * exactly these bytes and holds nothing else. */
#ifndef RAMA_DIAGNOSE_LITERAL_H
#define RAMA_DIAGNOSE_LITERAL_H

#include "base/out.h"

enum rama_diag_language {
	RAMA_DIAG_LANGUAGE_C,
	RAMA_DIAG_LANGUAGE_FORTRAN,
	RAMA_DIAG_LANGUAGE_PYTHON,
	RAMA_DIAG_LANGUAGE_SHELL,
	RAMA_DIAG_LANGUAGES
};

/* "C", "Fortran", "Python", "shell" */
extern const char *const rama_diag_language_name[RAMA_DIAG_LANGUAGES];

/* appends s as a literal, quotes included */
void rama_diag_literal(struct rama_out *o, enum rama_diag_language language, const char *s);
/* a word of a command line, which may be an option */
void rama_diag_shell_word(struct rama_out *o, const char *s);

#endif
