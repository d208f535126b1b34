/* SPDX-License-Identifier: BSD-3-Clause */
/* preload.h: LD_PRELOAD, a list of libraries with colons or blanks between them, in which one is
 * ours. Pure; all other entries stay as they are. */
#ifndef RAMA_BASE_CODE_PRELOAD_H
#define RAMA_BASE_CODE_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

/* Is our library in it? own: its path, or NULL; libiorama.so* of any place is ours too. */
bool rama_preload_has(const char *list, const char *own);
/* All four: the new list and its NUL go to `to`; false: they do not fit. It is never more than
 * what is taken, with a colon for each blank. */
/* without ours */
bool rama_preload_without(char *to, size_t size, const char *list, const char *own);
/* with `first` at the front, and once only */
bool rama_preload_first(char *to, size_t size, const char *list, const char *first);
/* without the first entry, if it is `first` */
bool rama_preload_undo(char *to, size_t size, const char *list, const char *first);
/* with ours once: in front of all but the libraries that must come first */
bool rama_preload_with(char *to, size_t size, const char *list, const char *own);

#endif
