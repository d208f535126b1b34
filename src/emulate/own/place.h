/* SPDX-License-Identifier: BSD-3-Clause */
/* place.h: internal to own/: places, what their lists say, ways to files in them. */
#ifndef RAMA_EMULATE_OWN_PLACE_H
#define RAMA_EMULATE_OWN_PLACE_H

#include <pthread.h>
#include <sys/types.h>

#include "base/map.h"
#include "emulate/own/own.h"

/* a folder that a run which is no more has left incomplete files in */
struct rama_emu_own_left {
	char run[RAMA_EMU_OWN_RUN + 1];
	char *folder;
};

struct rama_emu_own_place {
	char *dir;
	size_t len; /* of dir, without slashes at its end */
	int fd;	    /* of the directory, -1: not open */
	int list;   /* its list, -1: there is none */
	bool leads, alone;
	bool fresh;    /* it was not there before the run */
	uint64_t need; /* bytes that this rank will write in it */
	off_t read;    /* bytes of the list that are known */
	uint64_t device;
	int64_t since; /* when this process entered, by the file system's clock; before: never */
	struct rama_emu_own_line *lines;
	size_t n, room;
	struct rama_map by_name; /* hash of a name -> number of its last line, + 1 */
	struct rama_map entered; /* hashes of folders that the list knows of from this process */
	struct rama_emu_own_left *left;
	size_t n_left;
};

struct rama_emu_own {
	char run[RAMA_EMU_OWN_RUN + 1];
	bool several_nodes;
	bool overwrite;
	struct rama_emu_own_place *places;
	size_t n;
	char **empty; /* folders that go in the end, inner ones first */
	size_t n_empty;
	pthread_mutex_t lock; /* of lists: threads of a rank make files too */
};

/* the way to a file: directory and last part of its name */
struct rama_emu_own_way {
	struct rama_emu_own_place *place;
	const char *name; /* from the place on */
	const char *last;
	int fd; /* of the folder; to be given back */
};
/* The folder that holds a file, without following links below the place. -1: errno says why. */
int rama_emu_own_go(struct rama_emu_own *own, const char *path, struct rama_emu_own_way *w);
void rama_emu_own_back(struct rama_emu_own_way *w);
struct rama_emu_own_place *rama_emu_own_find(struct rama_emu_own *own, const char *path,
					     const char **name);

/* list.c: with the lock held, but for rama_emu_own_list_open() */
int rama_emu_own_list_open(struct rama_emu_own_place *p, bool create, struct rama_err *e);
int rama_emu_own_list_read(struct rama_emu_own_place *p); /* what is new in it */
const struct rama_emu_own_line *rama_emu_own_list_find(struct rama_emu_own_place *p,
						       const char *name);
/* Is it the name of a file that a run which is no more has left half-written? */
bool rama_emu_own_list_left(const struct rama_emu_own_place *p, const char *folder, size_t n,
			    const char *last);
int rama_emu_own_list_add(struct rama_emu_own_place *p, const struct rama_emu_own_line *l);
/* locks; who is alone clears away what killed runs left */
int rama_emu_own_list_lead(struct rama_emu_own *own, struct rama_emu_own_place *p,
			   struct rama_err *e);
void rama_emu_own_list_tidy(struct rama_emu_own *own, struct rama_emu_own_place *p, bool done);
void rama_emu_own_list_close(struct rama_emu_own_place *p);

/* file.c: a file takes a name that is free. -1: errno says why, EEXIST if it is not. */
int rama_emu_own_move(int fd, const char *from, const char *to);

/* own.c */
enum rama_emu_own_state { RAMA_EMU_OWN_NOTHING, RAMA_EMU_OWN_OURS, RAMA_EMU_OWN_OTHER };
struct rama_emu_own_id {
	uint64_t inode, device, links;
	int64_t born, changed, size;
	unsigned mode, uid;
};
/* no link is followed */
int rama_emu_own_identify(int fd, const char *name, struct rama_emu_own_id *id);
uint64_t rama_emu_own_device(const struct rama_emu_own_place *p, const struct rama_emu_own_id *id);
enum rama_emu_own_state rama_emu_own_state(struct rama_emu_own_way *w, struct rama_emu_own_id *id,
					   const struct rama_emu_own_line *l);

#endif
