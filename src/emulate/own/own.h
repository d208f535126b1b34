/* SPDX-License-Identifier: BSD-3-Clause */
/* own.h: what a run may write, replace and remove: files that it made, or that an earlier run
 * made and nobody has touched since, and nothing else. Every file of a run is made, renamed and
 * removed through here.
 *
 * A place is a directory that the user named. Below it no symbolic link is followed. What lies
 * in it is known from its list, PLACE/.iorama-emulate, which is trusted only if it is the user's
 * own:
 *
 *   file INODE BORN CHANGED SIZE DEVICE NAME   a file that has its name; nanoseconds; CHANGED 0:
 *                                              it was not complete yet
 *   in RUN FOLDER                              the run makes files NAME.RUN.part in that folder
 *
 * A file is ours if a line has its name and inode, it was born then, and either nobody has
 * written to it since or all of it is data of the kind that emulate writes. RUN is drawn by lot,
 * so nobody else has files of such names. */
#ifndef RAMA_EMULATE_OWN_OWN_H
#define RAMA_EMULATE_OWN_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "emulate/team/team.h"

#define RAMA_EMU_OWN_LIST ".iorama-emulate"
#define RAMA_EMU_OWN_RUN 8     /* letters of the name of a run */
#define RAMA_EMU_OWN_PART 14   /* bytes that the name of an incomplete file is longer by */
#define RAMA_EMU_OWN_KEPT 200  /* bytes of a name at most that stay in NAME.RUN.kept */
#define RAMA_EMU_OWN_PATH 4500 /* bytes that any path of a run has room in */

struct rama_emu_own;

/* All ranks of a run together: they get the same name for it. */
int rama_emu_own_new(struct rama_emu_own **own, struct rama_emu_team *t, struct rama_err *e);
/* The user has said that plain files of his own which are in the way may be replaced. Nothing
 * else is: no link, no folder, no file that has another name too; and no file is removed that is
 * not written to. */
void rama_emu_own_overwrite(struct rama_emu_own *own);
/* Lists are put in order; one that names nothing any more goes. `done`: all ranks have ended
 * well; else others may still be at work, and the last one does it. NULL is allowed. */
void rama_emu_own_free(struct rama_emu_own *own, bool done);

/* ---- before anything is made ---------------------------------------------------------------- */

/* files will be made below this directory, which need not be there yet */
int rama_emu_own_where(struct rama_emu_own *own, const char *dir, struct rama_err *e);
/* 0: nothing is there, or something that may be replaced; else an error that says what is in the
 * way */
int rama_emu_own_check(struct rama_emu_own *own, const char *path, struct rama_err *e);

/* so many bytes will be written there, by this rank */
void rama_emu_own_need(struct rama_emu_own *own, const char *path, int64_t bytes);
/* All ranks, when each has checked and said what it needs: is there room for it? Behind it, as
 * behind a barrier, all know that nothing is in the way. */
int rama_emu_own_room(struct rama_emu_own *own, struct rama_emu_team *t, struct rama_err *e);
/* place i, from 0, or NULL; *made: it was not there before */
const char *rama_emu_own_place_name(const struct rama_emu_own *own, size_t i, bool *made);

/* ---- the run -------------------------------------------------------------------------------- */

/* After all ranks have checked and the places are there: first whoever leads (one process for
 * each place), then, behind a barrier, the others. What runs that were killed have left
 * half-written goes. */
int rama_emu_own_enter(struct rama_emu_own *own, bool leads, struct rama_err *e);
/* 1: made; 0: it was there; negative: an error. Of a place, above it or below it. */
int rama_emu_own_folder(struct rama_emu_own *own, const char *path, struct rama_err *e);
int rama_emu_own_folders(struct rama_emu_own *own, const char *path, struct rama_err *e);
/* as a file is called until it is complete; NULL: no room for that */
const char *rama_emu_own_partial(const struct rama_emu_own *own, const char *path, char *to,
				 size_t room);
/* A file without data that is written under its own name. What is there and ours goes before. */
int rama_emu_own_create(struct rama_emu_own *own, const char *path, struct rama_err *e);
/* Opens such a file, or an incomplete one, to write: flags of open(2). -1: errno says why. */
int rama_emu_own_open(struct rama_emu_own *own, const char *path, int flags);
/* For libraries that make files under their own name themselves: what is there now is of this
 * run. */
int rama_emu_own_adopt(struct rama_emu_own *own, const char *path);
/* For libraries that open files by name: is what is there now one of these? `there`: it must be.
 * -1: errno says why. */
int rama_emu_own_look(struct rama_emu_own *own, const char *path, bool there);
/* an incomplete file takes its name */
int rama_emu_own_publish(struct rama_emu_own *own, const char *part, const char *path,
			 struct rama_err *e);
/* a file that was written under its own name is complete */
void rama_emu_own_complete(struct rama_emu_own *own, const char *path);
/* Removes a file if it is ours: 0, also if none is there; -1: errno says why, EPERM if it is
 * not. */
int rama_emu_own_remove(struct rama_emu_own *own, const char *path);
/* ... in one call of the C library that whoever observes a replay shall see: what somebody else
 * puts there between the look and the call would go */
int rama_emu_own_unlink(struct rama_emu_own *own, const char *path);
/* ... or if it is replaced now and may be */
int rama_emu_own_clear(struct rama_emu_own *own, const char *path);
/* A file of ours takes another name, which must be free. -1: errno says why. */
int rama_emu_own_rename(struct rama_emu_own *own, const char *path, const char *to);
/* removes a folder, if it is empty */
void rama_emu_own_folder_remove(struct rama_emu_own *own, const char *path);
/* removes the incomplete file of this run that would become `path` */
void rama_emu_own_drop(struct rama_emu_own *own, const char *path);
/* a folder goes in the end, behind its list, if it is empty then; inner ones are to be named
 * first */
void rama_emu_own_rmdir(struct rama_emu_own *own, const char *path);

/* ---- lines of a list, for own.c and its tests ----------------------------------------------- */

struct rama_emu_own_line {
	char kind; /* 'f' a file, 'i' a folder of a run */
	uint64_t inode, device;
	int64_t born, changed, size;
	char run[RAMA_EMU_OWN_RUN + 1];
	const char *name; /* points into the line */
	bool fresh;	  /* read since this process entered: of this run, or of one beside it */
};
/* `line` ends with NUL where its newline was; false: not a line that says anything */
bool rama_emu_own_line_parse(const char *line, struct rama_emu_own_line *l);
/* its length */
int rama_emu_own_line_put(const struct rama_emu_own_line *l, char *to, size_t room);

/* Does a file hold nothing but what emulate writes? *empty: only zeros, or nothing at all */
bool rama_emu_own_data(int fd, int64_t size, bool *empty);

#endif
