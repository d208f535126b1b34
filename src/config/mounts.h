/* SPDX-License-Identifier: BSD-3-Clause */
/* mounts.h: the file systems that a log names, from the text of /proc/self/mounts or /etc/mtab. */
#ifndef RAMA_CONFIG_MOUNTS_H
#define RAMA_CONFIG_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAMA_CONFIG_MOUNTS 64
#define RAMA_CONFIG_MOUNTS_TEXT 8192

struct rama_config_mount_point {
	uint16_t path, path_len; /* place in text; a NUL follows both path and type */
	uint16_t type;
	int64_t block; /* left to the caller: block size, 0 = not asked yet */
};

struct rama_config_mounts {
	unsigned n;
	unsigned used; /* bytes of text */
	struct rama_config_mount_point mount[RAMA_CONFIG_MOUNTS];
	char text[RAMA_CONFIG_MOUNTS_TEXT];
};

/* in the order of the log; what is beyond the limits is left out */
void rama_config_mounts_parse(struct rama_config_mounts *m, const char *text, size_t len);

/* number of the mount that the path lies in, -1: none */
int rama_config_mounts_find(const struct rama_config_mounts *m, const char *path, size_t len);

/* does the path lie in a mount of this type? path NULL: is there any? */
bool rama_config_mounts_is_on(const struct rama_config_mounts *m, const char *path, size_t len,
			      const char *type);

/* "path\ttype\n" lines and a NUL; whole lines only. Bytes without the NUL. */
size_t rama_config_mounts_encode(const struct rama_config_mounts *m, char *to, size_t room);

static inline const char *rama_config_mount_path(const struct rama_config_mounts *m, unsigned i)
{
	return m->text + m->mount[i].path;
}

static inline const char *rama_config_mount_type(const struct rama_config_mounts *m, unsigned i)
{
	return m->text + m->mount[i].type;
}

#endif
