/* SPDX-License-Identifier: BSD-3-Clause */
/* any.h: programs that nobody can preload, followed from outside: a process of ours stops them at
 * each of their system calls (ptrace), and writes segments as they would themselves. No rights
 * are needed, and nothing is loaded into them. */
#ifndef RAMA_ANY_ANY_H
#define RAMA_ANY_ANY_H

#include <stdbool.h>

#include "base/err.h"
#include "base/code/follow.h"

enum rama_any_mode {
	RAMA_ANY_OFF,
	RAMA_ANY_AUTO, /* only programs that cannot be observed from inside */
	RAMA_ANY_ALL
};

/* "auto", or NULL for all; false: no such thing */
bool rama_any_mode_read(const char *text, enum rama_any_mode *mode);

struct rama_any {
	char name[RAMA_FOLLOW_NAME]; /* who wants to be followed asks here; "": nobody can */
	int life; /* -1: there is nobody; it ends with its last process after this is closed */
};

struct rama_any_how {
	enum rama_any_mode mode;
	const char *dir;     /* where segments go */
	const char *library; /* programs that have it in LD_PRELOAD look after themselves */
	char *const *envp;   /* of the command: what is asked for */
};

/* Chooses the name. */
void rama_any_name(struct rama_any *a);
/* Makes the process that follows. It has nothing of ours but what it is told here, and outlives
 * us as long as somebody is followed. To be called before there are other threads. */
int rama_any_start(struct rama_any *a, const struct rama_any_how *how, struct rama_err *e);
/* All that ended before is in its segment when this returns. */
void rama_any_end(struct rama_any *a);

#endif
