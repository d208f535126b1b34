/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/attach.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/find.h"
#include "attach/world.h"
#include "launch/attached.h"
#include "launch/find.h"

/* ranks of one MPI job, which make one log */
struct rama_launch_attach_group {
	struct rama_attach_world world;
	struct rama_launch_attached it;
	char settings[RAMA_LAUNCH_ATTACH_SETTINGS];
	pid_t *pid;
	size_t n;
};

/* what was detached, and of ranks the directory of their segments */
struct ended {
	pid_t pid;
	struct rama_attach_done done;
	char dir[PATH_MAX]; /* "": it has made a log of its own, or none */
	bool asked;	    /* whether there is a log of that by now */
	struct rama_launch_attach_probes *probes;
};

static int refuse(struct rama_launch_attach *a, const char *text)
{
	struct rama_launch_attach_told told = { .what = RAMA_LAUNCH_ATTACH_REFUSED, .text = text };

	a->tell(a->arg, &told);
	return 4;
}

static void tell_slow(void *arg, pid_t pid)
{
	struct rama_launch_attach *a = arg;

	a->tell(a->arg,
		&(struct rama_launch_attach_told){ .what = RAMA_LAUNCH_ATTACH_WAITS, .pid = pid });
}

/* ---- what processes are told ----------------------------------------------------------------- */

/* The same file under the name that lets it begin nothing by itself. */
int rama_launch_attach_find_library(struct rama_launch_attach *a, const char *chosen,
				    struct rama_err *e)
{
	char path[PATH_MAX], *slash;

	if (rama_launch_find_library(chosen, path, e) != 0)
		return e->code;
	slash = strrchr(path, '/');
	*slash = '\0';
	snprintf(a->library, sizeof(a->library), "%s/libiorama-attach.so", path);
	if (access(a->library, R_OK) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", a->library, strerror(errno));
	return 0;
}

static bool set(char to[RAMA_LAUNCH_ATTACH_SETTINGS], size_t *n, const char *name,
		const char *value)
{
	size_t room = RAMA_LAUNCH_ATTACH_SETTINGS - *n - 1;
	int k = snprintf(to + *n, room, "%s=%s", name, value);

	if (k < 0 || (size_t)k >= room)
		return false;
	*n += (size_t)k + 1;
	to[*n] = '\0';
	return true;
}

bool rama_launch_attach_set(struct rama_launch_attach *a, const char *name, const char *value)
{
	return set(a->settings, &a->settings_used, name, value);
}

/* ---- ranks of one job ------------------------------------------------------------------------ */

static int begin_group(struct rama_launch_attach *a, struct rama_launch_attach_group *g, pid_t pid,
		       size_t room)
{
	size_t n = a->settings_used;
	struct rama_err e = { 0 };
	char number[24];

	g->pid = calloc(room, sizeof(*g->pid));
	if (g->pid == NULL)
		return refuse(a, "out of memory");
	memcpy(g->settings, a->settings, n);
	if (rama_launch_attached_make(&g->it, pid, g->world.launcher, &e) != 0) {
		free(g->pid);
		return refuse(a, e.text);
	}
	snprintf(number, sizeof(number), "%lld", (long long)g->it.jobid);
	a->n_groups++;
	if (!set(g->settings, &n, "IORAMA_DIR", g->it.place.root) ||
	    !set(g->settings, &n, "IORAMA_JOB", g->it.place.job) ||
	    !set(g->settings, &n, "IORAMA_JOBID", number))
		return refuse(a, "the names of directories are too long");
	return 0;
}

/* That of the process, made if there is none yet. NULL: it makes a log of its own: it is no rank,
 * or of another user, who could not use a directory of ours. */
static struct rama_launch_attach_group *group_of(struct rama_launch_attach *a, pid_t pid,
						 size_t room, int *status)
{
	struct rama_launch_attach_group *g;
	struct rama_attach_world world;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) != 0 || st.st_uid != geteuid() || !rama_attach_world_find(&world, pid))
		return NULL;
	for (size_t i = 0; i < a->n_groups; i++)
		if (a->group[i].world.launcher == world.launcher &&
		    a->group[i].world.name == world.name)
			return &a->group[i];
	g = &a->group[a->n_groups];
	g->world = world;
	*status = begin_group(a, g, pid, room);
	return *status == 0 ? g : NULL;
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* Those that cannot be are told; the process is observed all the same. */
static int arm(struct rama_launch_attach *a, pid_t pid, struct rama_launch_attach_probes *p)
{
	struct rama_probe_ask known[RAMA_PROBES], *list = a->probe;
	size_t n = a->n_probes;
	struct rama_err e = { 0 };
	char name[64];
	int status = 0;

	p->n = 0;
	if (a->known_probes) {
		rama_attach_process_name(pid, name, sizeof(name));
		n = rama_attach_probe_rows(name, list = known, RAMA_PROBES);
		if (n == 0) {
			rama_err_set(&e, RAMA_EUSAGE,
				     "process %d: no functions inside of %s are known", (int)pid,
				     name);
			status = refuse(a, e.text);
		}
	}
	for (size_t i = 0; i < n; i++)
		if (rama_attach_probe_arm(pid, &list[i], a->patience, &p->one[p->n], &e) == 0)
			p->n++;
		else
			status = refuse(a, e.text);
	return status;
}

