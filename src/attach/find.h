/* SPDX-License-Identifier: BSD-3-Clause */
/* find.h: which processes of this host are meant: those of a job, the daemon of a mount, file
 * servers. */
#ifndef RAMA_ATTACH_FIND_H
#define RAMA_ATTACH_FIND_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct rama_attach_list {
	pid_t *pid;
	size_t n, room;
};

int rama_attach_list_add(struct rama_attach_list *l, pid_t pid, struct rama_err *e);
void rama_attach_list_fini(struct rama_attach_list *l);

/* All add to the list; RAMA_EUSAGE: there is none, and e says so.
 * job: number of a launcher's process, whose descendants are meant (its MPI ranks, if it has any),
 * or an id that a batch system gave */
int rama_attach_find_job(struct rama_attach_list *l, const char *job, struct rama_err *e);
/* the FUSE daemon that serves the file system that dir is in */
int rama_attach_find_mount(struct rama_attach_list *l, const char *dir, struct rama_err *e);
/* rows of table/servers.def */
int rama_attach_find_servers(struct rama_attach_list *l, struct rama_err *e);

/* what a process calls itself, harmless to terminals; "?": nobody knows */
void rama_attach_process_name(pid_t pid, char *to, size_t room);

#endif
