/* SPDX-License-Identifier: BSD-3-Clause */
/* mapped.h: files that a process has mapped, as its /proc/PID/maps tells them, and how to read what
 * it runs: a program or library may have been replaced on disk since it was started. */
#ifndef RAMA_ATTACH_MAPPED_H
#define RAMA_ATTACH_MAPPED_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RAMA_ATTACH_MAPPED_PATH (PATH_MAX + 64)

struct rama_attach_mapped {
	uint64_t from, end;
	/* within the line; ends with " (deleted)" when its name is another file's now */
	char *path;
};

/* A line of maps, which is changed; false: it is not the first part of a file, or of one whose
 * memory is shared, which no program or library is. */
bool rama_attach_mapped_read(struct rama_attach_mapped *m, char *line);

/* A name under which the very file that is mapped can be opened. Of a file that was replaced, and
 * is not the program itself, it is one that needs rights (CAP_SYS_ADMIN) to be opened: who has them
 * not reads what it exports where it was loaded (loaded.h). */
void rama_attach_mapped_path(const struct rama_attach_mapped *m, pid_t pid,
			     char to[RAMA_ATTACH_MAPPED_PATH]);

#endif
