/* SPDX-License-Identifier: BSD-3-Clause */
/* site.h: the name of a place in a program, as segments and logs have it:
 *
 *   @/home/u/a.out[8f3c...]+0x11a9;+0x1190;/lib/libx.so[]+0x22
 *
 * a file, its build id in hexadecimal digits ("": it has none), and the address in that file that
 * the call returns to; or, of a language that knows its lines itself, a line of source:
 *
 *   @/home/u/train.py(Loader.read):18;(main):31
 *
 * Behind a ; those follow who called that place when it was met first; one without a file is in
 * the same as the one before. */
#ifndef RAMA_BASE_CODE_SITE_H
#define RAMA_BASE_CODE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAMA_SITE_TEXT 1024 /* bytes of a name, with its NUL */
#define RAMA_SITE_BUILD 20  /* bytes of a build id, at most */

struct rama_site_pen {
	char *to;
	size_t len, room;
	size_t file, file_len; /* where the file of the last frame stands */
};

void rama_site_begin(struct rama_site_pen *p, char *to, size_t room);
/* file: NULL: the one before. false: it does not fit, and nothing was added */
bool rama_site_add(struct rama_site_pen *p, const char *file, const unsigned char *build,
		   size_t n_build, uint64_t at);
/* the same of a line of source; a file that is that of the frame before is left out */
bool rama_site_add_line(struct rama_site_pen *p, const char *file, const char *function,
			unsigned line);

struct rama_site_frame {
	const char *file; /* in the text; not ended by a NUL */
	size_t file_len;
	unsigned char build[RAMA_SITE_BUILD];
	size_t n_build;
	uint64_t at;
	const char *function; /* of a line of source, not ended by a NUL; NULL: it is an address */
	size_t function_len;
	unsigned line;
};

/* Is the text the name of a place? */
bool rama_site_is(const char *text, size_t len);
/* Walk: *at = 0 at the start; a frame that names no file keeps that of `f`. false: the end, or
 * what follows makes no sense */
bool rama_site_next(const char *text, size_t len, size_t *at, struct rama_site_frame *f);

#endif
