/* SPDX-License-Identifier: BSD-3-Clause */
/* pack.h: segments of processes that have ended, packed into one file of the job's directory while
 * the job goes on. A segment has some 60 KB of memory, most of it zeros, and what it says is much
 * the same for all of a job: packed it has some hundred bytes. What comes out is what went in, byte
 * by byte, so that a log made of it is the same. docs/format/segment.md tells the bytes. */
#ifndef RAMA_GATHER_PACK_H
#define RAMA_GATHER_PACK_H

#include <limits.h>

#include "base/file.h"
#include "gather/gather.h"

#define RAMA_GATHER_PACK "ended.pack"
#define RAMA_GATHER_PACK_MOST \
	(16u << 20) /* bytes of a segment that are not zero; larger ones stay */

struct rama_gather_pack {
	int fd; /* -1: none yet */
	uint64_t end;
	unsigned char *known; /* what all have in common: the first one */
	size_t n_known;
	unsigned char *plain; /* room for one */
	size_t room;
};

/* Begins a new one in the directory. */
int rama_gather_pack_create(struct rama_gather_pack *p, const char *dir, struct rama_err *e);
/* Adds the file. RAMA_ELIMIT: it is too large, RAMA_EIO: there is no room. Then nothing was added.
 */
int rama_gather_pack_add(struct rama_gather_pack *p, int fd, const char *name, struct rama_err *e);
void rama_gather_pack_close(struct rama_gather_pack *p);

/* A packed segment is named PACK/OFFSET/NAME. Adds these names to the list. What is cut or damaged
 * is left out. */
int rama_gather_pack_list(struct rama_gather_list *list, const char *pack, struct rama_err *e);
bool rama_gather_is_packed(const char *path);

/* Where a segment is that was a file of this path and was packed since; false: nowhere. */
bool rama_gather_find_packed(char to[PATH_MAX], const char *path);

/* A segment, packed or not. */
struct rama_gather_segment_file {
	struct rama_file file;
	struct rama_source src;
	bool packed;
	unsigned char *plain;
	const unsigned char *extent, *bytes;
	uint64_t n;
};
int rama_gather_file_open(struct rama_gather_segment_file *f, const char *path, struct rama_err *e);
void rama_gather_file_close(struct rama_gather_segment_file *f);

/* For tests: reads all segments of a pack in memory, how many are good; the same of what one has
 * when it is not compressed any more. */
int rama_gather_pack_check(const unsigned char *bytes, size_t n);
bool rama_gather_pack_check_plain(const unsigned char *plain, size_t n, uint64_t size);

#endif
