/* SPDX-License-Identifier: BSD-3-Clause */
/* group.h: files for which there is no room of their own are counted in groups: of a directory, of
 * those whose names differ in digits only. So totals stay true, and it is known where they lie. */
#ifndef RAMA_CORE_GROUP_H
#define RAMA_CORE_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#define RAMA_CORE_GROUP_TEXT 512 /* bytes of its name, with the NUL */

/* The name of the group that a path belongs to: "/data/train/<img#.jpg>" of
 * "/data/train/img0017.jpg"; coarse: "/data/run#/<img#.jpg>" of "/data/run7/img0017.jpg", but for
 * the first two parts, which tell the file system. 0: none: it is no path, or too long. */
size_t rama_core_group_name(char *to, const char *path, size_t len, bool coarse);
bool rama_core_group_is(const char *name, size_t len);

#endif
