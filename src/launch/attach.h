/* SPDX-License-Identifier: BSD-3-Clause */
/* attach.h: processes that run are attached, one after the other, and detached again: ranks of one
 * MPI job get one directory for their segments and one log, functions inside of them are armed.
 * What was done, and what was refused, is told as it happens; nothing is printed here. */
#ifndef RAMA_LAUNCH_ATTACH_H
#define RAMA_LAUNCH_ATTACH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "attach/attach.h"
#include "attach/probe.h"

#define RAMA_LAUNCH_ATTACH_SETTINGS (4 * PATH_MAX)

/* functions that are observed inside of a process, or were */
struct rama_launch_attach_probes {
	struct rama_attach_probe_done one[RAMA_PROBES];
	int n;
};

enum rama_launch_attach_what {
	RAMA_LAUNCH_ATTACHED,
	RAMA_LAUNCH_DETACHED,
	RAMA_LAUNCH_ATTACH_WAITS,  /* its thread is away for seconds: it must be waited for */
	RAMA_LAUNCH_ATTACH_STAYS,  /* no log yet: other ranks are still observed */
	RAMA_LAUNCH_ATTACH_REFUSED /* text says what; the others are gone on with */
};
struct rama_launch_attach_told {
	enum rama_launch_attach_what what;
	pid_t pid;
	const struct rama_attach_done *done;
	const struct rama_launch_attach_probes *probes;
	const char *text;
};

struct rama_launch_attach_group;
struct rama_launch_attach {
	char library[PATH_MAX + 64];
	char settings[RAMA_LAUNCH_ATTACH_SETTINGS]; /* those that all have in common */
	size_t settings_used;
	char log_dir[PATH_MAX];
	const char *dir;   /* where segments of processes that are no ranks go, or NULL */
	unsigned patience; /* ms */
	struct rama_probe_ask probe[RAMA_PROBES];
	size_t n_probes;
	bool known_probes; /* those of the table */
	void (*tell)(void *arg, const struct rama_launch_attach_told *told);
	void *arg;

	pid_t *pid; /* those that were attached */
	size_t n;
	struct rama_launch_attach_group *group;
	size_t n_groups;
};

/* chosen: a library, or NULL for the one that belongs to this program */
int rama_launch_attach_find_library(struct rama_launch_attach *a, const char *chosen,
				    struct rama_err *e);
/* false: there is no room for it */
bool rama_launch_attach_set(struct rama_launch_attach *a, const char *name, const char *value);
/* The rest: 0, or the exit status of the first thing that went wrong. */
int rama_launch_attach_begin(struct rama_launch_attach *a, const pid_t *pid, size_t n);
int rama_launch_attach_end(struct rama_launch_attach *a, const pid_t *pid, size_t n);
/* Ranks that go on observed are waited for by a process in the background; of those that have all
 * ended before they could be detached the log is made here. */
int rama_launch_attach_leave(struct rama_launch_attach *a, bool go_on);
void rama_launch_attach_fini(struct rama_launch_attach *a);

#endif
