/* SPDX-License-Identifier: BSD-3-Clause */
/* program.h: what will happen to a preload when a program is executed: looks at its file, at the
 * interpreter of a script, and at the rights it gets. Async-signal-safe and without the
 * functions that our library replaces, so that it can be used inside of observed processes, also
 * between vfork and exec; errno stays as it is. */
#ifndef RAMA_BASE_CODE_PROGRAM_H
#define RAMA_BASE_CODE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/code/elf.h"

#define RAMA_PROGRAM_PATH 4096

struct rama_program {
	bool there;  /* it could be read */
	bool rights; /* it gets others than its user has */
	enum rama_unseen why;
	char first[RAMA_ELF_NAME]; /* library that must come first; "": none */
};

/* Does a program that cannot be observed for this reason start only without our library in
 * LD_PRELOAD, or complain of it? All others pay no heed to it, and hand it on to what they
 * start. */
static inline bool rama_program_stops(enum rama_unseen why)
{
	return why == RAMA_UNSEEN_LIBC || why == RAMA_UNSEEN_BITS || why == RAMA_UNSEEN_MACHINE;
}

/* Can it be followed from outside if it cannot be observed for this reason? It would not get
 * its rights then. */
static inline bool rama_program_follows(const struct rama_program *p, enum rama_unseen why)
{
	return !p->rights && (why == RAMA_UNSEEN_STATIC || why == RAMA_UNSEEN_LIBC ||
			      why == RAMA_UNSEEN_BITS || why == RAMA_UNSEEN_CLEARED);
}

/* of the file `path`, relative to dirfd; "" is what dirfd itself stands for. What cannot be read
 * can be observed as far as can be told. */
void rama_program_look(struct rama_program *to, int dirfd, const char *path);

/* The file that execvp() would run: *path is it if it has a slash, else it is put together in
 * buf. false: none is found */
bool rama_program_find(const char *word, const char *list, char buf[RAMA_PROGRAM_PATH],
		       const char **path);

/* The interpreter that the first bytes of a script name, into `to`; false: it is no script. */
bool rama_program_script(const char *head, size_t n, char *to, size_t size);

#endif
