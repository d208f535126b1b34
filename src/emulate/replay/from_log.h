/* SPDX-License-Identifier: BSD-3-Clause */
/* from_log.h: internal to from_log*.c: what the jobs of some logs did with which files, and
 * when. */
#ifndef RAMA_EMULATE_REPLAY_FROM_LOG_H
#define RAMA_EMULATE_REPLAY_FROM_LOG_H

#include "base/map.h"
#include "emulate/emulate.h"
#include "logfile/log.h"

#define RAMA_EMU_STORY_MOST 1000000 /* tasks, files, uses */

/* processes of one job that run one program together */
struct rama_emu_story_task {
	const char *program; /* its name, without folders and arguments */
	uint32_t log;	     /* which */
	int64_t parent;	     /* rank that started it; -1: not known */
	uint32_t ranks;
	double start, end; /* seconds since 1970 */
	double io;	   /* seconds of I/O, added over ranks */
	uint32_t first, n; /* its uses, after they are sorted */
};

struct rama_emu_story_file {
	uint64_t id;
	const char *name;
	int64_t size; /* highest byte that anybody reached, + 1 */
};

/* what a task did with a file; windows are seconds since 1970, 0: never */
struct rama_emu_story_use {
	uint32_t task, file;
	int64_t read, written; /* bytes */
	double read_from, read_to, write_from, write_to;
	int64_t request;	 /* most frequent size, -1: not known */
	int64_t often;		 /* how often */
	int64_t count, in_order; /* requests, and those that went on behind the one before */
	uint32_t readers;	 /* ranks that read it */
};

struct rama_emu_story_rename {
	uint64_t to;
	const char *name;
};

struct rama_emu_story {
	struct rama_arena arena;
	struct rama_emu_story_task *tasks; /* by start, once read */
	struct rama_emu_story_file *files;
	struct rama_emu_story_use *uses; /* by task, then file */
	size_t n_tasks, n_files, n_uses, room_tasks, room_files, room_uses;
	struct rama_map file_by_id, use_by_key;
	struct rama_map renamed; /* id of an old name -> renames */
	struct rama_emu_story_rename *renames;
	size_t n_renames, room_renames;
	double slack; /* seconds by which the clocks of the logs may be wrong */
};

/* from_log.c */
int rama_emu_story_read(struct rama_emu_story *s, char *const *paths, size_t n, struct rama_err *e);
void rama_emu_story_fini(struct rama_emu_story *s);
/* from_log_links.c */
/* Finds in a log what was renamed, and standard streams that are files. */
int rama_emu_story_links(struct rama_emu_story *s, struct rama_log *log, struct rama_map *streams,
			 struct rama_err *e);
/* the file that a standard stream of a rank is, or NULL */
const struct rama_log_name *rama_emu_story_stream(const struct rama_log *log,
						  const struct rama_map *streams, int64_t rank,
						  uint64_t stream);
/* Once all logs are read, before uses are sorted: those of one file under several names become
 * uses of the same. */
int rama_emu_story_join(struct rama_emu_story *s, struct rama_err *e);
/* from_log_graph.c: the graph is finished */

#endif
