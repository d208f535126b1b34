/* SPDX-License-Identifier: BSD-3-Clause */
/* proc.h: a process that is followed: its segment, its descriptors, and what its calls did. */
#ifndef RAMA_ANY_PROC_H
#define RAMA_ANY_PROC_H

#include <sys/types.h>

#include "any/any.h"
#include "any/call.h"
#include "any/seg.h"
#include "config/mounts.h"

/* what holds for all that are followed */
struct rama_any_world {
	enum rama_any_mode mode;
	const char *dir, *library;
	char *const *envp;
	struct rama_config_settings settings;
	struct rama_config_mounts mounts;
	struct rama_seg_identity id; /* what all identities have in common */
};

int rama_any_world_init(struct rama_any_world *w, const struct rama_any_how *how);

#define RAMA_ANY_FD_NO_FILE UINT32_MAX
#define RAMA_ANY_MAPPINGS 64

struct rama_any_proc {
	struct rama_any_world *world;
	pid_t pid;
	unsigned threads; /* that are followed */
	bool seen;	  /* it has a segment */
	bool refused;	  /* it cannot have one */
	bool forked;
	struct rama_any_seg seg;
	/* per descriptor: 0: not known, RAMA_ANY_FD_NO_FILE, or the name of its file */
	uint32_t *fd;
	uint32_t n_fd;
	/* which file a mapping is of, for msync: the latest ones */
	struct rama_any_mapping {
		uint64_t from, until;
		uint32_t name;
	} mapping[RAMA_ANY_MAPPINGS];
	uint32_t next_mapping;
};

/* a thread, and the call that it is in */
struct rama_any_thread {
	pid_t tid;
	struct rama_any_proc *proc;
	bool armed;   /* it is about to become a program that is to be followed; not yet */
	bool told;    /* its end was counted */
	bool spawner; /* not followed itself: what it makes is */
	const struct rama_any_call *call;
	bool bits32, has_path;
	uint64_t arg[6], t0;
	uint32_t chunk; /* of its events, plus 1 */
	uint32_t file;	/* CLOSE: the name that the descriptor had */
	char path[2][PATH_MAX];
};

/* A program begins in this process: it gets a segment. false: it cannot have one */
bool rama_any_proc_begin(struct rama_any_proc *p, pid_t pid);
enum rama_any_end { RAMA_ANY_ENDED, RAMA_ANY_KILLED, RAMA_ANY_REPLACED, RAMA_ANY_LEFT };
void rama_any_proc_end(struct rama_any_proc *p, enum rama_any_end how);
void rama_any_proc_fini(struct rama_any_proc *p);
pid_t rama_any_proc_parent(pid_t pid);
/* a program that it becomes, or starts, and that nobody sees */
void rama_any_proc_unseen(struct rama_any_proc *p, enum rama_unseen why, const char *path,
			  bool self);

/* ---- descriptors ----------------------------------------------------------------------------- */

uint32_t *rama_any_fd(struct rama_any_proc *p, uint32_t fd);
/* The file of a descriptor; one that is not known is asked about. moved: how many bytes the call
 * took it along. */
struct rama_core_posix_file *rama_any_fd_file(struct rama_any_proc *p, uint32_t fd, int64_t moved);
struct rama_core_posix_file *rama_any_file(struct rama_any_proc *p, struct rama_seg_name *n);
/* The name of the file or directory behind a descriptor, into `to` (PATH_MAX); 0: it has none */
size_t rama_any_fd_path(pid_t pid, uint32_t fd, char *to, mode_t *mode);

/* ---- calls ----------------------------------------------------------------------------------- */

/* Of the process's memory: as far as it is there. */
size_t rama_any_peek(pid_t tid, uint64_t at, void *to, size_t n);
/* false: the text could not be read */
bool rama_any_peek_text(pid_t tid, uint64_t at, char to[PATH_MAX]);

uint64_t rama_any_now(void);
/* the thread enters a call, and has left it */
void rama_any_call_begin(struct rama_any_thread *t);
void rama_any_call_end(struct rama_any_thread *t, int64_t result, bool failed, uint64_t t1);

#endif
