/* SPDX-License-Identifier: BSD-3-Clause */
/* call.h: system calls as rows: calls.def. */
#ifndef RAMA_ANY_CALL_H
#define RAMA_ANY_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "table/fn.h"

enum rama_any_shape {
	RAMA_ANY_OPEN,
	RAMA_ANY_CREAT,	   /* the mode is where others have flags */
	RAMA_ANY_OPEN_HOW, /* both are in memory */
	RAMA_ANY_CLOSE,
	RAMA_ANY_CLOSE_RANGE,
	RAMA_ANY_DUP,
	RAMA_ANY_FCNTL,
	RAMA_ANY_MOVE,
	RAMA_ANY_SEEK,
	RAMA_ANY_SEEK_FAR, /* its result is in memory */
	RAMA_ANY_COPY,
	RAMA_ANY_REQUESTS, /* its result is how many there are */
	RAMA_ANY_URING,
	RAMA_ANY_FILE, /* of a file alone */
	RAMA_ANY_META, /* whatever it is of */
	RAMA_ANY_MAP,
	RAMA_ANY_MAP_OLD, /* its arguments are in memory */
	RAMA_ANY_MSYNC,
	RAMA_ANY_STAT_OF, /* what a file is */
	RAMA_ANY_RENAME,
	RAMA_ANY_EXEC
};

/* where the mode of a file stands in what stat and its relatives fill */
#if defined(__x86_64__)
#define RAMA_ANY_STAT 24
#else
#define RAMA_ANY_STAT 16
#endif
#define RAMA_ANY_STATX 28
#define RAMA_ANY_STAT32 8
#define RAMA_ANY_STAT64 16

struct rama_any_call {
	uint16_t fn;   /* enum rama_tab_fn */
	uint8_t op;    /* enum rama_tab_opkind */
	uint8_t shape; /* enum rama_any_shape */
	/* arguments, counted from 1; 0: there is none */
	uint8_t fd, dirfd, path, flags, mem, iov, off, to, to_off, dirfd2, path2;
	uint8_t st; /* where the mode stands */
};

/* bits32: by the table for 32 bits. NULL: it is not followed */
const struct rama_any_call *rama_any_call(uint64_t number, bool bits32);

#endif
