/* SPDX-License-Identifier: BSD-3-Clause */
/* run.h: one command, observed: prepared, started, followed to its end, and its log made. What
 * there is to say goes to the caller. */
#ifndef RAMA_LAUNCH_RUN_RUN_H
#define RAMA_LAUNCH_RUN_RUN_H

#include "any/any.h"
#include "base/arena.h"
#include "base/code/program.h"
#include "launch/run/child.h"
#include "launch/run/live.h"
#include "launch/log.h"
#include "launch/run/made.h"
#include "launch/path.h"
#include "launch/run/plan.h"
#include "launch/left/segs.h"
#include "logfile/unseen.h"

#define RAMA_LAUNCH_VARS 14 /* at most */

struct rama_launch_globs {
	const char *const *glob;
	size_t n;
};

/* what is asked for */
struct rama_launch_asked {
	const char *const *args; /* the command; ends with NULL */
	const char *library;	 /* NULL: that of IORAMA_LIB, or the one beside this program */
	int64_t jobid;		 /* -1: as the scheduler says, or one of our own */
	bool trace, live, keep;	 /* keep: the segments stay */
	enum rama_any_mode any;	 /* who is followed from outside */
	bool path;		 /* daemons and servers, too; with trace */
	const char *memory;	 /* for tracing, or NULL */
	const char *files;	 /* memory for their records, or NULL */
	const char *tag;	 /* of live events, or NULL */
	const char *store;	 /* of live events */
	bool no_index;		 /* the log of a live job is not put into the store */
	bool count_first;	 /* tell the end when live events are counted, not before */
	struct rama_launch_globs exclude, include;
	struct rama_launch_log_place log;
};

/* how it ended, but for what the log says */
struct rama_launch_outcome {
	const char *log; /* its path; NULL: there is none */
	const char *command;
	int exit, signal;
	size_t running;		/* processes that go on */
	const char *place;	/* directory of their segments */
	const char *unobserved; /* one line about the command, or NULL */
	enum rama_unseen why;	/* the reason that it tells */
	struct rama_log_unseen_sum unseen;
	/* programs that had no room; how many of them said how many calls they made */
	int64_t unplaced, told, unplaced_calls;
	uint64_t moved;	 /* processes whose segments were in a spare directory */
	const char *odd; /* why segments were not where one would look for them, or NULL */
	const struct rama_launch_live *live; /* its events; NULL: not asked for */
};

struct rama_launch_run {
	struct rama_launch_asked asked;
	struct rama_launch_told told;
	/* may be NULL */
	void (*ended)(void *ctx, const struct rama_launch_outcome *o);
	/* live events are counted; not with count_first */
	void (*counted)(void *ctx, const struct rama_launch_live *live);

	/* after rama_launch_run_prepare */
	int64_t jobid;
	bool own_jobid;				      /* our process id, for want of another one */
	struct rama_launch_var var[RAMA_LAUNCH_VARS]; /* the first is LD_PRELOAD */
	size_t n_vars;
	struct rama_launch_plan plan;
	char program[PATH_MAX];	  /* file of the command, or of its interpreter */
	struct rama_program kind; /* of that */
	struct rama_launch_live live;

	/* within */
	struct rama_launch_place place;
	struct rama_launch_made made;
	struct rama_launch_path path;
	struct rama_any any;
	char library[PATH_MAX];
	struct rama_arena arena;
	char **envp;
	struct rama_launch_child child;
	size_t left; /* processes that still run */
	/* of the first word, or where that starts ranks elsewhere, of theirs: what LD_PRELOAD
	 * has to be like */
	struct rama_program preloaded;
	char unobserved[PATH_MAX + 200];
	struct {
		enum rama_unseen why; /* NOT: the command was observed */
		struct rama_log_unseen_sum sum;
	} unseen;
	struct rama_seg_tally tally; /* what processes counted that had no room */
};

/* May a variable hold this tag? */
bool rama_launch_run_is_tag(const char *tag);
/* Decides how the command is started, and makes the place of its segments. `asked` and `told` are
 * set, all else is 0. 0 or an error; one without a text was told. */
int rama_launch_run_prepare(struct rama_launch_run *r, struct rama_err *e);
/* The exit status, as a shell says it, after the log was made; 126 or 127: it was not started,
 * -1 with an error: no process could be made. */
int rama_launch_run(struct rama_launch_run *r, struct rama_err *e);
void rama_launch_run_fini(struct rama_launch_run *r);

#endif
