/* SPDX-License-Identifier: BSD-3-Clause */
/* launch.h: a program is about to be started, in our place or beside us. Some would not start
 * with our library in LD_PRELOAD, or only behind another one; some start but cannot be observed,
 * which is counted. */
#ifndef RAMA_CAPTURE_LAUNCH_H
#define RAMA_CAPTURE_LAUNCH_H

#include "base/code/elf.h"
#include "capture/runtime.h"

#pragma GCC visibility push(hidden)

/* what is to be started, as the application gave it: any of these may be an address of nothing.
 * path "" and a descriptor: what that stands for */
struct rama_cap_launch_what {
	int dirfd;
	const char *path;
	bool search;	   /* along PATH, if it has no slash */
	char *const *argv; /* its first word is the name that it will have; NULL: no matter */
};

struct rama_cap_launched {
	char *const *envp;    /* to be handed to the program */
	enum rama_unseen why; /* NOT: it will be observed, as far as can be told */
	bool changed;	      /* envp is not the one that was given */
	bool counted, self;
	bool followed; /* it will be, from outside */
	/* where each process makes its own log: that program will make it for us, too; nothing
	 * will come of it; or neither */
	bool goes_on, fails;
};

/* Before the call. May be used in the child of a vfork, which runs in its parent's memory. */
void rama_cap_launch_plan(struct rama_cap_launched *l, const struct rama_cap_launch_what *w,
			  char *const *envp, bool replaces);
/* After it: it failed; or it did not, and we go on. */
void rama_cap_launch_failed(struct rama_cap_launched *l);
void rama_cap_launch_done(struct rama_cap_launched *l);
/* Takes back what was put into the environment for this program only. */
void rama_cap_launch_init(void);
/* one program, or process, that will not be seen; into the segment of this process or the one it
 * comes from */
void rama_cap_launch_count(enum rama_unseen why, const char *path);

#pragma GCC visibility pop

#endif