static int begin_one(struct rama_launch_attach *a, pid_t pid, size_t room)
{
	struct rama_attach_options how = {
		.library = a->library, .patience = a->patience, .slow = tell_slow, .arg = a
	};
	struct rama_launch_attach_probes probes;
	struct rama_attach_done done;
	struct rama_err e = { 0 };
	int status = 0;
	struct rama_launch_attach_group *g = group_of(a, pid, room, &status);

	if (status != 0)
		return status;
	how.settings = g != NULL ? g->settings : a->settings;
	if (rama_attach(pid, &how, &done, &e) != 0)
		return refuse(a, e.text);
	status = arm(a, pid, &probes);
	a->tell(a->arg, &(struct rama_launch_attach_told){ .what = RAMA_LAUNCH_ATTACHED,
							   .pid = pid,
							   .done = &done,
							   .probes = &probes });
	a->pid[a->n++] = pid;
	if (g != NULL)
		g->pid[g->n++] = pid;
	return status;
}

int rama_launch_attach_begin(struct rama_launch_attach *a, const pid_t *pid, size_t n)
{
	size_t used = a->settings_used;
	int status = 0;

	a->pid = calloc(n + 1, sizeof(*a->pid));
	a->group = calloc(n + 1, sizeof(*a->group));
	if (a->pid == NULL || a->group == NULL)
		return refuse(a, "out of memory");
	/* what is not of a group follows what all have in common */
	if (a->dir != NULL && !set(a->settings, &used, "IORAMA_DIR", a->dir))
		return refuse(a, "the names of directories are too long");
	for (size_t i = 0; i < n; i++) {
		int rc = begin_one(a, pid[i], n);

		status = status != 0 ? status : rc;
	}
	for (size_t i = 0; i < a->n_groups; i++)
		rama_launch_attached_ready(&a->group[i].it);
	return status;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* "SEGMENT\nDIRECTORY" of a rank: where its job's segments are, and where their log goes */
static void split_told(struct rama_launch_attach *a, struct ended *d)
{
	char *line = strchr(d->done.log, '\n'), *slash;

	if (line == NULL)
		return;
	*line = '\0';
	snprintf(a->log_dir, sizeof(a->log_dir), "%.*s", PATH_MAX - 1, line + 1);
	slash = strrchr(d->done.log, '/');
	if (slash != NULL)
		*slash = '\0';
	snprintf(d->dir, sizeof(d->dir), "%.*s", PATH_MAX - 1, d->done.log);
	d->done.log[0] = '\0';
}

/* The log of a job whose ranks are all done; each of them names it. */
static int make_log(struct rama_launch_attach *a, const char *dir, struct ended *all, size_t n)
{
	char path[PATH_MAX] = "", again[sizeof((struct rama_err){ 0 }.text) + PATH_MAX + 40];
	struct rama_err e = { 0 };
	int state = rama_launch_attached_log(dir, a->log_dir, path, &e);

	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i].dir, dir) == 0) {
			snprintf(all[i].done.log, sizeof(all[i].done.log), "%s", path);
			all[i].asked = true;
		}
	if (state == RAMA_LAUNCH_ATTACHED_RUNS)
		a->tell(a->arg,
			&(struct rama_launch_attach_told){ .what = RAMA_LAUNCH_ATTACH_STAYS });
	if (state != RAMA_LAUNCH_ATTACHED_FAILED)
		return 0;
	snprintf(again, sizeof(again), "%s; iorama recover %s tries again", e.text, dir);
	return refuse(a, again);
}

