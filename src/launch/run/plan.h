/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.h: how a command line is started so that the programs in it are observed: which
 * word is the program, and what has to be put into the words for variables to arrive there. No
 * file is looked at here. */
#ifndef RAMA_LAUNCH_RUN_PLAN_H
#define RAMA_LAUNCH_RUN_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

enum rama_launch_kind {
	RAMA_LAUNCH_PROGRAM, /* no launcher: the program itself */
	RAMA_LAUNCH_RUNS,
	RAMA_LAUNCH_ENV,
	RAMA_LAUNCH_MPI,
	RAMA_LAUNCH_REFUSED,
	RAMA_LAUNCH_ELSEWHERE,
	RAMA_LAUNCH_DAEMON,
#define FAMILY(symbol, ...) RAMA_LAUNCH_##symbol,
#define LAUNCHER(...)
#include "table/launchers.def"
#undef FAMILY
#undef LAUNCHER
	RAMA_LAUNCH_KINDS
};

struct rama_launch_var {
	const char *name, *value;
};

struct rama_launch_in {
	char *const *argv;		    /* ends with NULL */
	const struct rama_launch_var *vars; /* the first one is LD_PRELOAD */
	size_t n_vars;
	/* family of a launcher named mpirun or mpiexec; RAMA_LAUNCH_MPI: cannot be told */
	enum rama_launch_kind (*family)(void *ctx, const char *program);
	void *ctx;
};

struct rama_launch_plan {
	char **argv;  /* to be started */
	bool preload; /* argv[0] is observed itself: LD_PRELOAD belongs into its environment */
	enum rama_launch_kind kind; /* of the last launcher, or PROGRAM */
	/* index in argv: the program, or the last launcher if it was not looked for */
	size_t program;
};

/* What it makes lives in the arena. 0 or RAMA_EMEMORY. */
int rama_launch_plan_make(struct rama_launch_plan *l, const struct rama_launch_in *in,
			  struct rama_arena *a);

/* the word that cannot be observed and has to be refused, or NULL; needs no variables */
const char *rama_launch_refused(const struct rama_launch_in *in);
/* word of the launcher of a parallel job; SIZE_MAX: there is none */
size_t rama_launch_parallel(const struct rama_launch_in *in);

/* "Open MPI"; NULL for what is no family */
const char *rama_launch_family_name(enum rama_launch_kind kind);

#endif
