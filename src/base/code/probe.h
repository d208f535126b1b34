/* SPDX-License-Identifier: BSD-3-Clause */
/* probe.h: what a process and who changes its code (src/attach/probe.c) say to each other about a
 * probe: a function of the process whose beginning is a jump into the library, which is the
 * process's side (src/capture/probe.c). */
#ifndef RAMA_BASE_CODE_PROBE_H
#define RAMA_BASE_CODE_PROBE_H

#include <stdint.h>

#define RAMA_PROBES 32	     /* of a process */
#define RAMA_PROBE_ROOM 4096 /* bytes of code near the function */
#define RAMA_PROBE_JUMP 5    /* bytes that are written over its beginning */
#define RAMA_PROBE_NAME 64
#define RAMA_PROBE_ARGS 22 /* six in registers, sixteen on the stack */

enum { RAMA_PROBE_CALL, RAMA_PROBE_BEGIN, RAMA_PROBE_END }; /* as in table/probes.def */

/* what is asked for */
struct rama_probe_ask {
	uint64_t at; /* of the function */
	uint32_t fn; /* RAMA_TAB_FN_... */
	uint8_t kind, when;
	int8_t fd, handle, off, len, context; /* arguments; -1: none */
	uint8_t pad;
	char name[RAMA_PROBE_NAME];
};

/* in the process; who changes it from outside writes `original`, `saved` and `armed` only */
struct rama_probe {
	struct rama_probe_ask ask;
	uint64_t room, stub;	       /* where its code goes, and what that jumps to */
	uint64_t original;	       /* the beginning of the function, moved */
	uint64_t index;		       /* in the table */
	uint64_t armed;		       /* 1: the function begins with our jump */
	unsigned char saved[8];	       /* what was there before */
	uint64_t calls, ns, unmatched; /* unmatched: ENDs of what nobody began */
};

/* what iorama_probe() in the process returns instead of an address */
enum { RAMA_PROBE_NOT_HERE = 1, RAMA_PROBE_MANY, RAMA_PROBE_NO_ROOM };

#endif