/* A rank that has ended by itself has left all there is. */
static bool is_past(const struct rama_launch_attach *a, pid_t pid)
{
	bool rank = false;

	for (size_t i = 0; i < a->n_groups; i++)
		for (size_t k = 0; k < a->group[i].n; k++)
			rank = rank || a->group[i].pid[k] == pid;
	return rank && kill(pid, 0) != 0 && errno == ESRCH;
}

static int end_one(struct rama_launch_attach *a, struct ended *d)
{
	struct rama_attach_options how = {
		.library = a->library, .patience = a->patience, .slow = tell_slow, .arg = a
	};
	struct rama_err e = { 0 };
	int n;

	d->probes = calloc(1, sizeof(*d->probes));
	if (d->probes == NULL)
		return refuse(a, "out of memory");
	n = rama_attach_probe_disarm(d->pid, d->probes->one, &e);
	d->probes->n = n > 0 ? n : 0;
	if (n >= 0 && rama_attach_end(d->pid, &how, &d->done, &e) == 0) {
		split_told(a, d);
		return 0;
	}
	free(d->probes);
	return refuse(a, e.text);
}

static int make_logs(struct rama_launch_attach *a, struct ended *all, size_t n)
{
	int status = 0;

	for (size_t i = 0; i < n; i++)
		if (all[i].dir[0] != '\0' && !all[i].asked) {
			int rc = make_log(a, all[i].dir, all, n);

			status = status != 0 ? status : rc;
		}
	return status;
}

int rama_launch_attach_end(struct rama_launch_attach *a, const pid_t *pid, size_t n)
{
	struct ended *all = calloc(n + 1, sizeof(*all));
	size_t k = 0;
	int status = 0, logs;

	if (all == NULL)
		return refuse(a, "out of memory");
	for (size_t i = 0; i < n; i++) {
		int rc;

		if (is_past(a, pid[i]))
			continue;
		all[k] = (struct ended){ .pid = pid[i] };
		rc = end_one(a, &all[k]);
		status = status != 0 ? status : rc;
		k += rc == 0;
	}
	logs = make_logs(a, all, k);
	for (size_t i = 0; i < k; i++) {
		a->tell(a->arg, &(struct rama_launch_attach_told){ .what = RAMA_LAUNCH_DETACHED,
								   .pid = all[i].pid,
								   .done = &all[i].done,
								   .probes = all[i].probes });
		free(all[i].probes);
	}
	free(all);
	return status != 0 ? status : logs;
}

int rama_launch_attach_leave(struct rama_launch_attach *a, bool go_on)
{
	int status = 0;

	for (size_t i = 0; i < a->n_groups; i++) {
		const struct rama_launch_attach_group *g = &a->group[i];

		if (go_on && g->n > 0) {
			rama_launch_attached_watch(g->it.place.dir, a->log_dir, g->pid, g->n);
		} else if (g->n > 0) {
			int rc = make_log(a, g->it.place.dir, NULL, 0);

			status = status != 0 ? status : rc;
		}
	}
	return status;
}

void rama_launch_attach_fini(struct rama_launch_attach *a)
{
	for (size_t i = 0; i < a->n_groups; i++)
		free(a->group[i].pid);
	free(a->group);
	free(a->pid);
}
