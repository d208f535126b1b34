/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/run/made.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "logfile/log.h"

#define SUFFIX ".darshan"

static int directory_of(const struct rama_launch_log_place *log, char real[PATH_MAX],
			struct rama_err *e)
{
	const char *slash = log->file != NULL ? strrchr(log->file, '/') : NULL;
	char dir[PATH_MAX];

	if (log->file == NULL)
		snprintf(dir, sizeof(dir), "%s", log->dir);
	else if (slash == NULL)
		snprintf(dir, sizeof(dir), ".");
	else
		snprintf(dir, sizeof(dir), "%.*s",
			 slash == log->file ? 1 : (int)(slash - log->file), log->file);
	if (realpath(dir, real) == NULL)
		return rama_err_set(e, RAMA_EIO, "%s: %s", dir, strerror(errno));
	return 0;
}

int rama_launch_made_init(struct rama_launch_made *m, const struct rama_launch_log_place *log,
			  const char *job, struct rama_err *e)
{
	char real[PATH_MAX];
	struct statx st = { 0 };
	int rc = directory_of(log, real, e);

	if (rc != 0)
		return rc;
	gethostname(m->host, sizeof(m->host) - 1);
	if (statx(AT_FDCWD, real, 0, STATX_INO | STATX_BTIME, &st) != 0)
		return rama_err_set(e, RAMA_EIO, "%s: %s", real, strerror(errno));
	if (snprintf(m->stem, sizeof(m->stem), "%s/.%s", strcmp(real, "/") == 0 ? "" : real, job) >=
	    (int)sizeof(m->stem) - 64)
		return rama_err_set(e, RAMA_ELIMIT, "%s: the path is too long", real);
	snprintf(m->told, sizeof(m->told), "%llu.%lld:%s", (unsigned long long)st.stx_ino,
		 st.stx_mask & STATX_BTIME ? (long long)st.stx_btime.tv_sec : 0, m->stem);
	return 0;
}

static int add(struct rama_gather_list *list, const char *path)
{
	size_t room = list->n; /* there are few of them */

	if (!RAMA_GROW(list->path, room, list->n + 1))
		return RAMA_EMEMORY;
	list->path[list->n] = strdup(path);
	if (list->path[list->n] == NULL)
		return RAMA_EMEMORY;
	list->n++;
	return 0;
}

/* one file whose name begins as theirs do */
static int see(struct rama_launch_made *m, const char *dir, const char *name)
{
	size_t n = strlen(name), end = strlen(SUFFIX);
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path) ||
	    lstat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return 0;
	if (n > end && strcmp(name + n - end, SUFFIX) == 0)
		return add(&m->it, path);
	unlink(path);
	return 0;
}

static void look_at(struct rama_launch_made *m, const char *path)
{
	struct rama_err e = { 0 };
	struct rama_file file;
	struct rama_log log;

	if (rama_file_open(&file, path, &e) != 0)
		return;
	if (rama_log_open(&log, &file.src, NULL, &e) == 0) {
		snprintf(m->program, sizeof(m->program), "%s",
			 log.job.exe != NULL ? log.job.exe : "");
		m->start = (uint64_t)log.job.start_sec * 1000000000 + (uint64_t)log.job.start_nsec;
		m->jobid = log.job.jobid;
		rama_log_close(&log);
	}
	rama_file_close(&file);
}

int rama_launch_made_find(struct rama_launch_made *m, struct rama_err *e)
{
	char dir[PATH_MAX];
	const char *base = strrchr(m->stem, '/') + 1;
	size_t len = strlen(base);
	struct dirent **names;
	int rc = 0;

	snprintf(dir, sizeof(dir), "%.*s", (int)(base - m->stem), m->stem);
	int n = scandir(dir, &names, NULL, alphasort);
	if (n < 0)
		return 0; /* it may be gone: then nothing can be in it */
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		if (rc == 0 && strncmp(name, base, len) == 0 && name[len] == '.')
			rc = see(m, dir, name);
		free(names[i]);
	}
	free(names);
	if (rc != 0)
		return rama_err_set(e, rc, "out of memory");
	if (m->it.n > 0)
		look_at(m, m->it.path[0]);
	return 0;
}

void rama_launch_made_remove(const struct rama_launch_made *m)
{
	for (size_t i = 0; i < m->it.n; i++)
		unlink(m->it.path[i]);
}

void rama_launch_made_fini(struct rama_launch_made *m)
{
	rama_gather_list_fini(&m->it);
}
