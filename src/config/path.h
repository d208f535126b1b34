/* SPDX-License-Identifier: BSD-3-Clause */
/* path.h: the name under which a path is recorded: absolute, without // and /./ in it; links and ..
 * stay, as resolving them would need the file system. */
#ifndef RAMA_CONFIG_PATH_H
#define RAMA_CONFIG_PATH_H

#include <stddef.h>

/* `base` is the current directory; it is put before a relative path. A path that is NULL, empty
 * or begins with '<' is taken as it is. Length of the text in `to`, or -1: it does not fit. `to`
 * must not overlap the others. */
long rama_config_path_clean(char *to, size_t room, const char *base, const char *path);

/* The same for openat() and its relatives: `dir` is the name of the directory's descriptor, and an
 * empty path means that directory itself. */
long rama_config_path_clean_at(char *to, size_t room, const char *dir, const char *path);

/* "ufs:/x" is /x: what stands before the first colon names a kind of file system to MPI and the
 * libraries above it. A single letter is a drive. NULL stays NULL. */
const char *rama_config_path_without_prefix(const char *path);

#endif
